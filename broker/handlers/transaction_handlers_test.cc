#include <set>

#include "broker/handlers/transaction_handlers_test_support.h"

/// Handlers that speak of one transactional id, or ask about many.
namespace barnabas::broker {
namespace {

using protocol::AddOffsetsToTxnRequest;
using protocol::DescribeTransactionsRequest;
using protocol::EndTxnRequest;
using protocol::ErrorCode;
using protocol::FindCoordinatorRequest;
using protocol::InitProducerIdRequest;
using protocol::ListTransactionsRequest;
using protocol::String;
using testing::TestProducer;
using testing::TransactionHandlersTest;

// --- InitProducerId

class InitProducerIdTest : public TransactionHandlersTest {
 protected:
  static InitProducerIdRequest wanted(std::optional<String> id, int64_t producer = -1, int16_t epoch = -1) {
    InitProducerIdRequest request;
    request.transactional_id = std::move(id);
    request.transaction_timeout_ms = 60'000;
    request.producer_id = producer;
    request.producer_epoch = epoch;
    return request;
  }
  void expect_refused(const InitProducerIdRequest& request, int16_t version, ErrorCode error) {
    const auto answer = ask(request, version);
    ASSERT_NE(answer, nullptr);
    EXPECT_EQ(code(answer->error_code), error);
    EXPECT_EQ(answer->producer_id, -1);
    EXPECT_EQ(answer->producer_epoch, -1);
  }
};

TEST_F(InitProducerIdTest, gives_each_idempotent_producer_an_id_of_its_own_whatever_it_says_of_timeouts) {
  std::set<int64_t> seen;
  int16_t count = 0;
  for_each_version<InitProducerIdRequest>([&](int16_t version) {
    auto request = wanted(std::nullopt);
    request.transaction_timeout_ms = -5;
    const auto answer = ask(request, version);
    ASSERT_NE(answer, nullptr);
    EXPECT_EQ(code(answer->error_code), ErrorCode::none);
    EXPECT_EQ(answer->producer_epoch, 0);
    seen.insert(answer->producer_id);
    ++count;
  });
  EXPECT_EQ(std::ssize(seen), count);
}

TEST_F(InitProducerIdTest, raises_the_epoch_of_a_transactional_id_each_time) {
  int16_t expected = 0;
  for_each_version<InitProducerIdRequest>([&](int16_t version) {
    const auto answer = ask(wanted(String("id")), version);
    ASSERT_NE(answer, nullptr);
    EXPECT_EQ(code(answer->error_code), ErrorCode::none);
    EXPECT_EQ(answer->producer_epoch, expected++);
  });
}

TEST_F(InitProducerIdTest, refuses_what_cannot_be) {
  for_each_version<InitProducerIdRequest>([&](int16_t version) {
    expect_refused(wanted(String("")), version, ErrorCode::invalid_request);
    for (const int32_t timeout : {0, -1, 900'001}) {
      auto request = wanted(String("id"));
      request.transaction_timeout_ms = timeout;
      expect_refused(request, version, ErrorCode::invalid_transaction_timeout);
    }
    if (version < 3) return;
    expect_refused(wanted(String("id"), 5, -1), version, ErrorCode::invalid_request);
    expect_refused(wanted(String("id"), -1, 0), version, ErrorCode::invalid_request);
    expect_refused(wanted(std::nullopt, -1, 0), version, ErrorCode::invalid_request);
  });
}

TEST_F(InitProducerIdTest, tells_a_fenced_producer_so_in_the_words_of_its_version) {
  const TestProducer producer = init("id");
  for_each_version<InitProducerIdRequest>([&](int16_t version) {
    if (version < 3) return;
    const ErrorCode fenced = version < 4 ? ErrorCode::invalid_producer_epoch : ErrorCode::producer_fenced;
    expect_refused(wanted(String("id"), producer.id.value(), 99), version, fenced);
    expect_refused(wanted(String("id"), producer.id.value() + 1, 0), version, fenced);
  });
}

// --- AddOffsetsToTxn and EndTxn

class OneTransactionTest : public TransactionHandlersTest {
 protected:
  template <class Request>
  ErrorCode error_of(const Request& request, int16_t version) {
    const auto answer = ask(request, version);
    return answer == nullptr ? ErrorCode::unknown_server_error : code(answer->error_code);
  }
  static AddOffsetsToTxnRequest offsets_by(const TestProducer& producer) {
    auto request = by<AddOffsetsToTxnRequest>(producer);
    request.group_id = String("group");
    return request;
  }
  static EndTxnRequest end_by(const TestProducer& producer, bool commit = true) {
    auto request = by<EndTxnRequest>(producer);
    request.committed = commit;
    return request;
  }
  static ErrorCode fenced_in(int16_t version) {
    return version < 2 ? ErrorCode::invalid_producer_epoch : ErrorCode::producer_fenced;
  }
  /// Wrong in each way that does not depend on the state of the transaction.
  template <class Make>
  void expect_wrong_producers_refused(const TestProducer& producer, int16_t version, Make make) {
    auto wrong = producer;
    wrong.transactional_id = "";
    EXPECT_EQ(error_of(make(wrong), version), ErrorCode::invalid_request);
    wrong.transactional_id = "nobody";
    EXPECT_EQ(error_of(make(wrong), version), ErrorCode::invalid_producer_id_mapping);
    wrong = producer;
    wrong.id = ProducerId{producer.id.value() + 1};
    EXPECT_EQ(error_of(make(wrong), version), ErrorCode::invalid_producer_id_mapping);
    for (const int epoch : {producer.epoch.value() - 1, producer.epoch.value() + 1, -1, 32'767}) {
      wrong = producer;
      wrong.epoch = ProducerEpoch(static_cast<int16_t>(epoch));
      EXPECT_EQ(error_of(make(wrong), version), fenced_in(version)) << "epoch " << epoch;
    }
  }
};

TEST_F(OneTransactionTest, add_offsets_begins_a_transaction_with_the_groups_partition) {
  for_each_version<AddOffsetsToTxnRequest>([&](int16_t version) {
    const std::string id = "id-" + std::to_string(version);
    EXPECT_EQ(error_of(offsets_by(init(id)), version), ErrorCode::none);
    DescribeTransactionsRequest question;
    question.transactional_ids.emplace_back(id);
    const auto described = ask(question, 0);
    ASSERT_NE(described, nullptr);
    ASSERT_EQ(described->transaction_states.at(0).topics.size(), 1U);
    EXPECT_EQ(described->transaction_states[0].topics[0].topic, "__consumer_offsets");
    EXPECT_EQ(described->transaction_states[0].topics[0].partitions, std::vector<int32_t>{0});
  });
}

TEST_F(OneTransactionTest, add_offsets_refuses_other_producers_and_takes_a_group_without_a_name) {
  const TestProducer producer = init("id");
  for_each_version<AddOffsetsToTxnRequest>([&](int16_t version) {
    expect_wrong_producers_refused(producer, version, offsets_by);
    auto nameless = offsets_by(producer);
    nameless.group_id = String("");
    EXPECT_EQ(error_of(nameless, version), ErrorCode::none);
  });
}

TEST_F(OneTransactionTest, end_refuses_other_producers_and_what_was_not_begun) {
  const TestProducer producer = init("id");
  for_each_version<EndTxnRequest>([&](int16_t version) {
    expect_wrong_producers_refused(producer, version, [](const TestProducer& one) { return end_by(one); });
    EXPECT_EQ(error_of(end_by(producer, true), version), ErrorCode::invalid_txn_state);
    if (version < 5) {
      EXPECT_EQ(error_of(end_by(producer, false), version), ErrorCode::invalid_txn_state);
    }
  });
}

TEST_F(OneTransactionTest, end_says_from_version_5_on_with_which_epoch_to_go_on) {
  for_each_version<EndTxnRequest>([&](int16_t version) {
    TestProducer producer = init("id-" + std::to_string(version));
    ASSERT_TRUE(machine.write(producer, "t", 0, "value"));
    const auto ended = ask(end_by(producer), version);
    ASSERT_NE(ended, nullptr);
    EXPECT_EQ(code(ended->error_code), ErrorCode::none);
    EXPECT_EQ(ended->producer_id, version < 5 ? -1 : producer.id.value());
    EXPECT_EQ(ended->producer_epoch, version < 5 ? -1 : producer.epoch.value() + 1);
    EXPECT_TRUE(machine.comes_to(producer.transactional_id, "CompleteCommit"));
    // The same once more is a repeat; the opposite is not.
    EXPECT_EQ(error_of(end_by(producer, true), version), ErrorCode::none);
    EXPECT_EQ(error_of(end_by(producer, false), version), ErrorCode::invalid_txn_state);
  });
}

TEST_F(OneTransactionTest, errors_of_version_5_carry_nobodys_id) {
  const auto refused = ask(end_by(init("id")), 5);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->producer_id, -1);
  EXPECT_EQ(refused->producer_epoch, -1);
}

TEST_F(OneTransactionTest, whoever_comes_when_it_stops_may_come_again) {
  TestProducer producer = init("id");
  ASSERT_TRUE(machine.write(producer, "t", 0, "value"));
  machine.stop_coordinators();
  EXPECT_EQ(error_of(end_by(producer), 5), ErrorCode::coordinator_not_available);
  EXPECT_EQ(error_of(offsets_by(producer), 4), ErrorCode::coordinator_not_available);
}

// --- questions

TEST_F(TransactionHandlersTest, describe_answers_each_id_in_order_also_unknown_and_repeated_ones) {
  TestProducer producer = init("open");
  ASSERT_TRUE(machine.write(producer, "t", 2, "value"));
  (void)init("empty");
  DescribeTransactionsRequest question;
  for (const char* id : {"open", "nobody", "", "empty", "open"}) question.transactional_ids.emplace_back(id);
  const auto told = ask(question, 0);
  ASSERT_NE(told, nullptr);
  std::vector<std::string> seen;
  for (const auto& one : told->transaction_states)
    seen.push_back(one.transactional_id.str() + "=" + one.transaction_state.str() + "/" +
                   std::to_string(one.error_code));
  EXPECT_EQ(seen, (std::vector<std::string>{"open=Ongoing/0", "nobody=/105", "=/42", "empty=Empty/0",
                                            "open=Ongoing/0"}));
  EXPECT_TRUE(ask(DescribeTransactionsRequest{}, 0)->transaction_states.empty());
}

TEST_F(TransactionHandlersTest, list_filters_and_tells_of_states_that_nobody_knows) {
  TestProducer producer = init("open");
  ASSERT_TRUE(machine.write(producer, "t", 2, "value"));
  (void)init("empty");
  for_each_version<ListTransactionsRequest>([&](int16_t version) {
    const auto all = ask(ListTransactionsRequest{}, version);
    ASSERT_NE(all, nullptr);
    EXPECT_EQ(all->transaction_states.size(), 2U);
    ListTransactionsRequest question;
    for (const char* state : {"Nonsense", "Ongoing", "Nonsense", "ongoing"})
      question.state_filters.emplace_back(state);
    const auto told = ask(question, version);
    ASSERT_NE(told, nullptr);
    ASSERT_EQ(told->unknown_state_filters.size(), 2U);
    EXPECT_EQ(told->unknown_state_filters[0], "Nonsense");
    EXPECT_EQ(told->unknown_state_filters[1], "ongoing");
    ASSERT_EQ(told->transaction_states.size(), 1U);
    EXPECT_EQ(told->transaction_states[0].transactional_id, "open");
    EXPECT_EQ(told->transaction_states[0].producer_id, producer.id.value());
    question.producer_id_filters = {producer.id.value() + 1'000};
    EXPECT_TRUE(ask(question, version)->transaction_states.empty());
  });
}

TEST_F(TransactionHandlersTest, list_refuses_a_pattern_that_is_none_and_says_nothing_else) {
  (void)init("id");
  ListTransactionsRequest question;
  question.state_filters.emplace_back("Nonsense");
  for (const char* bad : {"(", "a(?=b)", "(?<x>a)(?<x>b)", "(a{1000}){1000}"}) {
    question.transactional_id_pattern = String(bad);
    const auto told = ask(question, 2);
    ASSERT_NE(told, nullptr);
    EXPECT_EQ(code(told->error_code), ErrorCode::invalid_regular_expression) << bad;
    EXPECT_TRUE(told->unknown_state_filters.empty());
    EXPECT_TRUE(told->transaction_states.empty());
  }
  question.state_filters.clear();
  for (const char* good : {"", "i.", "(?i)ID"}) {
    question.transactional_id_pattern = String(good);
    EXPECT_EQ(ask(question, 2)->transaction_states.size(), 1U) << good;
  }
}

TEST_F(TransactionHandlersTest, find_coordinator_names_this_broker_for_each_transactional_id) {
  for_each_version<FindCoordinatorRequest>([&](int16_t version) {
    if (version < 1) return;
    FindCoordinatorRequest question;
    question.key_type = 1;
    if (version < 4) {
      question.key = String("id");
    } else {
      for (const char* key : {"id", "", "id", "other"}) question.coordinator_keys.emplace_back(key);
    }
    const auto told = ask(question, version);
    ASSERT_NE(told, nullptr);
    if (version < 4) {
      EXPECT_EQ(code(told->error_code), ErrorCode::none);
      EXPECT_EQ(told->node_id, 1);
      EXPECT_EQ(told->host, "localhost");
      EXPECT_EQ(told->port, 9092);
      return;
    }
    ASSERT_EQ(told->coordinators.size(), 4U);
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(told->coordinators[i].key, question.coordinator_keys[i]);
      EXPECT_EQ(code(told->coordinators[i].error_code), ErrorCode::none);
      EXPECT_EQ(told->coordinators[i].port, 9092);
    }
  });
}

TEST_F(TransactionHandlersTest, find_coordinator_knows_no_other_types) {
  for (const int type : {2, 3, -1, 127}) {
    FindCoordinatorRequest question;
    question.key_type = static_cast<int8_t>(type);
    question.coordinator_keys.emplace_back("id");
    const auto told = ask(question, 6);
    ASSERT_NE(told, nullptr);
    EXPECT_EQ(code(told->coordinators.at(0).error_code), ErrorCode::invalid_request) << type;
    EXPECT_EQ(told->coordinators[0].node_id, -1);
  }
}

}  // namespace
}  // namespace barnabas::broker
