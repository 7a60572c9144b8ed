#include "security/key_store.h"

#include <gtest/gtest.h>
#include <openssl/evp.h>
#include <openssl/objects.h>

#include <algorithm>
#include <string>
#include <string_view>

#include "security/test_certificates.h"

namespace barnabas::security {
namespace {

const TestAuthority& authority() {
  static const TestAuthority made;
  return made;
}
const TestIdentity& server() {
  static const TestIdentity made = authority().issue({{"O", "example"}, {"CN", "server"}});
  return made;
}

/// One line for blanks and breaks that a settings file may have made of a PEM text.
std::string in_one_line(std::string text) {
  std::ranges::replace(text, '\n', ' ');
  return text;
}

bool same_key(const PrivateKey& a, const PrivateKey& b) {
  return EVP_PKEY_eq(a.get(), b.get()) == 1;
}

void expect_server(const Result<KeyEntry>& entry) {
  ASSERT_TRUE(entry) << entry.error().message;
  EXPECT_TRUE(same_key(entry->key, server().key));
  EXPECT_EQ(subject_of(entry->certificate.get()), "CN=server,O=example");
  ASSERT_EQ(entry->issuers.size(), 1U);
  EXPECT_EQ(subject_of(entry->issuers[0].get()), "CN=test authority");
}

template <class T>
std::string error_of(const Result<T>& result) {
  return result ? "none" : result.error().message;
}

bool says(const std::string& text, std::string_view part) {
  return text.find(part) != text.npos;
}

TEST(PemKeyStore, key_and_chain_are_read_in_any_order_and_form) {
  const std::string key = server().key_pem();
  const std::string chain = server().chain_pem();
  for (const std::string& text :
       {key + chain, chain + key, "Bag Attributes\n  x: y\n" + chain + "\n\n" + key, in_one_line(key + chain),
        server().issuer_pem + server().certificate_pem() + key})
    expect_server(key_entry_from_pem(text, text, std::nullopt));
  expect_server(key_entry_from_pem(key, chain, std::nullopt));
  expect_server(key_entry_from_pem(key, chain, "not needed"));
}

TEST(PemKeyStore, an_encrypted_key_needs_its_password) {
  const std::string key = server().key_pem("secret");
  expect_server(key_entry_from_pem(key, server().chain_pem(), "secret"));
  expect_server(key_entry_from_pem(in_one_line(key), server().chain_pem(), "secret"));
  const auto wrong = error_of(key_entry_from_pem(key, server().chain_pem(), "guess0815"));
  EXPECT_TRUE(says(wrong, "ssl.key.password is wrong")) << wrong;
  EXPECT_FALSE(says(wrong, "guess0815")) << wrong;
  const auto missing = error_of(key_entry_from_pem(key, server().chain_pem(), std::nullopt));
  EXPECT_TRUE(says(missing, "ssl.key.password is not set")) << missing;
}

TEST(PemKeyStore, what_is_missing_or_does_not_fit_is_said) {
  const std::string key = server().key_pem();
  const std::string chain = server().chain_pem();
  const auto read = [](const std::string& k, const std::string& c) {
    return error_of(key_entry_from_pem(k, c, std::nullopt));
  };
  EXPECT_TRUE(says(read("", chain), "no private key"));
  EXPECT_TRUE(says(read(chain, chain), "no private key"));
  EXPECT_TRUE(says(read(key + key, chain), "2 private keys"));
  EXPECT_TRUE(says(read(key, ""), "no certificate"));
  EXPECT_TRUE(
      says(read(key, authority().certificate_pem()), "is not that of the certificate \"CN=test authority\""));
  EXPECT_TRUE(says(read(key, chain.substr(0, chain.size() / 2)), "without its end"));
  EXPECT_TRUE(says(read("-----BEGIN PRIVATE\nKEY-----", chain), "a PEM header that is none"));
  std::string damaged = chain;
  damaged[damaged.size() / 4] = '!';
  EXPECT_TRUE(says(read(key, damaged), "not base64"));
  EXPECT_TRUE(says(
      read("-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: x,1\n\nAAAA\n-----END RSA "
           "PRIVATE KEY-----\n",
           chain),
      "openssl pkcs8 -topk8"));
  EXPECT_TRUE(
      says(read("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", chain), "no PKCS8"));
}

TEST(Pkcs12KeyStore, key_and_chain_are_read) {
  const std::string store = server().pkcs12("secret");
  expect_server(key_entry_from_pkcs12(as_byte_view(store), "secret", std::nullopt));
  expect_server(key_entry_from_pkcs12(as_byte_view(store), "secret", "secret"));
}

TEST(Pkcs12KeyStore, algorithms_of_old_keytools_are_read) {
  const std::string store = server().pkcs12(
      "secret",
      {.key_algorithm = NID_pbe_WithSHA1And3_Key_TripleDES_CBC, .certificate_algorithm = NID_aes_128_cbc});
  expect_server(key_entry_from_pkcs12(as_byte_view(store), "secret", std::nullopt));
}

TEST(Pkcs12KeyStore, a_key_may_have_a_password_of_its_own) {
  const std::string store = server().pkcs12("secret", {.key_password = "other"});
  expect_server(key_entry_from_pkcs12(as_byte_view(store), "secret", "other"));
  const auto wrong = error_of(key_entry_from_pkcs12(as_byte_view(store), "secret", std::nullopt));
  EXPECT_TRUE(says(wrong, "ssl.key.password is wrong")) << wrong;
}

TEST(Pkcs12KeyStore, a_wrong_password_is_said_to_be_wrong_and_not_shown) {
  const std::string sealed = server().pkcs12("secret");
  const std::string unsealed = server().pkcs12("secret", {.mac_rounds = -1});
  for (const std::string& store : {sealed, unsealed}) {
    const auto wrong = error_of(key_entry_from_pkcs12(as_byte_view(store), "guess0815", std::nullopt));
    EXPECT_TRUE(says(wrong, "password is wrong")) << wrong;
    EXPECT_FALSE(says(wrong, "guess0815")) << wrong;
  }
  expect_server(key_entry_from_pkcs12(as_byte_view(unsealed), "secret", std::nullopt));
}

TEST(Pkcs12KeyStore, a_store_without_a_key_is_refused) {
  const std::string store = server().pkcs12("secret", {.with_key = false});
  EXPECT_EQ(error_of(key_entry_from_pkcs12(as_byte_view(store), "secret", std::nullopt)),
            "no private key in it");
}

TEST(Pkcs12KeyStore, a_store_that_asks_for_endless_work_is_refused) {
  // The same store with a greater number where it says how often to derive.
  std::string store = server().pkcs12("secret", {.mac_rounds = 70'000});
  const std::string rounds("\x02\x03\x01\x11\x70", 5);
  const auto at = store.rfind(rounds);
  ASSERT_NE(at, store.npos);
  store.replace(at, 5, std::string("\x02\x03\x7f\xff\xff", 5));
  const auto error = error_of(key_entry_from_pkcs12(as_byte_view(store), "secret", std::nullopt));
  EXPECT_TRUE(says(error, "rounds of key derivation")) << error;
}

TEST(Pkcs12KeyStore, torn_and_changed_stores_are_refused_or_whole) {
  const std::string store = server().pkcs12("secret");
  for (std::size_t size = 0; size < store.size(); size += 7)
    EXPECT_FALSE(key_entry_from_pkcs12(as_byte_view(store.substr(0, size)), "secret", std::nullopt)) << size;
  for (std::size_t i = 0; i < store.size(); i += 5) {
    std::string changed = store;
    changed[i] = static_cast<char>(changed[i] ^ 0x41);
    const auto entry = key_entry_from_pkcs12(as_byte_view(changed), "secret", std::nullopt);
    EXPECT_TRUE(!entry || same_key(entry->key, server().key)) << i;
  }
}

TEST(TrustStore, pem_holds_all_certificates) {
  const TestAuthority other("other");
  const auto trusted = trusted_from_pem(authority().certificate_pem() + "\n" + other.certificate_pem());
  ASSERT_TRUE(trusted) << trusted.error().message;
  ASSERT_EQ(trusted->size(), 2U);
  EXPECT_EQ(subject_of((*trusted)[1].get()), "CN=other");
  EXPECT_FALSE(trusted_from_pem(""));
  EXPECT_FALSE(trusted_from_pem(server().key_pem()));
}

TEST(TrustStore, a_pkcs12_made_by_openssl_holds_all_its_certificates) {
  const std::string store = authority().own().pkcs12("secret", {.with_key = false});
  const auto trusted = trusted_from_pkcs12(as_byte_view(store), "secret");
  ASSERT_TRUE(trusted) << trusted.error().message;
  ASSERT_EQ(trusted->size(), 1U);
  EXPECT_TRUE(says(error_of(trusted_from_pkcs12(as_byte_view(store), "wrong")), "password is wrong"));
  EXPECT_TRUE(says(error_of(trusted_from_pkcs12(as_byte_view(store), std::nullopt)), "no password is set"));
}

TEST(TrustStore, of_a_key_store_only_the_certificate_of_the_key_is_trusted) {
  const std::string store = server().pkcs12("secret");
  const auto trusted = trusted_from_pkcs12(as_byte_view(store), "secret");
  ASSERT_TRUE(trusted) << trusted.error().message;
  ASSERT_EQ(trusted->size(), 1U);
  EXPECT_EQ(subject_of((*trusted)[0].get()), "CN=server,O=example");
}

TEST(StoreForm, bytes_tell_what_a_store_is) {
  using namespace std::string_view_literals;
  EXPECT_EQ(form_of(as_byte_view("\xfe\xed\xfe\xed\0\0\0\2"sv)), StoreForm::jks);
  EXPECT_EQ(form_of(as_byte_view("\xce\xce\xce\xce\0\0\0\2"sv)), StoreForm::jceks);
  EXPECT_EQ(form_of(as_byte_view(server().pem())), StoreForm::pem);
  EXPECT_EQ(form_of(as_byte_view(server().pkcs12("x"))), StoreForm::pkcs12);
  EXPECT_EQ(form_of(as_byte_view(""sv)), StoreForm::unknown);
  EXPECT_EQ(form_of(as_byte_view("hello"sv)), StoreForm::unknown);
}

TEST(CertificateText, says_when_it_expires) {
  EXPECT_FALSE(is_expired(server().certificate.get()));
  const TestIdentity old = authority().issue({{"CN", "old"}}, {.days = -1});
  EXPECT_TRUE(is_expired(old.certificate.get()));
  EXPECT_EQ(fingerprint_of(old.certificate.get()).size(), 64U);
  EXPECT_TRUE(expiry_of(old.certificate.get()).ends_with(" UTC"));
}

}  // namespace
}  // namespace barnabas::security
