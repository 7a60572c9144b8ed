// DeleteTopics (20): rules and texts as Apache Kafka 4.4 has them.

#include <map>
#include <set>

#include "cluster/api_error.h"
#include "cluster/local_controller.h"
#include "protocol/messages/remove_topic_record.h"

namespace barnabas::cluster {
namespace {

using metadata::MetadataImage;
using protocol::ErrorCode;
using Request = protocol::DeleteTopicsRequest;
using Response = protocol::DeleteTopicsResponse;

/// What a request names, each thing once, and what it names more than once.
template <class Key>
class Named {
 public:
  void add(const Key& key) {
    if (doubled_.contains(key)) return;
    if (single_.insert(key).second) {
      order_.push_back(key);
    } else {
      single_.erase(key);
      doubled_.insert(key);
    }
  }
  bool is_doubled(const Key& key) const { return doubled_.contains(key); }
  const std::set<Key>& doubled() const { return doubled_; }
  /// In the order of the request.
  std::vector<Key> single() const {
    std::vector<Key> result;
    for (const auto& key : order_) {
      if (single_.contains(key)) result.push_back(key);
    }
    return result;
  }

 private:
  std::set<Key> single_;
  std::set<Key> doubled_;
  std::vector<Key> order_;
};

class TopicDeletion {
 public:
  TopicDeletion(const ControllerState& state, Outcome<Response>& outcome)
      : state_(state), image_(state.image), outcome_(outcome) {}

  void run(const Request& request) {
    collect(request);
    for (const auto& name : names_.doubled())
      answer(&name, {}, error(ErrorCode::invalid_request, "Duplicate topic name."));
    for (const auto& id : ids_.doubled())
      answer(nullptr, id, error(ErrorCode::invalid_request, "Duplicate topic id."));
    std::map<Uuid, std::string> found;  // by id, as the request may name a topic both ways
    std::vector<Uuid> order;
    for (const auto& id : ids_.single()) {
      const auto* topic = image_.topic(id);
      if (topic == nullptr) {
        answer(nullptr, id, error(ErrorCode::unknown_topic_id, "This server does not host this topic ID."));
      } else {
        found.emplace(id, topic->name);
        order.push_back(id);
      }
    }
    for (const auto& name : names_.single()) {
      const auto* topic = image_.topic(name);
      if (topic == nullptr) {
        answer(
            &name, {},
            error(ErrorCode::unknown_topic_or_partition, "This server does not host this topic-partition."));
      } else if (ids_.is_doubled(topic->id) || !found.emplace(topic->id, name).second) {
        found.erase(topic->id);
        answer(&name, topic->id,
               error(ErrorCode::invalid_request,
                     "The provided topic name maps to an ID that was already supplied."));
      } else {
        order.push_back(topic->id);
      }
    }
    for (const auto& id : order) {
      const auto topic = found.find(id);
      if (topic == found.end()) continue;
      if (const auto problem = quota_problem(state_, image_.topic(id)->partition_count())) {
        answer(&topic->second, id, problem);
        continue;
      }
      protocol::RemoveTopicRecord record;
      record.topic_id = id;
      outcome_.records.add(record);
      answer(&topic->second, id, std::nullopt);
    }
  }

 private:
  static ApiError error(ErrorCode code, std::string message) { return {code, std::move(message)}; }

  void collect(const Request& request) {
    for (const auto& name : request.topic_names) names_.add(name.str());
    for (const auto& topic : request.topics) {
      const bool has_id = !topic.topic_id.is_zero();
      if (topic.name && has_id) {
        const std::string name = topic.name->str();
        answer(&name, topic.topic_id,
               error(ErrorCode::invalid_request, "You may not specify both topic name and topic id."));
      } else if (topic.name) {
        names_.add(topic.name->str());
      } else if (has_id) {
        ids_.add(topic.topic_id);
      } else {
        answer(nullptr, {}, error(ErrorCode::invalid_request, "Neither topic name nor id were specified."));
      }
    }
  }

  void answer(const std::string* name, const Uuid& id, const std::optional<ApiError>& error) {
    auto& item = outcome_.response.responses.emplace_back();
    item.name.reset();
    if (name != nullptr) item.name = protocol::String(*name);
    item.topic_id = id;
    item.error_message.reset();
    if (error) set_error(item, *error);
  }

  const ControllerState& state_;
  const MetadataImage& image_;
  Outcome<Response>& outcome_;
  Named<std::string> names_;
  Named<Uuid> ids_;
};

}  // namespace

Outcome<Response> LocalController::delete_topics(const Request& request, const ControllerState& state) const {
  Outcome<Response> outcome;
  ControllerState counted = state;
  const bool enabled = options_.static_config->boolean("delete.topic.enable");
  if (!enabled) counted.mutation_quota = nullptr;
  TopicDeletion(counted, outcome).run(request);
  if (!enabled) {
    outcome.records = {};
    for (auto& item : outcome.response.responses)
      set_error(item, {ErrorCode::topic_deletion_disabled, "Topic deletion is disabled."});
  }
  return outcome;
}

}  // namespace barnabas::cluster
