#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/endian.h"
#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "protocol/records_field.h"
#include "protocol/string.h"
#include "protocol/unknown_tags.h"

namespace barnabas::protocol {

/// Where external records belong in written bytes: in front of the byte at `position`.
struct Insertion {
  std::size_t position = 0;
  std::shared_ptr<const ExternalRecords> records;
};

/// What a Writer made: bytes, and external records that are sent in between.
class WrittenBytes {
 public:
  WrittenBytes() = default;
  ByteView bytes() const { return {bytes_.get(), byte_count_}; }
  /// In ascending order of positions; several may share one.
  const std::vector<Insertion>& insertions() const { return insertions_; }
  /// Bytes on the wire, external records included.
  uint64_t size() const { return byte_count_ + external_bytes_; }

 private:
  friend class Writer;
  std::unique_ptr<std::byte[]> bytes_;
  std::size_t byte_count_ = 0;
  uint64_t external_bytes_ = 0;
  std::vector<Insertion> insertions_;
};

/// Writes the primitive types of the protocol into a growing buffer. The first failure is kept (a field that
/// the version cannot carry, a null where none may be, a string that is too long); what was written is then
/// worthless.
class Writer {
 public:
  Writer() = default;
  explicit Writer(std::size_t expected_bytes) { grow(expected_bytes); }

  bool ok() const { return !error_; }
  /// Only when !ok().
  const Error& error() const { return *error_; }
  /// Bytes written so far, external records included.
  uint64_t size() const { return at_ + external_bytes_; }
  /// Bytes in memory written so far.
  ByteView bytes() const { return {buffer_.get(), at_}; }
  /// Hands over what was written, or the error. The writer is empty then.
  Result<WrittenBytes> take();

  void boolean(bool value) { integer<int8_t>(value ? 1 : 0); }
  void int8(int8_t value) { integer(value); }
  void int16(int16_t value) { integer(value); }
  void uint16(uint16_t value) { integer(value); }
  void int32(int32_t value) { integer(value); }
  void uint32(uint32_t value) { integer(value); }
  void int64(int64_t value) { integer(value); }
  void float64(double value);
  void uuid(const Uuid& value) { raw(value.bytes); }
  void uvarint(uint32_t value);
  /// Zigzag.
  void varint(int32_t value);
  void varlong(int64_t value);
  void raw(ByteView bytes);

  void string(std::string_view value, bool flexible, const char* field);
  void optional_string(const std::optional<String>& value, bool flexible, bool nullable, const char* field);
  void bytes(ByteView value, bool flexible);
  void optional_bytes(const std::optional<Bytes>& value, bool flexible, bool nullable, const char* field);
  /// External records are not copied: they become an insertion.
  void records(const Records& value, bool flexible, bool nullable, const char* field);

  void array_count(std::size_t count, bool flexible, const char* field);
  void null_array(bool flexible, bool nullable, const char* field);

  /// Starts a tagged field; end_tag with the same mark puts its size in front of its content.
  std::size_t begin_tag(uint32_t tag);
  void end_tag(std::size_t mark);
  /// Writes the unknown tags below `next_known_tag`, starting at index `from`; returns the index to go on
  /// with.
  std::size_t unknown_tags(const UnknownTags& tags, std::size_t from, uint32_t next_known_tag);
  /// The tag section of a struct without known tags.
  void unknown_tags(const UnknownTags& tags) {
    uvarint(static_cast<uint32_t>(tags.size()));
    unknown_tags(tags, 0, UINT32_MAX);
  }

  /// Overwrites 4 bytes written earlier, as for a size in front.
  void patch_int32(std::size_t position, int32_t value);

  /// The version has no such field, its value is not the default, and it must not be dropped silently.
  void refuse_field(const char* field, int16_t version);
  void refuse_null(const char* field);
  void fail(ErrorKind kind, std::string message);

 private:
  template <std::integral T>
  void integer(T value) {
    if (capacity_ - at_ < sizeof(T)) [[unlikely]]
      grow(sizeof(T));
    store_big_endian(buffer_.get() + at_, value);
    at_ += sizeof(T);
  }
  void grow(std::size_t wanted);

  std::unique_ptr<std::byte[]> buffer_;
  std::size_t at_ = 0;
  std::size_t capacity_ = 0;
  uint64_t external_bytes_ = 0;
  std::vector<Insertion> insertions_;
  std::optional<Error> error_;
};

/// Arrays of integers, ids and strings.
template <class T>
void write_scalars(Writer& writer, const std::vector<T>& values, bool flexible, const char* field);

template <class T>
void write_scalars(Writer& writer, const std::optional<std::vector<T>>& values, bool flexible, bool nullable,
                   const char* field) {
  if (values) {
    write_scalars(writer, *values, flexible, field);
  } else {
    writer.null_array(flexible, nullable, field);
  }
}

template <class T>
void write_structs(Writer& writer, const std::vector<T>& values, int16_t version, bool flexible,
                   const char* field) {
  writer.array_count(values.size(), flexible, field);
  for (const T& each : values) each.write(writer, version);
}

template <class T>
void write_structs(Writer& writer, const std::optional<std::vector<T>>& values, int16_t version,
                   bool flexible, bool nullable, const char* field) {
  if (values) {
    write_structs(writer, *values, version, flexible, field);
  } else {
    writer.null_array(flexible, nullable, field);
  }
}

/// The encode function of every message: refuses a version that is not in its range.
template <class Message>
void encode_message(const Message& message, Writer& writer, int16_t version) {
  if (version < Message::min_version || version > Message::max_version) {
    writer.fail(ErrorKind::unsupported,
                std::string(Message::message_name) + ": no version " + std::to_string(version));
  } else {
    message.write(writer, version);
  }
}

}  // namespace barnabas::protocol
