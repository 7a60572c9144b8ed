#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace barnabas::security {

/// "primary", "primary@REALM" or "primary/host@REALM", as Kafka understands names of Kerberos. No part holds
/// a
/// '/' or an '@'.
struct KerberosName {
  std::string primary;
  std::optional<std::string> host;
  std::optional<std::string> realm;

  /// Refused: more than two components, or an '@' too many.
  static Result<KerberosName> parse(std::string_view text);

  std::string to_string() const;
  bool operator==(const KerberosName&) const = default;
};

/// sasl.kerberos.principal.to.local.rules: what a Kerberos principal is called here (auth_to_local of MIT's
/// krb5.conf, in the form that Kafka has it). Rules are tried in order:
///
///   DEFAULT                             primary, of those who are in the default realm
///   RULE:[n:format](regexp)s/from/to/g/L   for names of n components (1 or 2): `format` with $0 the realm,
///   $1 and $2
///                                       the components; must match `regexp` as a whole, if there is one;
///                                       `from` is replaced once or (g) everywhere; L or U changes the case
///
/// What a rule makes must be a simple name, without '/' and '@'; else nobody gets a name. Immutable, for any
/// thread.
class KerberosRules {
 public:
  /// Refuses a rule that Kafka refuses, and regular expressions that need more than regular languages have
  /// (RE2's).
  static Result<KerberosRules> parse(const std::vector<std::string>& rules, std::string default_realm);

  KerberosRules(KerberosRules&&) noexcept;
  KerberosRules& operator=(KerberosRules&&) noexcept;
  ~KerberosRules();

  /// The local name. A name without host and realm is one already. An error when no rule fits, or when the
  /// first that fits makes no simple name.
  Result<std::string> local_name(const KerberosName& name) const;

 private:
  struct Rule;
  KerberosRules(std::vector<std::unique_ptr<const Rule>> rules, std::string default_realm);

  std::vector<std::unique_ptr<const Rule>> rules_;
  std::string default_realm_;
};

}  // namespace barnabas::security
