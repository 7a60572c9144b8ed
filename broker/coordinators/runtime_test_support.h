#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <latch>
#include <list>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "broker/coordinators/coordinator_runtime.h"
#include "coordinator/timers.h"
#include "io/fake_disk.h"
#include "storage/file_pool.h"

namespace barnabas::broker::testing {

constexpr std::chrono::seconds patience{20};

/// A result that another thread brings.
template <class T>
class Awaited {
 public:
  void set(T value) {
    const std::scoped_lock lock(mutex_);
    EXPECT_FALSE(value_.has_value()) << "answered twice";
    value_ = std::move(value);
    arrived_.notify_all();
  }
  bool came() const {
    const std::scoped_lock lock(mutex_);
    return value_.has_value();
  }
  /// Nothing, and a failed test, when it does not come.
  std::optional<T> wait() const {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(arrived_.wait_for(lock, patience, [&] { return value_.has_value(); }));
    return value_;
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable arrived_;
  std::optional<T> value_;
};

/// What a request came to: the value asked for, or why not.
using Answer = std::expected<std::string, protocol::ErrorCode>;
using AnswerPtr = std::shared_ptr<Awaited<Answer>>;

/// What all shards of a test share; used from their threads.
struct ToyWorld {
  std::mutex mutex;
  std::vector<std::string> events;
  /// Whoever replays this key waits here.
  std::optional<std::string> slow_key;
  std::shared_ptr<std::latch> slow = std::make_shared<std::latch>(1);

  void note(std::string event) {
    const std::scoped_lock lock(mutex);
    events.push_back(std::move(event));
  }
  int count(const std::string& event) {
    const std::scoped_lock lock(mutex);
    return static_cast<int>(std::ranges::count(events, event));
  }
};

/// A map of texts, as a coordinator's shard.
class ToyShard {
 public:
  explicit ToyShard(ToyWorld& world) : world_(world) {}

  Result<void> replay(const coordinator::ReplayedRecord& record) {
    const std::string key(as_text(record.key));
    if (world_.slow_key == key) world_.slow->wait();
    if (key == "damaged") return fail(ErrorKind::corrupt, "damaged");
    if (record.producer_id != no_producer_id) {
      open_[record.producer_id][key] = std::string(as_text(record.value.value_or(ByteView())));
    } else if (record.value) {
      values[key] = std::string(as_text(*record.value));
    } else {
      values.erase(key);
    }
    return {};
  }
  void end_transaction(ProducerId producer, bool committed) {
    if (committed) values.merge(open_[producer]);
    open_.erase(producer);
  }
  coordinator::Decision loaded(const coordinator::Now&) {
    world_.note("loaded");
    return {};
  }
  coordinator::Decision metadata_changed(const metadata::MetadataChanges& changes,
                                         const metadata::MetadataImagePtr&, const coordinator::Now&) {
    world_.note("metadata " + std::to_string(changes.changed_brokers.size()));
    return {};
  }
  coordinator::Decision unload() {
    coordinator::Decision decision;
    for (auto& reply : waiting)
      decision.replies.push_back(reply.with_error(protocol::ErrorCode::not_coordinator));
    return decision;
  }
  coordinator::Timers& timers() { return timers_; }

  static coordinator::Record record(const std::string& key, const std::optional<std::string>& value) {
    const auto bytes = [](const std::string& text) {
      const ByteView view = as_byte_view(text);
      return std::vector<std::byte>(view.begin(), view.end());
    };
    return {bytes(key), value ? std::optional(bytes(*value)) : std::nullopt};
  }

  std::map<std::string, std::string> values;
  std::vector<coordinator::Reply<std::string>> waiting;

 private:
  ToyWorld& world_;
  std::map<ProducerId, std::map<std::string, std::string>> open_;
  coordinator::Timers timers_;
};

inline coordinator::Reply<std::string> reply_to(const AnswerPtr& answer) {
  return {[answer](Answer content) { answer->set(std::move(content)); }};
}

/// One partition of the toys' topic on a disk that can fail, and the runtime on it.
class ToyCoordinator {
 public:
  using Runtime = CoordinatorRuntime<ToyShard>;

  ToyCoordinator() {
    disk.put_file("/logs/marker", "");
    machines_.emplace_back(*this);
  }
  ~ToyCoordinator() { stop(); }

  /// Opens the log as it is on the disk, and leads it.
  void start() { start_with(open()); }
  void start_with(std::shared_ptr<Partition> partition) {
    set_partition(std::move(partition));
    CoordinatorOptions options;
    options.name = "toy";
    options.threads = 2;
    options.find = [this](const Uuid& topic, PartitionIndex) { return find(topic); };
    runtime.emplace(std::move(options), [this](const auto&) { return std::make_unique<ToyShard>(world); });
    runtime->metadata_changed({}, std::make_shared<metadata::MetadataImage>());
    lead();
  }
  void lead(LeaderEpoch epoch = LeaderEpoch{0}) { runtime->lead(index, {topic_id, epoch}); }
  void stop() {
    if (runtime) runtime->stop();
    machines_.back().pool.shut_down();
  }
  /// As after a power cut: nothing that the machine was about to do happens any more.
  void start_again() {
    stop();
    machines_.emplace_back(*this);
    start();
  }

  AnswerPtr ask(Runtime::Work work) {
    auto answer = std::make_shared<Awaited<Answer>>();
    ask(answer, std::move(work));
    return answer;
  }
  void ask(const AnswerPtr& answer, Runtime::Work work) {
    runtime->schedule(index, std::move(work),
                      [answer](protocol::ErrorCode error) { answer->set(std::unexpected(error)); });
  }
  AnswerPtr put(const std::string& key, const std::optional<std::string>& value) {
    auto answer = std::make_shared<Awaited<Answer>>();
    ask(answer, [answer, key, value](ToyShard&, const coordinator::Now&) {
      auto decision = coordinator::Decision::answer(reply_to(answer).with("put"));
      decision.records.push_back(ToyShard::record(key, value));
      return decision;
    });
    return answer;
  }
  /// As a part of a transaction.
  AnswerPtr put(coordinator::Producer producer, const std::string& key, const std::string& value) {
    auto answer = std::make_shared<Awaited<Answer>>();
    ask(answer, [answer, producer, key, value](ToyShard&, const coordinator::Now&) {
      auto decision = coordinator::Decision::answer(reply_to(answer).with("put"));
      decision.records.push_back(ToyShard::record(key, value));
      decision.producer = producer;
      return decision;
    });
    return answer;
  }
  std::shared_ptr<Awaited<protocol::ErrorCode>> end(coordinator::Producer producer, bool committed) {
    auto ended = std::make_shared<Awaited<protocol::ErrorCode>>();
    runtime->write_marker(
        index, {.producer_id = producer.id, .producer_epoch = producer.epoch, .committed = committed},
        [ended](protocol::ErrorCode error) { ended->set(error); });
    return ended;
  }
  AnswerPtr get(const std::string& key) {
    auto answer = std::make_shared<Awaited<Answer>>();
    ask(answer, [answer, key](ToyShard& shard, const coordinator::Now&) {
      const auto at = shard.values.find(key);
      return coordinator::Decision::answer(
          reply_to(answer).with(at == shard.values.end() ? "-" : at->second));
    });
    return answer;
  }
  /// Is answered when the shard is unloaded.
  AnswerPtr wait_in_shard() {
    auto answer = std::make_shared<Awaited<Answer>>();
    ask(answer, [answer](ToyShard& shard, const coordinator::Now&) {
      shard.waiting.push_back(reply_to(answer));
      return coordinator::Decision{};
    });
    return answer;
  }
  /// Once it is no longer loading.
  void wait_until_loaded() {
    const Instant end = std::chrono::steady_clock::now() + patience;
    while (std::chrono::steady_clock::now() < end) {
      const auto answer = get("-")->wait();
      if (!answer || answer->has_value()) return;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    FAIL() << "not loaded";
  }

  /// All the pool's threads wait, so that nothing is synced until the latch is at 0.
  std::shared_ptr<std::latch> hold_disk() {
    auto latch = std::make_shared<std::latch>(1);
    io::DiskPool& pool = machines_.back().pool;
    for (std::size_t i = 0; i < pool.threads(); ++i) EXPECT_TRUE(pool.submit([latch] { latch->wait(); }));
    return latch;
  }

  std::shared_ptr<Partition> open() {
    storage::Log::OpenOptions options;
    options.topic = "toys";
    options.config = std::shared_ptr<const storage::LogConfig>(settings, &settings->log);
    options.now = TimestampMs{1};
    auto log = storage::Log::open(disk, machines_.back().files, "/logs/toys-0", options);
    EXPECT_TRUE(log) << log.error().message;
    return std::make_shared<Partition>(storage::TopicPartition{"toys", index}, topic_id, std::move(*log),
                                       LeaderEpoch{0}, settings, machines_.back().services);
  }
  std::shared_ptr<Partition> find(const Uuid&) {
    const std::scoped_lock lock(mutex_);
    return partition_ != nullptr && partition_->active() ? partition_ : nullptr;
  }
  void set_partition(std::shared_ptr<Partition> partition) {
    const std::scoped_lock lock(mutex_);
    partition_ = std::move(partition);
  }
  Partition& partition() { return *partition_; }

  static constexpr PartitionIndex index{0};
  Uuid topic_id = Uuid::random();
  std::shared_ptr<TopicSettings> settings = std::make_shared<TopicSettings>();
  ToyWorld world;
  io::FakeDisk disk;

 private:
  struct Machine {
    explicit Machine(ToyCoordinator& toys)
        : files(toys.disk, 10), services{pool, [&toys](const storage::TopicPartition&, const Error& error) {
                                           if (const auto lost = toys.find({})) lost->deactivate(error);
                                         }} {}
    storage::FilePool files;
    io::DiskPool pool{{.name = "disk", .threads = 2}};
    PartitionServices services;
  };

  std::list<Machine> machines_;
  std::mutex mutex_;
  std::shared_ptr<Partition> partition_;

 public:
  std::optional<Runtime> runtime;
};

}  // namespace barnabas::broker::testing
