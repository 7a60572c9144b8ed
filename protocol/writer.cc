#include "protocol/writer.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "base/assert.h"
#include "protocol/reader.h"

namespace barnabas::protocol {

namespace {

constexpr std::size_t first_capacity = 256;

std::size_t uvarint_size(uint32_t value) {
  return (static_cast<std::size_t>(std::bit_width(value | 1)) + 6) / 7;
}

std::size_t store_uvarint(std::byte* to, uint32_t value) {
  std::size_t size = 0;
  for (; value >= 0x80; value >>= 7) to[size++] = static_cast<std::byte>(value | 0x80);
  to[size++] = static_cast<std::byte>(value);
  return size;
}

}  // namespace

Result<WrittenBytes> Writer::take() {
  WrittenBytes written;
  written.bytes_ = std::move(buffer_);
  written.byte_count_ = std::exchange(at_, 0);
  written.external_bytes_ = std::exchange(external_bytes_, 0);
  written.insertions_ = std::exchange(insertions_, {});
  capacity_ = 0;
  if (error_) return std::unexpected(*std::exchange(error_, std::nullopt));
  return written;
}

void Writer::grow(std::size_t wanted) {
  const std::size_t capacity = std::max({at_ + wanted, capacity_ * 2, first_capacity});
  auto larger = std::make_unique_for_overwrite<std::byte[]>(capacity);
  if (at_ > 0) std::memcpy(larger.get(), buffer_.get(), at_);
  buffer_ = std::move(larger);
  capacity_ = capacity;
}

void Writer::raw(ByteView bytes) {
  if (bytes.empty()) return;
  if (capacity_ - at_ < bytes.size()) grow(bytes.size());
  std::memcpy(buffer_.get() + at_, bytes.data(), bytes.size());
  at_ += bytes.size();
}

void Writer::float64(double value) {
  int64(std::bit_cast<int64_t>(value));
}

void Writer::uvarint(uint32_t value) {
  if (capacity_ - at_ < 5) grow(5);
  at_ += store_uvarint(buffer_.get() + at_, value);
}

void Writer::varint(int32_t value) {
  uvarint((static_cast<uint32_t>(value) << 1) ^ static_cast<uint32_t>(value >> 31));
}

void Writer::varlong(int64_t value) {
  auto raw_value = (static_cast<uint64_t>(value) << 1) ^ static_cast<uint64_t>(value >> 63);
  for (; raw_value >= 0x80; raw_value >>= 7) integer(static_cast<uint8_t>(raw_value | 0x80));
  integer(static_cast<uint8_t>(raw_value));
}

void Writer::string(std::string_view value, bool flexible, const char* field) {
  if (value.size() > string_bytes_max)
    return fail(ErrorKind::too_large, std::string(field) + ": string of " + std::to_string(value.size()) +
                                          " bytes, at most " + std::to_string(string_bytes_max) + " fit");
  if (flexible) {
    uvarint(static_cast<uint32_t>(value.size()) + 1);
  } else {
    int16(static_cast<int16_t>(value.size()));
  }
  raw(as_byte_view(value));
}

void Writer::optional_string(const std::optional<String>& value, bool flexible, bool nullable,
                             const char* field) {
  if (value) return string(*value, flexible, field);
  if (!nullable) return refuse_null(field);
  if (flexible) {
    uvarint(0);
  } else {
    int16(-1);
  }
}

void Writer::bytes(ByteView value, bool flexible) {
  array_count(value.size(), flexible, "bytes");
  raw(value);
}

void Writer::optional_bytes(const std::optional<Bytes>& value, bool flexible, bool nullable,
                            const char* field) {
  if (value) return bytes(*value, flexible);
  null_array(flexible, nullable, field);
}

void Writer::records(const Records& value, bool flexible, bool nullable, const char* field) {
  if (value.is_null()) return null_array(flexible, nullable, field);
  if (!value.is_external()) return bytes(value.bytes(), flexible);
  array_count(value.size(), flexible, field);
  if (value.size() == 0) return;
  external_bytes_ += value.size();
  insertions_.push_back({at_, value.external()});
}

void Writer::array_count(std::size_t count, bool flexible, const char* field) {
  if (count > static_cast<std::size_t>(std::numeric_limits<int32_t>::max()))
    return fail(ErrorKind::too_large, std::string(field) + ": more than 2147483647 elements or bytes");
  if (flexible) {
    uvarint(static_cast<uint32_t>(count) + 1);
  } else {
    int32(static_cast<int32_t>(count));
  }
}

void Writer::null_array(bool flexible, bool nullable, const char* field) {
  if (!nullable) return refuse_null(field);
  if (flexible) {
    uvarint(0);
  } else {
    int32(-1);
  }
}

std::size_t Writer::begin_tag(uint32_t tag) {
  uvarint(tag);
  uvarint(0);
  return at_;
}

void Writer::end_tag(std::size_t mark) {
  const std::size_t size = at_ - mark;
  // One byte was left for the size; longer content moves up.
  const std::size_t more = uvarint_size(static_cast<uint32_t>(size)) - 1;
  if (more > 0) {
    if (capacity_ - at_ < more) grow(more);
    std::memmove(buffer_.get() + mark + more, buffer_.get() + mark, size);
    at_ += more;
  }
  store_uvarint(buffer_.get() + mark - 1, static_cast<uint32_t>(size));
}

std::size_t Writer::unknown_tags(const UnknownTags& tags, std::size_t from, uint32_t next_known_tag) {
  const auto all = tags.all();
  for (; from < all.size() && all[from].tag < next_known_tag; ++from) {
    uvarint(all[from].tag);
    uvarint(static_cast<uint32_t>(all[from].content.size()));
    raw(all[from].content);
  }
  if (from < all.size() && all[from].tag == next_known_tag)
    fail(ErrorKind::invalid,
         "unknown tag " + std::to_string(next_known_tag) + " is one that the schema knows");
  return from;
}

void Writer::patch_int32(std::size_t position, int32_t value) {
  BARNABAS_ASSERT(position + sizeof value <= at_);
  store_big_endian(buffer_.get() + position, value);
}

void Writer::refuse_field(const char* field, int16_t version) {
  fail(ErrorKind::unsupported,
       std::string(field) + ": not the default, but version " + std::to_string(version) + " cannot carry it");
}

void Writer::refuse_null(const char* field) {
  fail(ErrorKind::invalid, std::string(field) + ": null, but the version has no null here");
}

void Writer::fail(ErrorKind kind, std::string message) {
  if (!error_) error_ = Error{kind, std::move(message)};
}

template <class T>
void write_scalars(Writer& writer, const std::vector<T>& values, bool flexible, const char* field) {
  writer.array_count(values.size(), flexible, field);
  for (const T& each : values) {
    if constexpr (std::is_same_v<T, int8_t>) {
      writer.int8(each);
    } else if constexpr (std::is_same_v<T, int16_t>) {
      writer.int16(each);
    } else if constexpr (std::is_same_v<T, int32_t>) {
      writer.int32(each);
    } else if constexpr (std::is_same_v<T, int64_t>) {
      writer.int64(each);
    } else if constexpr (std::is_same_v<T, Uuid>) {
      writer.uuid(each);
    } else {
      writer.string(each, flexible, field);
    }
  }
}

template void write_scalars(Writer&, const std::vector<int8_t>&, bool, const char*);
template void write_scalars(Writer&, const std::vector<int16_t>&, bool, const char*);
template void write_scalars(Writer&, const std::vector<int32_t>&, bool, const char*);
template void write_scalars(Writer&, const std::vector<int64_t>&, bool, const char*);
template void write_scalars(Writer&, const std::vector<Uuid>&, bool, const char*);
template void write_scalars(Writer&, const std::vector<String>&, bool, const char*);

}  // namespace barnabas::protocol
