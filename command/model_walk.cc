#include "command/model_walk.h"

#include <string_view>

namespace barnabas::command {
namespace {

/// CLI11 tells of a set in the type's name only: "TEXT:{bash,zsh}".
std::string_view set_in(std::string_view type) {
  const auto open = type.find('{');
  const auto close = type.find('}', open == type.npos ? 0 : open);
  return open == type.npos || close == type.npos ? std::string_view()
                                                 : type.substr(open + 1, close - open - 1);
}

void collect(const CLI::App& app, std::vector<const CLI::Option*>& found) {
  for (const CLI::Option* option : app.get_options())
    if (!option->get_group().empty()) found.push_back(option);
  for (const CLI::App* group : app.get_subcommands([](const CLI::App*) { return true; }))
    if (group->get_name().empty() && !group->get_group().empty()) collect(*group, found);
}

void visit_below(const std::string& words, const CLI::App& app,
                 const std::function<void(const std::string&, const CLI::App&)>& visit) {
  visit(words, app);
  for (const CLI::App* command : shown_commands(app))
    visit_below(words + " " + command->get_name(), *command, visit);
}

}  // namespace

std::vector<const CLI::App*> shown_commands(const CLI::App& app) {
  return app.get_subcommands(
      [](const CLI::App* command) { return !command->get_name().empty() && !command->get_group().empty(); });
}

std::vector<const CLI::Option*> shown_options(const CLI::App& app) {
  std::vector<const CLI::Option*> found;
  collect(app, found);
  std::erase_if(found, [](const CLI::Option* option) { return option->get_positional(); });
  return found;
}

std::vector<const CLI::Option*> shown_arguments(const CLI::App& app) {
  std::vector<const CLI::Option*> found;
  collect(app, found);
  std::erase_if(found, [](const CLI::Option* option) { return !option->get_positional(); });
  return found;
}

std::vector<std::string> names_of(const CLI::Option& option) {
  std::vector<std::string> names;
  for (const std::string& name : option.get_snames()) names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) names.push_back("--" + name);
  return names;
}

bool takes_value(const CLI::Option& option) {
  return option.get_items_expected_max() > 0;
}

std::string value_name(const CLI::Option& option) {
  if (const auto words = choices_of(option); !words.empty()) {
    std::string joined;
    for (const std::string& word : words) joined += (joined.empty() ? "" : "|") + word;
    return joined;
  }
  const std::string type = option.get_type_name();
  return type.substr(0, type.find(':'));
}

std::vector<std::string> choices_of(const CLI::Option& option) {
  const std::string type = option.get_type_name();
  std::vector<std::string> words;
  for (std::string_view rest = set_in(type); !rest.empty();) {
    const auto comma = rest.find(',');
    std::string_view word = rest.substr(0, comma);
    // A checked mapping: "json->0".
    word = word.substr(0, word.find("->"));
    words.emplace_back(word);
    rest.remove_prefix(comma == rest.npos ? rest.size() : comma + 1);
  }
  return words;
}

void for_each_command(const CLI::App& app,
                      const std::function<void(const std::string& words, const CLI::App& command)>& visit) {
  visit_below(app.get_name(), app, visit);
}

}  // namespace barnabas::command
