#include "client/tls_client.h"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>

#include "security/openssl_support.h"
#include "security/tls_stores.h"

namespace barnabas::client {
namespace {

using security::Certificate;
using security::KeyEntry;

struct BioFree {
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Bio = std::unique_ptr<BIO, BioFree>;

std::string text_of(BIO* bio) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(bio, &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem_of(const Certificate& certificate) {
  const Bio bio(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(bio.get(), certificate.get());
  return text_of(bio.get());
}

std::unexpected<Error> refuse(std::string_view what) {
  return fail(ErrorKind::invalid, security::openssl_reason(what));
}

Result<void> trust(SSL_CTX* context, const ConnectionSettings& settings) {
  BARNABAS_ASSIGN(const std::vector<Certificate> trusted, security::load_trusted(settings.trust_store));
  if (trusted.empty()) {
    if (SSL_CTX_set_default_verify_paths(context) != 1) return refuse("the system's authorities");
    return {};
  }
  X509_STORE* store = SSL_CTX_get_cert_store(context);
  for (const Certificate& certificate : trusted)
    if (X509_STORE_add_cert(store, certificate.get()) != 1) return refuse("a trusted certificate");
  // Whoever names a certificate trusts it, also one that is not an authority's.
  X509_VERIFY_PARAM_set_flags(SSL_CTX_get0_param(context), X509_V_FLAG_PARTIAL_CHAIN);
  return {};
}

Result<void> show(SSL_CTX* context, const ConnectionSettings& settings) {
  if (!settings.shows_certificate()) return {};
  BARNABAS_ASSIGN(const KeyEntry entry, security::load_key_entry(settings.key_store));
  if (SSL_CTX_use_certificate(context, entry.certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context, entry.key.get()) != 1)
    return refuse("the client's certificate");
  for (const Certificate& issuer : entry.issuers)
    if (SSL_CTX_add1_chain_cert(context, issuer.get()) != 1) return refuse("the client's certificate chain");
  return {};
}

}  // namespace

void TlsClient::Free::operator()(SSL_CTX* context) const {
  SSL_CTX_free(context);
}

TlsClient::TlsClient(bool verify_host)
    : context_(SSL_CTX_new(TLS_client_method())), verify_host_(verify_host) {}

Result<TlsClient> TlsClient::load(const ConnectionSettings& settings) {
  TlsClient client(settings.verify_host && settings.verify_certificate);
  SSL_CTX* context = client.native();
  if (context == nullptr || SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) != 1)
    return refuse("TLS cannot be used");
  SSL_CTX_set_verify(context, settings.verify_certificate ? SSL_VERIFY_PEER : SSL_VERIFY_NONE, nullptr);
  SSL_CTX_set_mode(context, SSL_MODE_AUTO_RETRY);
  if (settings.verify_certificate) BARNABAS_TRY(trust(context, settings));
  BARNABAS_TRY(show(context, settings));
  return client;
}

Result<PemStores> pem_stores(const ConnectionSettings& settings) {
  PemStores stores;
  BARNABAS_ASSIGN(const std::vector<Certificate> trusted, security::load_trusted(settings.trust_store));
  for (const Certificate& certificate : trusted) stores.trusted += pem_of(certificate);
  if (!settings.shows_certificate()) return stores;
  BARNABAS_ASSIGN(const KeyEntry entry, security::load_key_entry(settings.key_store));
  const Bio bio(BIO_new(BIO_s_mem()));
  if (PEM_write_bio_PrivateKey(bio.get(), entry.key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return refuse("the client's key");
  stores.key = text_of(bio.get());
  stores.chain = pem_of(entry.certificate);
  for (const Certificate& issuer : entry.issuers) stores.chain += pem_of(issuer);
  return stores;
}

}  // namespace barnabas::client
