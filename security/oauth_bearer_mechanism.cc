#include "security/oauth_bearer_mechanism.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/text.h"
#include "security/oauth_bearer_exchange.h"

namespace barnabas::security {
namespace {

constexpr std::string_view url_name = "sasl.oauthbearer.jwks.endpoint.url";
constexpr std::string_view handler_name = "sasl.server.callback.handler.class";
constexpr std::string_view validator_name = "sasl.oauthbearer.jwt.validator.class";
constexpr std::string_view jaas_name = "sasl.jaas.config";
constexpr std::string_view audience_name = "sasl.oauthbearer.expected.audience";
constexpr std::string_view issuer_name = "sasl.oauthbearer.expected.issuer";

/// Kafka's classes that check what is checked here.
constexpr std::array handlers = {
    std::string_view("org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler"),
    std::string_view(
        "org.apache.kafka.common.security.oauthbearer.secured.OAuthBearerValidatorCallbackHandler"),
};
constexpr std::array validators = {
    std::string_view("org.apache.kafka.common.security.oauthbearer.DefaultJwtValidator"),
    std::string_view("org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator"),
};

std::string trimmed_text(const MechanismSettings& settings, std::string_view name) {
  return std::string(trimmed(settings.text(name)));
}

Result<void> check_classes(const MechanismSettings& settings) {
  const std::string handler = trimmed_text(settings, handler_name);
  if (!handler.empty() && std::ranges::find(handlers, handler) == handlers.end())
    return settings.refuse(
        handler_name,
        "no class of Java's can run here; what is done is what "
        "org.apache.kafka.common.security.oauthbearer.OAuthBearerValidatorCallbackHandler does");
  const std::string validator = trimmed_text(settings, validator_name);
  if (!validator.empty() && std::ranges::find(validators, validator) == validators.end())
    return settings.refuse(validator_name,
                           "no class of Java's can run here; what is done is what "
                           "org.apache.kafka.common.security.oauthbearer.BrokerJwtValidator does");
  return {};
}

/// What Kafka reads from the JAAS entry: whom to trust for https.
Result<std::string> trusted_certificates(const MechanismSettings& settings) {
  BARNABAS_ASSIGN(const auto module, settings.login_module());
  if (!module) return std::string();
  if (module->short_name() != "OAuthBearerLoginModule")
    return settings.refuse(jaas_name, "expected OAuthBearerLoginModule required …;");
  std::string file;
  for (const auto& [name, value] : module->options) {
    if (name.starts_with("unsecuredValidator"))
      return settings.refuse(jaas_name, "option " + name +
                                            ": tokens without a signature are not accepted; set " +
                                            settings.full_name(url_name));
    if (name == "ssl.truststore.location") {
      file = value;
    } else if (name == "ssl.truststore.type" ? value != "PEM" : name.starts_with("ssl.")) {
      return settings.refuse(jaas_name,
                             "option " + name +
                                 ": for the endpoint of the keys only ssl.truststore.location, a PEM file, "
                                 "with ssl.truststore.type=PEM has an effect");
    }
  }
  if (!file.empty() && !module->option("ssl.truststore.type"))
    return settings.refuse(jaas_name,
                           "option ssl.truststore.location needs ssl.truststore.type=PEM beside it");
  return file;
}

Result<std::chrono::milliseconds> milliseconds_of(const MechanismSettings& settings, std::string_view name,
                                                  int64_t at_least) {
  BARNABAS_ASSIGN(const int64_t value, settings.integer(name));
  if (value < at_least) return settings.refuse(name, "expected at least " + std::to_string(at_least));
  return std::chrono::milliseconds(value);
}

Result<TokenKeyEndpoint> endpoint_of(const MechanismSettings& settings) {
  TokenKeyEndpoint endpoint;
  endpoint.url = trimmed_text(settings, url_name);
  if (endpoint.url.empty())
    return settings.refuse(
        url_name,
        "must be set where OAUTHBEARER is enabled: the https, http or file URL of the keys that tokens "
        "are signed with. Tokens without a signature are not accepted");
  BARNABAS_ASSIGN(endpoint.refresh,
                  milliseconds_of(settings, "sasl.oauthbearer.jwks.endpoint.refresh.ms", 1));
  BARNABAS_ASSIGN(endpoint.retry_backoff,
                  milliseconds_of(settings, "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms", 0));
  BARNABAS_ASSIGN(endpoint.retry_backoff_max,
                  milliseconds_of(settings, "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms", 0));
  BARNABAS_ASSIGN(endpoint.trusted_certificates, trusted_certificates(settings));
  return endpoint;
}

/// Kafka's demand since 4.4: to expect nothing must be said.
Result<void> check_expected(const MechanismSettings& settings, bool expected, std::string_view name,
                            std::string_view permission) {
  if (expected) return {};
  BARNABAS_ASSIGN(const bool permitted, settings.boolean(permission));
  if (permitted) return {};
  return settings.refuse(name, "must be set; or set " + std::string(permission) + "=true to accept any");
}

Result<std::string> claim_name(const MechanismSettings& settings, std::string_view name) {
  std::string claim = trimmed_text(settings, name);
  if (claim.empty()) return settings.refuse(name, "expected the name of a claim");
  return claim;
}

Result<TokenRules> rules_of(const MechanismSettings& settings) {
  TokenRules rules;
  BARNABAS_ASSIGN(const int64_t skew, settings.integer("sasl.oauthbearer.clock.skew.seconds"));
  if (skew < 0) return settings.refuse("sasl.oauthbearer.clock.skew.seconds", "expected at least 0");
  rules.clock_skew = std::chrono::seconds(skew);
  rules.audiences = settings.list(audience_name);
  std::erase(rules.audiences, "");
  if (std::string issuer = trimmed_text(settings, issuer_name); !issuer.empty())
    rules.issuer = std::move(issuer);
  BARNABAS_TRY(check_expected(settings, !rules.audiences.empty(), audience_name,
                              "sasl.oauthbearer.allow.unverified.audience"));
  BARNABAS_TRY(check_expected(settings, rules.issuer.has_value(), issuer_name,
                              "sasl.oauthbearer.allow.unverified.issuer"));
  BARNABAS_ASSIGN(rules.subject_claim, claim_name(settings, "sasl.oauthbearer.sub.claim.name"));
  BARNABAS_ASSIGN(rules.scope_claim, claim_name(settings, "sasl.oauthbearer.scope.claim.name"));
  return rules;
}

}  // namespace

std::unique_ptr<SaslExchange> OAuthBearerMechanism::begin() const {
  return std::make_unique<OAuthBearerExchange>(rules_, keys_);
}

Result<std::unique_ptr<SaslMechanism>> make_oauth_bearer_mechanism(const MechanismSettings& settings,
                                                                   const SaslSources& sources) {
  BARNABAS_TRY(check_classes(settings));
  BARNABAS_ASSIGN(const auto endpoint, endpoint_of(settings));
  BARNABAS_ASSIGN(auto rules, rules_of(settings));
  auto keys = sources.token_keys(endpoint);
  if (!keys) return settings.refuse(url_name, keys.error().message);
  return std::make_unique<OAuthBearerMechanism>(std::move(rules), std::move(*keys));
}

}  // namespace barnabas::security
