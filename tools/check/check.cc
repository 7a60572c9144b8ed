#include "tools/check/check.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "io/posix_disk.h"
#include "tools/check/check_node.h"

namespace barnabas::tools {
namespace {

/// Locks what a broker would lock, so that nothing changes while it is looked at. A directory that no broker
/// has opened yet has no lock file, and none is made.
bool lock_all(io::Disk& disk, const std::vector<std::string>& directories,
              std::vector<std::unique_ptr<io::FileLock>>& locks, std::ostream& errors) {
  for (const std::string& directory : directories) {
    const std::string path = directory + "/.lock";
    if (!disk.exists(path).value_or(false)) continue;
    auto lock = disk.lock(path);
    if (lock) {
      locks.push_back(std::move(*lock));
    } else if (lock.error().kind == ErrorKind::already_exists) {
      errors << directory << ": in use by a running broker (" << lock.error().message << "); stop it first\n";
      return false;
    } else {
      errors << "note: " << directory << ": whether a broker runs is not known: " << lock.error().message
             << '\n';
    }
  }
  return true;
}

}  // namespace

void CheckCommand::declare(CLI::App& app) {
  app.add_option("DIR", options_.directories, "All of log.dirs, and metadata.log.dir if it is another one")
      ->required();
  app.add_flag("--quick", quick_, "Names, sizes and batch headers only: no checksums, no records");
  app.footer(
      "Nothing is written. Exit code 1: something is wrong.\n"
      "Example: barnabas check /var/lib/barnabas");
}

int CheckCommand::run(std::ostream& out, std::ostream& errors) {
  options_.contents = !quick_;
  for (std::string& directory : options_.directories) {
    directory = std::filesystem::path(directory).lexically_normal().string();
    if (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  }
  std::ranges::sort(options_.directories);
  const auto doubles = std::ranges::unique(options_.directories);
  options_.directories.erase(doubles.begin(), doubles.end());

  io::PosixDisk disk;
  std::vector<std::unique_ptr<io::FileLock>> locks;
  if (!lock_all(disk, options_.directories, locks, errors)) return 1;
  Findings findings(out);
  check_node(disk, options_, findings);
  out << fmt::format("{}: {} partitions, {} segments, {} bytes read; {} problems, {} notes\n",
                     findings.problems() == 0 ? "good" : "NOT GOOD", findings.partitions, findings.segments,
                     findings.bytes, findings.problems(), findings.notes());
  return findings.problems() == 0 ? 0 : 1;
}

}  // namespace barnabas::tools
