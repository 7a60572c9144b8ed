#include "security/json_web_key_set.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "security/base64url.h"
#include "security/json_web_token.h"

namespace barnabas::security {
namespace {

using nlohmann::json;

/// RFC 7515, appendix A.2 and A.3, and A.4; RFC 7520, section 4.2.
constexpr std::string_view rsa_modulus =
    "ofgWCuLjybRlzo0tZWJjNiuSfb4p4fAkd_wWJcyQoTbji9k0l8W26mPddxHmfHQp-Vaw-4qPCJrcS2mJPMEzP1Pt0Bm4d4QlL-yRT-"
    "SFd2lZS-pCgNMsD1W_YpRPEwOWvG6b32690r2jZ47soMZo9wGzjb_7OMg0LOL-bSf63kpaSHSXndS5z5rexMdbBYUsLA9e-KXBdQOS-"
    "UTo7WTBEMa2R2CapHg665xsmtdVMTBQY4uDZlxvb3qCo5ZwKh9kG4LT6_I5IhlJH7aGhyxXFvUK-DWNmoudF8NAco9_h9iaGNj8q2et"
    "hFkMLs91kzk2PAcDTW9gb54h4FRWyuXpoQ";
constexpr std::string_view cookbook_modulus =
    "n4EPtAOCc9AlkeQHPzHStgAbgs7bTZLwUBZdR8_KuKPEHLd4rHVTeT-O-XV2jRojdNhxJWTDvNd7nqQ0VEiZQHz_AJmSCpMaJMRBSFKr"
    "Kb2wqVwGU_NsYOYL-QtiWN2lbzcEe6XC0dApr5ydQLrHqkHHig3RBordaZ6Aj-oBHqFEHYpPe7Tpe-OfVfHd1E6cS6M1FZcD1NNLYD5l"
    "FHpPI9bTwJlsde3uhGqC0ZCuEHg8lhzwOHrtIQbS0FVbb9k3-tVTU4fg_3L_vniUFAKwuCLqKnS2BYwdq_mzSnbLY7h_qixoR7jig3__"
    "kRhuaxwUkRz5iaiQkqgc5gHdrNP5zw";
constexpr std::string_view claims =
    "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
constexpr std::string_view rs256_signature =
    "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdb"
    "F9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383"
    "LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWy"
    "wlVmtVrBp0igcN_IoypGlUPQGe77Rw";
constexpr std::string_view es256_signature =
    "DtEhU3ljbEg8L38VWAfUAqOyKAM6-Xx-F4GawxaepmXFCgfTjDxw5djxLa8ISlSApmWQxfKTUJqPP3-Kg6NU1Q";
constexpr std::string_view es512_signature =
    "AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7XdtAG8GaSwFKdCAPZgo"
    "XD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn";
constexpr std::string_view ps384_text =
    "eyJhbGciOiJQUzM4NCIsImtpZCI6ImJpbGJvLmJhZ2dpbnNAaG9iYml0b24uZXhhbXBsZSJ9."
    "SXTigJlzIGEgZGFuZ2Vyb3VzIGJ1c2luZXNzLCBGcm9kbywgZ29pbmcgb3V0IHlvdXIgZG9vci4gWW91IHN0ZXAgb250byB0aGUgcm9h"
    "ZCwgYW5kIGlmIHlvdSBkb24ndCBrZWVwIHlvdXIgZmVldCwgdGhlcmXigJlzIG5vIGtub3dpbmcgd2hlcmUgeW91IG1pZ2h0IGJlIHN3"
    "ZXB0IG9mZiB0by4";
constexpr std::string_view ps384_signature =
    "cu22eBqkYDKgIlTpzDXGvaFfz6WGoz7fUDcfT0kkOy42miAh2qyBzk1xEsnk2IpN6-tPid6VrklHkqsGqDqHCdP6O8TTB5dDDItllVo6"
    "_1OLPpcbUrhiUSMxbbXUvdvWXzg-UD8biiReQFlfz28zGWVsdiNAUf8ZnyPEgVFn442ZdNqiVJRmBqrYRXe8P_ijQ7p8Vdz0TTrxUeT3"
    "lm8d9shnr2lfJT8ImUjvAA2Xez2Mlp8cBE5awDzT0qI0n6uiP1aCN_2_jLAeQTlqRHtfa64QQSUmFAAjVKPbByi7xho0uTOcbH510a6G"
    "YmJUAfmWjwZ6oD4ifKo8DYM-X72Eaw";

json rsa(std::string_view modulus) {
  return {{"kty", "RSA"}, {"n", modulus}, {"e", "AQAB"}};
}
json p256() {
  return {{"kty", "EC"},
          {"crv", "P-256"},
          {"x", "f83OJ3D2xF1Bg8vub9tLe1gHMzV76e8Tus9uPHvRVEU"},
          {"y", "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0"}};
}
json p521() {
  return {{"kty", "EC"},
          {"crv", "P-521"},
          {"x", "AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk"},
          {"y", "ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2"}};
}

Result<JsonWebKeySet> set_of(const json& key) {
  return JsonWebKeySet::parse(json{{"keys", {key}}}.dump());
}
std::size_t usable(const json& key) {
  return set_of(key).value().size();
}

/// Whether the signature (in base64url) is right, and wrong for any other text.
bool verifies(std::string_view name, const json& key, const std::string& text, std::string_view signature) {
  const auto set = set_of(key);
  const JsonWebAlgorithm* const algorithm = find_json_web_algorithm(name);
  const auto keys = set->candidates(*algorithm, std::nullopt);
  const auto bytes = decode_base64url(signature);
  if (keys.size() != 1 || !bytes) return false;
  return is_signature(*algorithm, keys[0]->key.get(), text, *bytes) &&
         !is_signature(*algorithm, keys[0]->key.get(), text + "x", *bytes);
}

TEST(JsonWebKeySet, checks_the_signatures_of_the_rfcs) {
  const std::string payload(claims);
  EXPECT_TRUE(verifies("RS256", rsa(rsa_modulus), "eyJhbGciOiJSUzI1NiJ9." + payload, rs256_signature));
  EXPECT_TRUE(verifies("ES256", p256(), "eyJhbGciOiJFUzI1NiJ9." + payload, es256_signature));
  EXPECT_TRUE(verifies("ES512", p521(), "eyJhbGciOiJFUzUxMiJ9.UGF5bG9hZA", es512_signature));
  EXPECT_TRUE(verifies("PS384", rsa(cookbook_modulus), std::string(ps384_text), ps384_signature));
}

TEST(JsonWebKeySet, a_key_is_of_one_type_and_on_one_curve) {
  const auto candidates = [](const json& key, std::string_view algorithm) {
    return set_of(key)->candidates(*find_json_web_algorithm(algorithm), std::nullopt).size();
  };
  EXPECT_EQ(candidates(rsa(rsa_modulus), "PS512"), 1U);
  EXPECT_EQ(candidates(rsa(rsa_modulus), "ES256"), 0U);
  EXPECT_EQ(candidates(p256(), "ES256"), 1U);
  EXPECT_EQ(candidates(p256(), "ES384"), 0U);
  EXPECT_EQ(candidates(p521(), "RS512"), 0U);
}

TEST(JsonWebKeySet, leaves_out_what_checks_no_signatures_and_keeps_the_rest) {
  json other_use = p256();
  other_use["use"] = "enc";
  json other_operation = p256();
  other_operation["key_ops"] = {"sign"};
  json other_algorithm = rsa(rsa_modulus);
  other_algorithm["alg"] = "RSA-OAEP";
  json number_as_id = p256();
  number_as_id["kid"] = 5;
  const json keys = {other_use,
                     other_operation,
                     other_algorithm,
                     number_as_id,
                     "text",
                     nullptr,
                     json{{"kty", "oct"}, {"k", "AAAA"}},
                     json::object(),
                     p256()};
  const auto set = JsonWebKeySet::parse(json{{"keys", keys}, {"more", 1}}.dump());
  ASSERT_TRUE(set);
  EXPECT_EQ(set->size(), 1U);
  EXPECT_EQ(set->left_out(), keys.size() - 1);
}

TEST(JsonWebKeySet, a_key_may_say_that_it_checks_signatures) {
  json key = p256();
  key["use"] = "sig";
  key["key_ops"] = {"verify"};
  key["alg"] = "ES256";
  EXPECT_EQ(usable(key), 1U);
}

TEST(JsonWebKeySet, weak_and_monstrous_keys_are_left_out) {
  json key = rsa(rsa_modulus);
  for (const auto* exponent : {"AQ", "Ag", "AA", "", "AQABAQABAQABAQAB"}) {
    key["e"] = exponent;
    EXPECT_EQ(usable(key), 0U) << exponent;
  }
  key["e"] = "Aw";
  EXPECT_EQ(usable(key), 1U);
  EXPECT_EQ(usable(rsa(std::string(169, 'A') + "B")), 0U);  // zeros in front, then a small number
  EXPECT_EQ(usable(rsa("_" + std::string(169, 'w'))), 0U);  // 1020 bits
  EXPECT_EQ(usable(rsa("_" + std::string(1365, 'w') + "E")), 0U) << "8202 bits";
  EXPECT_EQ(usable(rsa("_" + std::string(20'000, 'w'))), 0U);
}

TEST(JsonWebKeySet, points_off_the_curve_are_left_out) {
  json key = p256();
  key["x"] = "x_FEzRu9m36HLN_tue659LNpXW6pCyStikYjKIWI5a0";
  EXPECT_EQ(usable(key), 0U);
  key = p256();
  key["y"] = "";
  EXPECT_EQ(usable(key), 0U);
  key = p256();
  key["x"] = "AAAA" + key["x"].get<std::string>();
  EXPECT_EQ(usable(key), 0U) << "wider than the curve";
  key = p256();
  key["crv"] = "secp256k1";
  EXPECT_EQ(usable(key), 0U);
}

TEST(JsonWebKeySet, refuses_what_is_no_key_set) {
  for (const auto* text :
       {"", "[]", "{", "{}", R"({"keys":{}})", R"({"keys":[],"keys":[]})", "null", "<html>"})
    EXPECT_FALSE(JsonWebKeySet::parse(text)) << text;
  EXPECT_FALSE(JsonWebKeySet::parse(json{{"keys", std::vector<int>(1001)}}.dump()));
  EXPECT_FALSE(JsonWebKeySet::parse(R"({"keys":[],"x":")" + std::string(1 << 20, 'x') + R"("})"));
  EXPECT_EQ(JsonWebKeySet::parse(R"({"keys":[]})").value().size(), 0U);
}

TEST(Base64Url, has_one_spelling_for_each_value) {
  EXPECT_EQ(decode_base64url("").value(), "");
  EXPECT_EQ(decode_base64url("Zg").value(), "f");
  EXPECT_EQ(decode_base64url("Zm8").value(), "fo");
  EXPECT_EQ(decode_base64url("Zm9v").value(), "foo");
  EXPECT_EQ(decode_base64url("_-8").value(), "\xFF\xEF");
  for (const auto* bad : {"Zg==", "Zh", "Zm9", "Z", "Zm9vY", "Zm 9v", "Zm9v\n", "+/8", "Zm9v.", "\xFFm9v"})
    EXPECT_FALSE(decode_base64url(bad)) << bad;
}

}  // namespace
}  // namespace barnabas::security
