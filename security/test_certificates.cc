#include "security/test_certificates.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/pkcs12.h>
#include <openssl/rsa.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>

#include <atomic>

#include "base/assert.h"
#include "security/openssl_support.h"

namespace barnabas::security {
namespace {

using Memory = std::unique_ptr<BIO, Freed<BIO_free>>;

std::string text_of(BIO* memory) {
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(memory, &bytes);
  return {bytes, static_cast<std::size_t>(size)};
}

void extend(X509* certificate, X509* issuer, int kind, const std::string& value) {
  if (value.empty()) return;
  X509V3_CTX context;
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* extension = X509V3_EXT_conf_nid(nullptr, &context, kind, value.c_str());
  BARNABAS_ASSERT(extension != nullptr);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

TestIdentity make(const TestName& subject, const TestCertificateOptions& options,
                  const TestIdentity* issuer) {
  static std::atomic<long> serial = 1;
  TestIdentity identity;
  identity.key.reset(options.rsa ? EVP_RSA_gen(2048) : EVP_EC_gen("P-256"));
  identity.certificate.reset(X509_new());
  X509* certificate = identity.certificate.get();
  X509_set_version(certificate, X509_VERSION_3);
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), serial++);
  const long day = 24 * 3600;
  X509_gmtime_adj(X509_getm_notBefore(certificate), -100 * day);
  X509_gmtime_adj(X509_getm_notAfter(certificate), options.days * day);
  for (const auto& [type, value] : subject)
    X509_NAME_add_entry_by_txt(X509_get_subject_name(certificate), type.c_str(), MBSTRING_UTF8,
                               reinterpret_cast<const unsigned char*>(value.data()),
                               static_cast<int>(value.size()), -1, 0);
  X509* vouching = issuer != nullptr ? issuer->certificate.get() : certificate;
  X509_set_issuer_name(certificate, X509_get_subject_name(vouching));
  X509_set_pubkey(certificate, identity.key.get());
  extend(certificate, vouching, NID_basic_constraints, options.authority ? "critical,CA:TRUE" : "CA:FALSE");
  extend(certificate, vouching, NID_subject_alt_name, options.alternative_names);
  extend(certificate, vouching, NID_ext_key_usage, options.usage);
  const int signed_bytes =
      X509_sign(certificate, issuer != nullptr ? issuer->key.get() : identity.key.get(), EVP_sha256());
  BARNABAS_ASSERT(signed_bytes > 0);
  if (issuer != nullptr) identity.issuer_pem = issuer->certificate_pem();
  return identity;
}

}  // namespace

std::string TestIdentity::certificate_pem() const {
  const Memory memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory.get(), certificate.get());
  return text_of(memory.get());
}

std::string TestIdentity::key_pem(const std::optional<std::string>& password) const {
  const Memory memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_PKCS8PrivateKey(memory.get(), key.get(), password ? EVP_aes_256_cbc() : nullptr,
                                password ? password->data() : nullptr,
                                password ? static_cast<int>(password->size()) : 0, nullptr, nullptr);
  return text_of(memory.get());
}

std::string TestIdentity::pkcs12(const std::string& password, const Pkcs12Options& options) const {
  STACK_OF(X509)* issuers = sk_X509_new_null();
  if (!issuer_pem.empty()) {
    const Memory memory(BIO_new_mem_buf(issuer_pem.data(), static_cast<int>(issuer_pem.size())));
    sk_X509_push(issuers, PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
  }
  const bool apart = options.key_password.has_value();
  STACK_OF(PKCS7)* parts = nullptr;
  STACK_OF(PKCS12_SAFEBAG)* bags = nullptr;
  PKCS12_add_cert(&bags, certificate.get());
  for (int i = 0; i < sk_X509_num(issuers); ++i) PKCS12_add_cert(&bags, sk_X509_value(issuers, i));
  const int of_certificates =
      options.certificate_algorithm == -1 ? NID_aes_256_cbc : options.certificate_algorithm;
  PKCS12_add_safe(&parts, bags, of_certificates, 1, password.c_str());
  sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
  bags = nullptr;
  if (options.with_key) {
    PKCS12_add_key(&bags, key.get(), 0, 1,
                   options.key_algorithm == -1 ? NID_aes_256_cbc : options.key_algorithm,
                   apart ? options.key_password->c_str() : password.c_str());
    PKCS12_add_safe(&parts, bags, -1, 0, nullptr);
    sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
  }
  const std::unique_ptr<PKCS12, Freed<PKCS12_free>> store(PKCS12_add_safes(parts, 0));
  sk_PKCS7_pop_free(parts, PKCS7_free);
  sk_X509_pop_free(issuers, X509_free);
  if (options.mac_rounds > 0)
    PKCS12_set_mac(store.get(), password.c_str(), -1, nullptr, 0, options.mac_rounds, EVP_sha256());
  unsigned char* der = nullptr;
  const int size = i2d_PKCS12(store.get(), &der);
  BARNABAS_ASSERT(size > 0);
  std::string bytes(reinterpret_cast<const char*>(der), static_cast<std::size_t>(size));
  OPENSSL_free(der);
  return bytes;
}

TestAuthority::TestAuthority(const std::string& name)
    : own_(make({{"CN", name}}, {.days = 300, .authority = true}, nullptr)) {}

TestIdentity TestAuthority::issue(const TestName& subject, const TestCertificateOptions& options) const {
  return make(subject, options, &own_);
}

TlsSettings inline_settings(const TestIdentity& identity) {
  TlsSettings settings;
  settings.listener = "SSL";
  settings.key_store.type = "PEM";
  settings.key_store.key = identity.key_pem();
  settings.key_store.certificates = identity.chain_pem();
  settings.trust_store.type = "PEM";
  return settings;
}

}  // namespace barnabas::security
