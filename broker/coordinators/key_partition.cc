#include "broker/coordinators/key_partition.h"

#include <cstddef>

#include "base/assert.h"

namespace barnabas::broker {

namespace {

constexpr uint32_t replacement = 0xfffd;

/// What may follow the first byte of a sequence: how many, and the range of the first of them (the others
/// are 0x80 to 0xbf).
struct Sequence {
  int following = 0;  ///< -1: no sequence begins so
  uint8_t low = 0x80;
  uint8_t high = 0xbf;
  uint32_t bits = 0;
};

Sequence sequence_of(uint8_t first) {
  if (first < 0x80) return {.following = 0, .bits = first};
  if (first < 0xc2 || first > 0xf4) return {.following = -1};
  if (first < 0xe0) return {.following = 1, .bits = first & 0x1fU};
  Sequence sequence{.following = first < 0xf0 ? 2 : 3, .bits = first < 0xf0 ? first & 0x0fU : first & 0x07U};
  if (first == 0xe0) sequence.low = 0xa0;  // overlong below
  if (first == 0xf0) sequence.low = 0x90;
  if (first == 0xf4) sequence.high = 0x8f;
  return sequence;
}

/// The code point at `at`, and `at` behind it or behind the longest beginning of one.
uint32_t next_code_point(std::string_view text, std::size_t& at) {
  Sequence sequence = sequence_of(static_cast<uint8_t>(text[at++]));
  if (sequence.following < 0) return replacement;
  for (; sequence.following > 0; --sequence.following) {
    if (at == text.size()) return replacement;
    const auto byte = static_cast<uint8_t>(text[at]);
    if (byte < sequence.low || byte > sequence.high) return replacement;
    sequence.low = 0x80;
    sequence.high = 0xbf;
    sequence.bits = sequence.bits << 6U | (byte & 0x3fU);
    ++at;
  }
  const bool surrogate = sequence.bits >= 0xd800 && sequence.bits <= 0xdfff;
  return surrogate ? replacement : sequence.bits;
}

}  // namespace

int32_t java_hash(std::string_view text) {
  uint32_t hash = 0;
  const auto add = [&](uint32_t unit) { hash = 31 * hash + unit; };
  for (std::size_t at = 0; at < text.size();) {
    const uint32_t code_point = next_code_point(text, at);
    if (code_point < 0x10000) {
      add(code_point);
    } else {
      add(0xd800 + ((code_point - 0x10000) >> 10U));
      add(0xdc00 + ((code_point - 0x10000) & 0x3ffU));
    }
  }
  return static_cast<int32_t>(hash);
}

PartitionIndex partition_of_key(std::string_view key, int32_t partition_count) {
  BARNABAS_ASSERT(partition_count > 0);
  const int32_t hash = java_hash(key);
  const int32_t positive = hash == INT32_MIN ? 0 : hash < 0 ? -hash : hash;
  return PartitionIndex{positive % partition_count};
}

}  // namespace barnabas::broker
