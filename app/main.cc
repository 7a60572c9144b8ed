#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "app/broker_process.h"
#include "app/command_line.h"
#include "app/configuration.h"
#include "app/format_command.h"
#include "app/signals.h"
#include "app/version.h"
#include "base/log.h"
#include "tools/check/check.h"
#include "tools/dump/dump.h"

namespace {

using namespace barnabas;

constinit Logger log_{"barnabas"};

int complain(const std::string& message) {
  std::fprintf(stderr, "barnabas: %s\n", message.c_str());
  return 1;
}

Result<metadata::StaticConfig> configure(const app::CommandLine& command) {
  app::ConfigurationSources sources;
  sources.file = command.settings_file;
  if (!sources.file.empty()) {
    BARNABAS_ASSIGN(sources.file_text, app::read_settings_file(sources.file));
  }
  sources.environment = app::settings_of_environment(environ);
  sources.overrides = command.overrides;
  return app::load_configuration(sources);
}

void say_hello(const app::BrokerProcess& broker, const std::string& settings_file) {
  log_.info("barnabas {} cluster={}", app::version, broker.cluster_id());
  for (const std::string& directory : broker.log_directories()) log_.info("data in {}", directory);
  for (const std::string& address : broker.addresses()) log_.info("listening on {}", address);
  // Both lines are what container test modules and scripts wait for.
  log_.info("[BrokerLifecycleManager] The broker has been unfenced. Transitioning from RECOVERY to RUNNING.");
  log_.info("[KafkaRaftServer] Kafka Server started");
  if (settings_file.empty() && !broker.addresses().empty()) {
    const std::string& address = broker.addresses().front();
    const std::string host = address.substr(address.find("://") + 3);
    std::fprintf(stderr,
                 "\nNext, in another terminal:\n  echo hello | kcat -b %s -t greetings -P\n  kcat -b %s -t "
                 "greetings -C -e\n\n",
                 host.c_str(), host.c_str());
  }
}

int serve(const app::CommandLine& command) {
  auto config = configure(command);
  if (!config) return complain(config.error().message);
  for (const std::string& line : config->without_effect()) log_.warn("{}", line);
  app::Signals signals;
  auto broker = app::BrokerProcess::start(std::move(*config));
  if (!broker) return complain(broker.error().message);
  signals.serving([&] { (*broker)->hurry(); });
  say_hello(**broker, command.settings_file);

  log_.info("stopping signal={}", signals.wait());
  const bool clean = (*broker)->stop(std::chrono::seconds(30));
  signals.stopped();
  log_.info("stopped clean={}", clean);
  return clean ? 0 : 1;
}

using ToolMain = int(std::span<const char* const>, std::ostream&, std::ostream&);

int run_tool(ToolMain& tool, const app::CommandLine& command) {
  std::vector<const char*> arguments;
  for (const std::string& argument : command.tool_arguments) arguments.push_back(argument.c_str());
  return tool(arguments, std::cout, std::cerr);
}

}  // namespace

int main(int count, char** arguments) {
  const auto command = app::parse_command_line(count, arguments);
  switch (command.action) {
    case app::CommandLine::Action::exit:
      return command.exit_code;
    case app::CommandLine::Action::dump:
      return run_tool(tools::dump_main, command);
    case app::CommandLine::Action::check:
      return run_tool(tools::check_main, command);
    case app::CommandLine::Action::format:
      return run_tool(app::format_main, command);
    case app::CommandLine::Action::serve:
      break;
  }
  return serve(command);
}
