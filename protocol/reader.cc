#include "protocol/reader.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace barnabas::protocol {

namespace {

template <class T>
T read_scalar(Reader& reader, const ArrayRules& rules) {
  if constexpr (std::is_same_v<T, int8_t>) {
    return reader.int8();
  } else if constexpr (std::is_same_v<T, int16_t>) {
    return reader.int16();
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return reader.int32();
  } else if constexpr (std::is_same_v<T, int64_t>) {
    return reader.int64();
  } else if constexpr (std::is_same_v<T, Uuid>) {
    return reader.uuid();
  } else {
    return reader.string(rules.flexible, rules.field);
  }
}

template <class T>
void read_scalar_elements(Reader& reader, std::vector<T>& into, int32_t count, const ArrayRules& rules) {
  into.clear();
  into.reserve(static_cast<std::size_t>(std::min(count, reserved_elements_max)));
  for (; count > 0 && reader.ok(); --count) into.push_back(read_scalar<T>(reader, rules));
}

}  // namespace

template <class T>
void read_scalars(Reader& reader, std::vector<T>& into, const ArrayRules& rules) {
  read_scalar_elements(reader, into, reader.array_count(rules), rules);
}

template <class T>
void read_scalars(Reader& reader, std::optional<std::vector<T>>& into, const ArrayRules& rules) {
  const int32_t count = reader.array_count(rules);
  if (count < 0) {
    into.reset();
  } else {
    read_scalar_elements(reader, into.emplace(), count, rules);
  }
}

#define BARNABAS_SCALAR_ARRAY(T)                                           \
  template void read_scalars(Reader&, std::vector<T>&, const ArrayRules&); \
  template void read_scalars(Reader&, std::optional<std::vector<T>>&, const ArrayRules&);
BARNABAS_SCALAR_ARRAY(int8_t)
BARNABAS_SCALAR_ARRAY(int16_t)
BARNABAS_SCALAR_ARRAY(int32_t)
BARNABAS_SCALAR_ARRAY(int64_t)
BARNABAS_SCALAR_ARRAY(Uuid)
BARNABAS_SCALAR_ARRAY(String)
#undef BARNABAS_SCALAR_ARRAY

Error unsupported_version(const char* name, int16_t version, int16_t min_version, int16_t max_version) {
  return {ErrorKind::unsupported, std::string(name) + ": version " + std::to_string(version) + ", expected " +
                                      std::to_string(min_version) + " to " + std::to_string(max_version)};
}

Error Reader::error() const {
  return {ErrorKind::corrupt, std::string(field_) + " at byte " + std::to_string(failed_at_) + ": found " +
                                  std::to_string(found_) + ", expected " + expected_};
}

void Reader::fail(const char* field, int64_t found, const char* expected) {
  if (failed_) return;
  failed_ = true;
  failed_at_ = position();
  field_ = field;
  found_ = found;
  expected_ = expected;
  at_ = end_;
}

void Reader::too_short(std::size_t wanted) {
  static constexpr const char* expected[] = {"more bytes",   "1 byte more",  "2 bytes more",
                                             "3 bytes more", "4 bytes more", "5 bytes more",
                                             "6 bytes more", "7 bytes more", "8 bytes more"};
  fail("end of the bytes", static_cast<int64_t>(remaining()),
       expected[wanted < std::size(expected) ? wanted : 0]);
}

double Reader::float64() {
  return std::bit_cast<double>(int64());
}

Uuid Reader::uuid() {
  Uuid id;
  const ByteView bytes = take(id.bytes.size());
  if (!bytes.empty()) std::memcpy(id.bytes.data(), bytes.data(), id.bytes.size());
  return id;
}

uint32_t Reader::long_uvarint() {
  uint32_t value = 0;
  for (int shift = 0; shift < 35; shift += 7) {
    const auto byte = static_cast<uint8_t>(int8());
    value |= static_cast<uint32_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return failed_ ? 0 : value;
  }
  fail("unsigned varint", value, "at most 5 bytes");
  return 0;
}

int32_t Reader::varint() {
  const uint32_t raw = uvarint();
  return static_cast<int32_t>((raw >> 1) ^ (~(raw & 1) + 1));
}

int64_t Reader::varlong() {
  uint64_t raw = 0;
  for (int shift = 0; shift < 70; shift += 7) {
    const auto byte = static_cast<uint8_t>(int8());
    raw |= static_cast<uint64_t>(byte & 0x7f) << shift;
    if (byte < 0x80) return failed_ ? 0 : static_cast<int64_t>((raw >> 1) ^ (~(raw & 1) + 1));
  }
  fail("varlong", static_cast<int64_t>(raw), "at most 10 bytes");
  return 0;
}

ByteView Reader::take(std::size_t size) {
  if (remaining() < size) [[unlikely]] {
    fail("end of the bytes", static_cast<int64_t>(remaining()), "as many bytes as the length says");
    return {};
  }
  const ByteView taken(at_, size);
  at_ += size;
  return taken;
}

int64_t Reader::length(bool flexible, bool nullable, bool is_string, const char* field) {
  int32_t size = 0;
  if (flexible) {
    size = static_cast<int32_t>(uvarint() - 1);
  } else {
    size = is_string ? int16() : int32();
  }
  if (failed_) return -1;
  if (size < 0) {
    if (!nullable) fail(field, size, "a length of 0 or more (the field cannot be null)");
    return -1;
  }
  if (is_string && static_cast<uint32_t>(size) > string_bytes_max) {
    fail(field, size, "a string of at most 32767 bytes");
    return -1;
  }
  if (static_cast<uint32_t>(size) > remaining()) {
    fail(field, size, "a length that the rest of the bytes can hold");
    return -1;
  }
  return size;
}

String Reader::string(bool flexible, const char* field) {
  const int64_t size = length(flexible, false, true, field);
  return size <= 0 ? String() : String::view_of(as_text(take(static_cast<std::size_t>(size))));
}

std::optional<String> Reader::optional_string(bool flexible, bool nullable, const char* field) {
  const int64_t size = length(flexible, nullable, true, field);
  if (size < 0) return std::nullopt;
  return String::view_of(as_text(take(static_cast<std::size_t>(size))));
}

Bytes Reader::bytes(bool flexible, const char* field) {
  const int64_t size = length(flexible, false, false, field);
  return size <= 0 ? Bytes() : Bytes::view_of(take(static_cast<std::size_t>(size)));
}

std::optional<Bytes> Reader::optional_bytes(bool flexible, bool nullable, const char* field) {
  const int64_t size = length(flexible, nullable, false, field);
  if (size < 0) return std::nullopt;
  return Bytes::view_of(take(static_cast<std::size_t>(size)));
}

Records Reader::records(bool flexible, bool nullable, const char* field) {
  const int64_t size = length(flexible, nullable, false, field);
  if (size < 0) return {};
  return Bytes::view_of(take(static_cast<std::size_t>(size)));
}

int32_t Reader::array_count(const ArrayRules& rules) {
  const int32_t count = rules.flexible ? static_cast<int32_t>(uvarint() - 1) : int32();
  if (failed_) return 0;
  if (count < 0) {
    if (rules.nullable) return -1;
    fail(rules.field, count, "a count of 0 or more (the array cannot be null)");
    return 0;
  }
  if (static_cast<uint32_t>(count) > array_elements_max) {
    fail(rules.field, count, "at most 1000000 elements");
    return 0;
  }
  const uint32_t element_bytes = std::max<uint32_t>(rules.element_bytes, 1);
  if (static_cast<uint32_t>(count) > remaining() / element_bytes) {
    fail(rules.field, count, "a count that the rest of the bytes can hold");
    return 0;
  }
  if (static_cast<uint32_t>(count) > elements_left_) {
    fail(rules.field, count, "at most 1000000 elements in all arrays of a message");
    return 0;
  }
  elements_left_ -= static_cast<uint32_t>(count);
  return count;
}

uint32_t Reader::tag_count() {
  const uint32_t count = uvarint();
  if (count > tagged_fields_max || count > remaining()) {
    fail("tagged fields", count, "at most 10000 of them, and no more than the rest of the bytes can hold");
    return 0;
  }
  return count;
}

Reader::Tag Reader::tag() {
  const uint32_t tag = uvarint();
  const uint32_t size = uvarint();
  if (size > remaining()) fail("tagged field", size, "a size that the rest of the bytes can hold");
  return {tag, position() + (failed_ ? 0 : size)};
}

void Reader::unknown_tag(UnknownTags& into, const Tag& tag) {
  if (failed_) return;
  into.append(tag.tag, Bytes::view_of(take(tag.end - position())));
}

void Reader::many_unknown_tags(UnknownTags& into, uint32_t count) {
  for (; count > 0 && ok(); --count) unknown_tag(into, tag());
  into.put_in_order();
}

void Reader::end_tag(const Tag& tag) {
  if (ok() && position() != tag.end)
    fail("tagged field", static_cast<int64_t>(position()) - static_cast<int64_t>(tag.end),
         "to end where its size says (difference 0)");
}

}  // namespace barnabas::protocol
