#include "security/principal_mapping.h"

#include <locale.h>
#include <re2/re2.h>
#include <wctype.h>

#include <cctype>
#include <utility>

#include "base/text.h"

namespace barnabas::security {
namespace {

/// Memory for one compiled pattern.
constexpr int64_t pattern_memory_max = 1 << 20;
constexpr std::size_t rules_bytes_max = 64 << 10;

/// Kafka's own expressions: what a rule is, and how a list is cut into rules.
constexpr const char* rule_pattern = R"((DEFAULT)|RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?).*?|(.*?))";

std::unexpected<Error> refuse(std::string text) {
  return fail(ErrorKind::invalid, std::move(text));
}

RE2::Options quiet() {
  RE2::Options options;
  options.set_log_errors(false);
  options.set_max_mem(pattern_memory_max);
  return options;
}

std::vector<std::string> split_rules(std::string_view rules) {
  const RE2 splitter(std::string(R"(\s*()") + rule_pattern + R"()\s*(,\s*|$))", quiet());
  std::vector<std::string> result;
  re2::StringPiece whole[2];
  const re2::StringPiece text(rules.data(), rules.size());
  for (std::size_t at = 0; at <= rules.size();) {
    if (!splitter.Match(text, at, rules.size(), RE2::UNANCHORED, whole, 2)) break;
    result.emplace_back(whole[1].data(), whole[1].size());
    const auto end = static_cast<std::size_t>(whole[0].data() - rules.data()) + whole[0].size();
    at = whole[0].empty() ? end + 1 : end;
  }
  return result;
}

/// Kafka takes a reference to a group that is not there for text, unless there is no group at all.
std::string with_text_for_missing_groups(const std::string& replacement, int groups) {
  std::string result;
  for (std::size_t i = 0; i < replacement.size(); ++i) {
    const bool reference = replacement[i] == '$' && i + 1 < replacement.size() &&
                           std::isdigit(static_cast<unsigned char>(replacement[i + 1]));
    if (reference && groups > 0 && replacement[i + 1] - '0' > groups) result += '\\';
    result += replacement[i];
    if (replacement[i] == '\\' && i + 1 < replacement.size()) result += replacement[++i];
  }
  return result;
}

/// Letters of all languages, one for one.
std::string changed_letters(const std::string& text, bool lower) {
  static const locale_t unicode = ::newlocale(LC_CTYPE_MASK, "C.UTF-8", nullptr);
  std::string result;
  for (std::size_t i = 0; i < text.size();) {
    const auto first = static_cast<unsigned char>(text[i]);
    const std::size_t length = first < 0x80 ? 1 : first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
    if (length == 1) {
      result += static_cast<char>(lower ? std::tolower(first) : std::toupper(first));
    } else if (length < 4 && i + length <= text.size() && unicode != nullptr) {
      wint_t code = first & (0x7fU >> length);
      for (std::size_t k = 1; k < length; ++k)
        code = code << 6 | (static_cast<unsigned char>(text[i + k]) & 0x3f);
      code = lower ? ::towlower_l(code, unicode) : ::towupper_l(code, unicode);
      if (code >= 0x800) result += static_cast<char>(0xe0 | code >> 12);
      if (code >= 0x800) result += static_cast<char>(0x80 | (code >> 6 & 0x3f));
      if (code >= 0x80 && code < 0x800) result += static_cast<char>(0xc0 | code >> 6);
      result += code < 0x80 ? static_cast<char>(code) : static_cast<char>(0x80 | (code & 0x3f));
    } else {
      result += text.substr(i, length);
    }
    i += length;
  }
  return result;
}

}  // namespace

Result<PrincipalMapping> PrincipalMapping::parse(std::string_view rules) {
  if (rules.size() > rules_bytes_max)
    return refuse("rules of " + std::to_string(rules.size()) + " bytes, at most " +
                  std::to_string(rules_bytes_max) + " are allowed");
  PrincipalMapping mapping;
  for (const std::string& text : split_rules(trimmed(rules))) {
    if (text.empty()) continue;
    BARNABAS_ASSIGN(Rule rule, parse_rule(text));
    mapping.rules_.push_back(std::move(rule));
  }
  return mapping;
}

Result<PrincipalMapping::Rule> PrincipalMapping::parse_rule(const std::string& text) {
  if (text == "DEFAULT") return Rule{};
  static const RE2 parser(R"(RULE:((?:\\.|[^\\/])*)/((?:\\.|[^\\/])*)/([LU]?))", quiet());
  std::string pattern;
  std::string replacement;
  std::string letters;
  if (!RE2::FullMatch(text, parser, &pattern, &replacement, &letters))
    return refuse("invalid rule \"" + text +
                  "\"; expected DEFAULT or RULE:pattern/replacement/, at the end L or U");
  Rule rule;
  auto compiled = JavaRegex::compile(pattern);
  if (!compiled) return fail("invalid rule \"" + text + "\"", std::move(compiled).error());
  rule.pattern = std::make_shared<const JavaRegex>(std::move(*compiled));
  auto pieces = rule.pattern->replacement(with_text_for_missing_groups(replacement, rule.pattern->groups()));
  if (!pieces) return fail("invalid rule \"" + text + "\"", std::move(pieces).error());
  rule.replacement = std::move(*pieces);
  if (!letters.empty()) rule.letters = letters == "L" ? Letters::lower : Letters::upper;
  return rule;
}

std::optional<std::string> PrincipalMapping::name_of(const std::string& distinguished_name) const {
  for (const Rule& rule : rules_) {
    if (!rule.pattern) return distinguished_name;
    if (!rule.pattern->matches(distinguished_name)) continue;
    // As a whole it matched, but what is replaced is looked for anew and may be less: Kafka does so.
    std::string name = rule.pattern->replace(distinguished_name, rule.replacement, JavaRegex::Times::all);
    if (rule.letters == Letters::as_they_are) return name;
    return changed_letters(name, rule.letters == Letters::lower);
  }
  return std::nullopt;
}

}  // namespace barnabas::security
