// Members of a classic group come, go, die, fall asleep and come too late, while records are refused, answers
// wait for the disk and the coordinator crashes. BARNABAS_SEED=17 runs one seed, BARNABAS_SEEDS=5000 many.
#include <gtest/gtest.h>

#include "base/test_seeds.h"
#include "coordinator/shard_test_support.h"
#include "coordinator/simulated_classic_member.h"
#include "coordinator/simulation_dice.h"

namespace barnabas::coordinator {
namespace {

using protocol::ErrorCode;
using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Dice;
using testing::GroupShardRunner;
using testing::SimulatedClassicMember;

constexpr milliseconds tick{250};
constexpr milliseconds durable_within{2'000};
/// Somebody who waits is answered by then: a rebalance ends with whoever has come, and so does a wait for
/// shares; nobody who waits is made to wait for another one. Then the disk; the rest is what ticks and
/// retries take.
constexpr milliseconds answered_within =
    SimulatedClassicMember::rebalance_timeout + durable_within + seconds(1);

/// "b" of "b-<uuid>": who a member id was made for.
std::string owner_of(std::string_view member_id) {
  return std::string(member_id.substr(0, member_id.find('-')));
}

/// What clients were told, and what must be true of it all.
class Ledger {
 public:
  /// A JoinGroup was answered with a generation. Unless the coordinator crashes before its shares are kept, a
  /// generation has one leader and one protocol.
  void joined(const protocol::JoinGroupResponse& response) {
    const int32_t generation = response.generation_id;
    EXPECT_GE(generation, settled_) << "a generation went back";
    EXPECT_GE(generation, newest_) << "a generation went back without a crash";
    newest_ = generation;
    const auto said = std::pair(owner_of(response.leader), response.protocol_name->str());
    EXPECT_EQ(generations_.try_emplace(generation, said).first->second, said)
        << "of generation " << generation;
  }
  /// A SyncGroup was answered with a share: all shares of a generation come from one decision of its leader,
  /// also when the coordinator has crashed since.
  void synced(int32_t generation, std::string_view share, const std::string& client) {
    EXPECT_GE(generation, settled_) << "a generation went back";
    settled_ = std::max(settled_, generation);
    if (share.empty()) return;
    const std::size_t colon = share.find(':');
    EXPECT_EQ(share.substr(colon + 1), client) << "somebody else's share";
    const std::string decision(share.substr(0, colon));
    EXPECT_EQ(decisions_.try_emplace(generation, decision).first->second, decision)
        << "two decisions about generation " << generation;
  }
  int32_t newest() const { return newest_; }
  void crashed() {
    newest_ = settled_;
    std::erase_if(generations_, [this](const auto& known) { return known.first > settled_; });
  }

 private:
  int32_t newest_ = 0;
  int32_t settled_ = 0;  ///< the newest of which somebody got a share
  std::map<int32_t, std::pair<std::string, std::string>> generations_;
  std::map<int32_t, std::string> decisions_;
};

/// The group as all clients share it.
struct World {
  explicit World(uint64_t seed)
      : dice(seed),
        size_max(dice.one_in(4) ? 3 : 1'000),
        runner([this](ShardEnvironment& environment) { environment.settings.size_max = size_max; }) {}
  Dice dice;
  std::size_t size_max;
  GroupShardRunner runner;
  testing::ClassicSurroundings around{runner, dice, answered_within};
  Ledger ledger;
  int decisions = 0;
};

class Client final : public SimulatedClassicMember {
 public:
  Client(World& world, std::string name, bool is_static)
      : SimulatedClassicMember(world.around, std::move(name), is_static), world_(world) {}

 protected:
  std::vector<Named> protocols() override {
    static const std::vector<std::vector<std::string>> ways{
        {"range", "sticky"}, {"sticky", "range"}, {"sticky", "own", "range"}};
    std::vector<Named> spoken;
    for (const std::string& way : ways[speaks_]) spoken.push_back({way, {}});
    return spoken;
  }
  std::vector<Named> share_out(const std::vector<Named>& members) override {
    const std::string decision = std::to_string(++world_.decisions);
    std::vector<Named> shares;
    for (const Named& member : members)
      shares.push_back({member.name, protocol::Bytes::of_text(decision + ":" + owner_of(member.name))});
    return shares;
  }
  void join_left(const protocol::JoinGroupResponse& response) override { world_.ledger.joined(response); }
  void share_left(int32_t generation, std::string_view share) override {
    world_.ledger.synced(generation, share, name());
  }
  void joined() override { EXPECT_EQ(owner_of(member_id()), name()); }
  bool misbehave(Instant now) override {
    if (is_member() && world_.dice.one_in(150)) speaks_ = world_.dice.below(3);
    return SimulatedClassicMember::misbehave(now);
  }

 private:
  World& world_;
  std::size_t speaks_ = 0;
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : world_(seed) {
    for (const char* name : {"a", "b", "c", "d"}) clients_.emplace_back(world_, name, false);
    for (const char* name : {"s", "t"}) clients_.emplace_back(world_, name, true);
  }

  void run() {
    for (int i = 0; i < 1'500; ++i) {
      disturb();
      step();
      if (::testing::Test::HasFailure()) return;
    }
    world_.around.calm = true;
    world_.runner.refuse_appends(ErrorCode::none);
    world_.runner.durable_at_once(true);
    // The longest that anything is waited for: a newcomer whose client lost patience.
    for (milliseconds passed{0}; passed < std::chrono::minutes(8); passed += tick) step();
    expect_settled();
  }

 private:
  void step() {
    world_.runner.advance(tick);
    for (Client& client : clients_) client.live();
  }

  void disturb() {
    Dice& dice = world_.dice;
    if (dice.one_in(200)) world_.runner.refuse_appends(ErrorCode::not_coordinator);
    if (dice.one_in(10)) world_.runner.refuse_appends(ErrorCode::none);
    const Instant now = world_.runner.now().instant;
    if (dice.one_in(20)) {
      world_.runner.durable_at_once(false);
      durable_by_ = std::min(durable_by_, now + durable_within);
    }
    if (dice.one_in(6) || now >= durable_by_) {
      world_.runner.durable_at_once(true);
      durable_by_ = Instant::max();
    }
    if (dice.one_in(150)) {
      const std::size_t durable = world_.runner.durable();
      const std::size_t all = world_.runner.log().size();
      world_.runner.crash(durable + dice.below(all - durable + 1));
      world_.ledger.crashed();
    }
  }

  void expect_settled() {
    auto [reply, answer] = testing::reply_and_answer<ClassicProtocol::DescribedGroup>();
    world_.runner.carry_out(
        world_.runner.shard().describe_group(world_.runner.context(6), "g", std::move(reply)));
    const auto& group = answer->response();
    EXPECT_EQ(group.group_state, "Stable");
    std::size_t settled = 0;
    for (const Client& client : clients_) {
      const bool is_listed = std::ranges::any_of(
          group.members, [&](const auto& member) { return member.member_id == client.member_id(); });
      if (!is_listed) continue;
      ++settled;
      EXPECT_TRUE(client.is_settled(world_.ledger.newest()));
    }
    EXPECT_EQ(settled, group.members.size()) << "a member that is nobody";
    EXPECT_EQ(settled, std::min(clients_.size(), world_.size_max));
  }

  World world_;
  std::deque<Client> clients_;
  Instant durable_by_ = Instant::max();
};

TEST(ClassicSimulation, a_group_comes_to_rest_whatever_happened_to_it) {
  const TestSeeds seeds = test_seeds(3000);
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE("BARNABAS_SEED=" + std::to_string(seed));
    Simulation(seed).run();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace barnabas::coordinator
