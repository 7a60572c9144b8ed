#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "security/java_regex.h"

namespace barnabas::security {

/// ssl.principal.mapping.rules (KIP-371): what a certificate's subject is called. Rules are tried in order,
/// and the first one whose pattern matches the whole name decides. Never changes after it was made; any
/// thread.
class PrincipalMapping {
 public:
  /// "RULE:pattern/replacement/[LU]" and "DEFAULT", separated by commas, as Kafka splits them: a comma inside
  /// of a rule separates nothing. Patterns are RE2's, which takes linear time whatever a name holds; what
  /// only Java's have (looking ahead or behind, back references) is refused. So are replacements at which
  /// Java would fail only when the rule is used.
  static Result<PrincipalMapping> parse(std::string_view rules);

  /// Nothing when no rule matches: the peer is nobody then, and may not go on.
  std::optional<std::string> name_of(const std::string& distinguished_name) const;

 private:
  enum class Letters { as_they_are, lower, upper };
  struct Rule {
    std::shared_ptr<const JavaRegex> pattern;  ///< null: DEFAULT
    JavaReplacement replacement;
    Letters letters = Letters::as_they_are;
  };

  static Result<Rule> parse_rule(const std::string& text);

  std::vector<Rule> rules_;
};

}  // namespace barnabas::security
