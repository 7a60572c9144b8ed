#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/test_seeds.h"
#include "coordinator/consumer_test_support.h"
#include "coordinator/simulated_consumer_member.h"

/// A group through weeks of bad luck: members come, hang, die and come back, topics come and go, answers and
/// requests are lost or doubled, the coordinator crashes between any two of its batches, its disk refuses,
/// its clock is set.
namespace barnabas::coordinator::testing {
namespace {

using std::chrono::milliseconds;
using Client = SimulatedConsumerMember;

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : random_(seed), with_crashes_(below(2) == 0) {
    for (const auto* name : {"a", "b", "c"}) shard_.set_topic(name, 1 + below(6));
    shard_.runner.durable_at_once(!with_crashes_);
  }

  void run() {
    for (int round = 0; round < 250; ++round) {
      misfortune();
      step();
      if (::testing::Test::HasFailure()) return;
    }
    calm_down();
    for (int round = 0; round < 60; ++round) step();
    expect_converged();
  }

 private:
  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }
  bool chance(int in) { return !is_calm_ && below(in) == 0; }

  std::string any_topic() { return std::string(1, static_cast<char>('a' + below(6))); }

  // --- what happens

  void misfortune() {
    if (chance(6) && clients_.size() < 9) come();
    if (chance(25)) make_or_grow_a_topic();
    if (chance(80)) drop_a_topic();
    if (chance(40)) shard_.runner.set_wall_clock(milliseconds(below(7'200'000) - 3'600'000));
    shard_.runner.refuse_appends(chance(15) ? ErrorCode::coordinator_not_available : ErrorCode::none);
    if (with_crashes_ && chance(20)) crash();
    for (Client& client : clients_) {
      if (client.hangs > 0 || !client.is_running) continue;
      if (chance(60)) client.hangs = 1 + below(20);
      if (chance(50)) {
        client.topics = {any_topic(), "a"};
        client.subscription_changed = true;
      }
      if (chance(60)) stop(client);
    }
    std::erase_if(clients_,
                  [](const Client& client) { return !client.is_running && client.answer == nullptr; });
  }

  void come() {
    Client client{.id = "m" + std::to_string(++last_id_)};
    if (below(3) == 0) client.instance = "i" + std::to_string(below(3));
    if (client.instance && std::ranges::any_of(clients_, [&](const Client& other) {
          return other.is_running && other.instance == client.instance;
        }))
      return;
    if (below(3) == 0) {
      client.regex = below(2) == 0 ? "[a-c]" : "[^b]";
    } else {
      client.topics = {"a", any_topic()};
    }
    if (below(4) == 0) client.assignor = below(2) == 0 ? "range" : "uniform";
    clients_.push_back(std::move(client));
  }

  /// It leaves as it should, or just ends.
  void stop(Client& client) {
    client.is_running = false;
    client.owned.clear();
    client.answer.reset();
    if (below(2) == 0 || client.epoch == 0) return;
    const auto request = client.farewell();
    auto [reply, answer] = reply_and_answer<ConsumerGroupHeartbeatResponse>();
    carry_out(shard_.runner.shard().consumer_heartbeat(shard_.runner.context(1), request, std::move(reply)));
  }

  void make_or_grow_a_topic() {
    const std::string name = any_topic();
    const auto* present = shard_.image().topic(name);
    shard_.set_topic(name, (present == nullptr ? 0 : present->partition_count()) + 1 + below(4));
  }

  void drop_a_topic() {
    const auto& topics = shard_.image().topics_by_name;
    if (topics.empty()) return;
    auto at = topics.begin();
    for (int i = below(static_cast<int>(topics.size())); i > 0; --i) ++at;
    const std::string name = (*at)->name;
    shard_.delete_topic(name);
  }

  /// Batches are whole or not there at all, and what was promised is there.
  void crash() {
    const auto points = shard_.runner.crash_points();
    shard_.runner.crash(points[static_cast<std::size_t>(below(static_cast<int>(points.size())))]);
    for (Client& client : clients_)
      if (client.answer && !client.answer->came()) client.lose_answer();
  }

  void carry_out(Decision decision) { shard_.runner.carry_out(std::move(decision)); }

  void calm_down() {
    is_calm_ = true;
    shard_.runner.refuse_appends(ErrorCode::none);
    shard_.runner.durable_at_once(true);
    for (Client& client : clients_) client.hangs = 0;
    std::erase_if(clients_, [](const Client& client) { return !client.is_running; });
    while (clients_.size() < 2) come();
  }

  // --- a round

  void step() {
    for (Client& client : clients_) {
      if (client.hangs > 0 || !client.is_running) {
        client.hangs = std::max(0, client.hangs - 1);
        continue;
      }
      if (client.answer) take_answer(client);
      if (!client.answer) client.come_to_assignment([this](int in) { return chance(in); });
      if (!client.answer) send(client);
      expect_one_owner();
    }
    // Appended by timers, batch by batch; a crash may fall between any two.
    for (int i = 0; i < 10; ++i) {
      shard_.runner.advance(milliseconds(is_calm_ ? 300 : below(500)));
    }
    if (with_crashes_ && below(2) == 0) shard_.runner.make_durable();
    expect_one_owner();
    expect_epochs_to_rise();
  }

  void send(Client& client) {
    if (chance(8)) return client.lose_answer();  // the request is lost
    client.request = std::make_unique<ConsumerGroupHeartbeatRequest>(client.heartbeat());
    auto [reply, answer] = reply_and_answer<ConsumerGroupHeartbeatResponse>();
    client.answer = answer;
    carry_out(shard_.runner.shard().consumer_heartbeat(shard_.runner.context(1), *client.request,
                                                       std::move(reply)));
    if (!chance(12)) return;
    auto [reply_to_copy, answer_to_copy] = reply_and_answer<ConsumerGroupHeartbeatResponse>();
    carry_out(shard_.runner.shard().consumer_heartbeat(shard_.runner.context(1), *client.request,
                                                       std::move(reply_to_copy)));
  }

  void take_answer(Client& client) {
    if (chance(8)) return client.lose_answer();
    client.take_answer();
  }

  // --- what must be so

  void expect_one_owner() {
    const ConsumerGroup* group = shard_.group("g");
    if (group == nullptr) return;
    std::map<Partition, std::string> owners;
    for (const Client& client : clients_) {
      // Who was put out finds out with its next heartbeat; until then nobody can tell it.
      if (group->member(client.id) == nullptr) continue;
      for (const Partition& partition : client.owned) {
        const auto [owner, is_new] = owners.try_emplace(partition, client.id);
        ASSERT_TRUE(is_new) << partition.first.to_string() << "-" << partition.second << " belongs to "
                            << owner->second << " and " << client.id;
      }
    }
  }

  void expect_epochs_to_rise() {
    const ConsumerGroup* group = shard_.group("g");
    if (group == nullptr) return;
    ASSERT_GE(group->epoch(), group->assignment_epoch());
    for (const auto& [id, member] : group->members()) ASSERT_LE(member.epoch, group->assignment_epoch());
    if (shard_.runner.durable() != shard_.runner.log().size()) return;
    ASSERT_GE(group->epoch(), last_epoch_);
    last_epoch_ = group->epoch();
  }

  std::set<std::string> subscribed_by(const Client& client) const {
    std::set<std::string> topics(client.topics.begin(), client.topics.end());
    for (const auto& topic : shard_.image().topics_by_name) {
      const char name = topic->name[0];
      if (client.regex == "[a-c]" && name >= 'a' && name <= 'c') topics.insert(topic->name);
      if (client.regex == "[^b]" && name != 'b') topics.insert(topic->name);
    }
    return topics;
  }

  void expect_converged() {
    if (::testing::Test::HasFailure()) return;
    const ConsumerGroup* group = shard_.group("g");
    ASSERT_NE(group, nullptr);
    EXPECT_EQ(group->state_name(), "Stable");
    EXPECT_EQ(group->members().size(), clients_.size());
    Partitions expected;
    Partitions owned;
    for (const Client& client : clients_) {
      owned.insert(client.owned.begin(), client.owned.end());
      for (const auto& name : subscribed_by(client)) {
        const auto* topic = shard_.image().topic(name);
        for (int32_t i = 0; topic != nullptr && i < topic->partition_count(); ++i)
          expected.insert({topic->id, i});
      }
      EXPECT_EQ(by_topic(client.owned), group->target(client.id)) << client.id;
    }
    EXPECT_EQ(by_topic(owned), by_topic(expected));
  }

  std::mt19937_64 random_;
  const bool with_crashes_;
  bool is_calm_ = false;
  ConsumerShard shard_;
  std::vector<Client> clients_;
  int last_id_ = 0;
  int32_t last_epoch_ = 0;
};

TEST(ConsumerSimulation, a_partition_never_belongs_to_two_members_and_everything_settles) {
  const auto seeds = test_seeds(2000);
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE("BARNABAS_SEED=" + std::to_string(seed));
    Simulation(seed).run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace barnabas::coordinator::testing
