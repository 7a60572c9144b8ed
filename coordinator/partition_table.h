#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace barnabas::coordinator {

/// One value for each partition of each topic of each group. Made for hundreds of thousands of them: values
/// lie side by side in the order of partitions, and a topic's name is kept once for all groups.
template <class Value>
class PartitionTable {
 public:
  struct Partition {
    int32_t index = 0;
    Value value{};
  };
  struct Topic {
    const std::string* name = nullptr;  ///< belongs to the table
    std::vector<Partition> partitions;  ///< sorted, never empty
  };
  /// Sorted by name, never empty.
  using Topics = std::vector<Topic>;

  PartitionTable() = default;
  PartitionTable(const PartitionTable&) = delete;  // names are referred to by address
  PartitionTable& operator=(const PartitionTable&) = delete;
  PartitionTable(PartitionTable&&) noexcept = default;
  PartitionTable& operator=(PartitionTable&&) noexcept = default;

  /// Null if it has nothing. Good until the next change.
  const Topics* group(std::string_view id) const {
    const auto found = groups_.find(id);
    return found == groups_.end() ? nullptr : &found->second;
  }
  static const Topic* find(const Topics* topics, std::string_view name) {
    if (topics == nullptr) return nullptr;
    const auto found = place_of(*topics, name);
    return found != topics->end() && *found->name == name ? &*found : nullptr;
  }
  static const Value* find(const Topic* topic, int32_t partition) {
    if (topic == nullptr) return nullptr;
    const auto found = place_of(topic->partitions, partition);
    return found != topic->partitions.end() && found->index == partition ? &found->value : nullptr;
  }
  const Value* find(std::string_view group_id, std::string_view topic, int32_t partition) const {
    return find(find(group(group_id), topic), partition);
  }

  /// The value of this partition, and whether it is new. Good until the next change.
  std::pair<Value*, bool> place(std::string_view group_id, std::string_view topic_name, int32_t partition) {
    auto group = groups_.find(group_id);
    if (group == groups_.end()) group = groups_.emplace(group_id, Topics()).first;
    Topics& topics = group->second;
    auto topic = place_of(topics, topic_name);
    if (topic == topics.end() || *topic->name != topic_name)
      topic = topics.insert(topic, Topic{hold_name(topic_name), {}});
    auto& partitions = topic->partitions;
    auto at = place_of(partitions, partition);
    const bool is_new = at == partitions.end() || at->index != partition;
    if (is_new) {
      at = partitions.insert(at, Partition{partition, {}});
      ++size_;
    }
    return {&at->value, is_new};
  }

  /// Whether there was one.
  bool remove(std::string_view group_id, std::string_view topic_name, int32_t partition) {
    const auto group = groups_.find(group_id);
    if (group == groups_.end()) return false;
    Topics& topics = group->second;
    const auto topic = place_of(topics, topic_name);
    if (topic == topics.end() || *topic->name != topic_name) return false;
    const auto at = place_of(topic->partitions, partition);
    if (at == topic->partitions.end() || at->index != partition) return false;
    topic->partitions.erase(at);
    --size_;
    if (topic->partitions.empty()) {
      let_go_of_name(*topic->name);
      topics.erase(topic);
    }
    if (topics.empty()) groups_.erase(group);
    return true;
  }

  /// Values of all groups together.
  std::size_t size() const { return size_; }
  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }

 private:
  struct TextHash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>{}(text);
    }
  };
  template <class T>
  using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

  template <class List>
  static auto place_of(List& topics, std::string_view name) {
    return std::lower_bound(topics.begin(), topics.end(), name,
                            [](const Topic& topic, std::string_view other) { return *topic.name < other; });
  }
  template <class List>
  static auto place_of(List& partitions, int32_t index) {
    // Most ask for partitions that are there, and those are most often 0 to n - 1.
    if (static_cast<std::size_t>(index) < partitions.size() &&
        partitions[static_cast<std::size_t>(index)].index == index)
      return partitions.begin() + index;
    return std::lower_bound(partitions.begin(), partitions.end(), index,
                            [](const Partition& partition, int32_t other) { return partition.index < other; });
  }
  const std::string* hold_name(std::string_view name) {
    auto found = names_.find(name);
    if (found == names_.end()) found = names_.emplace(name, 0).first;
    ++found->second;
    return &found->first;
  }
  void let_go_of_name(const std::string& name) {
    const auto found = names_.find(name);
    if (--found->second == 0) names_.erase(found);
  }

  ByText<Topics> groups_;
  ByText<std::size_t> names_;  ///< and how many topics refer to each
  std::size_t size_ = 0;
};

}  // namespace barnabas::coordinator
