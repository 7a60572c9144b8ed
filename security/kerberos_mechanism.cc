#include "security/kerberos_mechanism.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/log.h"
#include "security/kerberos_exchange.h"

namespace barnabas::security {
namespace {

constinit Logger log_{"network"};

constexpr std::string_view jaas_name = "sasl.jaas.config";
constexpr std::string_view rules_name = "sasl.kerberos.principal.to.local.rules";
constexpr std::string_view service_name = "sasl.kerberos.service.name";

/// What Krb5LoginModule knows and a server has no use for: it takes its key from the table, asks nobody, and
/// is no client.
constexpr std::array idle_options = {
    std::string_view("clearPass"),    std::string_view("debug"),        std::string_view("doNotPrompt"),
    std::string_view("isInitiator"),  std::string_view("renewTGT"),     std::string_view("refreshKrb5Config"),
    std::string_view("storeKey"),     std::string_view("storePass"),    std::string_view("ticketCache"),
    std::string_view("tryFirstPass"), std::string_view("useFirstPass"), std::string_view("useTicketCache"),
};

struct Key {
  std::string principal;
  std::string table;
};

Result<Key> key_of(const MechanismSettings& settings) {
  BARNABAS_ASSIGN(const LoginModule module, settings.login_module("Krb5LoginModule"));
  Key key;
  std::string service;
  bool use_table = false;
  for (const auto& [name, value] : module.options) {
    if (name == "principal")
      key.principal = value;
    else if (name == "keyTab")
      key.table = value;
    else if (name == "useKeyTab")
      use_table = value == "true";
    else if (name == "serviceName")
      service = value;
    else if (std::ranges::find(idle_options, name) == idle_options.end())
      return settings.refuse(jaas_name,
                             "option " + name + " is not known; expected useKeyTab, keyTab, principal");
  }
  if (!use_table || key.principal.empty() || key.principal == "*")
    return settings.refuse(
        jaas_name, "expected useKeyTab=true keyTab=\"<file>\" principal=\"<service>/<host>@<REALM>\"");
  const std::string configured = settings.text(service_name);
  if (!service.empty() && !configured.empty() && service != configured)
    return settings.refuse(service_name,
                           "another service than serviceName of " + settings.full_name(jaas_name));
  if (service.empty()) service = configured;
  const auto name = KerberosName::parse(key.principal);
  if (!name) return settings.refuse(jaas_name, "principal: " + name.error().message);
  if (!service.empty() && service != name->primary)
    log_.warn("clients that ask for tickets of this service cannot log in setting={} value={} principal={}",
              service_name, log_text(service), log_text(key.principal));
  return key;
}

}  // namespace

std::unique_ptr<SaslExchange> KerberosMechanism::begin() const {
  return std::make_unique<KerberosExchange>(rules_, acceptor_->begin());
}

Result<std::unique_ptr<SaslMechanism>> make_kerberos_mechanism(const MechanismSettings& settings,
                                                               const SaslSources&) {
  if (settings.given("sasl.server.callback.handler.class"))
    return settings.refuse("sasl.server.callback.handler.class", "a class of Java's cannot run here");
  BARNABAS_ASSIGN(const Key key, key_of(settings));
  auto realm = default_kerberos_realm();
  if (!realm) return settings.refuse(jaas_name, realm.error().message);
  auto rules = KerberosRules::parse(settings.list(rules_name), std::move(*realm));
  if (!rules) return settings.refuse(rules_name, rules.error().message);
  auto acceptor = open_kerberos_acceptor(key.principal, key.table);
  if (!acceptor) return settings.refuse(jaas_name, acceptor.error().message);
  return std::make_unique<KerberosMechanism>(std::move(*rules), std::move(*acceptor));
}

}  // namespace barnabas::security
