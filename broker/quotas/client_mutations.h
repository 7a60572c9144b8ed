#pragma once

#include <memory>

#include "broker/call.h"
#include "broker/quotas/quotas.h"

namespace barnabas::broker {

/// The mutation quota of the client of a call; null while nobody has a quota. What is beyond it is refused
/// from version `strict_since` on.
inline std::shared_ptr<ClientMutationQuota> mutation_quota(const Call& call, int16_t strict_since) {
  if (!call.quota_client()) return nullptr;
  return std::make_shared<ClientMutationQuota>(*call.services().quotas, call.quota_client(),
                                               call.version() >= strict_since);
}

/// Has the client wait after the answer if it has used up its quota.
inline void throttle(Call& call, const ClientMutationQuota* quota) {
  if (quota != nullptr) call.throttle(quota->wait_left(std::chrono::steady_clock::now()));
}

}  // namespace barnabas::broker
