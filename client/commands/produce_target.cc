#include "client/commands/produce_target.h"

#include <algorithm>
#include <set>

#include "client/commands/config_resources.h"

namespace barnabas::client {

using protocol::ErrorCode;

namespace {

/// Whether brokers make topics that are asked for; nothing where the user may not see their settings.
std::optional<bool> makes_topics(Cluster& cluster, int32_t broker) {
  constexpr int8_t broker_resource = 4;
  const auto rows =
      read_configs(cluster, {broker_resource, std::to_string(broker)}, {"auto.create.topics.enable"}, true);
  if (!rows || rows->empty()) return std::nullopt;
  return rows->front()["value"] == "true";
}

std::unexpected<Error> missing(const std::string& topic, std::optional<bool> makes) {
  return fail(
      ErrorKind::not_found,
      "topic " + topic + ": UNKNOWN_TOPIC_OR_PARTITION: there is none of this name" +
          (makes == false ? ", and the brokers make none by themselves (auto.create.topics.enable)" : "") +
          "; barnabas topic create " + topic + " makes it");
}

/// Waits for a topic that is just being made.
Result<Cluster::Metadata> look_up(Cluster& cluster, const std::string& topic, bool may_create) {
  constexpr auto patience_where_nothing_is_known = std::chrono::seconds(3);
  const auto begun = std::chrono::steady_clock::now();
  std::optional<bool> makes;
  bool asked = false;
  while (true) {
    BARNABAS_ASSIGN(auto found, cluster.metadata(std::vector{topic}, may_create));
    const int16_t code = found->topics.empty() ? int16_t{0} : found->topics.front().error_code;
    const bool unknown = code == protocol::to_wire(ErrorCode::unknown_topic_or_partition);
    if (code == 0) return found;
    if (!unknown && code != protocol::to_wire(ErrorCode::leader_not_available))
      return fail(ErrorKind::invalid, "topic " + topic + ": " + error_text(code));
    // An answer to the question that has a topic made is the same as where none is made.
    if (unknown && may_create && !asked && !found->brokers.empty())
      makes = makes_topics(cluster, found->brokers.front().node_id);
    asked = true;
    if (unknown && (!may_create || makes == false)) return missing(topic, makes);
    if (!makes && std::chrono::steady_clock::now() >= begun + patience_where_nothing_is_known)
      return missing(topic, makes);
    if (!cluster.pause()) return fail(ErrorKind::timed_out, "topic " + topic + ": " + error_text(code));
  }
}

}  // namespace

Result<void> check_target(Cluster& cluster, const std::string& topic, std::optional<int32_t> partition,
                          bool may_create) {
  BARNABAS_ASSIGN(const auto found, look_up(cluster, topic, may_create));
  if (found->topics.empty()) return {};
  const auto& partitions = found->topics.front().partitions;
  std::set<int32_t> leaders;
  for (const auto& each : partitions)
    if (each.leader_id >= 0 && each.partition_index == partition.value_or(each.partition_index))
      leaders.insert(each.leader_id);
  if (partition &&
      std::ranges::none_of(partitions, [&](const auto& each) { return each.partition_index == *partition; }))
    return fail(ErrorKind::not_found, "topic " + topic + " has no partition " + std::to_string(*partition) +
                                          "; it has " + std::to_string(partitions.size()) +
                                          ", counted from 0");
  std::optional<Error> failure;
  for (const int32_t leader : leaders) {
    auto connection = cluster.broker(leader);
    if (connection) return {};
    failure = std::move(connection.error());
  }
  if (failure) return std::unexpected<Error>(std::move(*failure));
  return {};
}

}  // namespace barnabas::client
