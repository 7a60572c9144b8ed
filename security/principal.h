#pragma once

#include <string>
#include <utility>

namespace barnabas::security {

/// Who a connection acts for. Names are compared byte by byte, as in Kafka.
struct Principal {
  std::string type = "User";
  std::string name = "ANONYMOUS";
  bool token_authenticated = false;  ///< by a delegation token (KIP-48): such a one may not get tokens itself

  /// "User:alice", as access control entries and settings have it.
  std::string to_string() const { return type + ":" + name; }
  /// Whether both are the same one, however they authenticated.
  bool operator==(const Principal& other) const { return type == other.type && name == other.name; }
};

}  // namespace barnabas::security
