#pragma once

#include <chrono>
#include <cstdint>

#include "base/clock.h"

namespace barnabas::network {

struct ConnectionContext;

/// When what happened to a request, in this order but for `handled`, which may also come later.
struct RequestTimes {
  Instant received;  ///< its last byte was read
  Instant started;   ///< it was given to the request handler
  Instant handled;   ///< the handler had returned
  Instant answered;  ///< its slot was completed
  Instant taken;     ///< the answers to all requests before it had been passed on
  Instant sent;      ///< the last byte of its answer was given to the socket; as `taken` where there is none
};

/// Who wants to know how long requests take.
class RequestObserver {
 public:
  virtual ~RequestObserver() = default;
  /// A request got its answer, or was to get none; those whose connection closed before are not told of.
  /// `api` is what its first two bytes say, whatever that is. On the connection's loop; must be cheap.
  virtual void answered(const ConnectionContext& connection, int16_t api, const RequestTimes& times,
                        std::chrono::milliseconds muted_for) = 0;
};

}  // namespace barnabas::network
