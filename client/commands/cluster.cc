#include <algorithm>

#include "client/action.h"
#include "client/commands/commands.h"
#include "client/commands/rows.h"
#include "protocol/api.h"
#include "protocol/messages/describe_quorum_request.h"
#include "protocol/messages/describe_quorum_response.h"

namespace barnabas::client {
namespace {

class Describe final : public Action {
 public:
  std::string name() const override { return "describe"; }
  std::string summary() const override { return "Id, controller, brokers and features"; }
  std::string example() const override { return "barnabas cluster describe"; }
  void declare(CLI::App& app) override {
    app.add_flag("--apis", apis_, "the APIs that the broker serves, with their versions");
  }

  Result<Answer> run(Cluster& cluster) override {
    BARNABAS_ASSIGN(const auto metadata, cluster.metadata(std::vector<std::string>()));
    Answer answer;
    Json brokers = Json::array();
    for (const auto& each : metadata->brokers)
      brokers.push_back({{"broker", each.node_id},
                         {"host", each.host.str()},
                         {"port", each.port},
                         {"rack", json_of(each.rack)}});
    sort_rows(brokers, "broker");
    const std::string id = metadata->cluster_id ? metadata->cluster_id->str() : "";
    answer.line("cluster " + (id.empty() ? "without an id" : id) + ", controller " +
                std::to_string(metadata->controller_id));
    answer.line("");
    answer.table(brokers);
    answer.document = {{"cluster_id", json_of(metadata->cluster_id)},
                       {"controller", metadata->controller_id},
                       {"brokers", std::move(brokers)}};
    tell_features(cluster.first().versions(), answer);
    tell_quorum(cluster, answer);
    if (apis_) tell_apis(cluster.first().versions(), answer);
    return answer;
  }

 private:
  static void tell_features(const protocol::ApiVersionsResponse& versions, Answer& answer) {
    Json rows = Json::array();
    auto supported = versions.supported_features;
    std::ranges::sort(supported, {}, [](const auto& feature) { return feature.name.str(); });
    for (const auto& each : supported) {
      const auto level = std::ranges::find(versions.finalized_features, each.name,
                                           [](const auto& feature) { return feature.name; });
      rows.push_back({{"feature", each.name.str()},
                      {"level", level == versions.finalized_features.end() ? 0 : level->max_version_level},
                      {"known_from", each.min_version},
                      {"known_to", each.max_version}});
    }
    if (!rows.empty()) answer.line("");
    answer.table(rows);
    answer.document["features"] = std::move(rows);
  }

  /// Nothing where the broker has no quorum, or does not let us see it.
  static void tell_quorum(Cluster& cluster, Answer& answer) {
    protocol::DescribeQuorumRequest request;
    auto& topic = request.topics.emplace_back();
    topic.topic_name = "__cluster_metadata";
    topic.partitions.emplace_back();
    const auto response = cluster.ask(request);
    if (!response || (*response)->error_code != 0 || (*response)->topics.empty() ||
        (*response)->topics.front().partitions.empty())
      return;
    const auto& partition = (*response)->topics.front().partitions.front();
    if (partition.error_code != 0) return;
    Json voters = Json::array();
    for (const auto& each : partition.current_voters) voters.push_back(each.replica_id);
    answer.line("");
    answer.line("metadata quorum: leader " + std::to_string(partition.leader_id) + ", epoch " +
                std::to_string(partition.leader_epoch) + ", voters " + voters.dump() + ", high watermark " +
                std::to_string(partition.high_watermark));
    answer.document["quorum"] = {{"leader", partition.leader_id},
                                 {"epoch", partition.leader_epoch},
                                 {"voters", std::move(voters)},
                                 {"high_watermark", partition.high_watermark}};
  }

  static void tell_apis(const protocol::ApiVersionsResponse& versions, Answer& answer) {
    Json rows = Json::array();
    for (const auto& each : versions.api_keys) {
      const auto key = protocol::api_key(each.api_key);
      rows.push_back({{"key", each.api_key},
                      {"api", key ? std::string(protocol::name(*key)) : std::string("?")},
                      {"from", each.min_version},
                      {"to", each.max_version}});
    }
    answer.line("");
    answer.table(rows);
    answer.document["apis"] = std::move(rows);
  }

  bool apis_ = false;
};

}  // namespace

std::unique_ptr<command::Command> cluster_command() {
  std::vector<std::unique_ptr<Action>> actions;
  actions.push_back(std::make_unique<Describe>());
  return std::make_unique<Noun>("cluster", "What the cluster says of itself", std::move(actions));
}

}  // namespace barnabas::client
