#pragma once

#include <iosfwd>
#include <span>

namespace barnabas::tools {

/// `barnabas check DIR…`: verifies the log directories of a node that no broker is running on, each for
/// itself and against one another and the metadata log. `arguments` are what follows the word "check".
/// Nothing is written. Memory is bounded by one batch and the metadata image. Returns the exit code: 0 all is
/// well (notes may be printed); 1 something is damaged, missing, contradictory or in use: `out` says which
/// file, what was found and what was expected; 2 wrong arguments.
int check_main(std::span<const char* const> arguments, std::ostream& out, std::ostream& errors);

}  // namespace barnabas::tools
