#include "security/json_web_token.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "security/base64url.h"

namespace barnabas::security {
namespace {

using nlohmann::json;
using testing::HasSubstr;

/// Keys and tokens that security/testdata/make_tokens.py made.
struct Vectors {
  json data;
  JsonWebKeySet keys;
  TimestampMs now;
};

const Vectors& vectors() {
  static const Vectors all = [] {
    std::ifstream file(BARNABAS_SOURCE_DIR "/security/testdata/tokens.json");
    json data = json::parse(file);
    auto keys = JsonWebKeySet::parse(data["keys"].get<std::string>());
    const TimestampMs now(data["now"].get<int64_t>() * 1000);
    return Vectors{std::move(data), std::move(keys.value()), now};
  }();
  return all;
}

TokenRules rules() {
  TokenRules rules;
  rules.audiences = {"another-cluster", "kafka"};
  rules.issuer = "https://issuer.example";
  return rules;
}

Result<AcceptedToken> check(std::string_view text, const TokenRules& by = rules(),
                            TimestampMs now = vectors().now) {
  BARNABAS_ASSIGN(const auto token, JsonWebToken::parse(text));
  return token.check(vectors().keys, by, now);
}

std::string token_named(const std::string& name) {
  for (const json& item : vectors().data["accepted"])
    if (item["name"] == name) return item["token"].get<std::string>();
  ADD_FAILURE() << "no token " << name;
  return "";
}

std::string reason(const Result<AcceptedToken>& result) {
  return result ? "accepted" : result.error().message;
}

TEST(JsonWebToken, accepts_what_another_library_signed) {
  ASSERT_GT(vectors().data["accepted"].size(), 15U);
  for (const json& item : vectors().data["accepted"]) {
    const auto accepted = check(item["token"].get<std::string>());
    EXPECT_EQ(reason(accepted), "accepted") << item["name"];
    EXPECT_EQ(accepted.value_or(AcceptedToken()).subject, "alice") << item["name"];
  }
}

TEST(JsonWebToken, refuses_hostile_and_unfitting_ones_for_the_right_reason) {
  ASSERT_GT(vectors().data["refused"].size(), 70U);
  for (const json& item : vectors().data["refused"]) {
    const auto result = check(item["token"].get<std::string>());
    EXPECT_THAT(reason(result), HasSubstr(item["why"].get<std::string>())) << item["name"];
  }
}

TEST(JsonWebToken, any_other_signature_bit_is_wrong) {
  for (const auto* name : {"RS256", "PS256", "ES256", "ES384", "ES512"}) {
    const std::string good = token_named(name);
    const std::size_t begin = good.rfind('.') + 1;
    for (std::size_t at = begin; at < good.size(); at += 7) {
      std::string bad = good;
      bad[at] = bad[at] == 'A' ? 'B' : 'A';
      EXPECT_FALSE(check(bad)) << name << " " << at;
    }
  }
}

TEST(JsonWebToken, every_truncation_is_refused) {
  const std::string good = token_named("ES256");
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(check(good.substr(0, size))) << size;
}

TEST(JsonWebToken, an_unknown_key_is_told_from_a_wrong_signature) {
  for (const json& item : vectors().data["refused"]) {
    const auto result = check(item["token"].get<std::string>());
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind == ErrorKind::not_found, item["why"] == "no key") << item["name"];
  }
}

TEST(JsonWebToken, says_nothing_of_the_token_in_errors) {
  for (const json& item : vectors().data["refused"]) {
    const auto result = check(item["token"].get<std::string>());
    EXPECT_LT(reason(result).size(), 100U) << reason(result);
  }
}

TEST(JsonWebToken, ends_when_it_says) {
  const auto accepted = check(token_named("RS256"));
  ASSERT_TRUE(accepted);
  EXPECT_EQ(accepted->expires_at, TimestampMs(vectors().now.value() + 600'000));
  EXPECT_EQ(check(token_named("fraction of a second"))->expires_at, accepted->expires_at);
}

TEST(JsonWebToken, clock_skew_is_of_whole_seconds_on_both_ends) {
  TokenRules exact = rules();
  exact.clock_skew = std::chrono::seconds(0);
  const std::string token = token_named("RS256");
  const auto at = [](int64_t ms) { return TimestampMs(vectors().now.value() + ms); };
  EXPECT_TRUE(check(token, exact, at(599'999)));
  EXPECT_FALSE(check(token, exact, at(600'000)));
  EXPECT_TRUE(check(token, rules(), at(629'999)));
  EXPECT_FALSE(check(token, rules(), at(630'000)));
  EXPECT_FALSE(check(token_named("not yet valid within the skew"), exact));
}

TEST(JsonWebToken, without_expectations_any_issuer_and_audience_will_do) {
  for (const json& item : vectors().data["refused"])
    if (item["name"] == "other issuer" || item["name"] == "other audience" || item["name"] == "no audience") {
      EXPECT_EQ(reason(check(item["token"].get<std::string>(), TokenRules())), "accepted") << item["name"];
    }
}

TEST(JsonWebToken, name_and_scope_come_from_the_claims_of_these_names) {
  EXPECT_THAT(check(token_named("scope text"))->scopes, testing::ElementsAre("a b"));
  EXPECT_THAT(check(token_named("scope list"))->scopes, testing::ElementsAre("a", "b"));
  EXPECT_THAT(check(token_named("scope of another type"))->scopes, testing::IsEmpty());
  TokenRules other = rules();
  other.subject_claim = "iss";
  EXPECT_EQ(check(token_named("RS256"), other)->subject, "https://issuer.example");
  other.subject_claim = "client_id";
  EXPECT_THAT(reason(check(token_named("RS256"), other)), HasSubstr("client_id"));
}

TEST(JsonWebToken, without_a_key_id_the_keys_that_fit_are_tried_up_to_a_bound) {
  const json all = json::parse(vectors().data["keys"].get<std::string>());
  const json* key = nullptr;
  for (const json& item : all["keys"])
    if (item["kid"] == "rsa") key = &item;
  ASSERT_NE(key, nullptr);
  json other = *key;
  // The same modulus with another exponent: a key that fits and checks nothing.
  other["e"] = "Aw";
  const std::string text = token_named("no key id");
  const auto token = JsonWebToken::parse(text);
  ASSERT_TRUE(token);
  for (std::size_t before = 0; before < 6; ++before) {
    json keys = json::array();
    for (std::size_t i = 0; i < before; ++i) keys.push_back(other);
    keys.push_back(*key);
    const auto set = JsonWebKeySet::parse(json{{"keys", keys}}.dump());
    ASSERT_TRUE(set);
    EXPECT_EQ(token->check(*set, rules(), vectors().now).has_value(), before < JsonWebKeySet::candidates_max);
  }
}

}  // namespace
}  // namespace barnabas::security
