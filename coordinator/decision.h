#pragma once

#include <algorithm>
#include <expected>
#include <functional>
#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "base/assert.h"
#include "base/clock.h"
#include "base/types.h"
#include "coordinator/record.h"
#include "protocol/error_code.h"

namespace barnabas::coordinator {

/// Time as a shard is told it; it has no clock of its own.
struct Now {
  Instant instant;      ///< for timers
  TimestampMs wall{0};  ///< for what is kept
};

/// Runs once: with `none` when what the answer is based upon is durable, else with the reason why it will
/// never be.
using ReadyReply = std::move_only_function<void(protocol::ErrorCode)>;

/// The duty to answer one request, once; it may be kept as long as the answer takes (a member that waits for
/// a rebalance). What is dropped unanswered closes its connection. Move-only.
///
/// A response owns its strings, or borrows from its own request, which lives until it is answered; never from
/// a shard's state or from another request.
template <class Response>
class Reply {
 public:
  /// An error code makes the request's error response.
  using Send = std::move_only_function<void(std::expected<Response, protocol::ErrorCode>)>;

  Reply() = default;
  Reply(Send send) : send_(std::move(send)) {}

  /// Whether there is still somebody to answer.
  explicit operator bool() const { return static_cast<bool>(send_); }

  /// For Decision::replies. Empties this.
  ReadyReply with(Response response) {
    return [send = std::exchange(send_, nullptr),
            response = std::move(response)](protocol::ErrorCode error) mutable {
      if (error == protocol::ErrorCode::none) {
        send(std::move(response));
      } else {
        send(std::unexpected(error));
      }
    };
  }
  ReadyReply with_error(protocol::ErrorCode refused) {
    return [send = std::exchange(send_, nullptr), refused](protocol::ErrorCode error) mutable {
      send(std::unexpected(error == protocol::ErrorCode::none ? refused : error));
    };
  }

 private:
  Send send_;
};

/// Who writes records as a part of a transaction.
struct Producer {
  ProducerId id = no_producer_id;
  ProducerEpoch epoch = no_producer_epoch;
};

/// What a shard wants done upon a request, a timer or changed metadata. Making one changes nothing that is
/// kept in the log: only replaying its records does, and `appended` what is kept in memory alone.
///
/// Carried out in this order: the records are appended as one batch, all or nothing; they are replayed;
/// `appended` runs. Each reply goes out once all that the shard has appended so far is durable, so that no
/// answer tells of what a power cut could take back. When the append is refused, `refused` runs instead of
/// replay and `appended`, and each reply gets the error at once.
struct Decision {
  std::vector<Record> records = {};
  /// The records belong to a transaction of this producer; they are replayed as such.
  std::optional<Producer> producer = {};
  /// False: the state has been, or will be by `appended`, changed without them; they are replayed by a start
  /// only.
  bool replay = true;
  std::move_only_function<void()> appended = {};
  std::move_only_function<void(protocol::ErrorCode)> refused = {};
  std::vector<ReadyReply> replies = {};

  static Decision answer(ReadyReply reply) {
    Decision decision;
    decision.replies.push_back(std::move(reply));
    return decision;
  }
  void append(std::vector<Record> more) {
    records.insert(records.end(), std::move_iterator(more.begin()), std::move_iterator(more.end()));
  }
  /// What several parts of a shard want becomes one: carried out or refused together. Both must want their
  /// records replayed, or neither.
  void add(Decision other) {
    BARNABAS_ASSERT(replay == other.replay || records.empty() || other.records.empty());
    if (records.empty()) replay = other.replay;
    append(std::move(other.records));
    appended = both(std::move(appended), std::move(other.appended));
    refused = both(std::move(refused), std::move(other.refused));
    std::ranges::move(other.replies, std::back_inserter(replies));
  }

 private:
  template <class... Args>
  static std::move_only_function<void(Args...)> both(std::move_only_function<void(Args...)> first,
                                                     std::move_only_function<void(Args...)> second) {
    if (!first) return second;
    if (!second) return first;
    return [first = std::move(first), second = std::move(second)](Args... args) mutable {
      first(args...);
      second(args...);
    };
  }
};

}  // namespace barnabas::coordinator
