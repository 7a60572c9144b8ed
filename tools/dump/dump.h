#pragma once

#include <string>
#include <vector>

#include "command/command.h"
#include "io/disk.h"
#include "tools/dump/dump_report.h"

namespace barnabas::tools {

/// Prints and checks the file that `report` names, by its name and contents. Memory is bounded by one batch.
void dump_file(io::Disk& disk, const DumpOptions& options, DumpReport& report);

/// `barnabas dump [options] FILE…`: prints files of a data directory in readable form and checks them while
/// doing so. Nothing is ever written to the files. Memory is bounded by one batch. Exit code 1: something is
/// damaged or cannot be read, and `errors` says which file, where, what was found and what was expected.
class DumpCommand : public command::Command {
 public:
  std::string name() const override { return "dump"; }
  std::string summary() const override { return "Print files of a data directory, and check them"; }
  void declare(CLI::App& app) override;
  int run(std::ostream& out, std::ostream& errors) override;

 private:
  DumpOptions options_;
  std::vector<std::string> paths_;
  bool batches_only_ = false;
  bool no_cross_check_ = false;
};

}  // namespace barnabas::tools
