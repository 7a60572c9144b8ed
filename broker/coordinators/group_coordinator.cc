#include "broker/coordinators/group_coordinator.h"

#include <memory>

namespace barnabas::broker {

namespace {

CoordinatorOptions options_of(const metadata::StaticConfig& config) {
  CoordinatorOptions options;
  options.name = "group";
  options.threads = static_cast<std::size_t>(config.integer("group.coordinator.threads"));
  options.load_threads = static_cast<std::size_t>(config.integer("group.coordinator.background.threads"));
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
          node, CoordinatorTopic::Settings::of(config, "__consumer_offsets", "offsets.topic.", "producer"),
          options_of(config), replicas,
          [this, node, &config](const ShardOrigin& origin) {
            return std::make_unique<coordinator::GroupShard>(coordinator::ShardEnvironment{
                .node = node, .config = config, .settings = settings_, .image = origin.image});
          },
          metadata, controller),
      settings_(coordinator::GroupSettings::of(config)) {}

}  // namespace barnabas::broker
