#include "app/scram_argument.h"

#include <gtest/gtest.h>

#include "security/base64.h"
#include "security/scram_keys.h"

namespace barnabas::app {
namespace {

using metadata::ScramMechanism;

std::string refusal(std::string_view argument) {
  const auto credential = parse_scram_argument(argument);
  EXPECT_FALSE(credential) << argument;
  return credential ? "" : credential.error().message;
}

TEST(ScramArgument, a_password_becomes_a_credential_with_a_salt_of_its_own) {
  const auto one = parse_scram_argument("SCRAM-SHA-256=[name=alice,password=alice-secret]");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->key, (metadata::ScramKey{ScramMechanism::sha_256, "alice"}));
  EXPECT_EQ(one->iterations, 4096);
  EXPECT_EQ(one->salt.size(), 26u);
  const auto salted =
      security::scram_salted_password(ScramMechanism::sha_256, "alice-secret", one->salt, 4096);
  EXPECT_EQ(one->stored_key, security::scram_stored_key(ScramMechanism::sha_256, salted));
  EXPECT_EQ(one->server_key, security::scram_server_key(ScramMechanism::sha_256, salted));
  EXPECT_NE(parse_scram_argument("SCRAM-SHA-256=[name=alice,password=alice-secret]")->salt, one->salt);
}

TEST(ScramArgument, salt_iterations_and_a_salted_password_can_be_given) {
  const auto one = parse_scram_argument(
      "SCRAM-SHA-512=[name=alice,iterations=8192,salt=\"N3E=\",saltedpassword=\"YCE=\"]");
  ASSERT_TRUE(one) << one.error().message;
  EXPECT_EQ(one->key.mechanism, ScramMechanism::sha_512);
  EXPECT_EQ(one->iterations, 8192);
  EXPECT_EQ(as_text(one->salt), "7q");
  EXPECT_EQ(one->stored_key, security::scram_stored_key(ScramMechanism::sha_512, as_byte_view("`!")));
  const auto two = parse_scram_argument("SCRAM-SHA-512=[name=a=b,salt=N3E=,password=\"p=w\"]");
  ASSERT_TRUE(two) << two.error().message;
  EXPECT_EQ(two->key.user, "a=b");
  const auto salted =
      security::scram_salted_password(ScramMechanism::sha_512, "p=w", as_byte_view("7q"), 4096);
  EXPECT_EQ(two->stored_key, security::scram_stored_key(ScramMechanism::sha_512, salted));
}

TEST(ScramArgument, what_is_wrong_is_said_without_the_password) {
  EXPECT_NE(refusal("SCRAM-SHA-256=[name=a,password=]").find("password is empty"), std::string::npos);
  EXPECT_NE(refusal("SCRAM-SHA-256").find("no equals sign"), std::string::npos);
  EXPECT_NE(refusal("SCRAM-SHA-1=[name=a,password=hunter2]").find("SCRAM-SHA-1 is not supported"),
            std::string::npos);
  EXPECT_NE(refusal("SCRAM-SHA-256=name=a,password=hunter2]").find("start with ["), std::string::npos);
  EXPECT_NE(refusal("SCRAM-SHA-256=[name=a,password=hunter2").find("end with ]"), std::string::npos);
  EXPECT_NE(refusal("SCRAM-SHA-256=[password=hunter2]").find("supply 'name'"), std::string::npos);
  EXPECT_NE(refusal("SCRAM-SHA-256=[name=a]").find("one of 'password' or 'saltedpassword'"),
            std::string::npos);
  EXPECT_NE(refusal("SCRAM-SHA-256=[name=a,saltedpassword=YCE=]").find("supply 'salt'"), std::string::npos);
  EXPECT_NE(refusal("SCRAM-SHA-256=[name=a,password=x,iterations=4095]").find(">= 4096"), std::string::npos);
  EXPECT_NE(refusal("SCRAM-SHA-256=[name=a,password=x,iterations=16385]").find("<= 16384"),
            std::string::npos);
  EXPECT_NE(refusal("SCRAM-SHA-256=[name=a,password=x,iterations=many]").find("no number"),
            std::string::npos);
  EXPECT_NE(refusal("SCRAM-SHA-256=[name=a,password=x,salt=!]").find("no Base64"), std::string::npos);
  EXPECT_NE(
      refusal("SCRAM-SHA-256=[name=a,password=x,hunter=2]").find("Unknown SCRAM configurations: hunter"),
      std::string::npos);
  EXPECT_EQ(refusal("SCRAM-SHA-256=[name=a,password=hunter,2]").find("hunter"), std::string::npos);
}

}  // namespace
}  // namespace barnabas::app
