#pragma once

#include "network/request_handler.h"

namespace barnabas::network {

/// One turn of a connection, for as long as this is there: measured into ConnectionContext::busy_time if the
/// request handler wants that. On the connection's loop; turns do not nest.
class TurnTime {
 public:
  TurnTime(const RequestHandler& handler, ConnectionContext& context) : context_(context) {
    if (handler.measures_time()) {
      context.busy_since = std::chrono::steady_clock::now();
    } else {
      context.busy_time = std::chrono::nanoseconds(0);
    }
  }
  ~TurnTime() {
    if (context_.busy_since) context_.busy_time += std::chrono::steady_clock::now() - *context_.busy_since;
    context_.busy_since.reset();
  }
  TurnTime(const TurnTime&) = delete;
  TurnTime& operator=(const TurnTime&) = delete;

 private:
  ConnectionContext& context_;
};

}  // namespace barnabas::network
