#include "command/command_line.h"

#include <algorithm>
#include <utility>

#include "command/output.h"
#include "command/wrong_word.h"

namespace barnabas::command {
namespace {

/// Prints help, version or the complaint.
int end_of(const CLI::App& app, const CLI::ParseError& error, std::ostream& out, std::ostream& errors) {
  return app.exit(error, out, errors) == 0 ? 0 : 2;
}

}  // namespace

CommandLine::CommandLine(std::string program, std::string version, std::unique_ptr<Command> main)
    : main_(std::move(main)), app_(main_->summary(), std::move(program)) {
  app_.set_version_flag("--version", std::move(version), "Print the version and exit");
  app_.require_subcommand(0, 1);
  main_->declare(app_);
}

void CommandLine::add(std::unique_ptr<Command> command) {
  CLI::App* model = app_.add_subcommand(command->name(), command->summary());
  command->declare(*model);
  commands_.push_back(std::move(command));
  models_.push_back(model);
}

int CommandLine::run(std::span<const char* const> arguments, std::ostream& out, std::ostream& errors) {
  const int code = parse_and_run(arguments, out, errors);
  const int output = finish_output(out, errors);
  return code != 0 ? code : output;
}

int CommandLine::parse_and_run(std::span<const char* const> arguments, std::ostream& out,
                               std::ostream& errors) {
  if (const auto wrong = wrong_word(app_, arguments.subspan(std::min<std::size_t>(1, arguments.size())))) {
    complain(errors, *wrong);
    return 2;
  }
  try {
    app_.parse(static_cast<int>(arguments.size()), arguments.data());
  } catch (const CLI::ParseError& error) {
    return end_of(app_, error, out, errors);
  }
  for (std::size_t i = 0; i < models_.size(); ++i) {
    if (models_[i]->parsed()) return commands_[i]->run(out, errors);
  }
  return main_->run(out, errors);
}

int run_alone(Command& command, std::span<const char* const> arguments, std::ostream& out,
              std::ostream& errors) {
  CLI::App app(command.summary(), command.name());
  command.declare(app);
  std::vector<const char*> all{"barnabas"};
  all.insert(all.end(), arguments.begin(), arguments.end());
  try {
    app.parse(static_cast<int>(all.size()), all.data());
  } catch (const CLI::ParseError& error) {
    return end_of(app, error, out, errors);
  }
  return command.run(out, errors);
}

}  // namespace barnabas::command
