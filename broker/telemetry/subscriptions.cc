#include "broker/telemetry/subscriptions.h"

#include <re2/re2.h>

#include <algorithm>
#include <memory>
#include <set>

#include "base/crc32c.h"
#include "metadata/config_definitions.h"
#include "metadata/resource_configs.h"

namespace barnabas::broker {
namespace {

constexpr int32_t default_interval_ms = 300'000;
constexpr std::string_view all_metrics = "*";

std::string_view value_of(const metadata::ConfigImage& config, std::string_view name) {
  const auto found = config.values.find(name);
  return found == config.values.end() ? std::string_view() : std::string_view(found->second);
}

std::string property_of(std::string_view name, const Uuid& instance, const TelemetryClient& client) {
  if (name == "client_instance_id") return instance.to_string();
  if (name == "client_id") return client.client_id;
  if (name == "client_software_name") return client.software_name;
  if (name == "client_software_version") return client.software_version;
  if (name == "client_source_address") return client.address;
  return std::to_string(client.port);
}

}  // namespace

struct TelemetrySubscriptions::Match {
  std::string property;
  std::unique_ptr<re2::RE2> pattern;  ///< null, or not ok: nobody matches
};

struct TelemetrySubscriptions::Subscription {
  std::vector<std::string> metrics;
  int32_t interval_ms = default_interval_ms;
  std::vector<Match> matches;

  explicit Subscription(const metadata::ConfigImage& config) {
    for (const std::string_view metric : metadata::split_list(value_of(config, "metrics")))
      metrics.emplace_back(metric);
    if (const auto interval = metadata::parse_integer(value_of(config, "interval.ms")))
      interval_ms = static_cast<int32_t>(*interval);
    re2::RE2::Options quiet;
    quiet.set_log_errors(false);
    for (const std::string_view item : metadata::split_list(value_of(config, "match"))) {
      const auto match = metadata::parse_client_match(item);
      // What cannot be set here may have been set elsewhere, and matches nobody.
      matches.push_back(match ? Match{std::string(match->property),
                                      std::make_unique<re2::RE2>(std::string(match->pattern), quiet)}
                              : Match{});
    }
  }

  bool match(const Uuid& instance, const TelemetryClient& client) const {
    return std::ranges::all_of(matches, [&](const Match& match) {
      return match.pattern && match.pattern->ok() &&
             re2::RE2::FullMatch(property_of(match.property, instance, client), *match.pattern);
    });
  }
};

TelemetrySubscriptions::TelemetrySubscriptions(const metadata::MetadataImage& image) {
  for (const auto& config : image.configs)
    if (config->resource.type == metadata::ConfigResourceType::client_metrics)
      subscriptions_.emplace_back(*config);
}

TelemetrySubscriptions::TelemetrySubscriptions(TelemetrySubscriptions&&) noexcept = default;
TelemetrySubscriptions& TelemetrySubscriptions::operator=(TelemetrySubscriptions&&) noexcept = default;
TelemetrySubscriptions::~TelemetrySubscriptions() = default;

TelemetryWish TelemetrySubscriptions::of(const Uuid& instance, const TelemetryClient& client) const {
  TelemetryWish wish{{}, default_interval_ms};
  std::set<std::string> metrics;
  for (const Subscription& subscription : subscriptions_) {
    if (!subscription.match(instance, client)) continue;
    metrics.insert(subscription.metrics.begin(), subscription.metrics.end());
    wish.interval_ms = std::min(wish.interval_ms, subscription.interval_ms);
  }
  if (metrics.contains(std::string(all_metrics))) metrics = {std::string(all_metrics)};
  wish.metrics.assign(metrics.begin(), metrics.end());
  return wish;
}

int32_t subscription_id(const TelemetryWish& wish, const Uuid& instance) {
  std::string text;
  for (const std::string& metric : wish.metrics) text += metric + ",";
  text += std::to_string(wish.interval_ms);
  const uint32_t of_wish = crc32c(as_byte_view(text));
  const uint32_t of_instance = crc32c(ByteView(instance.bytes));
  return static_cast<int32_t>(of_wish ^ of_instance);
}

}  // namespace barnabas::broker
