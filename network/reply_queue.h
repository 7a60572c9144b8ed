#pragma once

#include <boost/circular_buffer.hpp>
#include <cstdint>
#include <utility>

#include "base/assert.h"
#include "network/outgoing_frame.h"
#include "network/request_handler.h"

namespace barnabas::network {

/// The requests of one connection that were started and whose outcome has not been passed on, in order.
/// Requests are numbered from 0.
class ReplyQueue {
 public:
  enum class Outcome : uint8_t { pending, reply, no_reply, close };
  /// What a slot reported.
  struct Settlement {
    Outcome outcome = Outcome::pending;
    OutgoingFrame frame{};
    AfterReply after{};  ///< of a close: the reason
    Instant answered{};
  };
  struct Entry : Settlement {
    bool next_allowed = false;
    uint32_t request_bytes = 0;
    int16_t api = -1;  ///< what the request begins with
    Instant received{};
    Instant started{};
    Instant handled{};
  };

  /// The number of a request that is started now.
  uint64_t start(uint32_t request_bytes) {
    if (entries_.full()) entries_.set_capacity(entries_.empty() ? 4 : entries_.capacity() * 2);
    Entry entry;
    entry.request_bytes = request_bytes;
    entries_.push_back(std::move(entry));
    bytes_ += request_bytes;
    return first_ + entries_.size() - 1;
  }
  /// The entry of a request, pending or not.
  Entry& at(uint64_t request) {
    BARNABAS_ASSERT(request >= first_ && request - first_ < entries_.size());
    return entries_[request - first_];
  }
  bool holds(uint64_t request) const { return request >= first_ && request - first_ < entries_.size(); }

  bool empty() const { return entries_.empty(); }
  std::size_t size() const { return entries_.size(); }
  /// Of the requests in the queue.
  uint64_t bytes() const { return bytes_; }
  bool front_done() const { return !entries_.empty() && entries_.front().outcome != Outcome::pending; }
  Entry pop() {
    Entry entry = std::move(entries_.front());
    entries_.pop_front();
    ++first_;
    bytes_ -= entry.request_bytes;
    return entry;
  }
  /// Whether a further request may be started as far as the last one is concerned.
  bool next_allowed() const {
    return entries_.empty() || entries_.back().next_allowed || entries_.back().outcome != Outcome::pending;
  }
  void clear() {
    first_ += entries_.size();
    entries_.clear();
    bytes_ = 0;
  }

 private:
  boost::circular_buffer<Entry> entries_;
  uint64_t first_ = 0;
  uint64_t bytes_ = 0;
};

}  // namespace barnabas::network
