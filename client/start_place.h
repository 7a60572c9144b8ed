#pragma once

#include <cstdint>
#include <string_view>

#include "base/result.h"

namespace barnabas::client {

/// Where reading begins in a partition, as `-o` says it: "start", "end", "17" (an offset), "+5" (after the
/// start), "-5" (before the end), "@1700000000000", "@2026-11-30T10:00:00Z", "@-1h".
struct StartPlace {
  enum class Kind : uint8_t { offset, after_start, before_end, time };
  Kind kind = Kind::before_end;
  int64_t number = 0;

  /// Whether it is an offset behind the `end` of a partition that begins at `start`.
  bool is_beyond(int64_t start, int64_t end) const;
};
Result<StartPlace> parse_start_place(std::string_view text, int64_t now_ms);
/// The same, and times without "@" too, where they are no offsets: "2026-11-30T10:00:00Z", "-1h".
Result<StartPlace> parse_place_or_time(std::string_view text, int64_t now_ms);

/// The offset in a partition that has records from `start` to before `end`; within that. `at_time`: of the
/// first record of that time, -1 when there is none.
int64_t offset_of(const StartPlace& place, int64_t start, int64_t end, int64_t at_time);
/// Whether it names an offset that the partition does not have.
bool is_outside(const StartPlace& place, int64_t start, int64_t end);

}  // namespace barnabas::client
