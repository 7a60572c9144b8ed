#pragma once

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/call.h"
#include "cluster/api_error.h"
#include "metadata/image.h"
#include "security/tls_settings.h"

/// What AlterConfigs and IncrementalAlterConfigs have in common: the broker looks at each resource first,
/// answers for some of them itself, and hands the others to the controller.
namespace barnabas::broker {

using Problem = std::optional<cluster::ApiError>;

/// The names that this broker's settings are asked for by: "" for all brokers, or its id in any spelling;
/// else why not.
Problem broker_resource_problem(std::string_view name, NodeId node);

/// Rules for the resources of one request, by position. The second and later ones of the same name are no
/// better than the first.
template <class Request>
std::vector<bool> repeated_resources(const Request& request) {
  std::map<std::pair<int8_t, std::string_view>, int> counts;
  const auto key_of = [](const auto& resource) {
    return std::pair(resource.resource_type, resource.resource_name.view());
  };
  for (const auto& resource : request.resources) ++counts[key_of(resource)];
  std::vector<bool> repeated;
  for (const auto& resource : request.resources) repeated.push_back(counts[key_of(resource)] > 1);
  return repeated;
}

/// Keys that are there twice, and values that are missing although `needs_value`.
template <class Configs, class NeedsValue>
Problem config_entries_problem(const Configs& configs, NeedsValue needs_value) {
  std::set<std::string_view> names;
  for (const auto& config : configs)
    if (!names.insert(config.name.view()).second)
      return cluster::ApiError{protocol::ErrorCode::invalid_request, "Error due to duplicate config keys"};
  std::string nulls;
  for (const auto& config : configs)
    if (!config.value && needs_value(config)) nulls += (nulls.empty() ? "" : ", ") + config.name.str();
  if (nulls.empty()) return std::nullopt;
  return cluster::ApiError{protocol::ErrorCode::invalid_request, "Null value not supported for : " + nulls};
}

/// The rights that one of the APIs asks for, by kind of resource; loggers and client metrics are the
/// cluster's.
struct AlterRights {
  Right cluster;
  Right topic;
  Right group;
};
/// Nothing: the sender may alter the resource, or there is no such kind.
Problem alteration_denied(const Rights& rights, int8_t type, std::string_view name, const AlterRights& which);

/// Checks the settings that a broker resource would have. With `names_stores` the key stores of listeners are
/// read as well, also when the settings stay the same: what they name may have changed.
Problem broker_configs_problem(const Services& services, std::string_view resource,
                               const std::map<std::string, std::string, std::less<>>& values,
                               bool names_stores);

/// Whether one of the settings is about the key stores or trust stores of a listener.
template <class Configs>
bool names_stores(const Configs& configs) {
  return std::ranges::any_of(
      configs, [](const auto& config) { return security::is_store_setting(config.name.view()); });
}

/// Goes on with `work(call, request)`: on the disk pool when stores have to be read for it, else here.
template <class Request, class Work>
void decide_where_it_may_wait(Call call, Request request, Work work) {
  const bool reads = call.services().listener_stores != nullptr &&
                     std::ranges::any_of(request.resources,
                                         [](const auto& resource) { return names_stores(resource.configs); });
  if (!reads) return work(std::move(call), std::move(request));
  io::DiskPool& pool = call.services().disk_pool;
  // A refused submission destroys the call, which closes the connection: the pool is full or shut down.
  (void)pool.submit([call = std::move(call), request = std::move(request), work]() mutable {
    work(std::move(call), std::move(request));
  });
}

/// One line for each setting that was accepted and does nothing here.
void warn_without_effect(metadata::ConfigResourceType type, std::string_view resource,
                         const std::vector<std::string_view>& names);

/// What the broker has decided by itself, by position; nothing: the controller's turn.
using Decisions = std::vector<std::optional<Problem>>;

/// The request without what was decided. Brokers are named by their id in its usual spelling, since what is
/// stored under another would never be looked up.
template <class Request>
Request undecided(const Request& request, const Decisions& decisions, NodeId node) {
  Request rest;
  rest.validate_only = request.validate_only;
  for (std::size_t i = 0; i < request.resources.size(); ++i) {
    if (decisions[i]) continue;
    auto& resource = rest.resources.emplace_back(request.resources[i]);
    if (static_cast<metadata::ConfigResourceType>(resource.resource_type) ==
            metadata::ConfigResourceType::broker &&
        !resource.resource_name.view().empty())
      resource.resource_name = protocol::String(std::to_string(node.value()));
  }
  return rest;
}

/// One answer for each resource of the request, in its order: the broker's, or the controller's next one.
template <class Response, class Request>
Response all_answers(const Request& request, const Decisions& decisions, const Response& controllers) {
  Response response;
  auto next = controllers.responses.begin();
  for (std::size_t i = 0; i < request.resources.size(); ++i) {
    auto& answer = response.responses.emplace_back();
    answer.error_message.reset();
    if (decisions[i]) {
      if (*decisions[i]) set_error(answer, **decisions[i]);
    } else {
      if (next == controllers.responses.end())
        set_error(answer, cluster::ApiError::plain(protocol::ErrorCode::unknown_server_error));
      else
        answer = *next++;
    }
    answer.resource_type = request.resources[i].resource_type;
    answer.resource_name = request.resources[i].resource_name;
  }
  return response;
}

}  // namespace barnabas::broker
