#include "broker/coordinators/group_coordinator.h"

#include <algorithm>

#include "broker/coordinators/key_partition.h"

namespace barnabas::broker {

using protocol::ErrorCode;

namespace {

constexpr std::string_view offsets_topic = "__consumer_offsets";

CoordinatorTopic::Settings topic_settings(const metadata::StaticConfig& config) {
  constexpr std::string_view factor = "offsets.topic.replication.factor";
  CoordinatorTopic::Settings settings;
  settings.name = offsets_topic;
  settings.partitions = static_cast<int32_t>(config.integer("offsets.topic.num.partitions"));
  if (config.given(factor) != nullptr)
    settings.replication_factor = static_cast<int16_t>(config.integer(factor));
  settings.configs = {{"cleanup.policy", "compact"},
                      {"compression.type", "producer"},
                      {"segment.bytes", config.text("offsets.topic.segment.bytes")}};
  return settings;
}

CoordinatorOptions options_of(const metadata::StaticConfig& config, ReplicaManager& replicas) {
  CoordinatorOptions options;
  options.name = "group";
  options.threads = static_cast<std::size_t>(config.integer("group.coordinator.threads"));
  options.load_threads = static_cast<std::size_t>(config.integer("group.coordinator.background.threads"));
  options.find = [&replicas](const Uuid& topic_id, PartitionIndex partition) {
    return replicas.find(topic_id, partition).partition;
  };
  const auto codec = static_cast<int>(config.integer("offsets.topic.compression.codec"));
  options.compression.codec = protocol::codec_from_id(codec).value_or(protocol::Codec::none);
  options.durable_timeout = std::chrono::milliseconds(config.integer("offsets.commit.timeout.ms"));
  return options;
}

}  // namespace

GroupCoordinator::GroupCoordinator(NodeId node, const metadata::StaticConfig& config,
                                   metadata::ImagePublisher& metadata, cluster::ControllerGateway& controller,
                                   ReplicaManager& replicas)
    : node_(node),
      settings_(coordinator::GroupSettings::of(config)),
      metadata_(metadata),
      topic_(topic_settings(config), metadata, controller),
      runtime_(options_of(config, replicas), [this, &config](const metadata::MetadataImagePtr& image) {
        return std::make_unique<coordinator::GroupShard>(coordinator::ShardEnvironment{
            .node = node_, .config = config, .settings = settings_, .image = image});
      }) {}

void GroupCoordinator::begin() {
  metadata_.subscribe([this](const metadata::MetadataChanges& changes,
                             const metadata::MetadataImagePtr& image) { follow(changes, image); });
}

void GroupCoordinator::follow(const metadata::MetadataChanges& changes,
                              const metadata::MetadataImagePtr& image) {
  runtime_.metadata_changed(changes, image);
  const auto is_ours = [](const auto& topic) { return topic->name == offsets_topic; };
  if (!changes.all && std::ranges::none_of(changes.deleted_topics, is_ours) &&
      std::ranges::none_of(changes.changed_topics, is_ours))
    return;
  const metadata::TopicImage* topic = image->topic(offsets_topic);
  const Uuid id = topic != nullptr ? topic->id : Uuid{};
  if (id != topic_id_) {
    topic_id_ = id;
    partition_count_.store(topic != nullptr ? topic->partition_count() : 0, std::memory_order_release);
  }
  std::vector<PartitionIndex> led;
  for (int32_t i = 0; topic != nullptr && i < topic->partition_count(); ++i)
    if (topic->partition(PartitionIndex{i})->leader == node_) led.push_back(PartitionIndex{i});
  std::vector<PartitionIndex> before;
  {
    const std::scoped_lock lock(mutex_);
    before = std::exchange(led_, led);
  }
  for (const PartitionIndex partition : before)
    if (!std::ranges::binary_search(led, partition)) runtime_.resign(partition);
  for (const PartitionIndex partition : led)
    runtime_.lead(partition, {topic->id, topic->partition(partition)->leader_epoch});
}

std::optional<PartitionIndex> GroupCoordinator::partition_of(std::string_view group) const {
  const int32_t count = partition_count_.load(std::memory_order_acquire);
  if (count == 0) return std::nullopt;
  return partition_of_key(group, count);
}

void GroupCoordinator::schedule(std::string_view group, Runtime::Work work, Runtime::Refused refused) {
  const auto partition = partition_of(group);
  if (!partition) return refused(ErrorCode::not_coordinator);
  runtime_.schedule(*partition, std::move(work), std::move(refused));
}

std::vector<PartitionIndex> GroupCoordinator::led() const {
  const std::scoped_lock lock(mutex_);
  return led_;
}

}  // namespace barnabas::broker
