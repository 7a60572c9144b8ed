#pragma once

#include <string_view>

#include "metadata/image.h"

namespace barnabas::metadata {

/// Whether a setting of such a resource has an effect in this version.
/// Names that nobody knows have none.
bool has_effect(ConfigResourceType type, std::string_view setting);

}  // namespace barnabas::metadata
