#include "coordinator/offset_protocol.h"

#include "coordinator/classic_group.h"
#include "coordinator/offset_records.h"

namespace barnabas::coordinator {

Result<void> OffsetProtocol::replay(int16_t type, ByteView key_bytes, std::optional<ByteView> value,
                                    Offset offset, ProducerId producer) {
  BARNABAS_ASSIGN(const OffsetKey key, decode_offset_key(key_bytes));
  if (!value) {
    store_.remove(key);
    return {};
  }
  BARNABAS_ASSIGN(const CommittedOffset committed, decode_offset_value(type, *value, offset));
  // Nothing but its offsets is kept of a group that nobody ever joined.
  if (groups_.find(key.group) == nullptr)
    groups_.put(std::make_unique<ClassicGroup>(std::string(key.group), committed.committed_at));
  store_.put(key, committed, producer);
  return {};
}

bool OffsetProtocol::is_current(const CommittedOffset& offset, const metadata::TopicImage* topic) const {
  return topic != nullptr && (offset.topic_id == Uuid{} || offset.topic_id == topic->id);
}

}  // namespace barnabas::coordinator
