#include "app/room_settings.h"

#include <sys/resource.h>

#include <algorithm>

namespace barnabas::app {

namespace {

/// Connections that may wait to be accepted; the system has a limit of its own (net.core.somaxconn).
constexpr int listen_backlog = 4096;

}  // namespace

std::size_t open_files_budget(const metadata::StaticConfig& config) {
  constexpr std::size_t least = 64;
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return least;
  if (limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
    (void)getrlimit(RLIMIT_NOFILE, &limit);
  }
  if (const int64_t wanted = config.integer("log.open.files.max"); wanted > 0)
    return static_cast<std::size_t>(wanted);
  constexpr std::size_t enough = 100'000;
  return std::clamp<std::size_t>(static_cast<std::size_t>(limit.rlim_cur) / 4 * 3, least, enough);
}

std::chrono::milliseconds interval(const metadata::StaticConfig& config, std::string_view name) {
  // Never (2^63 - 1 ms) must stay a duration that can be added to a time.
  constexpr int64_t never = int64_t{1} << 40;
  return std::chrono::milliseconds(std::min(config.integer(name), never));
}

cluster::MetadataLogSettings metadata_log_settings(const metadata::StaticConfig& config) {
  cluster::MetadataLogSettings settings;
  settings.segment_bytes = static_cast<int32_t>(config.integer("metadata.log.segment.bytes"));
  settings.segment_ms = config.integer("metadata.log.segment.ms");
  settings.retention_bytes = config.integer("metadata.max.retention.bytes");
  settings.retention_ms = config.integer("metadata.max.retention.ms");
  settings.snapshot_bytes =
      static_cast<uint64_t>(config.integer("metadata.log.max.record.bytes.between.snapshots"));
  return settings;
}

RateSettings rate_settings(const metadata::StaticConfig& config, const std::string& prefix) {
  return {std::chrono::seconds(config.integer(prefix + ".size.seconds")),
          static_cast<int>(config.integer(prefix + ".num"))};
}

network::ServerLimits server_limits(const metadata::StaticConfig& config) {
  network::ServerLimits limits;
  limits.rate_settings = rate_settings(config, "quota.window");
  const auto count = [](int64_t value) {
    return static_cast<uint32_t>(std::clamp<int64_t>(value, 0, INT32_MAX));
  };
  limits.request_bytes_max = count(config.integer("socket.request.max.bytes"));
  limits.idle_max = interval(config, "connections.max.idle.ms");
  limits.send_buffer_bytes = static_cast<int>(config.integer("socket.send.buffer.bytes"));
  // Kafka's default of 100 KiB costs a wake-up for every 100 KiB; the system grows the buffer as it is
  // needed.
  limits.receive_buffer_bytes = config.given("socket.receive.buffer.bytes") == nullptr
                                    ? -1
                                    : static_cast<int>(config.integer("socket.receive.buffer.bytes"));
  // Kafka's default of 50 is full after a few milliseconds of a flood, and who comes then waits for a second
  // until he may try again.
  limits.backlog = config.given("socket.listen.backlog.size") == nullptr
                       ? listen_backlog
                       : static_cast<int>(config.integer("socket.listen.backlog.size"));
  if (const int64_t bytes = config.integer("queued.max.request.bytes"); bytes > 0)
    limits.total_bytes_in_flight_max = static_cast<uint64_t>(bytes);
  return limits;
}

std::vector<metadata::BrokerEndpoint> endpoints_of(const std::vector<broker::AdvertisedListener>& listeners) {
  std::vector<metadata::BrokerEndpoint> endpoints;
  for (const auto& listener : listeners)
    endpoints.push_back({listener.listener, listener.host, listener.port, listener.security_protocol});
  return endpoints;
}

}  // namespace barnabas::app
