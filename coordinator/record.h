#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "base/assert.h"
#include "base/types.h"
#include "protocol/coordinator_record.h"

namespace barnabas::coordinator {

/// One record for a coordinator's log, encoded. No value: a tombstone.
struct Record {
  std::vector<std::byte> key;
  std::optional<std::vector<std::byte>> value;
  bool operator==(const Record&) const = default;
};

/// A record as it is replayed: keys and values borrow, for the call.
struct ReplayedRecord {
  ByteView key;
  std::optional<ByteView> value;  ///< none: a tombstone
  Offset offset;
  TimestampMs timestamp;
  /// Of a transaction that is not decided yet (TxnOffsetCommit); no_producer_id otherwise.
  ProducerId producer_id = no_producer_id;
};

namespace detail {
template <class Encode>
std::vector<std::byte> encoded(Encode&& encode) {
  protocol::Writer writer;
  encode(writer);
  // Keys and values are made of what was decoded from requests, whose limits are tighter.
  BARNABAS_ASSERT(writer.ok());
  const ByteView bytes = writer.bytes();
  return {bytes.begin(), bytes.end()};
}
}  // namespace detail

/// `version`: the version of the value that Kafka 4.4 writes.
template <class Key, class Value>
Record record_of(const Key& key, const Value& value, int16_t version) {
  return {detail::encoded([&](protocol::Writer& writer) { protocol::encode_coordinator_key(writer, key); }),
          detail::encoded(
              [&](protocol::Writer& writer) { protocol::encode_coordinator_value(writer, value, version); })};
}

template <class Key>
Record tombstone_of(const Key& key) {
  return {detail::encoded([&](protocol::Writer& writer) { protocol::encode_coordinator_key(writer, key); }),
          std::nullopt};
}

}  // namespace barnabas::coordinator
