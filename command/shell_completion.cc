#include "command/shell_completion.h"

#include <string_view>
#include <vector>

#include "command/model_walk.h"

namespace barnabas::command {
namespace {

/// In single quotes of bash and zsh, with what `escape` names behind a backslash.
std::string shell_quoted(std::string_view text, std::string_view escape = {}) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'') {
      result += "'\\''";
      continue;
    }
    if (escape.contains(c)) result += '\\';
    result += c;
  }
  return result + "'";
}

std::string fish_quoted(std::string_view text) {
  std::string result = "'";
  for (const char c : text) {
    if (c == '\'' || c == '\\') result += '\\';
    result += c;
  }
  return result + "'";
}

std::string first_line(const std::string& text) {
  return text.substr(0, text.find('\n'));
}

std::string joined(const std::vector<std::string>& words) {
  std::string result;
  for (const std::string& word : words) result += (result.empty() ? "" : " ") + word;
  return result;
}

/// The patterns "program command" of a `case`, each of which leads one word deeper.
std::string ways_down(const CLI::App& model) {
  std::string patterns;
  for_each_command(model, [&](const std::string& words, const CLI::App& command) {
    if (&command != &model) patterns += (patterns.empty() ? "" : " | ") + shell_quoted(words);
  });
  return patterns.empty() ? "''" : patterns;
}

/// One `case` entry for each option with a value: `of_words` says what to do for a set, `otherwise` for the
/// rest.
template <class OfWords>
std::string value_cases(const CLI::App& model, OfWords of_words, const std::string& otherwise) {
  std::string cases;
  for_each_command(model, [&](const std::string& place, const CLI::App& command) {
    for (const CLI::Option* option : shown_options(command)) {
      if (!takes_value(*option)) continue;
      std::string patterns;
      for (const std::string& name : names_of(*option))
        patterns += (patterns.empty() ? "" : " | ") + shell_quoted(place + " " + name);
      const auto choices = choices_of(*option);
      cases += "    " + patterns + ") " + (choices.empty() ? otherwise : of_words(choices)) + "; return ;;\n";
    }
  });
  return cases;
}

std::vector<std::string> words_at(const CLI::App& command) {
  std::vector<std::string> words;
  for (const CLI::App* below : shown_commands(command)) words.push_back(below->get_name());
  for (const CLI::Option* argument : shown_arguments(command))
    for (std::string& choice : choices_of(*argument)) words.push_back(std::move(choice));
  for (const CLI::Option* option : shown_options(command))
    for (std::string& name : names_of(*option)) words.push_back(std::move(name));
  return words;
}

}  // namespace

std::string bash_completion(const CLI::App& model) {
  const std::string name = model.get_name();
  std::string script = "# bash completion of " + name + "; made by: " + name + " completion bash\n_" + name +
                       "() {\n"
                       "  local current=${COMP_WORDS[COMP_CWORD]} place=" +
                       name +
                       " words= i\n"
                       "  COMPREPLY=()\n"
                       "  for ((i = 1; i < COMP_CWORD; i++)); do\n"
                       "    case \"$place ${COMP_WORDS[i]}\" in\n"
                       "      " +
                       ways_down(model) +
                       ") place=\"$place ${COMP_WORDS[i]}\" ;;\n"
                       "    esac\n"
                       "  done\n"
                       "  case \"$place ${COMP_WORDS[COMP_CWORD - 1]}\" in\n";
  script += value_cases(
      model,
      [](const auto& choices) {
        return "COMPREPLY=($(compgen -W " + shell_quoted(joined(choices)) + " -- \"$current\"))";
      },
      "COMPREPLY=()");
  script += "  esac\n  case $place in\n";
  for_each_command(model, [&](const std::string& place, const CLI::App& command) {
    script += "    " + shell_quoted(place) + ") words=" + shell_quoted(joined(words_at(command))) + " ;;\n";
  });
  // Where nothing of ours fits, bash completes file names.
  script += "  esac\n  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n}\ncomplete -o default -F _" +
            name + " " + name + "\n";
  return script;
}

std::string zsh_completion(const CLI::App& model) {
  const std::string name = model.get_name();
  std::string script = "#compdef " + name + "\n# made by: " + name + " completion zsh\n_" + name +
                       "() {\n"
                       "  local place=" +
                       name +
                       " i\n"
                       "  local -a commands options\n"
                       "  for ((i = 2; i < CURRENT; i++)); do\n"
                       "    case \"$place ${words[i]}\" in\n"
                       "      " +
                       ways_down(model) +
                       ") place=\"$place ${words[i]}\" ;;\n"
                       "    esac\n"
                       "  done\n"
                       "  case \"$place ${words[CURRENT-1]}\" in\n";
  script += value_cases(
      model, [](const auto& choices) { return "compadd -- " + joined(choices); }, "_files");
  script += "  esac\n  case $place in\n";
  for_each_command(model, [&](const std::string& place, const CLI::App& command) {
    script += "    " + shell_quoted(place) + ")\n      commands=(";
    for (const CLI::App* below : shown_commands(command))
      script += "\n        " + shell_quoted(below->get_name() + ":" + first_line(below->get_description()));
    for (const CLI::Option* argument : shown_arguments(command))
      for (const std::string& choice : choices_of(*argument)) script += "\n        " + shell_quoted(choice);
    script += ")\n      options=(";
    for (const CLI::Option* option : shown_options(command))
      for (const std::string& of_option : names_of(*option))
        script += "\n        " + shell_quoted(of_option + ":" + first_line(option->get_description()));
    script += ") ;;\n";
  });
  script +=
      "  esac\n"
      "  if [[ ${words[CURRENT]} == -* ]]; then\n"
      "    _describe -o option options\n"
      "  else\n"
      "    (( $#commands )) && _describe -t commands command commands\n"
      "    _files\n"
      "  fi\n"
      "}\n"
      // Sourced, or found by its name on the way of functions.
      "if [[ ${funcstack[1]-} == _" +
      name + " ]]; then\n  _" + name + " \"$@\"\nelse\n  compdef _" + name + " " + name + "\nfi\n";
  return script;
}

std::string fish_completion(const CLI::App& model) {
  const std::string name = model.get_name();
  std::string script = "# fish completion of " + name + "; made by: " + name +
                       " completion fish\nfunction __" + name +
                       "_at\n"
                       "  set -l place " +
                       name +
                       "\n"
                       "  for word in (commandline -opc)[2..-1]\n"
                       "    switch \"$place $word\"\n"
                       "      case ";
  for_each_command(model, [&](const std::string& words, const CLI::App& command) {
    if (&command != &model) script += fish_quoted(words) + " ";
  });
  script += "''\n        set place \"$place $word\"\n    end\n  end\n  test \"$place\" = \"$argv\"\nend\n";
  for_each_command(model, [&](const std::string& place, const CLI::App& command) {
    const std::string here = "complete -c " + name + " -n " + fish_quoted("__" + name + "_at " + place);
    for (const CLI::App* below : shown_commands(command))
      script += here + " -a " + below->get_name() + " -d " +
                fish_quoted(first_line(below->get_description())) + "\n";
    for (const CLI::Option* argument : shown_arguments(command))
      if (const auto choices = choices_of(*argument); !choices.empty())
        script += here + " -x -a " + fish_quoted(joined(choices)) + "\n";
    for (const CLI::Option* option : shown_options(command)) {
      script += here;
      for (const std::string& letter : option->get_snames()) script += " -s " + letter;
      for (const std::string& word : option->get_lnames()) script += " -l " + word;
      const auto choices = choices_of(*option);
      if (!choices.empty())
        script += " -x -a " + fish_quoted(joined(choices));
      else if (takes_value(*option))
        script += " -r";
      script += " -d " + fish_quoted(first_line(option->get_description())) + "\n";
    }
  });
  return script;
}

}  // namespace barnabas::command
