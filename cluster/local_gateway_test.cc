#include "cluster/local_gateway.h"

#include <gtest/gtest.h>

#include <atomic>
#include <ctime>
#include <filesystem>
#include <future>

#include "cluster/broker_lifecycle.h"
#include "io/fake_disk.h"
#include "io/posix_disk.h"

namespace barnabas::cluster {
namespace {

const NodeId node{1};

Uuid directory_id() {
  Uuid id;
  id.bytes[0] = std::byte{0x77};
  return id;
}

/// A broker's metadata half on a disk: started, asked, stopped, crashed.
class Node {
 public:
  explicit Node(io::Disk& disk, std::string directory = "/data")
      : disk_(disk), directory_(std::move(directory)) {
    EXPECT_TRUE(disk_.create_directories(directory_));
    EXPECT_TRUE(disk_.sync_directory("/"));
  }

  Result<void> start(BrokerEpoch previous = BrokerEpoch{-1}) {
    publisher = std::make_unique<metadata::ImagePublisher>();
    LocalGatewayOptions options;
    options.quorum.log_directory = directory_;
    options.quorum.cluster_id = "cluster";
    options.quorum.node_id = node;
    options.quorum.directory_id = directory_id();
    options.quorum.log = log;
    options.quorum.clean = previous != BrokerEpoch{-1};
    options.static_config = &config;
    options.on_failure = [this](const Error&) { failed = true; };
    BARNABAS_ASSIGN(gateway, LocalGateway::start(disk_, files_, *publisher, std::move(options)));
    lifecycle = std::make_unique<BrokerLifecycle>(
        *gateway, *publisher,
        BrokerIdentity{
            node, "cluster", {{"PLAINTEXT", "localhost", 9092, 0}}, {}, {directory_id()}, previous});
    BARNABAS_TRY(lifecycle->register_broker());
    return lifecycle->unfence();
  }
  void crash() {
    lifecycle.reset();
    gateway.reset();
  }
  Result<BrokerEpoch> stop() {
    BARNABAS_TRY(lifecycle->shut_down());
    BARNABAS_TRY(gateway->close());
    const BrokerEpoch epoch = lifecycle->epoch();
    crash();
    return epoch;
  }

  int16_t create(std::string_view name, int32_t partitions = 1) {
    protocol::CreateTopicsRequest request;
    auto& topic = request.topics.emplace_back();
    topic.name = name;
    topic.num_partitions = partitions;
    topic.replication_factor = 1;
    std::promise<int16_t> answer;
    gateway->create_topics(std::move(request),
                           [&](auto response) { answer.set_value(response.topics.front().error_code); });
    return answer.get_future().get();
  }
  int16_t remove(std::string_view name) {
    protocol::DeleteTopicsRequest request;
    request.topic_names.push_back(name);
    request.timeout_ms = 10'000;
    std::promise<int16_t> answer;
    gateway->delete_topics(std::move(request),
                           [&](auto response) { answer.set_value(response.responses.front().error_code); });
    return answer.get_future().get();
  }
  metadata::MetadataImagePtr image() const { return publisher->current(); }

 private:
  io::Disk& disk_;
  std::string directory_;
  storage::FilePool files_{disk_, 16};

 public:
  metadata::StaticConfig config;
  MetadataLogSettings log;
  std::unique_ptr<metadata::ImagePublisher> publisher;
  std::unique_ptr<LocalGateway> gateway;
  std::unique_ptr<BrokerLifecycle> lifecycle;
  std::atomic<bool> failed = false;
};

TEST(LocalGateway, a_new_directory_gets_kafkas_features_and_an_unfenced_broker) {
  io::FakeDisk disk;
  Node node_1(disk);
  const auto started = node_1.start();
  ASSERT_TRUE(started) << started.error().message;
  const auto image = node_1.image();
  EXPECT_EQ(image->metadata_version(), 33);
  EXPECT_EQ(image->features.size(), 6u);
  EXPECT_EQ(image->kraft_version, 1);
  ASSERT_EQ(image->voters.size(), 1u);
  EXPECT_EQ(image->voters[0].directory_id, directory_id());
  EXPECT_EQ(image->cluster_id, "cluster");
  EXPECT_EQ(image->controller, node);
  EXPECT_EQ(image->config_value(metadata::ConfigResourceType::broker, "", "min.insync.replicas"), "1");
  ASSERT_NE(image->broker(node), nullptr);
  EXPECT_FALSE(image->broker(node)->fenced);
  EXPECT_EQ(image->broker(node)->epoch, node_1.lifecycle->epoch());
}

TEST(LocalGateway, a_topic_is_visible_when_its_creation_is_answered_and_survives_restarts_and_crashes) {
  io::FakeDisk disk;
  Node node_1(disk);
  ASSERT_TRUE(node_1.start());
  EXPECT_EQ(node_1.create("t", 3), 0);
  ASSERT_NE(node_1.image()->topic("t"), nullptr);
  const Uuid id = node_1.image()->topic("t")->id;
  EXPECT_EQ(node_1.create("t"), protocol::to_wire(protocol::ErrorCode::topic_already_exists));

  const auto epoch = node_1.stop();
  ASSERT_TRUE(epoch) << epoch.error().message;
  ASSERT_TRUE(node_1.start(*epoch));
  ASSERT_NE(node_1.image()->topic("t"), nullptr);
  EXPECT_EQ(node_1.image()->topic("t")->id, id);
  EXPECT_EQ(node_1.image()->partition("t", PartitionIndex{2})->leader_epoch, LeaderEpoch{0});

  node_1.crash();
  disk.power_cut();
  ASSERT_TRUE(node_1.start());
  ASSERT_NE(node_1.image()->topic("t"), nullptr);
  EXPECT_EQ(node_1.image()->partition("t", PartitionIndex{2})->leader_epoch, LeaderEpoch{1})
      << "after a crash the log may have been cut, and clients must see it";
  EXPECT_EQ(node_1.remove("t"), 0);
  EXPECT_EQ(node_1.image()->topic("t"), nullptr);
}

TEST(LocalGateway, each_start_leads_in_the_next_epoch) {
  io::FakeDisk disk;
  Node node_1(disk);
  for (int32_t epoch = 1; epoch <= 4; ++epoch) {
    ASSERT_TRUE(node_1.start());
    EXPECT_EQ(node_1.image()->position.epoch, LeaderEpoch{epoch});
    node_1.crash();
  }
}

TEST(LocalGateway, listeners_see_every_change_in_order_and_before_the_answer) {
  io::FakeDisk disk;
  Node node_1(disk);
  ASSERT_TRUE(node_1.start());
  std::vector<std::string> seen;
  Offset last = no_offset;
  node_1.publisher->subscribe(
      [&](const metadata::MetadataChanges& changes, const metadata::MetadataImagePtr& image) {
        EXPECT_GE(image->position.offset, last);
        last = image->position.offset;
        for (const auto& topic : changes.changed_topics) seen.push_back("+" + topic->name);
        for (const auto& topic : changes.deleted_topics) seen.push_back("-" + topic->name);
      });
  node_1.create("a");
  EXPECT_EQ(seen, (std::vector<std::string>{"+a"}));
  node_1.create("b");
  node_1.remove("a");
  EXPECT_EQ(seen, (std::vector<std::string>{"+a", "+b", "-a"}));
}

TEST(LocalGateway, operations_that_arrive_together_share_syncs) {
  io::FakeDisk disk;
  Node node_1(disk);
  ASSERT_TRUE(node_1.start());
  std::promise<void> blocked;
  std::promise<void> release;
  protocol::CreateTopicsRequest nothing;
  node_1.gateway->create_topics(nothing, [&](auto) {
    blocked.set_value();
    release.get_future().wait();
  });
  blocked.get_future().wait();
  const auto syncs = disk.calls(io::DiskCall::sync_data);
  constexpr int count = 500;
  std::atomic<int> created = 0;
  std::promise<void> all;
  for (int i = 0; i < count; ++i) {
    protocol::CreateTopicsRequest request;
    auto& topic = request.topics.emplace_back();
    topic.name = "topic-" + std::to_string(i);
    topic.num_partitions = 1;
    topic.replication_factor = 1;
    node_1.gateway->create_topics(std::move(request), [&](auto response) {
      EXPECT_EQ(response.topics.front().error_code, 0);
      if (++created == count) all.set_value();
    });
  }
  release.set_value();
  all.get_future().wait();
  EXPECT_EQ(node_1.image()->topics_by_name.size(), static_cast<std::size_t>(count));
  EXPECT_LE(disk.calls(io::DiskCall::sync_data) - syncs, 3u);
}

TEST(LocalGateway, producer_ids_come_in_blocks_that_never_overlap_across_restarts) {
  io::FakeDisk disk;
  Node node_1(disk);
  int64_t expected = 0;
  for (int run = 0; run < 3; ++run) {
    ASSERT_TRUE(node_1.start());
    for (int i = 0; i < 2; ++i) {
      protocol::AllocateProducerIdsRequest request;
      request.broker_id = node.value();
      request.broker_epoch = node_1.lifecycle->epoch().value();
      std::promise<protocol::AllocateProducerIdsResponse> answer;
      node_1.gateway->allocate_producer_ids(request, [&](auto response) { answer.set_value(response); });
      const auto response = answer.get_future().get();
      EXPECT_EQ(response.error_code, 0);
      EXPECT_EQ(response.producer_id_start, expected);
      EXPECT_EQ(response.producer_id_len, 1000);
      expected += 1000;
    }
    node_1.crash();
    disk.power_cut();
  }
}

TEST(LocalGateway, a_failed_sync_refuses_the_change_and_everything_after_it) {
  io::FakeDisk disk;
  Node node_1(disk);
  ASSERT_TRUE(node_1.start());
  disk.add_fault({.call = io::DiskCall::sync_data, .path_part = "__cluster_metadata"});
  const auto storage_error = protocol::to_wire(protocol::ErrorCode::kafka_storage_error);
  EXPECT_EQ(node_1.create("t"), storage_error);
  EXPECT_EQ(node_1.image()->topic("t"), nullptr);
  EXPECT_TRUE(node_1.failed);
  EXPECT_EQ(node_1.create("u"), storage_error);
  EXPECT_FALSE(node_1.gateway->close());
}

TEST(LocalGateway, a_full_disk_refuses_a_change_and_the_next_one_that_fits_succeeds) {
  io::FakeDisk disk;
  Node node_1(disk);
  ASSERT_TRUE(node_1.start());
  disk.add_fault({.call = io::DiskCall::write, .path_part = ".log", .system_error = 28});
  EXPECT_EQ(node_1.create("t"), protocol::to_wire(protocol::ErrorCode::kafka_storage_error));
  EXPECT_FALSE(node_1.failed);
  EXPECT_EQ(node_1.create("t"), 0);
  node_1.crash();
  disk.power_cut();
  ASSERT_TRUE(node_1.start());
  EXPECT_NE(node_1.image()->topic("t"), nullptr);
}

TEST(LocalGateway, what_waits_longer_than_it_may_is_answered_and_not_done_unless_it_was_decided) {
  io::FakeDisk disk;
  Node node_1(disk);
  ASSERT_TRUE(node_1.start());
  std::promise<void> hanging;
  std::promise<void> released;
  auto release = released.get_future().share();
  node_1.publisher->subscribe([&, hung = false](const auto&, const auto& image) mutable {
    if (image->topic("decided") != nullptr && !std::exchange(hung, true)) {
      hanging.set_value();
      release.wait();
    }
  });
  const auto create = [&](std::string name, int32_t timeout_ms) {
    protocol::CreateTopicsRequest request;
    auto& topic = request.topics.emplace_back();
    topic.name = name;
    topic.num_partitions = 1;
    topic.replication_factor = 1;
    request.timeout_ms = timeout_ms;
    auto answer = std::make_shared<std::promise<int16_t>>();
    node_1.gateway->create_topics(std::move(request), [answer](auto response) {
      answer->set_value(response.topics.front().error_code);
    });
    return answer->get_future();
  };
  const int16_t timed_out = protocol::to_wire(protocol::ErrorCode::request_timed_out);
  EXPECT_EQ(create("no-time", 0).get(), timed_out);
  auto decided = create("decided", 1000);
  hanging.get_future().wait();
  auto queued = create("queued", 1000);
  auto patient = create("patient", 100'000);
  const Instant now = std::chrono::steady_clock::now();
  const auto nothing = std::chrono::seconds(0);
  node_1.gateway->expire(now);
  EXPECT_EQ(decided.wait_for(nothing), std::future_status::timeout);
  node_1.gateway->expire(now + std::chrono::seconds(2));
  ASSERT_EQ(decided.wait_for(nothing), std::future_status::ready) << "by the caller, while the thread hangs";
  ASSERT_EQ(queued.wait_for(nothing), std::future_status::ready);
  EXPECT_EQ(decided.get(), timed_out);
  EXPECT_EQ(queued.get(), timed_out);
  released.set_value();
  EXPECT_EQ(patient.get(), 0);
  EXPECT_NE(node_1.image()->topic("decided"), nullptr);
  EXPECT_EQ(node_1.image()->topic("queued"), nullptr);
  EXPECT_EQ(node_1.image()->topic("no-time"), nullptr);
  ASSERT_TRUE(node_1.stop());
}

TEST(LocalGateway, after_close_requests_are_refused) {
  io::FakeDisk disk;
  Node node_1(disk);
  ASSERT_TRUE(node_1.start());
  ASSERT_TRUE(node_1.gateway->close());
  EXPECT_EQ(node_1.create("t"), protocol::to_wire(protocol::ErrorCode::broker_not_available));
}

TEST(LocalGateway, snapshots_take_the_place_of_old_segments) {
  io::FakeDisk disk;
  Node node_1(disk);
  node_1.log.snapshot_bytes = 4000;
  node_1.log.retention_bytes = 12'000;
  ASSERT_TRUE(node_1.start());
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(node_1.create("t" + std::to_string(i), 2), 0);
    if (i % 3 == 0) {
      ASSERT_EQ(node_1.remove("t" + std::to_string(i)), 0);
    }
  }
  node_1.crash();
  disk.power_cut();
  const auto started = node_1.start();
  ASSERT_TRUE(started) << started.error().message;
  EXPECT_EQ(node_1.image()->topics_by_name.size(), 66u);
  int snapshots = 0;
  int segments = 0;
  for (const auto& path : disk.all_files()) {
    snapshots += path.ends_with(".checkpoint");
    segments += path.ends_with(".log");
  }
  EXPECT_EQ(snapshots, 1);
  EXPECT_LE(segments, 2);
}

/// Whatever call the power goes at, the node comes up again, with the state before or after the change that
/// was under way, and never without one that was answered.
void cut_the_power_at_every_call(uint64_t seed) {
  for (uint64_t cut = 1;; ++cut) {
    SCOPED_TRACE("power off at call " + std::to_string(cut) + ", seed " + std::to_string(seed));
    io::FakeDisk disk;
    Node node_1(disk);
    node_1.log.snapshot_bytes = 3000;
    node_1.log.retention_bytes = 8'000;
    disk.power_off_at(cut);
    std::map<std::string, bool> answered;  // name -> exists
    std::string under_way;
    bool finished = false;
    if (node_1.start()) {
      finished = true;
      for (int i = 0; i < 12 && finished; ++i) {
        under_way = "t" + std::to_string(i);
        finished = node_1.create(under_way, 3) == 0;
        if (finished) answered[under_way] = true;
        if (finished && i % 4 == 3) {
          under_way = "t" + std::to_string(i - 1);
          finished = node_1.remove(under_way) == 0;
          if (finished) answered[under_way] = false;
        }
      }
    }
    finished = finished && !disk.is_off();
    node_1.crash();
    disk.power_cut(seed == 0 ? io::Unsynced::lost : io::Unsynced::partly_kept, seed * 1000 + cut);
    node_1.failed = false;
    const auto restarted = node_1.start();
    ASSERT_TRUE(restarted) << restarted.error().message;
    for (const auto& [name, exists] : answered) {
      if (name == under_way) continue;
      const auto* topic = node_1.image()->topic(name);
      EXPECT_EQ(topic != nullptr, exists) << name;
    }
    for (const auto& topic : node_1.image()->topics_by_name)
      EXPECT_EQ(topic->partition_count(), 3) << topic->name;
    EXPECT_EQ(node_1.create("after", 1), 0);
    if (finished) {
      EXPECT_GT(cut, 50u);
      break;
    }
  }
}

TEST(LocalGateway, a_power_cut_at_any_disk_call_leaves_the_old_state_or_the_new) {
  for (uint64_t seed = 0; seed < 3; ++seed) cut_the_power_at_every_call(seed);
}

class Directory {
 public:
  Directory()
      : path_(std::filesystem::temp_directory_path() / ("barnabas-cluster-" + Uuid::random().to_string())) {}
  ~Directory() { std::filesystem::remove_all(path_); }
  std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(LocalGateway, ten_thousand_partitions_are_made_in_a_moment) {
  Directory directory;
  io::PosixDisk disk;
  Node node_1(disk, directory.path());
  ASSERT_TRUE(node_1.start());
  const auto start = std::clock();  // processor time, since the machine may have other work
  EXPECT_EQ(node_1.create("large", 10'000), 0);
  EXPECT_LT(std::clock() - start, 2 * CLOCKS_PER_SEC);
  EXPECT_EQ(node_1.image()->partition_count, 10'000u);
  const auto epoch = node_1.stop();
  ASSERT_TRUE(epoch);
  ASSERT_TRUE(node_1.start(*epoch));
  EXPECT_EQ(node_1.image()->topic("large")->partition_count(), 10'000);
}

}  // namespace
}  // namespace barnabas::cluster
