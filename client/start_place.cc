#include "client/start_place.h"

#include <algorithm>
#include <charconv>
#include <string>

#include "client/offsets.h"

namespace barnabas::client {

Result<StartPlace> parse_start_place(std::string_view text, int64_t now_ms) {
  using Kind = StartPlace::Kind;
  if (text == "start" || text == "beginning" || text == "earliest") return StartPlace{Kind::after_start, 0};
  if (text == "end" || text == "latest") return StartPlace{Kind::before_end, 0};
  if (text.starts_with('@')) {
    BARNABAS_ASSIGN(const int64_t time, parse_time(text.substr(1), now_ms));
    return StartPlace{Kind::time, time};
  }
  StartPlace place{Kind::offset, 0};
  if (text.starts_with('+') || text.starts_with('-'))
    place.kind = text.front() == '+' ? Kind::after_start : Kind::before_end;
  const std::string_view digits = place.kind == Kind::offset ? text : text.substr(1);
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), place.number);
  if (error != std::errc() || end != digits.data() + digits.size() || place.number < 0)
    return fail(ErrorKind::invalid,
                "\"" + std::string(text) + "\" is no place; expected start, end, an offset, +N, -N or @TIME");
  return place;
}

Result<StartPlace> parse_place_or_time(std::string_view text, int64_t now_ms) {
  if (auto place = parse_start_place(text, now_ms)) return place;
  if (const auto time = parse_time(text, now_ms)) return StartPlace{StartPlace::Kind::time, *time};
  return fail(ErrorKind::invalid,
              "\"" + std::string(text) +
                  "\" is no place; expected start, end, an offset, +N (after the start), -N "
                  "(before the end) or a time (@1700000000000, 2026-11-30T10:00:00Z, -1h)");
}

bool StartPlace::is_beyond(int64_t start, int64_t end) const {
  return (kind == Kind::offset && number > end) || (kind == Kind::after_start && number > end - start);
}

int64_t offset_of(const StartPlace& place, int64_t start, int64_t end, int64_t at_time) {
  const int64_t available = end - start;
  switch (place.kind) {
    case StartPlace::Kind::offset:
      return std::clamp(place.number, start, end);
    case StartPlace::Kind::after_start:
      return start + std::min(place.number, available);
    case StartPlace::Kind::before_end:
      return end - std::min(place.number, available);
    case StartPlace::Kind::time:
      break;
  }
  return at_time < 0 ? end : std::clamp(at_time, start, end);
}

bool is_outside(const StartPlace& place, int64_t start, int64_t end) {
  if (place.kind == StartPlace::Kind::time) return false;
  if (place.kind == StartPlace::Kind::offset) return place.number < start || place.number > end;
  return place.number > end - start;
}

}  // namespace barnabas::client
