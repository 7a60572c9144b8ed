#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "broker/replica_manager.h"
#include "broker/replica_mover.h"
#include "metadata/metadata_test_support.h"
#include "protocol/messages/feature_level_record.h"
#include "protocol/messages/partition_change_record.h"
#include "storage/log_manager_test_support.h"
#include "storage/partition_directory.h"

/// A broker's storage on a fake disk, and one partition that a producer writes to while it moves.
namespace barnabas::broker::moving {

using metadata::MetadataImagePtr;
using metadata::testing::id;
using protocol::ErrorCode;
using std::chrono::milliseconds;
using std::chrono::seconds;
using storage::DirectoryKind;
using storage::TopicPartition;

inline const TopicPartition name{"t", PartitionIndex{0}};

inline bool eventually(const std::function<bool()>& condition, milliseconds limit = seconds(5)) {
  const Instant deadline = std::chrono::steady_clock::now() + limit;
  while (!condition()) {
    if (std::chrono::steady_clock::now() > deadline) return false;
    std::this_thread::sleep_for(milliseconds(1));
  }
  return true;
}

/// A controller that does nothing but note directories, durably and at once unless told to wait or refuse.
class NotingController {
 public:
  template <class Response>
  using Done = cluster::ControllerGateway::Done<Response>;

  explicit NotingController(metadata::ImagePublisher& publisher) : publisher_(publisher) {}

  void assign_replicas_to_dirs(protocol::AssignReplicasToDirsRequest request,
                               Done<protocol::AssignReplicasToDirsResponse> done) {
    protocol::AssignReplicasToDirsResponse response;
    if (refuse > 0) {
      --refuse;
      response.error_code = to_wire(ErrorCode::not_controller);
      return done(std::move(response));
    }
    if (before) before();
    for (const auto& directory : request.directories) {
      for (const auto& topic : directory.topics) {
        for (const auto& partition : topic.partitions) {
          protocol::PartitionChangeRecord record;
          record.topic_id = topic.topic_id;
          record.partition_id = partition.partition_index;
          record.directories = {directory.id};
          auto next = metadata::testing::apply(*publisher_.current(), record);
          publisher_.publish(next.changes, next.image);
        }
      }
    }
    done(std::move(response));
  }

  std::function<void()> before;
  std::atomic<int> refuse{0};

 private:
  metadata::ImagePublisher& publisher_;
};

/// One broker's storage with two directories, and one partition that a producer writes to.
class MovingBroker {
 public:
  explicit MovingBroker(std::vector<std::string> paths = {"/one", "/two"}) : paths_(std::move(paths)) {
    protocol::FeatureLevelRecord level;
    level.name = "metadata.version";
    level.feature_level = 30;
    auto partition = metadata::testing::partition(id(1), 0);
    partition.directories = {metadata::directory_unassigned};
    using metadata::ConfigResourceType;
    image = metadata::testing::apply(
                metadata::MetadataImage{}, level, metadata::testing::topic("t", id(1)), partition,
                metadata::testing::config(ConfigResourceType::topic, "t", "segment.bytes", "3000"),
                metadata::testing::config(ConfigResourceType::topic, "t", "index.interval.bytes", "300"),
                metadata::testing::config(ConfigResourceType::topic, "t", "file.delete.delay.ms", "5000"))
                .image;
  }
  ~MovingBroker() { crash(); }

  Result<void> start() {
    node = std::make_unique<storage::NodeStorage>(disk, paths_);
    node->options.on_offline = [this](const storage::LogDirectory&, const std::vector<TopicPartition>& lost) {
      if (replicas) replicas->lose(lost);
    };
    BARNABAS_TRY(node->start());
    publisher = std::make_unique<metadata::ImagePublisher>();
    publisher->publish(metadata::all_of(*image), image);
    BARNABAS_TRY((*node)->resolve_doubles([this](const TopicPartition&) -> storage::Assignment {
      return {id(1), image->topic("t")->partition(PartitionIndex{0})->directory_of(NodeId{1})};
    }));
    pool = std::make_unique<io::DiskPool>(io::DiskPool::Options{.name = "disk", .threads = 2});
    services.emplace(
        *pool, [this](const TopicPartition& which, const Error& error) { (*node)->report(which, error); },
        true);
    controller = std::make_unique<NotingController>(*publisher);
    assignments = std::make_unique<DirectoryAssignments>(
        NodeId{1},
        [this](auto request, auto done) {
          controller->assign_replicas_to_dirs(std::move(request), std::move(done));
        },
        *publisher);
    mover = std::make_unique<ReplicaMover>(**node, *assignments, ReplicaMover::Options{.threads = 2});
    if (rate != ReplicaMover::unlimited)
      BARNABAS_TRY(
          config.set("replica.alter.log.dirs.io.max.bytes.per.second", std::to_string(rate), "test"));
    replicas = std::make_unique<ReplicaManager>(NodeId{1}, **node, config, *services);
    replicas->connect(*mover, *assignments);
    replicas->apply(metadata::all_of(*image), image);
    assignments->begin();
    return {};
  }

  void crash() {
    let_go();
    node.reset();
    pool.reset();
    publisher.reset();
  }
  void stop() {
    let_go();
    const auto stopped = node->stop();
    EXPECT_TRUE(stopped) << stopped.error().message;
    crash();
  }

  /// Everything that knows logs goes before the node does.
  void let_go() {
    if (mover) mover->stop();
    if (pool) pool->shut_down();
    if (publisher) image = publisher->current();
    replicas.reset();
    mover.reset();
    assignments.reset();
    controller.reset();
    services.reset();
  }

  std::shared_ptr<Partition> partition() const { return replicas->find("t", PartitionIndex{0}).partition; }

  std::vector<std::byte> batch(int number) const {
    protocol::RecordBatchOptions options;
    options.producer_id = ProducerId{7};
    options.producer_epoch = ProducerEpoch{0};
    options.base_sequence = number;
    protocol::RecordBatchBuilder builder(options);
    builder.append(TimestampMs{1'700'000'000'000 + number}, std::nullopt, as_byte_view(value(number)));
    return builder.build();
  }
  static std::string value(int number) {
    return "value " + std::to_string(number) +
           std::string(static_cast<std::size_t>(100 + number % 7 * 40), '.');
  }

  /// Produces the next record with acks=all; whether it was acknowledged.
  bool produce() {
    const auto to = partition();
    if (!to) return false;
    auto bytes = batch(appended);
    attempted = appended + 1;
    const auto done = to->append(bytes, true, TimestampMs{1'700'000'000'000});
    if (!done) return false;
    EXPECT_EQ(done->base_offset.value(), appended);
    ++appended;
    auto acknowledged = std::make_shared<std::promise<bool>>();
    auto answer = acknowledged->get_future();
    to->when_durable(done->last_offset + 1, Instant::max(), [acknowledged](const Result<void>& outcome) {
      acknowledged->set_value(outcome.has_value());
    });
    EXPECT_EQ(answer.wait_for(seconds(5)), std::future_status::ready) << "an acknowledgement never came";
    if (!answer.get()) return false;
    durable = appended;
    EXPECT_GE(to->high_watermark().value(), appended);
    return true;
  }

  void check(const std::string& place) {
    const auto from = partition();
    ASSERT_TRUE(from) << place;
    const std::vector<std::string> values = storage::values_of(from->log());
    const auto start = static_cast<std::size_t>(from->log().log_start_offset().value());
    ASSERT_GE(start, deleted) << place << "deleted records came back";
    ASSERT_GE(values.size() + start, static_cast<std::size_t>(durable))
        << place << "acknowledged records are gone";
    ASSERT_LE(values.size() + start, static_cast<std::size_t>(attempted)) << place;
    for (std::size_t i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], value(static_cast<int>(i + start))) << place << "at " << i + start;
    // A producer that had no answer sends again.
    for (int number = std::max(durable - 1, 0); number < static_cast<int>(values.size() + start); ++number) {
      auto bytes = batch(number);
      const auto repeated = from->append(bytes, true, TimestampMs{1'700'000'000'000});
      ASSERT_TRUE(repeated) << place << repeated.error().message;
      ASSERT_TRUE(repeated->duplicate) << place << number;
      ASSERT_EQ(repeated->base_offset.value(), number) << place;
    }
    appended = attempted = static_cast<int>(values.size() + start);
  }
  /// Where its directories are, without what is about to be removed: "/one/t-0 /two/t-0-future".
  std::string places() {
    std::string found;
    for (const std::string& path : paths_) {
      const auto listed = disk.list(path);
      if (!listed) continue;
      for (const auto& entry : *listed) {
        const auto kind = storage::parse_directory_name(entry.name).kind;
        if (kind != DirectoryKind::partition && kind != DirectoryKind::future) continue;
        found +=
            (found.empty() ? "" : " ") + path + "/t-0" + (kind == DirectoryKind::future ? "-future" : "");
      }
    }
    return found;
  }
  Uuid assigned() const {
    return publisher->current()->topic("t")->partition(PartitionIndex{0})->directory_of(NodeId{1});
  }
  bool settled() const { return mover->moving() == 0; }

  io::FakeDisk disk;
  metadata::StaticConfig config;
  MetadataImagePtr image;
  int64_t rate = ReplicaMover::unlimited;
  std::unique_ptr<io::DiskPool> pool;
  std::unique_ptr<storage::NodeStorage> node;
  std::unique_ptr<metadata::ImagePublisher> publisher;
  std::optional<PartitionServices> services;
  std::unique_ptr<NotingController> controller;
  std::unique_ptr<DirectoryAssignments> assignments;
  std::unique_ptr<ReplicaMover> mover;
  std::unique_ptr<ReplicaManager> replicas;
  int appended = 0;
  int attempted = 0;
  int durable = 0;
  std::size_t deleted = 0;

 private:
  const std::vector<std::string> paths_;
};

}  // namespace barnabas::broker::moving
