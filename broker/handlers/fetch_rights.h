#pragma once

#include <string>
#include <unordered_map>
#include <utility>

#include "broker/fetch_session.h"
#include "broker/rights.h"
#include "metadata/image.h"

namespace barnabas::broker {

/// Which topics the sender of one fetch may read; each is asked about once, however many partitions and
/// rounds there are. One thread.
class FetchRights {
 public:
  FetchRights(Rights rights, metadata::MetadataImagePtr image, bool by_topic_id)
      : rights_(std::move(rights)), image_(std::move(image)), by_topic_id_(by_topic_id) {}

  bool may_read(const FetchPartition& partition) {
    if (!by_topic_id_) return may_read(partition.topic);
    const auto* topic = image_->topic(partition.topic_id);
    return topic == nullptr || may_read(topic->name);  // an id that nobody has reveals nothing
  }

 private:
  bool may_read(const std::string& topic) {
    const auto [at, is_new] = known_.try_emplace(topic, false);
    if (is_new) at->second = rights_.may(Right::fetch_topic, topic);
    return at->second;
  }

  const Rights rights_;
  const metadata::MetadataImagePtr image_;
  const bool by_topic_id_;
  std::unordered_map<std::string, bool> known_;
};

}  // namespace barnabas::broker
