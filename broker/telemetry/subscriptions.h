#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/uuid.h"
#include "metadata/image.h"

namespace re2 {
class RE2;
}

namespace barnabas::broker {

/// A client, as subscriptions look at it (KIP-714).
struct TelemetryClient {
  std::string client_id;
  std::string software_name;
  std::string software_version;
  std::string address;
  uint16_t port = 0;
};

/// What a client is asked to push.
struct TelemetryWish {
  std::vector<std::string> metrics;  ///< prefixes, sorted; a single "*" is all; empty is nothing
  int32_t interval_ms = 0;
  bool operator==(const TelemetryWish&) const = default;
};

/// The subscriptions that are set as configs of type client_metrics. Immutable; any thread.
class TelemetrySubscriptions {
 public:
  /// What is not valid (the controller checks, a foreign one may not have) is left out. Of patterns that only
  /// Java knows (look-around, back references) none matches.
  explicit TelemetrySubscriptions(const metadata::MetadataImage& image);
  TelemetrySubscriptions(TelemetrySubscriptions&&) noexcept;
  TelemetrySubscriptions& operator=(TelemetrySubscriptions&&) noexcept;
  ~TelemetrySubscriptions();

  /// All that match together: the union of their metrics, and the shortest of their intervals, of which five
  /// minutes are the longest.
  TelemetryWish of(const Uuid& instance, const TelemetryClient& client) const;

 private:
  struct Match;
  struct Subscription;
  std::vector<Subscription> subscriptions_;
};

/// Names a wish of one client: a checksum of it, mixed with the client's id.
int32_t subscription_id(const TelemetryWish& wish, const Uuid& instance);

}  // namespace barnabas::broker
