#include "app/command_line.h"

#include <CLI/CLI.hpp>
#include <string_view>

#include "app/version.h"

namespace barnabas::app {

CommandLine parse_command_line(int count, const char* const* arguments) {
  CommandLine result;
  const std::string_view word = count > 1 ? arguments[1] : "";
  if (word == "dump" || word == "check" || word == "format") {
    using Action = CommandLine::Action;
    result.action = word == "dump" ? Action::dump : word == "check" ? Action::check : Action::format;
    result.tool_arguments.assign(arguments + 2, arguments + count);
    return result;
  }
  CLI::App app{"A broker that speaks the Apache Kafka protocol and keeps its data in Kafka's files."};
  app.name("barnabas");
  app.set_version_flag("--version",
                       std::string("barnabas ") + version + " (Apache Kafka protocol " + kafka_version + ")");
  app.add_option(
         "settings", result.settings_file,
         "server.properties, with Kafka's names; without it: one node on 127.0.0.1:9092, data in ./data")
      ->type_name("FILE");
  app.add_option("--override", result.overrides, "a setting that wins over file and environment; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  app.footer(
      "Also:\n  barnabas dump FILE    print a file of a data directory\n"
      "  barnabas check DIR    verify the log directories of a stopped broker\n"
      "  barnabas format …     make log directories, with users who can log in (--help)\n\n"
      "Environment: KAFKA_LOG_DIRS=… sets log.dirs and so on (_ for ., __ for _, ___ for -).\n"
      "Example: barnabas server.properties --override log.dirs=/var/lib/barnabas");
  try {
    app.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    result.action = CommandLine::Action::exit;
    result.exit_code = app.exit(error) == 0 ? 0 : 2;
  }
  return result;
}

}  // namespace barnabas::app
