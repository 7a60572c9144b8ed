#include "storage/log_files.h"

#include <charconv>
#include <limits>

namespace barnabas::storage {
namespace {
constexpr std::size_t offset_digits = 20;
/// Leaves room for the offsets of a segment above its base.
constexpr int64_t base_offset_max = std::numeric_limits<int64_t>::max() - (int64_t{1} << 33);
}  // namespace

std::string segment_file_name(Offset base_offset, std::string_view suffix) {
  const std::string digits = std::to_string(base_offset.value());
  std::string name;
  name.reserve(offset_digits + suffix.size());
  if (digits.size() < offset_digits) name.append(offset_digits - digits.size(), '0');
  return name.append(digits).append(suffix);
}

std::optional<Offset> offset_of_file_name(std::string_view name, std::string_view suffix) {
  if (name.size() != offset_digits + suffix.size() || !name.ends_with(suffix)) return std::nullopt;
  int64_t offset = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + offset_digits, offset);
  if (error != std::errc{} || end != name.data() + offset_digits || offset < 0 || offset > base_offset_max)
    return std::nullopt;
  return Offset(offset);
}

std::string LogFiles::path(std::string_view name) const {
  std::lock_guard lock(mutex_);
  std::string path;
  path.reserve(directory_.size() + 1 + name.size());
  return path.append(directory_).append("/").append(name);
}

}  // namespace barnabas::storage
