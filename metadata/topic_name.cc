#include "metadata/topic_name.h"

#include <algorithm>

namespace barnabas::metadata {
namespace {

bool is_legal(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
         c == '-';
}

}  // namespace

std::optional<std::string> topic_name_problem(std::string_view name) {
  const std::string start = "Topic name is invalid: ";
  if (name.empty()) return start + "the empty string is not allowed";
  if (name == "." || name == "..") return start + "'" + std::string(name) + "' is not allowed";
  if (name.size() > topic_name_bytes_max)
    return start + "the length of '" + std::string(name) + "' is longer than the max allowed length " +
           std::to_string(topic_name_bytes_max);
  if (!std::ranges::all_of(name, is_legal))
    return start + "'" + std::string(name) +
           "' contains one or more characters other than ASCII alphanumerics, '.', '_' and '-'";
  return std::nullopt;
}

std::string normalized_topic_name(std::string_view name) {
  std::string result(name);
  std::ranges::replace(result, '.', '_');
  return result;
}

}  // namespace barnabas::metadata
