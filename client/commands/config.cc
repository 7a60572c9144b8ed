#include "client/action.h"
#include "client/commands/assignments.h"
#include "client/commands/commands.h"
#include "client/commands/config_resources.h"

namespace barnabas::client {
namespace {

/// What all actions have in front: "topic orders".
class OnResource : public Action {
 public:
  void declare(CLI::App& app) override {
    app.add_option("kind", kind_, "topic, broker, group or client-metrics")
        ->required()
        ->check(CLI::IsMember({"topic", "broker", "group", "client-metrics"}));
    app.add_option("name", resource_.name, "which one; of brokers the id, or \"default\" for all of them")
        ->required();
    declare_more(app);
  }
  Result<void> read_arguments() override {
    resource_.type = config_resource_type(kind_).value_or(0);
    if (kind_ == "broker" && resource_.name == "default")
      resource_.name.clear();
    else if (kind_ == "broker")
      BARNABAS_TRY(parse_broker_id(resource_.name));
    return read_more();
  }
  Result<Answer> run(Cluster& cluster) override { return run_on(cluster, resource_); }

 protected:
  virtual void declare_more(CLI::App& app) = 0;
  virtual Result<void> read_more() { return {}; }
  virtual Result<Answer> run_on(Cluster& cluster, const ConfigResource& resource) = 0;

 private:
  std::string kind_;
  ConfigResource resource_;
};

class Get final : public OnResource {
 public:
  std::string name() const override { return "get"; }
  std::string summary() const override { return "Settings that were made, or all of them"; }
  std::string example() const override { return "barnabas config get topic orders retention.ms"; }

 protected:
  void declare_more(CLI::App& app) override {
    app.add_option("setting", names_, "only these");
    app.add_flag("-a,--all", all_, "also those that nobody has set");
  }
  Result<Answer> run_on(Cluster& cluster, const ConfigResource& resource) override {
    BARNABAS_ASSIGN(Json rows, read_configs(cluster, resource, names_, all_));
    Answer answer;
    answer.document = rows;
    answer.table(std::move(rows), "nothing is set; --all shows the defaults");
    return answer;
  }

 private:
  std::vector<std::string> names_;
  bool all_ = false;
};

class Set final : public OnResource {
 public:
  std::string name() const override { return "set"; }
  std::string summary() const override { return "Make settings, and leave the others as they are"; }
  std::string example() const override { return "barnabas config set topic orders retention.ms=3600000"; }

 protected:
  void declare_more(CLI::App& app) override {
    app.add_option("assignment", assignments_, "name=value")->required();
    app.add_flag("--dry-run", dry_run_, "only have it checked");
  }
  Result<void> read_more() override {
    for (const std::string& text : assignments_) {
      BARNABAS_ASSIGN(Assignment assignment, parse_assignment(text));
      changes_.push_back({std::move(assignment.name), std::move(assignment.value)});
    }
    return {};
  }
  Result<Answer> run_on(Cluster& cluster, const ConfigResource& resource) override {
    return change_configs(cluster, resource, changes_, dry_run_);
  }

 private:
  std::vector<std::string> assignments_;
  std::vector<ConfigChange> changes_;
  bool dry_run_ = false;
};

class Delete final : public OnResource {
 public:
  std::string name() const override { return "delete"; }
  std::string summary() const override { return "Take settings back, so that the defaults hold again"; }
  std::string example() const override { return "barnabas config delete topic orders retention.ms"; }

 protected:
  void declare_more(CLI::App& app) override {
    app.add_option("setting", names_, "their names")->required();
    app.add_flag("--dry-run", dry_run_, "only have it checked");
  }
  Result<Answer> run_on(Cluster& cluster, const ConfigResource& resource) override {
    std::vector<ConfigChange> changes;
    for (const std::string& each : names_) changes.push_back({each, std::nullopt});
    return change_configs(cluster, resource, changes, dry_run_);
  }

 private:
  std::vector<std::string> names_;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<command::Command> config_command() {
  std::vector<std::unique_ptr<Action>> actions;
  actions.push_back(std::make_unique<Get>());
  actions.push_back(std::make_unique<Set>());
  actions.push_back(std::make_unique<Delete>());
  return std::make_unique<Noun>("config", "Settings of topics, brokers, groups and client metrics",
                                std::move(actions));
}

}  // namespace barnabas::client
