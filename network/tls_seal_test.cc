// A peer whose records are made here byte by byte, so that sealing an answer to it fails half-way.

#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/kdf.h>
#include <openssl/params.h>
#include <openssl/ssl.h>

#include "network/tls_fixture.h"

namespace barnabas::network {
namespace {

using security::ClientAuth;

constexpr char application_data = 23;
constexpr char handshake = 22;

std::string secret;

/// Keeps the secret that a client's application data are sealed with.
void keep_secret(const SSL*, const char* line) {
  const std::string text(line);
  if (!text.starts_with("CLIENT_TRAFFIC_SECRET_0 ")) return;
  const std::string hex = text.substr(text.rfind(' ') + 1);
  secret.clear();
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    secret += static_cast<char>(std::stoi(hex.substr(i, 2), nullptr, 16));
}

unsigned char* bytes_of(std::string& text) {
  return reinterpret_cast<unsigned char*>(text.data());
}

/// HKDF-Expand-Label of RFC 8446, section 7.1, without a context.
std::string expanded(std::string label, std::size_t length) {
  EVP_KDF* kdf = EVP_KDF_fetch(nullptr, "HKDF", nullptr);
  EVP_KDF_CTX* context = EVP_KDF_CTX_new(kdf);
  label = "tls13 " + label;
  std::string info{'\0', static_cast<char>(length), static_cast<char>(label.size())};
  info += label + '\0';
  char digest[] = "SHA256";
  int mode = EVP_KDF_HKDF_MODE_EXPAND_ONLY;
  const OSSL_PARAM params[] = {
      OSSL_PARAM_construct_int(OSSL_KDF_PARAM_MODE, &mode),
      OSSL_PARAM_construct_utf8_string(OSSL_KDF_PARAM_DIGEST, digest, 0),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_KEY, secret.data(), secret.size()),
      OSSL_PARAM_construct_octet_string(OSSL_KDF_PARAM_INFO, info.data(), info.size()),
      OSSL_PARAM_construct_end()};
  std::string key(length, '\0');
  EXPECT_EQ(EVP_KDF_derive(context, bytes_of(key), length, params), 1);
  EVP_KDF_CTX_free(context);
  EVP_KDF_free(kdf);
  return key;
}

/// The `number`th record of a client of TLS_AES_128_GCM_SHA256 (RFC 8446, section 5.2).
std::string record(char type, std::string content, char number) {
  std::string key = expanded("key", 16);
  std::string nonce = expanded("iv", 12);
  nonce.back() = static_cast<char>(nonce.back() ^ number);
  content += type;
  const std::size_t size = content.size() + 16;
  std::string head{'\x17', '\x03', '\x03', static_cast<char>(size >> 8), static_cast<char>(size)};
  std::string sealed(size, '\0');
  EVP_CIPHER_CTX* context = EVP_CIPHER_CTX_new();
  int length = 0;
  EXPECT_EQ(EVP_EncryptInit_ex(context, EVP_aes_128_gcm(), nullptr, bytes_of(key), bytes_of(nonce)), 1);
  EXPECT_EQ(EVP_EncryptUpdate(context, nullptr, &length, bytes_of(head), static_cast<int>(head.size())), 1);
  EXPECT_EQ(EVP_EncryptUpdate(context, bytes_of(sealed), &length, bytes_of(content),
                              static_cast<int>(content.size())),
            1);
  EXPECT_EQ(EVP_EncryptFinal_ex(context, bytes_of(sealed) + length, &length), 1);
  EXPECT_EQ(EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_GCM_GET_TAG, 16, bytes_of(sealed) + content.size()), 1);
  EVP_CIPHER_CTX_free(context);
  return head + sealed;
}

TEST(TlsSeal, records_made_here_are_good_ones) {
  const TlsTestServer server;
  TlsTestClient client(server.port(), {.version = TLS1_3_VERSION, .keep_secret = keep_secret});
  SSL_set_ciphersuites(client.native(), "TLS_AES_128_GCM_SHA256");
  ASSERT_TRUE(client.handshake()) << client.failure();
  client.plain().send_raw(record(application_data, framed("one"), 0) +
                          record(application_data, framed("two"), 1));
  EXPECT_EQ(client.receive(), "one");
  EXPECT_EQ(client.receive(), "two");
}

// With the beginning of a message about keys OpenSSL goes on with the handshake before it seals an answer.
// What comes instead of the rest makes it write an alert, and fail.
TEST(TlsSeal, what_was_sealed_for_a_peer_whose_answer_failed_goes_to_nobody_else) {
  TlsTestServer server(ClientAuth::none, {});
  for (int i = 0; i < 4; ++i) {  // on each loop
    TlsTestClient client(server.port(), {.version = TLS1_3_VERSION, .keep_secret = keep_secret});
    SSL_set_ciphersuites(client.native(), "TLS_AES_128_GCM_SHA256");
    ASSERT_TRUE(client.handshake()) << client.failure();
    const std::string begun_key_update("\x18\0\0\1", 4);
    client.plain().send_raw(record(application_data, framed("one"), 0) +
                            record(handshake, begun_key_update, 1));
    IncomingRequest one = server.server->take();
    client.plain().send_raw(std::string("\x17\x03\x03\x00\x20", 5) + std::string(32, 'x'));
    ASSERT_TRUE(eventually([&] { return unread_bytes(server.port()) >= 37; }));
    one.slot.reply(answer("first"));
    EXPECT_EQ(client.receive(), std::nullopt);
  }
  for (int i = 0; i < 4; ++i) {
    TlsTestClient other(server.port(), {.version = TLS1_3_VERSION});
    ASSERT_TRUE(other.handshake()) << other.failure();
    other.send("other");
    server.server->take().slot.reply(answer("served"));
    EXPECT_EQ(other.receive(), "served");
  }
}

}  // namespace
}  // namespace barnabas::network
