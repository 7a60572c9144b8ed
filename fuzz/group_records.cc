// A log of groups and committed offsets with any content: refused record by record, or understood. Whatever
// was understood, the shard goes on: it answers, its timers run, and what it writes can be replayed.
//
// Each record: a byte of flags (1: a tombstone, 2: of a transaction, 4: the end of one; the upper half is the
// producer), the length of the key in one byte, that of the value in two, the key, the value.
#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "base/assert.h"
#include "coordinator/group_shard.h"

namespace {

using namespace barnabas;
using namespace barnabas::coordinator;

constexpr int records_max = 2'000;
constexpr int timers_max = 200;

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

  static ShardEnvironment environment() {
    static const metadata::StaticConfig config;
    return {.node = NodeId(1),
            .config = config,
            .settings = GroupSettings::of(config),
            .image = std::make_shared<metadata::MetadataImage>()};
  }
  std::vector<std::string> ids() const {
    std::vector<std::string> ids;
    for (const auto& [id, group] : shard_.groups()) ids.push_back(id);
    return ids;
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
    const RequestContext context{.version = 9, .client_id = "c", .client_host = "/h", .now = now_};
    for (const std::string& id : ids()) {
      OffsetProtocol::GroupToFetch all;
      all.group_id = id;
      all.topics.reset();
      carry_out(shard_.fetch_offsets(context, all, true, any_answer<OffsetProtocol::FetchedGroup>()));
      carry_out(shard_.describe_group(context, id, any_answer<ClassicProtocol::DescribedGroup>()));
      carry_out(shard_.describe_consumer_group(id, any_answer<ConsumerProtocol::DescribedGroup>()));
    }
  }

  Now now_{Instant{} + std::chrono::hours(1), TimestampMs(1'750'000'000'000)};
  int64_t offset_ = 0;
  GroupShard shard_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  FuzzedShard shard;
  shard.replay(ByteView(reinterpret_cast<const std::byte*>(data), size));
  shard.live();
  return 0;
}
