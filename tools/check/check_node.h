#pragma once

#include <string>
#include <vector>

#include "io/disk.h"
#include "tools/check/findings.h"

namespace barnabas::tools {

struct NodeCheckOptions {
  std::vector<std::string> directories;  ///< log.dirs, and metadata.log.dir
  bool contents = true;
};

/// Checks log directories of one node and what lies in them. The caller holds their locks.
void check_node(io::Disk& disk, const NodeCheckOptions& options, Findings& findings);

}  // namespace barnabas::tools
