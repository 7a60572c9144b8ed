#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace barnabas::metadata {

/// The numbers are those of DescribeConfigs answers.
enum class ConfigType : int8_t {
  boolean = 1,
  string = 2,
  int32 = 3,
  int16 = 4,
  int64 = 5,
  float64 = 6,
  list = 7,
  class_name = 8,
  password = 9,
};

enum class UpdateMode { read_only, per_broker, cluster_wide };

/// The broker-level name of a topic's setting; `multiplier` turns the broker's unit into the topic's (hours
/// to ms).
struct ConfigSynonym {
  std::string_view name;
  int64_t multiplier = 1;
};

/// One setting of Kafka 4.4, or one of our own. All text lives as long as the program.
struct ConfigDefinition {
  std::string_view name;
  ConfigType type;
  const char* default_value;      ///< as a settings file would hold it; null when there is none
  std::string_view valid_values;  ///< as Kafka words it: "[0,...]", "[a, b]", "[1,...,9] or -1"; empty: any
  UpdateMode update_mode;
  bool null_allowed;
  bool empty_list_allowed;
  bool duplicates_allowed;
  bool internal;  ///< not shown by DescribeConfigs
  bool required;
  std::span<const ConfigSynonym> synonyms;  ///< topic and group settings: broker-level names, first one wins
  const char* documentation = "";           ///< what it is for, in whole sentences
};

/// Sorted by name.
std::span<const ConfigDefinition> broker_configs();
std::span<const ConfigDefinition> topic_configs();
std::span<const ConfigDefinition> group_configs();
std::span<const ConfigDefinition> client_metrics_configs();

/// Null when no such setting exists. Also settings of our own ("log.flush.before.ack").
const ConfigDefinition* find_broker_config(std::string_view name);
const ConfigDefinition* find_topic_config(std::string_view name);
const ConfigDefinition* find_group_config(std::string_view name);
const ConfigDefinition* find_client_metrics_config(std::string_view name);

/// The name closest to `name`, for "did you mean"; empty when nothing is close.
std::string_view nearest_broker_config(std::string_view name);

/// Checks a value against type and bounds. The error (ErrorKind::invalid) says name, value and what is
/// allowed. Numbers are read as Java reads them: surrounding blanks are allowed, nothing behind them is.
Result<void> validate_config(const ConfigDefinition& definition, std::optional<std::string_view> value);

/// As validate_config for a topic's setting by name; an unknown name is an error, too. List items that are
/// there twice count once.
Result<void> validate_topic_config(std::string_view name, std::optional<std::string_view> value);

/// A valid value as Kafka shows it: numbers and words without what they may be written with (" +5" is "5",
/// "TRUE" is "true"), list items once and without blanks. What is not valid comes back as it is.
std::string canonical_config(const ConfigDefinition& definition, std::string_view value);

/// "true"/"false" in any case, surrounding blanks allowed.
std::optional<bool> parse_boolean(std::string_view text);
std::optional<int64_t> parse_integer(std::string_view text);
/// As Java's Integer.parseInt: one sign or none, then digits (of ASCII), and nothing else.
std::optional<int32_t> java_integer(std::string_view text);
/// As Java reads a double, but for NaN, infinities and hexadecimal ones, which no setting has a use for.
std::optional<double> parse_decimal(std::string_view text);
/// Elements of a comma-separated list without surrounding blanks; an empty text has none.
std::vector<std::string_view> split_list(std::string_view text);

}  // namespace barnabas::metadata
