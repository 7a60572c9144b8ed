#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "app/environment.h"
#include "base/properties.h"
#include "base/result.h"
#include "metadata/static_config.h"

namespace barnabas::app {

/// Where the broker's settings come from, in rising order of precedence.
struct ConfigurationSources {
  std::string file;       ///< path; empty: the embedded default
  std::string file_text;  ///< its content; ignored when `file` is empty
  std::vector<EnvironmentSetting> environment;
  std::vector<std::string> overrides;  ///< "name=value"
};

/// The content of a settings file.
Result<std::string> read_settings_file(const std::string& path);

/// What it says, line by line.
Result<std::vector<Property>> parse_settings(std::string_view text);

/// Merges and checks them. A variable that stands for no setting is ignored, and told of: a sentence in
/// `ignored`, or a warning in the log. Errors name file and line (or variable, or --override), setting, value
/// and what is allowed.
Result<metadata::StaticConfig> load_configuration(const ConfigurationSources& sources,
                                                  std::vector<std::string>* ignored = nullptr);

/// What a broker without a settings file runs on: one node with both roles on loopback, data in ./data.
std::string_view embedded_configuration();

}  // namespace barnabas::app
