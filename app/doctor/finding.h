#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace barnabas::app {

/// One thing that the doctor says, in plain words.
struct Finding {
  enum class Level : uint8_t {
    problem,  ///< the broker does not start, or its clients do not get to it
    warning,  ///< it works, but not as somebody may expect
    note,     ///< good to know while reading the others
  };
  Level level = Level::problem;
  std::string
      area;  ///< "settings", "ports", "addresses", "limits", "disk", "clock", "certificates", "access"
  std::string what;    ///< what is the case, with place and values
  std::string why;     ///< why it matters
  std::string remedy;  ///< what to do; empty for a note
};

using Findings = std::vector<Finding>;

/// "problem", "warning", "note".
std::string_view to_string(Finding::Level level);

}  // namespace barnabas::app
