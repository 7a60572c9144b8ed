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
/// random, live in memory only, and the one in use changes every `rotation`; the ones before still open
/// tickets until these are as old as a ticket may be. Any thread.
class TicketKeys {
 public:
  static constexpr std::chrono::hours rotation{1};
  /// How long a session may be resumed.
  static constexpr std::chrono::hours session_life{2};

  struct Key {
    std::array<unsigned char, 16> name{};
    std::array<unsigned char, 32> cipher{};
    std::array<unsigned char, 32> digest{};
    Instant made{};
  };

  TicketKeys() = default;
  TicketKeys(const TicketKeys&) = delete;
  TicketKeys& operator=(const TicketKeys&) = delete;
  ~TicketKeys();

  /// The one to seal with; nothing when the system gives no random bytes.
  std::optional<Key> current(Instant now);
  /// The one of that name, unless it is too old.
  std::optional<Key> find(std::span<const unsigned char, 16> name, Instant now);

  /// Has `context` use these keys, for as long as it is there; `keys` must be kept as long.
  static bool serve(ssl_ctx_st* context, TicketKeys& keys);

 private:
  std::mutex mutex_;
  std::vector<Key> keys_;  ///< the newest last
};

}  // namespace barnabas::security
