#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace barnabas::metadata {

inline constexpr std::size_t topic_name_bytes_max = 249;
inline constexpr std::string_view cluster_metadata_topic = "__cluster_metadata";

/// Why that is no topic name, in the words of Kafka's answer; nothing when it is one.
std::optional<std::string> topic_name_problem(std::string_view name);

/// Whether two names could collide at all: '.' and '_' are one character in metric names.
inline bool has_collision_character(std::string_view name) {
  return name.find_first_of("._") != std::string_view::npos;
}
/// The name with every '.' replaced by '_'.
std::string normalized_topic_name(std::string_view name);

}  // namespace barnabas::metadata
