#include "broker/replica_mover.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/log.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using std::chrono::milliseconds;

constinit Logger logger{"broker"};

constexpr uint64_t piece_bytes_max = 1 << 20;
constexpr milliseconds first_pause{100};
constexpr milliseconds longest_pause{10'000};
/// A rate that is changed while a move waits for it takes effect after this at the latest.
constexpr milliseconds longest_throttle{500};

}  // namespace

struct ReplicaMover::Move {
  storage::TopicPartition name;
  std::shared_ptr<Partition> partition;
  std::shared_ptr<storage::Log> source;
  std::shared_ptr<storage::Log> target;
  std::string target_path;
  Uuid source_id;
  Uuid target_id;
  std::string target_directory;  ///< its own, for telling whose fault an error is

  std::mutex copy_mutex;  ///< one copies at a time
  /// Under the mover's mutex.
  Phase phase = Phase::copying;
  bool running = false;
  bool cancelled = false;
  Instant due{};
  milliseconds pause{first_pause};
  bool told = false;  ///< that the disk is full
  /// Why it has to be undone.
  Error last_error{ErrorKind::timed_out, "the controller did not take the assignment"};

  /// Everything below `end` and the log start, durably.
  Result<void> catch_up(Offset end) {
    const std::scoped_lock lock(copy_mutex);
    while (true) {
      BARNABAS_ASSIGN(const uint64_t bytes, target->follow(*source, piece_bytes_max, wall_clock_now()));
      if (bytes == 0 ||
          (target->log_end_offset() >= end && target->log_start_offset() >= source->log_start_offset()))
        break;
    }
    BARNABAS_TRY(target->flush());
    return {};
  }
  bool is_fault_of_target(const Error& error) const { return error.message.contains(target_directory); }
};

class ReplicaMover::CopyMirror final : public Mirror {
 public:
  explicit CopyMirror(MovePtr move) : move_(std::move(move)) {}
  Result<void> follow(Offset end) override { return move_->catch_up(end); }

 private:
  const MovePtr move_;
};

ReplicaMover::ReplicaMover(storage::LogManager& logs, DirectoryAssignments& assignments, Options options)
    : logs_(logs), assignments_(assignments), options_(options), rate_(options.bytes_per_second) {}

ReplicaMover::~ReplicaMover() {
  stop();
}

void ReplicaMover::stop() {
  std::vector<std::thread> workers;
  {
    const std::scoped_lock lock(mutex_);
    stopping_ = true;
    workers.swap(workers_);
  }
  wake_.notify_all();
  ended_.notify_all();
  for (std::thread& worker : workers) worker.join();
  // A partition that is mirrored knows its move, which knows the partition: somebody has to let go.
  std::vector<MovePtr> left;
  {
    const std::scoped_lock lock(mutex_);
    left.swap(moves_);
  }
  for (const MovePtr& move : left)
    if (move->phase != Phase::copying) move->partition->hold_for_good();
}

std::size_t ReplicaMover::moving() const {
  const std::scoped_lock lock(mutex_);
  return moves_.size();
}

void ReplicaMover::start(const std::shared_ptr<Partition>& partition) {
  const auto future = logs_.future(partition->name());
  const auto source = logs_.get(partition->name());
  if (!future || !source) return;
  auto move = std::make_shared<Move>();
  move->name = partition->name();
  move->partition = partition;
  move->source = *source;
  move->target = future->log;
  move->target_path = future->path;
  move->target_id = future->directory_id;
  move->source_id = logs_.directory_of(move->name);
  move->target_directory = future->log->directory();
  const std::scoped_lock lock(mutex_);
  if (stopping_) return;
  const bool known = std::ranges::any_of(moves_, [&](const MovePtr& other) {
    return other->target == move->target && other->phase != Phase::ended;
  });
  if (known) return;
  logger.info("replica begins to move partition={} from={} to={}", move->name.to_string(),
              move->source->directory(), move->target_directory);
  moves_.push_back(std::move(move));
  if (workers_.size() < std::min<std::size_t>(options_.threads, moves_.size()))
    workers_.emplace_back([this] { run(); });
  wake_.notify_one();
}

Result<void> ReplicaMover::cancel(const storage::TopicPartition& name, Instant deadline) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const auto found = std::ranges::find(moves_, name, [](const MovePtr& move) { return move->name; });
    if (found == moves_.end()) return {};
    Move& move = **found;
    if (move.phase == Phase::copying) {
      move.cancelled = true;
      if (!move.running) {
        moves_.erase(found);
        return {};
      }
    }
    if (ended_.wait_until(lock, deadline) == std::cv_status::timeout)
      return fail(ErrorKind::timed_out, name.to_string() + " is just arriving in another directory");
  }
  return fail(ErrorKind::closed, "the broker stops");
}

// --- workers and rate --------------------------------------------------------------------------------------

void ReplicaMover::set_bytes_per_second(int64_t rate) {
  const std::scoped_lock lock(mutex_);
  if (rate_ == rate) return;
  rate_ = rate;
  debt_bytes_ = 0;
  for (const MovePtr& move : moves_)
    if (move->phase == Phase::copying && move->pause == first_pause) move->due = Instant{};
  wake_.notify_all();
}

// With mutex_ held. A small rate is not to be used up by one piece for many seconds.
uint64_t ReplicaMover::piece_bytes() const {
  return static_cast<uint64_t>(std::clamp<int64_t>(rate_, 1, static_cast<int64_t>(piece_bytes_max)));
}

// With mutex_ held: when to copy on after `bytes` more.
Instant ReplicaMover::delay_for(uint64_t bytes, Instant now) {
  if (rate_ == unlimited) return now;
  const double rate = static_cast<double>(std::max<int64_t>(rate_, 1));
  const double passed = std::chrono::duration<double>(now - debt_time_).count();
  debt_bytes_ = std::max(0.0, debt_bytes_ - passed * rate) + static_cast<double>(bytes);
  debt_time_ = now;
  return now + std::chrono::duration_cast<milliseconds>(std::chrono::duration<double>(debt_bytes_ / rate));
}

ReplicaMover::MovePtr ReplicaMover::take_due(std::unique_lock<std::mutex>& lock) {
  while (!stopping_) {
    const Instant now = std::chrono::steady_clock::now();
    Instant next = Instant::max();
    for (const MovePtr& move : moves_) {
      if (move->running || move->phase == Phase::assigning) continue;
      if (move->due > now) {
        next = std::min(next, move->due);
        continue;
      }
      move->running = true;
      return move;
    }
    if (next == Instant::max()) {
      wake_.wait(lock);
    } else {
      wake_.wait_until(lock, next);
    }
  }
  return nullptr;
}

void ReplicaMover::run() {
  std::unique_lock lock(mutex_);
  while (const MovePtr move = take_due(lock)) {
    const Phase before = move->phase;
    lock.unlock();
    Phase next = before;
    if (before == Phase::closing) {
      next = close(move);
    } else if (before == Phase::reverting) {
      revert(move);
      next = Phase::assigning;
    } else {
      next = step(*move);
    }
    lock.lock();
    move->running = false;
    // The controller's answer may have been here before this thread.
    // Whoever asks the controller has said so already, and the answer may have been here before this thread.
    if (next != Phase::assigning) move->phase = next;
    if (move->phase == Phase::ended || (move->phase == Phase::copying && move->cancelled))
      std::erase(moves_, move);
    else if (move->phase != Phase::assigning)
      std::ranges::rotate(moves_, std::ranges::find(moves_, move) + 1);  // others have their turn
    wake_.notify_all();
    ended_.notify_all();
  }
}

ReplicaMover::Phase ReplicaMover::step(Move& move) {
  switch (move.phase) {
    case Phase::copying:
      return copy(move);
    case Phase::switching:
      return change_places(move);
    case Phase::finishing:
      return finish(move);
    case Phase::reverted:
      return after_revert(move);
    default:
      return Phase::ended;
  }
}

// --- the steps ---------------------------------------------------------------------------------------------

ReplicaMover::Phase ReplicaMover::copy(Move& move) {
  if (!move.partition->active()) return Phase::ended;
  uint64_t piece = 0;
  {
    const std::scoped_lock lock(mutex_);
    const Instant now = std::chrono::steady_clock::now();
    const Instant due = delay_for(0, now);
    if (due > now) {
      move.due = std::min(due, now + longest_throttle);
      return Phase::copying;
    }
    piece = piece_bytes();
  }
  const Offset end = move.source->log_end_offset();
  Result<uint64_t> copied = 0;
  {
    const std::scoped_lock lock(move.copy_mutex);
    copied = move.target->follow(*move.source, piece, wall_clock_now());
  }
  if (!copied) return failed(move, copied.error());
  const std::scoped_lock lock(mutex_);
  const Instant now = std::chrono::steady_clock::now();
  move.pause = first_pause;
  move.told = false;
  move.due = std::min(delay_for(*copied, now), now + longest_throttle);
  if (move.cancelled || move.target->log_end_offset() < end) return Phase::copying;
  move.due = now;
  return Phase::closing;
}

ReplicaMover::Phase ReplicaMover::failed(Move& move, const Error& error) {
  const std::string name = move.name.to_string();
  if (error.kind == ErrorKind::no_space || error.kind == ErrorKind::timed_out) {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(move.told, true))
      logger.warn("replica waits partition={} to={} reason=\"{}\"", name, move.target_path, error.message);
    move.due = std::chrono::steady_clock::now() + move.pause;
    move.pause = std::min(move.pause * 2, longest_pause);
    return Phase::copying;
  }
  if (!move.partition->active() || error.kind == ErrorKind::closed) return Phase::ended;
  logger.error("replica does not move on, the partition stays where it is partition={} to={} reason=\"{}\"",
               name, move.target_path, error.message);
  if (error.kind != ErrorKind::io && error.kind != ErrorKind::offline) {
    if (const auto removed = logs_.remove_future(move.name, std::chrono::steady_clock::now()); !removed)
      logger.warn("future replica not removed partition={} reason=\"{}\"", name, removed.error().message);
  } else if (move.is_fault_of_target(error)) {
    logs_.report_directory(move.target_path, Error{ErrorKind::io, error.message});
  } else {
    logs_.report(move.name, error);
  }
  return Phase::ended;
}

// From here to change_places the partition is mirrored: whatever ends there must release it.
ReplicaMover::Phase ReplicaMover::close(const MovePtr& move) {
  if (!move->partition->active()) return Phase::ended;
  move->partition->begin_mirroring(std::make_shared<CopyMirror>(move));
  Result<void> ready = move->catch_up(move->source->log_end_offset());
  if (ready) ready = logs_.checkpoint_future(move->name);
  if (!ready) {
    move->partition->release_acknowledgements();
    return failed(*move, ready.error());
  }
  begin_assigning(*move);
  assignments_.assign(move->partition->topic_id(), move->name.partition, move->target_id,
                      [this, move](ErrorCode error) {
                        if (error != ErrorCode::none)
                          logger.warn("the controller did not note the move partition={} error={}",
                                      move->name.to_string(), static_cast<int16_t>(error));
                        assigned(move, error == ErrorCode::none ? Phase::switching : Phase::reverting);
                      });
  return Phase::assigning;
}

void ReplicaMover::begin_assigning(Move& move) {
  const std::scoped_lock lock(mutex_);
  move.phase = Phase::assigning;
}

void ReplicaMover::assigned(const MovePtr& move, Phase next) {
  const std::scoped_lock lock(mutex_);
  move->phase = next;
  if (next == Phase::reverting) {
    move->due = std::chrono::steady_clock::now() + move->pause;
    move->pause = std::min(move->pause * 2, longest_pause);
  }
  wake_.notify_all();
}

ReplicaMover::Phase ReplicaMover::change_places(Move& move) {
  Partition& partition = *move.partition;
  partition.hold_acknowledgements();
  // Most of what is lacking is flushed before appends have to wait for the rest.
  Result<void> switched = move.catch_up(move.source->log_end_offset());
  if (switched) {
    const std::scoped_lock lock(move.copy_mutex);
    switched =
        logs_.switch_to_future(move.name, wall_clock_now(),
                               [&](const std::shared_ptr<storage::Log>& log) { partition.replace_log(log); });
  }
  if (!switched) {
    if (!partition.active()) {
      partition.release_acknowledgements();
      return Phase::ended;
    }
    const std::scoped_lock lock(mutex_);
    logger.warn("replica not moved, taking it back partition={} to={} reason=\"{}\"", move.name.to_string(),
                move.target_path, switched.error().message);
    move.last_error = switched.error();
    return Phase::reverting;
  }
  auto flushed = move.target->flush();
  if (!flushed) logs_.report(move.name, flushed.error());
  partition.release_acknowledgements();
  return Phase::finishing;
}

ReplicaMover::Phase ReplicaMover::finish(Move& move) {
  Result<void> finished;
  if (const auto flushed = move.target->flush(); !flushed) finished = std::unexpected(flushed.error());
  if (finished) finished = logs_.finish_switch(move.name, std::chrono::steady_clock::now());
  if (!finished && finished.error().kind == ErrorKind::no_space && move.partition->active()) {
    const std::scoped_lock lock(mutex_);
    if (!std::exchange(move.told, true))
      logger.warn("replica arrived, but its directory cannot be renamed yet partition={} reason=\"{}\"",
                  move.name.to_string(), finished.error().message);
    move.due = std::chrono::steady_clock::now() + move.pause;
    move.pause = std::min(move.pause * 2, longest_pause);
    return Phase::finishing;
  }
  if (finished) {
    logger.info("replica moved partition={} to={}", move.name.to_string(), move.target_path);
  } else {
    logger.warn("replica moved, the next start gives its directory its name partition={} reason=\"{}\"",
                move.name.to_string(), finished.error().message);
  }
  return Phase::ended;
}

// The metadata may say that the target holds the partition; until they say the opposite, acknowledgements
// wait for both.
void ReplicaMover::revert(const MovePtr& move) {
  begin_assigning(*move);
  assignments_.assign(move->partition->topic_id(), move->name.partition, move->source_id,
                      [this, move](ErrorCode error) {
                        const bool gone = error != ErrorCode::none && !move->partition->active();
                        assigned(move, error == ErrorCode::none || gone ? Phase::reverted : Phase::reverting);
                      });
}

ReplicaMover::Phase ReplicaMover::after_revert(Move& move) {
  move.partition->release_acknowledgements();
  return failed(move, move.last_error);
}

}  // namespace barnabas::broker
