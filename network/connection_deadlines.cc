// What a connection is let go for although it did nothing wrong in what it said: being idle, slow, or gone.

#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
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
  if (muted_) {
    check_muted(now);
    if (closed()) return;
  }
  const bool for_ever = idle_max.count() < 0;
  if (has_output()) {
    if (!for_ever && room_wait_ && now - last_activity_ >= idle_max)
      close(LogAs::debug, "peer does not read its answer");
  } else if (!replies_.empty()) {
    if (now - last_activity_ < at_most(probe_interval)) return;
    last_activity_ = now;
    if (!input_wait_ && tcp_state() == TCP_CLOSE) close(LogAs::debug, "peer is gone");
  } else if (muted_ || for_ever) {
    return;
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

/// A client that keeps quiet as it was told to is not idle, but one that has left is not waited for. Who has
/// only ended its side may still wait for answers to what it sent before: for the idle time, as everybody.
void Connection::check_muted(Instant now) {
  const int state = tcp_state();
  if (state == TCP_CLOSE) return close(LogAs::debug, "peer is gone while muted");
  if (has_output() || !replies_.empty()) return;
  const bool ended = transport_->peer_has_ended();
  readable_ = true;  // what that has taken from the socket, the socket does not tell of again
  count_bytes_aside();
  const auto& limits = home_->limits();
  if (ended && (closing_ || !reader_.holds_request())) {
    close(LogAs::debug, "peer closed while muted");
  } else if ((ended || state == TCP_CLOSE_WAIT) && limits.idle_max.count() >= 0 &&
             now - last_activity_ >= limits.idle_max) {
    close(LogAs::debug, "peer closed while muted, and the requests before that wait too long");
  } else if (reader_.in_frame() && home_->budget().exhausted() &&
             now - last_bytes_ >= limits.overdraft_stall_max) {
    close(LogAs::warning, "muted in the middle of a request while memory for requests is used up");
  } else if (has_output()) {
    pump();  // new keys that the peer asked for
  }
}

int Connection::tcp_state() const {
  tcp_info info{};
  socklen_t length = sizeof info;
  const int socket = const_cast<Descriptor&>(socket_).native_handle();
  const bool known = ::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &info, &length) == 0;
  return known ? int{info.tcpi_state} : TCP_ESTABLISHED;
}

}  // namespace barnabas::network
