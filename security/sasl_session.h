#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "security/sasl_mechanism.h"

namespace barnabas::protocol {
class Reader;
}

/// How a connection of a SASL listener comes to have a principal, and keeps it (KIP-43, KIP-152, KIP-368).
namespace barnabas::security {

/// What one listener asks of its clients.
struct SaslListener {
  struct Mechanism {
    std::string name;
    std::unique_ptr<SaslMechanism> serve;
    std::chrono::milliseconds session_max{0};  ///< connections.max.reauth.ms; 0: a session does not end
  };
  std::vector<Mechanism> mechanisms;        ///< in the order of sasl.enabled.mechanisms
  std::size_t message_bytes_max = 524'288;  ///< sasl.server.max.receive.size

  const Mechanism* find(std::string_view name) const;
};

/// What is to become of a frame.
struct SaslVerdict {
  enum class Action : uint8_t {
    hand_on,   ///< it is an ordinary request (or ApiVersions before authentication): handle it
    evaluate,  ///< it brought a token: call evaluate() and conclude()
    answer,    ///< send `frame`
    refuse,    ///< send `frame`, if there is one, and close; `reason` is for the log
  };
  Action action = Action::refuse;
  std::optional<std::vector<std::byte>> frame{};
  std::string reason{};
  /// The authentication is complete with this answer: principal() is who the connection acts for.
  bool authenticated = false;
  /// To be refused after connection.failed.authentication.delay.ms, as somebody who guesses.
  bool delayed = true;
};

/// One connection's authentication, and later ones of the same connection. Pure; one frame at a time.
class SaslSession {
 public:
  /// `listener` outlives this.
  explicit SaslSession(const SaslListener& listener) : listener_(listener) {}

  /// The next frame of the connection, without its size.
  SaslVerdict receive(ByteView frame, Instant now);

  /// The peer was told the versions; it is not told again before it has authenticated. Whoever answers
  /// ApiVersions with an error does not say so: the peer asks once more then, in another version or form.
  void versions_told() {
    if (state_ == State::handshake_or_versions) state_ = State::handshake;
  }

  /// Whether evaluate() may wait for a device.
  bool may_block() const { return exchange_ != nullptr && exchange_->may_block(); }
  /// What the mechanism says of the token of the frame that receive() saw last. Any thread; nothing else is
  /// to be called meanwhile.
  SaslStep evaluate(TimestampMs now);
  /// What to do upon what it said.
  SaslVerdict conclude(SaslStep step, TimestampMs wall, Instant now);

  /// Whether there is a principal; stays true while the connection authenticates anew.
  bool authenticated() const { return mechanism_ != nullptr && established_; }
  const Principal& principal() const { return principal_; }
  /// When other requests than a new authentication are no longer taken.
  std::optional<Instant> expires_at() const { return expires_; }

 private:
  enum class State : uint8_t {
    handshake_or_versions,
    handshake,  ///< ApiVersions has been answered
    token,
    wrong_mechanism,  ///< asked for upon a new authentication: the next message is refused
    established,
    over,
  };
  struct Request;

  SaslVerdict receive_established(ByteView frame, Instant now);
  SaslVerdict receive_request(ByteView frame);
  SaslVerdict receive_token(ByteView frame);
  SaslVerdict on_handshake(const Request& request, protocol::Reader& body);
  SaslVerdict complete(SaslStep step, TimestampMs wall, Instant now);
  SaslVerdict refuse(std::string reason);
  SaslVerdict refuse_token(std::string message, std::string reason);
  /// An answer to the token at hand: raw after SaslHandshake v0, a SaslAuthenticate answer otherwise.
  std::vector<std::byte> token_answer(ByteView token, int64_t lifetime_ms) const;

  const SaslListener& listener_;
  State state_ = State::handshake_or_versions;
  const SaslListener::Mechanism* mechanism_ = nullptr;
  std::unique_ptr<SaslExchange> exchange_;
  bool raw_ = false;          ///< tokens come without headers: SaslHandshake v0
  bool established_ = false;  ///< at least once
  Principal principal_;
  std::optional<Instant> expires_;
  std::optional<Instant> renewal_began_;
  std::vector<std::byte> token_;
  int16_t version_ = 0;  ///< of the SaslAuthenticate at hand
  int32_t correlation_id_ = 0;
};

}  // namespace barnabas::security
