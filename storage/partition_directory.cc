#include "storage/partition_directory.h"

#include <algorithm>
#include <charconv>

namespace barnabas::storage {
namespace {

constexpr std::size_t file_name_bytes_max = 255;
constexpr std::size_t topic_name_bytes_max = 249;
constexpr std::size_t unique_digits = 32;
constexpr std::string_view hex_digits = "0123456789abcdef";

bool is_topic_name(std::string_view name) {
  if (name.empty() || name.size() > topic_name_bytes_max || name == "." || name == "..") return false;
  return std::ranges::all_of(name, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '_' || c == '-';
  });
}

/// "<topic>-<partition>".
bool parse_partition(std::string_view text, TopicPartition& name) {
  const auto dash = text.rfind('-');
  if (dash == std::string_view::npos) return false;
  const std::string_view digits = text.substr(dash + 1);
  if (digits.empty() || digits.front() < '0' || digits.front() > '9') return false;
  if (digits.size() > 1 && digits.front() == '0') return false;
  int32_t partition = 0;
  const auto [end, code] = std::from_chars(digits.data(), digits.data() + digits.size(), partition);
  if (code != std::errc() || end != digits.data() + digits.size()) return false;
  if (!is_topic_name(text.substr(0, dash))) return false;
  name = {std::string(text.substr(0, dash)), PartitionIndex{partition}};
  return true;
}

/// "<topic>-<partition>.<32 hex>" before a suffix.
bool parse_marked(std::string_view text, TopicPartition& name) {
  if (text.size() <= unique_digits + 1) return false;
  const std::size_t dot = text.size() - unique_digits - 1;
  if (text[dot] != '.' || text.substr(dot + 1).find_first_not_of(hex_digits) != std::string_view::npos)
    return false;
  return parse_partition(text.substr(0, dot), name);
}

std::string mark(const TopicPartition& name, const Uuid& unique, std::string_view suffix) {
  std::string end = "-" + std::to_string(name.partition.value()) + ".";
  for (const std::byte byte : unique.bytes) {
    end += hex_digits[std::to_integer<std::size_t>(byte >> 4)];
    end += hex_digits[std::to_integer<std::size_t>(byte & std::byte{15})];
  }
  return end.append(suffix);
}

std::string marked_name(const TopicPartition& name, const Uuid& unique, std::string_view suffix) {
  const std::string end = mark(name, unique, suffix);
  return name.topic.substr(0, file_name_bytes_max - end.size()) + end;
}

}  // namespace

PartitionDirectory parse_directory_name(std::string_view name) {
  PartitionDirectory result;
  if (name == metadata_directory_name) {
    result.kind = DirectoryKind::metadata;
    return result;
  }
  constexpr std::pair<std::string_view, DirectoryKind> suffixes[] = {{"-delete", DirectoryKind::deleted},
                                                                     {"-future", DirectoryKind::future},
                                                                     {"-stray", DirectoryKind::stray}};
  for (const auto& [suffix, kind] : suffixes) {
    if (name.ends_with(suffix) && parse_marked(name.substr(0, name.size() - suffix.size()), result.name)) {
      result.kind = kind;
      return result;
    }
  }
  if (parse_partition(name, result.name)) result.kind = DirectoryKind::partition;
  return result;
}

std::string deleted_directory_name(const TopicPartition& name, const Uuid& unique) {
  return marked_name(name, unique, "-delete");
}

std::string future_directory_name(const TopicPartition& name, const Uuid& unique) {
  return name.topic + mark(name, unique, "-future");
}

bool can_have_future(const TopicPartition& name) {
  return future_directory_name(name, Uuid{}).size() <= file_name_bytes_max;
}

std::string stray_directory_name(const TopicPartition& name, const Uuid& unique) {
  return marked_name(name, unique, "-stray");
}

}  // namespace barnabas::storage
