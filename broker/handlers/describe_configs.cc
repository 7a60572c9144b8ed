#include "broker/handlers/describe_configs.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <set>

#include "base/log.h"
#include "broker/handlers/config_resources.h"
#include "metadata/config_definitions.h"
#include "metadata/dynamic_broker_config.h"
#include "metadata/effective_broker_config.h"
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

/// Settings that Kafka shows only when somebody has set them, and our own, which its tools do not know.
bool shown_when_set_only(const ConfigDefinition& definition) {
  static constexpr auto names = std::to_array<std::string_view>(
      {"disk.threads", "follower.replication.throttled.rate", "http.listeners",
       "leader.replication.throttled.rate", "log.flush.before.ack", "log.open.files.max",
       "log.validate.contents", "logger.format", "metrics.partitions.max",
       "replica.alter.log.dirs.io.max.bytes.per.second"});
  return std::ranges::find(names, definition.name) != names.end();
}

class Describer {
 public:
  Describer(const Call& call, const DescribeConfigsRequest& request, const Resource& resource, Answer& answer)
      : services_(call.services()),
        image_(services_.metadata.current()),
        rights_(call.rights()),
        request_(request),
        resource_(resource),
        answer_(answer) {}

  void run() {
    answer_.error_message = protocol::String("");
    answer_.resource_type = resource_.resource_type;
    answer_.resource_name = resource_.resource_name;
    const auto type = static_cast<ConfigResourceType>(resource_.resource_type);
    if (const auto denied = denied_for(type)) return fail(*denied, default_message(*denied));
    switch (type) {
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
        return describe_loggers();
      case ConfigResourceType::unknown:
        break;
    }
    fail(ErrorCode::invalid_request, default_message(ErrorCode::invalid_request));
  }

 private:
  std::optional<ErrorCode> denied_for(ConfigResourceType type) const {
    const auto unless = [](Right right, bool allowed) -> std::optional<ErrorCode> {
      if (allowed) return std::nullopt;
      return authorization_failed(right);
    };
    const std::string_view name = resource_.resource_name;
    switch (type) {
      case ConfigResourceType::topic:
        return unless(Right::describe_configs_topic, rights_.may(Right::describe_configs_topic, name));
      case ConfigResourceType::group:
        return unless(Right::describe_configs_group, rights_.may(Right::describe_configs_group, name));
      case ConfigResourceType::unknown:
        return std::nullopt;
      default:
        return unless(Right::describe_configs_cluster, rights_.may(Right::describe_configs_cluster));
    }
  }

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
      if (!wanted(definition.name) || (definition.internal && !is_set(overrides, definition.name))) continue;
      auto effective =
          metadata::effective_topic_config(definition, overrides, *image_, services_.node, services_.config);
      take_synonyms(definition, effective);
      add(definition, effective, false);
    }
  }

  /// Internal settings are shown to those who set them.
  static bool is_set(const metadata::ConfigImage* values, std::string_view name) {
    return values != nullptr && values->values.contains(name);
  }

  /// The topic's own value, then what the first broker-level name of the setting has to show.
  void take_synonyms(const ConfigDefinition& definition, EffectiveConfig& effective) {
    auto& synonyms = effective.synonyms;
    std::erase_if(synonyms, [](const ConfigValueAt& at) { return at.source != ConfigSource::topic; });
    const ConfigDefinition* first = definition.synonyms.empty()
                                        ? nullptr
                                        : metadata::find_broker_config(definition.synonyms.front().name);
    if (first != nullptr) {
      auto above = effective_broker_config(*first, *image_, services_.node, services_.config);
      show_from(first->name, above);
      std::ranges::move(above.synonyms, std::back_inserter(synonyms));
    }
    effective.source = synonyms.empty() ? ConfigSource::default_config : synonyms.front().source;
  }

  /// Kafka shows, and takes the source from, what it looked at from the setting's own name on: for
  /// log.roll.hours not log.roll.ms before it, for log.retention.ms nothing while only hours have a value.
  static void show_from(std::string_view name, EffectiveConfig& effective) {
    auto& synonyms = effective.synonyms;
    const auto own = std::ranges::find_if(synonyms, [&](const ConfigValueAt& at) { return at.name == name; });
    synonyms.erase(synonyms.begin(), own);
    effective.source = synonyms.empty() ? ConfigSource::default_config : synonyms.front().source;
  }

  /// Else the answer is an error; `or_else` follows the id that was expected.
  bool is_this_broker(std::string_view name, std::string_view or_else) {
    const auto id = metadata::java_integer(name);
    if (id && *id == services_.node.value()) return true;
    fail(ErrorCode::invalid_request, id ? "Unexpected broker id, expected " +
                                              std::to_string(services_.node.value()) + std::string(or_else) +
                                              " but received " + std::string(name)
                                        : "Broker id must be an integer, but it is: " + std::string(name));
    return false;
  }

  void describe_broker() {
    const std::string_view name = resource_.resource_name;
    if (!name.empty() && !is_this_broker(name, " or empty string,")) return;
    for (const ConfigDefinition& definition : metadata::broker_configs())
      if (wanted(definition.name)) describe_broker_setting(definition, name.empty());
    describe_unlisted(name.empty());
  }

  void describe_broker_setting(const ConfigDefinition& definition, bool of_all_brokers) {
    auto effective = of_all_brokers
                         ? metadata::default_of_all_brokers(definition, *image_)
                         : effective_broker_config(definition, *image_, services_.node, services_.config);
    show_from(definition.name, effective);
    const bool set = effective.source != ConfigSource::default_config;
    const bool asked = resource_.configuration_keys && !resource_.configuration_keys->empty();
    if (!set && (definition.internal || (!asked && (of_all_brokers || shown_when_set_only(definition)))))
      return;
    if (of_all_brokers && !effective.value) return;
    add(definition, effective, definition.update_mode == metadata::UpdateMode::read_only);
  }

  /// Settings that were set under names that no table has: a listener's own ("listener.name.…"), a plug-in's.
  /// Only the former can be known not to be secret.
  void describe_unlisted(bool of_all_brokers) {
    const auto* own =
        of_all_brokers ? nullptr
                       : image_->config(ConfigResourceType::broker, std::to_string(services_.node.value()));
    const auto* all = image_->config(ConfigResourceType::broker, "");
    std::set<std::string_view> names;
    const auto collect = [&](const auto& values) {
      for (const auto& [name, value] : values)
        if (metadata::find_broker_config(name) == nullptr && wanted(name)) names.insert(name);
    };
    if (own != nullptr) collect(own->values);
    if (all != nullptr) collect(all->values);
    if (!of_all_brokers) collect(services_.config.all_given());
    for (const std::string_view name : names) add_unlisted(name, of_all_brokers);
  }

  void add_unlisted(std::string_view name, bool of_all_brokers) {
    const ConfigDefinition* base = metadata::find_broker_config(metadata::without_listener_prefix(name));
    EffectiveConfig effective;
    const auto take = [&](std::string_view key, const std::optional<std::string_view>& value,
                          ConfigSource source) {
      if (value) effective.synonyms.push_back({std::string(key), std::string(*value), source});
    };
    const std::string own = std::to_string(services_.node.value());
    if (!of_all_brokers)
      take(name, image_->config_value(ConfigResourceType::broker, own, name), ConfigSource::dynamic_broker);
    take(name, image_->config_value(ConfigResourceType::broker, "", name),
         ConfigSource::dynamic_default_broker);
    if (const auto* given = of_all_brokers ? nullptr : services_.config.given(name))
      take(name, given->value, ConfigSource::static_broker);
    if (effective.synonyms.empty()) return;
    effective.value = effective.synonyms.front().value;
    effective.source = effective.synonyms.front().source;
    if (base != nullptr && !of_all_brokers) {
      const auto shared = effective_broker_config(*base, *image_, services_.node, services_.config);
      effective.synonyms.insert(effective.synonyms.end(), shared.synonyms.begin(), shared.synonyms.end());
    }
    ConfigDefinition definition = base != nullptr ? *base : ConfigDefinition{};
    definition.name = name;
    add(definition, effective, true, base == nullptr);
  }

  void describe_named(std::span<const ConfigDefinition> table, std::string_view empty_name) {
    if (resource_.resource_name.empty()) return fail(ErrorCode::invalid_request, empty_name);
    const auto type = static_cast<ConfigResourceType>(resource_.resource_type);
    const auto* overrides = image_->config(type, resource_.resource_name);
    for (const ConfigDefinition& definition : table) {
      if (!wanted(definition.name) || (definition.internal && !is_set(overrides, definition.name))) continue;
      auto effective =
          metadata::effective_topic_config(definition, overrides, *image_, services_.node, services_.config);
      // No broker has a say in subscriptions, so Kafka lists no defaults for them.
      if (type == ConfigResourceType::client_metrics)
        std::erase_if(effective.synonyms,
                      [](const ConfigValueAt& at) { return at.source == ConfigSource::default_config; });
      add(definition, effective, false);
    }
  }

  void describe_loggers() {
    const std::string_view name = resource_.resource_name;
    if (name.empty()) return fail(ErrorCode::invalid_request, "Broker id must not be empty");
    if (!is_this_broker(name, "")) return;
    for (const LoggerState& logger : logger_states()) {
      if (!wanted(logger.name)) continue;
      auto& entry = answer_.configs.emplace_back();
      entry.name = protocol::String::view_of(logger.name);
      entry.value = protocol::String::view_of(log_level_name(logger.level));
      entry.config_source = static_cast<int8_t>(ConfigSource::broker_logger);
      entry.documentation = protocol::String("");
    }
  }

  void add(const ConfigDefinition& definition, const EffectiveConfig& effective, bool read_only,
           bool unknown = false) {
    const bool sensitive = unknown || definition.type == ConfigType::password;
    auto& entry = answer_.configs.emplace_back();
    entry.name = protocol::String(definition.name);
    entry.value = shown(effective.value, sensitive);
    entry.read_only = read_only;
    entry.config_source = static_cast<int8_t>(effective.source);
    entry.is_sensitive = sensitive;
    entry.config_type = unknown ? int8_t{0} : static_cast<int8_t>(definition.type);
    entry.documentation = std::nullopt;
    if (request_.include_documentation && !unknown)
      entry.documentation = protocol::String::view_of(definition.documentation);
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
  const Rights rights_;
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
