#include <algorithm>

#include "client/action.h"
#include "client/commands/assignments.h"
#include "client/commands/commands.h"
#include "client/commands/config_resources.h"
#include "client/offsets.h"
#include "protocol/messages/describe_log_dirs_request.h"
#include "protocol/messages/describe_log_dirs_response.h"

namespace barnabas::client {
namespace {

class Directories final : public Action {
 public:
  std::string name() const override { return "dirs"; }
  std::string summary() const override { return "Log directories of brokers: room, partitions, their sizes"; }
  std::string example() const override { return "barnabas log dirs --partitions"; }
  void declare(CLI::App& app) override {
    app.add_option("--broker", brokers_, "only these, by id")->allow_extra_args(false);
    app.add_flag("--partitions", partitions_, "each partition");
  }

  Result<Answer> run(Cluster& cluster) override {
    BARNABAS_ASSIGN(const auto all, cluster.broker_ids());
    Json rows = Json::array();
    Answer answer;
    for (const int32_t id : brokers_.empty() ? all : brokers_) {
      protocol::DescribeLogDirsRequest request;
      request.topics = std::nullopt;
      BARNABAS_ASSIGN(Connection * broker, cluster.broker(id));
      BARNABAS_ASSIGN(const auto response, broker->call(request, cluster.deadline()));
      if (response->error_code != 0)
        return fail(ErrorKind::invalid,
                    "broker " + std::to_string(id) + ": " + error_text(response->error_code));
      for (const auto& directory : response->results) {
        if (directory.error_code != 0)
          answer.complain("broker " + std::to_string(id) + ", " + directory.log_dir.str() + ": " +
                          error_text(directory.error_code));
        tell(id, directory, rows);
      }
    }
    answer.document = rows;
    answer.table(std::move(rows));
    return answer;
  }

 private:
  void tell(int32_t id, const protocol::DescribeLogDirsResponse::DescribeLogDirsResult& directory,
            Json& rows) const {
    const auto bytes = [](int64_t count) { return count < 0 ? Json() : Json(count); };
    int64_t sum = 0, count = 0;
    for (const auto& topic : directory.topics) {
      for (const auto& each : topic.partitions) {
        sum += each.partition_size;
        ++count;
        if (partitions_)
          rows.push_back({{"broker", id},
                          {"directory", directory.log_dir.str()},
                          {"topic", topic.name.str()},
                          {"partition", each.partition_index},
                          {"bytes", each.partition_size},
                          {"behind", each.offset_lag},
                          {"future", each.is_future_key}});
      }
    }
    if (!partitions_)
      rows.push_back({{"broker", id},
                      {"directory", directory.log_dir.str()},
                      {"partitions", count},
                      {"bytes", sum},
                      {"free_bytes", bytes(directory.usable_bytes)},
                      {"all_bytes", bytes(directory.total_bytes)},
                      {"online", directory.error_code == 0}});
  }

  std::vector<int32_t> brokers_;
  bool partitions_ = false;
};

/// "1", or the only broker that there is.
Result<ConfigResource> loggers_of(Cluster& cluster, const std::string& broker) {
  if (!broker.empty()) return ConfigResource{broker_logger_type, broker};
  BARNABAS_ASSIGN(const auto all, cluster.broker_ids());
  if (all.size() != 1)
    return fail(ErrorKind::invalid,
                "there are " + std::to_string(all.size()) + " brokers; choose one with --broker ID");
  return ConfigResource{broker_logger_type, std::to_string(all.front())};
}

Result<void> check_broker(const std::string& id) {
  if (!id.empty()) BARNABAS_TRY(parse_broker_id(id));
  return {};
}

class Levels final : public Action {
 public:
  std::string name() const override { return "levels"; }
  std::string summary() const override { return "How much each part of a broker writes into its own log"; }
  std::string example() const override { return "barnabas log levels"; }
  void declare(CLI::App& app) override { app.add_option("--broker", broker_, "its id"); }
  Result<void> read_arguments() override { return check_broker(broker_); }
  Result<Answer> run(Cluster& cluster) override {
    BARNABAS_ASSIGN(const ConfigResource resource, loggers_of(cluster, broker_));
    BARNABAS_ASSIGN(const Json found, read_configs(cluster, resource, {}, true));
    Json rows = Json::array();
    for (const Json& row : found) rows.push_back({{"logger", row["name"]}, {"level", row["value"]}});
    return Answer::list(std::move(rows));
  }

 private:
  std::string broker_;
};

class Level final : public Action {
 public:
  std::string name() const override { return "level"; }
  std::string summary() const override { return "Change that while the broker runs"; }
  std::string example() const override { return "barnabas log level network=DEBUG"; }
  void declare(CLI::App& app) override {
    app.add_option("assignment", assignments_,
                   "logger=LEVEL (TRACE, DEBUG, INFO, WARN, ERROR); with nothing behind =, as at the start")
        ->required();
    app.add_option("--broker", broker_, "its id");
  }
  Result<void> read_arguments() override {
    for (const std::string& text : assignments_) {
      BARNABAS_ASSIGN(Assignment assignment, parse_assignment(text));
      std::optional<std::string> level;
      if (!assignment.value.empty()) level = assignment.value;
      changes_.push_back({std::move(assignment.name), std::move(level)});
    }
    return check_broker(broker_);
  }
  Result<Answer> run(Cluster& cluster) override {
    BARNABAS_ASSIGN(const ConfigResource resource, loggers_of(cluster, broker_));
    return change_configs(cluster, resource, changes_, false);
  }

 private:
  std::vector<std::string> assignments_;
  std::vector<ConfigChange> changes_;
  std::string broker_;
};

}  // namespace

std::unique_ptr<command::Command> log_command() {
  std::vector<std::unique_ptr<Action>> actions;
  actions.push_back(std::make_unique<Directories>());
  actions.push_back(std::make_unique<Levels>());
  actions.push_back(std::make_unique<Level>());
  return std::make_unique<Noun>("log", "Log directories of brokers, and the levels of their own logs",
                                std::move(actions));
}

}  // namespace barnabas::client
