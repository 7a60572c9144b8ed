#include "broker/handlers/describe_configs.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>

#include "broker/broker_configs.h"
#include "metadata/effective_config.h"
#include "metadata/topic_name.h"

namespace barnabas::broker {
namespace {

using metadata::ConfigDefinition;
using metadata::ConfigResourceType;
using metadata::ConfigSource;
using metadata::ConfigType;
using metadata::ConfigValueAt;
using metadata::EffectiveConfig;
using metadata::MetadataImage;
using protocol::DescribeConfigsRequest;
using protocol::DescribeConfigsResponse;
using protocol::ErrorCode;
using Resource = DescribeConfigsRequest::DescribeConfigsResource;
using Answer = DescribeConfigsResponse::DescribeConfigsResult;

/// As Integer.parseInt reads it: no blanks, a plus sign is fine.
std::optional<int32_t> java_integer(std::string_view text) {
  if (text.starts_with('+') && !text.starts_with("+-")) text.remove_prefix(1);
  int32_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// A sentence on a setting, made from what is known of it.
std::string documentation_of(const ConfigDefinition& definition) {
  static constexpr const char* types[] = {"",     "boolean", "string", "int",   "short",
                                          "long", "double",  "list",   "class", "password"};
  std::string text = std::string("Type: ") + types[static_cast<std::size_t>(definition.type)] + ".";
  if (!definition.valid_values.empty())
    text += " Valid values: " + std::string(definition.valid_values) + ".";
  text += definition.default_value == nullptr
              ? " No default."
              : " Default: \"" + std::string(definition.default_value) + "\".";
  return text;
}

/// Settings that Kafka shows only when somebody has set them, and our own, which its tools do not know.
bool shown_when_set_only(const ConfigDefinition& definition) {
  static constexpr auto names = std::to_array<std::string_view>(
      {"disk.threads", "follower.replication.throttled.rate", "leader.replication.throttled.rate",
       "log.flush.before.ack", "log.open.files.max", "log.validate.contents",
       "replica.alter.log.dirs.io.max.bytes.per.second"});
  return std::ranges::find(names, definition.name) != names.end();
}

class Describer {
 public:
  Describer(const Call& call, const DescribeConfigsRequest& request, const Resource& resource, Answer& answer)
      : services_(call.services()),
        image_(services_.metadata.current()),
        request_(request),
        resource_(resource),
        answer_(answer) {}

  void run() {
    answer_.error_message = protocol::String("");
    answer_.resource_type = resource_.resource_type;
    answer_.resource_name = resource_.resource_name;
    switch (static_cast<ConfigResourceType>(resource_.resource_type)) {
      case ConfigResourceType::topic:
        return describe_topic();
      case ConfigResourceType::broker:
        return describe_broker();
      case ConfigResourceType::group:
        return describe_named(metadata::group_configs(), "Group name must not be empty");
      case ConfigResourceType::client_metrics:
        return describe_named(metadata::client_metrics_configs(),
                              "Client metrics subscription name must not be empty");
      case ConfigResourceType::broker_logger:
      case ConfigResourceType::unknown:
        break;
    }
    fail(ErrorCode::invalid_request, default_message(ErrorCode::invalid_request));
  }

 private:
  void fail(ErrorCode error, std::string_view message) {
    answer_.error_code = to_wire(error);
    answer_.error_message = protocol::String(message);
  }

  bool wanted(std::string_view name) const {
    if (!resource_.configuration_keys || resource_.configuration_keys->empty()) return true;
    return std::ranges::any_of(*resource_.configuration_keys, [&](const auto& key) { return key == name; });
  }

  void describe_topic() {
    const std::string_view topic = resource_.resource_name;
    if (const auto problem = metadata::topic_name_problem(topic))
      return fail(ErrorCode::invalid_topic_exception, *problem);
    if (image_->topic(topic) == nullptr) return fail(ErrorCode::unknown_topic_or_partition, "");
    const auto* overrides = image_->config(ConfigResourceType::topic, topic);
    for (const ConfigDefinition& definition : metadata::topic_configs()) {
      if (definition.internal || !wanted(definition.name)) continue;
      auto effective =
          metadata::effective_topic_config(definition, overrides, *image_, services_.node, services_.config);
      take_synonyms(definition, effective);
      add(definition, effective, false);
    }
  }

  /// The topic's own value, then what the first broker-level name of the setting has to show.
  void take_synonyms(const ConfigDefinition& definition, EffectiveConfig& effective) {
    auto& synonyms = effective.synonyms;
    std::erase_if(synonyms, [](const ConfigValueAt& at) { return at.source != ConfigSource::topic; });
    const ConfigDefinition* first =
        definition.synonyms.empty() ? nullptr : metadata::find_broker_config(definition.synonyms.front().name);
    if (first != nullptr) {
      auto above = effective_broker_config(*first, *image_, services_.node, services_.config);
      show_from(first->name, above);
      std::ranges::move(above.synonyms, std::back_inserter(synonyms));
    }
    effective.source = synonyms.empty() ? ConfigSource::default_config : synonyms.front().source;
  }

  /// Kafka shows, and takes the source from, what it looked at from the setting's own name on: for log.roll.hours not
  /// log.roll.ms before it, for log.retention.ms nothing while only hours have a value.
  static void show_from(std::string_view name, EffectiveConfig& effective) {
    auto& synonyms = effective.synonyms;
    const auto own = std::ranges::find_if(synonyms, [&](const ConfigValueAt& at) { return at.name == name; });
    synonyms.erase(synonyms.begin(), own);
    effective.source = synonyms.empty() ? ConfigSource::default_config : synonyms.front().source;
  }

  void describe_broker() {
    const std::string_view name = resource_.resource_name;
    if (!name.empty()) {
      const auto id = java_integer(name);
      if (!id)
        return fail(ErrorCode::invalid_request,
                    "Broker id must be an integer, but it is: " + std::string(name));
      if (*id != services_.node.value())
        return fail(ErrorCode::invalid_request, "Unexpected broker id, expected " +
                                                    std::to_string(services_.node.value()) +
                                                    " or empty string, but received " + std::string(name));
    }
    for (const ConfigDefinition& definition : metadata::broker_configs()) {
      if (definition.internal || !wanted(definition.name)) continue;
      auto effective = name.empty()
                           ? default_of_all_brokers(definition, *image_)
                           : effective_broker_config(definition, *image_, services_.node, services_.config);
      show_from(definition.name, effective);
      const bool set = effective.source != ConfigSource::default_config;
      const bool asked = resource_.configuration_keys && !resource_.configuration_keys->empty();
      if (!set && !asked && (name.empty() || shown_when_set_only(definition))) continue;
      if (!name.empty() || effective.value)
        add(definition, effective, definition.update_mode == metadata::UpdateMode::read_only);
    }
  }

  void describe_named(std::span<const ConfigDefinition> table, std::string_view empty_name) {
    if (resource_.resource_name.empty()) return fail(ErrorCode::invalid_request, empty_name);
    const auto type = static_cast<ConfigResourceType>(resource_.resource_type);
    for (const ConfigDefinition& definition : table) {
      if (definition.internal || !wanted(definition.name)) continue;
      const auto* overrides = image_->config(type, resource_.resource_name);
      const auto effective =
          metadata::effective_topic_config(definition, overrides, *image_, services_.node, services_.config);
      add(definition, effective, false);
    }
  }

  void add(const ConfigDefinition& definition, const EffectiveConfig& effective, bool read_only) {
    const bool sensitive = definition.type == ConfigType::password;
    auto& entry = answer_.configs.emplace_back();
    entry.name = protocol::String::view_of(definition.name);
    entry.value = shown(effective.value, sensitive);
    entry.read_only = read_only;
    entry.config_source = static_cast<int8_t>(effective.source);
    entry.is_sensitive = sensitive;
    entry.config_type = static_cast<int8_t>(definition.type);
    entry.documentation = std::nullopt;
    if (request_.include_documentation) entry.documentation = protocol::String(documentation_of(definition));
    if (!request_.include_synonyms) return;
    for (const ConfigValueAt& at : effective.synonyms) {
      auto& synonym = entry.synonyms.emplace_back();
      synonym.name = protocol::String(at.name);
      synonym.value = shown(at.value, sensitive);
      synonym.source = static_cast<int8_t>(at.source);
    }
  }

  static std::optional<protocol::String> shown(const std::optional<std::string>& value, bool sensitive) {
    if (!value || sensitive) return std::nullopt;
    return protocol::String(*value);
  }

  const Services& services_;
  const metadata::MetadataImagePtr image_;
  const DescribeConfigsRequest& request_;
  const Resource& resource_;
  Answer& answer_;
};

}  // namespace

DescribeConfigsResponse DescribeConfigsHandler::handle(Call& call, const Request& request) {
  DescribeConfigsResponse response;
  for (const Resource& resource : request.resources)
    Describer(call, request, resource, response.results.emplace_back()).run();
  return response;
}

}  // namespace barnabas::broker
