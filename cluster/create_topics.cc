// CreateTopics (19): rules, their order and texts as Apache Kafka 4.4 has them.

#include <algorithm>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "cluster/local_controller.h"
#include "cluster/placement.h"
#include "metadata/record_versions.h"
#include "metadata/topic_name.h"
#include "protocol/messages/clear_elr_record.h"
#include "protocol/messages/config_record.h"
#include "protocol/messages/topic_record.h"

namespace barnabas::cluster {
namespace {

using metadata::MetadataImage;
using protocol::ErrorCode;
using Request = protocol::CreateTopicsRequest;
using Response = protocol::CreateTopicsResponse;
using Item = Request::CreatableTopic;
using Answer = Response::CreatableTopicResult;

template <class T>
using Checked = std::expected<T, ApiError>;

std::unexpected<ApiError> refuse(ErrorCode code, std::string message) {
  return std::unexpected(ApiError{code, std::move(message)});
}

class TopicCreation {
 public:
  TopicCreation(const LocalControllerOptions& options, const ControllerState& state,
                metadata::RecordList& records)
      : options_(options), state_(state), image_(state.image), records_(records) {}

  int32_t default_partitions() const {
    return static_cast<int32_t>(options_.static_config->integer("num.partitions"));
  }

  Checked<Answer> create(const Item& topic) {
    if (auto problem = name_problem(topic.name)) return std::unexpected(std::move(*problem));
    auto configs = checked_configs(topic);
    if (!configs) return std::unexpected(std::move(configs).error());
    auto placements = topic.assignments.empty() ? automatic(topic) : manual(topic);
    if (!placements) return std::unexpected(std::move(placements).error());
    if (auto problem = quota_problem(state_, static_cast<int64_t>(placements->size())))
      return std::unexpected(std::move(*problem));
    const Uuid id = options_.new_id();
    note_name(topic.name);
    add_records(id, *configs, *placements);
    return answer(id, *configs, *placements);
  }

 private:
  std::optional<ApiError> name_problem(std::string_view name) const {
    const std::string text(name);
    if (image_.topic(name) != nullptr)
      return ApiError{ErrorCode::topic_already_exists, "Topic '" + text + "' already exists."};
    if (auto problem = metadata::topic_name_problem(name))
      return ApiError{ErrorCode::invalid_topic_exception, std::move(problem)};
    if (!metadata::has_collision_character(name)) return std::nullopt;
    const std::string normalized = metadata::normalized_topic_name(name);
    std::string other;
    if (const auto* known = image_.colliding_names.find(normalized)) other = (*known)->names.front();
    if (auto found = new_names_.find(normalized); found != new_names_.end()) other = found->second;
    if (other.empty()) return std::nullopt;
    return ApiError{ErrorCode::invalid_topic_exception,
                    "Topic '" + text + "' collides with existing topic: " + other};
  }

  void note_name(std::string_view name) {
    if (metadata::has_collision_character(name))
      new_names_.emplace(metadata::normalized_topic_name(name), std::string(name));
  }

  Checked<metadata::ConfigImage> checked_configs(const Item& topic) const {
    metadata::ConfigImage configs{{metadata::ConfigResourceType::topic, topic.name.str()}, {}};
    std::string nulls;
    for (const auto& config : topic.configs) {
      if (config.value) {
        configs.values.insert_or_assign(config.name.str(), config.value->str());
      } else {
        nulls += (nulls.empty() ? "" : ",") + config.name.str();
      }
    }
    if (!nulls.empty())
      return refuse(ErrorCode::invalid_config, "Null value not supported for topic configs: " + nulls);
    if (configs.values.empty()) return configs;
    auto valid = metadata::validate_topic_configs(configs, image_, options_.node_id, *options_.static_config);
    if (!valid) return refuse(ErrorCode::invalid_config, std::move(valid).error().message);
    return configs;
  }

  Checked<std::vector<Placement>> manual(const Item& topic) const {
    if (topic.replication_factor != -1)
      return refuse(ErrorCode::invalid_request,
                    "A manual partition assignment was specified, but replication factor was not set to -1.");
    if (topic.num_partitions != -1)
      return refuse(ErrorCode::invalid_request,
                    "A manual partition assignment was specified, but numPartitions was not set to -1.");
    std::unordered_map<int32_t, Placement> by_partition;
    std::optional<std::size_t> factor;
    for (const auto& assignment : topic.assignments) {
      const int32_t partition = assignment.partition_index;
      if (by_partition.contains(partition))
        return refuse(
            ErrorCode::invalid_replica_assignment,
            "Found multiple manual partition assignments for partition " + std::to_string(partition));
      auto placement = check_manual_placement(assignment.broker_ids, partition, factor, image_);
      if (!placement) return std::unexpected(std::move(placement).error());
      factor = assignment.broker_ids.size();
      by_partition.emplace(partition, std::move(*placement));
    }
    std::vector<Placement> placements;
    for (int32_t i = 0; i < static_cast<int32_t>(by_partition.size()); ++i) {
      auto found = by_partition.find(i);
      if (found == by_partition.end())
        return refuse(ErrorCode::invalid_replica_assignment,
                      "partitions should be a consecutive 0-based integer sequence");
      placements.push_back(std::move(found->second));
    }
    return placements;
  }

  Checked<std::vector<Placement>> automatic(const Item& topic) const {
    if (topic.replication_factor < -1 || topic.replication_factor == 0)
      return refuse(ErrorCode::invalid_replication_factor,
                    "Replication factor must be larger than 0, or -1 to use the default value.");
    if (topic.num_partitions < -1 || topic.num_partitions == 0)
      return refuse(ErrorCode::invalid_partitions,
                    "Number of partitions was set to an invalid non-positive value.");
    const int32_t partitions = topic.num_partitions == -1 ? default_partitions() : topic.num_partitions;
    const auto factor =
        topic.replication_factor == -1
            ? static_cast<int16_t>(options_.static_config->integer("default.replication.factor"))
            : topic.replication_factor;
    return place(0, partitions, factor, image_);
  }

  void add_records(const Uuid& id, const metadata::ConfigImage& configs,
                   const std::vector<Placement>& placements) {
    protocol::TopicRecord topic;
    topic.name = configs.resource.name;
    topic.topic_id = id;
    records_.add(topic);
    for (const auto& [name, value] : configs.values) {
      protocol::ConfigRecord record;
      record.resource_type = static_cast<int8_t>(configs.resource.type);
      record.resource_name = configs.resource.name;
      record.name = name;
      record.value = protocol::String(value);
      records_.add(record);
    }
    // Eligible leader replicas were chosen under another min.insync.replicas; a new topic has none, but Kafka
    // says so.
    const auto elr = image_.features.find("eligible.leader.replicas.version");
    if (elr != image_.features.end() && configs.values.contains("min.insync.replicas")) {
      protocol::ClearElrRecord record;
      record.topic_name = configs.resource.name;
      records_.add(record);
    }
    const int16_t version = metadata::partition_record_version(image_.metadata_version());
    for (std::size_t i = 0; i < placements.size(); ++i)
      records_.add(new_partition_record(id, static_cast<int32_t>(i), placements[i], image_), version);
  }

  Answer answer(const Uuid& id, const metadata::ConfigImage& configs,
                const std::vector<Placement>& placements) const {
    Answer answer;
    answer.name = configs.resource.name;
    answer.topic_id = id;
    answer.error_message.reset();
    answer.num_partitions = static_cast<int32_t>(placements.size());
    answer.replication_factor = static_cast<int16_t>(placements.front().replicas.size());
    answer.configs.emplace();
    for (const auto& definition : metadata::topic_configs()) {
      if (definition.internal && !configs.values.contains(definition.name)) continue;
      const auto effective = metadata::effective_topic_config(definition, &configs, image_, options_.node_id,
                                                              *options_.static_config);
      auto& config = answer.configs->emplace_back();
      config.name = definition.name;
      config.value.reset();
      if (effective.value) config.value = protocol::String(*effective.value);
      if (const auto own = configs.values.find(definition.name); own != configs.values.end())
        config.value = protocol::String(own->second);  // as it was given
      config.read_only = false;
      config.config_source = static_cast<int8_t>(effective.source);
      config.is_sensitive = definition.type == metadata::ConfigType::password;
    }
    return answer;
  }

  const LocalControllerOptions& options_;
  const ControllerState& state_;
  const MetadataImage& image_;
  metadata::RecordList& records_;
  std::unordered_map<std::string, std::string> new_names_;  ///< normalized name -> name, of this request
};

Answer refusal(std::string_view name, const ApiError& error) {
  Answer answer;
  answer.name = name;
  set_error(answer, error);
  answer.num_partitions = -1;
  answer.replication_factor = -1;
  answer.configs.emplace();
  return answer;
}

bool too_many_partitions(const Request& request, int32_t default_partitions) {
  int64_t total = 0;
  for (const auto& topic : request.topics) {
    if (!topic.assignments.empty()) {
      total += static_cast<int64_t>(topic.assignments.size());
    } else {
      total += topic.num_partitions == -1 ? default_partitions : std::max(topic.num_partitions, 0);
    }
  }
  return total > partitions_per_request_max;
}

}  // namespace

Outcome<Response> LocalController::create_topics(const Request& request, const ControllerState& state) const {
  Outcome<Response> outcome;
  TopicCreation creation(options_, state, outcome.records);
  std::unordered_map<std::string_view, int> counts;
  for (const auto& topic : request.topics) ++counts[topic.name.view()];

  const bool too_many = too_many_partitions(request, creation.default_partitions());
  auto& answers = outcome.response.topics;
  std::vector<std::string_view> duplicates;
  for (const auto& topic : request.topics) {
    if (auto& count = counts[topic.name.view()]; count != 1) {
      if (count > 1) duplicates.push_back(topic.name.view());
      count = 0;  // answered once
    } else if (topic.name.view() == metadata::cluster_metadata_topic) {
      answers.push_back(
          refusal(topic.name, {ErrorCode::invalid_request,
                               "Creation of internal topic " + topic.name.str() + " is prohibited."}));
    } else if (too_many) {
      answers.push_back(refusal(
          topic.name, {ErrorCode::policy_violation, "Excessively large number of partitions per request."}));
    } else {
      auto created = creation.create(topic);
      answers.push_back(created ? std::move(*created) : refusal(topic.name, created.error()));
    }
  }
  for (const auto name : duplicates)
    answers.push_back(refusal(name, {ErrorCode::invalid_request, "Duplicate topic name."}));
  if (request.validate_only) outcome.records = {};
  return outcome;
}

}  // namespace barnabas::cluster
