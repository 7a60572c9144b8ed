#include "coordinator/consumer_regex.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>

#include "coordinator/consumer_test_support.h"
#include "protocol/reader.h"

namespace barnabas::coordinator {
namespace {

constexpr std::size_t longest = protocol::string_bytes_max;

/// As often as fits.
std::string repeated(std::string_view part, std::size_t size) {
  std::string all;
  while (all.size() + part.size() <= size) all += part;
  return all;
}

std::string wrong_with(std::string_view regex) {
  const auto checked = check_regex(regex);
  return checked ? "nothing" : checked.error();
}

#ifdef __SANITIZE_ADDRESS__
constexpr long kilobytes_max = 256'000;  // what is freed stays, and each allocation has its fences
#else
constexpr long kilobytes_max = 64'000;
#endif

/// What the process has used so far. The memory is its peak.
struct Used {
  std::chrono::microseconds processor;
  long kilobytes;

  static Used now() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return {std::chrono::seconds(usage.ru_utime.tv_sec) + std::chrono::microseconds(usage.ru_utime.tv_usec),
            usage.ru_maxrss};
  }
};

TEST(ConsumerRegex, repetitions_of_repetitions_are_refused) {
  EXPECT_EQ(wrong_with("((((a{100}){100}){100}){100})"), "invalid repeat count");
  EXPECT_EQ(wrong_with("(a{10}|b){101}"), "invalid repeat count");
  EXPECT_EQ(wrong_with("(a{10}|b){100}"), "nothing");
  EXPECT_EQ(wrong_with("(a{0}){1000}"), "nothing");
}

TEST(ConsumerRegex, a_large_one_without_large_repetitions_is_welcome) {
  EXPECT_EQ(wrong_with(std::string(longest, 'a')), "nothing");
  EXPECT_EQ(wrong_with(repeated("name-of-a-topic|", longest)), "nothing");
  EXPECT_EQ(wrong_with("a{1000}" + std::string(longest - 1'000, 'a')), "nothing");
}

TEST(ConsumerRegex, what_looks_like_a_repetition_and_is_none_counts_once) {
  for (const char* part :
       {"\\Qa{999}\\E", "[a{999}]", "a\\{999}", "\\x{999}", "a{,999}", "a{999", "\\p{Greek}"})
    EXPECT_EQ(wrong_with(repeated(part, 800)), "nothing") << part;
}

TEST(ConsumerRegex, what_only_one_of_the_two_dialects_knows_is_refused) {
  EXPECT_EQ(wrong_with("(?<x>a)(?<x>b)"), "duplicate capture group name");
  EXPECT_EQ(wrong_with("(?<x>a)(?P<x>b)"), "duplicate capture group name");
  EXPECT_EQ(wrong_with("(?<x>a)(?<y>b)"), "nothing");
  EXPECT_EQ(wrong_with("a\\C"), "invalid escape sequence");
  EXPECT_EQ(wrong_with("\\\\C\\Q\\C\\E"), "nothing");
}

TEST(ConsumerRegex, whatever_it_is_it_takes_little_time_and_memory) {
  const std::string letters = "[\\pL\\PN]";
  for (const std::string& hostile :
       {std::string(10'000'000, 'a'), std::string(1'000'000, '('), repeated("a{1000}", longest),
        repeated("a{0,1000}", longest), repeated("\\pL{0,999}", longest), repeated("\\pL", longest),
        repeated("(?i)\\pL|", longest), repeated(letters, longest), repeated("(?:a{0,31}){0,31}", longest),
        repeated("a?", longest), repeated("()", longest),
        "(?:" + repeated("a{0,9}b?", longest - 20) + "){0,99}", repeated("(", longest),
        repeated("(?:a?", longest / 2) + std::string(longest / 6, ')')}) {
    SCOPED_TRACE(hostile.substr(0, 20));
    const Used before = Used::now();
    wrong_with(hostile);
    const Used after = Used::now();
    EXPECT_LT(after.processor - before.processor, std::chrono::seconds(5));  // with sanitizers
    EXPECT_LT(after.kilobytes - before.kilobytes, kilobytes_max);
  }
}

TEST(ConsumerRegex, a_member_with_one_that_is_too_large_is_told_so_in_an_answer_that_fits) {
  testing::ConsumerShard shard;
  for (const std::string& regex :
       {std::string("((((a{100}){100}){100}){100})"), repeated("a{1000}", longest)}) {
    auto request = testing::join_request("g", "m", {});
    request.subscribed_topic_regex = protocol::String(regex);
    const auto response = shard.heartbeat(request);
    ASSERT_TRUE(response);
    EXPECT_EQ(response->error_code, static_cast<int16_t>(protocol::ErrorCode::invalid_regular_expression));
    EXPECT_LE(response->error_message->view().size(), protocol::string_bytes_max);
    EXPECT_EQ(shard.group("g"), nullptr);
  }
}

}  // namespace
}  // namespace barnabas::coordinator
