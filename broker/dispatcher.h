#pragma once

#include "base/log.h"
#include "broker/services.h"
#include "network/request_handler.h"

namespace barnabas::broker {

/// Takes requests from connections, reads their headers and starts their handlers. An unknown API key or
/// version closes the connection with a log line, as Kafka does.
class Dispatcher : public network::RequestHandler {
 public:
  explicit Dispatcher(Services& services) : services_(services) {}

  void start(network::IncomingRequest request) override;
  void connection_closed(network::ConnectionContext& connection) override;
  bool measures_time() const override;
  void end_waiting(network::ConnectionContext& connection) override;

 private:
  Services& services_;
};

}  // namespace barnabas::broker
