#pragma once

#include <string>

#include "io/disk.h"
#include "metadata/image.h"
#include "storage/meta_properties.h"
#include "tools/check/findings.h"

namespace barnabas::tools {

/// Checks the metadata log below a log directory as any partition and replays it: the newest snapshot, then
/// every batch. `owner` is the directory's meta.properties. Returns the image, or null when the log says
/// nothing that can be relied upon; that is a problem then.
metadata::MetadataImagePtr check_metadata(io::Disk& disk, const std::string& log_directory, bool clean,
                                          const storage::MetaProperties& owner, Findings& findings);

}  // namespace barnabas::tools
