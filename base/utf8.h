#pragma once

#include <cstddef>
#include <string_view>

namespace barnabas {

/// Bytes of the well-formed UTF-8 character at the start of `text`, which is not empty; 0 if there is none.
/// Overlong forms, surrogates and what lies beyond U+10FFFF are none (RFC 3629).
std::size_t utf8_length(std::string_view text);

}  // namespace barnabas
