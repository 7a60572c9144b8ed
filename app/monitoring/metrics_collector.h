#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "app/monitoring/request_metrics.h"
#include "base/clock.h"
#include "base/types.h"
#include "broker/coordinators/group_coordinator.h"
#include "broker/replica_manager.h"
#include "broker/telemetry/client_telemetry.h"
#include "cluster/local_gateway.h"
#include "http/server.h"
#include "metadata/publisher.h"
#include "metadata/static_config.h"
#include "metrics/page.h"
#include "network/server.h"
#include "storage/log_manager.h"

namespace barnabas::app {

/// Where metrics come from. All of it may be asked from any thread.
struct MetricsSources {
  NodeId node;
  const metadata::StaticConfig& config;
  const metadata::ImagePublisher& metadata;
  const broker::ReplicaManager& replicas;
  const storage::LogManager& logs;
  std::size_t log_directories;  ///< of log.dirs
  broker::GroupCoordinator& groups;
  const network::Server& server;
  const network::EventLoops& loops;
  const RequestMetrics& requests;
  const cluster::LocalGateway& gateway;
  broker::ClientTelemetry& telemetry;
  const std::atomic<bool>& out_of_disks;
};

/// Makes the page of metrics. On the HTTP server's thread, where nobody else is held up; only the groups are
/// asked on their own threads.
class MetricsCollector {
 public:
  /// All must outlive the server's thread.
  MetricsCollector(const MetricsSources& sources, http::Server& server);

  using Done = std::function<void(std::shared_ptr<const std::string>)>;
  /// Those who ask while a page is being made get that one. On the server's thread, where `done` is called
  /// too.
  void collect(Done done);
  bool out_of_disks() const { return sources_.out_of_disks; }

 private:
  struct Groups;
  /// What rates are made of, at one moment.
  struct Sample {
    Instant at;
    std::chrono::nanoseconds loops_busy{0};
    cluster::LocalGateway::CommitTimes commits;
    int64_t metadata_end = 0;
  };

  void ask_groups();
  void finish(const std::shared_ptr<Groups>& groups);
  void sample();
  Sample sample_now() const;
  void add_rates(metrics::Page& page) const;
  void add_broker(metrics::Page& page, const metadata::MetadataImage& image) const;
  void add_requests(metrics::Page& page) const;
  void add_telemetry(metrics::Page& page) const;

  const MetricsSources sources_;
  http::Server& server_;
  std::deque<Sample> samples_;
  /// Totals as they were minute by minute, the oldest first.
  std::deque<std::vector<RequestMetrics::OfApi>> minutes_;
  Instant minute_at_{};
  std::vector<Done> waiting_;
  std::shared_ptr<Groups> asked_;  ///< while a page is being made
};

}  // namespace barnabas::app
