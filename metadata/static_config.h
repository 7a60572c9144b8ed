#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metadata/config_definitions.h"

namespace barnabas::metadata {

/// What the operator set at start: settings file, environment and command line, already merged and checked,
/// over Kafka's defaults. Never changes while the broker runs; copies are cheap enough for start-up only.
class StaticConfig {
 public:
  struct Entry {
    std::string value;
    std::string origin;  ///< "server.properties:12", "KAFKA_LOG_DIRS", "--override"
  };

  /// A later call for the same name wins. Unknown names and bad values are refused with origin, name, value
  /// and what is allowed. Names with a prefix that Kafka defines for whole families ("listener.name.…") are
  /// accepted.
  Result<void> set(std::string_view name, std::string value, std::string origin);

  /// Back to the default.
  void forget(std::string_view name);

  /// What was set, not the default.
  const Entry* given(std::string_view name) const;
  const std::map<std::string, Entry, std::less<>>& all_given() const { return given_; }

  /// The value in force: given, else default; nothing when neither exists. `name` must be a known setting.
  std::optional<std::string> value(std::string_view name) const;
  int64_t integer(std::string_view name) const;
  bool boolean(std::string_view name) const;
  std::string text(std::string_view name) const;  ///< "" when there is none
  std::vector<std::string> list(std::string_view name) const;

  /// Names that were set, that Kafka knows, and that have no effect here yet; with their origins, for a
  /// warning each.
  std::vector<std::string> without_effect() const;

 private:
  std::map<std::string, Entry, std::less<>> given_;
};

/// Whether a broker setting has an effect in this version. The list is metadata/static_config.cc's.
bool has_effect(std::string_view broker_setting);

/// A topic's setting in force when only the broker's settings are looked at: the first broker-level name that
/// is set, in the topic's unit; else the topic setting's default.
std::optional<std::string> topic_default(const ConfigDefinition& topic_setting, const StaticConfig& config);

}  // namespace barnabas::metadata
