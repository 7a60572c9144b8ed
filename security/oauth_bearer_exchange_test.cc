#include "security/oauth_bearer_exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "security/oauth_bearer_message.h"

namespace barnabas::security {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;
using State = SaslStep::State;

std::string message(std::string_view token, std::string_view before = "n,,",
                    std::string_view extensions = "") {
  return std::string(before) + "\x01" + "auth=Bearer " + std::string(token) + "\x01" +
         std::string(extensions) + "\x01";
}

Result<OAuthBearerMessage> parse(std::string_view text) {
  return OAuthBearerMessage::parse(as_byte_view(text));
}

TEST(OAuthBearerMessage, holds_a_token_a_name_and_extensions) {
  const auto read = parse(message("abc.def-_~+/==", "n,a=alice,", "traceId=a b\x01logicalCluster=lkc=1\x01"));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(read->token, "abc.def-_~+/==");
  EXPECT_EQ(read->as_whom, "alice");
  EXPECT_THAT(read->extensions, testing::ElementsAre(testing::Pair("logicalCluster", "lkc=1"),
                                                     testing::Pair("traceId", "a b")));
  EXPECT_EQ(parse(message("x"))->as_whom, "");
  EXPECT_EQ(parse(message("x", "n,a=a=2Cb=3D,"))->as_whom, "a,b=");
  EXPECT_EQ(parse("n,,\x01"
                  "auth=bEARER   x\x01\x01")
                ->token,
            "x");
  EXPECT_EQ(parse("n,,\x01"
                  "e=1\x01"
                  "auth=Bearer x\x01\x01")
                ->token,
            "x");
}

TEST(OAuthBearerMessage, of_another_form_is_refused) {
  const std::string good = message("x", "n,a=alice,", "e=1\x01");
  ASSERT_TRUE(parse(good));
  for (std::size_t size = 0; size < good.size(); ++size) EXPECT_FALSE(parse(good.substr(0, size))) << size;
  const std::vector<std::string> bad{message("x", "y,,"),
                                     message("x", "p=tls-unique,,"),
                                     message("x", "n"),
                                     message("x", "n,"),
                                     message("x", "n,,,"),
                                     message("x", "n,a=,"),
                                     message("x", "n,a=a=b,"),
                                     message("x", "n,a=\xC3\xA4,"),
                                     message("x", "n,b=c,"),
                                     message(""),
                                     message("="),
                                     message("a b"),
                                     message("a,b"),
                                     message("a\tb"),
                                     message("\xFF"),
                                     message("x") + "x",
                                     message("x", "n,,", "e=\x01"),
                                     message("x", "n,,", "=1\x01"),
                                     message("x", "n,,", "e\x01"),
                                     message("x", "n,,", "e1=1\x01"),
                                     message("x", "n,,", "e=\x7F\x01"),
                                     message("x", "n,,",
                                             "e=1\x01"
                                             "e=2\x01"),
                                     message("x", "n,,", "auth=Bearer y\x01"),
                                     "n,,\x01\x01",
                                     "n,,\x01"
                                     "auth=Basic x\x01\x01",
                                     "n,,\x01"
                                     "auth=Bearer\x01\x01",
                                     "n,,\x01"
                                     "auth=\x01\x01",
                                     "n,,\x01"
                                     "Auth=Bearer x\x01\x01",
                                     good + std::string(1, '\0')};
  for (const std::string& text : bad) EXPECT_FALSE(parse(text)) << text;
}

/// Keys that never change, and how often somebody missed one.
class FixedKeys final : public TokenKeys {
 public:
  explicit FixedKeys(std::shared_ptr<const JsonWebKeySet> keys) : keys_(std::move(keys)) {}
  std::shared_ptr<const JsonWebKeySet> current() const override { return keys_; }
  void look_again() override { ++asked; }

  int asked = 0;

 private:
  std::shared_ptr<const JsonWebKeySet> keys_;
};

class OAuthBearer : public testing::Test {
 protected:
  OAuthBearer() {
    std::ifstream file(BARNABAS_SOURCE_DIR "/security/testdata/tokens.json");
    data_ = json::parse(file);
    now_ = TimestampMs(data_["now"].get<int64_t>() * 1000);
    keys_ = std::make_shared<FixedKeys>(std::make_shared<const JsonWebKeySet>(
        JsonWebKeySet::parse(data_["keys"].get<std::string>()).value()));
    rules_.audiences = {"kafka"};
  }

  std::string token(std::string_view kind, std::string_view name) const {
    for (const json& item : data_[std::string(kind)])
      if (item["name"] == name) return item["token"].get<std::string>();
    ADD_FAILURE() << "no token " << name;
    return "";
  }
  OAuthBearerExchange exchange() const { return {rules_, keys_}; }
  SaslStep respond(OAuthBearerExchange& exchange, std::string_view text) const {
    return exchange.respond(as_byte_view(text), now_);
  }

  json data_;
  TimestampMs now_;
  TokenRules rules_;
  std::shared_ptr<FixedKeys> keys_;
};

TEST_F(OAuthBearer, a_right_token_says_who_and_until_when) {
  auto it = exchange();
  const auto step = respond(it, message(token("accepted", "RS256")));
  EXPECT_EQ(step.state, State::complete) << step.reason;
  EXPECT_TRUE(step.bytes.empty());
  EXPECT_EQ(it.principal().to_string(), "User:alice");
  EXPECT_EQ(it.expires_at(), TimestampMs(now_.value() + 600'000));
  EXPECT_EQ(keys_->asked, 0);
  EXPECT_FALSE(it.may_block());
}

TEST_F(OAuthBearer, a_wrong_token_is_challenged_and_fails_with_what_comes_next) {
  for (const auto* next : {"\x01", "", "anything"}) {
    auto it = exchange();
    auto step = respond(it, message(token("refused", "expired")));
    ASSERT_EQ(step.state, State::challenge);
    EXPECT_EQ(as_text(step.bytes), R"({"status":"invalid_token"})");
    step = respond(it, next);
    EXPECT_EQ(step.state, State::failed);
    EXPECT_EQ(step.message, R"({"status":"invalid_token"})");
    EXPECT_THAT(step.reason, HasSubstr("expired"));
  }
}

TEST_F(OAuthBearer, a_right_token_after_a_wrong_one_is_too_late) {
  auto it = exchange();
  ASSERT_EQ(respond(it, message(token("refused", "none"))).state, State::challenge);
  EXPECT_EQ(respond(it, message(token("accepted", "RS256"))).state, State::failed);
}

TEST_F(OAuthBearer, no_refused_token_gets_in) {
  for (const json& item : data_["refused"]) {
    // Of any issuer here, and blanks in front are the scheme's.
    if (item["why"] == "issuer" || item["why"] == "iss" || item["name"] == "blank in front") continue;
    auto it = exchange();
    EXPECT_NE(respond(it, message(item["token"].get<std::string>())).state, State::complete) << item["name"];
  }
}

TEST_F(OAuthBearer, the_name_asked_for_must_be_the_subject) {
  const std::string good = token("accepted", "RS256");
  auto it = exchange();
  EXPECT_EQ(respond(it, message(good, "n,a=alice,")).state, State::complete);
  auto other = exchange();
  const auto step = respond(other, message(good, "n,a=root,"));
  EXPECT_EQ(step.state, State::failed);
  EXPECT_EQ(
      step.message,
      "Authentication failed: Client requested an authorization id (root) that is different from the token's "
      "principal name (alice)");
}

TEST_F(OAuthBearer, a_malformed_message_fails_without_a_word_of_it) {
  auto it = exchange();
  const auto step = respond(it,
                            "n,,\x01"
                            "auth=Basic c2VjcmV0\x01\x01");
  EXPECT_EQ(step.state, State::failed);
  EXPECT_EQ(step.message, "");
  EXPECT_THAT(step.reason, Not(HasSubstr("c2VjcmV0")));
}

TEST_F(OAuthBearer, a_key_that_is_not_there_has_the_keys_looked_at_again) {
  for (const auto* name : {"unknown key", "small key"}) {
    const int before = keys_->asked;
    auto it = exchange();
    EXPECT_EQ(respond(it, message(token("refused", name))).state, State::challenge);
    EXPECT_EQ(keys_->asked, before + 1) << name;
  }
  auto it = exchange();
  EXPECT_EQ(respond(it, message(token("refused", "other key"))).state, State::challenge);
  EXPECT_EQ(keys_->asked, 2) << "a wrong signature is no reason";
}

TEST_F(OAuthBearer, without_keys_nobody_gets_in) {
  keys_ = std::make_shared<FixedKeys>(nullptr);
  auto it = exchange();
  EXPECT_EQ(respond(it, message(token("accepted", "RS256"))).state, State::challenge);
  EXPECT_EQ(keys_->asked, 1);
}

}  // namespace
}  // namespace barnabas::security
