#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace barnabas::command {

/// Scripts that make a shell complete commands, options and values out of sets of `model`, and file names
/// where anything else is wanted. Each is sourced, or put where its shell looks for completions.
std::string bash_completion(const CLI::App& model);
std::string zsh_completion(const CLI::App& model);
std::string fish_completion(const CLI::App& model);

}  // namespace barnabas::command
