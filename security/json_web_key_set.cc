#include "security/json_web_key_set.h"

#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/param_build.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "security/base64url.h"
#include "security/strict_json.h"

namespace barnabas::security {
namespace {

using nlohmann::json;

constexpr int rsa_bits_min = 2048;
constexpr int rsa_bits_max = 8192;
constexpr std::size_t exponent_bytes_max = 8;
constexpr std::size_t keys_max = 1000;
constexpr JsonLimits limits{.bytes = 1 << 20, .depth = 8, .values = 100'000};

using Number = std::unique_ptr<BIGNUM, decltype(&BN_free)>;

/// A member of text; nothing when it is missing or of another type.
std::optional<std::string> text_of(const json& object, const char* name) {
  const auto at = object.find(name);
  if (at == object.end() || !at->is_string()) return std::nullopt;
  return at->get<std::string>();
}

/// The bytes of a member in base64url.
std::optional<std::string> bytes_of(const json& object, const char* name) {
  const auto text = text_of(object, name);
  if (!text) return std::nullopt;
  auto bytes = decode_base64url(*text);
  if (!bytes || bytes->empty()) return std::nullopt;
  return std::move(*bytes);
}

Number number_of(std::string_view bytes) {
  return {BN_bin2bn(reinterpret_cast<const unsigned char*>(bytes.data()), static_cast<int>(bytes.size()),
                    nullptr),
          &BN_free};
}

/// A public key of OpenSSL's type `type` from what was pushed; null when it is none.
std::shared_ptr<EVP_PKEY> make_key(const char* type, OSSL_PARAM_BLD* builder) {
  const std::unique_ptr<OSSL_PARAM, decltype(&OSSL_PARAM_free)> parameters(OSSL_PARAM_BLD_to_param(builder),
                                                                           &OSSL_PARAM_free);
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_from_name(nullptr, type, nullptr), &EVP_PKEY_CTX_free);
  EVP_PKEY* raw = nullptr;
  const bool made = parameters && context && EVP_PKEY_fromdata_init(context.get()) == 1 &&
                    EVP_PKEY_fromdata(context.get(), &raw, EVP_PKEY_PUBLIC_KEY, parameters.get()) == 1;
  std::shared_ptr<EVP_PKEY> key(raw, [](EVP_PKEY* old) { EVP_PKEY_free(old); });
  ERR_clear_error();
  if (!made) key.reset();
  return key;
}

std::shared_ptr<EVP_PKEY> rsa_key(const json& object) {
  const auto modulus = bytes_of(object, "n");
  const auto exponent = bytes_of(object, "e");
  if (!modulus || !exponent || exponent->size() > exponent_bytes_max) return nullptr;
  if (modulus->size() > rsa_bits_max / 8 + 1) return nullptr;
  const Number n = number_of(*modulus);
  const Number e = number_of(*exponent);
  if (!n || !e || BN_num_bits(n.get()) < rsa_bits_min || BN_num_bits(n.get()) > rsa_bits_max) return nullptr;
  if (!BN_is_odd(n.get()) || !BN_is_odd(e.get()) || BN_is_one(e.get())) return nullptr;
  const std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)> builder(OSSL_PARAM_BLD_new(),
                                                                                &OSSL_PARAM_BLD_free);
  if (!builder || OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_N, n.get()) != 1 ||
      OSSL_PARAM_BLD_push_BN(builder.get(), OSSL_PKEY_PARAM_RSA_E, e.get()) != 1)
    return nullptr;
  return make_key("RSA", builder.get());
}

std::shared_ptr<EVP_PKEY> elliptic_key(const json& object, const JsonWebCurve& curve) {
  const auto x = bytes_of(object, "x");
  const auto y = bytes_of(object, "y");
  if (!x || !y || x->size() > curve.coordinate_bytes || y->size() > curve.coordinate_bytes) return nullptr;
  // Some write coordinates without the zeros in front that belong there.
  std::string point = "\x04";
  point.append(curve.coordinate_bytes - x->size(), '\0').append(*x);
  point.append(curve.coordinate_bytes - y->size(), '\0').append(*y);
  const std::unique_ptr<OSSL_PARAM_BLD, decltype(&OSSL_PARAM_BLD_free)> builder(OSSL_PARAM_BLD_new(),
                                                                                &OSSL_PARAM_BLD_free);
  if (!builder ||
      OSSL_PARAM_BLD_push_utf8_string(builder.get(), OSSL_PKEY_PARAM_GROUP_NAME, curve.group, 0) != 1 ||
      OSSL_PARAM_BLD_push_octet_string(builder.get(), OSSL_PKEY_PARAM_PUB_KEY, point.data(), point.size()) !=
          1)
    return nullptr;
  auto key = make_key("EC", builder.get());
  if (!key) return nullptr;
  const std::unique_ptr<EVP_PKEY_CTX, decltype(&EVP_PKEY_CTX_free)> context(
      EVP_PKEY_CTX_new_from_pkey(nullptr, key.get(), nullptr), &EVP_PKEY_CTX_free);
  const bool on_curve = context && EVP_PKEY_public_check(context.get()) == 1;
  ERR_clear_error();
  return on_curve ? key : nullptr;
}

/// Whether the key says that it is for other things than checking signatures.
bool is_for_others(const json& object) {
  if (object.contains("use") && text_of(object, "use") != "sig") return true;
  const auto operations = object.find("key_ops");
  if (operations == object.end()) return false;
  return !operations->is_array() || std::ranges::find(*operations, json("verify")) == operations->end();
}

std::optional<JsonWebKey> read_key(const json& object) {
  if (!object.is_object() || is_for_others(object)) return std::nullopt;
  JsonWebKey key;
  if (object.contains("kid")) {
    key.id = text_of(object, "kid");
    if (!key.id) return std::nullopt;
  }
  if (object.contains("alg")) {
    key.algorithm = find_json_web_algorithm(text_of(object, "alg").value_or(""));
    if (key.algorithm == nullptr) return std::nullopt;
  }
  const auto type = text_of(object, "kty");
  if (type == "RSA") {
    key.key = rsa_key(object);
  } else if (type == "EC") {
    const JsonWebCurve* const curve = find_json_web_curve(text_of(object, "crv").value_or(""));
    if (curve == nullptr) return std::nullopt;
    key.curve = curve->name;
    key.key = elliptic_key(object, *curve);
  }
  if (!key.key) return std::nullopt;
  return key;
}

}  // namespace

Result<JsonWebKeySet> JsonWebKeySet::parse(std::string_view text) {
  auto tree = parse_strict_json_object(text, limits);
  if (!tree) return fail("key set", std::move(tree).error());
  const auto keys = tree->find("keys");
  if (keys == tree->end() || !keys->is_array()) return fail(ErrorKind::corrupt, "key set: no list \"keys\"");
  if (keys->size() > keys_max) return fail(ErrorKind::too_large, "key set: more than 1000 keys");
  JsonWebKeySet set;
  for (const json& item : *keys) {
    if (auto key = read_key(item))
      set.keys_.push_back(std::move(*key));
    else
      ++set.left_out_;
  }
  return set;
}

std::vector<const JsonWebKey*> JsonWebKeySet::candidates(const JsonWebAlgorithm& algorithm,
                                                         const std::optional<std::string>& id) const {
  std::vector<const JsonWebKey*> found;
  for (const JsonWebKey& key : keys_) {
    const bool fits = key.curve == algorithm.curve &&
                      (key.algorithm == nullptr || key.algorithm == &algorithm) && (!id || key.id == id);
    if (fits) found.push_back(&key);
    if (found.size() == candidates_max) break;
  }
  return found;
}

}  // namespace barnabas::security
