#pragma once

#include <atomic>
#include <cstddef>
#include <functional>
#include <utility>
#include <vector>

namespace barnabas::broker {

/// Parts that come one by one, each from a thread of its own; whoever brings the last one hands all on.
template <class Part>
class JoinedParts {
 public:
  using Done = std::move_only_function<void(std::vector<Part>&&)>;

  JoinedParts(std::vector<Part> parts, Done done)
      : parts_(std::move(parts)), missing_(parts_.size() + 1), done_(std::move(done)) {}

  /// A part as it was given; it may be changed by whoever finishes it.
  Part& at(std::size_t index) { return parts_[index]; }
  /// Once for each part, and once more by whoever asks for them, so that nothing is handed on before all are
  /// asked.
  void finish_one() {
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_(std::move(parts_));
  }

 private:
  std::vector<Part> parts_;
  std::atomic<std::size_t> missing_;
  Done done_;
};

}  // namespace barnabas::broker
