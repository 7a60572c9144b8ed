#include "coordinator/group_shard.h"

#include "coordinator/offset_records.h"

namespace barnabas::coordinator {

GroupShard::GroupShard(ShardEnvironment environment) : environment_(std::move(environment)) {}

Result<void> GroupShard::replay(const ReplayedRecord& record) {
  protocol::Reader key(record.key);
  BARNABAS_ASSIGN(const int16_t type, protocol::decode_coordinator_key_type(key));
  switch (type) {
    case legacy_offset_record_type:
    case offset_record_type:
      return offsets_.replay(type, record.key, record.value, record.offset, record.producer_id);
    default:
      return {};
  }
}

void GroupShard::end_transaction(ProducerId producer, bool committed) {
  offsets_.end_transaction(producer, committed);
}

Decision GroupShard::loaded(const Now& now) {
  return offsets_.loaded(now);
}

Decision GroupShard::metadata_changed(const metadata::MetadataChanges& changes,
                                      const metadata::MetadataImagePtr& image, const Now& now) {
  environment_.image = image;
  return offsets_.metadata_changed(changes, now);
}

Decision GroupShard::unload() {
  return {};
}

}  // namespace barnabas::coordinator
