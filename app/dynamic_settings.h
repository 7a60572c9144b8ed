#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metadata/effective_broker_config.h"
#include "metadata/publisher.h"

namespace barnabas::app {

/// Tells the parts of the broker when settings of it, or of all brokers, change at run time.
class DynamicSettings {
 public:
  /// Follows the metadata from here on. All references must outlive it, and so must what the followers touch:
  /// nobody can stop following.
  DynamicSettings(metadata::ImagePublisher& publisher, NodeId node, const metadata::StaticConfig& config);

  using Apply = std::function<void(const metadata::BrokerConfigView&)>;
  /// Calls `apply` now, on this thread, and from then on whenever the value in force of one of `names`
  /// changes: on the publisher's thread, before the change is acknowledged. It must not wait for anything.
  /// Names may hold a listener's prefix.
  void follow(std::vector<std::string> names, Apply apply);

 private:
  struct Follower {
    std::vector<std::string> names;
    std::vector<std::optional<std::string>> values;
    Apply apply;
  };

  void changed(const metadata::MetadataChanges& changes, const metadata::MetadataImage& image);
  void tell(Follower& follower, const metadata::BrokerConfigView& view);

  const NodeId node_;
  const metadata::StaticConfig& config_;
  metadata::ImagePublisher& publisher_;
  std::mutex mutex_;
  std::vector<Follower> followers_;
};

}  // namespace barnabas::app
