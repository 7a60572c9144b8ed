// What a connection is let go for although it did nothing wrong in what it said: being idle, slow, or gone.

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/log.h"
#include "network/connection.h"
#include "network/memory_budget.h"
#include "network/server_loop.h"
#include "network/tls_transport.h"

namespace barnabas::network {

namespace {

/// How often to look whether the peer of a request that is being served is still there.
constexpr std::chrono::seconds probe_interval{60};
/// A request may take the idle time and beyond that as long as it needs at this rate.
constexpr int32_t slowest_bytes_per_second = 64 << 10;

}  // namespace

void Connection::mute_for(std::chrono::milliseconds time) {
  if (finishing_) return;
  const Instant until = std::chrono::steady_clock::now() + time;
  if (muted_ && until <= muted_until_) return;
  muted_ = true;
  muted_until_ = until;
  // Others need not wait for the rest of a request that is not read meanwhile.
  home_->end_overdraft(*this);
  if (!mute_timer_) mute_timer_ = std::make_unique<Timer>(home_->loop().context());
  mute_timer_->expires_at(until);
  mute_timer_->async_wait([self = shared_from_this()](const boost::system::error_code& error) {
    // A wait that was over already cannot be cancelled by a longer mute.
    if (error || self->closed() || std::chrono::steady_clock::now() < self->muted_until_) return;
    self->end_mute();
    self->pump();
  });
}

void Connection::end_mute() {
  if (!std::exchange(muted_, false)) return;
  mute_timer_->cancel();
  last_activity_ = frame_began_ = last_bytes_ = std::chrono::steady_clock::now();
}

void Connection::check_deadlines(Instant now) {
  const auto idle_max = home_->limits().idle_max;
  const auto at_most = [&](std::chrono::milliseconds limit) {
    return idle_max.count() < 0 ? limit : std::min(limit, idle_max);
  };
  if (!context_->admitted && now - opened_ >= at_most(home_->limits().authentication_max))
    return close(LogAs::warning, "not authenticated in time");
  if (handshake_ != nullptr) {
    if (now - opened_ >= at_most(home_->limits().handshake_max))
      close(LogAs::warning, "TLS handshake not completed in time");
    return;
  }
  if (idle_max.count() < 0) return;
  if (has_output()) {
    if (room_wait_ && now - last_activity_ >= idle_max) close(LogAs::debug, "peer does not read its answer");
  } else if (!replies_.empty()) {
    if (now - last_activity_ < std::min<Instant::duration>(probe_interval, idle_max)) return;
    last_activity_ = now;
    if (!input_wait_ && peer_is_gone()) close(LogAs::debug, "peer is gone");
  } else if (muted_) {
    if (peer_is_gone() || (reader_.empty() && nothing_more_comes())) {
      close(LogAs::debug, "peer closed while muted");
    } else if (reader_.in_frame() && home_->budget().exhausted() &&
               now - last_bytes_ >= home_->limits().overdraft_stall_max) {
      close(LogAs::warning, "muted in the middle of a request while memory for requests is used up");
    }
  } else if (!reader_.empty()) {
    const std::chrono::seconds at_slowest(reader_.in_frame() ? reader_.frame_size() / slowest_bytes_per_second
                                                             : 0);
    if (!memory_wait_ && now - frame_began_ >= idle_max + at_slowest) {
      close(LogAs::warning, fmt::format("request of {} bytes not completed in time", reader_.frame_size()));
    }
  } else if (now - last_activity_ >= idle_max) {
    close(LogAs::debug, "idle");
  }
}

bool Connection::nothing_more_comes() const {
  std::byte next;
  const int socket = const_cast<Descriptor&>(socket_).native_handle();
  const ssize_t got = ::recv(socket, &next, 1, MSG_PEEK | MSG_DONTWAIT);
  return got == 0 || (got < 0 && errno != EAGAIN && errno != EINTR);
}

bool Connection::peer_is_gone() const {
  tcp_info info{};
  socklen_t length = sizeof info;
  const int socket = const_cast<Descriptor&>(socket_).native_handle();
  return ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0 && info.tcpi_state == TCP_CLOSE;
}

}  // namespace barnabas::network
