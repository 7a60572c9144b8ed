#pragma once

#include <compare>
#include <functional>
#include <string>

#include "base/types.h"

namespace barnabas::storage {

/// Names one partition. Ordered by topic, then partition.
struct TopicPartition {
  std::string topic;
  PartitionIndex partition;

  bool operator==(const TopicPartition&) const = default;
  auto operator<=>(const TopicPartition&) const = default;
  /// "topic-3", as in messages and directory names.
  std::string to_string() const { return topic + "-" + std::to_string(partition.value()); }
};

}  // namespace barnabas::storage

template <>
struct std::hash<barnabas::storage::TopicPartition> {
  std::size_t operator()(const barnabas::storage::TopicPartition& name) const noexcept {
    return std::hash<std::string>{}(name.topic) * 31 + std::hash<int32_t>{}(name.partition.value());
  }
};
