#include "broker/coordinators/group_coordinator.h"

#include <memory>

namespace barnabas::broker {

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
    : KeyedCoordinator(
          node, topic_settings(config), options_of(config, replicas),
          [this, node, &config](const ShardOrigin& origin) {
            return std::make_unique<coordinator::GroupShard>(coordinator::ShardEnvironment{
                .node = node, .config = config, .settings = settings_, .image = origin.image});
          },
          metadata, controller),
      settings_(coordinator::GroupSettings::of(config)) {}

}  // namespace barnabas::broker
