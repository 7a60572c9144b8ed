#pragma once

#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/rate_window.h"
#include "base/result.h"
#include "io/disk_pool.h"
#include "network/event_loops.h"
#include "network/request_handler.h"
#include "network/request_observer.h"

namespace barnabas::security {
class TlsContextSource;
}

namespace barnabas::network {

struct ListenerConfig {
  std::string name;  ///< as in `listeners`, for example "PLAINTEXT"
  SecurityProtocol security_protocol = SecurityProtocol::plaintext;
  std::string host{};                     ///< empty: all interfaces, IPv6 and IPv4
  uint16_t port = 0;                      ///< 0: the system chooses
  uint32_t connections_max = UINT32_MAX;  ///< listener.name.<name>.max.connections
  /// Of SSL and SASL_SSL; each new connection takes the context of that moment.
  std::shared_ptr<security::TlsContextSource> tls{};
  /// The largest request of a peer that has yet to authenticate, on listeners that ask for SASL:
  /// sasl.server.max.receive.size.
  uint32_t authentication_bytes_max = 524'288;
};

/// Each is a bound at which the server pushes back or refuses. Kafka's setting where there is one.
struct ServerLimits {
  uint32_t request_bytes_max = 100 << 20;            ///< socket.request.max.bytes
  uint32_t connections_max = INT32_MAX;              ///< max.connections
  uint32_t connections_per_address_max = INT32_MAX;  ///< max.connections.per.ip
  std::map<std::string, uint32_t>
      connections_per_address{};                    ///< max.connections.per.ip.overrides, by numeric address
  std::chrono::milliseconds idle_max{600'000};      ///< connections.max.idle.ms; below 0: never
  std::chrono::milliseconds handshake_max{30'000};  ///< of TLS; idle_max if that is less
  std::chrono::milliseconds authentication_max{60'000};  ///< of SASL, from accepting on; idle_max if less
  int send_buffer_bytes = 102'400;                       ///< socket.send.buffer.bytes; -1: the system's
  /// socket.receive.buffer.bytes; -1: the system's, which grows as needed. Kafka's default of 100 KiB is
  /// little more than one packet of loopback and nearly doubles the cost of receiving, so it should be set
  /// only where somebody asks for it.
  int receive_buffer_bytes = -1;
  int backlog = 50;                                    ///< socket.listen.backlog.size
  uint32_t requests_in_flight_max = 64;                ///< started and not answered, of one connection
  uint64_t connection_bytes_in_flight_max = 64 << 20;  ///< of such requests; one request is always let in
  uint64_t total_bytes_in_flight_max = uint64_t{512} << 20;  ///< requests in memory, of all connections
  std::chrono::milliseconds overdraft_stall_max{5000};  ///< with that used up: see ServerLoop::may_overdraw
  RateSettings rate_settings{};                         ///< quota.window.*, for rates of connections
};

/// How many connections may be open. May change while the server runs; what is open then stays open.
struct ConnectionLimits {
  uint32_t total = INT32_MAX;
  uint32_t per_address = INT32_MAX;
  std::map<std::string, uint32_t> of_address{};   ///< by numeric address, instead of per_address
  std::map<std::string, uint32_t> of_listener{};  ///< by name, instead of ListenerConfig::connections_max
};

/// How many connections may come in a second. May change while the server runs.
struct ConnectionRateLimits {
  std::optional<double> total{};  ///< max.connection.creation.rate; none: any
  std::map<std::string, double>
      of_listener{};  ///< by name: listener.name.<name>.max.connection.creation.rate
};

struct BoundListener {
  std::string name;
  SecurityProtocol security_protocol = SecurityProtocol::plaintext;
  std::string host;   ///< as configured
  uint16_t port = 0;  ///< as bound
};

/// Listens, reads requests, hands them to the request handler and sends the answers. README.md has the order
/// of shutdown. Methods are for the owner's thread, not for a loop's, unless they say otherwise.
class Server {
 public:
  /// All references must outlive the server. Cold file pieces of answers are read on `disk_pool`.
  Server(EventLoops& loops, io::DiskPool& disk_pool, RequestHandler& handler, ServerLimits limits,
         RequestObserver* observer = nullptr);
  /// As stop_now, waiting until every connection is closed.
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Binds all listeners, without accepting yet; peers that connect wait in the backlog.
  Result<void> bind(const std::vector<ListenerConfig>& listeners);
  const std::vector<BoundListener>& bound() const;
  /// From here on the handler is called. Once, after bind.
  void start_accepting();

  /// Instead of the limits on connections that the server began with. Any thread.
  void set_connection_limits(ConnectionLimits limits);
  void set_connection_rate_limits(ConnectionRateLimits limits);
  /// Connections a second of a numeric address, or (none) of each that has no limit of its own. Any thread.
  void set_address_rate_limit(const std::optional<std::string>& address, std::optional<double> limit);

  /// First step of an orderly end: stops accepting and reading; connections without a started request are
  /// closed, the others as soon as their started requests are answered and the answers are sent. Returns at
  /// once. Any thread.
  void begin_stop();
  /// Waits until all connections are closed, at most `deadline`, then closes what is left. False if something
  /// was.
  bool wait_stopped(std::chrono::milliseconds deadline);
  /// Closes everything at once, also while another thread is in wait_stopped. Any thread.
  void stop_now();

  /// Open connections. Any thread.
  std::size_t connection_count() const;
  /// The same by listener, those without any included. Any thread, once bound.
  std::map<std::string, uint32_t> connections_by_listener() const;

 private:
  struct Impl;
  std::shared_ptr<Impl> impl_;
};

}  // namespace barnabas::network
