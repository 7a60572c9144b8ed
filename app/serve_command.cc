#include "app/serve_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdio>
#include <ostream>

#include "app/broker_process.h"
#include "app/configuration.h"
#include "app/signals.h"
#include "app/version.h"
#include "base/log.h"
#include "base/log_format.h"

namespace barnabas::app {
namespace {

constinit Logger log_{"barnabas"};

Result<metadata::StaticConfig> configure(const std::string& settings_file,
                                         const std::vector<std::string>& overrides) {
  ConfigurationSources sources;
  sources.file = settings_file;
  if (!sources.file.empty()) {
    BARNABAS_ASSIGN(sources.file_text, read_settings_file(sources.file));
  }
  sources.environment = settings_of_environment(environ);
  sources.overrides = overrides;
  return load_configuration(sources);
}

void say_hello(const BrokerProcess& broker, const std::string& settings_file) {
  log_.info("barnabas {} cluster={}", version, broker.cluster_id());
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

}  // namespace

void ServeCommand::declare(CLI::App& app) {
  app.add_option(
         "settings", settings_file_,
         "server.properties, with Kafka's names; without it: one node on 127.0.0.1:9092, data in ./data")
      ->type_name("FILE");
  app.add_option("--override", overrides_, "a setting that wins over file and environment; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.footer(
      "Environment: KAFKA_LOG_DIRS=… sets log.dirs and so on (_ for ., __ for _, ___ for -).\n"
      "Example: barnabas server.properties --override log.dirs=/var/lib/barnabas");
}

int ServeCommand::run(std::ostream&, std::ostream& errors) {
  const auto complain = [&](const Error& error) {
    errors << "barnabas: " << error.message << "\n";
    return 1;
  };
  auto config = configure(settings_file_, overrides_);
  if (!config) return complain(config.error());
  if (config->text("logger.format") == "json") set_log_format(LogFormat::json);
  for (const std::string& line : config->without_effect()) log_.warn("{}", line);
  Signals signals;
  auto broker = BrokerProcess::start(std::move(*config));
  if (!broker) return complain(broker.error());
  signals.serving([&] { (*broker)->hurry(); });
  say_hello(**broker, settings_file_);

  log_.info("stopping signal={}", signals.wait());
  const bool clean = (*broker)->stop(std::chrono::seconds(30));
  signals.stopped();
  log_.info("stopped clean={}", clean);
  return clean ? 0 : 1;
}

}  // namespace barnabas::app
