#include "app/monitoring/topic_metrics.h"

#include <algorithm>
#include <array>
#include <string>

namespace barnabas::app {
namespace {

using metadata::ConfigResourceType;
using metadata::MetadataImage;
using metadata::PartitionImage;
using metadata::TopicImage;

struct TrafficName {
  broker::Traffic what;
  std::string_view name;
};
constexpr std::array traffic_names = {
    TrafficName{broker::Traffic::bytes_in, "kafka_server_brokertopicmetrics_bytesin_total"},
    TrafficName{broker::Traffic::bytes_out, "kafka_server_brokertopicmetrics_bytesout_total"},
    TrafficName{broker::Traffic::messages_in, "kafka_server_brokertopicmetrics_messagesin_total"},
    TrafficName{broker::Traffic::produce_requests,
                "kafka_server_brokertopicmetrics_totalproducerequests_total"},
    TrafficName{broker::Traffic::fetch_requests, "kafka_server_brokertopicmetrics_totalfetchrequests_total"},
    TrafficName{broker::Traffic::failed_produce_requests,
                "kafka_server_brokertopicmetrics_failedproducerequests_total"},
    TrafficName{broker::Traffic::failed_fetch_requests,
                "kafka_server_brokertopicmetrics_failedfetchrequests_total"},
};

double number(auto value) {
  return static_cast<double>(value);
}

/// min.insync.replicas of a topic as it is in force.
std::size_t min_in_sync(const MetricsSources& sources, const MetadataImage& image, std::string_view topic) {
  constexpr std::string_view name = "min.insync.replicas";
  auto value = image.config_value(ConfigResourceType::topic, topic, name);
  if (!value)
    value = image.config_value(ConfigResourceType::broker, std::to_string(sources.node.value()), name);
  if (!value) value = image.config_value(ConfigResourceType::broker, "", name);
  const auto parsed = value ? metadata::parse_integer(*value) : std::nullopt;
  return static_cast<std::size_t>(std::max<int64_t>(parsed.value_or(sources.config.integer(name)), 1));
}

class TopicMetrics {
 public:
  TopicMetrics(metrics::Page& page, const MetricsSources& sources, const MetadataImage& image)
      : page_(page),
        sources_(sources),
        image_(image),
        partitions_left_(static_cast<std::size_t>(sources.config.integer("metrics.partitions.max"))) {}

  void add_all() {
    for (const auto& [what, name] : traffic_names)
      page_.add(name, number(sources_.replicas.traffic().value(what)));
    for (const auto& topic : image_.topics_by_name) add(*topic);
    page_.add("kafka_server_replicamanager_partitioncount", number(here_));
    page_.add("kafka_server_replicamanager_leadercount", number(led_));
    page_.add("kafka_server_replicamanager_offlinereplicacount", number(offline_));
    page_.add("kafka_server_replicamanager_underreplicatedpartitions", number(under_replicated_));
    page_.add("kafka_server_replicamanager_underminisrpartitioncount", number(under_min_));
    page_.add("kafka_server_replicamanager_atminisrpartitioncount", number(at_min_));
    page_.add("kafka_controller_kafkacontroller_offlinepartitionscount", number(leaderless_));
    page_.add("kafka_controller_kafkacontroller_globaltopiccount", number(topics_));
    page_.add("kafka_controller_kafkacontroller_globalpartitioncount", number(image_.partition_count));
    page_.add("barnabas_metrics_partitions_left_out", number(left_out_));
  }

 private:
  void add(const TopicImage& topic) {
    ++topics_;
    page_.add("kafka_topic_partitions", {topic.name}, number(topic.partition_count()));
    std::array<uint64_t, broker::traffic_kinds> traffic{};
    const std::size_t wanted = min_in_sync(sources_, image_, topic.name);
    for (int32_t i = 0; i < topic.partition_count(); ++i) {
      const PartitionImage& partition = *topic.partition(PartitionIndex{i});
      const bool here = std::ranges::find(partition.replicas, sources_.node) != partition.replicas.end();
      const auto found = here ? sources_.replicas.find(topic.id, PartitionIndex{i}).partition : nullptr;
      if (found != nullptr)
        for (std::size_t kind = 0; kind < traffic.size(); ++kind)
          traffic[kind] += found->traffic().value(static_cast<broker::Traffic>(kind));
      const std::size_t least = std::min(wanted, partition.replicas.size());
      const bool led = found != nullptr && partition.leader == sources_.node;
      const bool under_replicated = partition.isr.size() < partition.replicas.size();
      const bool under_min = partition.isr.size() < least;
      const bool at_min = partition.isr.size() == least;
      here_ += here;
      led_ += led;
      offline_ += here && found == nullptr;
      leaderless_ += partition.leader == metadata::no_node || (here && found == nullptr);
      under_replicated_ += led && under_replicated;
      under_min_ += led && under_min;
      at_min_ += led && at_min;
      if (partitions_left_ == 0) {
        ++left_out_;
        continue;
      }
      --partitions_left_;
      const std::string index = std::to_string(i);
      const auto tell = [&](std::string_view name, double value) {
        page_.add(name, {topic.name, index}, value);
      };
      tell("kafka_topic_partition_leader", number(partition.leader.value()));
      tell("kafka_topic_partition_leader_is_preferred",
           !partition.replicas.empty() && partition.leader == partition.replicas.front());
      tell("kafka_topic_partition_replicas", number(partition.replicas.size()));
      tell("kafka_topic_partition_in_sync_replica", number(partition.isr.size()));
      tell("kafka_topic_partition_under_replicated_partition", under_replicated);
      tell("kafka_cluster_partition_underminisr", under_min);
      tell("kafka_cluster_partition_atminisr", at_min);
      if (found == nullptr) continue;
      tell("kafka_topic_partition_current_offset", number(found->high_watermark().value()));
      tell("kafka_topic_partition_oldest_offset", number(found->log().log_start_offset().value()));
      tell("kafka_log_log_size", number(found->log().size_bytes()));
    }
    for (const auto& [what, name] : traffic_names)
      page_.add(name, {topic.name}, number(traffic[static_cast<std::size_t>(what)]));
  }

  metrics::Page& page_;
  const MetricsSources& sources_;
  const MetadataImage& image_;
  std::size_t partitions_left_;
  std::size_t topics_ = 0;
  std::size_t here_ = 0;
  std::size_t led_ = 0;
  std::size_t offline_ = 0;
  std::size_t leaderless_ = 0;
  std::size_t under_replicated_ = 0;
  std::size_t under_min_ = 0;
  std::size_t at_min_ = 0;
  std::size_t left_out_ = 0;
};

}  // namespace

void add_topics(metrics::Page& page, const MetricsSources& sources, const MetadataImage& image) {
  TopicMetrics(page, sources, image).add_all();
}

}  // namespace barnabas::app
