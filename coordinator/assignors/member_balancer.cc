#include "coordinator/assignors/member_balancer.h"

#include <algorithm>
#include <utility>

namespace barnabas::coordinator {

int32_t MemberBalancer::begin(const std::vector<std::size_t>& subscribers) {
  order_ = subscribers;
  std::ranges::sort(order_, {}, [&](std::size_t member) { return std::pair(sizes_[member], member); });
  least_end_ = 0;
  least_next_ = 0;
  least_level_ = size_at(0) - 1;
  most_begin_ = order_.size();
  most_end_ = order_.size();
  most_next_ = order_.size();
  most_level_ = size_at(order_.size() - 1) + 1;
  return size_at(order_.size() - 1) - size_at(0);
}

std::size_t MemberBalancer::next_least() {
  if (least_next_ >= least_end_) {  // all have had their turn: the level rises, and takes in who is on it
    ++least_level_;
    while (least_end_ < order_.size() && size_at(least_end_) == least_level_) ++least_end_;
    least_next_ = 0;
  }
  return order_[least_next_++];
}

std::optional<std::size_t> MemberBalancer::next_most() {
  if (most_next_ <= most_begin_) {
    const bool nobody_on_level = most_end_ <= most_begin_;
    most_level_ = nobody_on_level && most_begin_ > 0 ? size_at(most_begin_ - 1) : most_level_ - 1;
    while (most_begin_ > 0 && size_at(most_begin_ - 1) == most_level_) --most_begin_;
    most_next_ = most_end_;
  }
  if (most_next_ == 0) return std::nullopt;
  return order_[--most_next_];
}

void MemberBalancer::exclude_most() {
  std::swap(order_[most_next_], order_[most_end_ - 1]);
  --most_end_;
}

}  // namespace barnabas::coordinator
