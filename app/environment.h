#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace barnabas::app {

struct EnvironmentSetting {
  std::string variable;  ///< KAFKA_LOG_DIRS
  std::string name;      ///< log.dirs
  std::string value;
};

/// The broker setting that a variable of the environment stands for, by the rule of Kafka's container images:
/// KAFKA_ (or KAFKA_CFG_) in front, lower case, "_" for ".", "__" for "_", "___" for "-". Nothing for other
/// variables, for those that tune a JVM or name files with secrets, for those that Kubernetes sets for a
/// service called "kafka", and for those about ZooKeeper.
std::optional<EnvironmentSetting> setting_of_variable(std::string_view variable, std::string_view value);

/// All of them in an environment as `environ` has it.
std::vector<EnvironmentSetting> settings_of_environment(const char* const* environment);

}  // namespace barnabas::app
