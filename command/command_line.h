#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "command/command.h"

namespace barnabas::command {

/// The command line of the binary as a model, from which help, completion and the manual page are made as
/// well.
class CommandLine {
 public:
  /// `main` is what the binary does when no command is named; its options stand at the top. `version` is the
  /// line of --version.
  CommandLine(std::string program, std::string version, std::unique_ptr<Command> main);

  void add(std::unique_ptr<Command> command);

  /// Parses and runs one. Help, version and what is wrong with the arguments are printed here, and that `out`
  /// could not be written. `arguments` are those of main(): the program's name first.
  int run(std::span<const char* const> arguments, std::ostream& out, std::ostream& errors);

  const CLI::App& model() const { return app_; }

 private:
  int parse_and_run(std::span<const char* const> arguments, std::ostream& out, std::ostream& errors);

  std::vector<std::unique_ptr<Command>> commands_;  // they outlive the model, which writes into them
  std::unique_ptr<Command> main_;
  CLI::App app_;
  std::vector<CLI::App*> models_;  // of commands_, one for one
};

/// Parses `arguments` (without the program's name) and runs a command that stands alone, as its tests do.
int run_alone(Command& command, std::span<const char* const> arguments, std::ostream& out,
              std::ostream& errors);

}  // namespace barnabas::command
