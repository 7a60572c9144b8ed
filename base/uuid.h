#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace barnabas {

/// A 128-bit id as Kafka uses it for topics, directories and incarnations. Text form: 22 characters of
/// URL-safe base64 without padding.
struct Uuid {
  std::array<std::byte, 16> bytes{};

  bool operator==(const Uuid&) const = default;
  auto operator<=>(const Uuid&) const = default;
  bool is_zero() const { return *this == Uuid{}; }

  std::string to_string() const;
  static Result<Uuid> parse(std::string_view text);

  /// A random version 4 id from the system's entropy that is none of Kafka's reserved ones and whose text
  /// does not begin with "-" (tools take such text for an option).
  static Uuid random();
};

}  // namespace barnabas

template <>
struct std::hash<barnabas::Uuid> {
  std::size_t operator()(const barnabas::Uuid& id) const noexcept;
};
