#include "broker/replica_manager.h"

#include <algorithm>
#include <mutex>

#include "base/log.h"
#include "metadata/effective_broker_config.h"

namespace barnabas::broker {

using protocol::ErrorCode;

namespace {
constinit Logger logger{"broker"};
}  // namespace

ReplicaManager::ReplicaManager(NodeId node, storage::LogManager& logs, const metadata::StaticConfig& config,
                               PartitionServices& services)
    : node_(node), logs_(logs), config_(config), services_(services) {}

ReplicaManager::Found ReplicaManager::find_in(const HostedTopic& topic, PartitionIndex index) {
  if (index.value() < 0 || static_cast<std::size_t>(index.value()) >= topic.partitions.size())
    return {nullptr, ErrorCode::unknown_topic_or_partition};
  const auto& partition = topic.partitions[static_cast<std::size_t>(index.value())];
  if (partition == nullptr || !partition->active()) return {nullptr, ErrorCode::kafka_storage_error};
  return {partition, ErrorCode::none};
}

ReplicaManager::Found ReplicaManager::find(std::string_view topic, PartitionIndex index) const {
  const std::shared_lock lock(mutex_);
  const auto at = by_name_.find(topic);
  if (at == by_name_.end()) return {nullptr, ErrorCode::unknown_topic_or_partition};
  return find_in(*at->second, index);
}

ReplicaManager::Found ReplicaManager::find(const Uuid& topic_id, PartitionIndex index) const {
  const std::shared_lock lock(mutex_);
  const auto at = by_id_.find(topic_id);
  if (at == by_id_.end()) return {nullptr, ErrorCode::unknown_topic_id};
  return find_in(*at->second, index);
}

void ReplicaManager::apply(const metadata::MetadataChanges& changes,
                           const metadata::MetadataImagePtr& image) {
  const std::scoped_lock lock(change_mutex_);
  image_ = image;
  bool defaults_changed = false;
  if (metadata::concerns_broker(changes, node_)) {
    auto now = broker_settings_of_topics(*image, config_, node_);
    defaults_changed = now != broker_settings_;
    broker_settings_ = std::move(now);
    const metadata::BrokerConfigView settings(*image, node_, config_);
    if (mover_ != nullptr)
      mover_->set_bytes_per_second(settings.integer("replica.alter.log.dirs.io.max.bytes.per.second"));
  }
  if (defaults_changed) default_settings_ = nullptr;
  if (changes.all) {
    set_aside_strays(*image);
    settle_futures(*image);
  }
  for (const auto& topic : changes.deleted_topics) remove_topic(*topic);
  for (const auto& topic : changes.changed_topics) update_topic(*topic, *image, !changes.all);
  update_settings(changes, *image, defaults_changed);
  if (changes.all) go_on_moving();
}

void ReplicaManager::set_aside_strays(const metadata::MetadataImage& image) {
  for (const auto& [name, log] : logs_.all()) {
    const auto* topic = image.topic(name.topic);
    const auto* partition = topic != nullptr ? topic->partition(name.partition) : nullptr;
    const bool ours =
        partition != nullptr && std::ranges::find(partition->replicas, node_) != partition->replicas.end();
    if (ours) continue;
    logger.warn("partition={} is not in the metadata; set aside", name.to_string());
    if (const auto aside = logs_.set_aside(name); !aside) {
      logger.error("partition={} not set aside: {}", name.to_string(), aside.error().message);
      logs_.report(name, aside.error());
    }
  }
}

void ReplicaManager::remove_topic(const metadata::TopicImage& topic) {
  TopicPtr hosted;
  {
    const std::unique_lock lock(mutex_);
    const auto at = by_id_.find(topic.id);
    if (at == by_id_.end()) return;
    hosted = at->second;
    by_id_.erase(at);
    if (const auto named = by_name_.find(hosted->name); named != by_name_.end() && named->second == hosted)
      by_name_.erase(named);
  }
  const Error gone{ErrorKind::not_found, "topic " + topic.name + " was deleted"};
  std::vector<storage::TopicPartition> names;
  for (const auto& partition : hosted->partitions) {
    if (partition == nullptr) continue;
    partition->deactivate(gone);
    names.push_back(partition->name());
  }
  const auto removed = logs_.remove(names, std::chrono::steady_clock::now());
  if (!removed && removed.error().kind != ErrorKind::not_found)
    logger.warn("topic={} not removed as a whole: {}", topic.name, removed.error().message);
}

void ReplicaManager::update_topic(const metadata::TopicImage& topic, const metadata::MetadataImage& image,
                                  bool is_new) {
  TopicPtr before;
  {
    const std::shared_lock lock(mutex_);
    if (const auto at = by_id_.find(topic.id); at != by_id_.end()) before = at->second;
  }
  auto hosted = std::make_shared<HostedTopic>(HostedTopic{topic.name, topic.id, {}});
  const auto settings = settings_of(topic.name, image);
  for (int32_t i = 0; i < topic.partition_count(); ++i) {
    const metadata::PartitionImage& wanted = *topic.partition(PartitionIndex{i});
    const auto known = before && static_cast<std::size_t>(i) < before->partitions.size()
                           ? before->partitions[static_cast<std::size_t>(i)]
                           : nullptr;
    if (known) {
      known->set_leader_epoch(wanted.leader_epoch);
      hosted->partitions.push_back(known);
    } else {
      // One that was there before and has no log has it in a directory that is offline.
      const bool first_seen = !before || static_cast<std::size_t>(i) >= before->partitions.size();
      hosted->partitions.push_back(
          host({topic.name, PartitionIndex{i}}, topic, wanted, settings, is_new && first_seen));
    }
  }
  {
    const std::unique_lock lock(mutex_);
    by_name_.insert_or_assign(topic.name, hosted);
    by_id_.insert_or_assign(topic.id, hosted);
  }
  deactivate_lost(*hosted);
}

void ReplicaManager::deactivate_lost(const HostedTopic& topic) {
  for (const auto& partition : topic.partitions) {
    if (partition == nullptr || !partition->active()) continue;
    if (const auto log = logs_.get(partition->name()); !log && log.error().kind == ErrorKind::offline)
      partition->deactivate(log.error());
  }
}

std::shared_ptr<Partition> ReplicaManager::host(const storage::TopicPartition& name,
                                                const metadata::TopicImage& topic,
                                                const metadata::PartitionImage& partition,
                                                const std::shared_ptr<const TopicSettings>& settings,
                                                bool is_new) {
  if (std::ranges::find(partition.replicas, node_) == partition.replicas.end()) return nullptr;
  const Uuid assigned = partition.directory_of(node_);
  const std::pair key{topic.id, name.partition.value()};
  if (const auto before = failed_.find(key); before != failed_.end()) is_new = is_new || before->second;
  auto log = open_log(name, topic.id, assigned, is_new);
  if (!log) {
    logger.error("partition={} offline: {}", name.to_string(), log.error().message);
    logs_.report(name, log.error());
    if (log.error().kind == ErrorKind::no_space) {
      failed_.insert_or_assign(key, is_new);
    } else {
      failed_.erase(key);
    }
    return nullptr;
  }
  failed_.erase(key);
  if (const Uuid actual = logs_.directory_of(name); assignments_ != nullptr && actual != assigned)
    assignments_->assign(topic.id, name.partition, actual);
  (*log)->set_config(std::shared_ptr<const storage::LogConfig>(settings, &settings->log));
  return std::make_shared<Partition>(name, topic.id, std::move(*log), partition.leader_epoch, settings,
                                     services_);
}

void ReplicaManager::update_settings(const metadata::MetadataChanges& changes,
                                     const metadata::MetadataImage& image, bool defaults_changed) {
  std::vector<TopicPtr> affected;
  if (defaults_changed) {
    const std::shared_lock lock(mutex_);
    for (const auto& [name, topic] : by_name_) affected.push_back(topic);
  } else {
    const std::shared_lock lock(mutex_);
    for (const metadata::ConfigResource& resource : changes.changed_configs)
      if (resource.type == metadata::ConfigResourceType::topic)
        if (const auto at = by_name_.find(resource.name); at != by_name_.end())
          affected.push_back(at->second);
  }
  for (const TopicPtr& topic : affected) {
    const auto settings = settings_of(topic->name, image);
    for (const auto& partition : topic->partitions)
      if (partition != nullptr) partition->set_settings(settings);
  }
}

std::shared_ptr<const TopicSettings> ReplicaManager::settings_of(std::string_view topic,
                                                                 const metadata::MetadataImage& image) {
  if (image.config(metadata::ConfigResourceType::topic, topic) != nullptr)
    return resolve_topic_settings(topic, image, config_, node_);
  if (default_settings_ == nullptr) default_settings_ = resolve_topic_settings(topic, image, config_, node_);
  return default_settings_;
}

void ReplicaManager::lose(const std::vector<storage::TopicPartition>& lost) {
  const Error error{ErrorKind::offline, "its log directory is offline"};
  for (const storage::TopicPartition& name : lost) {
    const Found found = find(name.topic, name.partition);
    if (found.partition) found.partition->deactivate(error);
  }
}

std::optional<Offset> ReplicaManager::high_watermark(const storage::TopicPartition& name) const {
  const Found found = find(name.topic, name.partition);
  if (!found.partition) return std::nullopt;
  return found.partition->high_watermark();
}

}  // namespace barnabas::broker
