#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "base/result.h"

namespace barnabas::metadata {

/// A network in CIDR notation as hosts of access control entries may name one (KIP-1276): "192.0.2.0/24",
/// "2001:db8::/32". Addresses are compared by their leading bits; what the notation has behind them means
/// nothing. An IPv4 network holds no IPv6 address, and the other way round.
class AddressBlock {
 public:
  /// ErrorKind::invalid with the words that Kafka has for it.
  static Result<AddressBlock> parse(std::string_view text);

  /// An address in its text form; false for what is none.
  bool contains(std::string_view address) const;

 private:
  std::array<std::byte, 16> bytes_{};
  bool is_v6_ = false;
  int prefix_bits_ = 0;
};

}  // namespace barnabas::metadata
