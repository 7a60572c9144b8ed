#pragma once

#include <string>
#include <unordered_map>
#include <utility>

#include "broker/fetch_session.h"
#include "broker/handlers/fetch_read.h"
#include "broker/rights.h"
#include "metadata/image.h"

namespace barnabas::broker {

/// Which topics the sender of one fetch may read; each is asked about once, however many partitions and
/// rounds there are. One thread.
class FetchRights {
 public:
  FetchRights(Rights rights, metadata::MetadataImagePtr image, bool by_topic_id)
      : rights_(std::move(rights)), image_(std::move(image)), by_topic_id_(by_topic_id) {}

  /// None: it may be read. topic_authorization_failed; or unknown_topic_id when no topic of the image has the
  /// id: one that comes to have it while the fetch is under way is not looked for, since nobody has been
  /// asked about it.
  protocol::ErrorCode refusal_of(const FetchPartition& partition) {
    using protocol::ErrorCode;
    if (!by_topic_id_) return refusal_of(partition.topic);
    if (const auto* topic = image_->topic(partition.topic_id)) return refusal_of(topic->name);
    // What a session remembers of a topic that is gone is for those who might still read it.
    if (const std::string& name = name_in_session(partition); !name.empty())
      if (const ErrorCode error = refusal_of(name); error != ErrorCode::none) return error;
    return ErrorCode::unknown_topic_id;
  }

 private:
  protocol::ErrorCode refusal_of(const std::string& topic) {
    const auto [at, is_new] = known_.try_emplace(topic, false);
    if (is_new) at->second = rights_.may(Right::fetch_topic, topic);
    return at->second ? protocol::ErrorCode::none : authorization_failed(Right::fetch_topic);
  }

  const Rights rights_;
  const metadata::MetadataImagePtr image_;
  const bool by_topic_id_;
  std::unordered_map<std::string, bool> known_;
};

}  // namespace barnabas::broker
