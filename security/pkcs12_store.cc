// PKCS12 (RFC 7292) as key_store.h promises it: a key store or a trust store, of Java's keytool or of
// openssl.

#include <openssl/evp.h>
#include <openssl/objects.h>
#include <openssl/pkcs12.h>
#include <openssl/provider.h>

#include <algorithm>
#include <utility>

#include "security/key_store.h"
#include "security/openssl_support.h"

namespace barnabas::security {
namespace {

constexpr std::size_t items_max = 10'000;
constexpr int nesting_max = 8;
/// By which Java marks certificates as trusted, as opposed to those that belong to a key.
constexpr const char* trusted_key_usage = "2.16.840.1.113894.746875.1.1";

struct FreeBags {
  void operator()(STACK_OF(PKCS12_SAFEBAG) * bags) const {
    sk_PKCS12_SAFEBAG_pop_free(bags, PKCS12_SAFEBAG_free);
  }
};
using Bags = std::unique_ptr<STACK_OF(PKCS12_SAFEBAG), FreeBags>;

/// Stores of old keytools are encrypted with RC2, which OpenSSL 3 has in a provider that the broker should
/// not have at large. Null where even the default one is missing.
OSSL_LIB_CTX* with_old_algorithms() {
  static OSSL_LIB_CTX* const context = [] {
    OSSL_LIB_CTX* made = OSSL_LIB_CTX_new();
    if (made != nullptr) {
      (void)OSSL_PROVIDER_load(made, "default");
      (void)OSSL_PROVIDER_load(made, "legacy");
    }
    (void)openssl_reason("");
    return made;
  }();
  return context;
}

struct Item {
  PrivateKey key;
  Certificate certificate;
  bool trusted = false;
};

class Reader {
 public:
  /// Either password may be null; `key_password` is the store's if the key has no other.
  Reader(const std::string* password, const std::string* key_password)
      : password_(password), key_password_(key_password) {}

  Result<std::vector<Item>> read(ByteView bytes) {
    const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
    PKCS12* raw = PKCS12_init_ex(NID_pkcs7_data, with_old_algorithms(), nullptr);
    if (raw == nullptr) return refuse_store("no memory to read it");
    // Upon failure it frees what it was given.
    const std::unique_ptr<PKCS12, Freed<PKCS12_free>> store(
        d2i_PKCS12(&raw, &at, static_cast<long>(bytes.size())));
    if (!store) return refuse_store("not PKCS12, or damaged");
    BARNABAS_TRY(check_password(*store));
    BARNABAS_TRY(read_parts(*store));
    return std::move(items_);
  }

 private:
  static const char* text(const std::string* password) {
    return password == nullptr ? nullptr : password->c_str();
  }
  static int length(const std::string* password) {
    return password == nullptr ? 0 : static_cast<int>(password->size());
  }

  Result<void> check_password(PKCS12& store) const {
    if (PKCS12_mac_present(&store) != 1 || password_ == nullptr) return {};
    const ASN1_INTEGER* rounds = nullptr;
    PKCS12_get0_mac(nullptr, nullptr, nullptr, &rounds, &store);
    BARNABAS_TRY(check_rounds(rounds));
    if (PKCS12_verify_mac(&store, text(password_), length(password_)) == 1) return {};
    // An empty password and none at all make different keys.
    if (password_->empty() && PKCS12_verify_mac(&store, nullptr, 0) == 1) return {};
    return refuse_store(
        "the password is wrong (ssl.keystore.password, ssl.truststore.password), or the store was damaged");
  }

  Result<void> read_parts(PKCS12& store) {
    struct FreeParts {
      void operator()(STACK_OF(PKCS7) * parts) const { sk_PKCS7_pop_free(parts, PKCS7_free); }
    };
    const std::unique_ptr<STACK_OF(PKCS7), FreeParts> parts(PKCS12_unpack_authsafes(&store));
    if (!parts) return refuse_store("damaged PKCS12");
    for (int i = 0; i < sk_PKCS7_num(parts.get()); ++i) {
      PKCS7* part = sk_PKCS7_value(parts.get(), i);
      Bags bags;
      if (PKCS7_type_is_data(part)) {
        bags.reset(PKCS12_unpack_p7data(part));
      } else if (PKCS7_type_is_encrypted(part)) {
        BARNABAS_ASSIGN(bags, decrypt(*part));
      } else {
        return refuse_store("a part of PKCS12 that is sealed with a public key");
      }
      if (!bags) return refuse_store("damaged PKCS12");
      BARNABAS_TRY(read_bags(*bags, 0));
    }
    return {};
  }

  Result<Bags> decrypt(PKCS7& part) const {
    const PKCS7_ENCRYPT* sealed = part.d.encrypted;
    if (sealed == nullptr || sealed->enc_data == nullptr || sealed->enc_data->algorithm == nullptr)
      return refuse_store("damaged PKCS12");
    if (password_ == nullptr) return refuse_store("it is encrypted, and no password is set");
    BARNABAS_TRY(check_rounds(sealed->enc_data->algorithm));
    Bags bags(PKCS12_unpack_p7encdata(&part, text(password_), length(password_)));
    if (!bags)
      return refuse_store("it cannot be decrypted: the password is wrong, or " +
                          openssl_reason("the store was damaged"));
    return bags;
  }

  Result<void> read_bags(const STACK_OF(PKCS12_SAFEBAG) & bags, int depth) {
    if (depth > nesting_max) return refuse_store("PKCS12 nested too deeply");
    for (int i = 0; i < sk_PKCS12_SAFEBAG_num(&bags); ++i) {
      if (items_.size() == items_max)
        return refuse_store("more than " + std::to_string(items_max) + " entries");
      BARNABAS_TRY(read_bag(*sk_PKCS12_SAFEBAG_value(&bags, i), depth));
    }
    return {};
  }

  Result<void> read_bag(const PKCS12_SAFEBAG& bag, int depth) {
    switch (PKCS12_SAFEBAG_get_nid(&bag)) {
      case NID_keyBag:
        return add_key(PKCS12_SAFEBAG_get0_p8inf(&bag));
      case NID_pkcs8ShroudedKeyBag:
        return add_sealed_key(bag);
      case NID_certBag: {
        Item item;
        item.certificate.reset(PKCS12_SAFEBAG_get1_cert(&bag));
        if (!item.certificate) return refuse_store("a damaged certificate in it");
        static ASN1_OBJECT* const mark = OBJ_txt2obj(trusted_key_usage, 1);
        item.trusted = has_attribute(bag, mark);
        items_.push_back(std::move(item));
        return {};
      }
      case NID_safeContentsBag: {
        const auto* inner = PKCS12_SAFEBAG_get0_safes(&bag);
        return inner == nullptr ? Result<void>() : read_bags(*inner, depth + 1);
      }
      default:
        return {};
    }
  }

  static bool has_attribute(const PKCS12_SAFEBAG& bag, const ASN1_OBJECT* wanted) {
    const STACK_OF(X509_ATTRIBUTE)* attributes = PKCS12_SAFEBAG_get0_attrs(&bag);
    for (int i = 0; attributes != nullptr && i < sk_X509_ATTRIBUTE_num(attributes); ++i)
      if (OBJ_cmp(X509_ATTRIBUTE_get0_object(sk_X509_ATTRIBUTE_value(attributes, i)), wanted) == 0)
        return true;
    return false;
  }

  Result<void> add_sealed_key(const PKCS12_SAFEBAG& bag) {
    const X509_SIG* sealed = PKCS12_SAFEBAG_get0_pkcs8(&bag);
    const X509_ALGOR* algorithm = nullptr;
    const ASN1_OCTET_STRING* content = nullptr;
    if (sealed == nullptr) return refuse_store("damaged PKCS12");
    X509_SIG_get0(sealed, &algorithm, &content);
    BARNABAS_TRY(check_rounds(algorithm));
    const std::unique_ptr<PKCS8_PRIV_KEY_INFO, Freed<PKCS8_PRIV_KEY_INFO_free>> info(
        PKCS8_decrypt_ex(sealed, text(key_password_), length(key_password_), with_old_algorithms(), nullptr));
    if (!info)
      return refuse_store("its private key cannot be decrypted: ssl.key.password is wrong (" +
                          openssl_reason("the store was damaged") + ")");
    return add_key(info.get());
  }

  Result<void> add_key(const PKCS8_PRIV_KEY_INFO* info) {
    Item item;
    if (info != nullptr) item.key.reset(EVP_PKCS82PKEY(info));
    if (!item.key)
      return refuse_store("a private key that cannot be used: " + openssl_reason("unknown algorithm"));
    items_.push_back(std::move(item));
    return {};
  }

  const std::string* password_;
  const std::string* key_password_;
  std::vector<Item> items_;
};

bool belong_together(const Item& certificate, const EVP_PKEY* key) {
  return certificate.certificate && X509_check_private_key(certificate.certificate.get(), key) == 1;
}

/// Those of `items` that vouch for the entry's certificate, up to one that vouches for itself.
std::vector<Certificate> issuers_of(const X509* certificate, std::vector<Item>& items) {
  std::vector<Certificate> issuers;
  const X509* last = certificate;
  while (X509_NAME_cmp(X509_get_subject_name(last), X509_get_issuer_name(last)) != 0) {
    const auto issuer = std::ranges::find_if(items, [&](const Item& item) {
      return item.certificate &&
             X509_NAME_cmp(X509_get_subject_name(item.certificate.get()), X509_get_issuer_name(last)) == 0;
    });
    if (issuer == items.end()) break;
    issuers.push_back(std::move(issuer->certificate));
    last = issuers.back().get();
  }
  return issuers;
}

}  // namespace

Result<KeyEntry> key_entry_from_pkcs12(ByteView bytes, const std::string& password,
                                       const std::optional<std::string>& key_password) {
  Reader reader(&password, key_password ? &*key_password : &password);
  BARNABAS_ASSIGN(std::vector<Item> items, reader.read(bytes));
  const auto with_key = std::ranges::find_if(items, [](const Item& item) { return item.key != nullptr; });
  if (with_key == items.end()) return refuse_store("no private key in it");
  KeyEntry entry;
  entry.key = std::move(with_key->key);
  const auto own =
      std::ranges::find_if(items, [&](const Item& item) { return belong_together(item, entry.key.get()); });
  if (own == items.end()) return refuse_store("no certificate for its private key in it");
  entry.certificate = std::move(own->certificate);
  entry.issuers = issuers_of(entry.certificate.get(), items);
  (void)openssl_reason("");  // the certificates that the key did not fit
  return entry;
}

Result<std::vector<Certificate>> trusted_from_pkcs12(ByteView bytes,
                                                     const std::optional<std::string>& password) {
  // Without a password Java reads what is not encrypted, and so do we.
  const std::string* given = password ? &*password : nullptr;
  Reader reader(given, given);
  BARNABAS_ASSIGN(std::vector<Item> items, reader.read(bytes));
  const bool any_key = std::ranges::any_of(items, [](const Item& item) { return item.key != nullptr; });
  const bool any_mark = std::ranges::any_of(items, &Item::trusted);
  std::vector<Certificate> result;
  for (Item& item : items) {
    const bool of_key = any_key && std::ranges::any_of(items, [&](const Item& other) {
                          return other.key != nullptr && belong_together(item, other.key.get());
                        });
    if (item.certificate && (item.trusted || of_key || (!any_key && !any_mark)))
      result.push_back(std::move(item.certificate));
  }
  (void)openssl_reason("");
  if (result.empty()) return refuse_store("no trusted certificate in it");
  return result;
}

}  // namespace barnabas::security
