#include "command/model_commands.h"

#include <CLI/CLI.hpp>
#include <ostream>

#include "command/manual_page.h"
#include "command/shell_completion.h"

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

void ManualCommand::declare(CLI::App& app) {
  app.group("");
  app.footer("Example: barnabas manual | man -l -");
}

int ManualCommand::run(std::ostream& out, std::ostream&) {
  out << manual_page(model_, version_);
  return 0;
}

}  // namespace barnabas::command
