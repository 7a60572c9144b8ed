#include <iostream>
#include <memory>
#include <span>
#include <string>

#include "app/doctor/doctor_command.h"
#include "app/format_command.h"
#include "app/healthcheck_command.h"
#include "app/random_uuid_command.h"
#include "app/serve_command.h"
#include "app/version.h"
#include "client/commands/commands.h"
#include "command/command_line.h"
#include "command/model_commands.h"
#include "tools/check/check.h"
#include "tools/dump/dump.h"

int main(int count, char** arguments) {
  using namespace barnabas;
  const std::string version =
      std::string("barnabas ") + app::version + " (Apache Kafka protocol " + app::kafka_version + ")";
  command::CommandLine line("barnabas", version, std::make_unique<app::ServeCommand>());
  line.add(std::make_unique<app::FormatCommand>());
  line.add(std::make_unique<app::HealthcheckCommand>());
  line.add(std::make_unique<app::RandomUuidCommand>());
  line.add(std::make_unique<tools::CheckCommand>());
  line.add(std::make_unique<tools::DumpCommand>());
  line.add(std::make_unique<app::DoctorCommand>());
  line.add(client::produce_command());
  line.add(client::consume_command());
  line.add(client::topic_command());
  line.add(client::group_command());
  line.add(client::config_command());
  line.add(client::acl_command());
  line.add(client::user_command());
  line.add(client::quota_command());
  line.add(client::cluster_command());
  line.add(client::log_command());
  line.add(std::make_unique<command::HelpCommand>(line.model()));
  line.add(std::make_unique<command::CompletionCommand>(line.model()));
  line.add(std::make_unique<command::ManualCommand>(line.model(), std::string("barnabas ") + app::version));
  return line.run({arguments, static_cast<std::size_t>(count)}, std::cout, std::cerr);
}
