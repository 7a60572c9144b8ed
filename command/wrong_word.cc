#include "command/wrong_word.h"

#include <algorithm>
#include <filesystem>

#include "command/model_walk.h"

namespace barnabas::command {
namespace {

/// How many letters were left out, put in, changed or swapped with their neighbour.
std::size_t mistakes(std::string_view a, std::string_view b) {
  std::vector<std::vector<std::size_t>> best(a.size() + 1, std::vector<std::size_t>(b.size() + 1));
  for (std::size_t i = 0; i <= a.size(); ++i) {
    for (std::size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        best[i][j] = i + j;
        continue;
      }
      best[i][j] = std::min({best[i - 1][j] + 1, best[i][j - 1] + 1,
                             best[i - 1][j - 1] + static_cast<std::size_t>(a[i - 1] != b[j - 1])});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        best[i][j] = std::min(best[i][j], best[i - 2][j - 2] + 1);
    }
  }
  return best[a.size()][b.size()];
}

std::vector<std::string> names_below(const CLI::App& model) {
  std::vector<std::string> names;
  for (const CLI::App* command : shown_commands(model)) names.push_back(command->get_name());
  return names;
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

const CLI::App* command_below(const CLI::App& model, std::string_view name) {
  const auto all = model.get_subcommands([&](const CLI::App* each) { return each->get_name() == name; });
  return all.empty() ? nullptr : all.front();
}

bool may_be_file(std::string_view word) {
  std::error_code ignored;
  return word.empty() || word.find_first_of("/.") != word.npos || std::filesystem::exists(word, ignored);
}

/// "topic create", without the program's name.
std::string place_of(const CLI::App& model) {
  if (model.get_parent() == nullptr) return "";
  const std::string above = place_of(*model.get_parent());
  return above.empty() ? model.get_name() : above + " " + model.get_name();
}

/// What is wrong where an action of `noun` must stand.
std::optional<std::string> wrong_action(const CLI::App& noun, const std::string& word) {
  const bool is_option = word.starts_with('-');
  if (is_option ? noun.get_option_no_throw(word) != nullptr : command_below(noun, word) != nullptr)
    return std::nullopt;
  const auto bare = is_option ? word.substr(std::min(word.find_first_not_of('-'), word.size())) : word;
  if (!word.empty() && (!is_option || near_word(bare, names_below(noun)))) return no_command(noun, word);
  return place_of(noun) + ": expected one of " + joined(names_below(noun)) +
         (is_option ? ", and options behind it" : "");
}

}  // namespace

std::optional<std::string> near_word(std::string_view word, const std::vector<std::string>& known) {
  std::optional<std::string> nearest;
  // Two mistakes in a short word make any other one out of it.
  std::size_t allowed = word.size() > 4 ? 2 : 1;
  for (const std::string& each : known) {
    const std::size_t count = mistakes(word, each);
    if (count > allowed || count >= word.size()) continue;
    if (count == allowed && nearest) continue;
    nearest = each;
    allowed = count;
  }
  return nearest;
}

std::string no_command(const CLI::App& model, const std::string& word) {
  const std::string place = place_of(model);
  const std::string what = "no command " + (place.empty() ? "" : place + " ") + word;
  const auto names = names_below(model);
  const auto letters = std::min(word.find_first_not_of('-'), word.size());
  if (const auto near = near_word(word.substr(letters), names)) return what + "; did you mean " + *near + "?";
  if (place.empty()) return what + "; " + model.get_name() + " help shows those that there are";
  return what + "; there " + (names.empty() ? "are none below " + place : "are " + joined(names));
}

std::optional<std::string> wrong_word(const CLI::App& model, std::span<const char* const> words) {
  if (words.empty()) return std::nullopt;
  const std::string first = words.front();
  const CLI::App* command = command_below(model, first);
  if (command != nullptr && command->get_require_subcommand_min() > 0)
    return wrong_action(*command, words.size() > 1 ? words[1] : "");
  if (command != nullptr || first.starts_with('-') || may_be_file(first)) return std::nullopt;
  return no_command(model, first);
}

}  // namespace barnabas::command
