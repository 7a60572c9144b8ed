#include "broker/handlers/produce_transaction.h"

#include <gtest/gtest.h>

#include "io/fake_disk.h"
#include "protocol/records/record_batch_builder.h"
#include "storage/file_pool.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using protocol::ProduceRequest;

constexpr TimestampMs now{5};

std::vector<std::byte> batch_of(int64_t producer, int16_t epoch, int32_t sequence,
                                bool transactional = true) {
  protocol::RecordBatchOptions options;
  options.producer_id = ProducerId(producer);
  options.producer_epoch = ProducerEpoch(epoch);
  options.base_sequence = sequence;
  options.transactional = transactional;
  protocol::RecordBatchBuilder builder(options);
  builder.append(now, std::nullopt, as_byte_view("value"));
  return builder.build();
}

class ProduceTransactionTest : public ::testing::Test {
 protected:
  std::shared_ptr<Partition> open(const std::string& topic, int32_t index) {
    storage::Log::OpenOptions options;
    options.topic = topic;
    options.partition = PartitionIndex{index};
    options.config = std::make_shared<storage::LogConfig>();
    options.now = now;
    const storage::TopicPartition name{topic, PartitionIndex{index}};
    disk.put_file("/logs/marker", "");
    auto log = storage::Log::open(disk, files, "/logs/" + name.to_string(), options);
    EXPECT_TRUE(log) << log.error().message;
    return partitions[name] = std::make_shared<Partition>(name, Uuid{}, std::move(*log), LeaderEpoch{0},
                                                          std::make_shared<TopicSettings>(), services);
  }
  void add(const std::string& topic, int32_t index, const std::vector<std::byte>& batch) {
    auto& entry = request.topic_data.emplace_back();
    entry.name = protocol::String(topic);
    auto& data = entry.partition_data.emplace_back();
    data.index = index;
    data.records = protocol::Records(protocol::Bytes(batch));
  }
  ProduceTransaction look(int16_t version, bool verify = true) {
    return ProduceTransaction(
        request, {.version = version, .verify = verify},
        [this](const ProduceTransaction::Topic& topic, PartitionIndex index) {
          const auto found = partitions.find({topic.name.str(), index});
          return found == partitions.end() ? nullptr : found->second;
        },
        now);
  }
  /// What the coordinator answers: the same to each partition.
  static TransactionVerifier::Verified answer(const ProduceTransaction& transaction, ErrorCode error) {
    TransactionVerifier::Verified verified;
    for (const auto& topic : transaction.question().topics) {
      auto& result = verified.topic_results.emplace_back();
      result.name = topic.name;
      for (const int32_t index : topic.partitions)
        result.results_by_partition.push_back(
            {.partition_index = index, .partition_error_code = protocol::to_wire(error), .unknown_tags = {}});
    }
    return verified;
  }
  static Result<storage::AppendResult> append(Partition& partition, std::vector<std::byte> batch,
                                              const ProduceTransaction::Verdict& verdict) {
    return partition.append(batch, false, now, storage::AppendOrigin::client, verdict.check);
  }
  ErrorCode told(int16_t version, ErrorCode answered) {
    auto transaction = look(version);
    EXPECT_TRUE(transaction.must_ask());
    transaction.answered(answer(transaction, answered));
    return transaction.verdict(0).error;
  }

  io::FakeDisk disk;
  storage::FilePool files{disk, 10};
  io::DiskPool pool{{.name = "disk", .threads = 1}};
  PartitionServices services{pool, [](const storage::TopicPartition&, const Error&) {}, true};
  std::map<storage::TopicPartition, std::shared_ptr<Partition>> partitions;
  ProduceRequest request = [] {
    ProduceRequest made;
    made.transactional_id = protocol::String("id");
    return made;
  }();
};

TEST_F(ProduceTransactionTest, nobody_is_asked_about_batches_outside_of_transactions) {
  open("t", 0);
  add("t", 0, batch_of(7, 0, 0, false));
  EXPECT_FALSE(look(12).must_ask());
  request.transactional_id.reset();
  EXPECT_EQ(look(12).refused(), ErrorCode::none);
}

TEST_F(ProduceTransactionTest, a_transactional_batch_needs_an_id_and_a_request_has_one_producer) {
  open("t", 0);
  add("t", 0, batch_of(7, 0, 0));
  add("t", 0, batch_of(7, 1, 0));
  EXPECT_EQ(look(12).refused(), ErrorCode::invalid_producer_id_mapping);
  request.transactional_id.reset();
  EXPECT_EQ(look(12).refused(), ErrorCode::transactional_id_authorization_failed);
}

TEST_F(ProduceTransactionTest, partitions_that_must_be_verified_are_asked_about_once_each) {
  open("a", 3);
  open("b", 0);
  open("b", 1);
  add("b", 1, batch_of(7, 2, 0));
  add("a", 3, batch_of(7, 2, 0));
  add("b", 0, batch_of(7, 2, 0));
  add("b", 1, batch_of(7, 2, 1));
  add("c", 0, batch_of(7, 2, 0));  // not here
  for (const int16_t version : {11, 12}) {
    const auto question = look(version).question();
    EXPECT_EQ(question.transactional_id, "id");
    EXPECT_EQ(question.producer_id, 7);
    EXPECT_EQ(question.producer_epoch, 2);
    EXPECT_EQ(question.verify_only, version == 11);
    ASSERT_EQ(question.topics.size(), 2u);
    EXPECT_EQ(question.topics[0].name, "a");
    EXPECT_EQ(question.topics[0].partitions, std::vector<int32_t>{3});
    EXPECT_EQ(question.topics[1].name, "b");
    EXPECT_EQ(question.topics[1].partitions, (std::vector<int32_t>{0, 1}));
  }
}

TEST_F(ProduceTransactionTest, what_is_verified_is_appended_and_nobody_is_asked_again) {
  const auto partition = open("t", 0);
  const auto first = batch_of(7, 0, 0);
  add("t", 0, first);
  auto transaction = look(12);
  ProduceTransaction::Verdict unverified;
  unverified.check.must_be_verified = true;
  EXPECT_FALSE(append(*partition, first, unverified));
  transaction.answered(answer(transaction, ErrorCode::none));
  EXPECT_EQ(transaction.verdict(0).error, ErrorCode::none);
  ASSERT_TRUE(append(*partition, first, transaction.verdict(0)));
  EXPECT_EQ(partition->last_stable_offset(), Offset{0});

  request.topic_data.clear();
  const auto second = batch_of(7, 0, 1);
  add("t", 0, second);
  auto next = look(12);
  EXPECT_FALSE(next.must_ask());
  EXPECT_TRUE(append(*partition, second, next.verdict(0)));
}

TEST_F(ProduceTransactionTest, an_answer_that_a_marker_has_overtaken_appends_nothing) {
  const auto partition = open("t", 0);
  const auto batch = batch_of(7, 0, 0);
  add("t", 0, batch);
  auto transaction = look(12);
  ASSERT_TRUE(
      partition->append_marker({.producer_id = ProducerId{7}, .producer_epoch = ProducerEpoch{0}}, now));
  transaction.answered(answer(transaction, ErrorCode::none));
  const auto appended = append(*partition, batch, transaction.verdict(0));
  ASSERT_FALSE(appended);
  EXPECT_EQ(appended.error().kind, ErrorKind::invalid_transaction_state);
}

TEST_F(ProduceTransactionTest, a_producer_that_is_fenced_here_is_not_asked_about) {
  const auto partition = open("t", 0);
  ASSERT_TRUE(
      partition->append_marker({.producer_id = ProducerId{7}, .producer_epoch = ProducerEpoch{3}}, now));
  add("t", 0, batch_of(7, 2, 0));
  const auto transaction = look(12);
  EXPECT_FALSE(transaction.must_ask());
  EXPECT_EQ(transaction.verdict(0).error, ErrorCode::invalid_producer_epoch);
}

TEST_F(ProduceTransactionTest, a_refusal_is_told_as_the_version_knows_it) {
  open("t", 0);
  add("t", 0, batch_of(7, 0, 0));
  EXPECT_EQ(told(12, ErrorCode::producer_fenced), ErrorCode::invalid_producer_epoch);
  EXPECT_EQ(told(12, ErrorCode::invalid_producer_id_mapping), ErrorCode::invalid_producer_id_mapping);
  EXPECT_EQ(told(11, ErrorCode::transaction_abortable), ErrorCode::transaction_abortable);
  EXPECT_EQ(told(10, ErrorCode::transaction_abortable), ErrorCode::invalid_txn_state);
  EXPECT_EQ(told(12, ErrorCode::concurrent_transactions), ErrorCode::concurrent_transactions);
  EXPECT_EQ(told(11, ErrorCode::concurrent_transactions), ErrorCode::not_enough_replicas);
  for (const ErrorCode elsewhere : {ErrorCode::not_coordinator, ErrorCode::coordinator_load_in_progress,
                                    ErrorCode::coordinator_not_available, ErrorCode::not_enough_replicas})
    EXPECT_EQ(told(12, elsewhere), ErrorCode::not_enough_replicas);
}

TEST_F(ProduceTransactionTest, a_partition_without_an_answer_is_not_verified) {
  open("t", 0);
  add("t", 0, batch_of(7, 0, 0));
  auto transaction = look(12);
  transaction.answered(TransactionVerifier::Verified{});
  EXPECT_EQ(transaction.verdict(0).error, ErrorCode::not_enough_replicas);
}

TEST_F(ProduceTransactionTest, without_verification_only_transactions_of_version_2_are_asked_about) {
  const auto partition = open("t", 0);
  const auto batch = batch_of(7, 0, 0);
  add("t", 0, batch);
  EXPECT_TRUE(look(12, false).must_ask());
  const auto transaction = look(11, false);
  EXPECT_FALSE(transaction.must_ask());
  EXPECT_TRUE(append(*partition, batch, transaction.verdict(0)));
}

}  // namespace
}  // namespace barnabas::broker
