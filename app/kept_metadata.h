#pragma once

#include <string>

#include "metadata/image.h"

namespace barnabas::app {

/// What the metadata log holds and this version carries on without acting upon it, for one line at start:
/// "access control entries: 2". Empty when there is nothing of the kind.
std::string describe_kept(const metadata::MetadataImage& image);

}  // namespace barnabas::app
