#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace barnabas::security {

/// Base64 with the standard alphabet and padding (RFC 4648, section 4).
std::string encode_base64(ByteView bytes);
/// Nothing for text with other characters, without whole groups of four, or with padding elsewhere than at
/// the end.
std::optional<std::vector<std::byte>> decode_base64(std::string_view text);

}  // namespace barnabas::security
