#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "base/test_seeds.h"
#include "coordinator/migration_simulation.h"

/// A group that changes between the protocols again and again: members of both come and go, hang and die,
/// answers are late or lost, the coordinator crashes behind any batch of its log, its disk refuses. A
/// partition never belongs to two members, what is committed never goes back, and in the end everything
/// settles.
namespace barnabas::coordinator::testing {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr milliseconds tick{500};
constexpr milliseconds durable_within{2'000};
constexpr milliseconds answered_within =
    SimulatedClassicMember::rebalance_timeout + durable_within + seconds(2);
constexpr std::size_t members_max = 6;

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : world_(seed, answered_within), with_crashes_(dice_.one_in(2)) {}

  void run() {
    constexpr int ticks = 900;
    for (int i = 0; i < ticks; ++i) {
      // First there are classic members, then they are replaced, and then those.
      misfortune(i < ticks / 3 || i > 2 * ticks / 3 ? 5 : 1);
      step();
      if (::testing::Test::HasFailure()) return;
    }
    calm_down();
    // The longest that anything is waited for: a newcomer whose client lost patience.
    for (milliseconds passed{0}; passed < std::chrono::minutes(7); passed += tick) {
      step();
      if (::testing::Test::HasFailure()) return;
    }
    expect_settled();
  }

 private:
  bool chance(std::size_t in) { return !world_.around.calm && dice_.one_in(in); }

  // --- what happens

  void misfortune(std::size_t classics_of_six) {
    if (chance(20) && running() < members_max) come(dice_.below(6) < classics_of_six);
    for (auto& client : classics_)
      if (client.is_running() && chance(100)) client.stop();
    for (auto& client : consumers_) {
      SimulatedConsumerMember& member = client.member;
      if (!member.is_running || member.hangs > 0) continue;
      if (chance(200)) member.hangs = static_cast<int>(dice_.below(100));
      if (chance(100)) stop(member);
    }
    std::erase_if(consumers_, [](const auto& client) {
      return !client.member.is_running && client.member.answer == nullptr;
    });
    world_.shard.runner.refuse_appends(chance(15) ? ErrorCode::not_coordinator : ErrorCode::none);
    disturb_disk();
    if (with_crashes_ && chance(40)) crash();
  }

  void disturb_disk() {
    const Instant now = world_.shard.runner.now().instant;
    if (chance(10)) {
      world_.shard.runner.durable_at_once(false);
      durable_by_ = std::min(durable_by_, now + durable_within);
    }
    if (chance(4) || now >= durable_by_) {
      world_.shard.runner.durable_at_once(true);
      durable_by_ = Instant::max();
    }
  }

  std::size_t running() const {
    return static_cast<std::size_t>(
        std::ranges::count_if(classics_, &ClassicClient::is_running) +
        std::ranges::count_if(consumers_, [](const auto& client) { return client.member.is_running; }));
  }

  /// An instance runs once at a time, of whichever protocol.
  bool runs(const std::string& instance) const {
    return std::ranges::any_of(
               classics_,
               [&](const auto& client) { return client.is_running() && client.instance() == instance; }) ||
           std::ranges::any_of(consumers_, [&](const auto& client) {
             return client.member.is_running && client.member.instance == instance;
           });
  }

  void come(bool is_classic) {
    const std::string number = std::to_string(++last_id_);
    std::optional<std::string> instance;
    if (dice_.one_in(3)) instance = "i" + std::to_string(dice_.below(2));
    if (instance && runs(*instance)) return;
    if (is_classic) {
      classics_.emplace_back(world_, instance.value_or("k" + number), instance.has_value());
      return;
    }
    auto& member = consumers_.emplace_back(world_, "m" + number).member;
    member.instance = instance;
    member.topics = {"t", "u"};
  }

  /// It leaves as it should, or just ends.
  void stop(SimulatedConsumerMember& member) {
    member.is_running = false;
    member.owned.clear();
    member.answer.reset();
    if (dice_.one_in(2) || member.epoch == 0) return;
    auto request = std::make_shared<ConsumerGroupHeartbeatRequest>(member.farewell());
    world_.around.requests.push_back(request);
    auto [reply, answer] = reply_and_answer<ConsumerGroupHeartbeatResponse>();
    carry_out(*request, std::move(reply));
  }

  void crash() {
    const auto points = world_.shard.runner.crash_points();
    world_.shard.runner.crash(points[dice_.below(points.size())]);
    for (auto& [member, reading] : consumers_)
      if (member.answer && !member.answer->came()) member.lose_answer();
  }

  void calm_down() {
    world_.around.calm = true;
    world_.shard.runner.refuse_appends(ErrorCode::none);
    world_.shard.runner.durable_at_once(true);
    for (auto& client : consumers_) client.member.hangs = 0;
    std::erase_if(consumers_, [](const auto& client) { return !client.member.is_running; });
    while (running() < 2) come(dice_.one_in(2));
  }

  // --- a tick

  void step() {
    world_.shard.runner.advance(tick);
    expect_one_owner();
    for (auto& client : classics_) {
      client.step();
      expect_one_owner();
    }
    for (auto& client : consumers_) {
      step(client);
      expect_one_owner();
    }
  }

  void step(ConsumerClient& client) {
    SimulatedConsumerMember& member = client.member;
    if (member.hangs > 0 || !member.is_running) {
      member.hangs = std::max(0, member.hangs - 1);
      return;
    }
    if (member.answer && chance(8)) member.lose_answer();
    if (member.answer) member.take_answer();
    if (!member.answer)
      member.come_to_assignment([this](int in) { return chance(static_cast<std::size_t>(in)); });
    if (!member.answer && (member.says_owned || dice_.one_in(4))) send(member);
    client.reading.go_on(member.id, member.instance, member.epoch, member.owned);
  }

  void send(SimulatedConsumerMember& member) {
    if (chance(8)) return member.lose_answer();  // the request is lost
    member.request = std::make_unique<ConsumerGroupHeartbeatRequest>(member.heartbeat());
    auto [reply, answer] = reply_and_answer<ConsumerGroupHeartbeatResponse>();
    member.answer = answer;
    carry_out(*member.request, std::move(reply));
    if (!chance(12)) return;
    auto [reply_to_copy, answer_to_copy] = reply_and_answer<ConsumerGroupHeartbeatResponse>();
    carry_out(*member.request, std::move(reply_to_copy));
  }

  void carry_out(const ConsumerGroupHeartbeatRequest& request, Reply<ConsumerGroupHeartbeatResponse> reply) {
    world_.shard.runner.carry_out(world_.shard.runner.shard().consumer_heartbeat(
        world_.shard.runner.context(1), request, std::move(reply)));
  }

  // --- what must be so

  const ClassicGroup* classic_group() {
    return world_.shard.runner.shard().groups().find_as<ClassicGroup>("g");
  }

  /// Who was put out, or missed a whole generation (static members stay then), finds out with its next
  /// request; until it gets a share again nobody can tell it.
  bool counts(ClassicClient& client) {
    const ClassicGroup* group = classic_group();
    if (group == nullptr)
      return world_.shard.group("g")->member(client.member_id()) != nullptr && !client.has_missed();
    if (!group->has_member(client.member_id())) return false;
    if (group->generation() == client.generation()) return !client.has_missed();
    if (!group->is_in(ClassicState::completing_rebalance)) client.miss();
    return false;
  }

  void expect_one_owner() {
    if (world_.shard.runner.shard().groups().find("g") == nullptr) return;
    std::map<Partition, std::string> owners;
    const auto count = [&owners](const std::string& name, const Partitions& owned) {
      for (const Partition& partition : owned) {
        const auto [owner, is_new] = owners.try_emplace(partition, name);
        ASSERT_TRUE(is_new) << partition.first.to_string() << "-" << partition.second << " belongs to "
                            << owner->second << " and " << name;
      }
    };
    for (auto& client : classics_)
      if (client.is_running() && counts(client)) count(client.member_id(), client.owned());
    const ConsumerGroup* group = world_.shard.group("g");
    for (const auto& client : consumers_)
      if (group != nullptr && group->member(client.member.id) != nullptr)
        count(client.member.id, client.member.owned);
  }

  void expect_settled() {
    const Group* group = world_.shard.runner.shard().groups().find("g");
    ASSERT_NE(group, nullptr);
    EXPECT_EQ(group->state_name(), "Stable");
    Partitions owned;
    std::size_t members = 0;
    bool has_consumers = false;
    for (auto& client : classics_) {
      if (!client.is_running() || !counts(client)) continue;
      ++members;
      owned.insert(client.owned().begin(), client.owned().end());
    }
    const ConsumerGroup* consumer_group = world_.shard.group("g");
    for (const auto& client : consumers_) {
      if (consumer_group == nullptr || consumer_group->member(client.member.id) == nullptr) continue;
      ++members;
      has_consumers = true;
      owned.insert(client.member.owned.begin(), client.member.owned.end());
    }
    EXPECT_EQ(members, consumer_group != nullptr ? consumer_group->members().size()
                                                 : classic_group()->members().size())
        << "a member that is nobody";
    if (world_.upgrade && world_.downgrade) {
      EXPECT_EQ(members, running());
      EXPECT_EQ(consumer_group != nullptr, has_consumers) << "the protocol of nobody";
    }
    EXPECT_EQ(by_topic(owned), by_topic(world_.all_partitions()));
  }

  MigrationWorld world_;
  Dice& dice_ = world_.dice;
  const bool with_crashes_;
  std::deque<ClassicClient> classics_;
  std::deque<ConsumerClient> consumers_;
  Instant durable_by_ = Instant::max();
  int last_id_ = 0;
};

TEST(MigrationSimulation, partitions_have_one_owner_and_offsets_do_not_go_back_whatever_the_group_speaks) {
  const TestSeeds seeds = test_seeds(1000);
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE("BARNABAS_SEED=" + std::to_string(seed));
    Simulation(seed).run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace barnabas::coordinator::testing
