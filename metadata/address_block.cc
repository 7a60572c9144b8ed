#include "metadata/address_block.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <string>

#include "metadata/config_definitions.h"

namespace barnabas::metadata {
namespace {

std::unexpected<Error> not_parsed(std::string_view text, std::string_view why = "") {
  return fail(ErrorKind::invalid, "Could not parse [" + std::string(text) + "]" + std::string(why));
}

/// Up to `digits_max` decimal digits; leading zeros mean nothing.
std::optional<int> number_of(std::string_view text, std::size_t digits_max) {
  int value = 0;
  if (text.empty() || text.size() > digits_max ||
      !std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }))
    return std::nullopt;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

struct V4Address {
  std::array<int, 4> parts{};
};

/// Four numbers of up to three digits, which need not be below 256.
std::optional<V4Address> v4_address(std::string_view text) {
  V4Address address;
  for (std::size_t i = 0; i < 4; ++i) {
    const auto dot = text.find('.');
    if ((dot == std::string_view::npos) != (i == 3)) return std::nullopt;
    const auto part = number_of(text.substr(0, dot), 3);
    if (!part) return std::nullopt;
    address.parts[i] = *part;
    if (i < 3) text.remove_prefix(dot + 1);
  }
  return address;
}

bool v6_address(std::string_view text, std::array<std::byte, 16>& bytes) {
  return inet_pton(AF_INET6, std::string(text).c_str(), bytes.data()) == 1;
}

/// Java takes such an address for the IPv4 one that it holds.
bool is_mapped_v4(const std::array<std::byte, 16>& bytes) {
  return std::all_of(bytes.begin(), bytes.begin() + 10, [](std::byte b) { return b == std::byte{0}; }) &&
         bytes[10] == std::byte{0xff} && bytes[11] == std::byte{0xff};
}

std::string out_of(int value, int max) {
  return "Value [" + std::to_string(value) + "] not in range [0," + std::to_string(max) + "]";
}

}  // namespace

Result<AddressBlock> AddressBlock::parse(std::string_view text) {
  AddressBlock block;
  const auto slash = text.find('/');
  block.is_v6_ = text.contains(':');
  if (slash == std::string_view::npos) return not_parsed(text);
  const std::string_view address = text.substr(0, slash);
  const std::string_view prefix = text.substr(slash + 1);
  if (block.is_v6_) {
    const auto bits = java_integer(prefix);
    if (!bits) return not_parsed(text, " - invalid prefix length");
    if (*bits < 0 || *bits > 128) return not_parsed(text, " - prefix length must be between 0 and 128");
    if (!v6_address(address, block.bytes_)) return not_parsed(address);
    if (is_mapped_v4(block.bytes_)) return not_parsed(address, " - not an IPv6 address");
    block.prefix_bits_ = *bits;
    return block;
  }
  const auto parsed = v4_address(address);
  const auto bits = number_of(prefix, 2);
  if (!parsed || !bits) return not_parsed(text);
  for (std::size_t i = 0; i < 4; ++i) {
    if (parsed->parts[i] > 255) return fail(ErrorKind::invalid, out_of(parsed->parts[i], 255));
    block.bytes_[i] = static_cast<std::byte>(parsed->parts[i]);
  }
  if (*bits > 32) return fail(ErrorKind::invalid, out_of(*bits, 32));
  block.prefix_bits_ = *bits;
  return block;
}

bool AddressBlock::contains(std::string_view address) const {
  std::array<std::byte, 16> bytes{};
  const std::string text(address);
  if (inet_pton(is_v6_ ? AF_INET6 : AF_INET, text.c_str(), bytes.data()) != 1) return false;
  const auto whole = static_cast<std::size_t>(prefix_bits_ / 8);
  if (!std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(whole), bytes_.begin()))
    return false;
  const int rest = prefix_bits_ % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::byte>(0xff << (8 - rest));
  return (bytes[whole] & mask) == (bytes_[whole] & mask);
}

}  // namespace barnabas::metadata
