#include "network/acceptor.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "network/socket_address.h"
#include "security/tls_context.h"

namespace barnabas::network {

namespace {

constinit Logger log_{"network"};

constexpr int accepted_per_turn = 64;
/// Without descriptors or memory: until somebody gave some back. Peers wait in the backlog meanwhile.
constexpr std::chrono::milliseconds pause_time{200};
/// Connections that are kept open only to be closed later; what comes beyond is closed at once.
constexpr std::size_t unwelcome_max = 1000;

std::atomic<uint64_t> next_connection_id = 1;

/// Errors that belong to the one connection that was to be accepted (accept(2) passes on its network errors).
bool concerns_the_peer_only(int error) {
  switch (error) {
    case ECONNABORTED:
    case EINTR:
    case EPROTO:
    case EPERM:
    case ENETDOWN:
    case ENOPROTOOPT:
    case EHOSTDOWN:
    case ENONET:
    case EHOSTUNREACH:
    case EOPNOTSUPP:
    case ENETUNREACH:
      return true;
    default:
      return false;
  }
}

}  // namespace

Acceptor::Acceptor(EventLoop& loop, int socket, ListenerConfig config,
                   std::vector<std::shared_ptr<ServerLoop>> homes, std::shared_ptr<ConnectionCounts> counts,
                   std::shared_ptr<ConnectionRates> rates)
    : loop_(loop),
      listening_(socket),
      socket_(loop.context(), socket),
      timer_(loop.context()),
      unwelcome_timer_(loop.context()),
      config_(std::move(config)),
      homes_(std::move(homes)),
      counts_(std::move(counts)),
      rates_(std::move(rates)),
      next_home_(loop.index()) {}

Acceptor::~Acceptor() {
  drop_all();
}

void Acceptor::start() {
  loop_.post([self = shared_from_this()] { self->wait(); });
}

void Acceptor::stop() {
  if (stopped_.exchange(true)) return;
  // Takes effect at once, wherever the loop is; the descriptor itself is closed there.
  ::shutdown(listening_, SHUT_RDWR);
  loop_.post([self = shared_from_this()] {
    boost::system::error_code ignored;
    self->socket_.close(ignored);
    self->timer_.cancel();
    self->unwelcome_timer_.cancel();
    self->drop_all();
  });
}

void Acceptor::wait() {
  if (stopped_) return;
  socket_.async_wait(Descriptor::wait_read,
                     [self = shared_from_this()](const boost::system::error_code&) { self->accept_all(); });
}

void Acceptor::accept_all() {
  bool more = true;
  for (int i = 0; more && i < accepted_per_turn && !stopped_; ++i) {
    if (!accept_one(more)) return;
  }
  wait();
}

bool Acceptor::accept_one(bool& more) {
  sockaddr_storage peer{};
  socklen_t length = sizeof peer;
  const int socket =
      ::accept4(listening_, reinterpret_cast<sockaddr*>(&peer), &length, SOCK_NONBLOCK | SOCK_CLOEXEC);
  if (socket >= 0) {
    auto [address, port] = address_of(peer);
    arrival_ = {socket, std::move(address), port};
    rate_counted_ = false;
    return admit();
  }
  if (errno == EAGAIN || errno == EWOULDBLOCK) {
    more = false;
  } else if (!concerns_the_peer_only(errno)) {
    pause(errno);
    return false;
  }
  return true;
}

bool Acceptor::admit() {
  const Instant now = std::chrono::steady_clock::now();
  if (!std::exchange(rate_counted_, true)) {
    const auto delay = rates_->count(config_.name, now);
    not_before_ = now + delay;
    if (delay.count() > 0) {
      timer_.expires_at(not_before_);
      timer_.async_wait([self = shared_from_this()](const boost::system::error_code&) { self->go_on(); });
    }
  }
  if (now < not_before_) return false;  // a place was free, but it is too early
  const bool entered = counts_->enter(config_.name, config_.connections_max, [weak = weak_from_this()] {
    const auto self = weak.lock();
    if (self) self->loop_.post([self] { self->go_on(); });
  });
  if (!entered) {
    if (const auto left_out = refusal_log_.admit(now))
      log_.warn(
          "no connection is accepted until another one ends listener={} connections={} lines_left_out={}",
          config_.name, counts_->total(), *left_out);
    return false;
  }
  if (const auto delay = rates_->count_address(config_.name, arrival_.address, now); delay.count() > 0) {
    counts_->leave_early(config_.name);
    turn_away(delay);
  } else if (const auto limit = counts_->enter_address(config_.name, arrival_.address)) {
    ::close(std::exchange(arrival_.socket, -1));
    if (const auto left_out = refusal_log_.admit(now))
      log_.warn("connection refused peer={}:{} listener={} limit=\"{}\" lines_left_out={}", arrival_.address,
                arrival_.port, config_.name, *limit, *left_out);
  } else {
    welcome();
  }
  return true;
}

/// The one that waits may be let in now.
void Acceptor::go_on() {
  if (stopped_ || arrival_.socket < 0) return;
  if (admit()) accept_all();
}

void Acceptor::welcome() {
  const int socket = std::exchange(arrival_.socket, -1);
  ServerLoop& home = *homes_[next_home_++ % homes_.size()];
  auto context = std::make_shared<ConnectionContext>();
  context->id = next_connection_id.fetch_add(1, std::memory_order_relaxed);
  context->peer_address = std::move(arrival_.address);
  context->peer_port = arrival_.port;
  sockaddr_storage local{};
  socklen_t length = sizeof local;
  if (::getsockname(socket, reinterpret_cast<sockaddr*>(&local), &length) == 0) {
    AddressAndPort here = address_of(local);
    context->local_address = std::move(here.address);
    context->local_port = here.port;
  }
  context->listener = config_.name;
  context->security_protocol = config_.security_protocol;
  context->admitted = !security::authenticates_by_sasl(config_.security_protocol);
  context->authentication_bytes_max = config_.authentication_bytes_max;
  context->loop = &home.loop();
  auto tls = config_.tls ? config_.tls->current() : nullptr;
  home.loop().post(
      [home = home.shared_from_this(), socket, context = std::move(context), tls = std::move(tls)]() mutable {
        home->adopt(socket, std::move(context), std::move(tls));
      });
}

void Acceptor::turn_away(std::chrono::milliseconds wait) {
  const int socket = std::exchange(arrival_.socket, -1);
  if (unwelcome_.size() >= unwelcome_max) {
    ::close(socket);
    return;
  }
  const bool idle = unwelcome_.empty();
  unwelcome_.push_back({socket, std::chrono::steady_clock::now() + wait});
  if (idle) close_unwelcome();
}

/// Those whose time has come, and the next one later. Waits differ by less than a window, so the order hardly
/// matters.
void Acceptor::close_unwelcome() {
  const Instant now = std::chrono::steady_clock::now();
  while (!unwelcome_.empty() && unwelcome_.front().until <= now) {
    ::close(unwelcome_.front().socket);
    unwelcome_.pop_front();
  }
  if (unwelcome_.empty() || stopped_) return;
  unwelcome_timer_.expires_at(unwelcome_.front().until);
  unwelcome_timer_.async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    if (!error) self->close_unwelcome();
  });
}

void Acceptor::drop_all() {
  if (arrival_.socket >= 0) ::close(std::exchange(arrival_.socket, -1));
  for (const Unwelcome& one : unwelcome_) ::close(one.socket);
  unwelcome_.clear();
}

void Acceptor::pause(int error) {
  if (stopped_) return;
  if (const auto left_out = failure_log_.admit(std::chrono::steady_clock::now())) {
    log_.error("accepting pauses listener={} error=\"{}\" lines_left_out={}", config_.name,
               std::strerror(error), *left_out);
  }
  timer_.expires_after(pause_time);
  timer_.async_wait([self = shared_from_this()](const boost::system::error_code&) { self->accept_all(); });
}

}  // namespace barnabas::network
