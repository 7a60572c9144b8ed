#include "base/uuid.h"

#include <sys/random.h>

#include <cstring>

#include "base/assert.h"

namespace barnabas {
namespace {

constexpr std::string_view alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
constexpr std::size_t text_length = 22;

}  // namespace

std::string Uuid::to_string() const {
  std::string text;
  text.reserve(text_length);
  uint32_t bits = 0;
  int held = 0;
  for (std::byte byte : bytes) {
    bits = (bits << 8) | std::to_integer<uint32_t>(byte);
    held += 8;
    while (held >= 6) {
      held -= 6;
      text += alphabet[(bits >> held) & 63];
    }
  }
  text += alphabet[(bits << (6 - held)) & 63];
  return text;
}

Result<Uuid> Uuid::parse(std::string_view text) {
  const auto complain = [&](std::string_view what) {
    return fail(ErrorKind::invalid, "id \"" + std::string(text) + "\": " + std::string(what));
  };
  while (text.ends_with('=')) text.remove_suffix(1);
  if (text.size() != text_length) return complain("expected 22 characters of URL-safe base64");
  Uuid id;
  uint32_t bits = 0;
  int held = 0;
  std::size_t at = 0;
  for (char c : text) {
    const auto digit = alphabet.find(c);
    if (digit == std::string_view::npos) return complain("not URL-safe base64");
    bits = (bits << 6) | static_cast<uint32_t>(digit);
    held += 6;
    if (held >= 8) {
      held -= 8;
      if (at < id.bytes.size()) id.bytes[at++] = static_cast<std::byte>(bits >> held);
    }
  }
  return id;
}

Uuid Uuid::random() {
  for (;;) {
    Uuid id;
    BARNABAS_ASSERT(getrandom(id.bytes.data(), id.bytes.size(), 0) == static_cast<ssize_t>(id.bytes.size()));
    id.bytes[6] = (id.bytes[6] & std::byte{0x0f}) | std::byte{0x40};
    id.bytes[8] = (id.bytes[8] & std::byte{0x3f}) | std::byte{0x80};
    if (!id.to_string().starts_with('-')) return id;
  }
}

}  // namespace barnabas

std::size_t std::hash<barnabas::Uuid>::operator()(const barnabas::Uuid& id) const noexcept {
  uint64_t low = 0;
  uint64_t high = 0;
  std::memcpy(&low, id.bytes.data(), 8);
  std::memcpy(&high, id.bytes.data() + 8, 8);
  return low ^ (high * 0x9e3779b97f4a7c15ULL);
}
