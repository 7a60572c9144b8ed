#include "client/offsets.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>
#include <cstdio>

#include "protocol/messages/list_offsets_request.h"
#include "protocol/messages/list_offsets_response.h"

namespace barnabas::client {

using protocol::ErrorCode;

Result<std::vector<TopicPartition>> partitions_of(Cluster& cluster, const std::vector<std::string>& topics) {
  BARNABAS_ASSIGN(const auto metadata, cluster.topics(topics));
  std::vector<TopicPartition> partitions;
  for (const auto& topic : metadata->topics)
    for (const auto& each : topic.partitions)
      partitions.push_back({topic.name ? topic.name->str() : "", each.partition_index});
  std::ranges::sort(partitions);
  return partitions;
}

namespace {

using Found = std::map<TopicPartition, FoundOffset>;
using Wanted = std::map<TopicPartition, int64_t>;

/// Which of them each broker leads; those without a leader are answered at once.
Result<std::map<int32_t, Wanted>> by_leader(Cluster& cluster, const Wanted& wanted, Found& found) {
  std::vector<std::string> names;
  for (const auto& [each, place] : wanted)
    if (names.empty() || names.back() != each.topic) names.push_back(each.topic);
  BARNABAS_ASSIGN(const auto metadata, cluster.metadata(names));
  for (const auto& [each, place] : wanted)
    found[each].error_code = protocol::to_wire(ErrorCode::unknown_topic_or_partition);
  std::map<int32_t, Wanted> leaders;
  for (const auto& topic : metadata->topics) {
    for (const auto& each : topic.partitions) {
      const TopicPartition partition{topic.name ? topic.name->str() : "", each.partition_index};
      const auto asked = wanted.find(partition);
      if (asked == wanted.end()) continue;
      found[partition].error_code =
          each.leader_id < 0 ? protocol::to_wire(ErrorCode::leader_not_available) : int16_t{0};
      if (each.leader_id >= 0) leaders[each.leader_id].insert(*asked);
    }
  }
  return leaders;
}

Result<void> ask_leader(Cluster& cluster, int32_t leader, const Wanted& wanted, bool read_committed,
                        Found& found) {
  protocol::ListOffsetsRequest request;
  request.replica_id = -1;
  request.isolation_level = read_committed ? 1 : 0;
  for (const auto& [each, place] : wanted) {
    if (request.topics.empty() || request.topics.back().name != each.topic)
      request.topics.emplace_back().name = each.topic;
    auto& asked = request.topics.back().partitions.emplace_back();
    asked.partition_index = each.partition;
    asked.timestamp = place;
  }
  BARNABAS_ASSIGN(Connection * connection, cluster.broker(leader));
  // Newer versions only add places that are not asked for here.
  BARNABAS_ASSIGN(const auto answer, connection->call(request, cluster.deadline(), 1, 7));
  for (const auto& topic : answer->topics)
    for (const auto& each : topic.partitions)
      found[{topic.name.str(), each.partition_index}] = {each.error_code, each.offset, each.timestamp};
  return {};
}

}  // namespace

Result<Found> find_offsets(Cluster& cluster, const Wanted& wanted, bool read_committed) {
  Found found;
  if (wanted.empty()) return found;
  BARNABAS_ASSIGN(const auto leaders, by_leader(cluster, wanted, found));
  for (const auto& [leader, theirs] : leaders)
    BARNABAS_TRY(ask_leader(cluster, leader, theirs, read_committed, found));
  return found;
}

Result<std::map<TopicPartition, int64_t>> offsets_at(Cluster& cluster,
                                                     const std::vector<TopicPartition>& partitions,
                                                     int64_t place, bool read_committed) {
  Wanted wanted;
  for (const TopicPartition& each : partitions) wanted[each] = place;
  BARNABAS_ASSIGN(const Found found, find_offsets(cluster, wanted, read_committed));
  std::map<TopicPartition, int64_t> offsets;
  for (const auto& [partition, offset] : found) {
    if (offset.error_code != 0)
      return fail(ErrorKind::invalid, partition.to_string() + ": " + error_text(offset.error_code));
    offsets[partition] = offset.offset;
  }
  return offsets;
}

namespace {

std::optional<int64_t> integer(std::string_view text) {
  int64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::optional<int64_t> duration_ms(std::string_view text) {
  struct Unit {
    std::string_view name;
    int64_t ms;
  };
  constexpr auto units =
      std::to_array<Unit>({{"ms", 1}, {"s", 1000}, {"m", 60'000}, {"h", 3'600'000}, {"d", 86'400'000}});
  for (const Unit& unit : units) {
    if (!text.ends_with(unit.name)) continue;
    const auto number = integer(text.substr(0, text.size() - unit.name.size()));
    if (number && *number >= 0 && *number < 1'000'000'000'000 / unit.ms * 10) return *number * unit.ms;
  }
  return std::nullopt;
}

/// ISO 8601, with the date at least.
std::optional<int64_t> date_ms(std::string_view text) {
  int year = 0;
  unsigned month = 0, day = 0, hour = 0, minute = 0, second = 0;
  int taken = 0;
  const std::string copy(text);
  if (std::sscanf(copy.c_str(), "%4d-%2u-%2u%n", &year, &month, &day, &taken) != 3 || taken != 10)
    return std::nullopt;
  std::string_view rest = text.substr(10);
  int64_t fraction_ms = 0;
  if (!rest.empty()) {
    const std::string clock(rest);
    if (std::sscanf(clock.c_str(), "T%2u:%2u:%2u%n", &hour, &minute, &second, &taken) != 3 || taken != 9)
      return std::nullopt;
    rest.remove_prefix(9);
    if (rest.starts_with('.')) {
      const auto digits = std::min(rest.find_first_not_of("0123456789", 1), rest.size());
      if (digits == 1) return std::nullopt;
      fraction_ms = integer((std::string(rest.substr(1, digits - 1)) + "00").substr(0, 3)).value_or(0);
      rest.remove_prefix(digits);
    }
    if (rest.starts_with('Z')) rest.remove_prefix(1);
  }
  const std::chrono::year_month_day date{std::chrono::year(year), std::chrono::month(month),
                                         std::chrono::day(day)};
  if (!rest.empty() || !date.ok() || hour > 23 || minute > 59 || second > 59) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch();
  return std::chrono::milliseconds(days).count() + (hour * 3600 + minute * 60 + second) * int64_t{1000} +
         fraction_ms;
}

}  // namespace

Result<int64_t> parse_time(std::string_view text, int64_t now_ms) {
  if (text.starts_with('-')) {
    if (const auto ago = duration_ms(text.substr(1))) return now_ms - *ago;
  } else if (const auto number = integer(text)) {
    return text.size() <= 11 ? *number * 1000 : *number;
  } else if (const auto date = date_ms(text)) {
    return *date;
  }
  return fail(ErrorKind::invalid,
              "\"" + std::string(text) +
                  "\" is no time; expected 2026-11-30T10:00:00Z, milliseconds since 1970, or "
                  "-1h for an hour ago");
}

std::string time_text(int64_t ms) {
  if (ms < -62'167'219'200'000 || ms > 253'402'300'799'999) return std::to_string(ms);
  const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(ms)};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date(day);
  const std::chrono::hh_mm_ss clock(time - day);
  char text[40];
  std::snprintf(text, sizeof text, "%04d-%02u-%02uT%02d:%02d:%02d.%03dZ", static_cast<int>(date.year()),
                static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()),
                static_cast<int>(clock.hours().count()), static_cast<int>(clock.minutes().count()),
                static_cast<int>(clock.seconds().count()), static_cast<int>(clock.subseconds().count()));
  return text;
}

}  // namespace barnabas::client
