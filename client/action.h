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
#include "command/output.h"
#include "command/positive_number.h"

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
  /// Reads those arguments that the model takes as mere text, before anything connects. An error means that
  /// the command line makes no sense.
  virtual Result<void> read_arguments() { return {}; }
  /// An error is one line with cause and remedy: of the cluster, for the arguments are read.
  virtual Result<Answer> run(Cluster& cluster) = 0;
};

using command::complain;
using command::finish_output;

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
