#pragma once

#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/types.h"
#include "base/uuid.h"
#include "broker/telemetry/pushed_metrics.h"
#include "broker/telemetry/subscriptions.h"
#include "metadata/image.h"
#include "protocol/error_code.h"

namespace barnabas::broker {

/// What a client's metric is now.
struct ClientSample {
  std::string name;  ///< as the client says it
  bool counter = false;
  std::map<std::string, std::string> attributes;  ///< the client's own
  std::string client_id;
  Uuid instance;
  double value = 0;
};

/// Clients that push their metrics (KIP-714): who was told to push what, and what came. Kept in memory only,
/// as in Kafka: for three intervals after the last word of a client, at least a minute, and while its
/// connection lives. Bounded: clients_max clients, of which the one that was silent longest goes, each with
/// series_of_client, and series_max altogether; what comes beyond is dropped. Any thread.
class ClientTelemetry {
 public:
  static constexpr std::size_t clients_max = 16'384;
  static constexpr std::size_t series_of_client = 1'000;
  static constexpr std::size_t series_max = 50'000;

  using Image = std::shared_ptr<const metadata::MetadataImage>;

  /// `push_bytes_max`: telemetry.max.bytes, of a push before and after decompression.
  explicit ClientTelemetry(int32_t push_bytes_max) : push_bytes_max_(push_bytes_max) {}

  struct Subscription {
    protocol::ErrorCode error = protocol::ErrorCode::none;
    Uuid instance;
    int32_t id = 0;
    TelemetryWish wish;
  };

  /// A client asks what to push. `instance` is zero for a client that has no id yet.
  /// THROTTLING_QUOTA_EXCEEDED to one that asks again before its interval is over, though nothing has
  /// changed.
  Subscription subscribe(const Uuid& instance, const TelemetryClient& client, uint64_t connection,
                         const Image& image, Instant now);

  struct Push {
    Uuid instance;
    int32_t subscription_id = 0;
    bool terminating = false;
    int8_t compression = 0;
    ByteView metrics;
  };

  /// A client pushes. INVALID_REQUEST: no instance id, or it said before that it was terminating;
  /// THROTTLING_QUOTA_EXCEEDED: too early; UNKNOWN_SUBSCRIPTION_ID: what it is to push has changed;
  /// UNSUPPORTED_COMPRESSION_TYPE; TELEMETRY_TOO_LARGE; INVALID_RECORD: it cannot be read.
  protocol::ErrorCode push(const Push& push, const TelemetryClient& client, uint64_t connection,
                           const Image& image, Instant now);

  void connection_closed(uint64_t connection);

  /// What all clients' metrics are, of those that are not forgotten. A copy.
  std::vector<ClientSample> samples(Instant now);
  std::size_t clients(Instant now);
  int32_t push_bytes_max() const { return push_bytes_max_; }

 private:
  struct Series {
    bool counter = false;
    double value = 0;
  };
  using SeriesKey = std::pair<std::string, std::map<std::string, std::string>>;

  struct Client {
    Uuid instance;
    TelemetryClient who;
    uint64_t connection = 0;
    uint64_t version = 0;  ///< of subscriptions_ when it was told
    TelemetryWish wish;
    int32_t subscription_id = 0;
    std::optional<Instant> asked;
    std::optional<Instant> pushed;
    Instant heard;
    bool terminating = false;
    protocol::ErrorCode last_error = protocol::ErrorCode::none;
    std::map<SeriesKey, Series> series;
  };
  using Clients = std::list<Client>;  // the one that was heard last first

  void look_at(const Image& image);
  Client& client_of(const Uuid& instance, const TelemetryClient& who, uint64_t connection, Instant now);
  void tell(Client& client) const;
  static protocol::ErrorCode admit(Client& client, const Push& push, int32_t bytes_max, Instant now);
  protocol::ErrorCode read(const Push& push, std::vector<PushedPoint>& points) const;
  void keep(Client& client, PushedPoint point);
  void forget(Clients::iterator client);
  void forget_silent(Instant now);

  const int32_t push_bytes_max_;
  std::mutex mutex_;
  std::weak_ptr<const metadata::MetadataImage> seen_;  // that subscriptions_ were made of
  std::vector<metadata::ConfigImage> configs_;         // of which they were made
  std::optional<TelemetrySubscriptions> subscriptions_;
  uint64_t version_ = 0;
  Clients clients_;
  std::unordered_map<Uuid, Clients::iterator> by_instance_;
  std::unordered_map<uint64_t, Uuid> by_connection_;
  std::size_t series_ = 0;
  Instant next_sweep_{};
};

}  // namespace barnabas::broker
