#pragma once

#include <span>

#include "protocol/api.h"

namespace barnabas::protocol::detail {

/// Generated from apis.json, ordered by key.
extern const std::span<const ApiInfo> api_table;

}  // namespace barnabas::protocol::detail
