#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "metadata/config_definitions.h"

namespace barnabas::metadata {

/// What the operator set at start: settings file, environment and command line, already merged and checked,
/// over Kafka's defaults. While the broker runs only take_over() changes it; copies are cheap enough for
/// start-up only. Reading is for any thread, even beside take_over(); everything else is for one.
class StaticConfig {
 public:
  struct Entry {
    std::string value;
    std::string origin;  ///< "server.properties:12", "KAFKA_LOG_DIRS", "--override"
  };
  using Entries = std::map<std::string, Entry, std::less<>>;

  StaticConfig();
  StaticConfig(const StaticConfig& other);
  StaticConfig(StaticConfig&& other) noexcept;
  StaticConfig& operator=(StaticConfig other) noexcept;
  ~StaticConfig() = default;

  /// A later call for the same name wins. Unknown names and bad values are refused with origin, name, value
  /// and what is allowed. Names with a prefix that Kafka defines for whole families ("listener.name.…") are
  /// accepted. ErrorKind::not_found for an unknown name, else ErrorKind::invalid.
  Result<void> set(std::string_view name, std::string value, std::string origin);

  /// Back to the default.
  void forget(std::string_view name);

  /// From now on `names` are as in `wanted`, set or not. A reader sees all of it or nothing, and what it was
  /// given before stays valid: each state is kept, so this is for what an operator asks for.
  void take_over(const StaticConfig& wanted, const std::vector<std::string>& names);

  /// What was set, not the default.
  const Entry* given(std::string_view name) const;
  const Entries& all_given() const { return *given_.load(std::memory_order_acquire); }

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
  Entries& own() { return *states_.back(); }

  std::vector<std::unique_ptr<Entries>>
      states_;                         ///< the last one is in force; never empty but when moved from
  std::atomic<const Entries*> given_;  ///< the last of them
};

/// Whether a broker setting has an effect in this version. The list is metadata/static_config.cc's.
bool has_effect(std::string_view broker_setting);

/// A topic's setting in force when only the broker's settings are looked at: the first broker-level name that
/// is set, in the topic's unit; else the topic setting's default.
std::optional<std::string> topic_default(const ConfigDefinition& topic_setting, const StaticConfig& config);

}  // namespace barnabas::metadata
