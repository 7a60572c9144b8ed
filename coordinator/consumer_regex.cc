#include "coordinator/consumer_regex.h"

#include <re2/re2.h>

#include <memory>

namespace barnabas::coordinator {
namespace {

// RE2/J also knows (?<name>…), which this RE2 spells (?P<name>…). Not inside of \Q…\E or a class: there it
// means itself, and is left alone.
std::string in_re2(std::string_view regex) {
  std::string text;
  bool in_class = false;
  bool quoted = false;
  for (std::size_t i = 0; i < regex.size(); ++i) {
    const auto rest = regex.substr(i);
    if (quoted) {
      quoted = !rest.starts_with("\\E");
    } else if (rest[0] == '\\' && rest.size() > 1) {
      quoted = rest[1] == 'Q';
      text += regex[i++];
    } else if (in_class) {
      in_class = rest[0] != ']';
    } else if (rest[0] == '[') {
      in_class = true;
      text += '[';
      // a ']' that comes first means itself
      if (rest.substr(1).starts_with("^")) text += regex[++i];
      if (i + 1 < regex.size() && regex[i + 1] == ']') text += regex[++i];
      continue;
    } else if (rest.starts_with("(?<") && !rest.starts_with("(?<=") && !rest.starts_with("(?<!")) {
      text += "(?P";
      ++i;
      continue;
    }
    text += regex[i];
  }
  return text;
}

std::unique_ptr<RE2> compiled(std::string_view regex) {
  RE2::Options options;
  options.set_log_errors(false);
  return std::make_unique<RE2>(in_re2(regex), options);
}

const char* words_of(RE2::ErrorCode error) {
  switch (error) {
    case RE2::ErrorBadEscape:
      return "invalid escape sequence";
    case RE2::ErrorBadCharClass:
    case RE2::ErrorBadCharRange:
      return "invalid character class range";
    case RE2::ErrorMissingBracket:
      return "missing closing ]";
    case RE2::ErrorMissingParen:
      return "missing closing )";
    case RE2::ErrorUnexpectedParen:
      return "regexp/syntax: internal error";  // RE2/J's word for a ')' too many
    case RE2::ErrorTrailingBackslash:
      return "trailing backslash at end of expression";
    case RE2::ErrorRepeatArgument:
      return "missing argument to repetition operator";
    case RE2::ErrorRepeatSize:
      return "invalid repeat count";
    case RE2::ErrorRepeatOp:
      return "invalid nested repetition operator";
    case RE2::ErrorBadPerlOp:
      return "invalid or unsupported Perl syntax";
    case RE2::ErrorBadUTF8:
      return "invalid UTF-8";
    case RE2::ErrorBadNamedCapture:
      return "invalid named capture";
    case RE2::ErrorPatternTooLarge:
      return "expression too large";
    default:
      return "internal error";
  }
}

}  // namespace

std::expected<void, std::string> check_regex(std::string_view regex) {
  const auto expression = compiled(regex);
  if (expression->ok()) return {};
  // RE2 calls a group that is never closed a missing parenthesis, whatever stands in it.
  return std::unexpected(std::string(words_of(expression->error_code())));
}

std::map<std::string, std::vector<std::string>> resolve_regexes(const std::set<std::string>& regexes,
                                                                const metadata::MetadataImage& image) {
  std::map<std::string, std::vector<std::string>> matched;
  for (const auto& regex : regexes) {
    auto& names = matched[regex];
    const auto expression = compiled(regex);
    if (!expression->ok()) continue;
    for (const auto& topic : image.topics_by_name)
      if (RE2::FullMatch(topic->name, *expression)) names.push_back(topic->name);
  }
  return matched;
}

}  // namespace barnabas::coordinator
