#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <string>
#include <vector>

namespace barnabas::command {

/// Commands right below `app` that are shown, in the order in which they were added.
std::vector<const CLI::App*> shown_commands(const CLI::App& app);
/// Options and flags with names, those of option groups too, in order; help first.
std::vector<const CLI::Option*> shown_options(const CLI::App& app);
/// Arguments without a name, in order.
std::vector<const CLI::Option*> shown_arguments(const CLI::App& app);

/// "-c", "--config".
std::vector<std::string> names_of(const CLI::Option& option);
bool takes_value(const CLI::Option& option);
/// What to write for its value: "FILE".
std::string value_name(const CLI::Option& option);
/// The words that are allowed, where it is one of a set; else none.
std::vector<std::string> choices_of(const CLI::Option& option);

/// Calls `visit` for `app` and every shown command below it, with the words that lead there: "barnabas topic
/// list".
void for_each_command(const CLI::App& app,
                      const std::function<void(const std::string& words, const CLI::App& command)>& visit);

}  // namespace barnabas::command
