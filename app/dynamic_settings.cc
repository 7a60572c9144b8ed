#include "app/dynamic_settings.h"

#include <algorithm>
#include <utility>

namespace barnabas::app {

DynamicSettings::DynamicSettings(metadata::ImagePublisher& publisher, NodeId node,
                                 const metadata::StaticConfig& config)
    : node_(node), config_(config), publisher_(publisher) {
  publisher.subscribe([this](const metadata::MetadataChanges& changes,
                             const metadata::MetadataImagePtr& image) { changed(changes, *image); });
}

void DynamicSettings::follow(std::vector<std::string> names, Apply apply) {
  const std::lock_guard lock(mutex_);
  const auto image = publisher_.current();
  Follower& follower = followers_.emplace_back(Follower{std::move(names), {}, std::move(apply)});
  tell(follower, metadata::BrokerConfigView(*image, node_, config_));
}

void DynamicSettings::changed(const metadata::MetadataChanges& changes,
                              const metadata::MetadataImage& image) {
  if (!metadata::concerns_broker(changes, node_)) return;
  const metadata::BrokerConfigView view(image, node_, config_);
  const std::lock_guard lock(mutex_);
  for (Follower& follower : followers_) tell(follower, view);
}

void DynamicSettings::tell(Follower& follower, const metadata::BrokerConfigView& view) {
  std::vector<std::optional<std::string>> values;
  for (const std::string& name : follower.names) values.push_back(view.value(name));
  if (values == follower.values) return;
  follower.values = std::move(values);
  follower.apply(view);
}

}  // namespace barnabas::app
