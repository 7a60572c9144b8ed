#include "security/scram_mechanism.h"

#include <gtest/gtest.h>

#include <map>

#include "security/base64.h"
#include "security/delegation_token.h"
#include "security/metadata_identities.h"
#include "security/scram_messages.h"

namespace barnabas::security {
namespace {

constexpr std::string_view client_nonce = "rOprNGfwEbeRWgbNEkqO";
constexpr std::string_view server_nonce = "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0";
constexpr std::string_view salt = "W22ZaJ0SNY7soEsUEjb6gQ==";

class Users final : public ScramIdentities {
 public:
  void add(ScramMechanism mechanism, const std::string& name, std::string_view password,
           int32_t iterations = 4096) {
    auto credential = std::make_shared<metadata::ScramCredential>(
        scram_credential({mechanism, name}, password, *decode_base64(salt), std::max(iterations, 1)));
    credential->iterations = iterations;
    identities_[{mechanism, name}] = {credential, Principal{"User", name}};
  }
  std::optional<ScramIdentity> user(ScramMechanism mechanism, const std::string& name) const override {
    const auto at = identities_.find({mechanism, name});
    return at == identities_.end() ? std::nullopt : std::optional(at->second);
  }
  std::optional<ScramIdentity> token_owner(ScramMechanism mechanism, const std::string& id,
                                           TimestampMs) const override {
    auto identity = user(mechanism, id);
    if (identity) {
      identity->principal = {"User", "owner", true};
      identity->expires_at = TimestampMs(77);
    }
    return identity;
  }

 private:
  std::map<metadata::ScramKey, ScramIdentity> identities_;
};

class Scram : public testing::Test {
 protected:
  std::unique_ptr<SaslExchange> begin(ScramMechanism mechanism) {
    server_ =
        std::make_unique<ScramMechanismServer>(mechanism, users_, [] { return std::string(server_nonce); });
    return server_->begin();
  }
  static SaslStep say(SaslExchange& exchange, std::string_view message) {
    return exchange.respond(as_byte_view(message), TimestampMs(1000));
  }
  /// The client's last message, made with a password of its own.
  static std::string last_message(ScramMechanism mechanism, std::string_view first_bare,
                                  std::string_view challenge, std::string_view password,
                                  const std::string& before_nonce = "") {
    const auto nonce = challenge.substr(2, challenge.find(',') - 2);
    const std::string bare = "c=biws,r=" + before_nonce + std::string(nonce);
    const std::string text = std::string(first_bare) + "," + std::string(challenge) + "," + bare;
    const auto salted = scram_salted_password(mechanism, password, *decode_base64(salt), 4096);
    auto proof = scram_hmac(mechanism, salted, as_byte_view("Client Key"));
    const auto signature = scram_hmac(mechanism, scram_hash(mechanism, proof), as_byte_view(text));
    for (std::size_t i = 0; i < proof.size(); ++i) proof[i] ^= signature[i];
    return bare + ",p=" + encode_base64(proof);
  }

  std::shared_ptr<Users> users_ = std::make_shared<Users>();
  std::unique_ptr<ScramMechanismServer> server_;
};

void expect_vector(SaslExchange& exchange, std::string_view proof, std::string_view signature) {
  const auto first =
      exchange.respond(as_byte_view("n,,n=user,r=" + std::string(client_nonce)), TimestampMs(0));
  const std::string nonce = std::string(client_nonce) + std::string(server_nonce);
  ASSERT_EQ(first.state, SaslStep::State::challenge);
  EXPECT_EQ(as_text(first.bytes), "r=" + nonce + ",s=" + std::string(salt) + ",i=4096");
  const auto last =
      exchange.respond(as_byte_view("c=biws,r=" + nonce + ",p=" + std::string(proof)), TimestampMs(0));
  ASSERT_EQ(last.state, SaslStep::State::complete);
  EXPECT_EQ(as_text(last.bytes), "v=" + std::string(signature));
  EXPECT_EQ(exchange.principal().to_string(), "User:user");
}

TEST_F(Scram, the_example_of_rfc_7677_is_served_to_the_byte) {
  users_->add(ScramMechanism::sha_256, "user", "pencil");
  expect_vector(*begin(ScramMechanism::sha_256), "dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=",
                "6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4=");
}

TEST_F(Scram, the_same_exchange_with_sha_512_is_what_another_implementation_makes_of_it) {
  users_->add(ScramMechanism::sha_512, "user", "pencil");
  expect_vector(*begin(ScramMechanism::sha_512),
                "gMGXRcevScNtxZ6/8lQYpGtnsNAc3mGcmNomv+xnoOMw"
                "+3R2xNJdMNnzMlTN8PPC6wdp6dybEmDYXYTxwnYPJQ==",
                "ZQnYEgWQMFmmsM8aQMF0nDDCy/AgCzkwk8CmMZYcMg0v"
                "SVlKDanekLtifDSeVGT4+5ZxXnJq199RVG2rR7N7Zw==");
}

TEST_F(Scram, a_wrong_password_and_an_unknown_user_are_told_nothing) {
  users_->add(ScramMechanism::sha_256, "user", "pencil");
  auto exchange = begin(ScramMechanism::sha_256);
  const auto challenge = say(*exchange, "n,,n=user,r=abc");
  const auto wrong =
      say(*exchange, last_message(ScramMechanism::sha_256, "n=user,r=abc", as_text(challenge.bytes), "pen"));
  EXPECT_EQ(wrong.state, SaslStep::State::failed);
  EXPECT_EQ(wrong.message, "");
  EXPECT_EQ(wrong.reason, "wrong password");
  const auto unknown = say(*begin(ScramMechanism::sha_256), "n,,n=nobody,r=abc");
  EXPECT_EQ(unknown.state, SaslStep::State::failed);
  EXPECT_EQ(unknown.message, "");
  // A user of the other hash is not one of this.
  EXPECT_EQ(say(*begin(ScramMechanism::sha_512), "n,,n=user,r=abc").state, SaslStep::State::failed);
}

TEST_F(Scram, names_with_commas_and_equals_signs_come_escaped) {
  users_->add(ScramMechanism::sha_256, "a,b=c", "pencil");
  auto exchange = begin(ScramMechanism::sha_256);
  const auto challenge = say(*exchange, "n,a=a=2Cb=3Dc,n=a=2Cb=3Dc,r=abc");
  // Kafka compares who it is to be for as it is escaped, so that only plain names pass.
  EXPECT_EQ(challenge.state, SaslStep::State::failed);
  exchange = begin(ScramMechanism::sha_256);
  const auto again = say(*exchange, "n,,n=a=2Cb=3Dc,r=abc");
  ASSERT_EQ(again.state, SaslStep::State::challenge);
  EXPECT_EQ(say(*exchange,
                last_message(ScramMechanism::sha_256, "n=a=2Cb=3Dc,r=abc", as_text(again.bytes), "pencil"))
                .state,
            SaslStep::State::complete);
  EXPECT_EQ(exchange->principal().name, "a,b=c");
}

TEST_F(Scram, a_client_that_puts_its_nonce_in_front_twice_is_let_in) {
  users_->add(ScramMechanism::sha_256, "user", "pencil");
  auto exchange = begin(ScramMechanism::sha_256);
  const auto challenge = say(*exchange, "n,,n=user,r=abc");
  EXPECT_EQ(say(*exchange, last_message(ScramMechanism::sha_256, "n=user,r=abc", as_text(challenge.bytes),
                                        "pencil", "abc"))
                .state,
            SaslStep::State::complete);
}

TEST_F(Scram, nobody_acts_for_another) {
  users_->add(ScramMechanism::sha_256, "user", "pencil");
  const auto step = say(*begin(ScramMechanism::sha_256), "n,a=admin,n=user,r=abc");
  EXPECT_EQ(step.state, SaslStep::State::failed);
  EXPECT_EQ(step.message,
            "Authentication failed: Client requested an authorization id that is different from username");
  EXPECT_EQ(say(*begin(ScramMechanism::sha_256), "n,a=user,n=user,r=abc").state, SaslStep::State::challenge);
}

TEST_F(Scram, the_token_extension_asks_for_the_owner_of_a_token) {
  users_->add(ScramMechanism::sha_256, "token-id", "pencil");
  for (const std::string extensions : {"tokenauth=true", "x=y,tokenauth=TRUE"}) {
    auto exchange = begin(ScramMechanism::sha_256);
    const std::string bare = "n=token-id,r=abc," + extensions;
    const auto challenge = say(*exchange, "n,," + bare);
    ASSERT_EQ(challenge.state, SaslStep::State::challenge);
    const auto last =
        say(*exchange, last_message(ScramMechanism::sha_256, bare, as_text(challenge.bytes), "pencil"));
    ASSERT_EQ(last.state, SaslStep::State::complete);
    EXPECT_EQ(exchange->principal().to_string(), "User:owner");
    EXPECT_TRUE(exchange->principal().token_authenticated);
    EXPECT_EQ(exchange->expires_at(), TimestampMs(77));
  }
  auto exchange = begin(ScramMechanism::sha_256);
  const auto challenge = say(*exchange, "n,,n=token-id,r=abc,tokenauth=false");
  ASSERT_EQ(challenge.state, SaslStep::State::challenge);
}

TEST_F(Scram, malformed_first_messages_fail) {
  users_->add(ScramMechanism::sha_256, "user", "pencil");
  for (const std::string_view message : {"",
                                         "n",
                                         "n,",
                                         "n,,",
                                         "n,,n=,r=abc",
                                         "n,,n=user",
                                         "n,,n=user,",
                                         "n,,n=user,r=",
                                         "y,,n=user,r=abc",
                                         "p=tls-unique,,n=user,r=abc",
                                         "n,user,n=user,r=abc",
                                         "n,,n=us=er,r=abc",
                                         "n,,n=user=2,r=abc",
                                         "n,,n=user,r=a c",
                                         "n,,n=user,r=abc,",
                                         "n,,n=user,r=abc,=x",
                                         "n,,n=user,r=abc,x=",
                                         "n,,n=user,r=abc,1=x",
                                         "n,,r=abc,n=user",
                                         "n,,m=,n=user,r=abc",
                                         "n,,n=us\xC3\xA9r,r=abc",
                                         "n,a=,n=user,r=abc",
                                         "\0\0\0"})
    EXPECT_EQ(say(*begin(ScramMechanism::sha_256), message).state, SaslStep::State::failed) << message;
  EXPECT_EQ(say(*begin(ScramMechanism::sha_256), std::string_view("n,,n=us\0er,r=abc", 16)).state,
            SaslStep::State::failed);
  EXPECT_EQ(say(*begin(ScramMechanism::sha_256), "n,,m=x,n=user,r=abc,x=y").state,
            SaslStep::State::challenge);
}

TEST_F(Scram, malformed_last_messages_fail) {
  users_->add(ScramMechanism::sha_256, "user", "pencil");
  const std::string nonce = "abc" + std::string(server_nonce);
  for (const std::string& message :
       {std::string(), std::string("c=biws"), "c=biws,r=" + nonce, "c=biws,r=" + nonce + ",",
        "c=biws,r=" + nonce + ",p=", "c=biws,r=" + nonce + ",p=AAAA", "c=biws,r=" + nonce + ",p=A",
        "c=biws,r=" + nonce + ",p=AA==AAAA",
        "c=biws,r=" + nonce + ",p=A\nAAAA==", "c=bi,r=" + nonce + ",p=AAAA", "r=" + nonce + ",c=biws,p=AAAA",
        std::string("c=biws,r=abc,p=AAAA"), "c=biws,r=" + nonce + ",p=" + encode_base64(ScramBytes(32)),
        "c=biws,r=" + nonce + ",p=" + encode_base64(ScramBytes(64))}) {
    auto exchange = begin(ScramMechanism::sha_256);
    ASSERT_EQ(say(*exchange, "n,,n=user,r=abc").state, SaslStep::State::challenge);
    EXPECT_EQ(say(*exchange, message).state, SaslStep::State::failed) << message;
  }
}

TEST_F(Scram, a_credential_of_too_few_iterations_is_not_used) {
  users_->add(ScramMechanism::sha_256, "user", "pencil", 4095);
  EXPECT_EQ(say(*begin(ScramMechanism::sha_256), "n,,n=user,r=abc").state, SaslStep::State::failed);
}

TEST(ScramNonce, is_long_and_never_the_same) {
  const std::string one = scram_random_text();
  EXPECT_EQ(one.size(), 26u);
  EXPECT_NE(one, scram_random_text());
}

metadata::MetadataImagePtr image_with_token(TimestampMs expires, TimestampMs at_last) {
  auto image = std::make_shared<metadata::MetadataImage>();
  metadata::DelegationToken token;
  token.id = "token-id";
  token.owner = "User:alice:with colon";
  token.expires = expires;
  token.expires_at_last = at_last;
  image->delegation_tokens.put(std::make_shared<const metadata::DelegationToken>(token));
  image->scram_credentials.put(std::make_shared<const metadata::ScramCredential>(
      scram_credential({ScramMechanism::sha_256, "alice"}, "alice-secret", *decode_base64(salt), 4096)));
  return image;
}

TEST(MetadataIdentities, a_token_belongs_to_its_owner_until_it_expires) {
  auto image = image_with_token(TimestampMs(100), TimestampMs(200));
  const MetadataIdentities identities([&] { return image; }, "secret");
  const auto found = identities.token_owner(ScramMechanism::sha_512, "token-id", TimestampMs(100));
  ASSERT_TRUE(found);
  EXPECT_EQ(found->principal.to_string(), "User:alice:with colon");
  EXPECT_TRUE(found->principal.token_authenticated);
  EXPECT_EQ(found->expires_at, TimestampMs(100));
  const auto salted = scram_salted_password(
      ScramMechanism::sha_512,
      "XX8uVzOO8ffB9wVSkYk/+Uyfi+0JWexBTDsJGS4WsMhODpo6VQV5W0Xl2/ROpCmoRI8BuJWgH3uHTXELz3fZNA==",
      found->credential->salt, 4096);
  EXPECT_EQ(found->credential->stored_key, scram_stored_key(ScramMechanism::sha_512, salted));
  // The second time it is the same one, not made anew.
  EXPECT_EQ(identities.token_owner(ScramMechanism::sha_512, "token-id", TimestampMs(100))->credential,
            found->credential);
  EXPECT_FALSE(identities.token_owner(ScramMechanism::sha_512, "token-id", TimestampMs(101)));
  image = image_with_token(TimestampMs(100), TimestampMs(50));
  EXPECT_FALSE(identities.token_owner(ScramMechanism::sha_512, "token-id", TimestampMs(51)));
  EXPECT_FALSE(identities.token_owner(ScramMechanism::sha_512, "other", TimestampMs(0)));
  EXPECT_FALSE(identities.user(ScramMechanism::sha_512, "token-id"));
  EXPECT_TRUE(identities.user(ScramMechanism::sha_256, "alice"));
  EXPECT_FALSE(identities.user(ScramMechanism::sha_512, "alice"));
}

TEST(MetadataIdentities, without_a_secret_key_there_are_no_tokens) {
  const auto image = image_with_token(TimestampMs(100), TimestampMs(200));
  const MetadataIdentities identities([&] { return image; }, "");
  EXPECT_FALSE(identities.token_owner(ScramMechanism::sha_256, "token-id", TimestampMs(0)));
}

TEST(Base64, only_the_standard_form_is_taken) {
  for (const std::string_view text : {"", "QQ==", "QUI=", "QUJD", "QUJDRA=="})
    EXPECT_EQ(encode_base64(decode_base64(text).value()), text);
  for (const std::string_view text : {"Q", "QQ", "QQ=", "Q===", "====", "QQ==QQ==", "QQ-=", "Q Q=", "QQ=\n"})
    EXPECT_FALSE(decode_base64(text)) << text;
}

}  // namespace
}  // namespace barnabas::security
