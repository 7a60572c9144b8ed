#include "client/action.h"

#include <csignal>
#include <ostream>

namespace barnabas::client {

Noun::Noun(std::string name, std::string summary, std::vector<std::unique_ptr<Action>> actions)
    : name_(std::move(name)), summary_(std::move(summary)), actions_(std::move(actions)) {}

void Noun::declare(CLI::App& app) {
  app.require_subcommand(1);
  std::string examples = "Examples:";
  for (const auto& action : actions_) {
    CLI::App* model = app.add_subcommand(action->name(), action->summary());
    action->declare(*model);
    options_.declare(*model);
    model->footer("Example: " + action->example());
    examples += "\n  " + action->example();
    models_.push_back(model);
  }
  app.footer(examples);
}

int Noun::run(std::ostream& out, std::ostream& errors) {
  // A broker or reader that goes away is an error of the call that notices, not the end of the process.
  std::signal(SIGPIPE, SIG_IGN);
  for (std::size_t i = 0; i < actions_.size(); ++i) {
    if (!models_[i]->parsed()) continue;
    auto settings = options_.settings(ConnectionOptions::Use::questions);
    const auto arguments = settings ? actions_[i]->read_arguments() : std::unexpected(settings.error());
    if (!arguments) {
      complain(errors, arguments.error().message);
      return 2;
    }
    auto cluster = Cluster::open(std::move(*settings));
    if (!cluster) return complain(errors, cluster.error().message);
    auto answer = actions_[i]->run(**cluster);
    if (!answer) return complain(errors, answer.error().message);
    const auto& complaints = answer->print(out, options_.format(), command::wants_colours(out));
    const int code = finish_output(out, errors);
    for (const std::string& each : answer->warnings()) complain(errors, "warning: " + each);
    for (const std::string& each : complaints) complain(errors, each);
    return complaints.empty() ? code : 1;
  }
  return 2;
}

}  // namespace barnabas::client
