#pragma once

#include <string>

#include "base/result.h"
#include "base/types.h"
#include "io/disk.h"

namespace barnabas::cluster {

/// Looks through the segments of the metadata log before a recovery cuts off what is torn. Every batch was
/// synced before the next one was written, so a crash can have spoilt the last one only: whole batches behind
/// a bad one, a missing segment or a log that ends below a producer snapshot mean that acknowledged changes
/// are damaged, and cutting would lose them. What lies below `from`, the end of the newest snapshot, does not
/// matter. After a clean stop nothing at all may be torn. Reads everything from there on. ErrorKind::corrupt
/// says which file, what was found, expected, and what can be done.
Result<void> find_damage(io::Disk& disk, const std::string& directory, Offset from, bool clean);

}  // namespace barnabas::cluster
