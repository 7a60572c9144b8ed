#pragma once

#include <condition_variable>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "broker/directory_assignments.h"
#include "broker/partition.h"
#include "storage/log_manager.h"

namespace barnabas::broker {

/// Moves partitions from one log directory to another while they are used (KIP-113). For each a future
/// replica exists already; this copies, in pieces and within a rate, until little is lacking, and then:
///
///  1. From now on what is acknowledged is in both (Partition::begin_mirroring); the future replica gets the
///  rest, durably.
///  2. The metadata get the new directory: from here on a start goes on with the future replica.
///  3. Acknowledgements are held; the future replica takes the log's place, in memory; what it got last is
///  flushed;
///     acknowledgements go on.
///  4. The directories get their names.
///
/// Whatever fails before step 3 is undone, and the partition stays where it is. See docs/architecture.md.
///
/// All methods may be called from any thread but those that say otherwise.
class ReplicaMover {
 public:
  static constexpr int64_t unlimited = std::numeric_limits<int64_t>::max();
  struct Options {
    unsigned threads = 1;  ///< num.replica.alter.log.dirs.threads
    int64_t bytes_per_second =
        unlimited;  ///< replica.alter.log.dirs.io.max.bytes.per.second, of all moves together
  };

  /// References must outlive it.
  ReplicaMover(storage::LogManager& logs, DirectoryAssignments& assignments, Options options);
  ~ReplicaMover();

  /// Moves a partition to where its future replica is. Does nothing if that goes on already.
  void start(const std::shared_ptr<Partition>& partition);
  /// Returns once nothing is moved under this name: a move that only copies is given up (its future replica
  /// stays), one that is further is waited for. ErrorKind::timed_out. Blocks, and must not be called on a
  /// thread of the gateway.
  Result<void> cancel(const storage::TopicPartition& name, Instant deadline);
  /// Takes effect at once.
  void set_bytes_per_second(int64_t rate);
  /// Ends each move after the step that it is in; the next start of the broker goes on. Blocks.
  void stop();
  std::size_t moving() const;

 private:
  enum class Phase : uint8_t {
    copying,
    closing,
    assigning,
    switching,
    finishing,
    reverting,
    reverted,
    ended
  };
  struct Move;
  using MovePtr = std::shared_ptr<Move>;
  class CopyMirror;

  void run();
  MovePtr take_due(std::unique_lock<std::mutex>& lock);
  Phase step(Move& move);
  Phase copy(Move& move);
  Phase close(const MovePtr& move);
  Phase change_places(Move& move);
  Phase finish(Move& move);
  void revert(const MovePtr& move);
  Phase after_revert(Move& move);
  Phase failed(Move& move, const Error& error);
  void begin_assigning(Move& move);
  void assigned(const MovePtr& move, Phase next);
  Instant delay_for(uint64_t bytes, Instant now);
  uint64_t piece_bytes() const;

  storage::LogManager& logs_;
  DirectoryAssignments& assignments_;
  const Options options_;

  mutable std::mutex mutex_;
  std::condition_variable wake_;   ///< workers
  std::condition_variable ended_;  ///< who waits for a move
  bool stopping_ = false;
  std::vector<MovePtr> moves_;
  int64_t rate_;
  double debt_bytes_ = 0;  ///< copied ahead of the rate, as of debt_time_
  Instant debt_time_{};
  std::vector<std::thread> workers_;
};

}  // namespace barnabas::broker
