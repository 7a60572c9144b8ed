#include "security/key_store.h"

#include <openssl/evp.h>
#include <openssl/pkcs12.h>
#include <openssl/x509.h>

#include <algorithm>
#include <ctime>
#include <type_traits>

#include "base/log.h"
#include "security/distinguished_name.h"
#include "security/openssl_support.h"
#include "security/pem.h"

namespace barnabas::security {
namespace {

using Pkcs8 = std::unique_ptr<PKCS8_PRIV_KEY_INFO, Freed<PKCS8_PRIV_KEY_INFO_free>>;

bool is_private_key(const PemBlock& block) {
  return block.label.ends_with("PRIVATE KEY");
}
bool is_certificate(const PemBlock& block) {
  return block.label == "CERTIFICATE" || block.label == "X509 CERTIFICATE";
}

/// All of `text` has to be one object.
template <auto decode, auto free_function>
auto whole(const std::string& text) {
  const auto* at = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = at + text.size();
  auto* object = decode(nullptr, &at, static_cast<long>(text.size()));
  std::unique_ptr<std::remove_pointer_t<decltype(object)>, Freed<free_function>> owner(object);
  if (at != end) owner.reset();
  return owner;
}

Result<PrivateKey> key_of(const PKCS8_PRIV_KEY_INFO* info) {
  PrivateKey key(EVP_PKCS82PKEY(info));
  if (!key) return refuse_store("a private key that cannot be used: " + openssl_reason("unknown algorithm"));
  return key;
}

Result<PrivateKey> encrypted_key(const PemBlock& block, const std::optional<std::string>& password) {
  if (!password) return refuse_store("the private key is encrypted, and ssl.key.password is not set");
  const auto sealed = whole<d2i_X509_SIG, X509_SIG_free>(block.der);
  if (!sealed) return refuse_store("an encrypted private key that is no PKCS8");
  const X509_ALGOR* algorithm = nullptr;
  const ASN1_OCTET_STRING* content = nullptr;
  X509_SIG_get0(sealed.get(), &algorithm, &content);
  BARNABAS_TRY(check_rounds(algorithm));
  const Pkcs8 info(PKCS8_decrypt(sealed.get(), password->data(), static_cast<int>(password->size())));
  if (!info)
    return refuse_store("the private key cannot be decrypted: ssl.key.password is wrong (" +
                        openssl_reason("damaged") + ")");
  return key_of(info.get());
}

Result<PrivateKey> private_key(const PemBlock& block, const std::optional<std::string>& password) {
  if (block.old_encryption)
    return refuse_store(
        "the private key is encrypted in the way of before PKCS8; convert it with: openssl pkcs8 -topk8 -in "
        "OLD -out NEW");
  if (block.label == "ENCRYPTED PRIVATE KEY") return encrypted_key(block, password);
  if (block.label == "PRIVATE KEY") {
    const auto info = whole<d2i_PKCS8_PRIV_KEY_INFO, PKCS8_PRIV_KEY_INFO_free>(block.der);
    if (!info) return refuse_store("a private key that is no PKCS8");
    return key_of(info.get());
  }
  const int kind = block.label == "RSA PRIVATE KEY"  ? EVP_PKEY_RSA
                   : block.label == "EC PRIVATE KEY" ? EVP_PKEY_EC
                                                     : EVP_PKEY_NONE;
  if (kind == EVP_PKEY_NONE)
    return refuse_store("a " + block.label + "; expected PRIVATE KEY or ENCRYPTED PRIVATE KEY (PKCS8)");
  const auto* at = reinterpret_cast<const unsigned char*>(block.der.data());
  PrivateKey key(d2i_PrivateKey(kind, nullptr, &at, static_cast<long>(block.der.size())));
  if (!key) return refuse_store("a damaged " + block.label);
  return key;
}

Result<std::vector<Certificate>> certificates(const std::vector<PemBlock>& blocks) {
  std::vector<Certificate> result;
  for (const PemBlock& block : blocks) {
    if (!is_certificate(block)) continue;
    Certificate certificate(whole<d2i_X509, X509_free>(block.der).release());
    if (!certificate)
      return refuse_store("certificate " + std::to_string(result.size() + 1) +
                          " of the PEM text is damaged: " + openssl_reason("not X.509"));
    result.push_back(std::move(certificate));
  }
  if (result.empty()) return refuse_store("no certificate (BEGIN CERTIFICATE) in the PEM text");
  return result;
}

}  // namespace

void OpenSslFree::operator()(evp_pkey_st* key) const {
  EVP_PKEY_free(key);
}
void OpenSslFree::operator()(x509_st* certificate) const {
  X509_free(certificate);
}

StoreForm form_of(ByteView bytes) {
  const auto begins = [&](std::string_view with) {
    return as_text(bytes.first(std::min(bytes.size(), with.size()))) == with;
  };
  using namespace std::string_view_literals;
  if (begins("\xfe\xed\xfe\xed"sv)) return StoreForm::jks;
  if (begins("\xce\xce\xce\xce"sv)) return StoreForm::jceks;
  if (as_text(bytes).find("-----BEGIN ") != std::string_view::npos) return StoreForm::pem;
  if (begins("\x30"sv)) return StoreForm::pkcs12;
  return StoreForm::unknown;
}

Result<KeyEntry> key_entry_from_pem(std::string_view key_pem, std::string_view chain_pem,
                                    const std::optional<std::string>& key_password) {
  BARNABAS_ASSIGN(const auto key_blocks, parse_pem(key_pem));
  const auto count = std::ranges::count_if(key_blocks, is_private_key);
  if (count == 0) return refuse_store("no private key (BEGIN PRIVATE KEY) in the PEM text");
  if (count > 1) return refuse_store(std::to_string(count) + " private keys in the PEM text; expected one");
  KeyEntry entry;
  BARNABAS_ASSIGN(entry.key, private_key(*std::ranges::find_if(key_blocks, is_private_key), key_password));
  BARNABAS_ASSIGN(const auto chain_blocks, parse_pem(chain_pem));
  BARNABAS_ASSIGN(entry.issuers, certificates(chain_blocks));
  const auto own = std::ranges::find_if(entry.issuers, [&](const Certificate& certificate) {
    return X509_check_private_key(certificate.get(), entry.key.get()) == 1;
  });
  if (own == entry.issuers.end())
    return refuse_store("the private key is not that of the certificate " +
                        log_text(subject_of(entry.issuers.front().get())));
  entry.certificate = std::move(*own);
  entry.issuers.erase(own);
  (void)openssl_reason("");  // the certificates that the key did not fit
  return entry;
}

Result<std::vector<Certificate>> trusted_from_pem(std::string_view pem) {
  BARNABAS_ASSIGN(const auto blocks, parse_pem(pem));
  return certificates(blocks);
}

std::string subject_of(const x509_st* certificate) {
  return java_name(X509_get_subject_name(certificate));
}

std::string expiry_of(const x509_st* certificate) {
  std::tm time{};
  char text[32] = {};
  if (ASN1_TIME_to_tm(X509_get0_notAfter(certificate), &time) != 1) return "unknown";
  (void)std::strftime(text, sizeof text, "%Y-%m-%d %H:%M:%S UTC", &time);
  return text;
}

bool is_expired(const x509_st* certificate) {
  return X509_cmp_current_time(X509_get0_notAfter(certificate)) <= 0;
}

std::string fingerprint_of(const x509_st* certificate) {
  unsigned char digest[EVP_MAX_MD_SIZE];
  unsigned size = 0;
  if (X509_digest(certificate, EVP_sha256(), digest, &size) != 1) return "";
  constexpr std::string_view digits = "0123456789abcdef";
  std::string text;
  for (unsigned i = 0; i < size; ++i) {
    text += digits[digest[i] >> 4];
    text += digits[digest[i] & 15];
  }
  return text;
}

}  // namespace barnabas::security
