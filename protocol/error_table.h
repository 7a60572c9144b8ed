#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace barnabas::protocol::detail {

struct ErrorInfo {
  int16_t code;
  std::string_view name;
  bool is_retriable;
  std::string_view message;
};

/// Generated from errors.json: every code from -1 on, without a gap.
extern const std::span<const ErrorInfo> error_table;

}  // namespace barnabas::protocol::detail
