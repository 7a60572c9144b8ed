#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <string>

#include "base/clock.h"
#include "base/types.h"
#include "io/disk_pool.h"
#include "network/request_handler.h"
#include "security/sasl_session.h"

namespace barnabas::broker {

/// Stands before all handlers on listeners that ask for SASL: nothing of a peer reaches a handler, but for
/// ApiVersions, until the peer has authenticated. Rules of the exchange: security/sasl_session.h.
class Authentication {
 public:
  struct Options {
    /// By the listener's name; every listener that asks for SASL is here.
    std::map<std::string, security::SaslListener, std::less<>> listeners;
    /// connection.failed.authentication.delay.ms: who guesses has to wait before it hears that it was wrong.
    std::chrono::milliseconds failure_delay{100};
    std::function<TimestampMs()> wall_clock = &wall_clock_now;
    std::function<Instant()> clock = &std::chrono::steady_clock::now;
  };
  /// What may wait for a device is done on `disk_pool`.
  Authentication(Options options, io::DiskPool& disk_pool)
      : options_(std::move(options)), disk_pool_(disk_pool) {}

  /// Takes the request if authentication is what it is about, or refuses it: true, and the request is used
  /// up. False: it is to be handled. On the connection's loop.
  bool take(network::IncomingRequest& request);

  /// These are for every connection, whether its listener asks for SASL or not. On its loop.
  static void versions_told(network::ConnectionContext& connection);
  static void connection_closed(network::ConnectionContext& connection);
  /// A peer that waits to hear that it was refused hears it now.
  static void end_waiting(network::ConnectionContext& connection);

 private:
  class State;
  struct Turn;

  std::shared_ptr<State> state_of(network::ConnectionContext& connection) const;
  void evaluate_on_pool(Turn turn) const;
  void act_upon(Turn turn, security::SaslVerdict verdict) const;

  const Options options_;
  io::DiskPool& disk_pool_;
};

}  // namespace barnabas::broker
