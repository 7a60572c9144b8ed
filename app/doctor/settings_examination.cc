#include "app/doctor/settings_examination.h"

namespace barnabas::app {
namespace {

void tell_wrong(Findings& findings, const std::string& message) {
  findings.push_back({Finding::Level::problem, "settings", message, "the broker refuses to start with it",
                      "correct or remove it; docs/settings.md has the names that are known"});
}

/// Takes what can be taken, one by one.
metadata::StaticConfig take_what_is_right(const ConfigurationSources& sources, Findings& findings) {
  metadata::StaticConfig config;
  const auto set = [&](std::string_view name, const std::string& value, std::string origin) {
    if (auto done = config.set(name, value, std::move(origin)); !done)
      tell_wrong(findings, done.error().message);
  };
  const std::string text = sources.file.empty() ? std::string(embedded_configuration()) : sources.file_text;
  const std::string place = sources.file.empty() ? "embedded default" : sources.file;
  if (auto properties = parse_settings(text)) {
    for (const Property& each : *properties)
      set(each.name, each.value, place + ":" + std::to_string(each.line));
  } else {
    tell_wrong(findings, place + ": " + properties.error().message);
  }
  for (const EnvironmentSetting& each : sources.environment)
    if (const auto done = config.set(each.name, each.value, each.variable);
        !done && done.error().kind != ErrorKind::not_found)
      tell_wrong(findings, done.error().message);
  for (const std::string& each : sources.overrides)
    if (const auto equals = each.find('='); equals != std::string::npos)
      set(each.substr(0, equals), each.substr(equals + 1), "--override");
  return config;
}

}  // namespace

metadata::StaticConfig examine_settings(const ConfigurationSources& sources, Findings& findings) {
  std::vector<std::string> ignored;
  auto loaded = load_configuration(sources, &ignored);
  for (const std::string& each : ignored)
    findings.push_back({Finding::Level::warning, "settings", each, "the variable is ignored",
                        "correct its name if it is meant for the broker"});
  if (!loaded) {
    const std::size_t before = findings.size();
    auto config = take_what_is_right(sources, findings);
    if (findings.size() == before) tell_wrong(findings, loaded.error().message);
    loaded = std::move(config);
  }
  for (const std::string& each : loaded->without_effect())
    findings.push_back({Finding::Level::warning, "settings", each, "what it asks for does not happen",
                        "remove it, or do without what it is for"});
  return std::move(*loaded);
}

}  // namespace barnabas::app
