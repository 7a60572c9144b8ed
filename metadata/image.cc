#include "metadata/image.h"

namespace barnabas::metadata {

Uuid PartitionImage::directory_of(NodeId node) const {
  for (std::size_t i = 0; i < replicas.size() && i < directories.size(); ++i) {
    if (replicas[i] == node) return directories[i];
  }
  return directory_migrating;
}

const TopicImage* MetadataImage::topic(std::string_view name) const {
  const auto* found = topics_by_name.find(name);
  return found ? found->get() : nullptr;
}

const TopicImage* MetadataImage::topic(const Uuid& id) const {
  const auto* found = topics_by_id.find(id);
  return found ? found->get() : nullptr;
}

const PartitionImage* MetadataImage::partition(std::string_view name, PartitionIndex index) const {
  const TopicImage* found = topic(name);
  return found ? found->partition(index) : nullptr;
}

const BrokerImage* MetadataImage::broker(NodeId id) const {
  auto found = brokers.find(id);
  return found == brokers.end() ? nullptr : found->second.get();
}

const ConfigImage* MetadataImage::config(ConfigResourceType type, std::string_view name) const {
  const auto* found = configs.find(ConfigResource{type, std::string(name)});
  return found ? found->get() : nullptr;
}

const ScramCredential* MetadataImage::scram_credential(ScramMechanism mechanism,
                                                       std::string_view user) const {
  const auto* found = scram_credentials.find(ScramKey{mechanism, std::string(user)});
  return found ? found->get() : nullptr;
}

const DelegationToken* MetadataImage::delegation_token(std::string_view id) const {
  const auto* found = delegation_tokens.find(std::string(id));
  return found ? found->get() : nullptr;
}

std::optional<std::string_view> MetadataImage::config_value(ConfigResourceType type,
                                                            std::string_view resource,
                                                            std::string_view name) const {
  const ConfigImage* values = config(type, resource);
  if (values == nullptr) return std::nullopt;
  auto found = values->values.find(name);
  if (found == values->values.end()) return std::nullopt;
  return found->second;
}

int16_t MetadataImage::metadata_version() const {
  auto found = features.find("metadata.version");
  return found == features.end() ? int16_t{0} : found->second;
}

}  // namespace barnabas::metadata
