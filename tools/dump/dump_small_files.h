#pragma once

#include <string_view>

#include "base/types.h"
#include "tools/dump/dump_report.h"

namespace barnabas::tools {

/// Files that are read as a whole, by their contents.
void dump_producer_snapshot(ByteView content, DumpReport& report);
void dump_offset_checkpoint(std::string_view content, DumpReport& report);
void dump_leader_epochs(std::string_view content, DumpReport& report);
void dump_partition_metadata(std::string_view content, DumpReport& report);
void dump_meta_properties(std::string_view content, DumpReport& report);
void dump_clean_shutdown(std::string_view content, DumpReport& report);
void dump_quorum_state(std::string_view content, DumpReport& report);

}  // namespace barnabas::tools
