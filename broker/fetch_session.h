#pragma once

#include <chrono>
#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/types.h"
#include "base/uuid.h"
#include "protocol/error_code.h"

namespace barnabas::broker {

class Partition;

/// One partition as a fetch request names it, and what the session last told its client of it (KIP-227).
struct FetchPartition {
  std::string topic;  ///< empty when the request named the topic by id (v13+)
  Uuid topic_id;      ///< zero when the request named the topic by name
  PartitionIndex index{0};
  LeaderEpoch current_leader_epoch = no_leader_epoch;
  Offset fetch_offset{0};
  LeaderEpoch last_fetched_epoch = no_leader_epoch;
  int32_t max_bytes = 0;

  Offset sent_high_watermark = no_offset;
  Offset sent_log_start_offset = no_offset;

  /// Found at the last look-up; may be stale, its own flag says so.
  std::shared_ptr<Partition> partition;
  std::string was_named;  ///< of a topic named by id that was here and is gone
};

/// What a client and this broker agreed to fetch again and again. Used by one request at a time: lock() it.
class FetchSession {
 public:
  /// `owner`: the principal that it is for, "User:alice".
  FetchSession(int32_t id, std::string owner, bool by_topic_id, Instant created)
      : id_(id),
        owner_(std::move(owner)),
        by_topic_id_(by_topic_id),
        created_(created),
        bytes_(owner_.size()) {}

  int32_t id() const { return id_; }
  bool by_topic_id() const { return by_topic_id_; }
  std::size_t size() const { return partitions_.size(); }
  /// About the memory that it takes.
  std::size_t bytes() const { return bytes_; }

  /// Adds a partition or replaces what is asked of it; what was sent before is kept.
  void add(const FetchPartition& wanted);
  void forget(std::string_view topic, const Uuid& topic_id, PartitionIndex index);

  using List = std::list<FetchPartition>;
  List& partitions() { return partitions_; }
  /// Puts a partition that got records behind the others, so that none starves when the answer is full.
  void move_to_end(List::iterator partition) {
    partitions_.splice(partitions_.end(), partitions_, partition);
  }

  std::mutex& lock() { return mutex_; }

 private:
  friend class FetchSessionCache;
  struct Key {
    std::string topic;
    Uuid topic_id;
    PartitionIndex index{0};
    bool operator==(const Key&) const = default;
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const noexcept;
  };

  static std::size_t entry_bytes(const Key& key);

  const int32_t id_;
  const std::string owner_;
  const bool by_topic_id_;
  const Instant created_;
  std::mutex mutex_;
  std::size_t bytes_;
  List partitions_;
  std::unordered_map<Key, List::iterator, KeyHash> index_;

  // Owned by the cache and guarded by its mutex.
  int32_t epoch_ = 1;
  std::size_t cached_size_ = 0;
  std::size_t cached_bytes_ = 0;
  Instant last_used_;
};

/// The sessions of all clients; at most `slots` of them, and at most bytes_max of memory. Thread-safe. A new
/// session takes a place that has not been used for two minutes or that is smaller and older than two
/// minutes; without one the client simply gets no session.
///
/// A session is its owner's: for anybody else it is not there. Ids are not to be guessed (RAND_bytes), so
/// that clients of one principal do not get at each other's by chance, or by trying.
class FetchSessionCache {
 public:
  static constexpr std::chrono::milliseconds eviction_age{120'000};
  /// Kafka bounds sessions, not what is in them; a client may name as many partitions as it likes.
  static constexpr std::size_t bytes_max = 256 << 20;
  static constexpr int32_t initial_epoch = 0;
  static constexpr int32_t final_epoch = -1;

  explicit FetchSessionCache(std::size_t slots) : slots_(slots) {}

  /// The session of an incremental request and its next epoch taken, or the error that the answer carries.
  struct Lookup {
    std::shared_ptr<FetchSession> session;
    protocol::ErrorCode error = protocol::ErrorCode::none;
  };
  Lookup continue_session(int32_t id, std::string_view owner, int32_t epoch, bool by_topic_id, Instant now);

  /// A new session for `size` partitions; null when the cache is full of better ones.
  std::shared_ptr<FetchSession> create(std::string owner, bool by_topic_id, std::size_t size, Instant now);
  /// The owner's session of that id, if there is one.
  void remove(int32_t id, std::string_view owner);
  void remove(const FetchSession& session);
  /// To be called when a session's size has changed. False when all sessions together have become too large:
  /// then this one is removed, and its client goes on without.
  [[nodiscard]] bool resized(FetchSession& session, std::size_t size, std::size_t bytes);

  std::size_t size() const;
  std::size_t bytes() const;

 private:
  /// Null: there is none of that id, or it is somebody else's.
  std::shared_ptr<FetchSession> find(int32_t id, std::string_view owner) const;
  /// That no session has; nothing when there is no randomness.
  std::optional<int32_t> new_id() const;
  bool make_room(std::size_t size, Instant now);
  void erase(const std::shared_ptr<FetchSession>& session);
  void touch(FetchSession& session, Instant now);

  struct ByUse {
    bool operator()(const std::shared_ptr<FetchSession>& a, const std::shared_ptr<FetchSession>& b) const {
      return std::pair(a->last_used_, a->id()) < std::pair(b->last_used_, b->id());
    }
  };
  struct BySize {
    bool operator()(const std::shared_ptr<FetchSession>& a, const std::shared_ptr<FetchSession>& b) const {
      return std::pair(a->cached_size_, a->id()) < std::pair(b->cached_size_, b->id());
    }
  };

  const std::size_t slots_;
  mutable std::mutex mutex_;
  std::size_t bytes_ = 0;
  std::unordered_map<int32_t, std::shared_ptr<FetchSession>> sessions_;
  std::set<std::shared_ptr<FetchSession>, ByUse> by_use_;
  std::set<std::shared_ptr<FetchSession>, BySize> by_size_;
};

}  // namespace barnabas::broker
