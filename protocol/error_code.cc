#include "protocol/error_code.h"

#include "base/assert.h"
#include "protocol/error_table.h"

namespace barnabas::protocol {

namespace {

const detail::ErrorInfo* find(int16_t number) {
  const auto table = detail::error_table;
  const int first = table.front().code;
  if (number < first || number - first >= static_cast<int>(table.size())) return nullptr;
  const auto& row = table[static_cast<std::size_t>(number - first)];
  BARNABAS_ASSERT(row.code == number);
  return &row;
}

const detail::ErrorInfo& info(ErrorCode code) {
  const auto* row = find(to_wire(code));
  BARNABAS_ASSERT(row != nullptr);
  return *row;
}

}  // namespace

std::optional<ErrorCode> error_code(int16_t number) {
  return find(number) ? std::optional(static_cast<ErrorCode>(number)) : std::nullopt;
}

std::string_view name(ErrorCode code) {
  return info(code).name;
}

bool is_retriable(ErrorCode code) {
  return info(code).is_retriable;
}

std::string_view default_message(ErrorCode code) {
  return info(code).message;
}

}  // namespace barnabas::protocol
