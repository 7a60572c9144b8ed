#include "security/kerberos_name.h"

#include <re2/re2.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "security/java_regex.h"

namespace barnabas::security {
namespace {

constexpr std::size_t name_bytes_max = 4096;

/// Pieces of a rule, as Kafka's own grammar has them: no ']' in the format, no ')' in the expression, no '/'
/// in from and to.
const re2::RE2& rule_grammar() {
  static const re2::RE2 grammar(R"(RULE:\[(\d+):([^\]]*)\](\(([^)]*)\))?(s/([^/]*)/([^/]*)/(g)?)?/?(L|U)?)",
                                re2::RE2::Quiet);
  return grammar;
}

std::unexpected<Error> bad_rule(std::string_view rule, std::string_view why) {
  return fail(ErrorKind::invalid, "rule \"" + std::string(rule.substr(0, 200)) + "\": " + std::string(why));
}

bool is_simple(std::string_view name) {
  return name.find_first_of("/@") == std::string_view::npos;
}
bool is_ascii(std::string_view name) {
  return std::ranges::all_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x80; });
}

char lower(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c + ('a' - 'A')) : c;
}
char upper(char c) {
  return c >= 'a' && c <= 'z' ? static_cast<char>(c - ('a' - 'A')) : c;
}

}  // namespace

Result<KerberosName> KerberosName::parse(std::string_view text) {
  const auto malformed = [] {
    return fail(ErrorKind::invalid, "not a Kerberos name of Kafka's: primary[/host]@REALM");
  };
  if (text.size() > name_bytes_max)
    return fail(ErrorKind::too_large, "a Kerberos name of more than 4096 bytes");
  KerberosName name;
  const std::size_t at = text.find('@');
  if (at == std::string_view::npos) {
    name.primary = text;
    return name;
  }
  if (text.find_first_of("@/", at + 1) != std::string_view::npos) return malformed();
  name.realm = text.substr(at + 1);
  const std::string_view components = text.substr(0, at);
  const std::size_t slash = components.find('/');
  name.primary = components.substr(0, slash);
  if (slash == std::string_view::npos) return name;
  name.host = components.substr(slash + 1);
  if (!is_simple(*name.host)) return malformed();
  return name;
}

std::string KerberosName::to_string() const {
  std::string text = primary;
  if (host) text += "/" + *host;
  if (realm) text += "@" + *realm;
  return text;
}

struct KerberosRules::Rule {
  struct Piece {
    std::string text{};
    std::size_t parameter = 0;
    bool is_parameter = false;
  };
  bool is_default = false;
  std::size_t components = 0;
  std::vector<Piece> format{};
  std::optional<JavaRegex> match{};
  std::optional<JavaRegex> from{};
  JavaReplacement to{};
  JavaRegex::Times times = JavaRegex::Times::first;
  char letter_case = 0;  ///< 'L', 'U' or none

  /// The name that this rule makes; nothing when it does not apply.
  std::optional<std::string> apply(const std::vector<std::string_view>& parameters,
                                   std::string_view default_realm) const;

  static Result<std::unique_ptr<const Rule>> parse(std::string_view text);
  /// "$1.$0" for `components`: a '$' stands before a number of at most that.
  static Result<std::vector<Piece>> parse_format(std::string_view text, std::size_t components);
};

Result<std::vector<KerberosRules::Rule::Piece>> KerberosRules::Rule::parse_format(std::string_view text,
                                                                                  std::size_t components) {
  std::vector<Piece> pieces;
  while (!text.empty()) {
    const std::size_t dollar = std::min(text.find('$'), text.size());
    if (dollar > 0) pieces.push_back({.text = std::string(text.substr(0, dollar))});
    text.remove_prefix(dollar);
    if (text.empty()) break;
    Piece piece{.is_parameter = true};
    const auto [end, error] = std::from_chars(text.data() + 1, text.data() + text.size(), piece.parameter);
    if (error != std::errc()) return fail(ErrorKind::invalid, "expected a number behind '$'");
    if (piece.parameter > components)
      return fail(ErrorKind::invalid,
                  "$" + std::to_string(piece.parameter) + " is above the number of components");
    text.remove_prefix(static_cast<std::size_t>(end - text.data()));
    pieces.push_back(std::move(piece));
  }
  return pieces;
}

Result<std::unique_ptr<const KerberosRules::Rule>> KerberosRules::Rule::parse(std::string_view text) {
  auto rule = std::make_unique<Rule>();
  if (text == "DEFAULT") {
    rule->is_default = true;
    return rule;
  }
  std::string number;
  std::string format;
  std::optional<std::string> match;
  std::optional<std::string> from;
  std::string to;
  std::string global;
  std::string letter_case;
  std::string in_parentheses;
  std::string substitution;
  std::string match_text;
  std::string from_text;
  if (!re2::RE2::FullMatch(re2::StringPiece(text.data(), text.size()), rule_grammar(), &number, &format,
                           &in_parentheses, &match_text, &substitution, &from_text, &to, &global,
                           &letter_case))
    return bad_rule(text, "expected DEFAULT or RULE:[n:format](regexp)s/from/to/g/L");
  if (number != "1" && number != "2") return bad_rule(text, "names have 1 or 2 components");
  rule->components = static_cast<std::size_t>(number[0] - '0');
  auto pieces = parse_format(format, rule->components);
  if (!pieces) return bad_rule(text, pieces.error().message);
  rule->format = std::move(*pieces);
  if (!in_parentheses.empty()) {
    auto regex = JavaRegex::compile(match_text);
    if (!regex) return bad_rule(text, regex.error().message);
    rule->match = std::move(*regex);
  }
  if (!substitution.empty()) {
    auto regex = JavaRegex::compile(from_text);
    if (!regex) return bad_rule(text, regex.error().message);
    auto replacement = regex->replacement(to);
    if (!replacement) return bad_rule(text, replacement.error().message);
    rule->from = std::move(*regex);
    rule->to = std::move(*replacement);
  }
  if (!global.empty()) rule->times = JavaRegex::Times::all;
  if (!letter_case.empty()) rule->letter_case = letter_case[0];
  return rule;
}

std::optional<std::string> KerberosRules::Rule::apply(const std::vector<std::string_view>& parameters,
                                                      std::string_view default_realm) const {
  if (is_default) {
    if (parameters[0] != default_realm) return std::nullopt;
    return std::string(parameters[1]);
  }
  if (parameters.size() - 1 != components) return std::nullopt;
  std::string base;
  for (const Piece& piece : format)
    base += piece.is_parameter ? parameters[piece.parameter] : std::string_view(piece.text);
  if (match && !match->matches(base)) return std::nullopt;
  if (from) base = from->replace(base, to, times);
  return base;
}

KerberosRules::KerberosRules(std::vector<std::unique_ptr<const Rule>> rules, std::string default_realm)
    : rules_(std::move(rules)), default_realm_(std::move(default_realm)) {}
KerberosRules::KerberosRules(KerberosRules&&) noexcept = default;
KerberosRules& KerberosRules::operator=(KerberosRules&&) noexcept = default;
KerberosRules::~KerberosRules() = default;

Result<KerberosRules> KerberosRules::parse(const std::vector<std::string>& rules, std::string default_realm) {
  std::vector<std::unique_ptr<const Rule>> parsed;
  for (const std::string& text : rules) {
    BARNABAS_ASSIGN(auto rule, Rule::parse(text));
    parsed.push_back(std::move(rule));
  }
  return KerberosRules(std::move(parsed), std::move(default_realm));
}

Result<std::string> KerberosRules::local_name(const KerberosName& name) const {
  if (!name.host && !name.realm) return name.primary;
  std::vector<std::string_view> parameters{name.realm ? std::string_view(*name.realm) : std::string_view(),
                                           name.primary};
  if (name.host) parameters.emplace_back(*name.host);
  for (const auto& rule : rules_) {
    auto local = rule->apply(parameters, default_realm_);
    if (!local) continue;
    if (!is_simple(*local)) return fail(ErrorKind::invalid, "the first rule that fits makes no simple name");
    if (rule->letter_case != 0 && !is_ascii(*local))
      return fail(ErrorKind::unsupported, "a rule changes the case of what is not ASCII");
    if (rule->letter_case != 0)
      std::ranges::transform(*local, local->begin(), rule->letter_case == 'L' ? lower : upper);
    return std::move(*local);
  }
  return fail(ErrorKind::not_found, "no rule fits");
}

}  // namespace barnabas::security
