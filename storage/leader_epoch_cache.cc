#include "storage/leader_epoch_cache.h"

#include <algorithm>
#include <charconv>

namespace barnabas::storage {

bool LeaderEpochCache::assign(LeaderEpoch epoch, Offset start) {
  if (epoch < LeaderEpoch{0} || start < Offset{0}) return false;
  if (!entries_.empty() && entries_.back().epoch == epoch) return false;
  const std::size_t before = entries_.size();
  // A start at or before known ones says that what came after it was replaced.
  std::erase_if(entries_,
                [&](const EpochStart& known) { return known.epoch >= epoch || known.start_offset >= start; });
  if (before != entries_.size() || entries_.empty() || entries_.back().epoch < epoch) {
    entries_.push_back({epoch, start});
    return true;
  }
  return false;
}

EpochEnd LeaderEpochCache::end_offset(LeaderEpoch epoch, Offset log_end) const {
  if (entries_.empty() || epoch == no_leader_epoch) return {};
  if (epoch == entries_.back().epoch) return {epoch, log_end};
  auto higher = std::ranges::upper_bound(entries_, epoch, {}, &EpochStart::epoch);
  if (higher == entries_.end()) return {};
  if (higher == entries_.begin()) return {epoch, higher->start_offset};
  return {std::prev(higher)->epoch, higher->start_offset};
}

std::optional<EpochStart> LeaderEpochCache::latest() const {
  return entries_.empty() ? std::nullopt : std::optional(entries_.back());
}

std::optional<EpochStart> LeaderEpochCache::earliest() const {
  return entries_.empty() ? std::nullopt : std::optional(entries_.front());
}

std::optional<LeaderEpoch> LeaderEpochCache::epoch_of(Offset offset) const {
  auto later = std::ranges::upper_bound(entries_, offset, {}, &EpochStart::start_offset);
  if (later == entries_.begin()) return std::nullopt;
  return std::prev(later)->epoch;
}

bool LeaderEpochCache::truncate_from_end(Offset end) {
  return std::erase_if(entries_, [&](const EpochStart& known) { return known.start_offset >= end; }) != 0;
}

bool LeaderEpochCache::truncate_from_start(Offset start) {
  auto later = std::ranges::upper_bound(entries_, start, {}, &EpochStart::start_offset);
  if (later == entries_.begin()) return false;
  auto containing = std::prev(later);
  const bool changed = containing != entries_.begin() || containing->start_offset != start;
  containing->start_offset = start;
  entries_.erase(entries_.begin(), containing);
  return changed;
}

std::string LeaderEpochCache::format() const {
  std::string text = "0\n" + std::to_string(entries_.size()) + "\n";
  for (const EpochStart& entry : entries_)
    text += std::to_string(entry.epoch.value()) + " " + std::to_string(entry.start_offset.value()) + "\n";
  return text;
}

namespace {

std::string_view take_line(std::string_view& rest) {
  const std::size_t end = rest.find('\n');
  std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view{} : rest.substr(end + 1);
  return line;
}

template <class T>
bool parse_number(std::string_view text, T& number) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return error == std::errc{} && end == text.data() + text.size();
}

}  // namespace

Result<LeaderEpochCache> LeaderEpochCache::parse(std::string_view text) {
  const auto corrupt = [](int line, std::string_view found) {
    return fail(ErrorKind::corrupt, "leader epoch checkpoint, line " + std::to_string(line) +
                                        ": unexpected \"" + std::string(found.substr(0, 60)) + "\"");
  };
  int32_t version = -1;
  std::string_view line = take_line(text);
  if (!parse_number(line, version) || version != 0) return corrupt(1, line);
  std::size_t count = 0;
  line = take_line(text);
  if (!parse_number(line, count)) return corrupt(2, line);

  LeaderEpochCache cache;
  for (int number = 3; !text.empty(); ++number) {
    line = take_line(text);
    int32_t epoch = -1;
    int64_t start = -1;
    const std::size_t space = line.find(' ');
    if (space == std::string_view::npos || !parse_number(line.substr(0, space), epoch) ||
        !parse_number(line.substr(space + 1), start) || epoch < 0 || start < 0)
      return corrupt(number, line);
    const EpochStart entry{LeaderEpoch(epoch), Offset(start)};
    if (!cache.entries_.empty() && (cache.entries_.back().epoch >= entry.epoch ||
                                    cache.entries_.back().start_offset > entry.start_offset))
      return corrupt(number, line);
    cache.entries_.push_back(entry);
  }
  if (cache.entries_.size() != count)
    return fail(ErrorKind::corrupt, "leader epoch checkpoint: " + std::to_string(cache.entries_.size()) +
                                        " entries, expected " + std::to_string(count));
  return cache;
}

}  // namespace barnabas::storage
