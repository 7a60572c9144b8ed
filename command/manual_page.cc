#include "command/manual_page.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <string_view>

#include "command/model_walk.h"

namespace barnabas::command {
namespace {

/// As text that the formatter takes for nothing else.
std::string text(std::string_view words) {
  std::string result;
  bool line_begins = true;
  for (const char c : words) {
    if (line_begins && (c == '.' || c == '\'')) result += "\\&";
    if (c == '\\')
      result += "\\e";
    else if (c == '-')
      result += "\\-";
    else
      result += c;
    line_begins = c == '\n';
  }
  return result;
}

/// Begins with a capital letter and ends with a full stop.
std::string sentence(std::string words) {
  if (!words.empty())
    words.front() = static_cast<char>(std::toupper(static_cast<unsigned char>(words.front())));
  if (!words.empty() && !words.ends_with('.')) words += '.';
  return text(words);
}

std::string synopsis(const std::string& place, const CLI::App& command) {
  std::string line = "\\fB" + text(place) + "\\fR";
  if (!shown_options(command).empty()) line += " [\\fIOPTION\\fR]...";
  for (const CLI::Option* argument : shown_arguments(command)) {
    const std::string name = "\\fI" + text(value_name(*argument)) + "\\fR";
    line += argument->get_required() ? " " + name : " [" + name + "]";
    if (argument->get_items_expected_max() > 1) line += "...";
  }
  if (!shown_commands(command).empty())
    line += command.get_require_subcommand_min() > 0 ? " \\fICOMMAND\\fR" : "";
  return line;
}

void write_option(std::ostream& out, const CLI::Option& option) {
  out << ".TP\n";
  std::string names;
  for (const std::string& name : names_of(option))
    names += (names.empty() ? "" : ", ") + ("\\fB" + text(name) + "\\fR");
  if (names.empty())
    names = "\\fI" + text(value_name(option)) + "\\fR";
  else if (takes_value(option))
    names += " \\fI" + text(value_name(option)) + "\\fR";
  out << names << "\n" << sentence(option.get_description()) << "\n";
}

void write_options(std::ostream& out, const CLI::App& command) {
  for (const CLI::Option* argument : shown_arguments(command)) write_option(out, *argument);
  for (const CLI::Option* option : shown_options(command)) write_option(out, *option);
}

/// Examples and the like, line for line.
void write_footer(std::ostream& out, const CLI::App& command) {
  const std::string footer = command.get_footer();
  if (footer.empty()) return;
  out << ".PP\n.nf\n" << text(footer) << "\n.fi\n";
}

}  // namespace

std::string manual_page(const CLI::App& model, const std::string& version) {
  const std::string name = model.get_name();
  std::string title = name;
  std::ranges::transform(title, title.begin(), [](unsigned char c) { return std::toupper(c); });
  std::string summary = model.get_description();
  if (summary.ends_with('.')) summary.pop_back();
  std::ostringstream out;
  out << ".TH " << title << " 1 \"\" \"" << text(version) << "\" \"User Commands\"\n"
      << ".SH NAME\n"
      << text(name) << " \\- " << text(summary) << "\n"
      << ".SH SYNOPSIS\n"
      << synopsis(name, model) << "\n";
  for_each_command(model, [&](const std::string& place, const CLI::App& command) {
    if (&command != &model) out << ".br\n" << synopsis(place, command) << "\n";
  });
  out << ".SH DESCRIPTION\n" << sentence(model.get_description()) << "\n.SH OPTIONS\n";
  write_options(out, model);
  write_footer(out, model);
  out << ".SH COMMANDS\n";
  for_each_command(model, [&](const std::string& place, const CLI::App& command) {
    if (&command == &model) return;
    out << ".SS " << synopsis(place, command) << "\n" << sentence(command.get_description()) << "\n";
    write_options(out, command);
    write_footer(out, command);
  });
  out << ".SH EXIT STATUS\n"
         ".TP\n0\nDone; of a broker: stopped in order.\n"
         ".TP\n1\nIt could not be done, or something is wrong, and a line says what.\n"
         ".TP\n2\nThe command line makes no sense.\n"
         ".TP\n128 + signal\nA broker was ended before it could finish.\n";
  return out.str();
}

}  // namespace barnabas::command
