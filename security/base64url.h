#pragma once

#include <string>
#include <string_view>

#include "base/result.h"

namespace barnabas::security {

/// The bytes that `text` stands for in base64url without padding (RFC 7515, appendix C). Strict: each value
/// has one spelling, so padding, line ends, other alphabets and bits that are left over are refused. The
/// error does not repeat the text.
Result<std::string> decode_base64url(std::string_view text);

}  // namespace barnabas::security
