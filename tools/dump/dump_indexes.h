#pragma once

#include "base/types.h"
#include "io/disk.h"
#include "tools/dump/dump_report.h"

namespace barnabas::tools {

/// The three indexes of a segment that begins at `base`. `log` is the segment itself for a comparison; may be
/// null.
void dump_offset_index(io::File& file, Offset base, io::File* log, DumpReport& report);
void dump_time_index(io::File& file, Offset base, io::File* log, DumpReport& report);
void dump_transaction_index(io::File& file, DumpReport& report);

}  // namespace barnabas::tools
