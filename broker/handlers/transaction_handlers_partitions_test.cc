#include "broker/handlers/transaction_handlers_test_support.h"

/// Handlers that speak of partitions: each is answered for itself.
namespace barnabas::broker {
namespace {

using protocol::AddPartitionsToTxnRequest;
using protocol::AddPartitionsToTxnResponse;
using protocol::DescribeProducersRequest;
using protocol::ErrorCode;
using protocol::String;
using protocol::TxnOffsetCommitRequest;
using protocol::WriteTxnMarkersRequest;
using testing::TestProducer;
using testing::TransactionHandlersTest;

using Partitions = std::vector<std::pair<std::string, std::vector<int32_t>>>;
constexpr int16_t first_of_brokers = 4;

// --- AddPartitionsToTxn

class AddPartitionsTest : public TransactionHandlersTest {
 protected:
  template <class Topic>
  static std::vector<Topic> topics_of(const Partitions& partitions) {
    std::vector<Topic> topics;
    for (const auto& [name, indexes] : partitions) {
      auto& topic = topics.emplace_back();
      topic.name = String(name);
      topic.partitions = indexes;
    }
    return topics;
  }
  static AddPartitionsToTxnRequest of_client(const TestProducer& producer, const Partitions& partitions) {
    AddPartitionsToTxnRequest request;
    request.v3_and_below_transactional_id = String(producer.transactional_id);
    request.v3_and_below_producer_id = producer.id.value();
    request.v3_and_below_producer_epoch = producer.epoch.value();
    request.v3_and_below_topics = topics_of<AddPartitionsToTxnRequest::AddPartitionsToTxnTopic>(partitions);
    return request;
  }
  static void add_of_broker(AddPartitionsToTxnRequest& request, const TestProducer& producer,
                            const Partitions& partitions, bool verify_only) {
    auto& one = request.transactions.emplace_back(
        by<AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction>(producer));
    one.verify_only = verify_only;
    one.topics = topics_of<AddPartitionsToTxnRequest::AddPartitionsToTxnTopic>(partitions);
  }
  static std::string text_of(
      const std::vector<AddPartitionsToTxnResponse::AddPartitionsToTxnTopicResult>& topics) {
    std::string text;
    for (const auto& topic : topics)
      for (const auto& one : topic.results_by_partition)
        text += (text.empty() ? "" : " ") + topic.name.str() + "-" + std::to_string(one.partition_index) +
                "=" + std::to_string(one.partition_error_code);
    return text;
  }
  /// As a client until version 3, as a broker that adds from 4 on.
  std::string add(const TestProducer& producer, const Partitions& partitions, int16_t version,
                  bool verify_only = false) {
    AddPartitionsToTxnRequest request;
    if (version >= first_of_brokers)
      add_of_broker(request, producer, partitions, verify_only);
    else
      request = of_client(producer, partitions);
    const auto answer = ask(request, version);
    if (answer == nullptr) return "none";
    EXPECT_EQ(answer->error_code, 0);
    if (version < first_of_brokers) return text_of(answer->results_by_topic_v3_and_below);
    EXPECT_EQ(answer->results_by_transaction.size(), 1U);
    EXPECT_EQ(answer->results_by_transaction.at(0).transactional_id, producer.transactional_id);
    return text_of(answer->results_by_transaction[0].topic_results);
  }
};

TEST_F(AddPartitionsTest, are_answered_one_by_one_also_those_that_come_twice) {
  for_each_version<AddPartitionsToTxnRequest>([&](int16_t version) {
    const TestProducer producer = init("id-" + std::to_string(version));
    EXPECT_EQ(add(producer, {{"t", {2, 0, 2}}}, version), "t-2=0 t-0=0 t-2=0");
    EXPECT_EQ(add(producer, {{"t", {0}}, {"t", {1}}}, version), "t-0=0 t-1=0");
    EXPECT_EQ(add(producer, {}, version), "");
    EXPECT_EQ(add(producer, {{"t", {}}}, version), "");
  });
}

TEST_F(AddPartitionsTest, one_that_does_not_exist_keeps_the_others_out) {
  for_each_version<AddPartitionsToTxnRequest>([&](int16_t version) {
    const TestProducer producer = init("id-" + std::to_string(version));
    EXPECT_EQ(add(producer, {{"t", {0, 3, -1}}, {"nope", {0}}}, version), "t-0=55 t-3=3 t--1=3 nope-0=3");
    EXPECT_EQ(machine.state_of(producer.transactional_id), "Empty");
  });
}

TEST_F(AddPartitionsTest, clients_cannot_add_internal_topics_and_brokers_can) {
  const TestProducer producer = init("id");
  for_each_version<AddPartitionsToTxnRequest>([&](int16_t version) {
    const bool broker = version >= first_of_brokers;
    EXPECT_EQ(add(producer, {{"t", {0}}, {"__consumer_offsets", {0}}}, version),
              broker ? "t-0=0 __consumer_offsets-0=0" : "t-0=55 __consumer_offsets-0=29");
  });
}

TEST_F(AddPartitionsTest, wrong_producers_are_refused_for_every_partition) {
  const TestProducer producer = init("id");
  for_each_version<AddPartitionsToTxnRequest>([&](int16_t version) {
    const auto told = [&](std::string id, int64_t offset, int epoch) {
      return add({std::move(id), ProducerId{producer.id.value() + offset},
                  ProducerEpoch(static_cast<int16_t>(epoch))},
                 {{"t", {0, 1}}}, version);
    };
    EXPECT_EQ(told("", 0, 0), "t-0=42 t-1=42");
    EXPECT_EQ(told("nobody", 0, 0), "t-0=49 t-1=49");
    EXPECT_EQ(told("id", 1, 0), "t-0=49 t-1=49");
    for (const int epoch : {-1, 1, 32'767})
      EXPECT_EQ(told("id", 0, epoch), version < 2 ? "t-0=47 t-1=47" : "t-0=90 t-1=90");
    EXPECT_EQ(machine.state_of("id"), "Empty");
  });
}

TEST_F(AddPartitionsTest, verification_only_looks) {
  const TestProducer producer = init("id");
  for (const int16_t version : {4, 5}) {
    EXPECT_EQ(add(producer, {{"t", {1}}}, version, true), "t-1=120");
    EXPECT_EQ(add(producer, {{"t", {0}}}, version), "t-0=0");
    EXPECT_EQ(add(producer, {{"t", {1, 0}}}, version, true), "t-1=120 t-0=0");
    EXPECT_EQ(add(producer, {{"t", {9}}}, version, true), "t-9=3");
  }
}

TEST_F(AddPartitionsTest, of_many_transactions_each_has_its_own_answer_in_order) {
  const TestProducer one = init("one");
  const TestProducer two = init("two");
  for (const int16_t version : {4, 5}) {
    AddPartitionsToTxnRequest request;
    add_of_broker(request, one, {{"t", {0}}}, false);
    add_of_broker(request, {"", one.id, one.epoch}, {{"t", {0}}}, false);
    add_of_broker(request, two, {{"nope", {0}}}, false);
    add_of_broker(request, one, {{"t", {1}}}, true);
    add_of_broker(request, two, {{"t", {2}}}, false);
    const auto answer = ask(request, version);
    ASSERT_NE(answer, nullptr);
    std::vector<std::string> told;
    for (const auto& each : answer->results_by_transaction)
      told.push_back(each.transactional_id.str() + ": " + text_of(each.topic_results));
    EXPECT_EQ(told, (std::vector<std::string>{"one: t-0=0", ": t-0=42", "two: nope-0=3", "one: t-1=120",
                                              "two: t-2=0"}));
  }
}

TEST_F(AddPartitionsTest, of_no_transaction_is_answered) {
  const auto answer = ask(AddPartitionsToTxnRequest{}, 5);
  ASSERT_NE(answer, nullptr);
  EXPECT_TRUE(answer->results_by_transaction.empty());
}

// --- WriteTxnMarkers

class WriteMarkersTest : public TransactionHandlersTest {
 protected:
  struct Marker {
    int64_t producer_id;
    int epoch;
    Partitions partitions;
    int coordinator_epoch = 1;
    int transaction_version = 0;
  };
  std::vector<std::string> write(const std::vector<Marker>& markers, int16_t version = 2) {
    WriteTxnMarkersRequest request;
    for (const Marker& marker : markers) {
      auto& one = request.markers.emplace_back();
      one.producer_id = marker.producer_id;
      one.producer_epoch = static_cast<int16_t>(marker.epoch);
      one.coordinator_epoch = marker.coordinator_epoch;
      if (version >= 2) one.transaction_version = static_cast<int8_t>(marker.transaction_version);
      for (const auto& [name, indexes] : marker.partitions) {
        auto& topic = one.topics.emplace_back();
        topic.name = String(name);
        topic.partition_indexes = indexes;
      }
    }
    const auto answer = ask(request, version);
    std::vector<std::string> told;
    if (answer == nullptr) return told;
    for (const auto& marker : answer->markers) {
      std::string& text = told.emplace_back(std::to_string(marker.producer_id) + ":");
      for (const auto& topic : marker.topics)
        for (const auto& one : topic.partitions)
          text += " " + topic.name.str() + "-" + std::to_string(one.partition_index) + "=" +
                  std::to_string(one.error_code);
    }
    return told;
  }
  using Told = std::vector<std::string>;
};

TEST_F(WriteMarkersTest, each_partition_of_each_marker_is_answered_once) {
  for (const int16_t version : {1, 2}) {
    const int64_t id = 500 + version;
    EXPECT_EQ(
        write({{id, 0, {{"t", {1, 0, 1}}, {"nope", {0}}, {"t", {7}}}}, {id + 10, 3, {{"t", {0}}}}}, version),
        (Told{std::to_string(id) + ": nope-0=3 t-0=0 t-1=0 t-7=3", std::to_string(id + 10) + ": t-0=0"}));
    EXPECT_EQ(write({}, version), Told{});
    EXPECT_EQ(write({{id, 0, {}}, {id, 0, {{"t", {}}}}}, version),
              (Told{std::to_string(id) + ":", std::to_string(id) + ":"}));
  }
}

TEST_F(WriteMarkersTest, epochs_of_the_producer_and_of_the_coordinator_only_rise) {
  EXPECT_EQ(write({{500, 3, {{"t", {0}}}, 5}}), Told{"500: t-0=0"});
  EXPECT_EQ(write({{500, 2, {{"t", {0}}}, 5}}), Told{"500: t-0=47"});
  EXPECT_EQ(write({{500, 3, {{"t", {0}}}, 4}}), Told{"500: t-0=52"});
  EXPECT_EQ(write({{500, 4, {{"t", {0}}}, 6}}), Told{"500: t-0=0"});
}

TEST_F(WriteMarkersTest, of_version_2_needs_a_later_epoch_than_that_of_the_open_transaction) {
  TestProducer producer = init("id");
  ASSERT_TRUE(machine.write(producer, "t", 0, "value"));
  const std::string id = std::to_string(producer.id.value());
  EXPECT_EQ(write({{producer.id.value(), 0, {{"t", {0}}}, 1, 2}}), Told{id + ": t-0=47"});
  EXPECT_FALSE(machine.is_decided("t", 0));
  EXPECT_EQ(write({{producer.id.value(), 1, {{"t", {0}}}, 1, 2}}), Told{id + ": t-0=0"});
  EXPECT_TRUE(machine.is_decided("t", 0));
}

TEST_F(WriteMarkersTest, ids_and_epochs_that_nobody_has_write_nothing) {
  EXPECT_EQ(write({{-1, 0, {{"t", {0}}}}, {5, -1, {{"t", {1}}}}}), (Told{"-1: t-0=42", "5: t-1=42"}));
  EXPECT_TRUE(machine.content("t", 0).empty());
  EXPECT_TRUE(machine.content("t", 1).empty());
}

// --- TxnOffsetCommit

class CommitOffsetsTest : public TransactionHandlersTest {
 protected:
  std::string commit(const TestProducer& producer, int16_t version,
                     const std::vector<int32_t>& partitions = {0}, const std::string& group = "group",
                     const std::string& topic = "t") {
    auto request = by<TxnOffsetCommitRequest>(producer);
    request.group_id = String(group);
    auto& one = request.topics.emplace_back();
    one.name = String(topic);
    if (const auto* image = machine.image()->topic(topic)) one.topic_id = image->id;
    for (const int32_t index : partitions) one.partitions.emplace_back().partition_index = index;
    const auto answer = ask(request, version);
    std::string text;
    if (answer == nullptr) return text;
    for (const auto& each : answer->topics)
      for (const auto& partition : each.partitions)
        text += (text.empty() ? "" : " ") + std::to_string(partition.partition_index) + "=" +
                std::to_string(partition.error_code);
    return text;
  }
  static constexpr int16_t first_that_adds = 5;
};

TEST_F(CommitOffsetsTest, until_version_4_the_groups_partition_must_have_been_added) {
  for_each_version<TxnOffsetCommitRequest>([&](int16_t version) {
    const TestProducer producer = init("id-" + std::to_string(version));
    EXPECT_EQ(commit(producer, version), version < 4 ? "0=48" : version < first_that_adds ? "0=120" : "0=0");
    EXPECT_EQ(machine.state_of(producer.transactional_id), version < first_that_adds ? "Empty" : "Ongoing");
    if (version >= first_that_adds) return;
    ASSERT_EQ(machine.error_of(machine.verify(producer, "__consumer_offsets", {0})->wait()), ErrorCode::none);
    EXPECT_EQ(commit(producer, version), "0=0");
  });
}

TEST_F(CommitOffsetsTest, unknown_partitions_are_refused_and_the_others_committed) {
  for_each_version<TxnOffsetCommitRequest>([&](int16_t version) {
    const TestProducer producer = init("id-" + std::to_string(version));
    ASSERT_EQ(machine.error_of(machine.verify(producer, "__consumer_offsets", {0})->wait()), ErrorCode::none);
    EXPECT_EQ(commit(producer, version, {7, 1, -1, 1}).size(), std::string("7=3 1=0 -1=3 1=0").size());
    EXPECT_EQ(commit(producer, version, {0}, "group", "nope"), version < 6 ? "0=3" : "0=100");
    EXPECT_EQ(commit(producer, version, {}), "");
    EXPECT_EQ(commit(producer, version, {0}, ""), "0=24");
  });
}

TEST_F(CommitOffsetsTest, wrong_producers_are_refused) {
  const TestProducer producer = init("id");
  for_each_version<TxnOffsetCommitRequest>([&](int16_t version) {
    const auto told = [&](std::string id, int64_t offset, int epoch) {
      return commit({std::move(id), ProducerId{producer.id.value() + offset},
                     ProducerEpoch(static_cast<int16_t>(epoch))},
                    version);
    };
    EXPECT_EQ(told("", 0, 0), "0=42");
    EXPECT_EQ(told("nobody", 0, 0), "0=49");
    EXPECT_EQ(told("id", 1'000, 0), "0=49");
    for (const int epoch : {-1, 1, 32'767}) EXPECT_EQ(told("id", 0, epoch), "0=47") << epoch;
  });
  EXPECT_EQ(machine.state_of("id"), "Empty");
  EXPECT_TRUE(machine.content("__consumer_offsets", 0).empty());
}

TEST_F(CommitOffsetsTest, without_verification_only_version_2_asks_the_coordinator) {
  machine.set_verification(false);
  for_each_version<TxnOffsetCommitRequest>([&](int16_t version) {
    const std::string id = "id-" + std::to_string(version);
    const TestProducer producer = init(id);
    EXPECT_EQ(commit(producer, version), "0=0");
    EXPECT_EQ(machine.state_of(id), version < first_that_adds ? "Empty" : "Ongoing");
  });
  machine.set_verification(true);
  EXPECT_EQ(commit(init("one more"), 4), "0=120");
}

// --- DescribeProducers

class DescribeProducersTest : public TransactionHandlersTest {
 protected:
  std::vector<std::string> describe(const Partitions& partitions) {
    DescribeProducersRequest request;
    for (const auto& [name, indexes] : partitions) {
      auto& topic = request.topics.emplace_back();
      topic.name = String(name);
      topic.partition_indexes = indexes;
    }
    const auto answer = ask(request, 0);
    std::vector<std::string> told;
    if (answer == nullptr) return told;
    for (const auto& topic : answer->topics)
      for (const auto& one : topic.partitions) {
        std::string& text = told.emplace_back(topic.name.str() + "-" + std::to_string(one.partition_index) +
                                              "=" + std::to_string(one.error_code));
        for (const auto& producer : one.active_producers)
          text += " epoch " + std::to_string(producer.producer_epoch) + " last " +
                  std::to_string(producer.last_sequence) + " open from " +
                  std::to_string(producer.current_txn_start_offset);
      }
    return told;
  }
  using Told = std::vector<std::string>;
};

TEST_F(DescribeProducersTest, shows_where_the_open_transaction_began) {
  TestProducer producer = init("id");
  ASSERT_TRUE(machine.write(producer, "t", 0, "one"));
  ASSERT_TRUE(machine.write(producer, "t", 0, "two"));
  EXPECT_EQ(describe({{"t", {0, 1}}}), (Told{"t-0=0 epoch 0 last 1 open from 0", "t-1=0"}));
  ASSERT_TRUE(machine.end_and_go_on(producer, true));
  ASSERT_TRUE(machine.comes_to("id", "CompleteCommit"));
  EXPECT_EQ(describe({{"t", {0}}}), Told{"t-0=0 epoch 1 last -1 open from -1"});
}

TEST_F(DescribeProducersTest, answers_each_that_was_asked_also_wrong_and_repeated_ones) {
  EXPECT_EQ(describe({{"t", {0, 3, -1, 0}}, {"nope", {0}}, {"", {0}}, {"a/b", {0}}, {"t", {}}, {"t", {2}}}),
            (Told{"t-0=0", "t-3=3", "t--1=3", "t-0=0", "nope-0=3", "-0=17", "a/b-0=17", "t-2=0"}));
  EXPECT_EQ(describe({}), Told{});
}

}  // namespace
}  // namespace barnabas::broker
