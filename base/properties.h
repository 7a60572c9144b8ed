#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace barnabas {

struct Property {
  std::string name;
  std::string value;
  int line = 0;  ///< where it begins, from 1
};

/// Reads the text of a .properties file as java.util.Properties does: "=", ":" or blanks between name and
/// value, comments with # or !, lines continued with a backslash, escapes \t \n \r \f \uXXXX; bytes above 127
/// are taken for UTF-8. In order of appearance, repeated names included. Errors: ErrorKind::invalid with the
/// line for a broken \u escape.
Result<std::vector<Property>> parse_properties(std::string_view text);

}  // namespace barnabas
