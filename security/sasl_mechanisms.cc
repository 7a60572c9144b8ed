#include <array>

#include "security/kerberos_mechanism.h"
#include "security/oauth_bearer_mechanism.h"
#include "security/plain_mechanism.h"
#include "security/sasl_mechanism.h"
#include "security/scram_mechanism.h"

namespace barnabas::security {
namespace {

constexpr std::array mechanisms{
    SaslMechanismEntry{"GSSAPI", &make_kerberos_mechanism},
    SaslMechanismEntry{"OAUTHBEARER", &make_oauth_bearer_mechanism},
    SaslMechanismEntry{"PLAIN", &make_plain_mechanism},
    SaslMechanismEntry{"SCRAM-SHA-256", &make_scram_mechanism},
    SaslMechanismEntry{"SCRAM-SHA-512", &make_scram_mechanism},
};

}  // namespace

std::span<const SaslMechanismEntry> sasl_mechanisms() {
  return mechanisms;
}

Result<std::unique_ptr<SaslMechanism>> make_sasl_mechanism(const MechanismSettings& settings,
                                                           const SaslSources& sources) {
  std::string names;
  for (const SaslMechanismEntry& entry : mechanisms) {
    if (entry.name == settings.mechanism()) return entry.make(settings, sources);
    names += (names.empty() ? "" : ", ") + std::string(entry.name);
  }
  return fail(ErrorKind::unsupported, "sasl.enabled.mechanisms of listener " + settings.listener() +
                                          ": no mechanism " + settings.mechanism() + "; expected some of " +
                                          names);
}

}  // namespace barnabas::security
