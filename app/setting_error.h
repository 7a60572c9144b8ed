#pragma once

#include <string_view>

#include "base/result.h"
#include "metadata/static_config.h"

namespace barnabas::app {

/// Why a start with this value of a setting is refused: where it was set, unless it is the default, name and
/// value.
std::unexpected<Error> setting_error(ErrorKind kind, const metadata::StaticConfig& config,
                                     std::string_view name, std::string_view why);

}  // namespace barnabas::app
