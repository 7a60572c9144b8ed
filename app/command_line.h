#pragma once

#include <string>
#include <vector>

namespace barnabas::app {

/// What the operator typed.
struct CommandLine {
  enum class Action { serve, dump, check, format, exit };
  Action action = Action::serve;
  int exit_code = 0;                        ///< for Action::exit
  std::string settings_file;                ///< empty: the embedded default
  std::vector<std::string> overrides;       ///< "name=value", in order
  std::vector<std::string> tool_arguments;  ///< for Action::dump, check and format
};

/// Reads the arguments that Kafka's start script takes ([server.properties] [--override name=value]…),
/// `dump`, `check` and `format`. Prints help, version or what is wrong by itself; the action is then `exit`.
CommandLine parse_command_line(int count, const char* const* arguments);

}  // namespace barnabas::app
