#include <algorithm>

#include "client/action.h"
#include "client/commands/acl_words.h"
#include "client/commands/commands.h"
#include "protocol/messages/create_acls_request.h"
#include "protocol/messages/create_acls_response.h"
#include "protocol/messages/delete_acls_request.h"
#include "protocol/messages/delete_acls_response.h"
#include "protocol/messages/describe_acls_request.h"
#include "protocol/messages/describe_acls_response.h"

namespace barnabas::client {
namespace {

struct Resource {
  int8_t type;
  std::string name;
};

/// The options that name what a rule is about.
class ResourceOptions {
 public:
  void declare(CLI::App& app) {
    const auto add = [&](const char* name, std::vector<std::string>& values, const char* description) {
      app.add_option(name, values, description)->allow_extra_args(false)->type_name("NAME");
    };
    add("--topic", topics_, "a topic, \"*\" for all; repeatable");
    add("--group", groups_, "a group; repeatable");
    add("--transactional-id", transactional_ids_, "a transactional id; repeatable");
    add("--delegation-token", tokens_, "a delegation token; repeatable");
    add("--for-user", users_, "a user, for tokens made in its name; repeatable");
    app.add_flag("--cluster", cluster_, "the cluster");
    app.add_flag("--prefixed", prefixed_, "the names are the beginnings of names");
  }

  bool prefixed() const { return prefixed_; }
  std::vector<Resource> resources() const {
    std::vector<Resource> all;
    const auto add = [&](int8_t type, const std::vector<std::string>& names) {
      for (const std::string& each : names) all.push_back({type, each});
    };
    add(acl_topic, topics_);
    add(acl_group, groups_);
    add(acl_transactional_id, transactional_ids_);
    add(acl_delegation_token, tokens_);
    add(acl_user, users_);
    if (cluster_) all.push_back({acl_cluster, "kafka-cluster"});
    return all;
  }

 private:
  std::vector<std::string> topics_, groups_, transactional_ids_, tokens_, users_;
  bool cluster_ = false;
  bool prefixed_ = false;
};

Result<std::vector<int8_t>> operations_of(const std::vector<std::string>& words) {
  std::vector<int8_t> numbers;
  for (const std::string& word : words) {
    for (const std::string& each : split_list(word)) {
      const auto number = acl_number(AclWords::operation, each);
      if (!number)
        return fail(ErrorKind::invalid, "\"" + each +
                                            "\" is no operation; expected READ, WRITE, CREATE, DELETE, "
                                            "ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS, ALL …");
      numbers.push_back(*number);
    }
  }
  return numbers;
}

template <class Outcome>
bool is_without_authorizer(const Outcome& result) {
  return result.error_code == protocol::to_wire(protocol::ErrorCode::security_disabled);
}

template <class Acl>
Json row_of(int8_t resource_type, const protocol::String& name, int8_t pattern, const Acl& acl) {
  return {{"resource", acl_word(AclWords::resource_type, resource_type)},
          {"name", name.str()},
          {"pattern", acl_word(AclWords::pattern_type, pattern)},
          {"principal", acl.principal.str()},
          {"host", acl.host.str()},
          {"operation", acl_word(AclWords::operation, acl.operation)},
          {"permission", acl_word(AclWords::permission, acl.permission_type)}};
}

/// What list and delete choose by. What is not said matches everything.
class FilterOptions {
 public:
  void declare(CLI::App& app) {
    resources_.declare(app);
    app.add_option("--principal", principal_, "only of this one")->type_name("User:NAME");
    app.add_option("--host", host_, "only for this address");
    app.add_option("--operation", operations_, "only these; READ,WRITE …")->allow_extra_args(false);
    app.add_option("--permission", permission_, "only allow, or only deny")
        ->check(CLI::IsMember({"allow", "deny"}));
    app.add_flag("--matching", matching_,
                 "every rule that concerns these names, also prefixed ones and \"*\"");
  }

  bool chooses() const {
    return !resources_.resources().empty() || !principal_.empty() || !host_.empty() || !operations_.empty() ||
           !permission_.empty();
  }

  Result<void> read() {
    BARNABAS_ASSIGN(chosen_operations_, operations_of(operations_));
    if (chosen_operations_.empty()) chosen_operations_.push_back(acl_any);
    return {};
  }

  /// Of DescribeAclsRequest, whose filters have the same fields as those of DeleteAclsRequest.
  template <class Filter>
  std::vector<Filter> filters() const {
    std::vector<std::optional<Resource>> resources;
    for (const Resource& each : resources_.resources()) resources.emplace_back(each);
    if (resources.empty()) resources.emplace_back();
    std::vector<Filter> filters;
    for (const auto& resource : resources) {
      for (const int8_t operation : chosen_operations_) {
        Filter& filter = filters.emplace_back();
        filter.resource_type_filter = resource ? resource->type : acl_any;
        filter.resource_name_filter = std::nullopt;
        if (resource) filter.resource_name_filter = resource->name;
        filter.pattern_type_filter = matching_               ? acl_match
                                     : resources_.prefixed() ? acl_prefixed
                                     : resource              ? acl_literal
                                                             : acl_any;
        filter.principal_filter = filter.host_filter = std::nullopt;
        if (!principal_.empty()) filter.principal_filter = principal_;
        if (!host_.empty()) filter.host_filter = host_;
        filter.operation = operation;
        filter.permission_type = permission_.empty()      ? acl_any
                                 : permission_ == "allow" ? acl_allow
                                                          : acl_deny;
      }
    }
    return filters;
  }

 private:
  ResourceOptions resources_;
  std::string principal_;
  std::string host_;
  std::vector<std::string> operations_;
  std::vector<int8_t> chosen_operations_;
  std::string permission_;
  bool matching_ = false;
};

Result<Json> find_rules(Cluster& cluster, const FilterOptions& options) {
  Json rows = Json::array();
  for (const auto& request : options.filters<protocol::DescribeAclsRequest>()) {
    BARNABAS_ASSIGN(const auto answer, cluster.ask(request));
    if (answer->error_code != 0)
      return fail(ErrorKind::invalid, error_text(answer->error_code, answer->error_message));
    for (const auto& resource : answer->resources) {
      for (const auto& each : resource.acls) {
        Json row = row_of(resource.resource_type, resource.resource_name, resource.pattern_type, each);
        if (std::ranges::find(rows, row) == rows.end()) rows.push_back(std::move(row));
      }
    }
  }
  return rows;
}

class List final : public Action {
 public:
  std::string name() const override { return "list"; }
  std::string summary() const override { return "Rules, all of them or those of a resource or principal"; }
  std::string example() const override { return "barnabas acl list --topic orders --matching"; }
  void declare(CLI::App& app) override { options_.declare(app); }
  Result<void> read_arguments() override { return options_.read(); }
  Result<Answer> run(Cluster& cluster) override {
    BARNABAS_ASSIGN(Json rows, find_rules(cluster, options_));
    return Answer::list(std::move(rows));
  }

 private:
  FilterOptions options_;
};

class Create final : public Action {
 public:
  std::string name() const override { return "create"; }
  std::string summary() const override { return "Allow or deny something"; }
  std::string example() const override {
    return "barnabas acl create --allow User:alice --operation READ,DESCRIBE --topic orders";
  }
  void declare(CLI::App& app) override {
    app.add_option("--allow", allowed_, "a principal; repeatable")
        ->allow_extra_args(false)
        ->type_name("User:NAME");
    app.add_option("--deny", denied_, "a principal; repeatable")
        ->allow_extra_args(false)
        ->type_name("User:NAME");
    app.add_option("--operation", operations_, "READ, WRITE, …, ALL; separated by commas")
        ->required()
        ->allow_extra_args(false);
    app.add_option("--host", host_, "only from this address")->capture_default_str();
    resources_.declare(app);
  }

  Result<void> read_arguments() override {
    BARNABAS_ASSIGN(chosen_operations_, operations_of(operations_));
    if (allowed_.empty() && denied_.empty())
      return fail(ErrorKind::invalid, "for whom? Add --allow User:NAME or --deny User:NAME");
    if (resources_.resources().empty())
      return fail(ErrorKind::invalid, "on what? Add --topic, --group, --transactional-id or --cluster");
    return {};
  }

  Result<Answer> run(Cluster& cluster) override {
    protocol::CreateAclsRequest request;
    const auto add = [&](const std::string& principal, int8_t permission) {
      for (const Resource& resource : resources_.resources()) {
        for (const int8_t operation : chosen_operations_) {
          auto& rule = request.creations.emplace_back();
          rule.resource_type = resource.type;
          rule.resource_name = resource.name;
          rule.resource_pattern_type = resources_.prefixed() ? acl_prefixed : acl_literal;
          rule.principal = principal;
          rule.host = host_;
          rule.operation = operation;
          rule.permission_type = permission;
        }
      }
    };
    for (const std::string& each : allowed_) add(each, acl_allow);
    for (const std::string& each : denied_) add(each, acl_deny);
    BARNABAS_ASSIGN(const auto response, cluster.ask(request));
    // It goes for all of them.
    if (!response->results.empty() && is_without_authorizer(response->results.front()))
      return fail(ErrorKind::invalid, error_text(response->results.front().error_code));
    Answer answer;
    for (std::size_t i = 0; i < response->results.size() && i < request.creations.size(); ++i) {
      const auto& rule = request.creations[i];
      const auto& result = response->results[i];
      answer.outcome(row_of(rule.resource_type, rule.resource_name, rule.resource_pattern_type, rule),
                     rule.principal.str() + " on " + rule.resource_name.str(), result.error_code,
                     result.error_message);
    }
    return answer;
  }

 private:
  std::vector<std::string> allowed_, denied_, operations_;
  std::vector<int8_t> chosen_operations_;
  std::string host_ = "*";
  ResourceOptions resources_;
};

class Delete final : public Action {
 public:
  std::string name() const override { return "delete"; }
  std::string summary() const override { return "Take rules away"; }
  std::string example() const override { return "barnabas acl delete --principal User:alice --dry-run"; }
  void declare(CLI::App& app) override {
    options_.declare(app);
    app.add_flag("--all", all_, "all rules of the cluster");
    app.add_flag("--dry-run", dry_run_, "only show them");
  }

  Result<void> read_arguments() override {
    if (!options_.chooses() && !all_)
      return fail(ErrorKind::invalid, "which ones? Add --topic, --principal …, or --all for every rule");
    return options_.read();
  }

  Result<Answer> run(Cluster& cluster) override {
    if (dry_run_) {
      BARNABAS_ASSIGN(Json rows, find_rules(cluster, options_));
      Answer answer = Answer::list(std::move(rows));
      answer.line("nothing was changed (--dry-run)");
      return answer;
    }
    protocol::DeleteAclsRequest request;
    request.filters = options_.filters<protocol::DeleteAclsRequest::DeleteAclsFilter>();
    BARNABAS_ASSIGN(const auto response, cluster.ask(request));
    Answer answer;
    for (const auto& result : response->filter_results) {
      if (result.error_code != 0) answer.complain(error_text(result.error_code, result.error_message));
      for (const auto& each : result.matching_acls)
        answer.outcome(row_of(each.resource_type, each.resource_name, each.pattern_type, each),
                       each.principal.str() + " on " + each.resource_name.str(), each.error_code,
                       each.error_message);
    }
    return answer;
  }

 private:
  FilterOptions options_;
  bool all_ = false;
  bool dry_run_ = false;
};

}  // namespace

std::unique_ptr<command::Command> acl_command() {
  std::vector<std::unique_ptr<Action>> actions;
  actions.push_back(std::make_unique<List>());
  actions.push_back(std::make_unique<Create>());
  actions.push_back(std::make_unique<Delete>());
  return std::make_unique<Noun>("acl", "Who may do what", std::move(actions));
}

}  // namespace barnabas::client
