#include "broker/coordinators/led_partitions.h"

#include <algorithm>
#include <utility>

#include "broker/coordinators/key_partition.h"

namespace barnabas::broker {

std::optional<LedPartitions::Change> LedPartitions::follow(const metadata::MetadataChanges& changes,
                                                           const metadata::MetadataImagePtr& image) {
  const auto is_ours = [this](const auto& topic) { return topic->name == topic_; };
  if (!changes.all && std::ranges::none_of(changes.deleted_topics, is_ours) &&
      std::ranges::none_of(changes.changed_topics, is_ours))
    return std::nullopt;
  const metadata::TopicImage* topic = image->topic(topic_);
  const Uuid id = topic != nullptr ? topic->id : Uuid{};
  if (id != topic_id_) {
    topic_id_ = id;
    partition_count_.store(topic != nullptr ? topic->partition_count() : 0, std::memory_order_release);
  }
  Change change;
  std::vector<PartitionIndex> led;
  for (int32_t i = 0; topic != nullptr && i < topic->partition_count(); ++i) {
    const PartitionIndex index{i};
    const metadata::PartitionImage& partition = *topic->partition(index);
    if (partition.leader != node_) continue;
    led.push_back(index);
    change.led.emplace_back(index, Leadership{topic->id, partition.leader_epoch});
  }
  std::vector<PartitionIndex> before;
  {
    const std::scoped_lock lock(mutex_);
    before = std::exchange(led_, led);
  }
  std::ranges::copy_if(before, std::back_inserter(change.resigned),
                       [&](PartitionIndex partition) { return !std::ranges::binary_search(led, partition); });
  return change;
}

std::optional<PartitionIndex> LedPartitions::partition_of(std::string_view key) const {
  const int32_t count = partition_count_.load(std::memory_order_acquire);
  if (count == 0) return std::nullopt;
  return partition_of_key(key, count);
}

std::vector<PartitionIndex> LedPartitions::led() const {
  const std::scoped_lock lock(mutex_);
  return led_;
}

}  // namespace barnabas::broker
