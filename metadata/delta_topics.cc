// How records about topics and partitions change the image.

#include <algorithm>
#include <utility>

#include "metadata/delta.h"
#include "metadata/topic_name.h"

namespace barnabas::metadata {
namespace {

std::vector<NodeId> nodes(const std::vector<int32_t>& ids) {
  std::vector<NodeId> result;
  result.reserve(ids.size());
  for (const int32_t id : ids) result.emplace_back(id);
  return result;
}

void replace(std::vector<NodeId>& into, const std::optional<std::vector<int32_t>>& ids) {
  if (ids) into = nodes(*ids);
}

std::unexpected<Error> corrupt(std::string message) {
  return fail(ErrorKind::corrupt, std::move(message));
}

/// PartitionChangeRecord's numbers for "as before".
constexpr int32_t leader_unchanged = -2;
constexpr int8_t recovery_state_unchanged = -1;

PartitionImage merged(const PartitionImage& before, const protocol::PartitionChangeRecord& record) {
  PartitionImage after = before;
  replace(after.isr, record.isr);
  replace(after.replicas, record.replicas);
  replace(after.removing_replicas, record.removing_replicas);
  replace(after.adding_replicas, record.adding_replicas);
  replace(after.eligible_leader_replicas, record.eligible_leader_replicas);
  replace(after.last_known_elr, record.last_known_elr);
  if (record.directories) after.directories = *record.directories;
  if (!after.directories.empty()) after.directories.resize(after.replicas.size(), directory_migrating);
  if (record.leader != leader_unchanged) {
    after.leader = NodeId(record.leader);
    ++after.leader_epoch;  // also for the same leader: whoever led before is fenced
  }
  if (record.leader_recovery_state != recovery_state_unchanged)
    after.leader_recovery_state = record.leader_recovery_state;
  ++after.partition_epoch;
  return after;
}

}  // namespace

MetadataDelta::ChangedTopic* MetadataDelta::changed_topic(const Uuid& id) {
  auto at = topics_.find(id);
  if (at != topics_.end()) return &at->second;
  const auto* before = image_.topics_by_id.find(id);
  if (before == nullptr) return nullptr;
  ChangedTopic changed{*before, (*before)->name, (*before)->partitions, {}};
  return &topics_.emplace(id, std::move(changed)).first->second;
}

Result<void> MetadataDelta::apply(const protocol::TopicRecord& record) {
  const std::string name = record.name.str();
  if (image_.topic(name) != nullptr || new_names_.contains(name))
    return corrupt("TopicRecord for " + name + ": there is a topic of that name");
  if (image_.topic(record.topic_id) != nullptr || topics_.contains(record.topic_id))
    return corrupt("TopicRecord for " + name + ": topic id " + record.topic_id.to_string() + " is in use");
  topics_.emplace(record.topic_id, ChangedTopic{nullptr, name, {}, {}});
  new_names_.emplace(name, record.topic_id);
  add_colliding_name(name);
  return {};
}

Result<void> MetadataDelta::apply(const protocol::PartitionRecord& record) {
  ChangedTopic* topic = changed_topic(record.topic_id);
  if (topic == nullptr) return corrupt("PartitionRecord for unknown topic id " + record.topic_id.to_string());
  if (record.partition_id < 0)
    return corrupt("PartitionRecord for partition " + std::to_string(record.partition_id));
  auto partition = std::make_shared<PartitionImage>();
  partition->replicas = nodes(record.replicas);
  partition->directories = record.directories;
  partition->isr = nodes(record.isr);
  partition->removing_replicas = nodes(record.removing_replicas);
  partition->adding_replicas = nodes(record.adding_replicas);
  replace(partition->eligible_leader_replicas, record.eligible_leader_replicas);
  replace(partition->last_known_elr, record.last_known_elr);
  partition->leader = NodeId(record.leader);
  partition->leader_epoch = LeaderEpoch(record.leader_epoch);
  partition->partition_epoch = record.partition_epoch;
  partition->leader_recovery_state = record.leader_recovery_state;

  const auto index = static_cast<std::size_t>(record.partition_id);
  auto& partitions = topic->partitions;
  if (index < partitions.size()) {
    partitions[index] = std::move(partition);
    return {};
  }
  topic->beyond[record.partition_id] = std::move(partition);
  auto next = topic->beyond.begin();
  while (next != topic->beyond.end() && static_cast<std::size_t>(next->first) == partitions.size()) {
    partitions.push_back(std::move(next->second));
    next = topic->beyond.erase(next);
  }
  return {};
}

Result<void> MetadataDelta::apply(const protocol::PartitionChangeRecord& record) {
  ChangedTopic* topic = changed_topic(record.topic_id);
  if (topic == nullptr)
    return corrupt("PartitionChangeRecord for unknown topic id " + record.topic_id.to_string());
  const auto index = static_cast<std::size_t>(record.partition_id);
  if (record.partition_id < 0 || index >= topic->partitions.size())
    return corrupt("PartitionChangeRecord for " + topic->name + "-" + std::to_string(record.partition_id) +
                   ": the topic has " + std::to_string(topic->partitions.size()) + " partitions");
  auto& partition = topic->partitions[index];
  partition = std::make_shared<const PartitionImage>(merged(*partition, record));
  return {};
}

Result<void> MetadataDelta::apply(const protocol::RemoveTopicRecord& record) {
  ChangedTopic* topic = changed_topic(record.topic_id);
  if (topic == nullptr)
    return corrupt("RemoveTopicRecord for unknown topic id " + record.topic_id.to_string());
  const std::string name = topic->name;
  if (topic->before) {
    image_.topics_by_name.erase(name);
    image_.topics_by_id.erase(record.topic_id);
    image_.partition_count -= topic->before->partitions.size();
    changes_.deleted_topics.push_back(topic->before);
  } else {
    new_names_.erase(name);
  }
  topics_.erase(record.topic_id);
  remove_colliding_name(name);
  const ConfigResource resource{ConfigResourceType::topic, name};
  if (image_.config(resource.type, name) != nullptr || configs_.contains(resource))
    changed_config(resource).values.clear();
  return {};
}

void MetadataDelta::clear_elr(ChangedTopic& topic) {
  for (auto& partition : topic.partitions) {
    if (partition->eligible_leader_replicas.empty() && partition->last_known_elr.empty()) continue;
    auto after = std::make_shared<PartitionImage>(*partition);
    after->eligible_leader_replicas.clear();
    after->last_known_elr.clear();
    ++after->partition_epoch;
    partition = std::move(after);
  }
}

Result<void> MetadataDelta::apply(const protocol::ClearElrRecord& record) {
  const auto has_elr = [](const auto& partition) {
    return !partition->eligible_leader_replicas.empty() || !partition->last_known_elr.empty();
  };
  if (record.topic_name.empty()) {
    for (auto& [id, topic] : topics_) clear_elr(topic);
    for (const auto& topic : image_.topics_by_id) {
      if (!topics_.contains(topic->id) && std::ranges::any_of(topic->partitions, has_elr))
        clear_elr(*changed_topic(topic->id));
    }
    return {};
  }
  const std::string name = record.topic_name.str();
  const TopicImage* known = image_.topic(name);
  const auto created = new_names_.find(name);
  if (created != new_names_.end()) {
    clear_elr(*changed_topic(created->second));
  } else if (known != nullptr) {
    if (topics_.contains(known->id) || std::ranges::any_of(known->partitions, has_elr))
      clear_elr(*changed_topic(known->id));
  } else {
    return corrupt("ClearElrRecord for unknown topic " + name);
  }
  return {};
}

void MetadataDelta::add_colliding_name(const std::string& name) {
  if (!has_collision_character(name)) return;
  CollidingNames entry{normalized_topic_name(name), {}};
  if (const auto* found = image_.colliding_names.find(entry.normalized)) entry.names = (*found)->names;
  entry.names.push_back(name);
  image_.colliding_names.put(std::make_shared<const CollidingNames>(std::move(entry)));
}

void MetadataDelta::remove_colliding_name(const std::string& name) {
  if (!has_collision_character(name)) return;
  const auto* found = image_.colliding_names.find(normalized_topic_name(name));
  if (found == nullptr) return;
  CollidingNames entry = **found;
  std::erase(entry.names, name);
  if (entry.names.empty()) {
    image_.colliding_names.erase(entry.normalized);
  } else {
    image_.colliding_names.put(std::make_shared<const CollidingNames>(std::move(entry)));
  }
}

Result<void> MetadataDelta::finish_topics() {
  for (auto& [id, topic] : topics_) {
    if (!topic.beyond.empty())
      return corrupt("topic " + topic.name + " has a partition " +
                     std::to_string(topic.beyond.begin()->first) + " but no partition " +
                     std::to_string(topic.partitions.size()));
    image_.partition_count += topic.partitions.size() - (topic.before ? topic.before->partitions.size() : 0);
    auto image = std::make_shared<const TopicImage>(std::move(topic.name), id, std::move(topic.partitions));
    image_.topics_by_name.put(image);
    image_.topics_by_id.put(image);
    changes_.changed_topics.push_back(std::move(image));
  }
  std::ranges::sort(changes_.changed_topics, {},
                    [](const auto& topic) -> const std::string& { return topic->name; });
  return {};
}

}  // namespace barnabas::metadata
