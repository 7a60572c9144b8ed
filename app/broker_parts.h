#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "app/broker_process.h"
#include "app/connection_limiter.h"
#include "app/directories.h"
#include "app/dynamic_settings.h"
#include "app/heartbeat.h"
#include "app/listeners.h"
#include "app/monitoring/http_endpoints.h"
#include "app/monitoring/request_metrics.h"
#include "app/retried_work.h"
#include "app/sasl_settings.h"
#include "app/ticker.h"
#include "app/tls_listeners.h"
#include "app/token_key_refresher.h"
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
#include "broker/telemetry/client_telemetry.h"
#include "cluster/broker_lifecycle.h"
#include "cluster/local_gateway.h"
#include "io/posix_disk.h"
#include "network/server.h"
#include "security/authorizer.h"
#include "storage/log_cleaner.h"
#include "storage/log_manager.h"

namespace barnabas::app {

/// All rooms of a broker, wired together: in the order in which they are made; destroyed in the reverse.
/// broker_storage.cc opens what is on disk, broker_server.cc what clients talk to, broker_process.cc starts
/// and stops the whole.
struct BrokerProcess::Parts {
  explicit Parts(metadata::StaticConfig settings) : config(std::move(settings)), node(node_of(config)) {}
  ~Parts() {
    http.stop();
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
  MetricsSources metrics_sources();
  void watch_files();
  /// After a start that failed: leaves the directories as clean as they were found.
  void abandon();
  storage::LogManagerOptions log_manager_options();
  broker::ReplicaMover::Options mover_options() const;
  void directory_failed(const storage::LogDirectory& directory,
                        const std::vector<storage::TopicPartition>& lost);

  metadata::StaticConfig config;  ///< only reload() changes it
  const NodeId node;
  HttpEndpoints http;  ///< stopped before all that it tells of
  Listeners listeners;
  io::PosixDisk disk;
  std::vector<std::string> paths;
  std::string metadata_directory;
  std::string new_cluster_id;
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
  std::optional<RetriedWork> background;  ///< on the disk pool
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
  std::optional<broker::ClientTelemetry> telemetry;
  std::optional<broker::ProducerIds> producer_ids;
  std::optional<broker::GroupCoordinator> groups;
  std::optional<broker::TransactionCoordinator> transactions;
  std::optional<RequestMetrics> request_metrics;
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
  std::optional<Heartbeat> heartbeat;
};

}  // namespace barnabas::app
