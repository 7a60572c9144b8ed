#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/text_hash.h"

namespace barnabas::coordinator {

/// One value for each partition of each topic of each group: hundreds of thousands of them. The name of a
/// topic is kept once for all groups.
template <class Value>
class PartitionTable {
 public:
  using Partitions = std::map<int32_t, Value>;            ///< never empty
  using Topics = std::map<std::string_view, Partitions>;  ///< never empty; the table owns the names

  PartitionTable() = default;
  PartitionTable(const PartitionTable&) = delete;  // names are referred to by address
  PartitionTable& operator=(const PartitionTable&) = delete;
  PartitionTable(PartitionTable&&) noexcept = default;
  PartitionTable& operator=(PartitionTable&&) noexcept = default;

  /// Null if it has nothing. So with the others.
  const Topics* find(std::string_view group) const { return found_in(groups_, group); }
  const Partitions* find(std::string_view group, std::string_view topic) const {
    const Topics* topics = find(group);
    return topics == nullptr ? nullptr : found_in(*topics, topic);
  }
  const Value* find(std::string_view group, std::string_view topic, int32_t partition) const {
    const Partitions* partitions = find(group, topic);
    return partitions == nullptr ? nullptr : found_in(*partitions, partition);
  }

  /// The value of this partition, and whether it is new.
  std::pair<Value&, bool> place(std::string_view group_id, std::string_view topic_name, int32_t partition) {
    auto group = groups_.find(group_id);
    if (group == groups_.end()) group = groups_.emplace(group_id, Topics()).first;
    Topics& topics = group->second;
    auto topic = topics.lower_bound(topic_name);
    if (topic == topics.end() || topic->first != topic_name)
      topic = topics.emplace_hint(topic, hold_name(topic_name), Partitions());
    const auto [at, is_new] = topic->second.try_emplace(partition);
    if (is_new) ++size_;
    return {at->second, is_new};
  }

  /// Whether there was one.
  bool remove(std::string_view group_id, std::string_view topic_name, int32_t partition) {
    const auto group = groups_.find(group_id);
    if (group == groups_.end()) return false;
    Topics& topics = group->second;
    const auto topic = topics.find(topic_name);
    if (topic == topics.end() || topic->second.erase(partition) == 0) return false;
    --size_;
    if (topic->second.empty()) {
      const std::string_view name = topic->first;
      topics.erase(topic);
      let_go_of_name(name);
    }
    if (topics.empty()) groups_.erase(group);
    return true;
  }

  /// Values of all groups together.
  std::size_t size() const { return size_; }
  /// Groups and their topics.
  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }

 private:
  template <class T>
  using ByText = std::unordered_map<std::string, T, TextHash, std::equal_to<>>;

  template <class Map, class Key>
  static const typename Map::mapped_type* found_in(const Map& map, const Key& key) {
    const auto found = map.find(key);
    return found == map.end() ? nullptr : &found->second;
  }
  std::string_view hold_name(std::string_view name) {
    auto found = names_.find(name);
    if (found == names_.end()) found = names_.emplace(name, 0).first;
    ++found->second;
    return found->first;
  }
  void let_go_of_name(std::string_view name) {
    const auto found = names_.find(name);
    if (--found->second == 0) names_.erase(found);
  }

  ByText<Topics> groups_;
  ByText<std::size_t> names_;  ///< and how many topics of groups have each
  std::size_t size_ = 0;
};

}  // namespace barnabas::coordinator
