#include <algorithm>
#include <chrono>

#include "client/action.h"
#include "client/commands/assignments.h"
#include "client/commands/commands.h"
#include "client/commands/rows.h"
#include "client/offsets.h"
#include "protocol/messages/create_partitions_request.h"
#include "protocol/messages/create_partitions_response.h"
#include "protocol/messages/create_topics_request.h"
#include "protocol/messages/create_topics_response.h"
#include "protocol/messages/delete_topics_request.h"
#include "protocol/messages/delete_topics_response.h"

namespace barnabas::client {
namespace {

int32_t left_ms(const Cluster& cluster) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(cluster.deadline() -
                                                                          std::chrono::steady_clock::now());
  return static_cast<int32_t>(std::max<int64_t>(left.count(), 1));
}

class List final : public Action {
 public:
  std::string name() const override { return "list"; }
  std::string summary() const override { return "Topics with their numbers of partitions and replicas"; }
  std::string example() const override { return "barnabas topic list --output json"; }
  void declare(CLI::App& app) override {
    app.add_flag("-i,--internal", internal_, "those that the brokers made for themselves, too");
  }

  Result<Answer> run(Cluster& cluster) override {
    BARNABAS_ASSIGN(const auto metadata, cluster.metadata(std::nullopt));
    Json rows = Json::array();
    for (const auto& topic : metadata->topics) {
      if (!topic.name || (topic.is_internal && !internal_)) continue;
      const auto replicas = topic.partitions.empty() ? 0 : topic.partitions.front().replica_nodes.size();
      rows.push_back(
          {{"topic", topic.name->str()}, {"partitions", topic.partitions.size()}, {"replicas", replicas}});
    }
    sort_rows(rows, "topic");
    return Answer::list(std::move(rows));
  }

 private:
  bool internal_ = false;
};

class Describe final : public Action {
 public:
  std::string name() const override { return "describe"; }
  std::string summary() const override { return "Partitions of topics: leaders, replicas, offsets"; }
  std::string example() const override { return "barnabas topic describe orders"; }
  void declare(CLI::App& app) override { app.add_option("topic", topics_, "the topics")->required(); }

  Result<Answer> run(Cluster& cluster) override {
    BARNABAS_ASSIGN(const auto metadata, cluster.topics(topics_));
    BARNABAS_ASSIGN(const auto partitions, partitions_of(cluster, topics_));
    std::map<TopicPartition, int64_t> first, next;
    for (const TopicPartition& each : partitions) {
      first[each] = earliest_offset;
      next[each] = latest_offset;
    }
    BARNABAS_ASSIGN(const auto starts, find_offsets(cluster, first));
    BARNABAS_ASSIGN(const auto ends, find_offsets(cluster, next));
    Answer answer;
    for (const auto& topic : metadata->topics) {
      const std::string name = topic.name->str();
      Json rows = Json::array();
      for (const auto& each : topic.partitions) {
        const TopicPartition key{name, each.partition_index};
        rows.push_back({{"partition", each.partition_index},
                        {"leader", each.leader_id},
                        {"epoch", each.leader_epoch},
                        {"replicas", each.replica_nodes},
                        {"in_sync", each.isr_nodes},
                        {"start", starts.at(key).offset},
                        {"end", ends.at(key).offset}});
      }
      sort_rows(rows, "partition");
      answer.line((answer.document.empty() ? "" : "\n") + std::string("topic ") + name +
                  (topic.topic_id.is_zero() ? "" : ", id " + topic.topic_id.to_string()) +
                  (topic.is_internal ? ", internal" : ""));
      answer.table(rows);
      answer.document.push_back({{"topic", name},
                                 {"id", topic.topic_id.to_string()},
                                 {"internal", topic.is_internal},
                                 {"partitions", std::move(rows)}});
    }
    return answer;
  }

 private:
  std::vector<std::string> topics_;
};

class Create final : public Action {
 public:
  std::string name() const override { return "create"; }
  std::string summary() const override { return "Make topics"; }
  std::string example() const override {
    return "barnabas topic create orders -p 6 -c retention.ms=86400000";
  }
  void declare(CLI::App& app) override {
    app.add_option("topic", topics_, "their names")->required();
    app.add_option("-p,--partitions", partitions_,
                   "how many; the broker's num.partitions where nothing is said")
        ->check(command::positive_number());
    app.add_option("-r,--replicas", replicas_,
                   "of each; the broker's default.replication.factor where nothing is said")
        ->check(command::positive_number());
    app.add_option("-c,--config", configs_, "a setting of the topics; repeatable")
        ->type_name("NAME=VALUE")
        ->allow_extra_args(false);
    app.add_flag("--if-not-exists", if_not_exists_, "a topic that is there already is no error");
    app.add_flag("--dry-run", dry_run_, "only have it checked");
  }

  Result<void> read_arguments() override {
    for (const std::string& text : configs_) {
      BARNABAS_ASSIGN(Assignment setting, parse_assignment(text));
      settings_.push_back(std::move(setting));
    }
    return {};
  }

  Result<Answer> run(Cluster& cluster) override {
    protocol::CreateTopicsRequest request;
    request.timeout_ms = left_ms(cluster);
    request.validate_only = dry_run_;
    for (const std::string& name : topics_) {
      auto& topic = request.topics.emplace_back();
      topic.name = name;
      topic.num_partitions = partitions_;
      topic.replication_factor = replicas_;
      for (const Assignment& each : settings_) {
        auto& setting = topic.configs.emplace_back();
        setting.name = each.name;
        setting.value = each.value;
      }
    }
    // From version 4 on the broker's defaults stand in for what is not said.
    BARNABAS_ASSIGN(const auto response, cluster.ask(request, partitions_ < 0 || replicas_ < 0 ? 4 : 2));
    Answer answer;
    for (const auto& each : response->topics) {
      const bool there =
          each.error_code == protocol::to_wire(protocol::ErrorCode::topic_already_exists) && if_not_exists_;
      Json row{{"topic", each.name.str()}};
      if (each.num_partitions > 0) row["partitions"] = each.num_partitions;
      if (each.replication_factor > 0) row["replicas"] = each.replication_factor;
      answer.outcome(std::move(row), "topic " + each.name.str(), there ? int16_t{0} : each.error_code,
                     each.error_message);
    }
    return answer;
  }

 private:
  std::vector<std::string> topics_;
  int32_t partitions_ = -1;
  int16_t replicas_ = -1;
  std::vector<std::string> configs_;
  std::vector<Assignment> settings_;
  bool if_not_exists_ = false;
  bool dry_run_ = false;
};

class Delete final : public Action {
 public:
  std::string name() const override { return "delete"; }
  std::string summary() const override { return "Remove topics with all their records"; }
  std::string example() const override { return "barnabas topic delete orders"; }
  void declare(CLI::App& app) override { app.add_option("topic", topics_, "their names")->required(); }

  Result<Answer> run(Cluster& cluster) override {
    protocol::DeleteTopicsRequest request;
    request.timeout_ms = left_ms(cluster);
    for (const std::string& name : topics_) request.topic_names.emplace_back(name);
    BARNABAS_ASSIGN(const auto response, cluster.ask(request, 1, 5));
    Answer answer;
    for (const auto& each : response->responses) {
      const std::string name = each.name ? each.name->str() : "";
      answer.outcome({{"topic", name}}, "topic " + name, each.error_code, each.error_message);
    }
    return answer;
  }

 private:
  std::vector<std::string> topics_;
};

class AddPartitions final : public Action {
 public:
  std::string name() const override { return "add-partitions"; }
  std::string summary() const override {
    return "Give a topic more partitions; keys may go to other ones from then on";
  }
  std::string example() const override { return "barnabas topic add-partitions orders --to 12"; }
  void declare(CLI::App& app) override {
    app.add_option("topic", topics_, "the topics")->required();
    auto* by = app.add_option("--by", by_, "so many more")->check(command::positive_number());
    app.add_option("--to", to_, "so many altogether")->check(command::positive_number())->excludes(by);
  }

  Result<void> read_arguments() override {
    if (by_ == 0 && to_ == 0) return fail(ErrorKind::invalid, "how many? Add --by N or --to N");
    return {};
  }

  Result<Answer> run(Cluster& cluster) override {
    BARNABAS_ASSIGN(const auto metadata, cluster.topics(topics_));
    protocol::CreatePartitionsRequest request;
    request.timeout_ms = left_ms(cluster);
    for (const auto& topic : metadata->topics) {
      auto& wanted = request.topics.emplace_back();
      wanted.name = topic.name->owned();
      wanted.count = to_ != 0 ? to_ : static_cast<int32_t>(topic.partitions.size()) + by_;
      wanted.assignments = std::nullopt;
    }
    BARNABAS_ASSIGN(const auto response, cluster.ask(request));
    Answer answer;
    for (const auto& each : response->results) {
      const auto asked = std::ranges::find(request.topics, each.name, [](const auto& t) { return t.name; });
      Json row{{"topic", each.name.str()}};
      if (asked != request.topics.end()) row["partitions"] = asked->count;
      answer.outcome(std::move(row), "topic " + each.name.str(), each.error_code, each.error_message);
    }
    return answer;
  }

 private:
  std::vector<std::string> topics_;
  int32_t by_ = 0;
  int32_t to_ = 0;
};

class Offsets final : public Action {
 public:
  std::string name() const override { return "offsets"; }
  std::string summary() const override { return "Where partitions begin and end, or where a time is"; }
  std::string example() const override { return "barnabas topic offsets orders --at -1h"; }
  void declare(CLI::App& app) override {
    app.add_option("topic", topics_, "the topics")->required();
    app.add_option("--at", at_, "a time: 2026-11-30T10:00:00Z, milliseconds since 1970, -1h")
        ->type_name("TIME");
    app.add_flag("--read-committed", read_committed_, "the end that readers of transactions see");
  }

  Result<void> read_arguments() override {
    if (at_.empty()) return {};
    BARNABAS_ASSIGN(time_, parse_time(at_, now_ms()));
    return {};
  }

  Result<Answer> run(Cluster& cluster) override {
    BARNABAS_ASSIGN(const auto partitions, partitions_of(cluster, topics_));
    Json rows = Json::array();
    if (at_.empty()) {
      BARNABAS_ASSIGN(const auto starts, offsets_at(cluster, partitions, earliest_offset));
      BARNABAS_ASSIGN(const auto ends, offsets_at(cluster, partitions, latest_offset, read_committed_));
      for (const TopicPartition& each : partitions)
        rows.push_back({{"topic", each.topic},
                        {"partition", each.partition},
                        {"start", starts.at(each)},
                        {"end", ends.at(each)},
                        {"records_at_most", ends.at(each) - starts.at(each)}});
      return Answer::list(std::move(rows));
    }
    std::map<TopicPartition, int64_t> wanted;
    for (const TopicPartition& each : partitions) wanted[each] = time_;
    BARNABAS_ASSIGN(const auto found, find_offsets(cluster, wanted, read_committed_));
    for (const auto& [each, offset] : found) {
      if (offset.error_code != 0)
        return fail(ErrorKind::invalid, each.to_string() + ": " + error_text(offset.error_code));
      rows.push_back({{"topic", each.topic},
                      {"partition", each.partition},
                      {"offset", offset.offset < 0 ? Json() : Json(offset.offset)},
                      {"time", offset.timestamp < 0 ? Json() : Json(time_text(offset.timestamp))}});
    }
    return Answer::list(std::move(rows));
  }

 private:
  std::vector<std::string> topics_;
  std::string at_;
  int64_t time_ = 0;
  bool read_committed_ = false;
};

}  // namespace

std::unique_ptr<command::Command> topic_command() {
  std::vector<std::unique_ptr<Action>> actions;
  actions.push_back(std::make_unique<List>());
  actions.push_back(std::make_unique<Describe>());
  actions.push_back(std::make_unique<Create>());
  actions.push_back(std::make_unique<Delete>());
  actions.push_back(std::make_unique<AddPartitions>());
  actions.push_back(std::make_unique<Offsets>());
  return std::make_unique<Noun>("topic", "List, describe, make and delete topics", std::move(actions));
}

}  // namespace barnabas::client
