#include "metadata/publisher.h"

#include <algorithm>
#include <string>
#include <utility>

#include "base/assert.h"

namespace barnabas::metadata {

ImagePublisher::ImagePublisher() : current_(std::make_shared<const MetadataImage>()) {}

void ImagePublisher::subscribe(Listener listener) {
  const std::lock_guard lock(mutex_);
  const MetadataImagePtr image = current();
  listener(all_of(*image), image);
  listeners_.push_back(std::move(listener));
}

void ImagePublisher::publish(const MetadataChanges& changes, MetadataImagePtr image) {
  const std::lock_guard lock(mutex_);
  BARNABAS_ASSERT(image != nullptr);
  BARNABAS_ASSERT(image->position.offset >= current()->position.offset);
  for (const auto& listener : listeners_) listener(changes, image);
  const std::lock_guard current_lock(current_mutex_);
  current_.swap(image);  // the old one goes with the argument, after the lock: freeing it takes its time
}

void ImagePublisher::announce(const MetadataChanges& changes) {
  const std::lock_guard lock(mutex_);
  const MetadataImagePtr image = current();
  for (const auto& listener : listeners_) listener(changes, image);
}

bool concerns_broker(const MetadataChanges& changes, NodeId node) {
  return changes.all || std::ranges::any_of(changes.changed_configs, [&](const ConfigResource& resource) {
           return resource.type == ConfigResourceType::broker &&
                  (resource.name.empty() || resource.name == std::to_string(node.value()));
         });
}

MetadataChanges all_of(const MetadataImage& image) {
  MetadataChanges changes;
  changes.all = changes.features = changes.producer_ids = changes.credentials = changes.kept = true;
  for (const auto& quotas : image.client_quotas) changes.changed_quotas.push_back(quotas->entity);
  changes.changed_topics.assign(image.topics_by_name.begin(), image.topics_by_name.end());
  for (const auto& config : image.configs) changes.changed_configs.push_back(config->resource);
  for (const auto& [id, broker] : image.brokers) changes.changed_brokers.push_back(id);
  for (const auto& entry : image.access_control.by_id) changes.access_control.push_back({nullptr, entry});
  return changes;
}

}  // namespace barnabas::metadata
