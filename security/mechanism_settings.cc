#include "security/mechanism_settings.h"

#include <algorithm>
#include <cctype>

#include "base/assert.h"
#include "metadata/config_definitions.h"
#include "metadata/dynamic_broker_config.h"

namespace barnabas::security {
namespace {

constexpr std::string_view jaas_config = "sasl.jaas.config";

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

}  // namespace

MechanismSettings::MechanismSettings(const metadata::StaticConfig& config, std::string_view listener,
                                     std::string_view mechanism)
    : config_(&config),
      listener_(lower(listener)),
      mechanism_(mechanism),
      prefix_(metadata::listener_prefix(listener)),
      mechanism_prefix_(lower(mechanism) + ".") {}

std::string MechanismSettings::full_name(std::string_view name) const {
  return prefix_ + mechanism_prefix_ + std::string(name);
}

MechanismSettings::Found MechanismSettings::found(std::string_view name) const {
  for (std::string candidate : {full_name(name), prefix_ + std::string(name), std::string(name)})
    if (const auto* entry = config_->given(candidate)) return {std::move(candidate), entry};
  return {std::string(name), nullptr};
}

std::unexpected<Error> MechanismSettings::refuse(std::string_view name, std::string_view why) const {
  const Found setting = found(name);
  const std::string place = setting.entry != nullptr ? setting.entry->origin + ": " : "";
  const std::string& shown = setting.entry != nullptr ? setting.name : full_name(name);
  return fail(ErrorKind::invalid, place + shown + ": " + std::string(why));
}

std::optional<std::string> MechanismSettings::value(std::string_view name) const {
  const metadata::ConfigDefinition* definition = metadata::find_broker_config(name);
  BARNABAS_ASSERT(definition != nullptr);
  if (const Found setting = found(name); setting.entry != nullptr) return setting.entry->value;
  if (definition->default_value == nullptr) return std::nullopt;
  return definition->default_value;
}

Result<int64_t> MechanismSettings::integer(std::string_view name) const {
  const std::string whole = text(name);
  // With a prefix nobody has checked it yet.
  if (auto valid = metadata::validate_config(*metadata::find_broker_config(name), whole); !valid)
    return refuse(name, "expected a number" +
                            (metadata::find_broker_config(name)->valid_values.empty()
                                 ? std::string()
                                 : " in " + std::string(metadata::find_broker_config(name)->valid_values)));
  const auto number = metadata::parse_integer(whole);
  if (!number) return refuse(name, "expected a number");
  return *number;
}

Result<bool> MechanismSettings::boolean(std::string_view name) const {
  const auto parsed = metadata::parse_boolean(text(name));
  if (!parsed) return refuse(name, "expected true or false");
  return *parsed;
}

std::vector<std::string> MechanismSettings::list(std::string_view name) const {
  const std::string whole = text(name);
  std::vector<std::string> items;
  for (const std::string_view item : metadata::split_list(whole)) items.emplace_back(item);
  return items;
}

Result<std::optional<LoginModule>> MechanismSettings::login_module() const {
  const auto* entry = config_->given(full_name(jaas_config));
  if (entry == nullptr) return std::nullopt;
  auto module = parse_login_module(entry->value);
  if (!module) return fail(entry->origin + ": " + full_name(jaas_config), std::move(module).error());
  return std::move(*module);
}

Result<LoginModule> MechanismSettings::login_module(std::string_view short_name) const {
  const std::string expected = "; expected " + std::string(short_name) + " required …;";
  BARNABAS_ASSIGN(auto module, login_module());
  if (!module) {
    std::string why = full_name(jaas_config) + ": not set, but listener " + listener_ + " has " + mechanism_ +
                      " in sasl.enabled.mechanisms" + expected;
    if (const auto* plain = config_->given(jaas_config))
      why += " (" + plain->origin + ": " + std::string(jaas_config) +
             " without the names of listener and mechanism in front means nothing to a broker)";
    return fail(ErrorKind::invalid, std::move(why));
  }
  if (module->short_name() != short_name)
    return refuse(jaas_config, "the login module is " + module->name + expected);
  return std::move(*module);
}

}  // namespace barnabas::security
