#include "broker/topic_settings.h"

#include "metadata/config_definitions.h"
#include "metadata/effective_broker_config.h"
#include "metadata/effective_config.h"

namespace barnabas::broker {
namespace {

using metadata::MetadataImage;
using metadata::StaticConfig;

constexpr std::string_view producer_expiration = "producer.id.expiration.ms";

class Resolver {
 public:
  Resolver(std::string_view topic, const MetadataImage& image, const StaticConfig& config, NodeId node)
      : topic_(topic), image_(image), config_(config), node_(node) {}

  std::string text(std::string_view name) const {
    return metadata::topic_config_in_force(name, topic_, image_, node_, config_).value_or("");
  }
  metadata::BrokerConfigView broker() const { return {image_, node_, config_}; }
  int64_t integer(std::string_view name) const { return metadata::parse_integer(text(name)).value_or(0); }
  int32_t int32(std::string_view name) const { return static_cast<int32_t>(integer(name)); }
  double number(std::string_view name) const { return metadata::parse_decimal(text(name)).value_or(0); }
  bool lists(std::string_view name, std::string_view item) const {
    const std::string value = text(name);
    for (std::string_view found : metadata::split_list(value))
      if (found == item) return true;
    return false;
  }

 private:
  std::string_view topic_;
  const MetadataImage& image_;
  const StaticConfig& config_;
  NodeId node_;
};

storage::LogConfig resolve_log_config(const Resolver& topic) {
  storage::LogConfig log;
  log.segment_bytes = topic.int32("segment.bytes");
  // For tests: smaller than segment.bytes may be.
  if (const int32_t bytes = topic.int32("internal.segment.bytes"); bytes > 0) log.segment_bytes = bytes;
  log.segment_ms = topic.integer("segment.ms");
  log.segment_jitter_ms = topic.integer("segment.jitter.ms");
  log.segment_index_bytes = topic.int32("segment.index.bytes");
  log.index_interval_bytes = topic.int32("index.interval.bytes");
  log.cleanup_delete = topic.lists("cleanup.policy", "delete");
  log.cleanup_compact = topic.lists("cleanup.policy", "compact");
  log.retention_ms = topic.integer("retention.ms");
  log.retention_bytes = topic.integer("retention.bytes");
  log.file_delete_delay_ms = topic.integer("file.delete.delay.ms");
  log.delete_retention_ms = topic.integer("delete.retention.ms");
  log.min_compaction_lag_ms = topic.integer("min.compaction.lag.ms");
  log.max_compaction_lag_ms = topic.integer("max.compaction.lag.ms");
  log.min_cleanable_dirty_ratio = topic.number("min.cleanable.dirty.ratio");
  log.flush_messages = topic.integer("flush.messages");
  log.flush_ms = topic.integer("flush.ms");
  log.max_message_bytes = topic.int32("max.message.bytes");
  log.message_timestamp_type = topic.text("message.timestamp.type") == "LogAppendTime"
                                   ? protocol::TimestampType::log_append_time
                                   : protocol::TimestampType::create_time;
  log.message_timestamp_before_max_ms = topic.integer("message.timestamp.before.max.ms");
  log.message_timestamp_after_max_ms = topic.integer("message.timestamp.after.max.ms");
  log.min_insync_replicas = topic.int32("min.insync.replicas");
  log.producer_id_expiration_ms = topic.broker().integer(producer_expiration);
  return log;
}

std::optional<protocol::Compression> resolve_compression(const Resolver& topic) {
  const auto codec = protocol::codec_from_name(topic.text("compression.type"));
  if (!codec) return std::nullopt;  // "producer"
  switch (*codec) {
    case protocol::Codec::gzip:
      return protocol::Compression{*codec, topic.int32("compression.gzip.level")};
    case protocol::Codec::lz4:
      return protocol::Compression{*codec, topic.int32("compression.lz4.level")};
    case protocol::Codec::zstd:
      return protocol::Compression{*codec, topic.int32("compression.zstd.level")};
    case protocol::Codec::none:
    case protocol::Codec::snappy:
      break;
  }
  return protocol::Compression{*codec, std::nullopt};
}

}  // namespace

std::shared_ptr<const TopicSettings> resolve_topic_settings(std::string_view topic,
                                                            const MetadataImage& image,
                                                            const StaticConfig& config, NodeId node) {
  const Resolver resolver(topic, image, config, node);
  auto settings = std::make_shared<TopicSettings>();
  settings->log = resolve_log_config(resolver);
  settings->target_compression = resolve_compression(resolver);
  settings->max_decompressed_message_bytes = resolver.int32("max.decompressed.message.bytes");
  return settings;
}

std::vector<std::string> broker_settings_of_topics(const MetadataImage& image, const StaticConfig& config,
                                                   NodeId node) {
  const metadata::BrokerConfigView broker(image, node, config);
  std::vector<std::string> values{broker.text(producer_expiration)};
  for (const metadata::ConfigDefinition& definition : metadata::topic_configs())
    for (const metadata::ConfigSynonym& synonym : definition.synonyms)
      values.push_back(broker.text(synonym.name));
  return values;
}

}  // namespace barnabas::broker
