#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/endian.h"
#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "protocol/records_field.h"
#include "protocol/string.h"
#include "protocol/unknown_tags.h"

namespace barnabas::protocol {

/// Limits that Kafka 4.4 puts on what a frame may claim.
inline constexpr uint32_t array_elements_max = 1'000'000;
/// All arrays of one message together, nested ones included: each element takes more memory decoded than on
/// the wire, and Kafka bounds each array only.
inline constexpr uint32_t message_elements_max = 1'000'000;
inline constexpr uint32_t tagged_fields_max = 10'000;
inline constexpr uint32_t string_bytes_max = 32'767;

/// What an array field may hold; the generator knows.
struct ArrayRules {
  bool flexible;           ///< the count is an unsigned varint of count + 1
  bool nullable;           ///< a negative count is null, else an error
  uint32_t element_bytes;  ///< the least that an element takes on the wire
  const char* field;       ///< for the error
};

/// Reads the primitive types of the protocol from bytes of a peer. Never reads past the end and never
/// allocates by a count that the rest of the bytes cannot hold. The first failure is kept; all later reads
/// give zeros, empty values and counts of 0, so that loops stop. Strings, bytes and records borrow from the
/// bytes.
class Reader {
 public:
  /// The bytes must outlive the reader and everything read from it that borrows.
  explicit Reader(ByteView bytes) : begin_(bytes.data()), at_(begin_), end_(begin_ + bytes.size()) {}

  bool ok() const { return !failed_; }
  /// What failed first, at which byte, what was found and expected. Only when !ok().
  Error error() const;
  std::size_t position() const { return static_cast<std::size_t>(at_ - begin_); }
  /// Bytes not read yet; 0 after a failure.
  std::size_t remaining() const { return static_cast<std::size_t>(end_ - at_); }

  bool boolean() { return integer<int8_t>() != 0; }
  int8_t int8() { return integer<int8_t>(); }
  int16_t int16() { return integer<int16_t>(); }
  uint16_t uint16() { return integer<uint16_t>(); }
  int32_t int32() { return integer<int32_t>(); }
  uint32_t uint32() { return integer<uint32_t>(); }
  int64_t int64() { return integer<int64_t>(); }
  double float64();
  Uuid uuid();
  /// At most 5 bytes; bits above 32 are dropped as Kafka drops them.
  uint32_t uvarint() {
    if (at_ != end_ && static_cast<uint8_t>(*at_) < 0x80) return static_cast<uint32_t>(*at_++);
    return long_uvarint();
  }
  /// Zigzag, at most 5 bytes.
  int32_t varint();
  /// Zigzag, at most 10 bytes.
  int64_t varlong();
  /// The next `size` bytes.
  ByteView take(std::size_t size);
  /// Everything that is left.
  ByteView rest() { return take(remaining()); }

  String string(bool flexible, const char* field);
  std::optional<String> optional_string(bool flexible, bool nullable, const char* field);
  Bytes bytes(bool flexible, const char* field);
  std::optional<Bytes> optional_bytes(bool flexible, bool nullable, const char* field);
  Records records(bool flexible, bool nullable, const char* field);

  /// Number of elements, or -1 for null. 0 after a failure.
  int32_t array_count(const ArrayRules& rules);

  /// Number of tagged fields of a struct.
  uint32_t tag_count();
  /// A tagged field's head; `end` is the position where its content must end.
  struct Tag {
    uint32_t tag;
    std::size_t end;
  };
  Tag tag();
  void unknown_tag(UnknownTags& into, const Tag& tag);
  /// The tag section of a struct without known tags.
  void unknown_tags(UnknownTags& into) {
    if (const uint32_t count = tag_count()) many_unknown_tags(into, count);
  }
  /// Checks that a known tagged field took as many bytes as it said.
  void end_tag(const Tag& tag);

  /// Records a failure at the current position; `expected` must be a literal.
  void fail(const char* field, int64_t found, const char* expected);

 private:
  template <std::integral T>
  T integer() {
    if (remaining() < sizeof(T)) [[unlikely]] {
      too_short(sizeof(T));
      return T{};
    }
    const T value = load_big_endian<T>(at_);
    at_ += sizeof(T);
    return value;
  }
  uint32_t long_uvarint();
  void many_unknown_tags(UnknownTags& into, uint32_t count);
  void too_short(std::size_t wanted);
  /// The length of a string, bytes or records field: -1 for null, checked against the rest.
  int64_t length(bool flexible, bool nullable, bool is_string, const char* field);

  const std::byte* begin_;
  const std::byte* at_;
  const std::byte* end_;
  uint32_t elements_left_ = message_elements_max;
  bool failed_ = false;
  std::size_t failed_at_ = 0;
  const char* field_ = "";
  int64_t found_ = 0;
  const char* expected_ = "";
};

/// How many elements are reserved at once; a vector grows beyond that as elements are really read.
inline constexpr int32_t reserved_elements_max = 1'024;

/// Arrays of integers, ids and strings.
template <class T>
void read_scalars(Reader& reader, std::vector<T>& into, const ArrayRules& rules);

template <class T>
void read_scalars(Reader& reader, std::optional<std::vector<T>>& into, const ArrayRules& rules);

/// Reads `count` structs of a message into an empty vector.
template <class T>
void read_elements(Reader& reader, std::vector<T>& into, int32_t count, int16_t version) {
  into.clear();
  into.reserve(static_cast<std::size_t>(count < reserved_elements_max ? count : reserved_elements_max));
  for (; count > 0 && reader.ok(); --count) into.emplace_back().read(reader, version);
}

template <class T>
void read_structs(Reader& reader, std::vector<T>& into, int16_t version, const ArrayRules& rules) {
  read_elements(reader, into, reader.array_count(rules), version);
}

template <class T>
void read_structs(Reader& reader, std::optional<std::vector<T>>& into, int16_t version,
                  const ArrayRules& rules) {
  const int32_t count = reader.array_count(rules);
  if (count < 0) {
    into.reset();
  } else {
    read_elements(reader, into.emplace(), count, version);
  }
}

/// The error of decoding `name` at a version that is not in its range.
Error unsupported_version(const char* name, int16_t version, int16_t min_version, int16_t max_version);

/// The decode function of every message: checks the version, reads, and hands over the value or the error.
template <class Message>
Result<Message> decode_message(Reader& reader, int16_t version) {
  if (version < Message::min_version || version > Message::max_version)
    return std::unexpected(
        unsupported_version(Message::message_name, version, Message::min_version, Message::max_version));
  Result<Message> message;
  message->read(reader, version);
  if (!reader.ok()) message = fail(Message::message_name, reader.error());
  return message;
}

}  // namespace barnabas::protocol
