#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "base/result.h"

namespace barnabas::security {

struct JsonLimits {
  std::size_t bytes = 1 << 20;
  std::size_t depth = 16;       ///< of objects and arrays in each other
  std::size_t values = 10'000;  ///< of all kinds
};

/// A JSON object from somebody who may be hostile (RFC 8259): UTF-8, within the limits, and no name twice in
/// one object, since two readers could then see different things (RFC 7515, section 4). Errors say where, not
/// what.
Result<nlohmann::json> parse_strict_json_object(std::string_view text, const JsonLimits& limits);

}  // namespace barnabas::security
