#include "network/server_loop.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "network/frame_pool.h"
#include "network/memory_budget.h"

namespace barnabas::network {

namespace {

constexpr std::chrono::milliseconds tick_shortest{25};
constexpr std::chrono::milliseconds tick_longest{1000};

std::chrono::milliseconds tick_interval_for(std::chrono::milliseconds idle_max,
                                            std::chrono::milliseconds stall_max) {
  const auto shortest_deadline = idle_max.count() < 0 ? stall_max : std::min(idle_max, stall_max);
  return std::clamp(shortest_deadline / 8, tick_shortest, tick_longest);
}

}  // namespace

ServerLoop::ServerLoop(EventLoop& loop, MemoryBudget& budget, io::DiskPool& disk_pool,
                       RequestHandler& handler, RequestObserver* observer, const ServerLimits& limits,
                       std::shared_ptr<ConnectionCounts> counts)
    : loop_(loop),
      budget_(budget),
      disk_pool_(disk_pool),
      handler_(handler),
      observer_(observer),
      limits_(limits),
      counts_(std::move(counts)),
      tick_interval_(tick_interval_for(
          limits.idle_max,
          std::min({limits.overdraft_stall_max, limits.handshake_max, limits.authentication_max}))),
      scratch_(std::make_unique_for_overwrite<std::byte[]>(scratch_bytes)),
      timer_(loop.context()) {}

void ServerLoop::adopt(int socket, std::shared_ptr<ConnectionContext> context,
                       std::shared_ptr<const security::TlsContext> tls) {
  if (finishing_) {
    ::close(socket);
    counts_->leave(context->listener, context->peer_address);
    return;
  }
  auto connection =
      std::make_shared<Connection>(shared_from_this(), socket, std::move(context), std::move(tls));
  connections_.push_back(*connection);
  start_ticking();
  connection->open();
}

void ServerLoop::forget(Connection& connection) {
  end_overdraft(connection);
  std::erase_if(memory_waiters_, [&](const auto& waiter) { return waiter.get() == &connection; });
  connections_.erase(connections_.iterator_to(connection));
  counts_->leave(connection.context().listener, connection.context().peer_address);
}

void ServerLoop::finish_all() {
  finishing_ = true;
  for (auto it = connections_.begin(); it != connections_.end();) (it++)->finish();
}

void ServerLoop::close_all() {
  finishing_ = true;
  while (!connections_.empty()) connections_.front().close(Connection::LogAs::debug, "server stops now");
}

void ServerLoop::schedule(Connection& connection) {
  if (std::exchange(connection.scheduled_, true)) return;
  scheduled_.push_back(connection.shared_from_this());
  if (std::exchange(drain_posted_, true)) return;
  loop_.post(Drain(shared_from_this(), &ServerLoop::drain_scheduled));
}

void ServerLoop::drain_scheduled() {
  drain_posted_ = false;
  const auto connections = std::exchange(scheduled_, {});
  for (const auto& connection : connections) {
    connection->scheduled_ = false;
    connection->pump();
  }
}

void ServerLoop::queue_handshake(Connection& connection) {
  if (std::exchange(connection.handshake_queued_, true)) return;
  handshakes_.push_back(connection.shared_from_this());
  if (handshakes_.size() == 1) loop_.post(Drain(shared_from_this(), &ServerLoop::drain_handshakes));
}

void ServerLoop::drain_handshakes() {
  if (handshakes_.empty()) return;
  const auto connection = std::move(handshakes_.front());
  handshakes_.pop_front();
  if (!handshakes_.empty()) loop_.post(Drain(shared_from_this(), &ServerLoop::drain_handshakes));
  connection->handshake_queued_ = false;
  connection->continue_handshake();
}

TlsBuffers& ServerLoop::tls_buffers() {
  if (!tls_buffers_) tls_buffers_ = std::make_unique<TlsBuffers>();
  return *tls_buffers_;
}

void ServerLoop::settle_from_anywhere(std::shared_ptr<Connection> connection, uint64_t request,
                                      ReplyQueue::Settlement settlement) {
  if (!loop_.in_this_thread()) {
    post_report({std::move(connection), request, false, std::move(settlement)});
    return;
  }
  connection->settle(request, std::move(settlement));
  if (!connection->pumping_ && !connection->closed()) schedule(*connection);
}

void ServerLoop::allow_next_from_anywhere(std::shared_ptr<Connection> connection, uint64_t request) {
  if (!loop_.in_this_thread()) {
    post_report({std::move(connection), request, true, {}});
    return;
  }
  connection->allow_next(request);
  if (!connection->pumping_ && !connection->closed()) schedule(*connection);
}

void ServerLoop::abandon() {
  std::vector<Report> reports;
  {
    std::lock_guard lock(mutex_);
    reports.swap(reports_);
  }
  scheduled_.clear();
  handshakes_.clear();
}

void ServerLoop::post_report(Report report) {
  bool first;
  {
    std::lock_guard lock(mutex_);
    first = reports_.empty();
    reports_.push_back(std::move(report));
  }
  if (first) loop_.post(Drain(shared_from_this(), &ServerLoop::drain_reports));
}

void ServerLoop::drain_reports() {
  std::vector<Report> reports;
  {
    std::lock_guard lock(mutex_);
    reports.swap(reports_);
  }
  // All reports first, so that several answers of one connection leave in one write.
  for (Report& report : reports) {
    Connection& connection = *report.connection;
    if (report.only_allows_next) {
      connection.allow_next(report.request);
    } else {
      connection.settle(report.request, std::move(report.settlement));
    }
  }
  for (const Report& report : reports) report.connection->pump();
}

bool ServerLoop::may_overdraw(Connection& connection) {
  if (!overdrawn_ && budget_.may_overdraw()) overdrawn_ = connection.shared_from_this();
  if (overdrawn_.get() == &connection) return true;
  connection.memory_wait_ = true;
  memory_waiters_.push_back(connection.shared_from_this());
  wait_for_memory();
  return false;
}

void ServerLoop::wait_for_memory() {
  if (!std::exchange(waits_for_room_, true)) {
    budget_.when_available([weak = weak_from_this()] {
      const auto self = weak.lock();
      if (!self) return;
      self->loop_.post([self] {
        self->waits_for_room_ = false;
        self->wake_memory_waiters();
      });
    });
  }
  // While somebody is overdrawn, the end of that wakes the next one.
  if (overdrawn_ || std::exchange(waits_for_overdraft_, true)) return;
  budget_.when_overdraft_possible([weak = weak_from_this()] {
    const auto self = weak.lock();
    if (!self) return;
    self->loop_.post([self] {
      self->waits_for_overdraft_ = false;
      self->wake_memory_waiters();
    });
  });
}

void ServerLoop::end_overdraft(const Connection& connection) {
  if (overdrawn_.get() != &connection) return;
  overdrawn_.reset();
  // All of them: the first one may have no need of it any more.
  wake_memory_waiters();
}

void ServerLoop::wake_memory_waiters() {
  const auto waiters = std::exchange(memory_waiters_, {});
  for (const auto& waiter : waiters) waiter->memory_available();
}

void ServerLoop::start_ticking() {
  if (std::exchange(ticking_, true)) return;
  timer_.expires_after(tick_interval_);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code&) { self->tick(); });
}

void ServerLoop::tick() {
  ticking_ = false;
  const Instant now = std::chrono::steady_clock::now();
  if (overdrawn_ && !memory_waiters_.empty() &&
      now - overdrawn_->last_bytes_ >= limits_.overdraft_stall_max) {
    const auto stalled = overdrawn_;
    stalled->close(Connection::LogAs::warning,
                   "stalled in the middle of a request while memory for requests is used up");
  }
  for (auto it = connections_.begin(); it != connections_.end();) (it++)->check_deadlines(now);
  if (now - last_trim_ >= tick_longest) {
    last_trim_ = now;
    loop_.frames().trim();
  }
  if (!connections_.empty() || loop_.frames().retained_bytes() > 0) start_ticking();
}

}  // namespace barnabas::network
