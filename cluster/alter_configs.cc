// IncrementalAlterConfigs (44) and AlterConfigs (33), the controller's part: rules and texts as Apache
// Kafka 4.4 has them.

#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "cluster/api_error.h"
#include "cluster/local_controller.h"
#include "metadata/config_definitions.h"
#include "metadata/resource_configs.h"
#include "metadata/topic_name.h"
#include "protocol/messages/clear_elr_record.h"
#include "protocol/messages/config_record.h"

namespace barnabas::cluster {
namespace {

using metadata::ConfigDefinition;
using metadata::ConfigImage;
using metadata::ConfigResourceType;
using metadata::ConfigType;
using metadata::MetadataImage;
using protocol::ErrorCode;
using Problem = std::optional<ApiError>;

constexpr std::string_view min_isr = "min.insync.replicas";

/// The changes of one resource: a value, or none for what goes.
using Changes = std::map<std::string, std::optional<std::string>, std::less<>>;

ApiError invalid_request(std::string message) {
  return {ErrorCode::invalid_request, std::move(message)};
}
ApiError invalid_config(std::string message) {
  return {ErrorCode::invalid_config, std::move(message)};
}

std::vector<std::string> parts_of(std::string_view list) {
  std::vector<std::string> parts;
  for (;;) {
    const auto comma = list.find(',');
    parts.emplace_back(list.substr(0, comma));
    if (comma == list.npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

std::string joined(const std::vector<std::string>& parts) {
  std::string list;
  for (std::size_t i = 0; i < parts.size(); ++i) list += (i == 0 ? "" : ",") + parts[i];
  return list;
}

/// Brokers of this id or the cluster-wide default may have settings; a name that is no number has no broker.
Problem broker_name_problem(std::string_view name, const MetadataImage& image) {
  if (name.empty()) return std::nullopt;
  int32_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc() || end != name.data() + name.size())
    return invalid_request("Unable to parse broker name as a base 10 number.");
  if (id < 0) return invalid_request("Invalid negative broker ID.");
  if (image.broker(NodeId{id}) == nullptr)
    return ApiError{ErrorCode::broker_id_not_registered,
                    "No broker with id " + std::to_string(id) + " found."};
  return std::nullopt;
}

/// One resource of a request, whichever of the two APIs it came by.
class ResourceChange {
 public:
  ResourceChange(metadata::ConfigResource resource, const MetadataImage& image,
                 const LocalControllerOptions& options)
      : resource_(std::move(resource)), image_(image), options_(options) {
    if (const ConfigImage* current = image.config(resource_.type, resource_.name)) before_ = current->values;
  }

  const auto& before() const { return before_; }
  bool is_broker() const { return resource_.type == ConfigResourceType::broker; }

  /// The list that `key` holds, or would hold by default, with the items of `value` added or taken away.
  std::expected<std::string, ApiError> changed_list(std::string_view key, std::string_view value,
                                                    bool append) const {
    const ConfigDefinition* definition = is_broker() ? metadata::find_broker_config(key)
                                         : resource_.type == ConfigResourceType::topic
                                             ? metadata::find_topic_config(key)
                                             : nullptr;
    if (definition == nullptr || definition->type != ConfigType::list)
      return std::unexpected(invalid_config(std::string("Can't ") + (append ? "APPEND" : "SUBTRACT") +
                                            " to key " + std::string(key) +
                                            " because its type is not LIST."));
    std::string_view current = definition->default_value == nullptr ? "" : definition->default_value;
    if (const auto found = before_.find(key); found != before_.end()) current = found->second;
    auto parts = parts_of(current);
    std::erase(parts, "");
    for (std::string& part : parts_of(value)) {
      const auto at = std::ranges::find(parts, part);
      if (append && at == parts.end()) parts.push_back(std::move(part));
      if (!append && at != parts.end()) parts.erase(at);
    }
    return joined(parts);
  }

  /// Adds the records, or says why not.
  Problem apply(const Changes& changes, metadata::RecordList& records) const {
    if (auto problem = min_isr_problem(changes)) return problem;
    ConfigImage after{resource_, before_};
    for (const auto& [name, value] : changes) {
      if (value) {
        after.values.insert_or_assign(name, *value);
      } else {
        after.values.erase(name);
      }
    }
    if (auto problem = validate(after)) return problem;
    add_records(changes, records);
    return std::nullopt;
  }

 private:
  bool elr_enabled() const {
    const auto found = image_.features.find("eligible.leader.replicas.version");
    return found != image_.features.end() && found->second > 0;
  }

  /// Eligible leader replicas are chosen under one min.insync.replicas for all brokers.
  Problem min_isr_problem(const Changes& changes) const {
    const auto found = changes.find(min_isr);
    if (!is_broker() || !elr_enabled() || found == changes.end()) return std::nullopt;
    if (!resource_.name.empty())
      return invalid_config("Broker-level min.insync.replicas cannot be altered while ELR is enabled.");
    if (!found->second)
      return invalid_config("Cluster-level min.insync.replicas cannot be removed while ELR is enabled.");
    return std::nullopt;
  }

  Problem validate(const ConfigImage& after) const {
    switch (resource_.type) {
      case ConfigResourceType::topic:
        return validate_topic(after);
      case ConfigResourceType::broker:
        return broker_name_problem(resource_.name, image_);
      case ConfigResourceType::group:
        if (resource_.name.empty()) return invalid_request("Default group resources are not allowed.");
        if (auto valid =
                metadata::validate_group_configs(after, image_, options_.node_id, *options_.static_config);
            !valid)
          return invalid_config(std::move(valid).error().message);
        return std::nullopt;
      case ConfigResourceType::client_metrics:
        if (resource_.name.empty()) return invalid_request("Subscription name can't be empty");
        if (auto valid = metadata::validate_client_metrics_configs(after); !valid)
          return ApiError{valid.error().kind == ErrorKind::unsupported ? ErrorCode::invalid_request
                                                                       : ErrorCode::invalid_config,
                          std::move(valid).error().message};
        return std::nullopt;
      case ConfigResourceType::broker_logger:
      case ConfigResourceType::unknown:
        break;
    }
    return invalid_request("Unknown resource type " + std::to_string(static_cast<int>(resource_.type)));
  }

  Problem validate_topic(const ConfigImage& after) const {
    if (resource_.name.empty()) return invalid_request("Default topic resources are not allowed.");
    if (auto problem = metadata::topic_name_problem(resource_.name))
      return ApiError{ErrorCode::invalid_topic_exception, std::move(problem)};
    if (auto valid =
            metadata::validate_topic_configs(after, image_, options_.node_id, *options_.static_config);
        !valid)
      return invalid_config(std::move(valid).error().message);
    if (image_.topic(resource_.name) == nullptr)
      return ApiError{ErrorCode::unknown_topic_or_partition,
                      "The topic '" + resource_.name + "' does not exist."};
    return std::nullopt;
  }

  void add_records(const Changes& changes, metadata::RecordList& records) const {
    bool min_isr_changed = false;
    for (const auto& [name, value] : changes) {
      const auto current = before_.find(name);
      const bool same = current == before_.end() ? !value : value == current->second;
      // A broker takes its settings anew even when they are the same: what they point to may have changed.
      if (same && !is_broker()) continue;
      protocol::ConfigRecord record;
      record.resource_type = static_cast<int8_t>(resource_.type);
      record.resource_name = resource_.name;
      record.name = name;
      record.value.reset();
      if (value) record.value = protocol::String(*value);
      records.add(record);
      min_isr_changed |= name == min_isr;
    }
    if (!min_isr_changed || !elr_enabled()) return;
    if (resource_.type != ConfigResourceType::topic && !is_broker()) return;
    protocol::ClearElrRecord clear;
    if (!is_broker()) clear.topic_name = resource_.name;
    records.add(clear);
  }

  const metadata::ConfigResource resource_;
  const MetadataImage& image_;
  const LocalControllerOptions& options_;
  std::map<std::string, std::string, std::less<>> before_;
};

enum class Operation : int8_t { set = 0, remove = 1, append = 2, subtract = 3 };

Problem changes_of(const protocol::IncrementalAlterConfigsRequest::AlterConfigsResource& resource,
                   const ResourceChange& change, Changes& changes) {
  for (const auto& config : resource.configs) {
    const std::string name = config.name.str();
    const auto operation = static_cast<Operation>(config.config_operation);
    if (operation == Operation::remove) {
      changes[name] = std::nullopt;
      continue;
    }
    if (!config.value) return invalid_request("Null value not supported for : " + name);
    switch (operation) {
      case Operation::set:
        changes[name] = config.value->str();
        break;
      case Operation::append:
      case Operation::subtract: {
        auto list = change.changed_list(name, config.value->view(), operation == Operation::append);
        if (!list) return std::move(list).error();
        changes[name] = std::move(*list);
        break;
      }
      case Operation::remove:
      default:
        return invalid_request("Unknown operations type " + std::to_string(config.config_operation));
    }
  }
  return std::nullopt;
}

/// A full replacement: what is set and not named goes.
Problem changes_of(const protocol::AlterConfigsRequest::AlterConfigsResource& resource,
                   const ResourceChange& change, Changes& changes) {
  for (const auto& [name, value] : change.before()) changes[name] = std::nullopt;
  for (const auto& config : resource.configs) {
    if (!config.value) return invalid_request("Null value not supported for : " + config.name.str());
    changes[config.name.str()] = config.value->str();
  }
  return std::nullopt;
}

template <class Response, class Request>
Outcome<Response> alter(const Request& request, const ControllerState& state,
                        const LocalControllerOptions& options) {
  Outcome<Response> outcome;
  std::map<std::pair<int8_t, std::string_view>, int> counts;
  for (const auto& resource : request.resources)
    ++counts[{resource.resource_type, resource.resource_name.view()}];
  for (const auto& resource : request.resources) {
    ResourceChange change(
        {static_cast<ConfigResourceType>(resource.resource_type), resource.resource_name.str()}, state.image,
        options);
    Changes changes;
    Problem problem;
    if (counts[{resource.resource_type, resource.resource_name.view()}] > 1) {
      problem = invalid_request("Each resource must appear at most once.");
    } else {
      problem = changes_of(resource, change, changes);
      if (!problem) problem = change.apply(changes, outcome.records);
    }
    auto& answer = outcome.response.responses.emplace_back();
    answer.resource_type = resource.resource_type;
    answer.resource_name = resource.resource_name;
    answer.error_message.reset();
    if (problem) set_error(answer, *problem);
  }
  if (request.validate_only) outcome.records = {};
  return outcome;
}

}  // namespace

Outcome<protocol::IncrementalAlterConfigsResponse> LocalController::incremental_alter_configs(
    const protocol::IncrementalAlterConfigsRequest& request, const ControllerState& state) const {
  return alter<protocol::IncrementalAlterConfigsResponse>(request, state, options_);
}

Outcome<protocol::AlterConfigsResponse> LocalController::alter_configs(
    const protocol::AlterConfigsRequest& request, const ControllerState& state) const {
  return alter<protocol::AlterConfigsResponse>(request, state, options_);
}

}  // namespace barnabas::cluster
