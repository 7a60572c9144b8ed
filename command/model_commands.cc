#include "command/model_commands.h"

#include <CLI/CLI.hpp>
#include <ostream>

#include "command/manual_page.h"
#include "command/output.h"
#include "command/shell_completion.h"
#include "command/wrong_word.h"

namespace barnabas::command {

void CompletionCommand::declare(CLI::App& app) {
  app.add_option("shell", shell_, "the shell")->required()->check(CLI::IsMember({"bash", "zsh", "fish"}));
  app.footer("Example: source <(barnabas completion bash)");
}

int CompletionCommand::run(std::ostream& out, std::ostream&) {
  if (shell_ == "bash")
    out << bash_completion(model_);
  else if (shell_ == "zsh")
    out << zsh_completion(model_);
  else
    out << fish_completion(model_);
  return 0;
}

void HelpCommand::declare(CLI::App& app) {
  app.add_option("command", words_, "the command: topic, or topic create");
  app.footer("Example: barnabas help topic create");
}

int HelpCommand::run(std::ostream& out, std::ostream& errors) {
  const CLI::App* command = &model_;
  std::string place;
  for (const std::string& word : words_) {
    const auto found =
        command->get_subcommands([&](const CLI::App* each) { return each->get_name() == word; });
    place += (place.empty() ? "" : " ") + command->get_name();
    if (found.empty()) {
      complain(errors, no_command(*command, word));
      return 2;
    }
    command = found.front();
  }
  // Not the model's own help(), which shows the command that was parsed: this one.
  const std::string name = (place.empty() ? "" : place + " ") + command->get_name();
  out << model_.get_formatter()->make_help(command, name, CLI::AppFormatMode::Normal);
  return 0;
}

void ManualCommand::declare(CLI::App& app) {
  app.group("");
  app.footer("Example: barnabas manual | man -l -");
}

int ManualCommand::run(std::ostream& out, std::ostream&) {
  out << manual_page(model_, version_);
  return 0;
}

}  // namespace barnabas::command
