#include "metadata/config_definitions.h"

#include <algorithm>
#include <vector>

namespace barnabas::metadata {
namespace {

#include "metadata/config_table.inc"

const ConfigDefinition* find(std::span<const ConfigDefinition> table, std::string_view name) {
  const auto at = std::ranges::lower_bound(table, name, {}, &ConfigDefinition::name);
  return at != table.end() && at->name == name ? &*at : nullptr;
}

/// Edit distance (Levenshtein), in one row.
std::size_t distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  for (std::size_t j = 0; j < row.size(); ++j) row[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

std::span<const ConfigDefinition> broker_configs() {
  return broker_table;
}
std::span<const ConfigDefinition> topic_configs() {
  return topic_table;
}
std::span<const ConfigDefinition> group_configs() {
  return group_table;
}
std::span<const ConfigDefinition> client_metrics_configs() {
  return client_metrics_table;
}

const ConfigDefinition* find_broker_config(std::string_view name) {
  return find(broker_table, name);
}
const ConfigDefinition* find_topic_config(std::string_view name) {
  return find(topic_table, name);
}
const ConfigDefinition* find_group_config(std::string_view name) {
  return find(group_table, name);
}
const ConfigDefinition* find_client_metrics_config(std::string_view name) {
  return find(client_metrics_table, name);
}

std::string_view nearest_broker_config(std::string_view name) {
  constexpr std::size_t name_length_max = 100;
  if (name.size() > name_length_max) return {};
  std::string_view best;
  std::size_t best_distance = name.size() / 3 + 1;
  for (const ConfigDefinition& definition : broker_table) {
    const std::size_t found = distance(name, definition.name);
    if (found < best_distance) {
      best_distance = found;
      best = definition.name;
    }
  }
  return best;
}

Result<void> validate_topic_config(std::string_view name, std::optional<std::string_view> value) {
  const ConfigDefinition* definition = find_topic_config(name);
  if (definition == nullptr)
    return fail(ErrorKind::invalid, "Unknown topic config name: " + std::string(name));
  ConfigDefinition lenient = *definition;
  lenient.duplicates_allowed = true;
  return validate_config(lenient, value);
}

}  // namespace barnabas::metadata
