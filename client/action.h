#pragma once

#include <CLI/CLI.hpp>
#include <iosfwd>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "client/answer.h"
#include "client/cluster.h"
#include "client/connection_options.h"
#include "command/command.h"

namespace barnabas::client {

/// What one word below a noun does: "list" of `barnabas topic list`.
class Action {
 public:
  virtual ~Action() = default;
  virtual std::string name() const = 0;
  virtual std::string summary() const = 0;
  /// A whole command line, without what goes for all of them.
  virtual std::string example() const = 0;
  virtual void declare(CLI::App& app) = 0;
  /// An error is one line with cause and remedy; ErrorKind::invalid of arguments too.
  virtual Result<Answer> run(Cluster& cluster) = 0;
};

/// Prints `error` as every command does: "barnabas: …" in one line. Returns 1.
int complain(std::ostream& errors, const std::string& error);
/// Looks whether all was written: 0, also when the reader has gone; 1 with a complaint otherwise.
int finish_output(std::ostream& out, std::ostream& errors);

/// A noun with its actions: connects as its options say, runs the one that was chosen, prints.
class Noun final : public command::Command {
 public:
  Noun(std::string name, std::string summary, std::vector<std::unique_ptr<Action>> actions);

  std::string name() const override { return name_; }
  std::string summary() const override { return summary_; }
  void declare(CLI::App& app) override;
  int run(std::ostream& out, std::ostream& errors) override;

 private:
  const std::string name_;
  const std::string summary_;
  std::vector<std::unique_ptr<Action>> actions_;
  std::vector<const CLI::App*> models_;  // of actions_, one for one
  ConnectionOptions options_;
};

}  // namespace barnabas::client
