#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>

#include "client/action.h"
#include "client/commands/assignments.h"
#include "client/commands/commands.h"
#include "protocol/messages/alter_client_quotas_request.h"
#include "protocol/messages/alter_client_quotas_response.h"
#include "protocol/messages/describe_client_quotas_request.h"
#include "protocol/messages/describe_client_quotas_response.h"

namespace barnabas::client {
namespace {

constexpr auto kinds = std::to_array<std::string_view>({"user", "client-id", "ip"});

/// "user=alice"; without a name the default of the kind.
struct Part {
  std::string kind;
  std::optional<std::string> name;
};

/// Whom a quota is for.
class EntityOptions {
 public:
  void declare(CLI::App& app) {
    app.add_option("--name", names_, "user=NAME, client-id=NAME or ip=ADDRESS; two together are one entity")
        ->type_name("KIND=NAME")
        ->allow_extra_args(false);
    app.add_option("--default", defaults_, "user, client-id or ip: all that have no quota of their own")
        ->type_name("KIND")
        ->allow_extra_args(false);
  }

  /// `required`: somebody must be named.
  Result<void> read(bool required) {
    BARNABAS_ASSIGN(parts_, parse());
    if (required && parts_.empty())
      return fail(ErrorKind::invalid,
                  "for whom? Add --name user=NAME, --name client-id=NAME or --default user");
    return {};
  }
  const std::vector<Part>& parts() const { return parts_; }

 private:
  Result<std::vector<Part>> parse() const {
    std::vector<Part> parts;
    for (const std::string& text : names_) {
      BARNABAS_ASSIGN(Assignment assignment, parse_assignment(text));
      parts.push_back({std::move(assignment.name), std::move(assignment.value)});
    }
    for (const std::string& kind : defaults_) parts.push_back({kind, std::nullopt});
    for (const Part& part : parts)
      if (std::ranges::find(kinds, part.kind) == kinds.end())
        return fail(ErrorKind::invalid, "\"" + part.kind + "\": expected user, client-id or ip");
    return parts;
  }

  std::vector<std::string> names_, defaults_;
  std::vector<Part> parts_;
};

template <class Entity>
std::string entity_text(const Entity& entity) {
  std::string text;
  for (const auto& part : entity)
    text += (text.empty() ? "" : ", ") + part.entity_type.str() + "=" +
            (part.entity_name ? part.entity_name->str() : "<default>");
  return text;
}

class List final : public Action {
 public:
  std::string name() const override { return "list"; }
  std::string summary() const override { return "Quotas, all of them or those of somebody"; }
  std::string example() const override { return "barnabas quota list --name user=alice"; }
  void declare(CLI::App& app) override { entity_.declare(app); }
  Result<void> read_arguments() override { return entity_.read(false); }

  Result<Answer> run(Cluster& cluster) override {
    protocol::DescribeClientQuotasRequest request;
    for (const Part& part : entity_.parts()) {
      auto& component = request.components.emplace_back();
      component.entity_type = part.kind;
      component.match_type = part.name ? 0 : 1;
      component.match = std::nullopt;
      if (part.name) component.match = *part.name;
    }
    BARNABAS_ASSIGN(const auto response, cluster.ask(request));
    if (response->error_code != 0)
      return fail(ErrorKind::invalid, error_text(response->error_code, response->error_message));
    Answer answer;
    Json rows = Json::array();
    if (response->entries) {
      for (const auto& entry : *response->entries) {
        Json entity = Json::object(), quotas = Json::object();
        for (const auto& part : entry.entity) entity[part.entity_type.str()] = json_of(part.entity_name);
        for (const auto& each : entry.values) {
          quotas[each.key.str()] = each.value;
          rows.push_back(
              {{"entity", entity_text(entry.entity)}, {"quota", each.key.str()}, {"value", each.value}});
        }
        answer.document.push_back({{"entity", std::move(entity)}, {"quotas", std::move(quotas)}});
      }
    }
    answer.table(std::move(rows), "no quotas");
    return answer;
  }

 private:
  EntityOptions entity_;
};

/// A change of one entity's quotas.
Result<Answer> alter(Cluster& cluster, const std::vector<Part>& parts,
                     std::vector<protocol::AlterClientQuotasRequest::OpData> ops) {
  protocol::AlterClientQuotasRequest request;
  auto& entry = request.entries.emplace_back();
  for (const Part& part : parts) {
    auto& each = entry.entity.emplace_back();
    each.entity_type = part.kind;
    each.entity_name = std::nullopt;
    if (part.name) each.entity_name = *part.name;
  }
  entry.ops = std::move(ops);
  BARNABAS_ASSIGN(const auto response, cluster.ask(request));
  Answer answer;
  for (const auto& each : response->entries) {
    const std::string shown = entity_text(each.entity);
    answer.outcome({{"entity", shown}}, shown, each.error_code, each.error_message);
  }
  return answer;
}

class Set final : public Action {
 public:
  std::string name() const override { return "set"; }
  std::string summary() const override { return "Limit somebody"; }
  std::string example() const override {
    return "barnabas quota set --name user=alice producer_byte_rate=1048576";
  }
  void declare(CLI::App& app) override {
    entity_.declare(app);
    app.add_option("quota", assignments_,
                   "producer_byte_rate, consumer_byte_rate (bytes a second), request_percentage, "
                   "controller_mutation_rate, connection_creation_rate (of ip)")
        ->required()
        ->type_name("NAME=NUMBER");
  }

  Result<void> read_arguments() override {
    BARNABAS_TRY(entity_.read(true));
    for (const std::string& text : assignments_) {
      BARNABAS_ASSIGN(const Assignment assignment, parse_assignment(text));
      auto& op = ops_.emplace_back();
      op.key = assignment.name;
      const char* end = assignment.value.data() + assignment.value.size();
      const auto parsed = std::from_chars(assignment.value.data(), end, op.value);
      if (parsed.ec != std::errc() || parsed.ptr != end || !std::isfinite(op.value))
        return fail(ErrorKind::invalid, text + ": expected a number behind =");
    }
    return {};
  }

  Result<Answer> run(Cluster& cluster) override { return alter(cluster, entity_.parts(), ops_); }

 private:
  EntityOptions entity_;
  std::vector<std::string> assignments_;
  std::vector<protocol::AlterClientQuotasRequest::OpData> ops_;
};

class Delete final : public Action {
 public:
  std::string name() const override { return "delete"; }
  std::string summary() const override { return "Take quotas away"; }
  std::string example() const override {
    return "barnabas quota delete --name user=alice producer_byte_rate";
  }
  void declare(CLI::App& app) override {
    entity_.declare(app);
    app.add_option("quota", quotas_, "their names")->required();
  }

  Result<void> read_arguments() override { return entity_.read(true); }

  Result<Answer> run(Cluster& cluster) override {
    std::vector<protocol::AlterClientQuotasRequest::OpData> ops;
    for (const std::string& name : quotas_) {
      auto& op = ops.emplace_back();
      op.key = name;
      op.remove = true;
    }
    return alter(cluster, entity_.parts(), std::move(ops));
  }

 private:
  EntityOptions entity_;
  std::vector<std::string> quotas_;
};

}  // namespace

std::unique_ptr<command::Command> quota_command() {
  std::vector<std::unique_ptr<Action>> actions;
  actions.push_back(std::make_unique<List>());
  actions.push_back(std::make_unique<Set>());
  actions.push_back(std::make_unique<Delete>());
  return std::make_unique<Noun>("quota", "How much users, clients and addresses may ask for",
                                std::move(actions));
}

}  // namespace barnabas::client
