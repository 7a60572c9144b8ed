#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>

#include "base/test_seeds.h"
#include "coordinator/consumer_embedded.h"
#include "coordinator/simulated_classic_member.h"
#include "coordinator/simulated_consumer_member.h"
#include "protocol/messages/consumer_protocol_subscription.h"

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

/// How one group is set up, and what all in it share.
struct World {
  explicit World(uint64_t seed)
      : dice(seed),
        upgrade(!dice.one_in(6)),
        downgrade(!dice.one_in(6)),
        is_cooperative(dice.one_in(2)),
        shard([this](ShardEnvironment& environment) {
          environment.settings.upgrade = upgrade;
          environment.settings.downgrade = downgrade;
        }) {
    shard.set_topic("t", 4);
    shard.set_topic("u", 3);
  }

  Partitions all_partitions() const {
    Partitions all;
    for (const auto& topic : shard.image().topics_by_name)
      for (int32_t i = 0; i < topic->partition_count(); ++i) all.insert({topic->id, i});
    return all;
  }
  Partitions partitions_of(const std::map<std::string, std::vector<int32_t>>& by_name) const {
    Partitions partitions;
    for (const auto& [topic, list] : by_id(by_name, shard.image()))
      for (const int32_t partition : list) partitions.insert({topic, partition});
    return partitions;
  }

  Dice dice;
  const bool upgrade;
  const bool downgrade;
  const bool is_cooperative;  ///< how members of the classic protocol share out
  ConsumerShard shard;
  ClassicSurroundings around{shard.runner, dice, answered_within};
  std::map<Partition, int64_t> acknowledged = {};  ///< committed, and answered so
};

/// Reads the partitions that a member owns: from the committed offset on, committing how far it has come.
class Reading {
 public:
  explicit Reading(World& world) : world_(&world) {}

  void go_on(const std::string& member_id, const std::optional<std::string>& instance, int32_t epoch,
             const Partitions& owned) {
    std::erase_if(positions_, [&](const auto& position) { return !owned.contains(position.first); });
    if (positions_.size() < owned.size()) find_positions(owned);
    if (positions_.empty() || !world_->dice.one_in(3)) return;
    for (auto& [partition, position] : positions_) position += static_cast<int64_t>(world_->dice.below(4));
    commit(member_id, instance, epoch);
  }

 private:
  void find_positions(const Partitions& owned) {
    auto asked = std::make_shared<OffsetProtocol::GroupToFetch>();
    asked->group_id = "g";
    asked->topics.reset();
    world_->around.requests.push_back(asked);
    auto [reply, answer] = reply_and_answer<OffsetProtocol::FetchedGroup>();
    world_->shard.runner.carry_out(world_->shard.runner.shard().fetch_offsets(
        world_->shard.runner.context(9), *asked, false, std::move(reply)));
    if (!answer->came() || answer->refused() != ErrorCode::none) return;
    std::map<Partition, int64_t> committed;
    for (const auto& topic : answer->response().topics)
      for (const auto& one : topic.partitions)
        committed[{world_->shard.image().topic(topic.name)->id, one.partition_index}] = one.committed_offset;
    for (const Partition& partition : owned) {
      const int64_t known = world_->acknowledged[partition];
      ASSERT_GE(committed[partition], known) << "a committed offset went back";
      positions_.emplace(partition, committed[partition]);
    }
  }

  void commit(const std::string& member_id, const std::optional<std::string>& instance, int32_t epoch) {
    auto request = std::make_shared<protocol::OffsetCommitRequest>();
    request->group_id = "g";
    request->member_id = member_id;
    if (instance) request->group_instance_id = protocol::String(*instance);
    request->generation_id_or_member_epoch = epoch;
    for (const auto& [partition, position] : positions_) {
      const auto* topic = world_->shard.image().topic(partition.first);
      if (request->topics.empty() || request->topics.back().name != topic->name)
        request->topics.emplace_back().name = topic->name;
      auto& one = request->topics.back().partitions.emplace_back();
      one.partition_index = partition.second;
      one.committed_offset = position;
    }
    world_->around.requests.push_back(request);
    Reply<protocol::OffsetCommitResponse> reply(
        [&world = *world_,
         positions = positions_](const std::expected<protocol::OffsetCommitResponse, ErrorCode>& content) {
          if (!content || content->topics.front().partitions.front().error_code != 0) return;
          for (const auto& [partition, position] : positions) {
            int64_t& acknowledged = world.acknowledged[partition];
            EXPECT_GE(position, acknowledged) << "a commit of a member that was replaced was accepted";
            acknowledged = position;
          }
        });
    world_->shard.runner.carry_out(world_->shard.runner.shard().commit_offsets(
        world_->shard.runner.context(9), *request, std::move(reply)));
  }

  World* world_;
  std::map<Partition, int64_t> positions_;
};

/// A client of the classic protocol whose members speak Kafka's embedded consumer protocol: eager, or
/// cooperative.
class ClassicClient final : public SimulatedClassicMember {
 public:
  ClassicClient(World& world, std::string name, bool is_static)
      : SimulatedClassicMember(world.around, std::move(name), is_static), world_(world), reading_(world) {}

  void step() {
    if (!is_running_) return;
    live();
    reading_.go_on(member_id(), instance(), generation(), owned_);
  }
  /// It leaves as it should, or just ends.
  void stop() {
    if (world_.dice.one_in(2) && !is_static()) leave();
    start_again(Instant::max());
    is_running_ = false;
  }
  bool is_running() const { return is_running_; }
  /// Others had a generation without it.
  void miss() { has_missed_ = true; }
  bool has_missed() const { return has_missed_; }
  const Partitions& owned() const { return owned_; }
  std::optional<std::string> instance() const { return is_static() ? std::optional(name()) : std::nullopt; }

 protected:
  std::vector<Named> protocols() override {
    protocol::ConsumerProtocolSubscription said;
    said.topics = {"t", "u"};
    for (const auto& [topic, partitions] : by_topic(owned_)) {
      auto& one = said.owned_partitions.emplace_back();
      one.topic = world_.shard.image().topic(topic)->name;
      one.partitions = partitions;
    }
    return {{world_.is_cooperative ? "cooperative-sticky" : "range", embedded(said, 1)}};
  }

  /// In turn; what somebody else says to own is withheld until that one has given it up.
  std::vector<Named> share_out(const std::vector<Named>& members) override {
    std::map<Partition, std::set<std::string>> claims;
    for (const Named& member : members)
      for (const Partition& partition : world_.partitions_of(read_subscription(member.bytes)->owned))
        claims[partition].insert(member.name);
    std::map<std::string, Partitions> shares;
    std::size_t turn = 0;
    for (const Partition& partition : world_.all_partitions()) {
      const std::string& to = members[turn++ % members.size()].name;
      auto& claimed_by = claims[partition];
      claimed_by.erase(to);
      if (claimed_by.empty()) shares[to].insert(partition);
    }
    std::vector<Named> out;
    for (const Named& member : members)
      out.push_back({member.name, protocol::Bytes(write_assignment(by_topic(shares[member.name]),
                                                                   world_.shard.image(), 1))});
    return out;
  }

  void before_join() override {
    if (!world_.is_cooperative) owned_.clear();
  }
  bool take(ByteView share) override {
    const auto read = read_assignment(share);
    const Partitions given = read ? world_.partitions_of(read->partitions) : Partitions();
    const bool gives_up = !std::ranges::includes(given, owned_);
    owned_ = given;
    has_missed_ = false;
    return !gives_up;
  }
  void lost() override {
    owned_.clear();
    has_missed_ = false;
  }
  void join_refused_with(ErrorCode error) override {
    EXPECT_EQ(error, ErrorCode::inconsistent_group_protocol);
    EXPECT_FALSE(world_.upgrade && world_.downgrade);
    pause(world_.shard.runner.now().instant + world_.dice.up_to(seconds(5)));
  }

 private:
  World& world_;
  Reading reading_;
  Partitions owned_;
  bool is_running_ = true;
  bool has_missed_ = false;
};

struct ConsumerClient {
  ConsumerClient(World& world, std::string id) : member{.id = std::move(id)}, reading(world) {}
  SimulatedConsumerMember member;
  Reading reading;
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : world_(seed), with_crashes_(dice_.one_in(2)) {}

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

  World world_;
  Dice& dice_ = world_.dice;
  const bool with_crashes_;
  std::deque<ClassicClient> classics_;
  std::deque<ConsumerClient> consumers_;
  Instant durable_by_ = Instant::max();
  int last_id_ = 0;
};

TEST(MigrationSimulation, partitions_have_one_owner_and_offsets_do_not_go_back_whatever_the_group_speaks) {
  const TestSeeds seeds = test_seeds(40);
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE("BARNABAS_SEED=" + std::to_string(seed));
    Simulation(seed).run();
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace barnabas::coordinator::testing
