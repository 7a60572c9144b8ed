#include <algorithm>
#include <array>
#include <charconv>

#include "base/properties.h"
#include "client/connection_settings.h"
#include "security/jaas.h"

namespace barnabas::client {
namespace {

using Apply = Result<void> (*)(const std::string& value, ConnectionSettings& settings);

struct Known {
  std::string_view name;
  Apply apply;
};

std::unexpected<Error> refuse(std::string text) {
  return fail(ErrorKind::invalid, std::move(text));
}

Result<void> set_protocol(const std::string& value, ConnectionSettings& settings) {
  const auto protocol = security::security_protocol(value);
  if (!protocol) return refuse("\"" + value + "\"; expected PLAINTEXT, SSL, SASL_PLAINTEXT or SASL_SSL");
  settings.protocol = *protocol;
  return {};
}

Result<void> set_timeout(const std::string& value, ConnectionSettings& settings) {
  int64_t milliseconds = 0;
  const auto* end = value.data() + value.size();
  const auto [stop, error] = std::from_chars(value.data(), end, milliseconds);
  if (error != std::errc() || stop != end || milliseconds <= 0 || milliseconds > 86'400'000)
    return refuse("\"" + value + "\"; expected milliseconds, from 1 to 86400000");
  settings.timeout = std::chrono::milliseconds(milliseconds);
  return {};
}

Result<void> set_jaas(const std::string& value, ConnectionSettings& settings) {
  auto login = security::parse_login_module(value);
  if (!login) return refuse(login.error().message);
  const auto name = login->short_name();
  if (name != "PlainLoginModule" && name != "ScramLoginModule")
    return refuse(std::string(name) + " cannot be used here; expected PlainLoginModule or ScramLoginModule");
  if (const auto token = login->option("tokenauth"); token && *token == "true")
    return refuse("tokenauth: delegation tokens cannot be used here; give a user's own password");
  settings.user = login->option("username").value_or("");
  settings.password = login->option("password").value_or("");
  return {};
}

template <auto member>
Result<void> set_trust(const std::string& value, ConnectionSettings& settings) {
  settings.trust_store.*member = value;
  return {};
}
template <auto member>
Result<void> set_key(const std::string& value, ConnectionSettings& settings) {
  settings.key_store.*member = value;
  return {};
}
template <auto member>
Result<void> set_text(const std::string& value, ConnectionSettings& settings) {
  settings.*member = value;
  return {};
}

Result<void> set_identification(const std::string& value, ConnectionSettings& settings) {
  if (!value.empty() && value != "https" && value != "none")
    return refuse("\"" + value + "\"; expected https, or nothing for no check of the name");
  settings.verify_host = value == "https";
  return {};
}

Result<void> set_servers(const std::string& value, ConnectionSettings& settings) {
  settings.bootstrap_servers = split_list(value);
  return {};
}

using security::StoreSettings;
constexpr auto java_names = std::to_array<Known>({
    {"bootstrap.servers", set_servers},
    {"security.protocol", set_protocol},
    {"sasl.mechanism", set_text<&ConnectionSettings::mechanism>},
    {"sasl.jaas.config", set_jaas},
    {"ssl.truststore.location", set_trust<&StoreSettings::location>},
    {"ssl.truststore.password", set_trust<&StoreSettings::password>},
    {"ssl.truststore.type", set_trust<&StoreSettings::type>},
    {"ssl.truststore.certificates", set_trust<&StoreSettings::certificates>},
    {"ssl.keystore.location", set_key<&StoreSettings::location>},
    {"ssl.keystore.password", set_key<&StoreSettings::password>},
    {"ssl.keystore.type", set_key<&StoreSettings::type>},
    {"ssl.keystore.certificate.chain", set_key<&StoreSettings::certificates>},
    {"ssl.keystore.key", set_key<&StoreSettings::key>},
    {"ssl.key.password", set_key<&StoreSettings::key_password>},
    {"ssl.endpoint.identification.algorithm", set_identification},
    {"client.id", set_text<&ConnectionSettings::client_id>},
    {"request.timeout.ms", set_timeout},
    {"default.api.timeout.ms", set_timeout},
});

/// Same name, same values, same meaning in librdkafka.
constexpr auto same_in_librdkafka = std::to_array<std::string_view>({
    "acks",
    "allow.auto.create.topics",
    "auto.offset.reset",
    "batch.size",
    "check.crcs",
    "client.rack",
    "compression.type",
    "delivery.timeout.ms",
    "enable.auto.commit",
    "enable.idempotence",
    "fetch.max.bytes",
    "fetch.min.bytes",
    "group.id",
    "group.instance.id",
    "heartbeat.interval.ms",
    "isolation.level",
    "linger.ms",
    "max.in.flight.requests.per.connection",
    "max.poll.interval.ms",
    "message.timeout.ms",
    "metadata.max.age.ms",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "retries",
    "retry.backoff.ms",
    "session.timeout.ms",
    "transactional.id",
});

/// Of Java's objects and buffers: their absence changes nothing that a user of this command line sees.
constexpr auto of_java_only = std::to_array<std::string_view>({
    "buffer.memory",
    "connections.max.idle.ms",
    "enable.metrics.push",
    "key.deserializer",
    "key.serializer",
    "max.block.ms",
    "max.poll.records",
    "metric.reporters",
    "receive.buffer.bytes",
    "send.buffer.bytes",
    "value.deserializer",
    "value.serializer",
});

template <class Names>
bool is_in(const Names& names, std::string_view name) {
  return std::ranges::find(names, name) != names.end();
}

Result<void> set_ca_file(const std::string& value, ConnectionSettings& settings) {
  settings.trust_store = {.type = "PEM", .location = value};
  return {};
}
Result<void> set_key_and_chain(const std::string& value, ConnectionSettings& settings) {
  settings.key_store.type = "PKCS12";
  settings.key_store.location = value;
  return {};
}
Result<void> set_verification(const std::string& value, ConnectionSettings& settings) {
  if (value != "true" && value != "false") return refuse("\"" + value + "\"; expected true or false");
  settings.verify_certificate = value == "true";
  return {};
}

/// librdkafka's names for what has its place in ConnectionSettings.
constexpr auto librdkafka_names = std::to_array<Known>({
    {"bootstrap.servers", set_servers},
    {"metadata.broker.list", set_servers},
    {"security.protocol", set_protocol},
    {"sasl.mechanism", set_text<&ConnectionSettings::mechanism>},
    {"sasl.mechanisms", set_text<&ConnectionSettings::mechanism>},
    {"sasl.username", set_text<&ConnectionSettings::user>},
    {"sasl.password", set_text<&ConnectionSettings::password>},
    {"ssl.ca.location", set_ca_file},
    {"ssl.ca.pem", set_trust<&StoreSettings::certificates>},
    {"ssl.certificate.pem", set_key<&StoreSettings::certificates>},
    {"ssl.key.pem", set_key<&StoreSettings::key>},
    {"ssl.key.password", set_key<&StoreSettings::key_password>},
    {"ssl.keystore.location", set_key_and_chain},
    {"ssl.keystore.password", set_key<&StoreSettings::password>},
    {"ssl.endpoint.identification.algorithm", set_identification},
    {"enable.ssl.certificate.verification", set_verification},
    {"client.id", set_text<&ConnectionSettings::client_id>},
});

}  // namespace

Result<void> apply_client_properties(std::string_view text, const std::string& file,
                                     ConnectionSettings& settings) {
  auto properties = parse_properties(text);
  if (!properties) return fail(file, std::move(properties.error()));
  // Where nothing is said about the type Java expects its own, and PKCS12 goes by that name too.
  settings.trust_store.type = settings.key_store.type = "JKS";
  for (const Property& property : *properties) {
    const std::string place = file + ":" + std::to_string(property.line) + ": " + property.name;
    const auto* known = std::ranges::find(java_names, property.name, &Known::name);
    if (known != java_names.end()) {
      if (auto applied = known->apply(property.value, settings); !applied)
        return fail(place, std::move(applied.error()));
    } else if (is_in(same_in_librdkafka, property.name)) {
      settings.librdkafka[property.name] = property.value;
    } else if (!is_in(of_java_only, property.name)) {
      return refuse(place +
                    " has no meaning for this command line; take it out, or, if librdkafka knows it, give it "
                    "as -X name=value");
    }
  }
  for (security::StoreSettings* store : {&settings.trust_store, &settings.key_store})
    if (store->certificates) store->type = "PEM";
  return {};
}

Result<bool> apply_librdkafka_property(std::string_view assignment, ConnectionSettings& settings) {
  const auto equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0)
    return refuse("-X " + std::string(assignment) + ": expected name=value");
  const std::string name(assignment.substr(0, equals));
  const std::string value(assignment.substr(equals + 1));
  const auto* known = std::ranges::find(librdkafka_names, name, &Known::name);
  if (known == librdkafka_names.end()) {
    settings.librdkafka[name] = value;
    return false;
  }
  if (auto applied = known->apply(value, settings); !applied)
    return fail("-X " + name, std::move(applied.error()));
  return true;
}

}  // namespace barnabas::client
