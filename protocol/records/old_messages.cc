#include "protocol/records/old_messages.h"

#include <zlib.h>

#include <algorithm>
#include <bit>

#include "base/endian.h"
#include "protocol/compression/decompressor.h"

namespace barnabas::protocol {
namespace {

using namespace batch_format;

constexpr size_t old_crc_at = 12;
constexpr size_t old_attributes_at = magic_at + 1;

// Reads a field of int32 length and bytes; -1 and below is null.
bool take_sized(ByteView& rest, std::optional<ByteView>& field) {
  if (rest.size() < 4) return false;
  const auto size = load_big_endian<int32_t>(rest.data());
  rest = rest.subspan(4);
  field.reset();
  if (size < 0) return true;
  if (static_cast<size_t>(size) > rest.size()) return false;
  field = rest.first(static_cast<size_t>(size));
  rest = rest.subspan(static_cast<size_t>(size));
  return true;
}

// XXH32 with seed 0 of fewer than 16 bytes.
uint32_t xxh32_short(ByteView bytes) {
  constexpr uint32_t prime2 = 2246822519U, prime3 = 3266489917U, prime4 = 668265263U, prime5 = 374761393U;
  constexpr uint32_t prime1 = 2654435761U;
  uint32_t hash = prime5 + static_cast<uint32_t>(bytes.size());
  for (; bytes.size() >= 4; bytes = bytes.subspan(4)) {
    hash = std::rotl(hash + std::byteswap(load_big_endian<uint32_t>(bytes.data())) * prime3, 17) * prime4;
  }
  for (const std::byte byte : bytes)
    hash = std::rotl(hash + std::to_integer<uint32_t>(byte) * prime5, 11) * prime1;
  hash = (hash ^ (hash >> 15)) * prime2;
  hash = (hash ^ (hash >> 13)) * prime3;
  return hash ^ (hash >> 16);
}

// Kafka before 0.10 took the magic number into the header checksum of lz4 frames; puts the right one in its
// place.
std::vector<std::byte> with_right_lz4_checksum(ByteView frame) {
  std::vector<std::byte> fixed(frame.begin(), frame.end());
  if (fixed.size() < 7) return fixed;
  const bool has_content_size = (std::to_integer<unsigned>(fixed[4]) & 0x08) != 0;
  const size_t descriptor_bytes = has_content_size ? 10 : 2;
  if (fixed.size() <= 4 + descriptor_bytes) return fixed;
  const uint32_t hash = xxh32_short(ByteView(fixed).subspan(4, descriptor_bytes));
  fixed[4 + descriptor_bytes] = static_cast<std::byte>(hash >> 8);
  return fixed;
}

Result<std::vector<std::byte>> decompress_wrapper(const OldMessage& wrapper, Codec codec, size_t limit) {
  if (!wrapper.value) return fail(ErrorKind::corrupt, "compressed message without a value");
  if (codec != Codec::lz4 || wrapper.magic != 0) return decompress(codec, *wrapper.value, limit);
  return decompress(codec, with_right_lz4_checksum(*wrapper.value), limit);
}

}  // namespace

Result<OldMessage> OldMessage::parse(ByteView whole) {
  const auto corrupt = [] {
    return fail(ErrorKind::corrupt, "message of an old format: its lengths do not fit");
  };
  if (whole.size() < log_overhead + static_cast<size_t>(old_length_min)) return corrupt();
  OldMessage message;
  message.offset = Offset(load_big_endian<int64_t>(whole.data()));
  message.size_bytes = static_cast<int32_t>(whole.size());
  message.crc = load_big_endian<uint32_t>(whole.data() + old_crc_at);
  message.magic = static_cast<int8_t>(whole[magic_at]);
  message.attributes = static_cast<int8_t>(whole[old_attributes_at]);
  ByteView rest = whole.subspan(old_attributes_at + 1);
  if (message.magic > 0) {
    if (rest.size() < 8) return corrupt();
    message.timestamp = TimestampMs(load_big_endian<int64_t>(rest.data()));
    rest = rest.subspan(8);
  }
  if (!take_sized(rest, message.key) || !take_sized(rest, message.value)) return corrupt();
  return message;
}

bool verify_old_message_crc(ByteView whole) {
  if (whole.size() <= magic_at) return false;
  const ByteView covered = whole.subspan(magic_at);
  const uLong computed = crc32_z(0, reinterpret_cast<const Bytef*>(covered.data()), covered.size());
  return computed == load_big_endian<uint32_t>(whole.data() + old_crc_at);
}

Result<OldMessages> read_old_messages(ByteView whole, size_t content_bytes_max) {
  BARNABAS_ASSIGN(const OldMessage outer, OldMessage::parse(whole));
  OldMessages result;
  const std::optional<Codec> codec = outer.codec();
  if (!codec) return fail(ErrorKind::corrupt, "message of an old format: unknown codec");
  if (*codec == Codec::none) {
    result.messages.push_back(outer);
    return result;
  }
  BARNABAS_ASSIGN(result.content, decompress_wrapper(outer, *codec, content_bytes_max));
  BatchIterator inner(result.content);
  for (;;) {
    const BatchIterator::Step step = inner.next();
    if (step == BatchIterator::Step::end) break;
    if (step != BatchIterator::Step::old_message) {
      return fail(ErrorKind::corrupt, "compressed message: what is inside is no set of messages");
    }
    BARNABAS_ASSIGN(OldMessage message, OldMessage::parse(inner.old_message()));
    if (outer.timestamp_type() == TimestampType::log_append_time) message.timestamp = outer.timestamp;
    result.messages.push_back(message);
  }
  if (outer.magic > 0 && !result.messages.empty()) {
    // Format 1 counts inside from 0; the wrapper has the offset of the last.
    // Unsigned, as the offsets may be anything.
    const auto base = static_cast<uint64_t>(outer.offset.value()) -
                      static_cast<uint64_t>(result.messages.back().offset.value());
    for (OldMessage& message : result.messages) {
      message.offset = Offset(static_cast<int64_t>(static_cast<uint64_t>(message.offset.value()) + base));
    }
  }
  return result;
}

}  // namespace barnabas::protocol
