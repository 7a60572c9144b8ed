#include "payload.h"

#include <bit>
#include <cstring>

namespace barnabas::compat {
namespace {

constexpr std::size_t stamp_bytes = 12;
constexpr std::size_t filler_bytes_max = 1'500;

static_assert(std::endian::native == std::endian::little);

// SplitMix64.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = (state += 0x9e37'79b9'7f4a'7c15);
  z = (z ^ (z >> 30)) * 0xbf58'476d'1ce4'e5b9;
  z = (z ^ (z >> 27)) * 0x94d0'49bb'1331'11eb;
  return z ^ (z >> 31);
}

}  // namespace

std::string payload(Stamp stamp) {
  std::string value(stamp_bytes, '\0');
  std::memcpy(value.data(), &stamp.producer, 4);
  std::memcpy(value.data() + 4, &stamp.sequence, 8);
  std::uint64_t state = (std::uint64_t{stamp.producer} << 40) ^ stamp.sequence;
  const std::uint64_t shape = next_random(state);
  const std::size_t filler = shape % filler_bytes_max;
  // Each random word stands several times, so that compression has something to do.
  const std::size_t repeats = 1 + (shape >> 32) % 4;
  while (value.size() < stamp_bytes + filler) {
    const std::uint64_t word = next_random(state);
    for (std::size_t i = 0; i < repeats; ++i) {
      value.append(reinterpret_cast<const char*>(&word), sizeof word);
    }
  }
  value.resize(stamp_bytes + filler);
  return value;
}

std::optional<Stamp> read_payload(std::string_view value) {
  if (value.size() < stamp_bytes) {
    return std::nullopt;
  }
  Stamp stamp;
  std::memcpy(&stamp.producer, value.data(), 4);
  std::memcpy(&stamp.sequence, value.data() + 4, 8);
  if (payload(stamp) != value) {
    return std::nullopt;
  }
  return stamp;
}

}  // namespace barnabas::compat
