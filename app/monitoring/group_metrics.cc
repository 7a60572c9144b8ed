#include "app/monitoring/group_metrics.h"

#include <algorithm>
#include <optional>

#include "coordinator/classic_group.h"
#include "coordinator/consumer_group.h"

namespace barnabas::app {
namespace {

std::size_t members_of(const coordinator::Group& group) {
  if (const auto* classic = dynamic_cast<const coordinator::ClassicGroup*>(&group))
    return classic->members().size();
  const auto* consumer = dynamic_cast<const coordinator::ConsumerGroup*>(&group);
  return consumer != nullptr ? consumer->members().size() : 0;
}

class GroupMetrics {
 public:
  GroupMetrics(metrics::Page& page, const MetricsSources& sources, const metadata::MetadataImage& image)
      : page_(page),
        sources_(sources),
        image_(image),
        partitions_left_(static_cast<std::size_t>(sources.config.integer("metrics.partitions.max"))) {}

  void add(const GroupProgress& group) {
    page_.add("kafka_consumergroup_members", {group.id}, static_cast<double>(group.members));
    auto at = group.committed.begin();
    while (at != group.committed.end()) {
      const auto end = std::find_if(at, group.committed.end(),
                                    [&](const auto& partition) { return partition.topic != at->topic; });
      add_topic(group.id, at, end);
      at = end;
    }
  }
  std::size_t left_out() const { return left_out_; }

 private:
  using Iterator = std::vector<GroupProgress::Partition>::const_iterator;

  void add_topic(const std::string& group, Iterator begin, Iterator end) {
    const metadata::TopicImage* topic = image_.topic(begin->topic);
    // Offsets of a topic that was deleted are not seen any more, nor are they of one that has its name now.
    if (topic == nullptr) return;
    double offsets = 0;
    double lags = 0;
    bool any = false;
    for (auto at = begin; at != end; ++at) {
      if (at->topic_id != Uuid() && at->topic_id != topic->id) continue;
      const auto lag = lag_of(*topic, *at);
      any = true;
      offsets += static_cast<double>(at->offset);
      lags += lag.value_or(0);
      if (partitions_left_ == 0) {
        ++left_out_;
        continue;
      }
      --partitions_left_;
      const std::string index = std::to_string(at->index);
      page_.add("kafka_consumergroup_current_offset", {group, topic->name, index},
                static_cast<double>(at->offset));
      if (lag) page_.add("kafka_consumergroup_lag", {group, topic->name, index}, *lag);
    }
    if (!any) return;
    page_.add("kafka_consumergroup_current_offset_sum", {group, topic->name}, offsets);
    page_.add("kafka_consumergroup_lag_sum", {group, topic->name}, lags);
  }

  /// Nothing while the partition is not served. The offsets were taken first, and clients may commit what
  /// they like: it may be above the end.
  std::optional<double> lag_of(const metadata::TopicImage& topic,
                               const GroupProgress::Partition& committed) const {
    const auto found = sources_.replicas.find(topic.id, PartitionIndex{committed.index}).partition;
    if (found == nullptr) return std::nullopt;
    const int64_t end = found->high_watermark().value();
    return committed.offset < end ? static_cast<double>(end) - static_cast<double>(committed.offset) : 0;
  }

  metrics::Page& page_;
  const MetricsSources& sources_;
  const metadata::MetadataImage& image_;
  std::size_t partitions_left_;
  std::size_t left_out_ = 0;
};

}  // namespace

ShardProgress progress_of(const coordinator::GroupShard& shard, std::size_t partitions_max) {
  ShardProgress progress;
  std::size_t taken = 0;
  for (const auto& [id, group] : shard.groups()) {
    const auto* topics = shard.offsets().store().committed().find(id);
    if (taken >= partitions_max) {
      if (topics != nullptr)
        for (const auto& [name, partitions] : *topics) progress.left_out += partitions.size();
      continue;
    }
    GroupProgress& to = progress.groups.emplace_back(GroupProgress{id, members_of(*group), {}});
    ++taken;
    if (topics == nullptr) continue;
    for (const auto& [name, partitions] : *topics)
      for (const auto& [index, offset] : partitions)
        to.committed.push_back({std::string(name), offset.topic_id, index, offset.offset});
    taken += to.committed.size();
  }
  return progress;
}

void add_groups(metrics::Page& page, const MetricsSources& sources, const metadata::MetadataImage& image,
                const std::vector<ShardProgress>& shards) {
  GroupMetrics groups(page, sources, image);
  std::size_t left_out = 0;
  for (const ShardProgress& shard : shards) {
    for (const GroupProgress& group : shard.groups) groups.add(group);
    left_out += shard.left_out;
  }
  page.add("barnabas_metrics_group_partitions_left_out", static_cast<double>(left_out + groups.left_out()));
}

}  // namespace barnabas::app
