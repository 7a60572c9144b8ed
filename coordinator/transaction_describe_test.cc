#include <gtest/gtest.h>

#include <algorithm>

#include "coordinator/transaction_test_support.h"

namespace barnabas::coordinator::testing {
namespace {

using protocol::ListTransactionsRequest;
using protocol::ListTransactionsResponse;

/// "empty" has nothing, "open" a transaction since 5 seconds, "done" committed one 8 seconds after it began,
/// 1 second ago.
class ListTransactions : public ::testing::Test {
 protected:
  ListTransactions() {
    scene_.init("empty");
    const Producer done = scene_.init("done");
    const Producer open = scene_.init("open");
    scene_.add("done", done, "t", {0});
    scene_.advance(std::chrono::seconds(4));
    scene_.add("open", open, "u", {1, 2});
    scene_.advance(std::chrono::seconds(4));
    scene_.end("done", done, true);
    scene_.write_markers();
    scene_.advance(std::chrono::seconds(1));
  }

  std::string list(const ListTransactionsRequest& request) {
    const auto filter = TransactionFilter::of(request);
    if (!filter) return std::to_string(static_cast<int>(filter.error()));
    auto [reply, answer] = reply_and_answer<std::vector<ListTransactionsResponse::TransactionState>>();
    scene_.carry_out(scene_.shard().list(scene_.context(2), *filter, std::move(reply)));
    std::vector<std::string> listed;
    for (const auto& one : answer->response())
      listed.push_back(one.transactional_id.str() + "=" + one.transaction_state.str() + "/" +
                       std::to_string(one.producer_id));
    std::ranges::sort(listed);
    std::string text;
    for (const auto& one : listed) text += (text.empty() ? "" : " ") + one;
    return text;
  }
  std::string list_states(const std::vector<std::string>& states) {
    ListTransactionsRequest request;
    for (const auto& state : states) request.state_filters.emplace_back(state);
    return list(request);
  }
  std::string list_pattern(std::string_view pattern) {
    ListTransactionsRequest request;
    request.transactional_id_pattern = protocol::String(pattern);
    return list(request);
  }
  std::string list_longer_than(int64_t milliseconds) {
    ListTransactionsRequest request;
    request.duration_filter = milliseconds;
    return list(request);
  }

  static constexpr const char* all_ = "done=CompleteCommit/1001 empty=Empty/1000 open=Ongoing/1002";
  TransactionScene scene_;
};

TEST_F(ListTransactions, without_filters_has_all) {
  EXPECT_EQ(list({}), all_);
}

TEST_F(ListTransactions, by_state_takes_the_names_to_the_letter) {
  EXPECT_EQ(list_states({"Ongoing"}), "open=Ongoing/1002");
  EXPECT_EQ(list_states({"Empty", "CompleteCommit"}), "done=CompleteCommit/1001 empty=Empty/1000");
  EXPECT_EQ(list_states({"ongoing"}), "");
  EXPECT_EQ(list_states({"Nonsense", "Empty"}), "empty=Empty/1000");
  EXPECT_EQ(list_states({"Dead"}), "");
}

TEST_F(ListTransactions, tells_of_states_that_nobody_knows_each_once_in_their_order) {
  ListTransactionsRequest request;
  for (const char* name : {"b", "Empty", "", "b", "a", "empty", ""}) request.state_filters.emplace_back(name);
  const auto filter = TransactionFilter::of(request);
  ASSERT_TRUE(filter);
  EXPECT_EQ(filter->unknown_states(), (std::vector<std::string_view>{"b", "", "a", "empty"}));
}

TEST_F(ListTransactions, by_producer_id) {
  ListTransactionsRequest request;
  request.producer_id_filters = {1002, 1000, 5};
  EXPECT_EQ(list(request), "empty=Empty/1000 open=Ongoing/1002");
  request.producer_id_filters = {5};
  EXPECT_EQ(list(request), "");
}

TEST_F(ListTransactions, by_duration_has_those_that_began_longer_ago) {
  EXPECT_EQ(list_longer_than(-1), all_);
  EXPECT_EQ(list_longer_than(4'999), all_);
  // What never began began in 1969, as Kafka counts.
  EXPECT_EQ(list_longer_than(5'000), "done=CompleteCommit/1001 empty=Empty/1000");
  EXPECT_EQ(list_longer_than(100'000), "empty=Empty/1000");
}

TEST_F(ListTransactions, by_pattern_matches_the_whole_id) {
  EXPECT_EQ(list_pattern(""), all_);
  EXPECT_EQ(list_pattern("o.*"), "open=Ongoing/1002");
  EXPECT_EQ(list_pattern("pen"), "");
  EXPECT_EQ(list_pattern("(?i)DONE|(?<name>empty)"), "done=CompleteCommit/1001 empty=Empty/1000");
  EXPECT_EQ(list_pattern("("), "128");
  EXPECT_EQ(list_pattern("(?=o)open"), "128");
}

TEST_F(ListTransactions, must_pass_all_filters) {
  ListTransactionsRequest request;
  request.transactional_id_pattern = protocol::String("o.*|d.*");
  request.duration_filter = 6'000;
  EXPECT_EQ(list(request), "done=CompleteCommit/1001");
  request.state_filters.emplace_back("Ongoing");
  EXPECT_EQ(list(request), "");
}

TEST_F(ListTransactions, are_described_one_by_one) {
  auto [reply, answer] = reply_and_answer<protocol::DescribeTransactionsResponse::TransactionState>();
  scene_.carry_out(scene_.shard().describe("open", std::move(reply)));
  const auto& open = answer->response();
  EXPECT_EQ(open.transactional_id, "open");
  EXPECT_EQ(open.transaction_state, "Ongoing");
  EXPECT_EQ(open.transaction_timeout_ms, 60000);
  EXPECT_EQ(open.transaction_start_time_ms, scene_.now().wall.value() - 5'000);
  EXPECT_EQ(open.producer_id, 1002);
  EXPECT_EQ(open.producer_epoch, 0);
  ASSERT_EQ(open.topics.size(), 1u);
  EXPECT_EQ(open.topics[0].topic, "u");
  EXPECT_EQ(open.topics[0].partitions, (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(scene_.describe("nobody"), "105");
  EXPECT_EQ(scene_.describe(""), "42");
}

TEST(TransactionStates, are_known_by_their_names) {
  for (int8_t number = 0; number <= 7; ++number) {
    const auto state = static_cast<TransactionState>(number);
    EXPECT_EQ(transaction_state_of(name_of(state)), state);
  }
  EXPECT_EQ(transaction_state_of("PrepareEpochFence"), TransactionState::prepare_epoch_fence);
  EXPECT_FALSE(transaction_state_of(""));
}

}  // namespace
}  // namespace barnabas::coordinator::testing
