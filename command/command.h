#pragma once

#include <iosfwd>
#include <string>

namespace CLI {
class App;
}

namespace barnabas::command {

/// One command of the binary: what it takes, and what it does. Not thread-safe; declared and run at most
/// once.
class Command {
 public:
  Command() = default;
  Command(const Command&) = delete;
  Command& operator=(const Command&) = delete;
  virtual ~Command() = default;

  /// The word that chooses it: "dump".
  virtual std::string name() const = 0;
  /// A phrase for lists: "print files of a data directory, and check them".
  virtual std::string summary() const = 0;
  /// Adds options, arguments, commands below it and a footer with an example. Values are bound to members:
  /// this object outlives `app`.
  virtual void declare(CLI::App& app) = 0;
  /// After `app` has parsed the command line. Returns the exit code: 0 done, 1 it could not be done or
  /// something is wrong (and `errors` says what), 2 the command line makes no sense.
  virtual int run(std::ostream& out, std::ostream& errors) = 0;
};

}  // namespace barnabas::command
