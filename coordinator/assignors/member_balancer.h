#pragma once

#include <cstdint>
#include <optional>
#include <vector>

namespace barnabas::coordinator {

/// The subscribers of one topic in the order of how many partitions they have, while partitions go to those
/// with the fewest and away from those with the most. Both ends move towards each other: a step costs O(1).
///
/// Within a level (equally many) members take turns, so each call must be followed by the move that it is
/// for: after next_least() the member gets one, after next_most() it gives one up or is excluded.
class MemberBalancer {
 public:
  /// `sizes`: how many partitions each member of the group has; it is read on, and outlives this.
  explicit MemberBalancer(const std::vector<int32_t>& sizes) : sizes_(sizes) {}

  /// Begins with the subscribers of another topic; at least one. Gives the difference between the most and
  /// the fewest.
  int32_t begin(const std::vector<std::size_t>& subscribers);

  std::size_t next_least();
  /// None: nobody is left who may give.
  std::optional<std::size_t> next_most();
  /// The member that next_most() gave has nothing of this topic to give.
  void exclude_most();
  bool is_balanced() const { return most_level_ - least_level_ <= 1; }

 private:
  int32_t size_at(std::size_t place) const { return sizes_[order_[place]]; }

  const std::vector<int32_t>& sizes_;
  std::vector<std::size_t> order_;
  // The least: order_[0, least_end_) have least_level_ partitions, or one more since their turn.
  std::size_t least_end_ = 0;
  std::size_t least_next_ = 0;
  int32_t least_level_ = 0;
  // The most: order_[most_begin_, most_end_) have most_level_ partitions, or one fewer since their turn;
  // behind most_end_ are those that are excluded.
  std::size_t most_begin_ = 0;
  std::size_t most_end_ = 0;
  std::size_t most_next_ = 0;  ///< one behind the place whose turn it is
  int32_t most_level_ = 0;
};

}  // namespace barnabas::coordinator
