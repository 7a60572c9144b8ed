#include "client/action.h"

#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <ostream>

namespace barnabas::client {

int complain(std::ostream& errors, const std::string& error) {
  std::string line = error;
  for (char& c : line)
    if (static_cast<unsigned char>(c) < 0x20) c = ' ';
  const bool colours = wants_colours(errors);
  errors << (colours ? "\x1b[31mbarnabas:\x1b[0m " : "barnabas: ") << line << '\n';
  return 1;
}

int finish_output(std::ostream& out, std::ostream& errors) {
  errno = 0;
  if (out.flush()) return 0;
  const int error = errno;
  // A pipe that nobody reads any more says so, whichever write it was that failed.
  pollfd output{.fd = STDOUT_FILENO, .events = 0, .revents = 0};
  if (::poll(&output, 1, 0) == 1 && (output.revents & POLLERR) != 0) return 0;
  return complain(errors, std::string("the output cannot be written: ") +
                              (error != 0 ? std::strerror(error) : "it is closed or full"));
}

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
    if (!settings) {
      complain(errors, settings.error().message);
      return 2;
    }
    auto cluster = Cluster::open(std::move(*settings));
    if (!cluster) return complain(errors, cluster.error().message);
    auto answer = actions_[i]->run(**cluster);
    if (!answer) return complain(errors, answer.error().message);
    const auto& complaints = answer->print(out, options_.format(), wants_colours(out));
    if (const int code = finish_output(out, errors); code != 0) return code;
    for (const std::string& each : complaints) complain(errors, each);
    return complaints.empty() ? 0 : 1;
  }
  return 2;
}

}  // namespace barnabas::client
