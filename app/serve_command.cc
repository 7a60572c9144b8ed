#include "app/serve_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ostream>

#include "app/broker_process.h"
#include "app/configuration.h"
#include "app/directories.h"
#include "app/secret_files.h"
#include "app/service_manager.h"
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
  // What a variable says itself goes before what it says by a file.
  BARNABAS_ASSIGN(sources.environment, settings_of_secret_files(environ, secrets_directory));
  std::ranges::copy(settings_of_environment(environ), std::back_inserter(sources.environment));
  sources.overrides = overrides;
  return load_configuration(sources);
}

void say_hello(const BrokerProcess& broker, const std::string& settings_file) {
  log_.info("barnabas {} cluster={}", version, broker.cluster_id());
  for (const std::string& directory : broker.log_directories()) log_.info("data in {}", directory);
  for (const std::string& address : broker.addresses()) log_.info("listening on {}", address);
  // These lines are what container test modules and scripts wait for.
  log_.info("[BrokerLifecycleManager] The broker has been unfenced. Transitioning from RECOVERY to RUNNING.");
  log_.info("[KafkaRaftServer] Kafka Server started");
  log_.info("[KafkaServer id={}] started", broker.node_id());
  if (const auto host = broker.plaintext_address(); settings_file.empty() && host) {
    std::fprintf(stderr,
                 "\nNext, in another terminal:\n  echo hello | kcat -b %s -t greetings -P\n  kcat -b %s -t "
                 "greetings -C -e\n\n",
                 host->c_str(), host->c_str());
  }
}

/// What container images of Kafka have to choose log4j's level with.
void follow_log_level_variable() {
  constexpr const char* variable = "KAFKA_LOG4J_ROOT_LOGLEVEL";
  const char* text = std::getenv(variable);
  if (text == nullptr || *text == '\0') return;
  std::string name(text);
  std::ranges::transform(name, name.begin(), [](unsigned char c) { return std::toupper(c); });
  const auto level = name == "OFF"   ? LogLevel::off
                     : name == "ALL" ? LogLevel::trace
                                     : log_level_from_name(name);
  if (level)
    (void)set_logger_level(root_logger, level);
  else
    log_.warn("ignored: {}={}; expected TRACE, DEBUG, INFO, WARN, ERROR, FATAL, OFF or ALL", variable,
              log_text(text));
}

/// CLUSTER_ID, which goes beside Kafka's settings in container images. Kafka takes nearly anything for one.
Result<std::string> new_cluster_id() {
  const char* text = std::getenv("CLUSTER_ID");
  if (text == nullptr) return {};
  std::string id(text);
  if (!id.empty() && !is_cluster_id(id))
    return fail(ErrorKind::invalid, "CLUSTER_ID: " + log_text(id) + ": expected " + cluster_id_rule);
  return id;
}

std::string status_of(const BrokerProcess& broker) {
  std::string status = "serving";
  for (const std::string& address : broker.addresses()) status += " " + address;
  return status;
}

/// Serves until a signal ends it; its number.
int serve(BrokerProcess& broker, Signals& signals, ServiceManager& manager,
          const std::function<Result<metadata::StaticConfig>()>& read_settings) {
  manager.ready(status_of(broker));
  // Four times as often as is asked for: a thread that gets its turn late on a busy machine does not hang.
  if (const auto watchdog = manager.watchdog()) broker.watch(*watchdog / 4, [&] { manager.alive(); });
  for (;;) {
    const int signal = signals.wait();
    if (signal != SIGHUP) return signal;
    manager.reloading();
    const auto wanted = read_settings();
    if (wanted)
      broker.reload(*wanted);
    else
      log_.error("settings cannot be read again, those before stay in force: {}", wanted.error().message);
    manager.ready(status_of(broker));
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
  follow_log_level_variable();
  const auto read_settings = [this] { return configure(settings_file_, overrides_); };
  auto config = read_settings();
  if (!config) return complain(config.error());
  if (config->text("logger.format") == "json") set_log_format(LogFormat::json);
  const auto cluster_id = new_cluster_id();
  if (!cluster_id) return complain(cluster_id.error());
  for (const std::string& line : config->without_effect()) log_.warn("{}", line);
  if (!config->boolean("log.flush.before.ack"))
    log_.info("acks=all is answered before the disk has the records, as set by {}",
              config->given("log.flush.before.ack")->origin);
  Signals signals;
  ServiceManager manager = ServiceManager::of_environment();
  auto broker = BrokerProcess::start(std::move(*config), *cluster_id);
  if (!broker) return complain(broker.error());
  signals.serving([&] { (*broker)->hurry(); });
  say_hello(**broker, settings_file_);

  const int signal = serve(**broker, signals, manager, read_settings);
  manager.stopping("stopping: answering what waits, flushing");
  log_.info("stopping signal={}", signal);
  const bool clean = (*broker)->stop(std::chrono::seconds(30));
  signals.stopped();
  log_.info("stopped clean={}", clean);
  return clean ? 0 : 1;
}

}  // namespace barnabas::app
