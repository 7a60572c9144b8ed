#include "app/broker_process.h"

#include <algorithm>

#include "app/broker_parts.h"
#include "app/group_settings_check.h"
#include "app/refused_settings.h"
#include "app/reload.h"
#include "app/room_settings.h"
#include "base/log.h"

namespace barnabas::app {
namespace {

constinit Logger log_{"barnabas"};

}  // namespace

Result<void> BrokerProcess::Parts::open_all() {
  BARNABAS_TRY(refuse_broken_promises(config, node));
  BARNABAS_TRY(check_group_settings(config));
  BARNABAS_ASSIGN(listeners, parse_listeners(config));
  BARNABAS_TRY(read_sasl_settings());
  BARNABAS_TRY(http.open(config));
  BARNABAS_TRY(open_storage());
  BARNABAS_TRY(open_metadata());
  BARNABAS_TRY(open_server());
  return join_cluster();
}

Result<void> BrokerProcess::Parts::join_cluster() {
  cluster::BrokerIdentity identity;
  identity.node_id = node;
  identity.cluster_id = logs->cluster_id();
  identity.endpoints = endpoints_of(services->listeners);
  if (const std::string rack = config.text("broker.rack"); !rack.empty()) identity.rack = rack;
  identity.log_dirs = logs->usable_directories();
  identity.previous_epoch = logs->previous_broker_epoch();
  lifecycle.emplace(*gateway, publisher, std::move(identity));
  BARNABAS_TRY(lifecycle->register_broker());
  assignments->begin();
  BARNABAS_TRY(lifecycle->unfence());
  groups->begin();
  transactions->begin();
  return {};
}

void BrokerProcess::Parts::start_tickers() {
  cleaner->start();
  storage_ticker.emplace([this] {
    const Instant next = logs->tick(std::chrono::steady_clock::now(), wall_clock_now());
    constexpr std::chrono::seconds retry_period{1};
    const Instant now = std::chrono::steady_clock::now();
    (void)replicas->retry_failed(now);
    return std::min(next, now + retry_period);
  });
  if (!config.text("delegation.token.secret.key").empty())
    token_ticker.emplace([this] {
      gateway->remove_expired_tokens();
      return std::chrono::steady_clock::now() + interval(config, "delegation.token.expiry.check.interval.ms");
    });
  // Apart from the other, which waits with everybody when a device hangs.
  deadline_ticker.emplace([this] {
    constexpr std::chrono::milliseconds period{250};
    const Instant now = std::chrono::steady_clock::now();
    partition_services->waiting.expire(now);
    gateway->expire(now);
    background->retry();
    return now + period;
  });
}

MetricsSources BrokerProcess::Parts::metrics_sources() {
  return {.node = node,
          .config = config,
          .metadata = publisher,
          .replicas = *replicas,
          .logs = *logs,
          .log_directories = paths.size(),
          .groups = *groups,
          .server = *server,
          .loops = *loops,
          .requests = *request_metrics,
          .gateway = *gateway,
          .telemetry = *telemetry,
          .out_of_disks = out_of_disks};
}

void BrokerProcess::Parts::watch_files() {
  if (tls_listeners->empty()) return;
  file_ticker.emplace([this] {
    constexpr std::chrono::seconds period{1};
    tls_listeners->look_at_files();
    return std::chrono::steady_clock::now() + period;
  });
}

void BrokerProcess::Parts::abandon() {
  if (mover) mover->stop();
  if (gateway) (void)gateway->close();
  if (loaded) (void)logs->shut_down(logs->previous_broker_epoch());
}

BrokerProcess::BrokerProcess() = default;
BrokerProcess::~BrokerProcess() = default;

Result<std::unique_ptr<BrokerProcess>> BrokerProcess::start(metadata::StaticConfig config,
                                                            std::string new_cluster_id) {
  std::unique_ptr<BrokerProcess> process(new BrokerProcess);
  process->parts_ = std::make_unique<Parts>(std::move(config));
  Parts& parts = *process->parts_;
  parts.new_cluster_id = std::move(new_cluster_id);
  const auto opened = parts.open_all();
  if (!opened) {
    parts.abandon();
    return std::unexpected(opened.error());
  }
  parts.http.tell();
  parts.loops->start();
  parts.server->start_accepting();
  parts.start_tickers();
  parts.watch_files();
  parts.http.serving(parts.metrics_sources(), *parts.loops);
  return process;
}

std::vector<std::string> BrokerProcess::addresses() const {
  std::vector<std::string> result;
  for (const network::BoundListener& listener : parts_->server->bound())
    result.push_back(listener.name + "://" + (listener.host.empty() ? "0.0.0.0" : listener.host) + ":" +
                     std::to_string(listener.port));
  return result;
}

std::optional<std::string> BrokerProcess::plaintext_address() const {
  constexpr auto plaintext = static_cast<int16_t>(security::SecurityProtocol::plaintext);
  for (const broker::AdvertisedListener& each : parts_->services->listeners) {
    if (each.security_protocol == plaintext) return http::Address{each.host, each.port}.to_string();
  }
  return std::nullopt;
}

std::vector<std::string> BrokerProcess::log_directories() const {
  return parts_->logs->usable_paths();
}
std::string BrokerProcess::cluster_id() const {
  return parts_->logs->cluster_id();
}

int32_t BrokerProcess::node_id() const {
  return parts_->node.value();
}

void BrokerProcess::watch(std::chrono::microseconds period, std::function<void()> beat) {
  parts_->heartbeat.emplace(*parts_->loops, period, std::move(beat));
}

void BrokerProcess::reload(const metadata::StaticConfig& wanted) {
  Parts& parts = *parts_;
  const Reload plan = plan_reload(parts.config, wanted, *parts.publisher.current(), parts.node);
  for (const std::string& sentence : plan.refused) log_.error("not taken over: {}", sentence);
  for (const std::string& name : plan.without_effect)
    log_.warn("changed, but has no effect in this version setting={}", name);
  for (const std::string& name : plan.restart)
    log_.warn("changed, in force from the next start on setting={}", name);
  parts.config.take_over(wanted, plan.now);
  metadata::MetadataChanges changes;
  changes.changed_configs = {{metadata::ConfigResourceType::broker, std::to_string(parts.node.value())}};
  if (!plan.now.empty()) parts.publisher.announce(changes);
  for (const std::string& name : plan.now) {
    const bool hidden = std::ranges::find(plan.hidden, name) != plan.hidden.end();
    log_.info("changed setting={}{}", name,
              hidden ? " (but what kafka-configs.sh set on the broker wins)" : "");
  }
  parts.tls_listeners->look_at_files();
  log_.info("settings were read again changed={} after_restart={} refused={}", plan.now.size(),
            plan.restart.size(), plan.refused.size());
}

bool BrokerProcess::stop(std::chrono::milliseconds deadline) {
  Parts& parts = *parts_;
  bool clean = !parts.out_of_disks;
  const auto check = [&](std::string_view step, const Result<void>& result) {
    if (result) return;
    log_.error("stopping: {}: {}", step, result.error().message);
    clean = false;
  };
  parts.http.stopping();
  parts.heartbeat.reset();
  parts.server->begin_stop();
  parts.stop_coordinators();
  if (!parts.server->wait_stopped(deadline))
    log_.warn("stopping: connections were closed with answers outstanding");
  parts.cleaner->stop();
  parts.file_ticker.reset();
  parts.storage_ticker.reset();
  parts.mover->stop();
  parts.deadline_ticker.reset();
  parts.token_ticker.reset();
  check("fencing", parts.lifecycle->shut_down());
  const BrokerEpoch epoch = parts.lifecycle->epoch();
  check("metadata log", parts.gateway->close());
  check("logs", parts.logs->shut_down(epoch));
  parts.disk_pool->shut_down();
  parts.http.stop();
  parts.loops->stop();
  return clean;
}

void BrokerProcess::hurry() {
  parts_->server->stop_now();
}

}  // namespace barnabas::app
