#include "coordinator/group_shard.h"

namespace barnabas::coordinator {

GroupShard::GroupShard(ShardEnvironment environment) : environment_(std::move(environment)) {}

Result<void> GroupShard::replay(const ReplayedRecord& record) {
  protocol::Reader key(record.key);
  BARNABAS_ASSIGN([[maybe_unused]] const int16_t type, protocol::decode_coordinator_key_type(key));
  return {};
}

void GroupShard::end_transaction(ProducerId, bool) {}

Decision GroupShard::loaded(const Now&) {
  return {};
}

Decision GroupShard::metadata_changed(const metadata::MetadataChanges&,
                                      const metadata::MetadataImagePtr& image, const Now&) {
  environment_.image = image;
  return {};
}

Decision GroupShard::unload() {
  return {};
}

}  // namespace barnabas::coordinator
