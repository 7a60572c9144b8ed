#include "security/ticket_keys.h"

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rand.h>
#include <openssl/ssl.h>

#include <algorithm>
#include <cstring>

namespace barnabas::security {
namespace {

constexpr char digest_name[] = "SHA256";

bool use(const TicketKeys::Key& key, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac, unsigned char* iv,
         bool seals) {
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_octet_string(OSSL_MAC_PARAM_KEY, const_cast<unsigned char*>(key.digest.data()),
                                        key.digest.size()),
      OSSL_PARAM_construct_utf8_string(OSSL_MAC_PARAM_DIGEST, const_cast<char*>(digest_name), 0),
      OSSL_PARAM_construct_end()};
  if (EVP_MAC_CTX_set_params(mac, params) != 1) return false;
  return EVP_CipherInit_ex2(cipher, EVP_aes_256_cbc(), key.cipher.data(), iv, seals ? 1 : 0, nullptr) == 1;
}

/// What OpenSSL calls for each ticket: see SSL_CTX_set_tlsext_ticket_key_evp_cb(3).
int handle_ticket(SSL* ssl, unsigned char* name, unsigned char* iv, EVP_CIPHER_CTX* cipher, EVP_MAC_CTX* mac,
                  int seals) {
  auto* keys = static_cast<TicketKeys*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(ssl)));
  const Instant now = std::chrono::steady_clock::now();
  if (seals != 0) {
    const auto key = keys->current(now);
    if (!key || RAND_bytes(iv, EVP_CIPHER_get_iv_length(EVP_aes_256_cbc())) != 1) return -1;
    std::memcpy(name, key->name.data(), key->name.size());
    return use(*key, cipher, mac, iv, true) ? 1 : -1;
  }
  const auto key = keys->find(std::span<const unsigned char, 16>(name, 16), now);
  if (!key) return 0;  // a full handshake then
  if (!use(*key, cipher, mac, iv, false)) return -1;
  return now - key->made < TicketKeys::rotation ? 1 : 2;  // 2: and seal it anew
}

}  // namespace

TicketKeys::Key::~Key() {
  OPENSSL_cleanse(cipher.data(), cipher.size());
  OPENSSL_cleanse(digest.data(), digest.size());
}

/// With mutex_ held.
void TicketKeys::erase_expired(Instant now) {
  std::erase_if(keys_, [&](const Key& key) { return now - key.made >= rotation + session_life; });
}

void TicketKeys::forget_expired(Instant now) {
  const std::lock_guard lock(mutex_);
  erase_expired(now);
}

std::optional<TicketKeys::Key> TicketKeys::current(Instant now) {
  const std::lock_guard lock(mutex_);
  erase_expired(now);
  if (keys_.empty() || now - keys_.back().made >= rotation) {
    Key key;
    key.made = now;
    if (RAND_bytes(key.name.data(), static_cast<int>(key.name.size())) != 1 ||
        RAND_priv_bytes(key.cipher.data(), static_cast<int>(key.cipher.size())) != 1 ||
        RAND_priv_bytes(key.digest.data(), static_cast<int>(key.digest.size())) != 1)
      return std::nullopt;
    keys_.push_back(key);
  }
  return keys_.back();
}

std::optional<TicketKeys::Key> TicketKeys::find(std::span<const unsigned char, 16> name, Instant now) {
  const std::lock_guard lock(mutex_);
  erase_expired(now);
  for (const Key& key : keys_)
    if (std::ranges::equal(key.name, name)) return key;
  return std::nullopt;
}

bool TicketKeys::serve(ssl_ctx_st* context, TicketKeys& keys) {
  return SSL_CTX_set_app_data(context, &keys) == 1 &&
         SSL_CTX_set_tlsext_ticket_key_evp_cb(context, handle_ticket) == 1;
}

}  // namespace barnabas::security
