#include "app/broker_process.h"

#include <signal.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <functional>
#include <mutex>
#include <thread>

#include "app/cleaner_settings.h"
#include "app/connection_limits.h"
#include "app/directories.h"
#include "app/dynamic_settings.h"
#include "app/exposure.h"
#include "app/group_settings_check.h"
#include "app/listeners.h"
#include "app/refused_settings.h"
#include "app/sasl_settings.h"
#include "app/tls_listeners.h"
#include "app/token_key_refresher.h"
#include "base/log.h"
#include "broker/authentication.h"
#include "broker/coordinators/group_coordinator.h"
#include "broker/coordinators/transaction_coordinator.h"
#include "broker/directory_assignments.h"
#include "broker/dispatcher.h"
#include "broker/producer_ids.h"
#include "broker/quotas/quotas.h"
#include "broker/replica_manager.h"
#include "broker/replica_mover.h"
#include "broker/services.h"
#include "cluster/broker_lifecycle.h"
#include "cluster/local_gateway.h"
#include "io/posix_disk.h"
#include "network/server.h"
#include "security/authorizer.h"
#include "storage/log_cleaner.h"
#include "storage/log_directories.h"
#include "storage/log_manager.h"
#include "storage/partition_directory.h"

namespace barnabas::app {
namespace {

constinit Logger log_{"barnabas"};

/// Calls something on a thread of its own, each time at the moment that the call before returned.
class Ticker {
 public:
  using Tick = std::function<Instant()>;
  explicit Ticker(Tick tick) : tick_(std::move(tick)), thread_([this] { run(); }) {}
  ~Ticker() {
    {
      const std::scoped_lock lock(mutex_);
      stopping_ = true;
    }
    wake_.notify_all();
    thread_.join();
  }

 private:
  void run() {
    std::unique_lock lock(mutex_);
    while (!stopping_) {
      lock.unlock();
      const Instant next = tick_();
      lock.lock();
      wake_.wait_until(lock, next, [this] { return stopping_; });
    }
  }

  const Tick tick_;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool stopping_ = false;
  std::thread thread_;
};

/// Descriptors that logs may hold; the rest is for connections. Raises the soft limit to the hard one first.
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

/// Gives a server its limits on connections, for as long as it is there.
class ConnectionLimiter {
 public:
  explicit ConnectionLimiter(network::Server& server) : server_(&server) {}

  /// The number of the change, for what will be known of it later.
  uint64_t change(network::ConnectionLimits limits) {
    const std::scoped_lock lock(mutex_);
    if (server_ != nullptr) server_->set_connection_limits(std::move(limits));
    return ++changes_;
  }
  /// Unless there was another change.
  void refine(uint64_t change, network::ConnectionLimits limits) {
    const std::scoped_lock lock(mutex_);
    if (server_ != nullptr && change == changes_) server_->set_connection_limits(std::move(limits));
  }
  void let_go() {
    const std::scoped_lock lock(mutex_);
    server_ = nullptr;
  }

 private:
  std::mutex mutex_;
  network::Server* server_;
  uint64_t changes_ = 0;
};

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

/// Connections that may wait to be accepted; the system has a limit of its own (net.core.somaxconn).
constexpr int listen_backlog = 4096;

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

}  // namespace

/// In the order in which they are made; destroyed in the reverse.
struct BrokerProcess::Parts {
  explicit Parts(metadata::StaticConfig settings) : config(std::move(settings)), node(node_of(config)) {}
  ~Parts() {
    if (connection_limiter) connection_limiter->let_go();
    // Before the loops that the requests belong to which wait there.
    stop_coordinators();
  }

  /// Transactions first, which ask groups.
  void stop_coordinators() {
    if (transactions) transactions->stop();
    if (groups) groups->stop();
  }
  Result<void> open_all();
  Result<void> read_sasl_settings();
  Result<void> find_metadata();
  Result<void> open_storage();
  Result<void> open_metadata();
  Result<void> open_server();
  Result<void> open_tls(const metadata::BrokerConfigView& settings);
  Result<void> join_cluster();
  void follow_settings();
  void start_tickers();
  void watch_files();
  /// After a start that failed: leaves the directories as clean as they were found.
  void abandon();
  storage::LogManagerOptions log_manager_options();
  broker::ReplicaMover::Options mover_options() const;
  void directory_failed(const storage::LogDirectory& directory,
                        const std::vector<storage::TopicPartition>& lost);

  const metadata::StaticConfig config;
  const NodeId node;
  Listeners listeners;
  io::PosixDisk disk;
  std::vector<std::string> paths;
  std::string metadata_directory;
  Uuid metadata_directory_id;
  bool metadata_clean = false;
  bool loaded = false;                    ///< all logs are open
  std::atomic<bool> out_of_disks{false};  ///< no log directory is left
  std::atomic<bool> verify_transactions{true};
  TokenKeyEndpoints token_keys;
  SaslListeners sasl;
  std::optional<broker::Authentication> authentication;
  std::optional<storage::FilePool> files;
  std::optional<io::DiskPool> disk_pool;
  std::optional<storage::LogManager> logs;
  metadata::ImagePublisher publisher;
  std::optional<broker::PartitionServices> partition_services;
  std::optional<broker::ReplicaManager> replicas;
  std::optional<security::Authorizer> authorizer;  ///< none: everybody may everything
  std::optional<DynamicSettings> dynamic_settings;
  std::unique_ptr<cluster::LocalGateway> gateway;
  std::optional<broker::DirectoryAssignments> assignments;
  std::optional<broker::ReplicaMover> mover;
  std::optional<broker::FetchSessionCache> fetch_sessions;
  std::optional<broker::Quotas> quotas;
  std::optional<broker::ProducerIds> producer_ids;
  std::optional<broker::GroupCoordinator> groups;
  std::optional<broker::TransactionCoordinator> transactions;
  std::optional<broker::Services> services;
  std::optional<broker::Dispatcher> dispatcher;
  std::optional<network::EventLoops> loops;
  std::optional<network::Server> server;
  std::shared_ptr<ConnectionLimiter> connection_limiter;
  std::shared_ptr<TlsListeners> tls_listeners;
  std::optional<cluster::BrokerLifecycle> lifecycle;
  std::optional<storage::LogCleaner>
      cleaner;  ///< made with the logs; ends before those whose offsets it asks for
  std::optional<Ticker> storage_ticker;
  std::optional<Ticker> deadline_ticker;
  std::optional<Ticker> token_ticker;
  std::optional<Ticker> file_ticker;
};

broker::ReplicaMover::Options BrokerProcess::Parts::mover_options() const {
  broker::ReplicaMover::Options options;
  options.threads =
      config.given("num.replica.alter.log.dirs.threads") != nullptr
          ? static_cast<unsigned>(std::max<int64_t>(config.integer("num.replica.alter.log.dirs.threads"), 1))
          : static_cast<unsigned>(paths.size());
  options.bytes_per_second = config.integer("replica.alter.log.dirs.io.max.bytes.per.second");
  return options;
}

storage::LogManagerOptions BrokerProcess::Parts::log_manager_options() {
  storage::LogManagerOptions options;
  options.on_offline = [this](const storage::LogDirectory& directory,
                              const std::vector<storage::TopicPartition>& lost) {
    directory_failed(directory, lost);
  };
  options.load_threads = std::max(1U, std::thread::hardware_concurrency());
  if (config.given("num.recovery.threads.per.data.dir") != nullptr)
    options.load_threads = static_cast<unsigned>(config.integer("num.recovery.threads.per.data.dir")) *
                           static_cast<unsigned>(paths.size());
  options.retention_interval = interval(config, "log.retention.check.interval.ms");
  options.checkpoint_interval = interval(config, "log.flush.offset.checkpoint.interval.ms");
  options.start_checkpoint_interval = interval(config, "log.flush.start.offset.checkpoint.interval.ms");
  options.high_watermark_interval = interval(config, "replica.high.watermark.checkpoint.interval.ms");
  options.flush_interval = interval(config, "log.flush.scheduler.interval.ms");
  options.producer_expiry_interval = interval(config, "producer.id.expiration.check.interval.ms");
  return options;
}

void BrokerProcess::Parts::directory_failed(const storage::LogDirectory& directory,
                                            const std::vector<storage::TopicPartition>& lost) {
  log_.error("log directory offline path={} partitions={} reason={}", directory.path, lost.size(),
             directory.failure ? directory.failure->message : "");
  if (replicas) replicas->lose(lost);
  if (loaded && logs->usable_directories().empty() && !out_of_disks.exchange(true)) {
    log_.error("stopping: every log directory is offline");
    (void)kill(getpid(), SIGTERM);
  }
}

Result<void> BrokerProcess::Parts::open_all() {
  BARNABAS_TRY(refuse_broken_promises(config, node));
  BARNABAS_TRY(check_group_settings(config));
  BARNABAS_ASSIGN(listeners, parse_listeners(config));
  BARNABAS_TRY(read_sasl_settings());
  BARNABAS_TRY(open_storage());
  BARNABAS_TRY(open_metadata());
  BARNABAS_TRY(open_server());
  return join_cluster();
}

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

/// Changing log.dirs must not make the broker forget its topics: metadata lie in the first one unless told.
/// Nor may a metadata log that was lost: every partition would be a stranger and be set aside.
Result<void> BrokerProcess::Parts::find_metadata() {
  const std::string name = "/" + std::string(storage::metadata_directory_name);
  const auto has_metadata = [&](const std::string& path) { return disk.exists(path + name); };
  BARNABAS_ASSIGN(const bool in_its_place, has_metadata(metadata_directory));
  if (in_its_place) return {};
  for (const std::string& path : paths)
    if (has_metadata(path).value_or(false))
      return fail(ErrorKind::invalid, metadata_directory + " holds no metadata log, but " + path +
                                          " does; set metadata.log.dir=" + path + ", or move " + path + name +
                                          " there");
  for (const std::string& path : paths) {
    const auto entries = disk.list(path);
    if (!entries) continue;
    for (const io::DirectoryEntry& entry : *entries)
      if (storage::parse_directory_name(entry.name).kind == storage::DirectoryKind::partition)
        return fail(ErrorKind::not_found,
                    metadata_directory + name + ": not there, but the partition " + path + "/" + entry.name +
                        " is. Without the metadata log nobody knows its topic: put the log back, or "
                        "set metadata.log.dir to where it is");
  }
  return {};
}

Result<void> BrokerProcess::Parts::open_storage() {
  paths = log_paths(config);
  metadata_directory = metadata_path(config, paths);
  BARNABAS_TRY(find_metadata());
  storage::LogDirectoriesOptions options;
  options.paths = paths;
  options.paths.push_back(metadata_directory);
  options.node_id = node;
  options.format = true;
  BARNABAS_ASSIGN(auto directories, storage::open_log_directories(disk, options));
  for (storage::LogDirectory& directory : directories.directories)
    if (directory.path == metadata_directory) {
      metadata_directory_id = directory.directory_id;
      metadata_clean = directory.clean;
      directory.metadata_only = std::ranges::find(paths, metadata_directory) == paths.end();
    }
  files.emplace(disk, open_files_budget(config));
  disk_pool.emplace(io::DiskPool::Options{
      .name = "disk", .threads = static_cast<std::size_t>(config.integer("disk.threads"))});
  logs.emplace(disk, *files, std::move(directories), log_manager_options());
  BARNABAS_ASSIGN(const storage::LoadSummary summary, logs->load(wall_clock_now()));
  loaded = true;
  if (summary.recovered > 0)
    log_.info("recovered after an unclean stop logs={} of={}", summary.recovered, summary.logs);
  return {};
}

Result<void> BrokerProcess::Parts::open_metadata() {
  cluster::LocalGatewayOptions options;
  options.quorum.log_directory = metadata_directory;
  options.quorum.cluster_id = logs->cluster_id();
  options.quorum.node_id = node;
  options.quorum.directory_id = metadata_directory_id;
  options.quorum.clean = metadata_clean;
  if (const auto& at = listeners.controller)
    options.quorum.controller_endpoint = {at->listener, at->host, at->port, at->security_protocol};
  options.quorum.log = metadata_log_settings(config);
  options.snapshot_interval = interval(config, "metadata.log.max.snapshot.interval.ms");
  options.static_config = &config;
  options.on_failure = [](const Error& error) {
    log_.error("metadata log failed, stopping: {}", error.message);
    (void)kill(getpid(), SIGTERM);
  };
  options.on_notice = [](const std::string& line) { log_.info("{}", line); };
  BARNABAS_ASSIGN(gateway, cluster::LocalGateway::start(disk, *files, publisher, std::move(options)));

  partition_services.emplace(
      *disk_pool,
      [this](const storage::TopicPartition& name, const Error& error) { logs->report(name, error); },
      config.boolean("log.flush.before.ack"));
  BARNABAS_TRY(logs->resolve_doubles([this](const storage::TopicPartition& name) -> storage::Assignment {
    const auto image = publisher.current();
    const auto* topic = image->topic(name.topic);
    const auto* partition = topic != nullptr ? topic->partition(name.partition) : nullptr;
    if (partition == nullptr) return {};
    return {topic->id, partition->directory_of(node)};
  }));
  assignments.emplace(
      node,
      [this](auto request, auto done) {
        gateway->assign_replicas_to_dirs(std::move(request), std::move(done));
      },
      publisher);
  mover.emplace(*logs, *assignments, mover_options());
  replicas.emplace(node, *logs, config, *partition_services);
  replicas->connect(*mover, *assignments);
  publisher.subscribe([this](const metadata::MetadataChanges& changes,
                             const metadata::MetadataImagePtr& image) { replicas->apply(changes, image); });
  logs->set_high_watermark_source(
      [this](const storage::TopicPartition& name) { return replicas->high_watermark(name); });
  cleaner.emplace(*logs, cleaner_settings({*publisher.current(), node, config}));
  publisher.subscribe(
      [this](const metadata::MetadataChanges& changes, const metadata::MetadataImagePtr& image) {
        if (!changes.changed_configs.empty()) cleaner->reconfigure(cleaner_settings({*image, node, config}));
      });
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
  server.emplace(*loops, *disk_pool, *dispatcher, server_limits(config));
  BARNABAS_TRY(server->bind(listeners.bind));
  if (const auto warning = exposure_warning(listeners.bind, config)) log_.warn("{}", *warning);
  take_bound_ports(services->listeners, server->bound());
  follow_settings();
  return {};
}

Result<void> BrokerProcess::Parts::open_tls(const metadata::BrokerConfigView& settings) {
  BARNABAS_ASSIGN(tls_listeners, TlsListeners::open(settings, listeners.bind));
  if (tls_listeners->empty()) return {};
  services->listener_stores = tls_listeners.get();
  for (network::ListenerConfig& listener : listeners.bind)
    listener.tls = tls_listeners->source(listener.name);
  publisher.subscribe([this](const metadata::MetadataChanges& changes,
                             const metadata::MetadataImagePtr& image) {
    if (!metadata::concerns_broker(changes, node)) return;
    // Reading stores takes its time, which the disk pool's threads have.
    (void)disk_pool->submit([this, following = tls_listeners, image, change = tls_listeners->next_change()] {
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
        (void)disk_pool->submit([limiter = connection_limiter, change, limits, overrides]() mutable {
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
    return now + period;
  });
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

Result<std::unique_ptr<BrokerProcess>> BrokerProcess::start(metadata::StaticConfig config) {
  std::unique_ptr<BrokerProcess> process(new BrokerProcess);
  process->parts_ = std::make_unique<Parts>(std::move(config));
  Parts& parts = *process->parts_;
  const auto opened = parts.open_all();
  if (!opened) {
    parts.abandon();
    return std::unexpected(opened.error());
  }
  parts.loops->start();
  parts.server->start_accepting();
  parts.start_tickers();
  parts.watch_files();
  return process;
}

std::vector<std::string> BrokerProcess::addresses() const {
  std::vector<std::string> result;
  for (const network::BoundListener& listener : parts_->server->bound())
    result.push_back(listener.name + "://" + (listener.host.empty() ? "0.0.0.0" : listener.host) + ":" +
                     std::to_string(listener.port));
  return result;
}

std::vector<std::string> BrokerProcess::log_directories() const {
  return parts_->paths;
}
std::string BrokerProcess::cluster_id() const {
  return parts_->logs->cluster_id();
}

bool BrokerProcess::stop(std::chrono::milliseconds deadline) {
  Parts& parts = *parts_;
  bool clean = !parts.out_of_disks;
  const auto check = [&](std::string_view step, const Result<void>& result) {
    if (result) return;
    log_.error("stopping: {}: {}", step, result.error().message);
    clean = false;
  };
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
  parts.loops->stop();
  return clean;
}

void BrokerProcess::hurry() {
  parts_->server->stop_now();
}

}  // namespace barnabas::app
