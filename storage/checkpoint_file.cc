#include "storage/checkpoint_file.h"

#include <charconv>
#include <optional>
#include <vector>

namespace barnabas::storage {
namespace {

constexpr int version = 0;
constexpr uint64_t file_bytes_max = 256 << 20;
// A topic name and two numbers; what is longer is no line of ours.
constexpr std::size_t fields_per_line = 3;

std::unexpected<Error> bad_line(int number, std::string_view line, std::string_view expected) {
  return fail(ErrorKind::corrupt, "line " + std::to_string(number) + ": \"" +
                                      std::string(line.substr(0, 300)) + "\" found, " +
                                      std::string(expected) + " expected");
}

bool is_blank(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}

/// Cuts a line off `text`; nothing when the text is used up.
std::optional<std::string_view> next_line(std::string_view& text) {
  if (text.empty()) return std::nullopt;
  const auto end = text.find_first_of("\r\n");
  const std::string_view line = text.substr(0, end);
  if (end == std::string_view::npos) {
    text = {};
  } else {
    text.remove_prefix(text.substr(end).starts_with("\r\n") ? end + 2 : end + 1);
  }
  return line;
}

template <class Number>
std::optional<Number> parse_number(std::string_view text) {
  Number number = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (code != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

std::vector<std::string_view> split(std::string_view line) {
  std::vector<std::string_view> fields;
  while (!line.empty() && fields.size() <= fields_per_line) {
    std::size_t length = 0;
    while (length < line.size() && !is_blank(line[length])) ++length;
    fields.push_back(line.substr(0, length));
    line.remove_prefix(length);
    while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
  }
  return fields;
}

}  // namespace

Result<OffsetCheckpoint> parse_offset_checkpoint(std::string_view text) {
  OffsetCheckpoint offsets;
  const auto version_line = next_line(text);
  if (!version_line) return offsets;
  const auto found_version = parse_number<int32_t>(*version_line);
  if (!found_version) return bad_line(1, *version_line, "a version number");
  if (*found_version != version) {
    return fail(ErrorKind::unsupported,
                "line 1: version " + std::to_string(*found_version) + " found, 0 expected");
  }
  const auto count_line = next_line(text);
  if (!count_line) return offsets;
  const auto count = parse_number<int32_t>(*count_line);
  if (!count || *count < 0) return bad_line(2, *count_line, "the number of entries");

  int number = 2;
  int32_t entries = 0;
  while (const auto line = next_line(text)) {
    ++number;
    const auto fields = split(*line);
    if (fields.size() != fields_per_line) return bad_line(number, *line, "topic, partition and offset");
    const auto partition = parse_number<int32_t>(fields[1]);
    const auto offset = parse_number<int64_t>(fields[2]);
    if (fields[0].empty() || !partition || *partition < 0 || !offset || *offset < 0)
      return bad_line(number, *line, "topic, partition and offset");
    offsets[{std::string(fields[0]), PartitionIndex{*partition}}] = Offset{*offset};
    ++entries;
  }
  if (entries != *count) {
    return fail(ErrorKind::corrupt,
                std::to_string(entries) + " entries found, " + std::to_string(*count) + " expected (line 2)");
  }
  return offsets;
}

std::string format_offset_checkpoint(const OffsetCheckpoint& offsets) {
  std::string text = std::to_string(version) + "\n" + std::to_string(offsets.size()) + "\n";
  for (const auto& [name, offset] : offsets) {
    text += name.topic;
    text += ' ';
    text += std::to_string(name.partition.value());
    text += ' ';
    text += std::to_string(offset.value());
    text += '\n';
  }
  return text;
}

Result<OffsetCheckpoint> read_offset_checkpoint(io::Disk& disk, const std::string& path) {
  const auto text = io::read_file(disk, path, file_bytes_max);
  if (!text) {
    if (text.error().kind == ErrorKind::not_found) return OffsetCheckpoint{};
    return std::unexpected(text.error());
  }
  auto offsets = parse_offset_checkpoint(*text);
  if (!offsets) return fail(path, std::move(offsets).error());
  return offsets;
}

Result<void> write_offset_checkpoint(io::Disk& disk, const std::string& path,
                                     const OffsetCheckpoint& offsets) {
  return io::replace_file(disk, path, format_offset_checkpoint(offsets));
}

}  // namespace barnabas::storage
