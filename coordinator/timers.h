#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/text_hash.h"
#include "coordinator/decision.h"

namespace barnabas::coordinator {

/// The timers of one shard, by name. Pure: whoever runs the shard asks when the next one is due, and carries
/// out what it decides. Setting a timer later, as each heartbeat does, costs a look-up and no more.
class Timers {
 public:
  /// May run more than once: a decision whose records were refused comes again after a pause.
  using Fire = std::function<Decision(const Now&)>;

  struct Due {
    std::string name;
    Fire fire;
  };

  /// Replaces the timer of this name.
  void set(std::string_view name, Instant at, Fire fire);
  /// Moves a timer that is set; false: there is none.
  bool move(std::string_view name, Instant at);
  void cancel(std::string_view name);
  bool is_set(std::string_view name) const { return timers_.contains(name); }
  std::size_t size() const { return timers_.size(); }

  /// When to look again; may be earlier than a timer is due. Nothing: no timer is set.
  std::optional<Instant> next() const;
  /// Takes out one that is due, the earliest first.
  std::optional<Due> take_due(Instant now);

 private:
  struct Timer {
    Instant at;
    uint64_t queued = 0;  ///< its entry in queue_; older entries of the name count no more
    Instant queued_at;
    Fire fire;
  };
  struct Entry {
    Instant at;
    uint64_t number = 0;
    std::string name;
    bool operator>(const Entry& other) const {
      return at != other.at ? at > other.at : number > other.number;
    }
  };

  void enqueue(const std::string& name, Timer& timer);
  void drop_stale();

  std::unordered_map<std::string, Timer, TextHash, std::equal_to<>> timers_;
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue_;
  uint64_t last_number_ = 0;
};

}  // namespace barnabas::coordinator
