#include "broker/handlers/transaction_handlers_test_support.h"

/// What nobody who means well sends, to all handlers of transactions.
namespace barnabas::broker {
namespace {

using protocol::String;
using testing::TransactionHandlersTest;

class HostileTest : public TransactionHandlersTest {
 protected:
  /// Requests with something in every array, so that they can be torn in each of them.
  template <class Check>
  static void for_each_request(Check check) {
    check(protocol::InitProducerIdRequest{.transactional_id = String("id"), .unknown_tags = {}});
    protocol::AddPartitionsToTxnRequest of_client;
    of_client.v3_and_below_transactional_id = String("id");
    of_client.v3_and_below_topics.emplace_back().name = String("t");
    of_client.v3_and_below_topics.back().partitions = {0};
    check(of_client);
    protocol::AddPartitionsToTxnRequest of_broker;
    of_broker.transactions.emplace_back().transactional_id = String("id");
    of_broker.transactions.back().topics = of_client.v3_and_below_topics;
    check(of_broker);
    protocol::AddOffsetsToTxnRequest offsets;
    offsets.transactional_id = String("id");
    offsets.group_id = String("group");
    check(offsets);
    protocol::EndTxnRequest end;
    end.transactional_id = String("id");
    check(end);
    protocol::WriteTxnMarkersRequest markers;
    markers.markers.emplace_back().topics.emplace_back().name = String("t");
    markers.markers.back().topics.back().partition_indexes = {0};
    check(markers);
    protocol::TxnOffsetCommitRequest commit;
    commit.transactional_id = String("id");
    commit.group_id = String("group");
    commit.topics.emplace_back();
    commit.topics.back().partitions.emplace_back().committed_metadata = String("metadata");
    check(commit);
    protocol::DescribeTransactionsRequest described;
    described.transactional_ids.emplace_back("id");
    check(described);
    protocol::ListTransactionsRequest listed;
    listed.state_filters.emplace_back("Empty");
    listed.producer_id_filters = {1};
    check(listed);
    protocol::DescribeProducersRequest producers;
    producers.topics.emplace_back().name = String("t");
    producers.topics.back().partition_indexes = {0};
    check(producers);
  }
  /// Those that are served.
  template <class Request>
  static std::vector<int16_t> versions() {
    std::vector<int16_t> all;
    for_each_version<Request>([&](int16_t version) { all.push_back(version); });
    return all;
  }
  /// Those of them that can carry this request.
  template <class Request>
  static std::vector<int16_t> versions_of(const Request& request) {
    std::vector<int16_t> all = versions<Request>();
    std::erase_if(all, [&](int16_t version) {
      protocol::Writer writer;
      request.encode(writer, version);
      return !writer.ok();
    });
    EXPECT_FALSE(all.empty());
    return all;
  }
  /// Strings that are null where none may be, and counts that nothing follows, one at each place in turn.
  template <class Request>
  void send_with_lies(const Request& request, int16_t version) {
    const auto good = bytes_of(request, version);
    for (std::size_t at = 8; at < good.size(); ++at)
      for (const auto& lie : lies_) {
        auto bad = good;
        for (std::size_t i = 0; i < lie.size() && at + i < bad.size(); ++i)
          bad[at + i] = static_cast<std::byte>(lie[i]);
        // Whether it is answered depends on what the bytes are; that something comes is what counts.
        EXPECT_TRUE(connection->send(bad)->wait()) << "at " << at;
      }
  }

  const std::vector<std::vector<int>> lies_{
      {0xff, 0xff, 0xff, 0xff}, {0x7f, 0xff, 0xff, 0xff}, {0xff, 0xff, 0xff, 0xff, 0x0f}, {0x00}, {0x80}};
};

TEST_F(HostileTest, a_torn_request_closes_its_connection_wherever_it_is_torn) {
  for_each_request([&](const auto& request) {
    using Request = std::remove_cvref_t<decltype(request)>;
    for (const int16_t version : versions_of(request)) {
      const auto whole = bytes_of(request, version);
      for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_TRUE(closes(ByteView(whole).first(size)))
            << protocol::name(Request::api_key) << " v" << version << " torn at " << size;
    }
  });
}

TEST_F(HostileTest, lies_about_sizes_and_null_names_get_an_answer_or_the_door) {
  for_each_request([&](const auto& request) {
    for (const int16_t version : versions_of(request)) send_with_lies(request, version);
  });
  EXPECT_TRUE(machine.init("still here"));
}

TEST_F(HostileTest, versions_that_are_not_served_close_the_connection) {
  for_each_request([&](const auto& request) {
    using Request = std::remove_cvref_t<decltype(request)>;
    const auto served = versions<Request>();
    auto bytes = bytes_of(request, versions_of(request).back());
    for (const int version : {served.front() - 1, served.back() + 1, -32'768, 32'767}) {
      bytes[2] = static_cast<std::byte>(version >> 8);
      bytes[3] = static_cast<std::byte>(version & 0xff);
      EXPECT_TRUE(closes(bytes)) << protocol::name(Request::api_key) << " v" << version;
    }
  });
}

TEST_F(HostileTest, many_of_everything_are_answered_to_the_last) {
  constexpr std::size_t many = 20'000;
  const auto producer = init("id");
  protocol::AddPartitionsToTxnRequest add;
  for (std::size_t i = 0; i < many; ++i) {
    auto& one = add.transactions.emplace_back(
        by<protocol::AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction>(producer));
    if (i % 2 == 1) one.transactional_id = String("nobody");
    one.topics.emplace_back().name = String("t");
    one.topics.back().partitions = {0, 0};
  }
  EXPECT_EQ(ask(add, 5)->results_by_transaction.size(), many);

  protocol::WriteTxnMarkersRequest markers;
  auto& marker = markers.markers.emplace_back();
  marker.producer_id = 7'000;
  for (std::size_t i = 0; i < many; ++i) {
    marker.topics.emplace_back().name = String("nope");
    marker.topics.back().partition_indexes = {static_cast<int32_t>(i), 0};
  }
  EXPECT_EQ(ask(markers, 2)->markers.at(0).topics.at(0).partitions.size(), many);

  protocol::ListTransactionsRequest listed;
  for (std::size_t i = 0; i < many; ++i) {
    listed.state_filters.emplace_back(std::to_string(i));
    listed.producer_id_filters.push_back(static_cast<int64_t>(i) + 1'000'000);
  }
  const auto list = ask(listed, 2);
  EXPECT_EQ(list->unknown_state_filters.size(), many);
  EXPECT_TRUE(list->transaction_states.empty());

  protocol::DescribeTransactionsRequest described;
  for (std::size_t i = 0; i < many; ++i)
    described.transactional_ids.emplace_back(i % 2 == 0 ? "id" : "nobody");
  EXPECT_EQ(ask(described, 0)->transaction_states.size(), many);
}

}  // namespace
}  // namespace barnabas::broker
