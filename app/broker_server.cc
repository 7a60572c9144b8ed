// What clients talk to: listeners, authentication, coordinators and the server, and settings that change.

#include <algorithm>
#include <cerrno>
#include <string_view>

#include "app/advertised_check.h"
#include "app/broker_parts.h"
#include "app/connection_limits.h"
#include "app/exposure.h"
#include "app/room_settings.h"
#include "base/log.h"

namespace barnabas::app {

namespace {

constinit Logger log_{"barnabas"};

/// What the operator can do about a listener that cannot be opened.
std::string_view remedy(const Error& error) {
  if (error.kind == ErrorKind::not_found)
    return "; expected in listeners: an address of this machine, or none (PLAINTEXT://:9092) for all of them";
  switch (error.system_error) {
    case EADDRINUSE:
      return "; another process has this port: stop it (`ss -ltnp` names it), or choose another one in "
             "listeners";
    case EADDRNOTAVAIL:
      return "; this machine has no such address: name one that it has in listeners, or none "
             "(PLAINTEXT://:9092) for all of them, and what clients are to use in advertised.listeners";
    case EACCES:
      return "; ports below 1024 are for root and for services with CAP_NET_BIND_SERVICE: choose another one "
             "in listeners";
    default:
      return "";
  }
}

}  // namespace

Result<void> BrokerProcess::Parts::read_sasl_settings() {
  BARNABAS_TRY(check_inter_broker_settings(config, listeners.bind));
  const security::SaslSources sources{
      .image = [this] { return publisher.current(); },
      .token_secret_key = config.text("delegation.token.secret.key"),
      .token_keys = [this](const security::TokenKeyEndpoint& endpoint) { return token_keys.open(endpoint); }};
  BARNABAS_ASSIGN(sasl, sasl_listeners(config, listeners.bind, sources));
  for (network::ListenerConfig& listener : listeners.bind)
    if (const auto at = sasl.find(listener.name); at != sasl.end())
      listener.authentication_bytes_max =
          static_cast<uint32_t>(std::min<std::size_t>(at->second.message_bytes_max, INT32_MAX));
  return {};
}

Result<void> BrokerProcess::Parts::open_server() {
  for (const std::string& name : listeners.controller_only)
    log_.info("listener {} is the controller's and not opened", name);
  fetch_sessions.emplace(
      static_cast<std::size_t>(config.integer("max.incremental.fetch.session.cache.slots")));
  quotas.emplace(rate_settings(config, "quota.window"), rate_settings(config, "controller.quota.window"));
  publisher.subscribe([this](const metadata::MetadataChanges& changes,
                             const metadata::MetadataImagePtr& image) { quotas->apply(changes, *image); });
  producer_ids.emplace(node, *gateway, publisher);
  groups.emplace(node, config, publisher, *gateway, *replicas);
  transactions.emplace(node, config, publisher, *gateway, *replicas, *groups, *producer_ids);
  if (!config.text("authorizer.class.name").empty()) {
    BARNABAS_ASSIGN(auto options, security::authorizer_options(config));
    authorizer.emplace(std::move(options));
    publisher.subscribe(
        [this](const metadata::MetadataChanges& changes, const metadata::MetadataImagePtr& image) {
          authorizer->apply(changes, *image);
        });
  }
  telemetry.emplace(static_cast<int32_t>(config.integer("telemetry.max.bytes")));
  services.emplace(broker::Services{
      .node = node,
      .cluster_id = logs->cluster_id(),
      .listeners = listeners.advertised,
      .config = config,
      .metadata = publisher,
      .controller = *gateway,
      .replicas = *replicas,
      .logs = *logs,
      .disk_pool = *disk_pool,
      .fetch_sessions = *fetch_sessions,
      .producer_ids = *producer_ids,
      .groups = *groups,
      .transactions = *transactions,
      .transaction_verifier = *transactions,
      .telemetry = *telemetry,
      .verify_transactions = verify_transactions,
      .authorizer = authorizer ? &*authorizer : nullptr,
      .quotas = &*quotas,
      .auto_create_topics = config.boolean("auto.create.topics.enable"),
      .delete_topics = config.boolean("delete.topic.enable"),
      .check_record_contents = config.boolean("log.validate.contents"),
      .fetch_bytes_max = static_cast<int32_t>(config.integer("fetch.max.bytes")),
  });
  if (!sasl.empty()) {
    broker::Authentication::Options options;
    options.listeners = std::move(sasl);
    options.failure_delay = interval(config, "connection.failed.authentication.delay.ms");
    authentication.emplace(std::move(options), *disk_pool);
    services->authentication = &*authentication;
  }
  const auto image = publisher.current();
  const metadata::BrokerConfigView settings(*image, node, config);
  BARNABAS_TRY(open_tls(settings));
  dispatcher.emplace(*services);
  const bool threads_given = settings.given("num.network.threads");
  loops.emplace(threads_given ? static_cast<std::size_t>(settings.integer("num.network.threads")) : 0);
  request_metrics.emplace(loops->size());
  server.emplace(*loops, *disk_pool, *dispatcher, server_limits(config), &*request_metrics);
  if (auto opened = server->bind(listeners.bind); !opened) {
    Error error = std::move(opened).error();
    error.message += remedy(error);
    return std::unexpected(std::move(error));
  }
  if (const auto warning = exposure_warning(listeners.bind, config)) log_.warn("{}", *warning);
  take_bound_ports(services->listeners, server->bound());
  // Looking up names takes its time, which the disk pool's threads have.
  background->submit("advertised addresses", [told = listeners] {
    for (const std::string& doubt : doubts_about_advertised(told, resolves_here)) log_.warn("{}", doubt);
  });
  follow_settings();
  return {};
}

Result<void> BrokerProcess::Parts::open_tls(const metadata::BrokerConfigView& settings) {
  BARNABAS_ASSIGN(tls_listeners, TlsListeners::open(settings, listeners.bind));
  if (tls_listeners->empty()) return {};
  services->listener_stores = tls_listeners.get();
  for (network::ListenerConfig& listener : listeners.bind)
    listener.tls = tls_listeners->source(listener.name);
  publisher.subscribe(
      [this](const metadata::MetadataChanges& changes, const metadata::MetadataImagePtr& image) {
        if (!metadata::concerns_broker(changes, node)) return;
        // Reading stores takes its time, which the disk pool's threads have.
        background->submit("stores of TLS listeners",
                           [this, following = tls_listeners, image, change = tls_listeners->next_change()] {
                             following->follow({*image, node, config}, change);
                           });
      });
  return {};
}

/// What can change at run time and is not a topic's: those follow in ReplicaManager.
void BrokerProcess::Parts::follow_settings() {
  connection_limiter = std::make_shared<ConnectionLimiter>(*server);
  dynamic_settings.emplace(publisher, node, config);
  dynamic_settings->follow(
      connection_limit_names(listeners.bind), [this](const metadata::BrokerConfigView& settings) {
        auto limits = connection_limits(settings, listeners.bind);
        const uint64_t change = connection_limiter->change(limits);
        std::string overrides = settings.text("max.connections.per.ip.overrides");
        if (!has_host_names(overrides)) return;
        // Looking up names takes its time, which the disk pool's threads have.
        background->submit("names of max.connections.per.ip.overrides",
                           [limiter = connection_limiter, change, limits, overrides]() mutable {
                             add_host_names(limits, overrides);
                             limiter->refine(change, std::move(limits));
                           });
      });
  dynamic_settings->follow(
      connection_rate_names(listeners.bind), [this](const metadata::BrokerConfigView& settings) {
        server->set_connection_rate_limits(connection_rate_limits(settings, listeners.bind));
      });
  publisher.subscribe(
      [this](const metadata::MetadataChanges& changes, const metadata::MetadataImagePtr& image) {
        apply_address_quotas(changes, *image, *server);
      });
  const std::string verify = "transaction.partition.verification.enable";
  dynamic_settings->follow({verify}, [this, verify](const metadata::BrokerConfigView& settings) {
    verify_transactions = settings.boolean(verify);
  });
}

}  // namespace barnabas::app
