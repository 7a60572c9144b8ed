#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace barnabas::protocol {

/// How the records of a batch are compressed; the numbers are bits 0 to 2 of the batch's attributes.
enum class Codec : uint8_t { none = 0, gzip = 1, snappy = 2, lz4 = 3, zstd = 4 };

inline constexpr int codec_count = 5;

/// Nothing for an id that no format version knows (5 and above).
constexpr std::optional<Codec> codec_from_id(int id) {
  if (id < 0 || id >= codec_count) return std::nullopt;
  return static_cast<Codec>(id);
}

/// Names as in `compression.type`: uncompressed (also none), gzip, snappy, lz4, zstd. `producer` is no codec.
std::optional<Codec> codec_from_name(std::string_view name);
/// "none", "gzip", …
std::string_view to_string(Codec codec);

/// Codec and level for writing. Levels outside of the codec's range are clamped by the compressor.
struct Compression {
  Codec codec = Codec::none;
  /// gzip 1 to 9 or -1 (6), lz4 1 to 17, zstd -131072 to 22; nothing: Kafka's default (gzip -1, lz4 9, zstd
  /// 3).
  std::optional<int> level = std::nullopt;
};

}  // namespace barnabas::protocol
