#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <future>
#include <latch>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "broker/coordinators/runtime_test_support.h"
#include "broker/coordinators/transaction_coordinator.h"
#include "broker/services.h"
#include "broker/telemetry/client_telemetry.h"
#include "cluster/broker_lifecycle.h"
#include "cluster/local_gateway.h"
#include "protocol/messages/list_transactions_response.h"
#include "protocol/records/record_reader.h"
#include "storage/log_manager_test_support.h"

namespace barnabas::broker::testing {

/// A producer as the coordinator knows it.
struct TestProducer {
  std::string transactional_id;
  ProducerId id = no_producer_id;
  ProducerEpoch epoch = no_producer_epoch;
  std::map<storage::TopicPartition, int32_t> next_sequences = {};
};

/// All of a broker that has to do with transactions, but for its network, on a disk that can fail.
class TransactionMachine {
 public:
  using Shard = coordinator::TransactionShard;
  template <class T>
  using Told = std::expected<T, protocol::ErrorCode>;

  TransactionMachine() {
    EXPECT_TRUE(disk.create_directories("/meta"));
    EXPECT_TRUE(disk.sync_directory("/"));
    for (const char* name : {"transaction.state.log.num.partitions", "offsets.topic.num.partitions"})
      EXPECT_TRUE(config.set(name, "1", "test"));
  }
  ~TransactionMachine() { crash(); }

  /// False: the disk did not let it.
  bool start() {
    now_ = std::make_unique<Running>(*this);
    return now_->start();
  }
  /// The process is gone; what was about to happen does not.
  void crash() { now_.reset(); }
  void power_cut(uint64_t seed) {
    crash();
    disk.power_cut(io::Unsynced::partly_kept, seed);
  }
  TransactionCoordinator& transactions() { return *now_->transactions; }
  GroupCoordinator& groups() { return *now_->groups; }
  void set_verification(bool on) { now_->verify_transactions = on; }
  /// As the broker's stop does before all else.
  void stop_coordinators() {
    now_->transactions->stop();
    now_->groups->stop();
  }
  /// What handlers work with.
  Services& services() { return *now_->services; }
  metadata::MetadataImagePtr image() { return now_->publisher.current(); }

  bool create_topic(const std::string& name, int32_t partitions) {
    protocol::CreateTopicsRequest request;
    auto& topic = request.topics.emplace_back();
    topic.name = name;
    topic.num_partitions = partitions;
    topic.replication_factor = 1;
    std::promise<int16_t> answer;
    now_->gateway->create_topics(std::move(request), [&](const auto& response) {
      answer.set_value(response.topics.front().error_code);
    });
    return answer.get_future().get() == 0;
  }
  void delete_topic(const std::string& name) {
    protocol::DeleteTopicsRequest request;
    request.topic_names.push_back(name);
    request.timeout_ms = 10'000;
    std::promise<void> answer;
    now_->gateway->delete_topics(std::move(request), [&](const auto&) { answer.set_value(); });
    answer.get_future().get();
  }
  /// Until the topics of the coordinators are there, and their logs loaded. False: they do not come.
  bool wait_until_ready() {
    for (CoordinatorTopic* topic : {&transactions().topic(), &groups().topic()}) {
      std::promise<void> made;
      topic->make([&] { made.set_value(); });
      made.get_future().get();
    }
    return eventually([&] { return state_of("nobody").has_value(); });
  }

  std::shared_ptr<Partition> partition(const std::string& topic, int32_t index = 0) {
    return now_->replicas->find(topic, PartitionIndex{index}).partition;
  }

  template <class Response, class Operation>
  std::shared_ptr<Awaited<Told<Response>>> ask(const std::string& transactional_id, int16_t version,
                                               Operation operation) {
    auto answer = std::make_shared<Awaited<Told<Response>>>();
    transactions().schedule(
        transactional_id,
        [answer, version, operation](Shard& shard, const coordinator::Now& now) {
          const coordinator::RequestContext context{
              .version = version, .client_id = "test", .client_host = "/test", .now = now};
          return operation(shard, context, coordinator::Reply<Response>([answer](Told<Response> told) {
                             answer->set(std::move(told));
                           }));
        },
        [answer](protocol::ErrorCode error) { answer->set(std::unexpected(error)); });
    return answer;
  }

  /// Returns once the shard has run all that was asked of it.
  void run_what_was_asked() {
    const auto ran = std::make_shared<Awaited<bool>>();
    transactions().schedule(
        PartitionIndex{0},
        [ran](Shard&, const coordinator::Now&) {
          ran->set(true);
          return coordinator::Decision{};
        },
        [ran](protocol::ErrorCode) { ran->set(false); });
    (void)ran->wait();
  }

  /// Begins anew with this id, as long as it takes.
  std::optional<TestProducer> init(const std::string& transactional_id) {
    std::optional<TestProducer> producer;
    (void)eventually([&] {
      protocol::InitProducerIdRequest request;
      request.transactional_id = protocol::String(transactional_id);
      request.transaction_timeout_ms = 60'000;
      const auto told = ask<protocol::InitProducerIdResponse>(
                            transactional_id, 5,
                            [request](Shard& shard, const auto& context, auto reply) {
                              return shard.init_producer_id(context, request, std::move(reply));
                            })
                            ->wait();
      if (!told || !*told || (*told)->error_code != 0) return disk.is_off();
      producer = {transactional_id, ProducerId{(*told)->producer_id}, ProducerEpoch{(*told)->producer_epoch}};
      return true;
    });
    return producer;
  }
  using Verified = TransactionVerifier::Verified;
  std::shared_ptr<Awaited<Verified>> verify(const TestProducer& producer, const std::string& topic,
                                            std::vector<int32_t> partitions, bool only = false) {
    TransactionVerifier::Transaction question;
    question.transactional_id = producer.transactional_id;
    question.producer_id = producer.id.value();
    question.producer_epoch = producer.epoch.value();
    question.verify_only = only;
    auto& of_topic = question.topics.emplace_back();
    of_topic.name = topic;
    of_topic.partitions = std::move(partitions);
    auto answer = std::make_shared<Awaited<Verified>>();
    transactions().verify(std::move(question), [answer](Verified told) { answer->set(std::move(told)); });
    return answer;
  }
  /// What all partitions were told.
  static protocol::ErrorCode error_of(const std::optional<Verified>& verified) {
    if (!verified) return protocol::ErrorCode::unknown_server_error;
    return static_cast<protocol::ErrorCode>(
        verified->topic_results.front().results_by_partition.front().partition_error_code);
  }
  /// Adds the partition and writes a record into it, until it is durable.
  bool write(TestProducer& producer, const std::string& topic, int32_t index, const std::string& value) {
    if (error_of(verify(producer, topic, {index})->wait()) != protocol::ErrorCode::none) return false;
    const auto into = partition(topic, index);
    if (into == nullptr) return false;
    auto batch = protocol::single_record_batch(
        TimestampMs{5}, std::nullopt, as_byte_view(value),
        {.producer_id = producer.id,
         .producer_epoch = producer.epoch,
         .base_sequence = producer.next_sequences[{topic, PartitionIndex{index}}]++,
         .transactional = true});
    const auto appended = into->append(batch, true, TimestampMs{5});
    if (!appended) return false;
    const auto durable = std::make_shared<Awaited<bool>>();
    into->when_durable(appended->last_offset + 1, std::chrono::steady_clock::now() + patience,
                       [durable](const Result<void>& done) { durable->set(done.has_value()); });
    return durable->wait().value_or(false);
  }
  using Ended = Told<protocol::EndTxnResponse>;
  /// By transaction version 2.
  std::shared_ptr<Awaited<Ended>> end(const TestProducer& producer, bool commit) {
    protocol::EndTxnRequest request;
    request.transactional_id = producer.transactional_id;
    request.producer_id = producer.id.value();
    request.producer_epoch = producer.epoch.value();
    request.committed = commit;
    return ask<protocol::EndTxnResponse>(producer.transactional_id, 5,
                                         [request](Shard& shard, const auto& context, auto reply) {
                                           return shard.end_txn(context, request, std::move(reply));
                                         });
  }
  /// Ends it, and goes on with the epoch that it gives. False: refused.
  bool end_and_go_on(TestProducer& producer, bool commit) {
    const auto told = end(producer, commit)->wait();
    if (!told || !*told || (*told)->error_code != 0) return false;
    producer = {producer.transactional_id, ProducerId{(*told)->producer_id},
                ProducerEpoch{(*told)->producer_epoch}};
    return true;
  }
  /// By DescribeTransactions' names; "" for an id that nobody uses.
  Told<std::string> state_of(const std::string& transactional_id) {
    using Described = protocol::DescribeTransactionsResponse::TransactionState;
    const auto told =
        ask<Described>(transactional_id, 0, [transactional_id](Shard& shard, const auto&, auto reply) {
          return shard.describe(transactional_id, std::move(reply));
        })->wait();
    if (!told) return std::unexpected(protocol::ErrorCode::request_timed_out);
    if (!*told) return std::unexpected(told->error());
    return (*told)->transaction_state.str();
  }
  bool comes_to(const std::string& transactional_id, const std::string& state) {
    return eventually([&] { return state_of(transactional_id) == Told<std::string>(state); });
  }
  static bool eventually(const std::function<bool()>& condition) {
    const Instant end = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < end) {
      if (condition()) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    return false;
  }

  /// Tells `see` of the records below `end`, in order, each with its batch.
  template <class See>
  static void for_each_record(storage::Log& log, Offset end, See&& see) {
    Offset next = log.log_start_offset();
    while (next < end) {
      const auto read = log.read(next, 1 << 20, end, true);
      EXPECT_TRUE(read);
      if (!read || read->slice.length == 0) break;
      std::vector<std::byte> bytes(read->slice.length);
      EXPECT_TRUE(read->slice.file->read_at(bytes, read->slice.position));
      protocol::BatchIterator batches(bytes);
      while (batches.next() == protocol::BatchIterator::Step::batch) {
        const auto& batch = batches.batch();
        next = batch.next_offset();
        protocol::RecordReader reader(batch);
        protocol::RecordView record;
        while (reader.next(record).value_or(false)) see(batch, record);
      }
    }
  }

  /// Values of records and names of markers, in order.
  std::vector<std::string> content(const std::string& topic, int32_t index = 0) {
    std::vector<std::string> found;
    const auto where = partition(topic, index);
    if (where == nullptr) return {"not here"};
    for_each_record(where->log(), where->log().log_end_offset(), [&](const auto& batch, const auto& record) {
      found.push_back(batch.is_control() ? (record.key()->back() == std::byte{1} ? "commit" : "abort")
                                         : std::string(as_text(record.value().value_or(ByteView()))));
    });
    return found;
  }
  /// Nobody waits for the end of a transaction there.
  bool is_decided(const std::string& topic, int32_t index = 0) {
    const auto where = partition(topic, index);
    return where != nullptr &&
           where->log().last_stable_offset(where->log().log_end_offset()) == where->log().log_end_offset();
  }

  /// All threads that sync wait, until the latch is at 0.
  std::shared_ptr<std::latch> hold_disk() {
    auto latch = std::make_shared<std::latch>(1);
    for (std::size_t i = 0; i < now_->pool.threads(); ++i)
      EXPECT_TRUE(now_->pool.submit([latch] { latch->wait(); }));
    return latch;
  }

  io::FakeDisk disk;
  metadata::StaticConfig config;

 private:
  /// In the order in which they are made; destroyed in the reverse.
  struct Running {
    explicit Running(TransactionMachine& machine)
        : config(machine.config), disk(machine.disk), storage(machine.disk, {"/data"}) {}
    ~Running() {
      if (transactions) transactions->stop();
      if (groups) groups->stop();
      pool.shut_down();
      gateway.reset();
    }

    bool start() {
      storage.options.on_offline = [this](const auto&, const auto& lost) {
        if (replicas) replicas->lose(lost);
      };
      if (!storage.start()) return false;
      cluster::LocalGatewayOptions options;
      options.quorum.log_directory = "/meta";
      options.quorum.cluster_id = "cluster";
      options.quorum.node_id = node;
      options.quorum.directory_id = metadata_directory;
      options.static_config = &config;
      options.on_failure = [](const Error&) {};
      auto started = cluster::LocalGateway::start(disk, files, publisher, std::move(options));
      if (!started) return false;
      gateway = std::move(*started);
      replicas.emplace(node, *storage, config, partition_services);
      publisher.subscribe(
          [this](const auto& changes, const auto& image) { replicas->apply(changes, image); });
      producer_ids.emplace(node, *gateway, publisher);
      groups.emplace(node, config, publisher, *gateway, *replicas);
      transactions.emplace(node, config, publisher, *gateway, *replicas, *groups, *producer_ids);
      lifecycle.emplace(*gateway, publisher,
                        cluster::BrokerIdentity{node,
                                                "cluster",
                                                {{"PLAINTEXT", "localhost", 9092, 0}},
                                                {},
                                                storage->usable_directories(),
                                                BrokerEpoch{-1}});
      services.emplace(Services{.node = node,
                                .cluster_id = "cluster",
                                .listeners = {{"PLAINTEXT", "localhost", 9092, 0}},
                                .config = config,
                                .metadata = publisher,
                                .controller = *gateway,
                                .replicas = *replicas,
                                .logs = *storage,
                                .disk_pool = pool,
                                .fetch_sessions = fetch_sessions,
                                .producer_ids = *producer_ids,
                                .groups = *groups,
                                .transactions = *transactions,
                                .transaction_verifier = *transactions,
                                .telemetry = telemetry,
                                .verify_transactions = verify_transactions});
      if (!lifecycle->register_broker() || !lifecycle->unfence()) return false;
      groups->begin();
      transactions->begin();
      return true;
    }

    static constexpr NodeId node{1};
    const metadata::StaticConfig& config;
    io::FakeDisk& disk;
    Uuid metadata_directory = [] {
      Uuid id;
      id.bytes[0] = std::byte{0x77};
      return id;
    }();
    storage::NodeStorage storage;
    storage::FilePool files{disk, 16};
    io::DiskPool pool{{.name = "disk", .threads = 4}};
    PartitionServices partition_services{pool, [this](const storage::TopicPartition& name,
                                                      const Error& error) { storage->report(name, error); }};
    metadata::ImagePublisher publisher;
    std::optional<ReplicaManager> replicas;
    std::unique_ptr<cluster::LocalGateway> gateway;
    std::optional<ProducerIds> producer_ids;
    std::optional<GroupCoordinator> groups;
    std::optional<TransactionCoordinator> transactions;
    FetchSessionCache fetch_sessions{10};
    ClientTelemetry telemetry{1'048'576};
    std::atomic<bool> verify_transactions{true};
    std::optional<Services> services;
    std::optional<cluster::BrokerLifecycle> lifecycle;
  };

  std::unique_ptr<Running> now_;
};

}  // namespace barnabas::broker::testing
