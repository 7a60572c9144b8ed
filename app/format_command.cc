#include "app/format_command.h"

#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <string>
#include <vector>

#include "app/configuration.h"
#include "app/directories.h"
#include "app/listeners.h"
#include "app/scram_argument.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "cluster/format.h"
#include "io/posix_disk.h"
#include "storage/log_directories.h"

namespace barnabas::app {
namespace {

Result<metadata::StaticConfig> configuration_of(const FormatArguments& arguments) {
  ConfigurationSources sources;
  sources.file = arguments.config;
  BARNABAS_ASSIGN(sources.file_text, read_settings_file(arguments.config));
  sources.environment = settings_of_environment(environ);
  return load_configuration(sources);
}

/// The endpoint of the controller that the listeners name, as a broker of these settings writes it down.
Result<metadata::BrokerEndpoint> controller_endpoint(const metadata::StaticConfig& config) {
  BARNABAS_ASSIGN(const Listeners listeners, parse_listeners(config));
  if (!listeners.controller) return cluster::FormatOptions{}.controller_endpoint;
  const auto& at = *listeners.controller;
  return metadata::BrokerEndpoint{at.listener, at.host, at.port, at.security_protocol};
}

Result<void> format(const FormatArguments& arguments, std::ostream& out) {
  BARNABAS_ASSIGN(const metadata::StaticConfig config, configuration_of(arguments));
  const bool has_voters = !config.text("controller.quorum.voters").empty();
  if (arguments.standalone && has_voters)
    return fail(
        ErrorKind::invalid,
        "--standalone: controller.quorum.voters is set, which names the quorum; take one of them away");
  cluster::FormatOptions first;
  for (const std::string& argument : arguments.scram) {
    BARNABAS_ASSIGN(auto credential, parse_scram_argument(argument));
    const auto same = [&](const auto& other) { return other.key == credential.key; };
    if (std::ranges::any_of(first.credentials, same))
      return fail(ErrorKind::invalid,
                  "--add-scram: " + credential.key.user + " stands twice with one mechanism");
    first.credentials.push_back(std::move(credential));
  }
  first.node_id = node_of(config);
  first.static_quorum = has_voters;
  BARNABAS_ASSIGN(first.controller_endpoint, controller_endpoint(config));

  storage::FormatLogDirectoriesOptions options;
  options.paths = log_paths(config);
  first.log_directory = metadata_path(config, options.paths);
  options.paths.push_back(first.log_directory);
  options.node_id = first.node_id;
  options.cluster_id = *arguments.cluster_id;
  options.ignore_formatted = arguments.ignore_formatted;
  io::PosixDisk disk;
  bool metadata_made = false;
  options.fill = [&](const std::string& path, const Uuid& directory_id) -> Result<void> {
    if (path != first.log_directory) return {};
    first.directory_id = directory_id;
    metadata_made = true;
    return cluster::format_metadata_log(disk, first, wall_clock_now());
  };
  BARNABAS_ASSIGN(const auto made, storage::format_log_directories(disk, options));
  for (const std::string& path : made)
    out << "Formatted " << (path == first.log_directory ? "metadata" : "data") << " directory " << path
        << "\n";
  if (made.empty()) out << "All of the log directories are already formatted.\n";
  if (!metadata_made && !first.credentials.empty())
    return fail(ErrorKind::already_exists,
                first.log_directory +
                    ": is formatted already, so no user was added; use kafka-configs.sh --alter "
                    "--entity-type users on the running broker");
  return {};
}

}  // namespace

void FormatCommand::declare(CLI::App& app) {
  app.add_option("-c,--config", arguments_.config, "server.properties, with Kafka's names")
      ->required()
      ->type_name("FILE");
  app.add_option("-t,--cluster-id", arguments_.cluster_id,
                 "the id of the cluster, as random-uuid prints one; a new one when it is not given")
      ->type_name("ID");
  app.add_option("-S,--add-scram", arguments_.scram,
                 "a user, repeatable: 'SCRAM-SHA-256=[name=alice,password=alice-secret]' or "
                 "'SCRAM-SHA-512=[name=alice,iterations=8192,salt=\"N3E=\",saltedpassword=\"YCE=\"]'")
      ->type_name("USER")
      ->allow_extra_args(false);
  app.add_flag("-g,--ignore-formatted", arguments_.ignore_formatted, "leave alone what is formatted already");
  app.add_flag("-s,--standalone", arguments_.standalone,
               "this node is the whole quorum; so it is anyway, unless controller.quorum.voters says so");
  app.footer(
      "Example: barnabas format -c server.properties -S 'SCRAM-SHA-512=[name=alice,password=alice-secret]'");
}

int FormatCommand::run(std::ostream& out, std::ostream& errors) {
  if (!arguments_.cluster_id) arguments_.cluster_id = Uuid::random().to_string();
  if (!is_cluster_id(*arguments_.cluster_id)) {
    errors << "barnabas format: --cluster-id: expected " << cluster_id_rule << "\n";
    return 2;
  }
  if (const auto done = format(arguments_, out); !done) {
    errors << "barnabas format: " << done.error().message << "\n";
    return 1;
  }
  return 0;
}

}  // namespace barnabas::app
