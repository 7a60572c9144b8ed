#include "coordinator/offset_records.h"

#include "protocol/messages/legacy_offset_commit_key.h"
#include "protocol/messages/legacy_offset_commit_value.h"
#include "protocol/messages/offset_commit_key.h"
#include "protocol/messages/offset_commit_value.h"

namespace barnabas::coordinator {
namespace {

// Version 1 is the only one that can say when the offset expires, and is written for that alone, although it
// has neither leader epoch nor topic id.
constexpr int16_t version_written = 4;
constexpr int16_t version_with_expiry = 1;

protocol::OffsetCommitKey message_of(const OffsetKey& key) {
  protocol::OffsetCommitKey message;
  message.group = protocol::String::view_of(key.group);
  message.topic = protocol::String::view_of(key.topic);
  message.partition = key.partition;
  return message;
}

}  // namespace

Result<OffsetKey> decode_offset_key(ByteView key) {
  protocol::Reader reader(key);
  BARNABAS_ASSIGN(const int16_t type, protocol::decode_coordinator_key_type(reader));
  if (type != offset_record_type && type != legacy_offset_record_type)
    return fail(ErrorKind::corrupt, "record type " + std::to_string(type) + " is not that of an offset");
  // The fields of both types are the same.
  BARNABAS_ASSIGN(const auto message, protocol::OffsetCommitKey::decode(reader, 0));
  return OffsetKey{message.group.view(), message.topic.view(), message.partition};
}

Result<CommittedOffset> decode_offset_value(int16_t type, ByteView value, Offset record_offset) {
  CommittedOffset offset;
  offset.record_offset = record_offset;
  if (type == legacy_offset_record_type) {
    BARNABAS_ASSIGN(auto message,
                    protocol::decode_coordinator_value<protocol::LegacyOffsetCommitValue>(value));
    offset.offset = message.offset;
    offset.metadata = std::move(message.metadata);
    offset.committed_at = TimestampMs(message.commit_timestamp);
    return offset;
  }
  BARNABAS_ASSIGN(auto message, protocol::decode_coordinator_value<protocol::OffsetCommitValue>(value));
  offset.offset = message.offset;
  offset.leader_epoch = LeaderEpoch(message.leader_epoch);
  offset.metadata = std::move(message.metadata);
  offset.committed_at = TimestampMs(message.commit_timestamp);
  offset.expires_at = TimestampMs(message.expire_timestamp);
  offset.topic_id = message.topic_id;
  return offset;
}

Record offset_record(const OffsetKey& key, const CommittedOffset& offset) {
  protocol::OffsetCommitValue value;
  value.offset = offset.offset;
  value.leader_epoch = offset.leader_epoch.value();
  value.metadata = protocol::String::view_of(offset.metadata);
  value.commit_timestamp = offset.committed_at.value();
  value.expire_timestamp = offset.expires_at.value();
  value.topic_id = offset.topic_id;
  return record_of(message_of(key), value,
                   offset.expires_at == no_timestamp ? version_written : version_with_expiry);
}

Record offset_tombstone(const OffsetKey& key) {
  return tombstone_of(message_of(key));
}

}  // namespace barnabas::coordinator
