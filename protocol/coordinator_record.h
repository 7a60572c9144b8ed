#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>

#include "base/result.h"
#include "protocol/message.h"
#include "protocol/reader.h"
#include "protocol/writer.h"

/// Keys and values in the logs of coordinators (__consumer_offsets, __transaction_state,
/// __share_group_state): a key is its record type as int16 and the key message; a value is its version as
/// int16 and the value message. Keys have only version 0.
namespace barnabas::protocol {

/// The type in front of a key; leaves the reader at the key message.
inline Result<int16_t> decode_coordinator_key_type(Reader& reader) {
  const int16_t type = reader.int16();
  if (!reader.ok()) return fail("coordinator key", reader.error());
  return type;
}

template <class Key>
void encode_coordinator_key(Writer& writer, const Key& key) {
  writer.int16(Key::record_type);
  key.encode(writer, Key::max_version);
}

/// Decodes a whole key that must be of the type `Key`.
template <class Key>
Result<Key> decode_coordinator_key(ByteView bytes) {
  Reader reader(bytes);
  BARNABAS_ASSIGN(const int16_t type, decode_coordinator_key_type(reader));
  if (type != Key::record_type)
    return fail(ErrorKind::corrupt, std::string(Key::message_name) + ": record type " + std::to_string(type) +
                                        ", expected " + std::to_string(Key::record_type));
  return Key::decode(reader, Key::max_version);
}

template <class Value>
void encode_coordinator_value(Writer& writer, const Value& value, int16_t version) {
  writer.int16(version);
  value.encode(writer, version);
}

template <class Value>
Result<Value> decode_coordinator_value(ByteView bytes) {
  Reader reader(bytes);
  const int16_t version = reader.int16();
  if (!reader.ok()) return fail(Value::message_name, reader.error());
  return Value::decode(reader, version);
}

template <class Key, class Value>
struct CoordinatorRecord {
  Key key;
  std::optional<Value> value;  ///< none: a tombstone
};

/// A whole record whose key must be of the type `Key`.
template <class Key, class Value>
Result<CoordinatorRecord<Key, Value>> decode_coordinator_record(ByteView key,
                                                                const std::optional<ByteView>& value) {
  BARNABAS_ASSIGN(Key decoded_key, decode_coordinator_key<Key>(key));
  CoordinatorRecord<Key, Value> record{std::move(decoded_key), std::nullopt};
  if (value) {
    BARNABAS_ASSIGN(record.value, decode_coordinator_value<Value>(*value));
  }
  return record;
}

}  // namespace barnabas::protocol
