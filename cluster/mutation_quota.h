#pragma once

#include <cstdint>

namespace barnabas::cluster {

/// What a client may still change (KIP-599), asked for each topic that a request makes, widens or deletes. On
/// the gateway's thread, or wherever the controller decides.
class MutationQuota {
 public:
  virtual ~MutationQuota() = default;
  /// Counts `partitions` against the quota. False: nothing is counted, and the topic is to be refused with
  /// THROTTLING_QUOTA_EXCEEDED.
  virtual bool admit(int64_t partitions) = 0;
};

}  // namespace barnabas::cluster
