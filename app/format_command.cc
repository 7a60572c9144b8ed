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
#include "app/version.h"
#include "base/clock.h"
#include "base/uuid.h"
#include "cluster/format.h"
#include "cluster/local_quorum.h"
#include "io/posix_disk.h"
#include "metadata/supported_features.h"
#include "storage/log_directories.h"

namespace barnabas::app {
namespace {

/// Kafka's name for the newest metadata.version, which is the one that new clusters get.
constexpr std::string_view release_name = "4.4-IV2";
static_assert(metadata::metadata_version_max == 33);

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

bool has_voters(const metadata::StaticConfig& config) {
  return !config.text("controller.quorum.voters").empty();
}

/// What a format here begins with, "kraft.version" too, which stands with the voters and not among the
/// records.
std::vector<cluster::FeatureLevel> levels_made(const metadata::StaticConfig& config) {
  auto levels = cluster::default_feature_levels();
  levels.push_back({"kraft.version", static_cast<int16_t>(has_voters(config) ? 0 : 1)});
  return levels;
}

std::string text_of(const std::vector<cluster::FeatureLevel>& levels) {
  std::string text;
  for (const cluster::FeatureLevel& each : levels) {
    text += (text.empty() ? "" : ", ") + each.name + "=" + std::to_string(each.level);
    if (each.name == "metadata.version") text += " (" + std::string(release_name) + ")";
  }
  return text;
}

/// --release-version and --feature may say what is made anyway; other levels there are none here. Kafka's
/// words.
Result<void> check_levels(const FormatArguments& arguments, const metadata::StaticConfig& config) {
  const auto made = levels_made(config);
  const auto refuse = [&](const std::string& what) {
    return fail(ErrorKind::invalid, what + "; what is made here is " + text_of(made));
  };
  const std::string& release = arguments.release_version;
  // "4.4" and "4.4.0" are Kafka's names for the newest of its line.
  if (!release.empty() && release != release_name && release != "4.4" && release != kafka_version)
    return refuse("Unsupported metadata.version '" + release + "'");
  for (const std::string& argument : arguments.features) {
    const std::string name = argument.substr(0, argument.find('='));
    const auto found = std::ranges::find(made, name, &cluster::FeatureLevel::name);
    if (name.size() == argument.size())
      return refuse("Can't parse feature=level string " + argument + ": equals sign not found");
    if (found == made.end()) return refuse("Unsupported feature: " + name);
    if (argument.substr(name.size() + 1) != std::to_string(found->level))
      return refuse("Unsupported feature level: " + argument);
  }
  return {};
}

Result<void> format(const FormatArguments& arguments, const metadata::StaticConfig& config,
                    std::ostream& out) {
  if (arguments.standalone && has_voters(config))
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
  first.static_quorum = has_voters(config);
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
  app.add_option("-r,--release-version", arguments_.release_version,
                 "only " + std::string(release_name) + ", which is used anyway")
      ->type_name("VERSION");
  app.add_option("-f,--feature", arguments_.features,
                 "a feature's level, repeatable: only those that are used anyway, as metadata.version=" +
                     std::to_string(metadata::metadata_version_max))
      ->type_name("NAME=LEVEL")
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
  const auto complain = [&](const Error& error, int code) {
    errors << "barnabas format: " << error.message << "\n";
    return code;
  };
  const auto config = configuration_of(arguments_);
  if (!config) return complain(config.error(), 1);
  if (const auto known = check_levels(arguments_, *config); !known) return complain(known.error(), 2);
  if (const auto done = format(arguments_, *config, out); !done) return complain(done.error(), 1);
  return 0;
}

}  // namespace barnabas::app
