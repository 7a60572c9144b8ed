#include "security/tls_context.h"

#include <openssl/evp.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <set>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "security/cipher_suites.h"
#include "security/distinguished_name.h"
#include "security/openssl_support.h"
#include "security/tls_stores.h"

namespace barnabas::security {
namespace {

/// Sessions resumed by id, of clients that take no tickets.
constexpr long cached_sessions_max = 4096;
/// Names of authorities that a client is told, to choose its certificate by. More would not fit into a
/// message.
constexpr std::size_t authority_names_max = 64;

/// Issuers of a client's certificate. Java's bound, too: each one has to be verified.
constexpr int chain_length_max = 10;

std::unexpected<Error> refuse(std::string text) {
  return fail(ErrorKind::invalid, std::move(text));
}

/// What a session is good for: it was authenticated under these rules and authorities, for this listener.
std::array<unsigned char, 32> session_context(const TlsSettings& settings,
                                              const std::vector<Certificate>& trusted) {
  std::set<std::string> parts;
  for (const Certificate& certificate : trusted) parts.insert(fingerprint_of(certificate.get()));
  std::string all = settings.listener + "/" + std::to_string(static_cast<int>(settings.client_auth));
  for (const std::string& part : parts) all += "/" + part;
  std::array<unsigned char, 32> digest{};
  const int made = EVP_Digest(all.data(), all.size(), digest.data(), nullptr, EVP_sha256(), nullptr);
  BARNABAS_ASSERT(made == 1);
  return digest;
}

std::set<std::string> alternative_names(const X509* certificate) {
  const std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>> names(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  std::set<std::string> result;
  for (int i = 0; names && i < sk_GENERAL_NAME_num(names.get()); ++i) {
    unsigned char* der = nullptr;
    const int size = i2d_GENERAL_NAME(sk_GENERAL_NAME_value(names.get(), i), &der);
    if (size > 0) result.emplace(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
    OPENSSL_free(der);
  }
  return result;
}

bool same_letters(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

TlsContext::TlsContext(TlsSettings settings, PrincipalMapping mapping, std::shared_ptr<TicketKeys> tickets)
    : settings_(std::move(settings)),
      mapping_(std::move(mapping)),
      tickets_(std::move(tickets)),
      native_(SSL_CTX_new(TLS_server_method())) {}

TlsContext::~TlsContext() {
  SSL_CTX_free(native_);
}

Result<std::shared_ptr<const TlsContext>> TlsContext::load(const TlsSettings& settings,
                                                           std::shared_ptr<TicketKeys> tickets) {
  auto mapping = PrincipalMapping::parse(settings.principal_mapping_rules);
  if (!mapping) return fail("ssl.principal.mapping.rules", std::move(mapping).error());
  BARNABAS_ASSIGN(KeyEntry entry, load_key_entry(settings.key_store));
  BARNABAS_ASSIGN(std::vector<Certificate> trusted, load_trusted(settings.trust_store));
  const std::shared_ptr<TlsContext> context(
      new TlsContext(settings, std::move(*mapping), std::move(tickets)));
  SSL_CTX* native = context->native_;
  if (native == nullptr) return refuse("OpenSSL: " + openssl_reason("no memory"));
  SSL_CTX_set_options(native, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION |
                                  SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_PRIORITIZE_CHACHA |
                                  SSL_OP_IGNORE_UNEXPECTED_EOF);
  SSL_CTX_set_mode(native,
                   SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER | SSL_MODE_RELEASE_BUFFERS | SSL_MODE_NO_AUTO_CHAIN);
  SSL_CTX_set_read_ahead(native, 1);
  SSL_CTX_set_default_read_buffer_len(native, read_buffer_bytes);
  SSL_CTX_set_dh_auto(native, 1);
  BARNABAS_TRY(context->use_protocols_and_ciphers());
  BARNABAS_TRY(context->use_key(std::move(entry)));

  const auto session = session_context(settings, trusted);
  SSL_CTX_set_session_id_context(native, session.data(), static_cast<unsigned>(session.size()));
  SSL_CTX_set_session_cache_mode(native, SSL_SESS_CACHE_SERVER);
  SSL_CTX_sess_set_cache_size(native, cached_sessions_max);
  SSL_CTX_set_timeout(native, std::chrono::seconds(TicketKeys::session_life).count());
  SSL_CTX_set_num_tickets(native, 1);
  if (!TicketKeys::serve(native, *context->tickets_))
    return refuse("OpenSSL: " + openssl_reason("no memory"));

  const bool system = !settings.trust_store.location && !settings.trust_store.certificates;
  BARNABAS_TRY(context->use_trusted(std::move(trusted), system));
  return context;
}

Result<void> TlsContext::use_protocols_and_ciphers() {
  BARNABAS_ASSIGN(const TlsOffer offer, tls_offer(settings_.protocols, settings_.cipher_suites));
  SSL_CTX_set_min_proto_version(native_, offer.tls_1_2 ? TLS1_2_VERSION : TLS1_3_VERSION);
  SSL_CTX_set_max_proto_version(native_, offer.tls_1_3 ? TLS1_3_VERSION : TLS1_2_VERSION);
  if (offer.tls_1_2 && SSL_CTX_set_cipher_list(native_, offer.ciphers_1_2.c_str()) != 1)
    return refuse("ssl.cipher.suites: OpenSSL refuses them: " + openssl_reason("no cipher"));
  if (offer.tls_1_3 && SSL_CTX_set_ciphersuites(native_, offer.suites_1_3.c_str()) != 1)
    return refuse("ssl.cipher.suites: OpenSSL refuses them: " + openssl_reason("no cipher"));
  return {};
}

Result<void> TlsContext::use_key(KeyEntry entry) {
  STACK_OF(X509)* chain = sk_X509_new_null();
  for (const Certificate& issuer : entry.issuers) sk_X509_push(chain, issuer.get());
  const int used = SSL_CTX_use_cert_and_key(native_, entry.certificate.get(), entry.key.get(), chain, 1);
  sk_X509_free(chain);
  if (used != 1)
    return refuse("ssl.keystore: the certificate " + log_text(subject_of(entry.certificate.get())) +
                  " cannot be used: " + openssl_reason("OpenSSL refuses it"));
  certificate_ = std::move(entry.certificate);
  return {};
}

Result<void> TlsContext::use_trusted(std::vector<Certificate> trusted, bool system) {
  if (settings_.client_auth == ClientAuth::none) return {};
  X509_STORE* store = SSL_CTX_get_cert_store(native_);
  if (system && SSL_CTX_set_default_verify_paths(native_) != 1)
    return refuse("ssl.truststore.location: not set, and the system's authorities cannot be read: " +
                  openssl_reason("no memory"));
  STACK_OF(X509_NAME)* names = sk_X509_NAME_new_null();
  for (const Certificate& certificate : trusted) {
    X509_STORE_add_cert(store, certificate.get());
    if (trusted.size() <= authority_names_max)
      sk_X509_NAME_push(names, X509_NAME_dup(X509_get_subject_name(certificate.get())));
  }
  SSL_CTX_set_client_CA_list(native_, names);
  // As in Java, whoever is in the trust store is trusted, whether or not they vouch for themselves.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(native_), X509_V_FLAG_PARTIAL_CHAIN);
  SSL_CTX_set_verify_depth(native_, chain_length_max);
  const int needed = settings_.client_auth == ClientAuth::required ? SSL_VERIFY_FAIL_IF_NO_PEER_CERT : 0;
  SSL_CTX_set_verify(native_, SSL_VERIFY_PEER | needed, nullptr);
  (void)openssl_reason("");
  return {};
}

Result<Principal> TlsContext::principal_of(const ssl_st* connection) const {
  const X509* certificate = SSL_get0_peer_certificate(connection);
  if (settings_.client_auth == ClientAuth::none || certificate == nullptr) return Principal{};
  const std::string subject = subject_of(certificate);
  if (is_expired(certificate))
    return refuse("the certificate of a resumed session has expired, subject " + subject);
  auto name = mapping_.name_of(subject);
  if (!name) return refuse("no rule of ssl.principal.mapping.rules has a name for " + subject);
  return Principal{.type = "User", .name = std::move(*name)};
}

std::string TlsContext::summary() const {
  return "subject=" + log_text(subject_of(certificate_.get())) + " expires=\"" +
         expiry_of(certificate_.get()) + "\" sha256=" + fingerprint_of(certificate_.get());
}

std::vector<std::string> TlsContext::files() const {
  std::vector<std::string> files;
  if (settings_.key_store.location) files.push_back(*settings_.key_store.location);
  if (settings_.trust_store.location) files.push_back(*settings_.trust_store.location);
  return files;
}

Result<void> TlsContext::check_replacement(const TlsContext& next) const {
  const X509_NAME* before = X509_get_subject_name(certificate_.get());
  const X509_NAME* after = X509_get_subject_name(next.certificate_.get());
  if (!next.settings_.allow_dn_changes && X509_NAME_cmp(before, after) != 0 &&
      !same_letters(java_name(before), java_name(after)))
    return refuse("Keystore DistinguishedName does not match: existing=" + log_text(java_name(before)) +
                  ", new=" + log_text(java_name(after)) + " (ssl.allow.dn.changes)");
  if (!next.settings_.allow_san_changes) {
    const auto old_names = alternative_names(certificate_.get());
    const auto new_names = alternative_names(next.certificate_.get());
    if (!std::ranges::includes(new_names, old_names))
      return refuse(
          "Keystore SubjectAltNames do not match: names of the existing certificate are missing in the new "
          "one "
          "(ssl.allow.san.changes)");
  }
  const auto trusts = [](const StoreSettings& store) { return store.location || store.certificates; };
  if (!trusts(settings_.trust_store) && trusts(next.settings_.trust_store))
    return refuse(
        "Cannot add SSL truststore to an existing listener for which no truststore was configured.");
  return {};
}

}  // namespace barnabas::security
