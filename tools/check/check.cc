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

int check_main(std::span<const char* const> arguments, std::ostream& out, std::ostream& errors) {
  NodeCheckOptions options;
  bool quick = false;
  CLI::App app(
      "Verifies the log directories of a stopped broker. Nothing is written. Exit code 1: something is "
      "wrong.",
      "barnabas check");
  app.add_option("DIR", options.directories, "All of log.dirs, and metadata.log.dir if it is another one")
      ->required();
  app.add_flag("--quick", quick, "Names, sizes and batch headers only: no checksums, no records");
  // CLI11 takes the arguments last one first.
  std::vector<std::string> reversed(arguments.rbegin(), arguments.rend());
  try {
    app.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    return app.exit(error, out, errors) == 0 ? 0 : 2;
  }
  options.contents = !quick;
  for (std::string& directory : options.directories) {
    directory = std::filesystem::path(directory).lexically_normal().string();
    if (directory.size() > 1 && directory.ends_with('/')) directory.pop_back();
  }
  std::ranges::sort(options.directories);
  const auto doubles = std::ranges::unique(options.directories);
  options.directories.erase(doubles.begin(), doubles.end());

  io::PosixDisk disk;
  std::vector<std::unique_ptr<io::FileLock>> locks;
  if (!lock_all(disk, options.directories, locks, errors)) return 1;
  Findings findings(out);
  check_node(disk, options, findings);
  out << fmt::format("{}: {} partitions, {} segments, {} bytes read; {} problems, {} notes\n",
                     findings.problems() == 0 ? "good" : "NOT GOOD", findings.partitions, findings.segments,
                     findings.bytes, findings.problems(), findings.notes());
  return findings.problems() == 0 ? 0 : 1;
}

}  // namespace barnabas::tools
