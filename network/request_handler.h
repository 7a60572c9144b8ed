#pragma once

#include <any>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/clock.h"
#include "network/frame.h"
#include "network/outgoing_frame.h"
#include "security/principal.h"
#include "security/security_protocol.h"

namespace barnabas::network {

class EventLoop;

using security::SecurityProtocol;

/// What is known of one connection. Everything but `id` … `loop` belongs to the request handler and may be
/// used only on the connection's loop; the rest never changes.
struct ConnectionContext {
  uint64_t id = 0;           ///< unique in this process
  std::string peer_address;  ///< numeric; IPv4 addresses that came through an IPv6 socket as IPv4
  uint16_t peer_port = 0;
  std::string local_address;
  uint16_t local_port = 0;
  std::string listener;  ///< name of the listener, upper case as configured
  SecurityProtocol security_protocol = SecurityProtocol::plaintext;
  EventLoop* loop = nullptr;  ///< where the connection lives; its timers and posts run on the same thread
  uint32_t authentication_bytes_max = UINT32_MAX;  ///< ListenerConfig's, while not `admitted`

  /// Set when the handshake or the authentication ends, before any request reaches the broker's handlers.
  security::Principal principal{};
  std::string client_software_name = "unknown";  ///< set by the handler of ApiVersions (KIP-511)
  std::string client_software_version = "unknown";
  std::any broker_state;    ///< whatever the broker keeps per connection
  std::any authentication;  ///< where the connection stands with its SASL exchange
  /// False until a peer that has to authenticate has done so, which the request handler says: until then its
  /// requests are small, may be empty, and the connection is closed after ServerLimits::authentication_max.
  bool admitted = true;
  /// How long the connection has kept its loop's thread busy in turns that are over, from its first one on,
  /// less what the broker took off. Zero while RequestHandler::measures_time says no.
  std::chrono::nanoseconds busy_time{0};
  /// In a turn that is measured: since when it is to be added at the end. The broker may set it forward.
  std::optional<Instant> busy_since;
  std::shared_ptr<const void> payer;  ///< the broker's: who used that time
  /// True once the connection is closed; answers are then dropped.
  bool closed = false;

  /// "192.0.2.7:40312", "[2001:db8::7]:40312"
  std::string peer() const;
};

/// What happens to a connection once an answer has been given to its socket.
struct AfterReply {
  /// For so long the connection reads nothing and starts no request; what was started before goes on and is
  /// answered. The stop of the server ends it early. Several that overlap end with the last one. A muted
  /// connection is not idle, and is closed when its peer has left: one that ended its side having sent
  /// requests before is given ServerLimits::idle_max.
  std::chrono::milliseconds mute_for{0};
  /// Closes the connection then. Requests that were started behind this one get no answer.
  bool close = false;
  std::string reason{};  ///< of closing, for the log; as in ReplySlot::close
};

/// Where a ReplySlot delivers. Implemented by the connection; a test of a request handler may bring its own.
/// All calls may come from any thread and never call back into a request handler before they return.
class ReplyTarget {
 public:
  virtual ~ReplyTarget() = default;
  virtual void on_reply(uint64_t request, OutgoingFrame frame, AfterReply after) = 0;
  virtual void on_no_reply(uint64_t request, AfterReply after) = 0;
  virtual void on_close(uint64_t request, std::string reason) = 0;
  virtual void on_allow_next(uint64_t request) = 0;
};

/// The duty to answer one request, exactly once: reply, no_reply or close. Move-only; may be completed on any
/// thread, in any order, also after the connection is gone (then nothing happens). Answers are sent in the
/// order of the requests whatever the order of completion. A slot that is destroyed without having been
/// completed closes the connection with a log line.
class ReplySlot {
 public:
  ReplySlot() = default;
  ReplySlot(std::shared_ptr<ReplyTarget> target, uint64_t request)
      : target_(std::move(target)), request_(request) {}
  ReplySlot(ReplySlot&& other) noexcept = default;
  ReplySlot& operator=(ReplySlot&& other) noexcept;
  ~ReplySlot();

  /// Answers. Never runs request handlers: the next request is started from the loop, after the caller
  /// returned.
  void reply(OutgoingFrame frame) { reply(std::move(frame), AfterReply{}); }
  /// Answers at once, and then has the connection do nothing for a time, or end: throttling and failed
  /// authentication.
  void reply(OutgoingFrame frame, AfterReply after);
  /// The request gets no answer (acks=0).
  void no_reply() { no_reply(AfterReply{}); }
  /// As above, with what happens in place of "after the answer".
  void no_reply(AfterReply after);
  /// Closes the connection without an answer to this request, after the answers to earlier ones are sent. The
  /// reason goes to the log together with the peer; give what the peer sent (untrusted text through
  /// log_text).
  void close(std::string reason);
  /// Lets the connection start its next request although this one is not answered (a pipelining producer).
  /// Without it the next request is started when this one's answer has been handed over, as Kafka does.
  void allow_next();

  /// False when default-made, moved from or completed.
  bool pending() const { return target_ != nullptr; }
  uint64_t request() const { return request_; }

 private:
  std::shared_ptr<ReplyTarget> target_;
  uint64_t request_ = 0;
};

struct IncomingRequest {
  Frame frame;
  std::shared_ptr<ConnectionContext> connection;
  ReplySlot slot;
  Instant received;  ///< when its last byte was read
};

/// The broker, as the network room sees it.
class RequestHandler {
 public:
  virtual ~RequestHandler() = default;

  /// A request came in. Called on the connection's loop, in the order of the requests of a connection. Must
  /// not block. Should it throw, the slot is dropped with the request, which closes this one connection.
  virtual void start(IncomingRequest request) = 0;

  /// Whether the time of connections is to be measured (ConnectionContext::busy_time). Asked in each turn of
  /// a connection, so it must be cheap. On any loop.
  virtual bool measures_time() const { return false; }

  /// The connection is closed, for whatever reason; called once, on its loop, only for connections of which a
  /// request was started. Slots of it may still be completed or destroyed, to no effect.
  virtual void connection_closed(ConnectionContext& connection) = 0;

  /// The server stops: a request of this connection that only waits for something to happen is to be answered
  /// with what there is. Called on its loop, only for connections of which a request was started.
  virtual void end_waiting(ConnectionContext& connection) { (void)connection; }
};

}  // namespace barnabas::network
