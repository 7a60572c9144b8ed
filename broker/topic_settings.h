#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metadata/image.h"
#include "metadata/static_config.h"
#include "protocol/compression/codec.h"
#include "storage/log_config.h"

namespace barnabas::broker {

/// The settings of one topic, typed, as produce and the log use them. Immutable; shared by its partitions.
struct TopicSettings {
  storage::LogConfig log;
  std::optional<protocol::Compression> target_compression;  ///< none: compression.type=producer
  int32_t max_decompressed_message_bytes = 2147483639;
};

std::shared_ptr<const TopicSettings> resolve_topic_settings(std::string_view topic,
                                                            const metadata::MetadataImage& image,
                                                            const metadata::StaticConfig& config,
                                                            NodeId node);

/// The values in force of all brokers' settings that topics fall back to, in an order of their own: when they
/// are equal, no topic's settings have changed but those of topics that were changed themselves.
std::vector<std::string> broker_settings_of_topics(const metadata::MetadataImage& image,
                                                   const metadata::StaticConfig& config, NodeId node);

}  // namespace barnabas::broker
