#include <gtest/gtest.h>

#include "http/server.h"

namespace barnabas::http {
namespace {

TEST(Address, is_host_and_port) {
  const auto plain = parse_address("127.0.0.1:9644");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "127.0.0.1");
  EXPECT_EQ(plain->port, 9644);
  EXPECT_EQ(plain->to_string(), "127.0.0.1:9644");
  EXPECT_EQ(parse_address("[::1]:0")->host, "::1");
  EXPECT_EQ(parse_address("[::1]:0")->to_string(), "[::1]:0");
  EXPECT_EQ(parse_address("*:80")->host, "");
  EXPECT_EQ(parse_address(":80")->to_string(), "*:80");
}

TEST(Address, that_is_none_says_what_is_expected) {
  for (const char* text : {"", "9644", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:-1",
                           "127.0.0.1:80x", "::1:9644", "::1"}) {
    const auto address = parse_address(text);
    ASSERT_FALSE(address) << text;
    EXPECT_EQ(address.error().kind, ErrorKind::invalid);
    EXPECT_NE(address.error().message.find("expected host:port"), std::string::npos) << text;
  }
}

}  // namespace
}  // namespace barnabas::http
