#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/types.h"
#include "security/principal.h"

namespace barnabas::security {

/// What a SASL mechanism made of one message of the client.
struct SaslStep {
  enum class State : uint8_t {
    challenge,  ///< `bytes` go to the client, whose next message is awaited
    complete,   ///< `bytes`, maybe none, go to the client, and it is authenticated
    failed,     ///< `message` goes to the client; the exchange is over
  };
  State state = State::failed;
  std::vector<std::byte> bytes{};
  std::string
      message{};  ///< for the client: no secret, and nothing that tells an unknown user from a known one
  std::string reason{};  ///< for the log, with no secret either; empty: the message says it all
};

/// The server's side of one authentication by one mechanism (RFC 4422). Pure: no socket, no clock, and, but
/// for those that may_block(), nothing that waits. Used on one thread at a time.
class SaslExchange {
 public:
  virtual ~SaslExchange() = default;

  /// The client's next message, of any bytes. Not to be called after complete or failed.
  virtual SaslStep respond(ByteView message, TimestampMs now) = 0;

  /// Whether respond() may wait for a device, as Kerberos does that reads its key table: then it belongs on
  /// the disk pool, while the connection starts nothing else.
  virtual bool may_block() const { return false; }

  // After `complete` only.
  virtual Principal principal() const = 0;
  /// When what the client showed ceases to be valid (KIP-368); nothing: never.
  virtual std::optional<TimestampMs> expires_at() const { return std::nullopt; }
};

}  // namespace barnabas::security
