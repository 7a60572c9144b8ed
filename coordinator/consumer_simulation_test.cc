#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>

#include "base/test_seeds.h"
#include "coordinator/consumer_test_support.h"

/// A group through weeks of bad luck: members come, hang, die and come back, topics come and go, answers and
/// requests are lost or doubled, the coordinator crashes between any two of its batches, its disk refuses,
/// its clock is set. Members behave as Kafka's clients do: one heartbeat at a time; after one without an
/// answer all is said again; what is taken away is given up before that is said.
namespace barnabas::coordinator::testing {
namespace {

using std::chrono::milliseconds;
using Partition = std::pair<Uuid, int32_t>;
using Partitions = std::set<Partition>;

TopicPartitions by_topic(const Partitions& partitions) {
  TopicPartitions topics;
  for (const auto& [topic, partition] : partitions) topics[topic].push_back(partition);
  return topics;
}

struct Client {
  std::string id;
  std::optional<std::string> instance = {};
  std::vector<std::string> topics = {};
  std::string regex = {};
  std::string assignor = {};

  bool is_running = true;
  int32_t epoch = 0;
  Partitions owned = {};                  ///< what it reads: given to it, and not given up yet
  std::optional<Partitions> wanted = {};  ///< an assignment that it has not come to yet
  bool says_all = true;                   ///< the last answer did not come
  bool says_owned = true;
  bool subscription_changed = false;
  int hangs = 0;  ///< rounds in which it does nothing
  /// Its heartbeat, once it is with the coordinator.
  AnswerPtr<ConsumerGroupHeartbeatResponse> answer = {};
  std::unique_ptr<ConsumerGroupHeartbeatRequest> request = {};
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : random_(seed), with_crashes_(below(2) == 0) {
    for (const auto* name : {"a", "b", "c"}) shard_.set_topic(name, 1 + below(6));
    shard_.runner.durable_at_once(!with_crashes_);
    note_boundary();
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
    auto request = heartbeat_request("g", client.id, client.instance ? leave_static_epoch : leave_epoch);
    if (client.instance) request.instance_id = protocol::String(*client.instance);
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
    std::vector<std::size_t> possible;
    for (const std::size_t at : boundaries_)
      if (at >= shard_.runner.durable() && at <= shard_.runner.log().size()) possible.push_back(at);
    const std::size_t kept = possible[static_cast<std::size_t>(below(static_cast<int>(possible.size())))];
    shard_.runner.crash(kept);
    std::erase_if(boundaries_, [kept](std::size_t at) { return at > kept; });
    for (Client& client : clients_)
      if (client.answer && !client.answer->came()) lose_answer(client);
  }

  void note_boundary() { boundaries_.push_back(shard_.runner.log().size()); }

  void carry_out(Decision decision) {
    shard_.runner.carry_out(std::move(decision));
    note_boundary();
  }

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
      if (!client.answer) come_to_assignment(client);
      if (!client.answer) send(client);
      expect_one_owner();
    }
    // Appended by timers, batch by batch; a crash may fall between any two.
    for (int i = 0; i < 10; ++i) {
      shard_.runner.advance(milliseconds(is_calm_ ? 300 : below(500)));
      note_boundary();
    }
    if (with_crashes_ && below(2) == 0) shard_.runner.make_durable();
    expect_one_owner();
    expect_epochs_to_rise();
  }

  void send(Client& client) {
    if (chance(8)) return lose_answer(client);  // the request is lost
    client.request = std::make_unique<ConsumerGroupHeartbeatRequest>(request_of(client));
    auto [reply, answer] = reply_and_answer<ConsumerGroupHeartbeatResponse>();
    client.answer = answer;
    carry_out(shard_.runner.shard().consumer_heartbeat(shard_.runner.context(1), *client.request,
                                                       std::move(reply)));
    if (!chance(12)) return;
    auto [reply_to_copy, answer_to_copy] = reply_and_answer<ConsumerGroupHeartbeatResponse>();
    carry_out(shard_.runner.shard().consumer_heartbeat(shard_.runner.context(1), *client.request,
                                                       std::move(reply_to_copy)));
  }

  ConsumerGroupHeartbeatRequest request_of(Client& client) {
    auto request = heartbeat_request("g", client.id, client.epoch);
    if (client.instance) request.instance_id = protocol::String(*client.instance);
    const bool says_all = client.says_all || client.epoch == 0;
    if (says_all || client.subscription_changed) {
      request.subscribed_topic_names.emplace(client.topics.begin(), client.topics.end());
      request.subscribed_topic_regex = protocol::String(client.regex);
    }
    if (says_all) {
      request.rebalance_timeout_ms = 20'000;
      if (!client.assignor.empty()) request.server_assignor = protocol::String(client.assignor);
    }
    if (says_all || client.says_owned) report(request, by_topic(client.owned));
    return request;
  }

  void lose_answer(Client& client) {
    client.answer.reset();
    client.says_all = true;
  }

  void take_answer(Client& client) {
    if (chance(8)) return lose_answer(client);
    if (!client.answer->came()) {
      if (client.answer->dropped) lose_answer(client);
      return;
    }
    if (!client.answer->content->has_value()) return lose_answer(client);
    const ConsumerGroupHeartbeatResponse response = client.answer->response();
    client.answer.reset();
    const auto error = static_cast<ErrorCode>(response.error_code);
    if (error == ErrorCode::unknown_member_id || error == ErrorCode::fenced_member_epoch ||
        error == ErrorCode::group_id_not_found) {
      client.epoch = 0;
      client.owned.clear();
      client.wanted.reset();
      client.says_all = true;
      return;
    }
    if (error == ErrorCode::fenced_instance_id || error == ErrorCode::unreleased_instance_id) {
      client.owned.clear();  // fatal, but the next one may come once this one's session has ended
      client.epoch = 0;
      client.wanted.reset();
      client.says_all = true;
      return;
    }
    ASSERT_EQ(error, ErrorCode::none) << response.error_message->view();
    ASSERT_GE(response.member_epoch, client.epoch) << client.id;
    client.epoch = response.member_epoch;
    client.says_all = false;
    client.says_owned = false;
    const std::vector<protocol::String> topics(client.topics.begin(), client.topics.end());
    if (client.request->subscribed_topic_names == topics) client.subscription_changed = false;
    if (!response.assignment) return;
    client.wanted.emplace();
    for (const auto& topic : response.assignment->topic_partitions)
      for (const int32_t partition : topic.partitions) client.wanted->insert({topic.topic_id, partition});
  }

  /// Gives up first, and takes the rest a while later; only then it reports, as clients do.
  ///
  /// Who has to say all again does not do so half-way: what it would not report yet, the protocol takes for
  /// given up (here as in Kafka), although it is about to be taken.
  void come_to_assignment(Client& client) {
    if (!client.wanted || (!client.says_all && chance(3))) return;
    Partitions kept;
    std::ranges::set_intersection(client.owned, *client.wanted, std::inserter(kept, kept.end()));
    if (kept != client.owned) {
      client.owned = std::move(kept);
      client.says_owned = false;
      if (!client.says_all && chance(2)) return;
    }
    client.owned = *client.wanted;
    client.wanted.reset();
    client.says_owned = true;
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
  std::vector<std::size_t> boundaries_;
  int last_id_ = 0;
  int32_t last_epoch_ = 0;
};

TEST(ConsumerSimulation, a_partition_never_belongs_to_two_members_and_everything_settles) {
  const auto seeds = test_seeds(120);
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE("BARNABAS_SEED=" + std::to_string(seed));
    Simulation(seed).run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace barnabas::coordinator::testing
