#include "broker/telemetry/client_telemetry.h"

#include <algorithm>
#include <utility>

#include "base/log.h"
#include "protocol/compression/decompressor.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using std::chrono::milliseconds;

constinit Logger log_{"broker"};

constexpr milliseconds shortest_memory{60'000};
constexpr milliseconds sweep_interval{1'000};
constexpr std::size_t points_of_push = 10'000;

/// Ids that no client may have: zero, and Kafka's id of the metadata topic.
bool is_reserved(const Uuid& id) {
  Uuid one;
  one.bytes.back() = std::byte{1};
  return id.is_zero() || id == one;
}

std::vector<metadata::ConfigImage> telemetry_configs(const metadata::MetadataImage& image) {
  std::vector<metadata::ConfigImage> found;
  for (const auto& config : image.configs)
    if (config->resource.type == metadata::ConfigResourceType::client_metrics) found.push_back(*config);
  return found;
}

bool same(const std::vector<metadata::ConfigImage>& a, const std::vector<metadata::ConfigImage>& b) {
  return std::ranges::equal(a, b, [](const auto& one, const auto& other) {
    return one.resource == other.resource && one.values == other.values;
  });
}

}  // namespace

/// Reads the subscriptions anew when the image has changed, and counts the version when they have.
void ClientTelemetry::look_at(const Image& image) {
  if (subscriptions_ && seen_.lock() == image) return;
  auto configs = telemetry_configs(*image);
  seen_ = image;
  if (subscriptions_ && same(configs, configs_)) return;
  configs_ = std::move(configs);
  subscriptions_.emplace(*image);
  ++version_;
}

void ClientTelemetry::tell(Client& client) const {
  client.version = version_;
  client.wish = subscriptions_->of(client.instance, client.who);
  client.subscription_id = subscription_id(client.wish, client.instance);
}

/// As in Kafka a client whose subscriptions have changed begins anew: it may ask and push at once.
ClientTelemetry::Client& ClientTelemetry::client_of(const Uuid& instance, const TelemetryClient& who,
                                                    uint64_t connection, Instant now) {
  const auto found = by_instance_.find(instance);
  if (found != by_instance_.end()) {
    Client& client = *found->second;
    clients_.splice(clients_.begin(), clients_, found->second);
    client.heard = now;
    if (client.connection != connection) {
      by_connection_.erase(client.connection);
      client.connection = connection;
      by_connection_[connection] = instance;
    }
    if (client.version < version_) {
      tell(client);
      client.asked.reset();
      client.pushed.reset();
      client.terminating = false;
      client.last_error = ErrorCode::none;
    }
    return client;
  }
  if (clients_.size() == clients_max) forget(std::prev(clients_.end()));
  // A connection speaks for one client: who takes another id leaves the first.
  if (const auto before = by_connection_.find(connection); before != by_connection_.end())
    forget(by_instance_.at(before->second));
  clients_.push_front({});
  Client& client = clients_.front();
  client.instance = instance;
  client.who = who;
  client.connection = connection;
  client.heard = now;
  tell(client);
  by_instance_[instance] = clients_.begin();
  by_connection_[connection] = instance;
  return client;
}

void ClientTelemetry::forget(Clients::iterator client) {
  series_ -= client->series.size();
  by_connection_.erase(client->connection);
  by_instance_.erase(client->instance);
  clients_.erase(client);
}

void ClientTelemetry::forget_silent(Instant now) {
  if (now < next_sweep_) return;
  next_sweep_ = now + sweep_interval;
  for (auto at = clients_.end(); at != clients_.begin();) {
    const auto client = std::prev(at);
    const auto silence = now - client->heard;
    if (silence < shortest_memory) return;  // and so are all before it
    const auto memory = std::max(shortest_memory, milliseconds(client->wish.interval_ms) * 3);
    if (silence >= memory)
      forget(client);
    else
      at = client;
  }
}

void ClientTelemetry::connection_closed(uint64_t connection) {
  const std::lock_guard lock(mutex_);
  const auto found = by_connection_.find(connection);
  if (found != by_connection_.end()) forget(by_instance_.at(found->second));
}

ClientTelemetry::Subscription ClientTelemetry::subscribe(const Uuid& instance, const TelemetryClient& who,
                                                         uint64_t connection, const Image& image,
                                                         Instant now) {
  const std::lock_guard lock(mutex_);
  look_at(image);
  forget_silent(now);
  Client& client = client_of(instance.is_zero() ? Uuid::random() : instance, who, connection, now);
  const milliseconds interval(client.wish.interval_ms);
  const auto last = std::max(client.asked, client.pushed);
  const bool may_correct = client.last_error == ErrorCode::unknown_subscription_id ||
                           client.last_error == ErrorCode::unsupported_compression_type;
  if (last && now - *last < interval && !may_correct)
    return {ErrorCode::throttling_quota_exceeded, {}, 0, {}};
  if (!last || now - *last >= interval) client.asked = now;
  client.last_error = ErrorCode::none;
  return {ErrorCode::none, client.instance, client.subscription_id, client.wish};
}

ErrorCode ClientTelemetry::admit(Client& client, const Push& push, int32_t bytes_max, Instant now) {
  if (client.terminating) return ErrorCode::invalid_request;
  // The first push after an answer may come at any time: clients spread them.
  const bool first = client.asked && (!client.pushed || *client.asked > *client.pushed);
  const bool due = first || !client.pushed || now - *client.pushed >= milliseconds(client.wish.interval_ms);
  if (due) client.pushed = now;
  if (!due && !push.terminating) return ErrorCode::throttling_quota_exceeded;
  if (push.subscription_id != client.subscription_id) return ErrorCode::unknown_subscription_id;
  if (!protocol::codec_from_id(push.compression)) return ErrorCode::unsupported_compression_type;
  if (push.metrics.size() > static_cast<std::size_t>(bytes_max)) return ErrorCode::telemetry_too_large;
  return ErrorCode::none;
}

ErrorCode ClientTelemetry::push(const Push& push, const TelemetryClient& who, uint64_t connection,
                                const Image& image, Instant now) {
  if (is_reserved(push.instance)) return ErrorCode::invalid_request;
  {
    const std::lock_guard lock(mutex_);
    look_at(image);
    forget_silent(now);
    Client& client = client_of(push.instance, who, connection, now);
    client.last_error = admit(client, push, push_bytes_max_, now);
    client.terminating = push.terminating;
    if (client.last_error != ErrorCode::none) return client.last_error;
  }
  if (push.metrics.empty()) return ErrorCode::none;
  // Reading may take a while, and others need not wait for it.
  std::vector<PushedPoint> points;
  const ErrorCode error = read(push, points);
  const std::lock_guard lock(mutex_);
  const auto found = by_instance_.find(push.instance);
  if (found == by_instance_.end()) return error;  // forgotten meanwhile
  found->second->last_error = error;
  for (PushedPoint& point : points) keep(*found->second, std::move(point));
  return error;
}

ErrorCode ClientTelemetry::read(const Push& push, std::vector<PushedPoint>& points) const {
  const auto content = protocol::decompress(*protocol::codec_from_id(push.compression), push.metrics,
                                            static_cast<std::size_t>(push_bytes_max_));
  if (!content)
    return content.error().kind == ErrorKind::too_large ? ErrorCode::telemetry_too_large
                                                        : ErrorCode::invalid_record;
  auto read = read_pushed_metrics(*content, points_of_push);
  if (!read) {
    log_.debug("telemetry refused instance={} reason={}", push.instance.to_string(),
               log_text(read.error().message));
    return ErrorCode::invalid_record;
  }
  points = std::move(*read);
  return ErrorCode::none;
}

void ClientTelemetry::keep(Client& client, PushedPoint point) {
  SeriesKey key(std::move(point.name), std::move(point.attributes));
  auto found = client.series.find(key);
  if (found == client.series.end()) {
    if (client.series.size() == series_of_client || series_ == series_max) return;
    Series series;
    series.counter = point.monotonic && point.kind != PushedPoint::Kind::gauge;
    found = client.series.emplace(std::move(key), std::move(series)).first;
    ++series_;
  }
  double& value = found->second.value;
  value = point.kind == PushedPoint::Kind::change ? value + point.value : point.value;
}

std::vector<ClientSample> ClientTelemetry::samples(Instant now) {
  const std::lock_guard lock(mutex_);
  forget_silent(now);
  std::vector<ClientSample> all;
  all.reserve(series_);
  for (const Client& client : clients_) {
    for (const auto& [key, series] : client.series)
      all.push_back(
          {key.first, series.counter, key.second, client.who.client_id, client.instance, series.value});
  }
  return all;
}

std::size_t ClientTelemetry::clients(Instant now) {
  const std::lock_guard lock(mutex_);
  forget_silent(now);
  return clients_.size();
}

}  // namespace barnabas::broker
