#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace barnabas::metrics {

enum class Type : uint8_t { counter, gauge, histogram, summary };
std::string_view to_string(Type type);

/// One name under which something is told.
struct Family {
  std::string_view name;
  Type type;
  std::vector<std::string_view> labels;
  std::string_view help;  ///< one sentence; stands in the page and in docs/metrics.md
};

/// All there are, in the order in which they are told. docs/metrics.md is made from it.
std::span<const Family> catalog();
/// Where a name stands in it. It must be there.
std::size_t index_of(std::string_view name);

}  // namespace barnabas::metrics
