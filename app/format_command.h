#pragma once

#include <ostream>
#include <span>

namespace barnabas::app {

/// `barnabas format`: makes log directories for a new cluster of one node, with users if wanted, as
/// `kafka-storage.sh format` does and with its options. Gives the exit code: 0 done, 1 refused, 2 a bad
/// command line.
int format_main(std::span<const char* const> arguments, std::ostream& out, std::ostream& err);

}  // namespace barnabas::app
