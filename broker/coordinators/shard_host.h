#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "base/log.h"
#include "broker/coordinators/coordinator_log.h"
#include "broker/error_map.h"
#include "coordinator/decision.h"
#include "coordinator/timers.h"
#include "metadata/publisher.h"

namespace barnabas::broker {

struct CoordinatorOptions {
  std::string name;  ///< of its threads, at most 8 characters
  std::size_t threads = 1;
  std::size_t load_threads = 1;
  /// A partition of the coordinators' topic that is served here, or null.
  std::function<std::shared_ptr<Partition>(const Uuid& topic_id, PartitionIndex)> find;
  protocol::Compression compression = {};
  /// The shard knows in which epoch it was loaded, and so another one is loaded in another epoch.
  bool load_in_each_epoch = false;
  /// How long an answer may wait for the disk; then it is coordinator_not_available.
  std::chrono::milliseconds durable_timeout{5'000};
};

/// In which topic, and since when, this broker leads a partition.
struct Leadership {
  Uuid topic_id;
  LeaderEpoch epoch;
};

/// What a new shard begins with.
struct ShardOrigin {
  const metadata::MetadataImagePtr& image;
  LeaderEpoch epoch;  ///< of the partition that holds its log
};

struct MetadataChange {
  metadata::MetadataChanges changes;
  metadata::MetadataImagePtr image;
};
using MetadataChangePtr = std::shared_ptr<const MetadataChange>;

inline coordinator::Now coordinator_now() {
  return {std::chrono::steady_clock::now(), wall_clock_now()};
}

/// One shard of a CoordinatorRuntime, its log, and whether it is loaded. Belongs to one thread, but for what
/// a loader does, which owns the new shard until it is done.
template <class Shard>
class ShardHost : public std::enable_shared_from_this<ShardHost<Shard>> {
 public:
  using Make = std::function<std::unique_ptr<Shard>(const ShardOrigin&)>;
  /// Runs the first on a loader, and the second on the host's thread when that is done.
  using InBackground = std::function<void(std::move_only_function<void()>, std::move_only_function<void()>)>;

  ShardHost(PartitionIndex index, const CoordinatorOptions& options, const Make& make, InBackground load)
      : index_(index), options_(options), make_(make), in_background_(std::move(load)) {}

  void lead(const Leadership& leadership, const metadata::MetadataImagePtr& image) {
    const bool same_topic = leadership_.topic_id == leadership.topic_id;
    const bool same_epoch = leadership_.epoch == leadership.epoch;
    leadership_ = leadership;
    image_ = image;
    const bool goes_on = same_epoch ? shard_ != nullptr || load_ != nullptr
                                    : !options_.load_in_each_epoch && nobody_else_wrote();
    if (same_topic && goes_on) return;
    unload();
    begin_load();
  }

  /// Answers all who wait, and forgets the shard.
  void unload() {
    if (load_ != nullptr) load_->cancelled.store(true, std::memory_order_relaxed);
    load_ = nullptr;
    missed_.clear();
    if (shard_ == nullptr) return;
    // What it decides goes nowhere but to those who wait.
    for (coordinator::ReadyReply& reply : shard_->unload().replies)
      reply(protocol::ErrorCode::not_coordinator);
    shard_ = nullptr;
    log_.reset();
  }

  /// What keeps work from being run now; none: it can.
  protocol::ErrorCode readiness() {
    if (shard_ != nullptr && !log_->partition().active()) give_up("its log is no longer here");
    if (shard_ == nullptr && load_ == nullptr && std::chrono::steady_clock::now() >= retry_at_) begin_load();
    if (shard_ != nullptr) return protocol::ErrorCode::none;
    return load_ != nullptr ? protocol::ErrorCode::coordinator_load_in_progress
                            : protocol::ErrorCode::not_coordinator;
  }

  /// Only when readiness() is none. `check`: for records of a transaction.
  template <class Work>
  void run(Work& work, const storage::TransactionCheck& check = {}) {
    const coordinator::Now now = coordinator_now();
    (void)carry_out(work(*shard_, now), now, check);
  }

  /// Only when readiness() is none.
  Partition& partition() const { return log_->partition(); }

  /// Ends a transaction in the log, and so in the shard. Only when readiness() is none. `done` runs once that
  /// is durable, or will not be.
  void write_marker(const protocol::TransactionMarker& marker, coordinator::ReadyReply done) {
    const coordinator::Now now = coordinator_now();
    const auto appended = log_->partition().append_marker(marker, now.wall);
    if (!appended) {
      done(error_code_of(appended.error().kind));
      if (is_lost_by(appended.error().kind)) give_up(appended.error().message);
      return;
    }
    end_ = appended->last_offset + 1;
    shard_->end_transaction(marker.producer_id, marker.committed);
    std::vector<coordinator::ReadyReply> replies;
    replies.push_back(std::move(done));
    send(std::move(replies), now);
  }

  /// Runs the timers that are due. When to come again.
  std::optional<Instant> run_timers() {
    while (shard_ != nullptr) {
      const auto next = shard_->timers().next();
      if (!next) return std::nullopt;
      const coordinator::Now now = coordinator_now();
      if (*next > now.instant) return next;
      if (readiness() != protocol::ErrorCode::none) return std::nullopt;
      if (auto due = shard_->timers().take_due(now.instant)) fire(std::move(*due), now);
    }
    return std::nullopt;
  }

  void metadata_changed(const MetadataChangePtr& change) {
    image_ = change->image;
    if (load_ != nullptr) missed_.push_back(change);
    if (shard_ != nullptr && readiness() == protocol::ErrorCode::none) tell(*change);
  }

 private:
  /// One attempt to load. The loader has all of it until it is done.
  struct Load {
    explicit Load(CoordinatorLog to_load) : log(std::move(to_load)) {}
    std::atomic<bool> cancelled{false};
    CoordinatorLog log;
    std::unique_ptr<Shard> shard;
    Result<LoadedLog> loaded;
    Instant begun = std::chrono::steady_clock::now();
  };
  class IntoShard final : public LogReplay {
   public:
    explicit IntoShard(Shard& shard) : shard_(shard) {}
    Result<void> record(const coordinator::ReplayedRecord& record) override { return shard_.replay(record); }
    void end_transaction(ProducerId producer, bool committed) override {
      shard_.end_transaction(producer, committed);
    }

   private:
    Shard& shard_;
  };

  static constexpr std::chrono::milliseconds timer_pause{500};   ///< after a refused one
  static constexpr std::chrono::milliseconds lost_pause{1'000};  ///< until a lost log is looked for again
  static constexpr std::chrono::milliseconds failed_pause{30'000};

  /// Whether a log that refused something so cannot be gone on with.
  static bool is_lost_by(ErrorKind kind) {
    switch (kind) {
      case ErrorKind::too_large:
      case ErrorKind::no_space:
      case ErrorKind::invalid:
      case ErrorKind::invalid_producer_epoch:
      case ErrorKind::invalid_transaction_state:
      case ErrorKind::coordinator_fenced:
        return false;
      default:
        return true;
    }
  }

  std::string name() const {
    return log_ ? log_->partition().name().to_string() : "partition " + std::to_string(index_.value());
  }

  bool nobody_else_wrote() const {
    return shard_ != nullptr && log_->partition().active() &&
           options_.find(leadership_.topic_id, index_).get() == &log_->partition() &&
           log_->partition().log().log_end_offset() == end_;
  }

  void give_up(const std::string& why) {
    logger_.warn("partition={} unloaded: {}", name(), why);
    unload();
    retry_at_ = std::chrono::steady_clock::now() + lost_pause;
  }

  void begin_load() {
    auto partition = options_.find(leadership_.topic_id, index_);
    if (partition == nullptr) {
      retry_at_ = std::chrono::steady_clock::now() + lost_pause;
      return;
    }
    load_ = std::make_shared<Load>(CoordinatorLog(std::move(partition), options_.compression));
    load_->shard = make_({.image = image_, .epoch = leadership_.epoch});
    storage::Log& log = load_->log.partition().log();
    if (const Offset end = log.log_end_offset(); log.log_start_offset() == end) {
      load_->loaded = LoadedLog{.end = end};
      return finish_load(load_);
    }
    in_background_(
        [load = load_] {
          IntoShard into(*load->shard);
          load->loaded = load->log.replay(into, load->cancelled);
        },
        [self = this->weak_from_this(), load = load_] {
          if (const auto host = self.lock()) host->finish_load(load);
        });
  }

  void finish_load(std::shared_ptr<Load> load) {
    if (load != load_) return;  // it was given up
    load_ = nullptr;
    const auto missed = std::exchange(missed_, {});
    if (!load->loaded) {
      logger_.error("partition={} not loaded: {}", load->log.partition().name().to_string(),
                    load->loaded.error().message);
      retry_at_ = std::chrono::steady_clock::now() + failed_pause;
      return;
    }
    shard_ = std::move(load->shard);
    log_.emplace(std::move(load->log));
    end_ = load->loaded->end;
    note_loaded(*load->loaded, load->begun);
    const coordinator::Now now = coordinator_now();
    (void)carry_out(shard_->loaded(now), now);
    for (const MetadataChangePtr& change : missed)
      if (shard_ != nullptr) tell(*change);
  }

  void note_loaded(const LoadedLog& loaded, Instant begun) const {
    if (loaded.bytes == 0) return;
    const auto took =
        std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now() - begun);
    logger_.info("partition={} loaded records={} bytes={} ms={}", name(), loaded.records, loaded.bytes,
                 took.count());
  }

  void tell(const MetadataChange& change) {
    const coordinator::Now now = coordinator_now();
    (void)carry_out(shard_->metadata_changed(change.changes, change.image, now), now);
  }

  void fire(coordinator::Timers::Due due, const coordinator::Now& now) {
    if (carry_out(due.fire(now), now) || shard_ == nullptr) return;
    if (!shard_->timers().is_set(due.name))
      shard_->timers().set(due.name, now.instant + timer_pause, std::move(due.fire));
  }

  /// False when its records were refused.
  bool carry_out(coordinator::Decision decision, const coordinator::Now& now,
                 const storage::TransactionCheck& check = {}) {
    if (!decision.records.empty()) {
      const auto appended = log_->append(decision.records, decision.producer, now.wall, check);
      if (!appended) {
        refuse(decision, appended.error());
        return false;
      }
      end_ = *appended;
      if (decision.replay) replay(decision.records, decision.producer, now);
    }
    if (decision.appended) decision.appended();
    send(std::move(decision.replies), now);
    return true;
  }

  void replay(const std::vector<coordinator::Record>& records,
              const std::optional<coordinator::Producer>& producer, const coordinator::Now& now) {
    Offset offset = end_ - static_cast<int64_t>(records.size());
    for (const coordinator::Record& record : records) {
      const auto replayed =
          shard_->replay({.key = record.key,
                          .value = record.value ? std::optional<ByteView>(*record.value) : std::nullopt,
                          .offset = offset,
                          .timestamp = now.wall,
                          .producer_id = producer ? producer->id : no_producer_id});
      // It was made by the shard itself.
      BARNABAS_ASSERT(replayed.has_value());
      ++offset;
    }
  }

  void refuse(coordinator::Decision& decision, const Error& error) {
    const protocol::ErrorCode code = coordinator_error_of(error.kind);
    logger_.warn("partition={} {} records not appended: {}", name(), decision.records.size(), error.message);
    if (decision.refused) decision.refused(code);
    for (coordinator::ReadyReply& reply : decision.replies) reply(code);
    if (is_lost_by(error.kind)) give_up(error.message);
  }

  void send(std::vector<coordinator::ReadyReply> replies, const coordinator::Now& now) {
    if (replies.empty()) return;
    Partition& partition = log_->partition();
    if (!partition.flush_before_ack()) {
      for (coordinator::ReadyReply& reply : replies) reply(protocol::ErrorCode::none);
      return;
    }
    partition.when_durable(end_, now.instant + options_.durable_timeout,
                           [replies = std::move(replies)](const Result<void>& durable) mutable {
                             const protocol::ErrorCode code =
                                 durable ? protocol::ErrorCode::none
                                         : coordinator_error_of(durable.error().kind);
                             for (coordinator::ReadyReply& reply : replies) reply(code);
                           });
  }

  static inline constinit Logger logger_{"coordinator"};

  const PartitionIndex index_;
  const CoordinatorOptions& options_;
  const Make& make_;
  const InBackground in_background_;
  Leadership leadership_;
  metadata::MetadataImagePtr image_;
  Instant retry_at_{};

  std::shared_ptr<Load> load_;             ///< while one runs
  std::vector<MetadataChangePtr> missed_;  ///< since it began
  std::unique_ptr<Shard> shard_;           ///< once loaded; then log_ is there too
  std::optional<CoordinatorLog> log_;
  Offset end_;  ///< of what the shard knows of its log
};

}  // namespace barnabas::broker
