#include "app/setting_error.h"

#include <string>

namespace barnabas::app {

std::unexpected<Error> setting_error(ErrorKind kind, const metadata::StaticConfig& config,
                                     std::string_view name, std::string_view why) {
  const auto* given = config.given(name);
  const std::string origin = given == nullptr ? std::string() : given->origin + ": ";
  const auto* definition = metadata::find_broker_config(name);
  const bool is_secret = definition == nullptr || definition->type == metadata::ConfigType::password;
  const std::string value = is_secret ? "[hidden]" : given == nullptr ? config.text(name) : given->value;
  return fail(kind, origin + std::string(name) + "=" + value + ": " + std::string(why));
}

}  // namespace barnabas::app
