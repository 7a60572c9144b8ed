#include "protocol/error_code.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace barnabas::protocol {
namespace {

TEST(ErrorCode, has_the_number_and_name_of_kafka) {
  EXPECT_EQ(to_wire(ErrorCode::unknown_server_error), -1);
  EXPECT_EQ(to_wire(ErrorCode::none), 0);
  EXPECT_EQ(to_wire(ErrorCode::not_leader_or_follower), 6);
  EXPECT_EQ(name(ErrorCode::offset_out_of_range), "OFFSET_OUT_OF_RANGE");
  EXPECT_EQ(error_code(87), ErrorCode::invalid_record);
  EXPECT_EQ(error_code(-2), std::nullopt);
  EXPECT_EQ(error_code(137), std::nullopt);
}

TEST(ErrorCode, says_whether_clients_retry) {
  EXPECT_TRUE(is_retriable(ErrorCode::not_leader_or_follower));
  EXPECT_FALSE(is_retriable(ErrorCode::message_too_large));
  EXPECT_FALSE(is_retriable(ErrorCode::none));
}

TEST(ErrorCode, every_one_has_a_sentence_of_its_own) {
  std::set<std::string> seen;
  for (int16_t number = -1; number <= 136; ++number) {
    const auto code = error_code(number);
    ASSERT_TRUE(code) << number;
    const std::string sentence(default_message(*code));
    EXPECT_TRUE(sentence.ends_with('.')) << sentence;
    EXPECT_TRUE(seen.insert(sentence).second) << sentence;
  }
}

}  // namespace
}  // namespace barnabas::protocol
