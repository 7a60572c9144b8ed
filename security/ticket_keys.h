#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

#include "base/clock.h"

struct ssl_ctx_st;

namespace barnabas::security {

/// The keys under which a listener seals session tickets (RFC 5077, RFC 8446 section 4.6.1), apart from the
/// contexts that use them: so a ticket is good for the contexts that come after, too. They are made at
/// random and live in memory only. A key seals for `rotation`; it opens for `rotation` and `session_life`,
/// which is when the last ticket under it ends, and is then wiped out. Any thread.
class TicketKeys {
 public:
  static constexpr std::chrono::hours rotation{1};
  /// How long a session may be resumed.
  static constexpr std::chrono::hours session_life{2};

  struct Key {
    Key() = default;
    Key(const Key&) = default;
    Key& operator=(const Key&) = default;
    ~Key();  ///< wipes it out

    std::array<unsigned char, 16> name{};
    std::array<unsigned char, 32> cipher{};
    std::array<unsigned char, 32> digest{};
    Instant made{};
  };

  TicketKeys() = default;
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;

  /// The one to seal with; nothing when the system gives no random bytes.
  std::optional<Key> current(Instant now);
  /// The one of that name, unless it is too old.
  std::optional<Key> find(std::span<const unsigned char, 16> name, Instant now);
  /// Wipes out what opens nothing any more, as the others do; for when nobody comes.
  void forget_expired(Instant now);

  /// Has `context` use these keys, for as long as it is there; `keys` must be kept as long.
  static bool serve(ssl_ctx_st* context, TicketKeys& keys);

 private:
  void erase_expired(Instant now);

  std::mutex mutex_;
  std::vector<Key> keys_;  ///< the newest last
};

}  // namespace barnabas::security
