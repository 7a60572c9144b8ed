#include "metrics/catalog.h"

#include <string>
#include <unordered_map>

#include "base/assert.h"

namespace barnabas::metrics {
namespace {

using enum Type;

const std::vector<Family>& families() {
  // clang-format off
  static const std::vector<Family> all = {
      // Of topics, as Kafka's BrokerTopicMetrics come out of the JMX exporter.
      {"kafka_server_brokertopicmetrics_bytesin_total", counter, {"topic"}, "Bytes of record batches appended, as they lie in the log; without label: of all topics, those deleted since the start too."},
      {"kafka_server_brokertopicmetrics_bytesout_total", counter, {"topic"}, "Bytes of record batches in answers to Fetch."},
      {"kafka_server_brokertopicmetrics_messagesin_total", counter, {"topic"}, "Records appended; repeats of an idempotent producer are not."},
      {"kafka_server_brokertopicmetrics_totalproducerequests_total", counter, {"topic"}, "Partitions in Produce requests."},
      {"kafka_server_brokertopicmetrics_totalfetchrequests_total", counter, {"topic"}, "Partitions in Fetch requests, those of their session included."},
      {"kafka_server_brokertopicmetrics_failedproducerequests_total", counter, {"topic"}, "Partitions in Produce requests that were answered with an error; of topics that are not here without label only."},
      {"kafka_server_brokertopicmetrics_failedfetchrequests_total", counter, {"topic"}, "Partitions in Fetch requests that were answered with an error; of topics that are not here without label only."},

      // Of the broker and the controller.
      {"kafka_server_replicamanager_partitioncount", gauge, {}, "Partitions that this broker has, online or not."},
      {"kafka_server_replicamanager_leadercount", gauge, {}, "Partitions that this broker leads and serves."},
      {"kafka_server_replicamanager_offlinereplicacount", gauge, {}, "Partitions of this broker whose log is lost or cannot be written."},
      {"kafka_server_replicamanager_underreplicatedpartitions", gauge, {}, "Partitions led here with replicas that are not in sync."},
      {"kafka_server_replicamanager_underminisrpartitioncount", gauge, {}, "Partitions led here with fewer replicas in sync than min.insync.replicas asks for."},
      {"kafka_server_replicamanager_atminisrpartitioncount", gauge, {}, "Partitions led here with just as many replicas in sync as min.insync.replicas asks for."},
      {"kafka_cluster_partition_underminisr", gauge, {"topic", "partition"}, "1 while the partition has fewer replicas in sync than min.insync.replicas asks for."},
      {"kafka_cluster_partition_atminisr", gauge, {"topic", "partition"}, "1 while the partition has just as many replicas in sync as min.insync.replicas asks for."},
      {"kafka_controller_kafkacontroller_activecontrollercount", gauge, {}, "1 where the active controller is."},
      {"kafka_controller_kafkacontroller_activebrokercount", gauge, {}, "Brokers that are registered and not fenced."},
      {"kafka_controller_kafkacontroller_fencedbrokercount", gauge, {}, "Brokers that are registered and fenced."},
      {"kafka_controller_kafkacontroller_globaltopiccount", gauge, {}, "Topics of the cluster."},
      {"kafka_controller_kafkacontroller_globalpartitioncount", gauge, {}, "Partitions of the cluster."},
      {"kafka_controller_kafkacontroller_offlinepartitionscount", gauge, {}, "Partitions without a leader that serves them."},
      {"kafka_controller_controllerstats_uncleanleaderelections_total", counter, {}, "Leaders that were elected although they may lack records; with one replica a partition there is none."},
      {"kafka_log_log_size", gauge, {"topic", "partition"}, "Bytes of the partition's segments."},
      {"kafka_log_logmanager_offlinelogdirectorycount", gauge, {}, "Log directories that failed."},
      {"kafka_network_socketserver_networkprocessoravgidle_percent", gauge, {}, "Share of time, from 0 to 1, that the threads of connections did not use a processor, over the last minute."},
      {"kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent", gauge, {}, "The same: requests are handled on the threads of their connections."},
      {"kafka_server_socket_server_metrics_connection_count", gauge, {"listener"}, "Open connections of clients."},
      {"kafka_server_kafkaserver_linux_disk_read_bytes", gauge, {}, "Bytes that the process had the system read from devices, as /proc/self/io tells."},
      {"kafka_server_kafkaserver_linux_disk_write_bytes", gauge, {}, "Bytes that the process had the system write to devices, as /proc/self/io tells."},
      {"kafka_server_raftmetrics_current_state", gauge, {"current_state"}, "1, with what this node is in the metadata quorum as label."},
      {"kafka_server_raftmetrics_current_leader", gauge, {}, "Node that leads the metadata quorum."},
      {"kafka_server_raftmetrics_current_vote", gauge, {}, "Node that this one voted for; -1: none in this epoch."},
      {"kafka_server_raftmetrics_current_epoch", gauge, {}, "Epoch of the metadata quorum."},
      {"kafka_server_raftmetrics_high_watermark", gauge, {}, "End of what is committed in the metadata log."},
      {"kafka_server_raftmetrics_log_end_offset", gauge, {}, "End of the metadata log."},
      {"kafka_server_raftmetrics_commit_latency_avg", gauge, {}, "Milliseconds until a commit to the metadata log was durable, the average over the last minute; 0 when there was none."},
      {"kafka_server_raftmetrics_append_records_rate", gauge, {}, "Records appended to the metadata log a second, over the last minute."},
      {"kafka_server_raftmetrics_fetch_records_rate", gauge, {}, "Records fetched from the leader of the quorum a second: none, while this node leads it."},

      // What kafka_exporter tells.
      {"kafka_brokers", gauge, {}, "Brokers of the cluster."},
      {"kafka_broker_info", gauge, {"id", "address"}, "1 for each broker, with its address for clients."},
      {"kafka_topic_partitions", gauge, {"topic"}, "Partitions of the topic."},
      {"kafka_topic_partition_current_offset", gauge, {"topic", "partition"}, "End of what consumers may read (the high watermark)."},
      {"kafka_topic_partition_oldest_offset", gauge, {"topic", "partition"}, "The first offset that is there."},
      {"kafka_topic_partition_leader", gauge, {"topic", "partition"}, "Node that leads the partition; -1: none."},
      {"kafka_topic_partition_leader_is_preferred", gauge, {"topic", "partition"}, "1 when the leader is the first of the replicas."},
      {"kafka_topic_partition_replicas", gauge, {"topic", "partition"}, "Replicas of the partition."},
      {"kafka_topic_partition_in_sync_replica", gauge, {"topic", "partition"}, "Replicas in sync."},
      {"kafka_topic_partition_under_replicated_partition", gauge, {"topic", "partition"}, "1 while fewer replicas are in sync than there are."},
      {"kafka_consumergroup_members", gauge, {"consumergroup"}, "Members of the group, whichever protocol they use."},
      {"kafka_consumergroup_current_offset", gauge, {"consumergroup", "topic", "partition"}, "Offset that the group has committed."},
      {"kafka_consumergroup_current_offset_sum", gauge, {"consumergroup", "topic"}, "Sum of the group's committed offsets in the topic."},
      {"kafka_consumergroup_lag", gauge, {"consumergroup", "topic", "partition"}, "What the group has yet to read: end of what consumers may read, less what was committed; never below 0."},
      {"kafka_consumergroup_lag_sum", gauge, {"consumergroup", "topic"}, "Sum of the group's lag in the topic."},

      // Of requests.
      {"kafka_network_requestmetrics_totaltimems", summary, {"request"}, "Milliseconds from a request's last byte to its answer's; quantiles of the last five minutes, number and sum since the start."},
      {"barnabas_request_seconds", histogram, {"request"}, "Seconds from a request's last byte to its answer's last byte given to the socket."},
      {"barnabas_request_stage_seconds", histogram, {"request", "stage"}, "The same by stage: queue, local, remote, response_queue, send."},
      {"barnabas_request_throttle_seconds", histogram, {"request"}, "Seconds for which clients over a quota were told to wait; only where they were."},

      // Of what clients push.
      {"barnabas_client_telemetry", gauge, {"metric", "client_id", "client_instance_id"}, "What clients were asked to push (KIP-714): a gauge of theirs, with their attributes as further labels."},
      {"barnabas_client_telemetry_total", counter, {"metric", "client_id", "client_instance_id"}, "The same of what only grows, since the client began to push."},
      {"barnabas_client_telemetry_clients", gauge, {}, "Clients that asked lately whether they are to push."},

      // Of what is told here.
      {"barnabas_build_info", gauge, {"version", "kafka_version"}, "1, with versions as labels."},
      {"barnabas_metrics_partitions_left_out", gauge, {}, "Partitions without series of their own, because there are more than metrics.partitions.max."},
      {"barnabas_metrics_group_partitions_left_out", gauge, {}, "The same of partitions that groups have committed offsets for."},
      {"barnabas_metrics_groups_unknown_shards", gauge, {}, "Partitions of __consumer_offsets whose groups are missing here: they are being loaded, or did not answer in time."},

      // Of the process.
      {"process_cpu_seconds_total", counter, {}, "Processor time used."},
      {"process_start_time_seconds", gauge, {}, "When the process began, in seconds since 1970."},
      {"process_resident_memory_bytes", gauge, {}, "Resident memory, mapped files included."},
      {"process_virtual_memory_bytes", gauge, {}, "Address space."},
      {"process_open_fds", gauge, {}, "Open descriptors."},
      {"process_max_fds", gauge, {}, "How many there may be."},
      {"process_threads", gauge, {}, "Threads."},
  };
  // clang-format on
  return all;
}

}  // namespace

std::string_view to_string(Type type) {
  switch (type) {
    case Type::counter:
      return "counter";
    case Type::gauge:
      return "gauge";
    case Type::histogram:
      return "histogram";
    case Type::summary:
      return "summary";
  }
  return "";
}

std::span<const Family> catalog() {
  return families();
}

std::size_t index_of(std::string_view name) {
  static const auto places = [] {
    std::unordered_map<std::string_view, std::size_t> result;
    for (std::size_t i = 0; i < families().size(); ++i) result.emplace(families()[i].name, i);
    return result;
  }();
  const auto at = places.find(name);
  BARNABAS_ASSERT(at != places.end());
  return at->second;
}

}  // namespace barnabas::metrics
