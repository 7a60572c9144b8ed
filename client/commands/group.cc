#include <algorithm>
#include <set>

#include "client/action.h"
#include "client/commands/commands.h"
#include "client/commands/group_actions.h"
#include "client/commands/group_reading.h"
#include "client/commands/rows.h"
#include "protocol/messages/delete_groups_request.h"
#include "protocol/messages/delete_groups_response.h"
#include "protocol/messages/list_groups_request.h"
#include "protocol/messages/list_groups_response.h"

namespace barnabas::client {
namespace {

class List final : public Action {
 public:
  std::string name() const override { return "list"; }
  std::string summary() const override { return "Groups of all brokers"; }
  std::string example() const override { return "barnabas group list --state Empty"; }
  void declare(CLI::App& app) override {
    app.add_option("--state", states_, "only such")
        ->allow_extra_args(false)
        ->transform(CLI::IsMember({"Stable", "Empty", "PreparingRebalance", "CompletingRebalance",
                                   "Assigning", "Reconciling", "NotReady", "Dead"},
                                  CLI::ignore_case));
  }

  Result<Answer> run(Cluster& cluster) override {
    BARNABAS_ASSIGN(const auto brokers, cluster.broker_ids());
    Json rows = Json::array();
    for (const int32_t id : brokers) {
      protocol::ListGroupsRequest request;
      for (const std::string& state : states_) request.states_filter.emplace_back(state);
      BARNABAS_ASSIGN(Connection * broker, cluster.broker(id));
      BARNABAS_ASSIGN(const auto answer, broker->call(request, cluster.deadline(), states_.empty() ? 0 : 4));
      if (answer->error_code != 0)
        return fail(ErrorKind::invalid,
                    "broker " + std::to_string(id) + ": " + error_text(answer->error_code));
      for (const auto& each : answer->groups)
        rows.push_back({{"group", each.group_id.str()},
                        {"state", each.group_state.str()},
                        {"type", each.group_type.str()},
                        {"protocol", each.protocol_type.str()},
                        {"coordinator", id}});
    }
    sort_rows(rows, "group");
    return Answer::list(std::move(rows));
  }

 private:
  std::vector<std::string> states_;
};

class Describe final : public Action {
 public:
  std::string name() const override { return "describe"; }
  std::string summary() const override { return "Members of groups, committed offsets and lag"; }
  std::string example() const override { return "barnabas group describe billing"; }
  void declare(CLI::App& app) override { app.add_option("group", groups_, "the groups")->required(); }

  Result<Answer> run(Cluster& cluster) override {
    Answer answer;
    for (const std::string& name : groups_) {
      auto group = read_group(cluster, name);
      if (!group) return fail("group " + name, std::move(group.error()));
      auto committed = committed_offsets(cluster, name);
      if (!committed) return fail("group " + name, std::move(committed.error()));
      BARNABAS_TRY(tell(cluster, *group, *committed, answer));
    }
    return answer;
  }

 private:
  static Result<void> tell(Cluster& cluster, const GroupState& group, const CommittedOffsets& committed,
                           Answer& answer) {
    std::map<TopicPartition, const GroupMember*> owners;
    Json members = Json::array();
    for (const GroupMember& member : group.members) {
      Json assigned = Json::array();
      for (const TopicPartition& each : member.assigned) {
        owners[each] = &member;
        assigned.push_back(each.to_string());
      }
      members.push_back({{"member", member.id},
                         {"client", member.client_id},
                         {"host", member.host},
                         {"instance", member.instance ? Json(*member.instance) : Json()},
                         {"assigned", std::move(assigned)}});
    }
    std::map<TopicPartition, int64_t> ends;
    for (const auto& each : committed) ends[each.first] = latest_offset;
    for (const auto& each : owners) ends[each.first] = latest_offset;
    BARNABAS_ASSIGN(const auto found, find_offsets(cluster, ends));
    Json rows = Json::array();
    std::optional<int64_t> sum;
    for (const auto& [partition, end] : found) {
      const auto offset = committed.find(partition);
      const auto owner = owners.find(partition);
      const bool known = end.error_code == 0;
      Json lag;
      if (known && offset != committed.end()) {
        // Records may have been deleted since: nothing is behind what is not there.
        const int64_t behind = std::max<int64_t>(end.offset - offset->second, 0);
        sum = sum.value_or(0) + behind;
        lag = behind;
      }
      rows.push_back({{"topic", partition.topic},
                      {"partition", partition.partition},
                      {"committed", offset == committed.end() ? Json() : Json(offset->second)},
                      {"end", known ? Json(end.offset) : Json()},
                      {"lag", lag},
                      {"member", owner == owners.end() ? Json() : Json(owner->second->id)}});
    }
    answer.line((answer.document.empty() ? "" : "\n") + std::string("group ") + group.id + ", " + group.type +
                ", " + group.state + ", members " + std::to_string(group.members.size()) + ", lag " +
                (sum ? std::to_string(*sum) : "-"));
    answer.table(rows, "no committed offsets");
    answer.table(members);
    answer.document.push_back({{"group", group.id},
                               {"type", group.type},
                               {"state", group.state},
                               {"assignor", group.assignor},
                               {"lag", sum ? Json(*sum) : Json()},
                               {"members", std::move(members)},
                               {"partitions", std::move(rows)}});
    return {};
  }

  std::vector<std::string> groups_;
};

class Delete final : public Action {
 public:
  std::string name() const override { return "delete"; }
  std::string summary() const override { return "Forget groups without members, with their offsets"; }
  std::string example() const override { return "barnabas group delete billing"; }
  void declare(CLI::App& app) override { app.add_option("group", groups_, "the groups")->required(); }

  Result<Answer> run(Cluster& cluster) override {
    Answer answer;
    for (const std::string& name : groups_) {
      protocol::DeleteGroupsRequest request;
      request.groups_names.emplace_back(name);
      BARNABAS_ASSIGN(const auto response, ask_coordinator(cluster, name, request, [](const auto& body) {
                        return body.results.empty() ? int16_t{0} : body.results.front().error_code;
                      }));
      for (const auto& each : response->results)
        answer.outcome({{"group", each.group_id.str()}}, "group " + each.group_id.str(), each.error_code,
                       each.error_message);
    }
    return answer;
  }

 private:
  std::vector<std::string> groups_;
};

}  // namespace

std::unique_ptr<command::Command> group_command() {
  std::vector<std::unique_ptr<Action>> actions;
  actions.push_back(std::make_unique<List>());
  actions.push_back(std::make_unique<Describe>());
  actions.push_back(std::make_unique<Delete>());
  actions.push_back(group_seek_action());
  actions.push_back(group_delete_offsets_action());
  return std::make_unique<Noun>("group", "List and describe groups, move and delete their offsets",
                                std::move(actions));
}

}  // namespace barnabas::client
