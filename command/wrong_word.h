#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace barnabas::command {

/// That of `known` which `word` is most likely a mistyped form of; nothing where none is near.
std::optional<std::string> near_word(std::string_view word, const std::vector<std::string>& known);

/// The complaint about a word that is no command below `model`: "no command topic crate; did you mean
/// create?".
std::string no_command(const CLI::App& model, const std::string& word);

/// The complaint about what stands where a command of `model` must be named; nothing where all is well.
/// `words` are without the program's name. The first may also be a file: it is one if it is there, or has a
/// "/" or "." in it.
std::optional<std::string> wrong_word(const CLI::App& model, std::span<const char* const> words);

}  // namespace barnabas::command
