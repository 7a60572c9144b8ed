// A log of groups and committed offsets with any content: refused record by record, or understood. Whatever
// was understood, the shard goes on: it answers, members of both protocols come and go, its timers run, and
// what it writes can be replayed.
//
// Each record: a byte of flags (1: a tombstone, 2: of a transaction, 4: the end of one, 8: a member of the
// consumer protocol comes to its groups; the upper half is the producer), the length of the key in one byte,
// that of the value in two, the key, the value.
#include <algorithm>
#include <cstdint>
#include <deque>
#include <memory>
#include <string>
#include <vector>

#include "base/assert.h"
#include "coordinator/group_shard.h"

namespace {

using namespace barnabas;
using namespace barnabas::coordinator;

constexpr int records_max = 2'000;
constexpr int timers_max = 200;
constexpr std::size_t known_members_max = 20;
/// That records of the corpus are about.
constexpr const char* topic_id = "fiZLAccaQEq6lYrWlmsD3Q";
/// A ConsumerProtocolSubscription of version 1, to "t1".
constexpr std::string_view subscription("\0\1\0\0\0\1\0\2t1\xff\xff\xff\xff\0\0\0\0", 18);

template <class Response>
Reply<Response> any_answer() {
  return Reply<Response>([](std::expected<Response, protocol::ErrorCode>) {});
}

class FuzzedShard {
 public:
  FuzzedShard() : shard_(environment()) {}

  void replay(ByteView bytes) {
    const auto byte = [&](std::size_t at) { return std::to_integer<std::size_t>(bytes[at]); };
    for (int count = 0; bytes.size() >= 4 && count < records_max; ++count) {
      const std::size_t flags = byte(0);
      const std::size_t key_size = std::min(byte(1), bytes.size() - 4);
      const std::size_t value_size = std::min(byte(2) << 8 | byte(3), bytes.size() - 4 - key_size);
      const ByteView key = bytes.subspan(4, key_size);
      const ByteView value = bytes.subspan(4 + key_size, value_size);
      bytes = bytes.subspan(4 + key_size + value_size);
      upgrades_ = upgrades_ || (flags & 8) != 0;
      const ProducerId producer(static_cast<int64_t>(flags >> 4));
      if ((flags & 4) != 0) {
        shard_.end_transaction(producer, (flags & 1) != 0);
      } else {
        (void)shard_.replay({.key = key,
                             .value = (flags & 1) != 0 ? std::nullopt : std::optional(value),
                             .offset = Offset(offset_++),
                             .timestamp = now_.wall,
                             .producer_id = (flags & 2) != 0 ? producer : no_producer_id});
      }
    }
  }

  void live() {
    carry_out(shard_.loaded(now_));
    ask();
    // In a group of the classic protocol this one comes from the other, and leaves before the others.
    for (const std::string& id : ids()) {
      if (upgrades_) come_with_heartbeat(id, 0);
      for (const std::string& member : members_of(id)) come_with_join(id, member);
      come_with_join(id, "");
      if (upgrades_) come_with_heartbeat(id, -1);
    }
    ask();
    for (int i = 0; i < timers_max && shard_.timers().next(); ++i) {
      const auto by = std::max(*shard_.timers().next() - now_.instant, Instant::duration(0));
      now_.instant += by;
      now_.wall += std::chrono::duration_cast<std::chrono::milliseconds>(by).count();
      while (auto due = shard_.timers().take_due(now_.instant)) carry_out(due->fire(now_));
    }
    ask();
    for (const std::string& id : ids())
      carry_out(shard_.delete_group(protocol::String(id), any_answer<Deleted>()));
    carry_out(shard_.unload());
  }

 private:
  using Deleted = OffsetProtocol::DeletedGroup;
  struct Joined {
    std::string id = {};
    int32_t generation = -1;
  };

  static ShardEnvironment environment() {
    static const metadata::StaticConfig config;
    return {.node = NodeId(1), .config = config, .settings = GroupSettings::of(config), .image = image()};
  }
  static metadata::MetadataImagePtr image() {
    auto topic = std::make_shared<metadata::TopicImage>();
    topic->name = "t1";
    topic->id = *Uuid::parse(topic_id);
    for (int i = 0; i < 4; ++i) topic->partitions.push_back(std::make_shared<metadata::PartitionImage>());
    auto image = std::make_shared<metadata::MetadataImage>();
    image->topics_by_name.put(topic);
    image->topics_by_id.put(topic);
    return image;
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    for (const auto& [id, group] : shard_.groups()) ids.push_back(id);
    return ids;
  }
  /// Some that the log names.
  std::vector<std::string> members_of(const std::string& group) const {
    std::vector<std::string> members;
    const auto take = [&](const auto& all) {
      for (const auto& [id, member] : all)
        if (members.size() < known_members_max) members.push_back(id);
    };
    if (const auto* classic = shard_.groups().find_as<ClassicGroup>(group)) take(classic->members());
    if (const auto* consumer = shard_.groups().find_as<ConsumerGroup>(group)) take(consumer->members());
    return members;
  }

  RequestContext context(int16_t version) const {
    return {.version = version, .client_id = "c", .client_host = "/h", .now = now_};
  }
  /// A request lives until it is answered.
  template <class Request>
  const Request& keep(Request request) {
    auto kept = std::make_shared<Request>(std::move(request));
    requests_.push_back(kept);
    return *kept;
  }

  void come_with_heartbeat(const std::string& group, int32_t epoch) {
    protocol::ConsumerGroupHeartbeatRequest request;
    request.group_id = group;
    request.member_id = "newcomer";
    request.member_epoch = epoch;
    request.rebalance_timeout_ms = 60'000;
    request.subscribed_topic_names.emplace().emplace_back("t1");
    request.topic_partitions.emplace();
    carry_out(shard_.consumer_heartbeat(context(1), keep(std::move(request)),
                                        any_answer<protocol::ConsumerGroupHeartbeatResponse>()));
  }

  /// Joins, takes its share, says that it is there, and leaves if it is new.
  void come_with_join(const std::string& group, const std::string& member) {
    protocol::JoinGroupRequest request;
    request.group_id = group;
    request.member_id = member;
    request.session_timeout_ms = 30'000;
    request.rebalance_timeout_ms = 60'000;
    request.protocol_type = "consumer";
    auto& range = request.protocols.emplace_back();
    range.name = "range";
    range.metadata = protocol::Bytes::of_text(subscription);
    const auto joined = std::make_shared<Joined>(Joined{.id = member});
    carry_out(shard_.join_group(
        context(3), keep(std::move(request)),
        Reply<protocol::JoinGroupResponse>(
            [joined](const std::expected<protocol::JoinGroupResponse, protocol::ErrorCode>& content) {
              if (content) *joined = {.id = content->member_id.str(), .generation = content->generation_id};
            })));
    protocol::SyncGroupRequest sync;
    sync.group_id = group;
    sync.member_id = joined->id;
    sync.generation_id = joined->generation;
    carry_out(
        shard_.sync_group(context(3), keep(std::move(sync)), any_answer<protocol::SyncGroupResponse>()));
    protocol::HeartbeatRequest heartbeat;
    heartbeat.group_id = group;
    heartbeat.member_id = joined->id;
    heartbeat.generation_id = joined->generation;
    carry_out(
        shard_.heartbeat(context(3), keep(std::move(heartbeat)), any_answer<protocol::HeartbeatResponse>()));
    commit(group, *joined);
    if (!member.empty()) return;
    protocol::LeaveGroupRequest leave;
    leave.group_id = group;
    leave.members.emplace_back().member_id = joined->id;
    carry_out(
        shard_.leave_group(context(5), keep(std::move(leave)), any_answer<protocol::LeaveGroupResponse>()));
  }

  void commit(const std::string& group, const Joined& member) {
    protocol::OffsetCommitRequest request;
    request.group_id = group;
    request.member_id = member.id;
    request.generation_id_or_member_epoch = member.generation;
    auto& topic = request.topics.emplace_back();
    topic.name = "t1";
    topic.partitions.emplace_back().committed_offset = 7;
    carry_out(shard_.commit_offsets(context(9), keep(std::move(request)),
                                    any_answer<protocol::OffsetCommitResponse>()));
  }

  void carry_out(Decision decision) {
    for (const Record& record : decision.records) {
      if (!decision.replay) break;
      std::optional<ByteView> value;
      if (record.value) value = ByteView(*record.value);
      const auto done = shard_.replay(
          {.key = record.key, .value = value, .offset = Offset(offset_++), .timestamp = now_.wall});
      BARNABAS_ASSERT(done.has_value());
    }
    if (decision.appended) decision.appended();
    for (ReadyReply& reply : decision.replies) reply(protocol::ErrorCode::none);
  }
  void ask() {
    const RequestContext asked = context(9);
    for (const std::string& id : ids()) {
      OffsetProtocol::GroupToFetch all;
      all.group_id = id;
      all.topics.reset();
      carry_out(shard_.fetch_offsets(asked, all, true, any_answer<OffsetProtocol::FetchedGroup>()));
      carry_out(shard_.describe_group(asked, id, any_answer<ClassicProtocol::DescribedGroup>()));
      carry_out(shard_.describe_consumer_group(id, any_answer<ConsumerProtocol::DescribedGroup>()));
    }
  }

  Now now_{Instant{} + std::chrono::hours(1), TimestampMs(1'750'000'000'000)};
  int64_t offset_ = 0;
  bool upgrades_ = false;
  std::deque<std::shared_ptr<const void>> requests_;
  GroupShard shard_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  FuzzedShard shard;
  shard.replay(ByteView(reinterpret_cast<const std::byte*>(data), size));
  shard.live();
  return 0;
}
