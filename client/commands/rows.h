#pragma once

#include <algorithm>

#include "client/answer.h"

namespace barnabas::client {

/// By one member.
inline void sort_rows(Json& rows, const char* key) {
  auto& list = rows.get_ref<Json::array_t&>();
  std::stable_sort(list.begin(), list.end(), [key](const Json& a, const Json& b) { return a[key] < b[key]; });
}

}  // namespace barnabas::client
