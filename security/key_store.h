#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/types.h"

struct evp_pkey_st;
struct x509_st;

namespace barnabas::security {

struct OpenSslFree {
  void operator()(evp_pkey_st* key) const;
  void operator()(x509_st* certificate) const;
};
using PrivateKey = std::unique_ptr<evp_pkey_st, OpenSslFree>;
using Certificate = std::unique_ptr<x509_st, OpenSslFree>;

/// What a server shows of itself.
struct KeyEntry {
  PrivateKey key;
  Certificate certificate;           ///< of that key
  std::vector<Certificate> issuers;  ///< shown with it, in this order
};

/// What the bytes of a store are, whatever its name or the settings say.
enum class StoreForm : uint8_t { pem, pkcs12, jks, jceks, unknown };
StoreForm form_of(ByteView bytes);

/// Stores are read from memory, so that these work on bytes of any origin. All lengths, nestings and rounds
/// of key derivation are bounded. ErrorKind::invalid says what was found and expected, and holds no byte of a
/// store or password. A wrong password says so.
///
/// PEM as Kafka takes it: blocks anywhere in the text, their lines broken or not. One private key, PKCS8
/// (under a password or not), PKCS1 or SEC1; at least one certificate. `key_pem` and `chain_pem` may be the
/// same text.
Result<KeyEntry> key_entry_from_pem(std::string_view key_pem, std::string_view chain_pem,
                                    const std::optional<std::string>& key_password);
/// The first key of the store with its chain. `key_password`: only if the key has another one than the store.
/// Old algorithms that Java's keytool used (RC2, 3DES) are read if OpenSSL's legacy provider is installed.
Result<KeyEntry> key_entry_from_pkcs12(ByteView bytes, const std::string& password,
                                       const std::optional<std::string>& key_password);

/// All certificates of the text; at least one.
Result<std::vector<Certificate>> trusted_from_pem(std::string_view pem);
/// As Java has it: what is marked as trusted, and the certificates of keys. In a store without either, such
/// as `openssl pkcs12 -nokeys` makes, all. Without a password nothing tells whether somebody changed the
/// store.
Result<std::vector<Certificate>> trusted_from_pkcs12(ByteView bytes,
                                                     const std::optional<std::string>& password);

/// The subject in the form that Kafka shows (distinguished_name.h).
std::string subject_of(const x509_st* certificate);
/// "2027-03-01 12:00:00 UTC"
std::string expiry_of(const x509_st* certificate);
bool is_expired(const x509_st* certificate);
/// SHA-256 of the certificate, in hexadecimal digits.
std::string fingerprint_of(const x509_st* certificate);

}  // namespace barnabas::security
