#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace barnabas::client {

/// "name=value"; the value may hold anything and may be empty.
struct Assignment {
  std::string name;
  std::string value;
};
Result<Assignment> parse_assignment(std::string_view text);

/// Milliseconds since 1970, by the machine's clock.
int64_t now_ms();
/// "2.5 s"
std::string seconds_text(std::chrono::milliseconds time);

}  // namespace barnabas::client
