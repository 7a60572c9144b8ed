#include "client/commands/config_resources.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "client/commands/rows.h"
#include "protocol/messages/describe_configs_request.h"
#include "protocol/messages/describe_configs_response.h"
#include "protocol/messages/incremental_alter_configs_request.h"
#include "protocol/messages/incremental_alter_configs_response.h"

namespace barnabas::client {
namespace {

struct Type {
  std::string_view word;
  int8_t number;
};
constexpr auto types = std::to_array<Type>({{"topic", 2},
                                            {"broker", 4},
                                            {"broker-logger", broker_logger_type},
                                            {"client-metrics", 16},
                                            {"group", 32}});
constexpr int8_t broker_type = 4;

constexpr auto sources = std::to_array<std::string_view>(
    {"unknown", "topic", "broker", "cluster", "file", "default", "logger", "client-metrics", "group"});
constexpr std::size_t from_file = 4;
constexpr std::size_t from_default = 5;

/// Settings of one broker are that broker's affair; all others can be asked for anywhere.
Result<Connection*> who_knows(Cluster& cluster, const ConfigResource& resource) {
  if ((resource.type != broker_type && resource.type != broker_logger_type) || resource.name.empty())
    return &cluster.first();
  BARNABAS_ASSIGN(const int32_t id, parse_broker_id(resource.name));
  return cluster.broker(id);
}

}  // namespace

Result<int32_t> parse_broker_id(const std::string& text) {
  int32_t id = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), id);
  if (error != std::errc() || end != text.data() + text.size() || id < 0)
    return fail(ErrorKind::invalid, "\"" + text + "\" is no broker's id; expected a number");
  return id;
}

std::optional<int8_t> config_resource_type(std::string_view word) {
  const auto* found = std::ranges::find(types, word, &Type::word);
  if (found == types.end()) return std::nullopt;
  return found->number;
}

Result<Json> read_configs(Cluster& cluster, const ConfigResource& resource,
                          const std::vector<std::string>& names, bool all) {
  protocol::DescribeConfigsRequest request;
  auto& asked = request.resources.emplace_back();
  asked.resource_type = resource.type;
  asked.resource_name = resource.name;
  asked.configuration_keys = std::nullopt;
  if (!names.empty()) asked.configuration_keys.emplace(names.begin(), names.end());
  BARNABAS_ASSIGN(Connection * broker, who_knows(cluster, resource));
  BARNABAS_ASSIGN(const auto answer, broker->call(request, cluster.deadline()));
  Json rows = Json::array();
  for (const auto& result : answer->results) {
    if (result.error_code != 0)
      return fail(ErrorKind::invalid,
                  resource.name + ": " + error_text(result.error_code, result.error_message));
    for (const auto& each : result.configs) {
      const auto source = static_cast<std::size_t>(std::max<int8_t>(each.config_source, 0));
      if (!all && names.empty() && (source == from_default || source == from_file) &&
          resource.type != broker_logger_type)
        continue;
      rows.push_back({{"name", each.name.str()},
                      {"value", each.is_sensitive ? Json() : json_of(each.value)},
                      {"source", source < sources.size() ? sources[source] : "unknown"},
                      {"read_only", each.read_only},
                      {"sensitive", each.is_sensitive}});
    }
  }
  for (const std::string& name : names)
    if (std::ranges::none_of(rows, [&](const Json& row) { return row["name"] == name; }))
      return fail(ErrorKind::not_found,
                  name + ": there is no such setting; --all shows those that there are");
  sort_rows(rows, "name");
  return rows;
}

Result<Answer> change_configs(Cluster& cluster, const ConfigResource& resource,
                              const std::vector<ConfigChange>& changes, bool dry_run) {
  protocol::IncrementalAlterConfigsRequest request;
  request.validate_only = dry_run;
  auto& asked = request.resources.emplace_back();
  asked.resource_type = resource.type;
  asked.resource_name = resource.name;
  for (const ConfigChange& change : changes) {
    auto& each = asked.configs.emplace_back();
    each.name = change.name;
    each.config_operation = change.value ? 0 : 1;
    each.value = std::nullopt;
    if (change.value) each.value = *change.value;
  }
  BARNABAS_ASSIGN(Connection * broker, who_knows(cluster, resource));
  BARNABAS_ASSIGN(const auto response, broker->call(request, cluster.deadline()));
  Answer answer;
  for (const auto& each : response->responses) {
    const std::string shown = resource.name.empty() ? "all brokers" : resource.name;
    for (const ConfigChange& change : changes) {
      if (each.error_code != 0 && &change != &changes.front()) break;  // it is one error for all
      answer.outcome({{"resource", shown},
                      {"name", change.name},
                      {"value", change.value ? Json(*change.value) : Json()}},
                     shown, each.error_code, each.error_message);
    }
  }
  if (dry_run) answer.line("nothing was changed (--dry-run)");
  return answer;
}

}  // namespace barnabas::client
