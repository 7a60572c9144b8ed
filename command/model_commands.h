#pragma once

#include <string>
#include <vector>

#include "command/command.h"

/// Commands that print what is made from the model of the command line.
namespace barnabas::command {

/// `barnabas completion bash|zsh|fish`: the script for a shell.
class CompletionCommand : public Command {
 public:
  /// The model is read when the command runs.
  explicit CompletionCommand(const CLI::App& model) : model_(model) {}
  std::string name() const override { return "completion"; }
  std::string summary() const override {
    return "Print the script that makes a shell complete this command line";
  }
  void declare(CLI::App& app) override;
  int run(std::ostream& out, std::ostream& errors) override;

 private:
  const CLI::App& model_;
  std::string shell_;
};

/// `barnabas help [COMMAND…]`: what --help behind that command prints.
class HelpCommand : public Command {
 public:
  explicit HelpCommand(const CLI::App& model) : model_(model) {}
  std::string name() const override { return "help"; }
  std::string summary() const override { return "Print what a command takes, or which commands there are"; }
  void declare(CLI::App& app) override;
  int run(std::ostream& out, std::ostream& errors) override;

 private:
  const CLI::App& model_;
  std::vector<std::string> words_;
};

/// `barnabas manual`: the manual page, for man(1). For packages; not shown in help.
class ManualCommand : public Command {
 public:
  ManualCommand(const CLI::App& model, std::string version) : model_(model), version_(std::move(version)) {}
  std::string name() const override { return "manual"; }
  std::string summary() const override { return "Print the manual page"; }
  void declare(CLI::App& app) override;
  int run(std::ostream& out, std::ostream& errors) override;

 private:
  const CLI::App& model_;
  const std::string version_;
};

}  // namespace barnabas::command
