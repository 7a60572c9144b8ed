#pragma once

#include <deque>
#include <expected>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "coordinator/decision.h"
#include "coordinator/group_shard.h"

/// For tests of what decides over a coordinator's log, without the broker that runs it.
namespace barnabas::coordinator::testing {

/// What became of one request. The response is kept as it came, so its request must live as long.
template <class Response>
struct Answer {
  std::optional<std::expected<Response, protocol::ErrorCode>> content = {};
  bool dropped = false;  ///< its reply went away unanswered: the connection would be closed

  bool came() const { return content.has_value(); }
  /// There must be a response.
  const Response& response() const {
    BARNABAS_ASSERT(came() && content->has_value());
    return **content;
  }
  /// Of the whole request: refused by whoever runs the shard, or by `with_error`. none: there is a response.
  protocol::ErrorCode refused() const {
    BARNABAS_ASSERT(came());
    return content->has_value() ? protocol::ErrorCode::none : content->error();
  }
};

template <class Response>
using AnswerPtr = std::shared_ptr<Answer<Response>>;

/// A reply, and where its answer will be. Twice answered is a broken invariant.
template <class Response>
std::pair<Reply<Response>, AnswerPtr<Response>> reply_and_answer() {
  struct DropNotice {
    explicit DropNotice(AnswerPtr<Response> to) : answer(std::move(to)) {}
    DropNotice(DropNotice&& other) noexcept = default;
    DropNotice& operator=(DropNotice&&) = delete;
    ~DropNotice() {
      if (answer && !answer->came()) answer->dropped = true;
    }
    AnswerPtr<Response> answer;
  };
  auto answer = std::make_shared<Answer<Response>>();
  Reply<Response> reply([notice = DropNotice(answer)](std::expected<Response, protocol::ErrorCode> content) {
    BARNABAS_ASSERT(!notice.answer->came());
    notice.answer->content = std::move(content);
  });
  return {std::move(reply), std::move(answer)};
}

/// Runs a shard as the broker does: appends, replays, runs timers, lets answers go once they are durable. Its
/// log may refuse appends, leave durability to the test, and lose what is not durable in a crash.
template <class Shard>
class ShardRunner {
 public:
  struct Logged {
    Record record;
    TimestampMs timestamp;
    ProducerId producer_id = no_producer_id;
    std::optional<bool> marker = {};  ///< no record: the producer's transaction was committed, or aborted
  };
  using Make = std::function<std::unique_ptr<Shard>()>;

  /// Begins with an empty log.
  explicit ShardRunner(Make make) : make_(std::move(make)) { start(); }

  Shard& shard() { return *shard_; }
  Now now() const { return now_; }
  const std::vector<Logged>& log() const { return log_; }

  /// Appends fail with this error until it is none again.
  void refuse_appends(protocol::ErrorCode error) { refusal_ = error; }
  /// Whether what is appended is durable at once (so it is in the beginning). Switching it on makes all so.
  void durable_at_once(bool yes) {
    durable_at_once_ = yes;
    if (yes) make_durable();
  }
  void make_durable() {
    durable_ = log_.size();
    while (!waiting_.empty()) {
      ReadyReply reply = std::move(waiting_.front());
      waiting_.pop_front();
      reply(protocol::ErrorCode::none);
    }
  }

  /// False: its append was refused.
  bool carry_out(Decision decision) {
    if (!decision.records.empty() && refusal_ != protocol::ErrorCode::none) {
      if (decision.refused) decision.refused(refusal_);
      for (ReadyReply& reply : decision.replies) reply(refusal_);
      return false;
    }
    for (Record& record : decision.records) {
      log_.push_back(
          {std::move(record), now_.wall, decision.producer ? decision.producer->id : no_producer_id});
      if (decision.replay) replay(log_.size() - 1);
    }
    note_batch();
    if (decision.appended) decision.appended();
    for (ReadyReply& reply : decision.replies) waiting_.push_back(std::move(reply));
    // An answer that came after all is durable waits for nothing.
    if (durable_at_once_ || durable_ == log_.size()) make_durable();
    return true;
  }

  /// Somebody writes records of a transaction, or ends it, as the broker does for transactional producers.
  void append_in_transaction(std::vector<Record> records, ProducerId producer) {
    for (Record& record : records) {
      log_.push_back({std::move(record), now_.wall, producer});
      replay(log_.size() - 1);
    }
    note_batch();
    if (durable_at_once_) make_durable();
  }
  void end_transaction(ProducerId producer, bool committed) {
    log_.push_back({{}, now_.wall, producer, committed});
    replay(log_.size() - 1);
    note_batch();
    if (durable_at_once_) make_durable();
  }

  /// Time passes; each timer runs when it is due. One whose records are refused comes again 500 ms later.
  void advance(std::chrono::milliseconds by) {
    const Now end{now_.instant + by, TimestampMs(now_.wall.value() + by.count())};
    while (true) {
      const std::optional<Instant> next = shard_->timers().next();
      if (!next || *next > end.instant) break;
      move_to(std::max(*next, now_.instant));
      while (auto due = shard_->timers().take_due(now_.instant)) {
        if (!carry_out(due->fire(now_)))
          shard_->timers().set(due->name, now_.instant + std::chrono::milliseconds(500),
                               std::move(due->fire));
      }
    }
    move_to(end.instant);
  }

  /// The wall clock is set; timers do not notice.
  void set_wall_clock(std::chrono::milliseconds forth) {
    now_.wall = TimestampMs(now_.wall.value() + forth.count());
  }

  /// The process dies: answers that were not sent are lost, and so is the log behind the first `kept` records
  /// (at least all that is durable). Another one loads the rest.
  void crash(std::size_t kept) {
    BARNABAS_ASSERT(kept >= durable_ && kept <= log_.size());
    waiting_.clear();
    shard_.reset();
    log_.resize(kept);
    std::erase_if(batch_ends_, [kept](std::size_t end) { return end > kept; });
    durable_ = kept;
    start();
  }
  void crash() { crash(log_.size()); }
  /// How much of the log a crash may leave: whole batches, and all that is durable.
  std::vector<std::size_t> crash_points() const {
    std::vector<std::size_t> points{durable_};
    for (const std::size_t end : batch_ends_)
      if (end > durable_) points.push_back(end);
    return points;
  }
  std::size_t durable() const { return durable_; }

 private:
  void note_batch() {
    if (batch_ends_.empty() || batch_ends_.back() != log_.size()) batch_ends_.push_back(log_.size());
  }

  void start() {
    shard_ = make_();
    for (std::size_t i = 0; i < log_.size(); ++i) replay(i);
    carry_out(shard_->loaded(now_));
  }

  void replay(std::size_t at) {
    const Logged& logged = log_[at];
    if (logged.marker) return shard_->end_transaction(logged.producer_id, *logged.marker);
    std::optional<ByteView> value;
    if (logged.record.value) value = ByteView(*logged.record.value);
    const auto replayed = shard_->replay({.key = logged.record.key,
                                          .value = value,
                                          .offset = Offset(static_cast<int64_t>(at)),
                                          .timestamp = logged.timestamp,
                                          .producer_id = logged.producer_id});
    BARNABAS_ASSERT(replayed.has_value());
  }

  void move_to(Instant instant) {
    const auto by = std::chrono::duration_cast<std::chrono::milliseconds>(instant - now_.instant);
    now_ = {instant, TimestampMs(now_.wall.value() + by.count())};
  }

  Make make_;
  std::unique_ptr<Shard> shard_;
  std::vector<Logged> log_;
  std::vector<std::size_t> batch_ends_;  ///< where in the log each batch ends
  std::size_t durable_ = 0;
  bool durable_at_once_ = true;
  std::deque<ReadyReply> waiting_;
  protocol::ErrorCode refusal_ = protocol::ErrorCode::none;
  Now now_{Instant{} + std::chrono::hours(1), TimestampMs(1'750'000'000'000)};
};

/// Groups over an empty image with default settings, and member ids that count up.
class GroupShardRunner : public ShardRunner<GroupShard> {
 public:
  explicit GroupShardRunner(std::function<void(ShardEnvironment&)> adjust = {})
      : ShardRunner([adjust = std::move(adjust), ids = std::make_shared<uint64_t>(0)] {
          static const metadata::StaticConfig config;
          ShardEnvironment environment{.node = NodeId(1),
                                       .config = config,
                                       .settings = GroupSettings::of(config),
                                       .image = std::make_shared<metadata::MetadataImage>()};
          environment.random_uuid = [ids] {
            Uuid id;
            uint64_t number = ++*ids;
            for (std::size_t at = id.bytes.size(); number != 0; number >>= 8)
              id.bytes[--at] = static_cast<std::byte>(number & 0xff);
            return id;
          };
          if (adjust) adjust(environment);
          return std::make_unique<GroupShard>(std::move(environment));
        }) {}

  RequestContext context(int16_t version) const {
    return {.version = version, .client_id = "client", .client_host = "/127.0.0.1", .now = now()};
  }
};

}  // namespace barnabas::coordinator::testing
