#include "network/server.h"

#include <atomic>
#include <utility>

#include "base/assert.h"
#include "base/log.h"
#include "network/acceptor.h"
#include "network/connection_counts.h"
#include "network/connection_rates.h"
#include "network/memory_budget.h"
#include "network/server_loop.h"
#include "network/socket_address.h"

namespace barnabas::network {

namespace {

constinit Logger log_{"network"};

/// Closing what is left takes the loops no time; this only bounds the wait if they no longer run.
constexpr std::chrono::seconds close_wait{5};

}  // namespace

struct Server::Impl {
  Impl(EventLoops& event_loops, io::DiskPool& disk_pool, RequestHandler& handler, ServerLimits server_limits,
       RequestObserver* observer)
      : loops(event_loops),
        limits(std::move(server_limits)),
        counts(std::make_shared<ConnectionCounts>(limits)),
        rates(std::make_shared<ConnectionRates>(limits.rate_settings)) {
    loops.budget().set_limit(limits.total_bytes_in_flight_max);
    for (std::size_t i = 0; i < loops.size(); ++i) {
      homes.push_back(std::make_shared<ServerLoop>(loops[i], loops.budget(), disk_pool, handler, observer,
                                                   limits, counts));
    }
  }

  template <class Call>
  void on_each_loop(Call call) {
    for (const auto& home : homes) home->loop().post([home, call] { call(*home); });
  }

  void stop_accepting() {
    for (const auto& acceptor : acceptors) acceptor->stop();
  }

  EventLoops& loops;
  const ServerLimits limits;
  const std::shared_ptr<ConnectionCounts> counts;
  const std::shared_ptr<ConnectionRates> rates;
  std::vector<std::shared_ptr<ServerLoop>> homes;
  std::vector<std::shared_ptr<Acceptor>> acceptors;
  std::vector<BoundListener> bound;
  std::atomic<bool> forced = false;
};

Server::Server(EventLoops& loops, io::DiskPool& disk_pool, RequestHandler& handler, ServerLimits limits,
               RequestObserver* observer)
    : impl_(std::make_shared<Impl>(loops, disk_pool, handler, std::move(limits), observer)) {}

void Server::set_connection_limits(ConnectionLimits limits) {
  impl_->counts->set_limits(std::move(limits));
}

void Server::set_connection_rate_limits(ConnectionRateLimits limits) {
  impl_->rates->set_limits(std::move(limits));
}

void Server::set_address_rate_limit(const std::optional<std::string>& address, std::optional<double> limit) {
  impl_->rates->set_address_limit(address, limit);
}

Server::~Server() {
  stop_now();
  impl_->counts->wait_for_none(std::chrono::steady_clock::now() + close_wait);
}

Result<void> Server::bind(const std::vector<ListenerConfig>& listeners) {
  BARNABAS_ASSERT(impl_->acceptors.empty());
  const ServerLimits& limits = impl_->limits;
  const ListenOptions options{limits.backlog, limits.send_buffer_bytes, limits.receive_buffer_bytes};
  for (const ListenerConfig& listener : listeners) {
    BARNABAS_ASSERT((listener.tls != nullptr) == security::encrypts(listener.security_protocol));
    const auto opened = open_listening_socket(listener.host, listener.port, options);
    if (!opened) {
      impl_->stop_accepting();
      impl_->acceptors.clear();
      impl_->bound.clear();
      return fail("listener " + listener.name, opened.error());
    }
    EventLoop& loop = impl_->loops[impl_->acceptors.size() % impl_->loops.size()];
    impl_->acceptors.push_back(
        std::make_shared<Acceptor>(loop, *opened, listener, impl_->homes, impl_->counts, impl_->rates));
    BARNABAS_ASSIGN(const uint16_t port, bound_port(*opened));
    impl_->bound.push_back({listener.name, listener.security_protocol, listener.host, port});
  }
  return {};
}

const std::vector<BoundListener>& Server::bound() const {
  return impl_->bound;
}

void Server::start_accepting() {
  for (const auto& acceptor : impl_->acceptors) acceptor->start();
  for (const BoundListener& listener : impl_->bound) {
    log_.info("listening name={} protocol={} host={} port={}", listener.name,
              to_string(listener.security_protocol), listener.host.empty() ? "*" : listener.host,
              listener.port);
  }
}

void Server::begin_stop() {
  impl_->stop_accepting();
  impl_->on_each_loop([](ServerLoop& home) { home.finish_all(); });
}

bool Server::wait_stopped(std::chrono::milliseconds deadline) {
  const bool in_time = impl_->counts->wait_for_none(std::chrono::steady_clock::now() + deadline);
  if (in_time) return !impl_->forced;
  log_.warn("closing connections whose requests are not answered in time count={}", connection_count());
  stop_now();
  impl_->counts->wait_for_none(std::chrono::steady_clock::now() + close_wait);
  return false;
}

void Server::stop_now() {
  if (connection_count() > 0) impl_->forced = true;
  impl_->stop_accepting();
  impl_->on_each_loop([](ServerLoop& home) { home.close_all(); });
}

std::size_t Server::connection_count() const {
  return impl_->counts->total();
}

std::map<std::string, uint32_t> Server::connections_by_listener() const {
  auto counts = impl_->counts->by_listener();
  for (const BoundListener& listener : impl_->bound) counts.try_emplace(listener.name, 0);
  return counts;
}

}  // namespace barnabas::network
