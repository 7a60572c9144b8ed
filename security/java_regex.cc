#include "security/java_regex.h"

#include <re2/re2.h>

#include <array>
#include <cstdint>
#include <utility>

namespace barnabas::security {
namespace {

constexpr int64_t memory_max = 1 << 20;
constexpr std::size_t pattern_bytes_max = 16'384;
constexpr int groups_max = 32;

bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/// Whether a class holds another one or an intersection, which RE2 takes for plain characters.
bool has_nested_class(std::string_view pattern) {
  bool in_class = false;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') {
      ++i;
    } else if (!in_class) {
      in_class = c == '[';
      // A ']' that comes first is a character of the class.
      if (in_class && pattern.substr(i + 1).starts_with('^')) ++i;
      if (in_class && pattern.substr(i + 1).starts_with(']')) ++i;
    } else if (c == ']') {
      in_class = false;
    } else if (c == '[' || pattern.substr(i).starts_with("&&")) {
      return true;
    }
  }
  return false;
}

/// The bytes of the character that begins here.
std::size_t character_bytes(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (end < text.size() && (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) ++end;
  return end - at;
}

std::unexpected<Error> bad_replacement(std::string_view text, std::string_view why) {
  return fail(ErrorKind::invalid, "replacement \"" + std::string(text) + "\": " + std::string(why));
}

/// Reads "$1" or "${name}" behind the '$' at `at`, and moves `at` to its last character.
Result<int> read_group(const re2::RE2& expression, std::string_view text, std::size_t& at) {
  const int groups = expression.NumberOfCapturingGroups();
  if (at + 1 < text.size() && is_digit(text[at + 1])) {
    int group = text[++at] - '0';
    if (group > groups) return bad_replacement(text, "no such group: $" + std::to_string(group));
    // As Java: further digits belong to the number as long as there is such a group.
    while (at + 1 < text.size() && is_digit(text[at + 1]) && group * 10 + (text[at + 1] - '0') <= groups)
      group = group * 10 + (text[++at] - '0');
    return group;
  }
  const std::size_t end = text.find('}', at);
  if (at + 1 >= text.size() || text[at + 1] != '{' || end == std::string_view::npos)
    return bad_replacement(text, "expected a group behind '$'");
  const std::string name(text.substr(at + 2, end - at - 2));
  const auto& names = expression.NamedCapturingGroups();
  const auto found = names.find(name);
  if (found == names.end()) return bad_replacement(text, "no such group: ${" + name + "}");
  at = end;
  return found->second;
}

/// Java writes (?<name>…) where RE2 of this version wants (?P<name>…).
std::string with_named_groups(std::string_view pattern) {
  std::string out;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\' && i + 1 < pattern.size()) {
      out += pattern.substr(i++, 2);
    } else if (const auto rest = pattern.substr(i);
               rest.starts_with("(?<") && !rest.starts_with("(?<=") && !rest.starts_with("(?<!")) {
      out += "(?P<";
      i += 2;
    } else {
      out += pattern[i];
    }
  }
  return out;
}

}  // namespace

JavaRegex::JavaRegex(std::unique_ptr<re2::RE2> expression) : expression_(std::move(expression)) {}
JavaRegex::JavaRegex(JavaRegex&&) noexcept = default;
JavaRegex& JavaRegex::operator=(JavaRegex&&) noexcept = default;
JavaRegex::~JavaRegex() = default;

Result<JavaRegex> JavaRegex::compile(std::string_view pattern) {
  const std::string place = "regular expression \"" + std::string(pattern.substr(0, 200)) + "\"";
  if (pattern.size() > pattern_bytes_max)
    return fail(ErrorKind::invalid, place + ": longer than 16384 bytes");
  if (has_nested_class(pattern))
    return fail(ErrorKind::unsupported, place + ": a class within a class, or an intersection of classes");
  re2::RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(memory_max);
  auto expression = std::make_unique<re2::RE2>(with_named_groups(pattern), options);
  if (!expression->ok()) return fail(ErrorKind::invalid, place + ": " + expression->error());
  if (expression->NumberOfCapturingGroups() > groups_max)
    return fail(ErrorKind::unsupported, place + ": more than 32 groups");
  return JavaRegex(std::move(expression));
}

Result<JavaReplacement> JavaRegex::replacement(std::string_view text) const {
  JavaReplacement result;
  JavaReplacement::Piece literal;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '\\') {
      if (++at == text.size()) return bad_replacement(text, "nothing behind the last backslash");
      literal.text += text[at];
    } else if (text[at] == '$') {
      BARNABAS_ASSIGN(const int group, read_group(*expression_, text, at));
      if (!literal.text.empty()) result.pieces.push_back(std::exchange(literal, {}));
      result.pieces.push_back({.group = group});
    } else {
      literal.text += text[at];
    }
  }
  if (!literal.text.empty()) result.pieces.push_back(std::move(literal));
  return result;
}

int JavaRegex::groups() const {
  return expression_->NumberOfCapturingGroups();
}

bool JavaRegex::matches(std::string_view text) const {
  return re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), *expression_);
}

std::string JavaRegex::replace(std::string_view text, const JavaReplacement& by, Times times) const {
  const re2::StringPiece subject(text.data(), text.size());
  std::array<re2::StringPiece, groups_max + 1> groups;
  const int count = expression_->NumberOfCapturingGroups() + 1;
  std::string out;
  std::size_t copied = 0;
  std::size_t from = 0;
  while (from <= text.size() &&
         expression_->Match(subject, from, text.size(), re2::RE2::UNANCHORED, groups.data(), count)) {
    const auto begin = static_cast<std::size_t>(groups[0].data() - text.data());
    const std::size_t end = begin + groups[0].size();
    out += text.substr(copied, begin - copied);
    for (const JavaReplacement::Piece& piece : by.pieces) {
      if (piece.group < 0)
        out += piece.text;
      else
        out.append(groups[static_cast<std::size_t>(piece.group)].data(),
                   groups[static_cast<std::size_t>(piece.group)].size());
    }
    copied = end;
    if (times == Times::first) break;
    from = end > begin || end == text.size() ? end + (end > begin ? 0 : 1) : end + character_bytes(text, end);
  }
  out += text.substr(copied);
  return out;
}

}  // namespace barnabas::security
