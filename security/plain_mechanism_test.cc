#include "security/plain_mechanism.h"

#include <gtest/gtest.h>

namespace barnabas::security {
namespace {

using namespace std::string_literals;

SaslStep step_of(const std::string& message) {
  const PlainMechanism mechanism(PlainUsers{{"alice", "alice-secret"}, {"bob", ""}});
  return mechanism.begin()->respond(as_byte_view(message), TimestampMs(0));
}
std::string refusal(const std::string& message) {
  const auto step = step_of(message);
  EXPECT_EQ(step.state, SaslStep::State::failed);
  return step.message;
}

TEST(Plain, the_right_password_makes_the_principal) {
  const PlainMechanism mechanism(PlainUsers{{"alice", "alice-secret"}});
  for (const std::string& message : {"\0alice\0alice-secret"s, "alice\0alice\0alice-secret"s}) {
    const auto exchange = mechanism.begin();
    const auto step = exchange->respond(as_byte_view(message), TimestampMs(0));
    EXPECT_EQ(step.state, SaslStep::State::complete);
    EXPECT_TRUE(step.bytes.empty());
    EXPECT_EQ(exchange->principal().to_string(), "User:alice");
    EXPECT_EQ(exchange->expires_at(), std::nullopt);
  }
}

TEST(Plain, an_unknown_user_and_a_wrong_password_are_told_the_same) {
  const std::string same = "Authentication failed: Invalid username or password";
  EXPECT_EQ(refusal("\0alice\0wrong"s), same);
  EXPECT_EQ(refusal("\0nobody\0alice-secret"s), same);
  EXPECT_EQ(refusal("\0Alice\0alice-secret"s), same);
  EXPECT_EQ(refusal("\0bob\0x"s), same);
  // Who he claims to be for is looked at only once he has shown who he is.
  EXPECT_EQ(refusal("admin\0alice\0wrong"s), same);
}

TEST(Plain, malformed_messages_are_refused_with_the_texts_of_kafka) {
  EXPECT_EQ(refusal(""), "Invalid SASL/PLAIN response: expected 3 tokens, got 1");
  EXPECT_EQ(refusal("alice\0alice-secret"s), "Invalid SASL/PLAIN response: expected 3 tokens, got 2");
  EXPECT_EQ(refusal("\0alice\0alice-secret\0"s), "Invalid SASL/PLAIN response: expected 3 tokens, got 4");
  EXPECT_EQ(refusal(std::string(1000, '\0')), "Invalid SASL/PLAIN response: expected 3 tokens, got 4");
  EXPECT_EQ(refusal("\0\0alice-secret"s), "Authentication failed: username not specified");
  EXPECT_EQ(refusal("\0alice\0"s), "Authentication failed: password not specified");
  EXPECT_EQ(refusal("bob\0alice\0alice-secret"s),
            "Authentication failed: Client requested an authorization id that is different from username");
}

}  // namespace
}  // namespace barnabas::security
