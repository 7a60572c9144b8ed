#include "security/tls_settings.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "metadata/dynamic_broker_config.h"

namespace barnabas::security {
namespace {

class Lookup {
 public:
  Lookup(const metadata::BrokerConfigView& settings, std::string prefix)
      : settings_(settings), prefix_(std::move(prefix)) {}

  std::optional<std::string> own(std::string_view name) const {
    return settings_.value(prefix_ + std::string(name));
  }
  /// An empty text is as good as none: it is how a file or an environment takes a setting back.
  std::optional<std::string> text(std::string_view name) const {
    auto value = own(name);
    if (!value) value = settings_.value(name);
    if (value && value->empty()) value.reset();
    return value;
  }
  std::vector<std::string> list(std::string_view name) const {
    const std::string value = text(name).value_or("");
    std::vector<std::string> items;
    for (const std::string_view item : metadata::split_list(value)) items.emplace_back(item);
    return items;
  }
  bool boolean(std::string_view name) const {
    return metadata::parse_boolean(text(name).value_or("false")).value_or(false);
  }

 private:
  const metadata::BrokerConfigView& settings_;
  const std::string prefix_;
};

Result<ClientAuth> client_auth(const Lookup& lookup, SecurityProtocol protocol) {
  constexpr std::string_view name = "ssl.client.auth";
  auto value = authenticates_by_sasl(protocol) ? lookup.own(name) : lookup.text(name);
  std::string text = value.value_or("none");
  std::ranges::transform(text, text.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (text == "none" || text.empty()) return ClientAuth::none;
  if (text == "requested") return ClientAuth::requested;
  if (text == "required") return ClientAuth::required;
  return fail(ErrorKind::invalid,
              std::string(name) + ": \"" + text + "\"; expected none, requested or required");
}

}  // namespace

Result<TlsSettings> read_tls_settings(const metadata::BrokerConfigView& settings, std::string_view listener,
                                      SecurityProtocol protocol) {
  const Lookup lookup(settings, metadata::listener_prefix(listener));
  TlsSettings result;
  result.listener = listener;
  result.key_store = {lookup.text("ssl.keystore.type").value_or("JKS"),
                      lookup.text("ssl.keystore.location"),
                      lookup.text("ssl.keystore.password"),
                      lookup.text("ssl.keystore.certificate.chain"),
                      lookup.text("ssl.keystore.key"),
                      lookup.text("ssl.key.password")};
  result.trust_store = {.type = lookup.text("ssl.truststore.type").value_or("JKS"),
                        .location = lookup.text("ssl.truststore.location"),
                        .password = lookup.text("ssl.truststore.password"),
                        .certificates = lookup.text("ssl.truststore.certificates")};
  BARNABAS_ASSIGN(result.client_auth, client_auth(lookup, protocol));
  result.protocols = lookup.list("ssl.enabled.protocols");
  result.cipher_suites = lookup.list("ssl.cipher.suites");
  result.principal_mapping_rules = lookup.text("ssl.principal.mapping.rules").value_or("DEFAULT");
  result.allow_dn_changes = lookup.boolean("ssl.allow.dn.changes");
  result.allow_san_changes = lookup.boolean("ssl.allow.san.changes");
  return result;
}

bool is_store_setting(std::string_view name) {
  const std::string_view base = metadata::without_listener_prefix(name);
  return base != name && metadata::is_store_setting(base);
}

}  // namespace barnabas::security
