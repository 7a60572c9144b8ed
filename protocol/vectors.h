#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"

namespace barnabas::protocol::testing {

/// The lines of a file below protocol/vectors/; aborts when it cannot be read.
std::vector<nlohmann::json> read_vectors(const std::string& file);

std::vector<std::byte> from_hex(std::string_view hex);
std::string to_hex(ByteView bytes);

/// Why `found` is not the JSON text `expected`; empty when it is.
std::string json_difference(const std::string& found, const nlohmann::json& expected);

}  // namespace barnabas::protocol::testing
