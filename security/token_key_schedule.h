#pragma once

#include "base/clock.h"
#include "security/token_keys.h"

namespace barnabas::security {

/// When the keys of an endpoint are to be fetched. Pure; one thread at a time.
///
/// After a success that is `refresh` later; after a failure `retry_backoff`, twice as long after each more of
/// them, and at most `retry_backoff_max`. Whoever misses a key may have them fetched earlier, but not before
/// `retry_backoff_max` has passed since the last fetch began: a client that makes up names of keys costs the
/// endpoint no more than that.
class TokenKeySchedule {
 public:
  TokenKeySchedule(const TokenKeyEndpoint& endpoint, Instant now);

  /// When to fetch next; may have passed already.
  Instant next() const { return next_; }

  void began(Instant now) { began_ = now; }
  void succeeded(Instant now);
  void failed(Instant now);
  void missed(Instant now);

 private:
  std::chrono::milliseconds refresh_;
  std::chrono::milliseconds backoff_first_;
  std::chrono::milliseconds backoff_max_;
  std::chrono::milliseconds backoff_;
  Instant began_;
  Instant next_;
};

}  // namespace barnabas::security
