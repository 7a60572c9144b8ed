#include "app/reload.h"

#include <algorithm>
#include <array>
#include <set>

#include "metadata/dynamic_broker_config.h"

namespace barnabas::app {
namespace {

using metadata::StaticConfig;

/// Kafka changes these at run time; here they are read once.
constexpr auto read_once =
    std::to_array<std::string_view>({"num.network.threads", "num.recovery.threads.per.data.dir"});

bool changes_while_running(std::string_view name) {
  const std::string_view base = metadata::without_listener_prefix(name);
  const auto* definition = metadata::find_broker_config(base);
  if (definition == nullptr || definition->update_mode == metadata::UpdateMode::read_only) return false;
  // Stores for all listeners are looked for at the start, those of one listener whenever they change.
  if (base == name && metadata::is_store_setting(name)) return false;
  return metadata::has_effect(name) && std::ranges::find(read_once, base) == read_once.end();
}

bool same(const StaticConfig::Entry* one, const StaticConfig::Entry* other) {
  if (one == nullptr || other == nullptr) return one == other;
  return one->value == other->value;
}

std::set<std::string> changed_names(const StaticConfig& in_force, const StaticConfig& wanted) {
  std::set<std::string> names;
  for (const StaticConfig* config : {&in_force, &wanted})
    for (const auto& [name, entry] : config->all_given())
      if (!same(in_force.given(name), wanted.given(name))) names.insert(name);
  return names;
}

bool set_dynamically(const metadata::MetadataImage& image, NodeId node, const std::string& name) {
  const auto type = metadata::ConfigResourceType::broker;
  return image.config_value(type, std::to_string(node.value()), name) || image.config_value(type, "", name);
}

}  // namespace

Reload plan_reload(const StaticConfig& in_force, const StaticConfig& wanted,
                   const metadata::MetadataImage& image, NodeId node) {
  Reload plan;
  for (const std::string& name : changed_names(in_force, wanted)) {
    if (!metadata::has_effect(name)) {
      plan.without_effect.push_back(name);
      continue;
    }
    if (!changes_while_running(name)) {
      plan.restart.push_back(name);
      continue;
    }
    if (const auto* entry = wanted.given(name)) {
      const auto valid =
          metadata::validate_dynamic_broker_configs({{name, entry->value}}, true, image, node, in_force);
      if (!valid) {
        plan.refused.push_back(entry->origin + ": " + name + ": " + valid.error().message);
        continue;
      }
    }
    plan.now.push_back(name);
    if (set_dynamically(image, node, name)) plan.hidden.push_back(name);
  }
  return plan;
}

}  // namespace barnabas::app
