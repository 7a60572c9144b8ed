#include "protocol/api.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "protocol/api_table.h"

namespace barnabas::protocol {

namespace {

const ApiInfo* find(int16_t number) {
  const auto table = detail::api_table;
  const auto row = std::ranges::lower_bound(table, number, {},
                                            [](const ApiInfo& info) { return std::to_underlying(info.key); });
  return row != table.end() && std::to_underlying(row->key) == number ? &*row : nullptr;
}

}  // namespace

std::optional<ApiKey> api_key(int16_t number) {
  const ApiInfo* info = find(number);
  return info ? std::optional(info->key) : std::nullopt;
}

const ApiInfo& api_info(ApiKey key) {
  const ApiInfo* info = find(std::to_underlying(key));
  BARNABAS_ASSERT(info != nullptr);
  return *info;
}

std::span<const ApiInfo> all_apis() {
  return detail::api_table;
}

}  // namespace barnabas::protocol
