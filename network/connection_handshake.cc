// The part of a connection's life before its first request: the TLS handshake.

#include "base/log.h"
#include "network/connection.h"
#include "network/memory_budget.h"
#include "network/server_loop.h"
#include "network/tls_transport.h"
#include "network/turn_time.h"

namespace barnabas::network {

void Connection::continue_handshake() {
  if (closed() || handshake_ == nullptr) return;
  const auto self = shared_from_this();
  handshake_->set_read_ahead(home_->budget().may_read_ahead());  // of requests that come along
  TlsTransport::Handshake step;
  {
    const TurnTime time(home_->handler(), *context_);
    step = handshake_->handshake();
  }
  switch (step) {
    case TlsTransport::Handshake::done:
      end_handshake();
      break;
    case TlsTransport::Handshake::needs_input:
      wait_for_input();
      break;
    case TlsTransport::Handshake::needs_room:
      if (!room_wait_) wait_for_room();
      break;
    case TlsTransport::Handshake::failed:
      // Whoever looks whether the port is open says nothing and goes.
      close(handshake_->peer_has_spoken() ? LogAs::warning : LogAs::debug, handshake_->failure());
      break;
  }
}

void Connection::end_handshake() {
  // With SASL_SSL the exchange that follows says who it is.
  if (context_->security_protocol == SecurityProtocol::ssl) {
    auto principal = handshake_->principal();
    if (!principal) return close(LogAs::warning, log_text(principal.error().message, 1000));
    context_->principal = std::move(*principal);
  }
  handshake_ = nullptr;
  last_activity_ = frame_began_ = last_bytes_ = std::chrono::steady_clock::now();
  readable_ = true;  // the first request may have come along with the end of the handshake
  pump();
}

}  // namespace barnabas::network
