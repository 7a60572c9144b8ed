#include "app/monitoring/metrics_collector.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <utility>

#include "app/monitoring/group_metrics.h"
#include "app/monitoring/topic_metrics.h"
#include "app/version.h"
#include "metrics/process.h"
#include "protocol/api.h"

namespace barnabas::app {
namespace {

constexpr std::chrono::seconds sample_period{5};
constexpr std::size_t samples_max = 13;  ///< a minute's worth
constexpr std::size_t minutes_max = 6;   ///< so the oldest one is at least five minutes old
/// How long groups are waited for; a page without some of them is better than none.
constexpr std::chrono::seconds groups_deadline{3};
/// What one shard is asked for at most, whatever metrics.partitions.max says: sums need more than that shows.
constexpr std::size_t shard_partitions_max = 10'000;

}  // namespace

/// The shards of groups that are asked for one page. Parts come from their threads.
struct MetricsCollector::Groups {
  std::mutex mutex;
  std::vector<ShardProgress> shards;
  std::size_t missing = 1;  ///< one for the one who asks
  std::size_t refused = 0;
  bool finished = false;

  /// Whether it was the last one.
  bool one_less() { return --missing == 0 && !finished; }
};

MetricsCollector::MetricsCollector(const MetricsSources& sources, http::Server& server)
    : sources_(sources), server_(server) {
  server_.post([this] { sample(); });
}

void MetricsCollector::collect(Done done) {
  waiting_.push_back(std::move(done));
  if (asked_ == nullptr) ask_groups();
}

void MetricsCollector::ask_groups() {
  const auto asked = asked_ = std::make_shared<Groups>();
  const auto part_came = [this, asked](auto take) {
    const std::scoped_lock lock(asked->mutex);
    take(*asked);
    if (asked->one_less()) server_.post([this, asked] { finish(asked); });
  };
  const std::vector<PartitionIndex> partitions = sources_.groups.led();
  asked->missing += partitions.size();
  const std::size_t wanted = std::max(
      shard_partitions_max, static_cast<std::size_t>(sources_.config.integer("metrics.partitions.max")));
  for (const PartitionIndex partition : partitions) {
    sources_.groups.schedule(
        partition,
        [part_came, wanted](coordinator::GroupShard& shard, const coordinator::Now&) {
          part_came([&](Groups& into) { into.shards.push_back(progress_of(shard, wanted)); });
          return coordinator::Decision{};
        },
        [part_came](protocol::ErrorCode) { part_came([](Groups& into) { ++into.refused; }); });
  }
  part_came([](Groups&) {});
  server_.after(groups_deadline, [this, asked] { finish(asked); });
}

void MetricsCollector::finish(const std::shared_ptr<Groups>& groups) {
  std::vector<ShardProgress> shards;
  std::size_t unknown = 0;
  {
    const std::scoped_lock lock(groups->mutex);
    if (std::exchange(groups->finished, true)) return;
    shards = std::move(groups->shards);
    unknown = groups->missing + groups->refused;
  }
  asked_ = nullptr;
  const auto waiting = std::exchange(waiting_, {});
  metrics::Page page;
  const metadata::MetadataImagePtr image = sources_.metadata.current();
  add_topics(page, sources_, *image);
  add_groups(page, sources_, *image, shards);
  page.add("barnabas_metrics_groups_unknown_shards", static_cast<double>(unknown));
  add_requests(page);
  add_telemetry(page);
  add_rates(page);
  add_broker(page, *image);
  metrics::add_process(page);
  const auto text = std::make_shared<const std::string>(page.text());
  for (const Done& done : waiting) done(text);
}

MetricsCollector::Sample MetricsCollector::sample_now() const {
  return {std::chrono::steady_clock::now(), metrics::processor_time_of_threads("net-"),
          sources_.gateway.commit_times(), sources_.metadata.current()->position.offset.value() + 1};
}

void MetricsCollector::sample() {
  samples_.push_back(sample_now());
  if (samples_.size() > samples_max) samples_.pop_front();
  if (samples_.back().at - minute_at_ >= std::chrono::minutes(1)) {
    minute_at_ = samples_.back().at;
    minutes_.push_back(sources_.requests.snapshot());
    if (minutes_.size() > minutes_max) minutes_.pop_front();
  }
  server_.after(sample_period, [this] { sample(); });
}

void MetricsCollector::add_rates(metrics::Page& page) const {
  const Sample now = sample_now();
  const Sample& before = samples_.empty() ? now : samples_.front();
  const double seconds = std::chrono::duration<double>(now.at - before.at).count();
  const auto share = [](double of, double all) { return all > 0 ? of / all : 0; };
  const double busy = share(std::chrono::duration<double>(now.loops_busy - before.loops_busy).count(),
                            seconds * static_cast<double>(sources_.loops.size()));
  const double idle = std::clamp(1.0 - busy, 0.0, 1.0);
  page.add("kafka_network_socketserver_networkprocessoravgidle_percent", idle);
  page.add("kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", idle);
  const double commit_ms =
      std::chrono::duration<double, std::milli>(now.commits.total - before.commits.total).count();
  page.add("kafka_server_raftmetrics_commit_latency_avg",
           share(commit_ms, static_cast<double>(now.commits.count - before.commits.count)));
  page.add("kafka_server_raftmetrics_append_records_rate",
           share(static_cast<double>(now.metadata_end - before.metadata_end), seconds));
  page.add("kafka_server_raftmetrics_fetch_records_rate", 0);
}

void MetricsCollector::add_requests(metrics::Page& page) const {
  const std::vector<RequestMetrics::OfApi>* before = minutes_.empty() ? nullptr : &minutes_.front();
  for (const RequestMetrics::OfApi& requests : sources_.requests.snapshot()) {
    const auto key = protocol::api_key(requests.api);
    if (!key) continue;
    const std::string_view api = protocol::name(*key);
    metrics::LatencySnapshot lately = requests.total;
    if (before != nullptr)
      if (const auto at = std::ranges::find(*before, requests.api, &RequestMetrics::OfApi::api);
          at != before->end())
        lately = requests.total.since(at->total);
    page.add_milliseconds("kafka_network_requestmetrics_totaltimems", {api}, requests.total, lately);
    page.add("barnabas_request_seconds", {api}, requests.total);
    for (std::size_t i = 0; i < request_stages; ++i)
      page.add("barnabas_request_stage_seconds", {api, to_string(static_cast<RequestStage>(i))},
               requests.stages[i]);
    if (requests.throttle.count() > 0)
      page.add("barnabas_request_throttle_seconds", {api}, requests.throttle);
  }
}

void MetricsCollector::add_telemetry(metrics::Page& page) const {
  const Instant now = std::chrono::steady_clock::now();
  page.add("barnabas_client_telemetry_clients", static_cast<double>(sources_.telemetry.clients(now)));
  for (const broker::ClientSample& sample : sources_.telemetry.samples(now))
    page.add(sample.counter ? "barnabas_client_telemetry_total" : "barnabas_client_telemetry",
             {sample.name, sample.client_id, sample.instance.to_string()}, sample.attributes, sample.value);
}

void MetricsCollector::add_broker(metrics::Page& page, const metadata::MetadataImage& image) const {
  std::size_t fenced = 0;
  for (const auto& [id, broker] : image.brokers) {
    fenced += broker->fenced;
    const std::string address =
        broker->endpoints.empty()
            ? ""
            : broker->endpoints.front().host + ":" + std::to_string(broker->endpoints.front().port);
    page.add("kafka_broker_info", {std::to_string(id.value()), address}, 1);
  }
  const auto number = [](auto value) { return static_cast<double>(value); };
  page.add("kafka_brokers", number(image.brokers.size() - fenced));
  page.add("kafka_controller_kafkacontroller_activebrokercount", number(image.brokers.size() - fenced));
  page.add("kafka_controller_kafkacontroller_fencedbrokercount", number(fenced));
  page.add("kafka_controller_kafkacontroller_activecontrollercount", image.controller == sources_.node);
  page.add("kafka_controller_controllerstats_uncleanleaderelections_total", 0);
  page.add("kafka_log_logmanager_offlinelogdirectorycount",
           number(sources_.log_directories - sources_.logs.usable_directories().size()));
  for (const auto& [listener, count] : sources_.server.connections_by_listener())
    page.add("kafka_server_socket_server_metrics_connection_count", {listener}, number(count));
  // A quorum of one, which leads it and has voted for itself.
  page.add("kafka_server_raftmetrics_current_state", {"leader"}, 1);
  page.add("kafka_server_raftmetrics_current_leader", number(image.controller.value()));
  page.add("kafka_server_raftmetrics_current_vote", number(image.controller.value()));
  page.add("kafka_server_raftmetrics_current_epoch", number(image.position.epoch.value()));
  page.add("kafka_server_raftmetrics_high_watermark", number(image.position.offset.value() + 1));
  page.add("kafka_server_raftmetrics_log_end_offset", number(image.position.offset.value() + 1));
  page.add("barnabas_build_info", {version, kafka_version}, 1);
}

}  // namespace barnabas::app
