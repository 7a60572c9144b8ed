#include "coordinator/migration_simulation.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "coordinator/consumer_embedded.h"
#include "protocol/messages/consumer_protocol_subscription.h"

namespace barnabas::coordinator::testing {

using protocol::ErrorCode;
using std::chrono::seconds;

MigrationWorld::MigrationWorld(uint64_t seed, std::chrono::milliseconds answered_within)
    : dice(seed),
      upgrade(!dice.one_in(6)),
      downgrade(!dice.one_in(6)),
      is_cooperative(dice.one_in(2)),
      shard([this](ShardEnvironment& environment) {
        environment.settings.upgrade = upgrade;
        environment.settings.downgrade = downgrade;
      }),
      around{shard.runner, dice, answered_within} {
  shard.set_topic("t", 4);
  shard.set_topic("u", 3);
}

Partitions MigrationWorld::all_partitions() const {
  Partitions all;
  for (const auto& topic : shard.image().topics_by_name)
    for (int32_t i = 0; i < topic->partition_count(); ++i) all.insert({topic->id, i});
  return all;
}

Partitions MigrationWorld::partitions_of(const std::map<std::string, std::vector<int32_t>>& by_name) const {
  Partitions partitions;
  for (const auto& [topic, list] : by_id(by_name, shard.image()))
    for (const int32_t partition : list) partitions.insert({topic, partition});
  return partitions;
}

void Reading::go_on(const std::string& member_id, const std::optional<std::string>& instance, int32_t epoch,
                    const Partitions& owned) {
  std::erase_if(positions_, [&](const auto& position) { return !owned.contains(position.first); });
  if (positions_.size() < owned.size()) find_positions(owned);
  if (positions_.empty() || !world_->dice.one_in(3)) return;
  for (auto& [partition, position] : positions_) position += static_cast<int64_t>(world_->dice.below(4));
  commit(member_id, instance, epoch);
}

void Reading::find_positions(const Partitions& owned) {
  auto asked = std::make_shared<OffsetProtocol::GroupToFetch>();
  asked->group_id = "g";
  asked->topics.reset();
  world_->around.requests.push_back(asked);
  auto [reply, answer] = reply_and_answer<OffsetProtocol::FetchedGroup>();
  world_->shard.runner.carry_out(world_->shard.runner.shard().fetch_offsets(world_->shard.runner.context(9),
                                                                            *asked, false, std::move(reply)));
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

void Reading::commit(const std::string& member_id, const std::optional<std::string>& instance,
                     int32_t epoch) {
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
  world_->shard.runner.carry_out(world_->shard.runner.shard().commit_offsets(world_->shard.runner.context(9),
                                                                             *request, std::move(reply)));
}

void ClassicClient::step() {
  if (!is_running_) return;
  live();
  reading_.go_on(member_id(), instance(), generation(), owned_);
}

void ClassicClient::stop() {
  if (world_.dice.one_in(2) && !is_static()) leave();
  start_again(Instant::max());
  is_running_ = false;
}

std::vector<ClassicClient::Named> ClassicClient::protocols() {
  protocol::ConsumerProtocolSubscription said;
  said.topics = {"t", "u"};
  for (const auto& [topic, partitions] : by_topic(owned_)) {
    auto& one = said.owned_partitions.emplace_back();
    one.topic = world_.shard.image().topic(topic)->name;
    one.partitions = partitions;
  }
  return {{world_.is_cooperative ? "cooperative-sticky" : "range", embedded(said, 1)}};
}

std::vector<ClassicClient::Named> ClassicClient::share_out(const std::vector<Named>& members) {
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

void ClassicClient::before_join() {
  if (!world_.is_cooperative) owned_.clear();
}

bool ClassicClient::take(ByteView share) {
  const auto read = read_assignment(share);
  const Partitions given = read ? world_.partitions_of(read->partitions) : Partitions();
  const bool gives_up = !std::ranges::includes(given, owned_);
  owned_ = given;
  has_missed_ = false;
  return !gives_up;
}

void ClassicClient::lost() {
  owned_.clear();
  has_missed_ = false;
}

void ClassicClient::join_refused_with(ErrorCode error) {
  EXPECT_EQ(error, ErrorCode::inconsistent_group_protocol);
  EXPECT_FALSE(world_.upgrade && world_.downgrade);
  pause(world_.shard.runner.now().instant + world_.dice.up_to(seconds(5)));
}

}  // namespace barnabas::coordinator::testing
