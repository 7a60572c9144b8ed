#pragma once

#include <optional>

#include "base/types.h"
#include "io/disk.h"
#include "tools/dump/dump_report.h"
#include "tools/dump/record_decoder.h"

namespace barnabas::tools {

/// Record batches one behind the other: a log segment, or a snapshot of the metadata. Every batch and record
/// is checked. `first_offset` is what the file's name says, when it says something.
void dump_batches(io::File& file, std::optional<Offset> first_offset, RecordContents contents,
                  const DumpOptions& options, DumpReport& report);

}  // namespace barnabas::tools
