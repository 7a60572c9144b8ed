#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace barnabas::command {

/// The manual page of `model`, in the man macros: all commands with their options and examples. `version` is
/// for the foot of the page.
std::string manual_page(const CLI::App& model, const std::string& version);

}  // namespace barnabas::command
