#pragma once

#include <memory>

#include "security/gss_context.h"
#include "security/kerberos_name.h"
#include "security/sasl_mechanism.h"

namespace barnabas::security {

/// GSSAPI as one listener serves it: the key of a principal, and the rules that make local names.
class KerberosMechanism final : public SaslMechanism {
 public:
  KerberosMechanism(KerberosRules rules, std::unique_ptr<GssAcceptor> acceptor)
      : rules_(std::move(rules)), acceptor_(std::move(acceptor)) {}
  std::unique_ptr<SaslExchange> begin() const override;

 private:
  KerberosRules rules_;
  std::unique_ptr<GssAcceptor> acceptor_;
};

/// ErrorKind::invalid when a setting is missing or wrong, the key table has no key of the principal, or MIT
/// Kerberos is not installed.
Result<std::unique_ptr<SaslMechanism>> make_kerberos_mechanism(const MechanismSettings& settings,
                                                               const SaslSources& sources);

}  // namespace barnabas::security
