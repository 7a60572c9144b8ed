#pragma once

#include <cstddef>
#include <list>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/clock.h"

namespace barnabas {

/// One bucket for each who share one, as long as it remembers something. Those that were not used for
/// `idle_max` are as good as new ones and are let go of; so are the least recently used when there are too
/// many, as when somebody makes up a client id for each request. Nothing is won by that: a new bucket would
/// be his in any case. One thread at a time.
template <class Bucket>
class QuotaBuckets {
 public:
  static constexpr std::size_t bytes_max = 16 << 20;

  explicit QuotaBuckets(std::chrono::milliseconds idle_max) : idle_max_(idle_max) {}

  Bucket& use(const std::string& key, Instant now) {
    if (const auto found = by_key_.find(key); found != by_key_.end()) {
      order_.splice(order_.begin(), order_, found->second);
    } else {
      order_.push_front(Entry{key, {}, now});
      by_key_.emplace(order_.front().key, order_.begin());
      bytes_ += cost_of(key);
    }
    order_.front().used = now;
    // Two for each that comes: so the idle ones get fewer.
    for (int i = 0; i < 2 && now - order_.back().used >= idle_max_; ++i) drop_last();
    while (bytes_ > bytes_max && order_.size() > 1) drop_last();
    return order_.front().bucket;
  }

  std::size_t size() const { return order_.size(); }
  std::size_t bytes() const { return bytes_; }

 private:
  struct Entry {
    std::string key;
    Bucket bucket;
    Instant used;
  };
  /// About what a bucket of a dozen windows, its place in the list and the index take.
  static std::size_t cost_of(const std::string& key) { return key.size() + 512; }
  void drop_last() {
    bytes_ -= cost_of(order_.back().key);
    by_key_.erase(order_.back().key);
    order_.pop_back();
  }

  const std::chrono::milliseconds idle_max_;
  std::list<Entry> order_;  ///< the one used last is in front
  std::unordered_map<std::string_view, typename std::list<Entry>::iterator> by_key_;
  std::size_t bytes_ = 0;
};

}  // namespace barnabas
