#include "client/commands/assignments.h"

#include <chrono>
#include <sstream>

namespace barnabas::client {

Result<Assignment> parse_assignment(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return fail(ErrorKind::invalid, "\"" + std::string(text) + "\": expected name=value");
  return Assignment{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

int64_t now_ms() {
  const auto since = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::milliseconds>(since).count();
}

std::string seconds_text(std::chrono::milliseconds time) {
  std::ostringstream text;
  text << static_cast<double>(time.count()) / 1000;
  return text.str() + " s";
}

}  // namespace barnabas::client
