#include "metadata/delta.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "base/assert.h"
#include "metadata/topic_name.h"

namespace barnabas::metadata {
namespace {

std::string kept_key(int type, std::string_view rest) {
  return std::to_string(type) + "/" + std::string(rest);
}

/// Keys of the records that are carried on without being acted upon. Removals give the key of what they
/// remove.
std::string key_of(const protocol::ZkMigrationStateRecord&) {
  return kept_key(21, "");
}
std::string key_of(const protocol::RegisterControllerRecord& record) {
  return kept_key(27, std::to_string(record.controller_id));
}
std::string key_of(const protocol::UnregisterControllerRecord& record) {
  return kept_key(27, std::to_string(record.controller_id));
}
template <class Record>
concept KeptKind = requires(const Record& record) { key_of(record); };

template <class Record>
constexpr bool is_removal = std::is_same_v<Record, protocol::UnregisterControllerRecord>;

/// Records that mean nothing here: NoOp, and the markers that the replayer has acted upon already.
template <class Record>
constexpr bool is_nothing = std::is_same_v<Record, protocol::NoOpRecord> ||
                            std::is_same_v<Record, protocol::BeginTransactionRecord> ||
                            std::is_same_v<Record, protocol::EndTransactionRecord> ||
                            std::is_same_v<Record, protocol::AbortTransactionRecord>;

}  // namespace

MetadataDelta::MetadataDelta(const MetadataImage& base) : image_(base) {}

Result<void> MetadataDelta::replay(ByteView framed_value) {
  BARNABAS_ASSIGN(const protocol::MetadataRecord record, protocol::decode_metadata_record(framed_value));
  return replay(record, framed_value);
}

Result<void> MetadataDelta::replay(const protocol::MetadataRecord& record, ByteView framed_value) {
  return std::visit(
      [&]<class Record>(const Record& content) -> Result<void> {
        if constexpr (is_nothing<Record>) {
          return {};
        } else if constexpr (KeptKind<Record>) {
          is_removal<Record> ? drop_kept(key_of(content)) : keep(key_of(content), framed_value);
          return {};
        } else {
          return apply(content);
        }
      },
      record);
}

void MetadataDelta::keep(std::string key, ByteView framed_value) {
  changes_.kept = true;
  image_.kept.put(std::make_shared<const KeptRecord>(std::move(key),
                                                     std::vector(framed_value.begin(), framed_value.end())));
}

void MetadataDelta::drop_kept(const std::string& key) {
  changes_.kept |= image_.kept.erase(key);
}

Result<void> MetadataDelta::apply(const protocol::ConfigRecord& record) {
  const ConfigResource resource{static_cast<ConfigResourceType>(record.resource_type),
                                record.resource_name.str()};
  auto& values = changed_config(resource).values;
  if (record.value) {
    values.insert_or_assign(record.name.str(), record.value->str());
  } else {
    values.erase(record.name.str());
  }
  return {};
}

ConfigImage& MetadataDelta::changed_config(const ConfigResource& resource) {
  auto [at, is_new] = configs_.try_emplace(resource, ConfigImage{resource, {}});
  if (is_new) {
    const ConfigImage* before = image_.config(resource.type, resource.name);
    if (before != nullptr) at->second.values = before->values;
  }
  return at->second;
}

Result<void> MetadataDelta::apply(const protocol::FeatureLevelRecord& record) {
  const bool is_metadata_version = record.name == "metadata.version";
  if (is_metadata_version &&
      (record.feature_level > metadata_version_max || record.feature_level < metadata_version_min)) {
    return fail(ErrorKind::unsupported, "metadata.version " + std::to_string(record.feature_level) +
                                            ": this version reads " + std::to_string(metadata_version_min) +
                                            " to " + std::to_string(metadata_version_max));
  }
  changes_.features = true;
  if (record.feature_level == 0) {
    image_.features.erase(record.name.str());
  } else {
    image_.features.insert_or_assign(record.name.str(), record.feature_level);
  }
  return {};
}

Result<void> MetadataDelta::apply(const protocol::ProducerIdsRecord& record) {
  changes_.producer_ids = true;
  image_.next_producer_id = record.next_producer_id;
  return {};
}

void MetadataDelta::finish_configs() {
  for (auto& [resource, config] : configs_) {
    changes_.changed_configs.push_back(resource);
    if (config.values.empty()) {
      image_.configs.erase(resource);
    } else {
      image_.configs.put(std::make_shared<const ConfigImage>(std::move(config)));
    }
  }
}

Result<NextImage> MetadataDelta::finish(MetadataPosition position) && {
  BARNABAS_TRY(finish_topics());
  finish_configs();
  finish_access_control();
  std::ranges::sort(changes_.changed_brokers);
  const auto doubled = std::ranges::unique(changes_.changed_brokers);
  changes_.changed_brokers.erase(doubled.begin(), doubled.end());
  image_.position = position;
  return NextImage{std::make_shared<const MetadataImage>(std::move(image_)), std::move(changes_)};
}

}  // namespace barnabas::metadata
