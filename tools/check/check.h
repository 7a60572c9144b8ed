#pragma once

#include <string>

#include "command/command.h"
#include "tools/check/check_node.h"

namespace barnabas::tools {

/// `barnabas check DIR…`: verifies the log directories of a node that no broker is running on, each for
/// itself and against one another and the metadata log. Nothing is written. Memory is bounded by one batch
/// and the metadata image. Exit code 0: all is well (notes may be printed); 1: something is damaged, missing,
/// contradictory or in use, and `out` says which file, what was found and what was expected.
class CheckCommand : public command::Command {
 public:
  std::string name() const override { return "check"; }
  std::string summary() const override { return "Verify the log directories of a stopped broker"; }
  void declare(CLI::App& app) override;
  int run(std::ostream& out, std::ostream& errors) override;

 private:
  NodeCheckOptions options_;
  bool quick_ = false;
};

}  // namespace barnabas::tools
