#pragma once

#include <iosfwd>
#include <span>

#include "io/disk.h"
#include "tools/dump/dump_report.h"

namespace barnabas::tools {

/// Prints and checks the file that `report` names, by its name and contents. Memory is bounded by one batch.
void dump_file(io::Disk& disk, const DumpOptions& options, DumpReport& report);

/// `barnabas dump [options] FILE…`: prints files of a data directory in readable form and checks them while
/// doing so. `arguments` are what follows the word "dump". Nothing is ever written to the files. Memory is
/// bounded by one batch. Returns the exit code: 0 all is well; 1 something is damaged or cannot be read, and
/// `errors` says which file, where, what was found and what was expected; 2 wrong arguments.
int dump_main(std::span<const char* const> arguments, std::ostream& out, std::ostream& errors);

}  // namespace barnabas::tools
