#include "broker/handlers/delete_topics.h"

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "broker/quotas/client_mutations.h"
#include "protocol/messages/delete_topics_response.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;

/// The first that knows THROTTLING_QUOTA_EXCEEDED.
constexpr int16_t first_strict_version = 5;

protocol::DeleteTopicsResponse refuse_all(const Call& call, const protocol::DeleteTopicsRequest& request) {
  protocol::DeleteTopicsResponse response;
  const ErrorCode error =
      call.version() < 3 ? ErrorCode::invalid_request : ErrorCode::topic_deletion_disabled;
  const auto refuse = [&](const std::optional<protocol::String>& name, const Uuid& id) {
    auto& answer = response.responses.emplace_back();
    answer.name = name;
    answer.topic_id = id;
    answer.error_code = to_wire(error);
    if (call.version() >= 5) answer.error_message = protocol::String(default_message(error));
  };
  for (const auto& topic : request.topics) refuse(topic.name, topic.topic_id);
  for (const auto& name : request.topic_names) refuse(name, Uuid{});
  return response;
}

using Answer = protocol::DeleteTopicsResponse::DeletableTopicResult;

/// Takes what the sender may not delete out of a request, and keeps the answers to it. What is named twice,
/// or in no proper way, is left to the controller to refuse.
class DeniedDeletions {
 public:
  DeniedDeletions(const Call& call, protocol::DeleteTopicsRequest& request)
      : rights_(call.rights()), image_(call.services().metadata.current()) {
    if (!rights_.limited() || rights_.may(Right::delete_topics_anywhere)) return;
    for (const auto& name : request.topic_names) ++names_[name];
    for (const auto& topic : request.topics) {
      if (is_name(topic)) ++names_[*topic.name];
      if (is_id(topic)) ++ids_[topic.topic_id];
    }
    std::erase_if(request.topic_names, [&](const auto& name) { return denies(name.view()); });
    std::erase_if(request.topics, [&](const auto& topic) {
      return (is_name(topic) && denies(topic.name->view())) || (is_id(topic) && denies(topic.topic_id));
    });
  }

  void add_to(protocol::DeleteTopicsResponse& response) const {
    response.responses.insert(response.responses.end(), answers_.begin(), answers_.end());
  }

 private:
  template <class Topic>
  static bool is_name(const Topic& topic) {
    return topic.name && topic.topic_id.is_zero();
  }
  template <class Topic>
  static bool is_id(const Topic& topic) {
    return !topic.name && !topic.topic_id.is_zero();
  }

  bool denies(std::string_view name) {
    if (names_[name] != 1) return false;
    const bool may_know = rights_.may(Right::delete_topic_describe, name);
    if (may_know && rights_.may(Right::delete_topic, name)) return false;
    // Not left to the controller, which may know of a topic that was made just now.
    if (may_know && image_->topic(name) == nullptr) {
      add(name, {}, ErrorCode::unknown_topic_or_partition);
    } else {
      add(name, {}, ErrorCode::topic_authorization_failed);
    }
    return true;
  }
  /// Who may not know of the topic is not told its name.
  bool denies(const Uuid& id) {
    if (ids_[id] != 1) return false;
    const auto* topic = image_->topic(id);
    if (topic == nullptr) {
      add(std::nullopt, id, ErrorCode::unknown_topic_id);
      return true;
    }
    if (rights_.may(Right::delete_topic, topic->name)) return false;
    const bool may_know = rights_.may(Right::delete_topic_describe, topic->name);
    add(may_know ? std::optional<std::string_view>(topic->name) : std::nullopt, id,
        ErrorCode::topic_authorization_failed);
    return true;
  }
  void add(std::optional<std::string_view> name, const Uuid& id, ErrorCode error) {
    Answer& answer = answers_.emplace_back();
    answer.name.reset();
    if (name) answer.name = protocol::String(*name);
    answer.topic_id = id;
    answer.error_code = to_wire(error);
    answer.error_message = protocol::String(default_message(error));
  }

  const Rights rights_;
  const metadata::MetadataImagePtr image_;
  std::map<std::string_view, int> names_;
  std::map<Uuid, int> ids_;
  std::vector<Answer> answers_;
};

}  // namespace

void DeleteTopicsHandler::handle(Call call, Request request) {
  if (!call.services().delete_topics) return call.reply(refuse_all(call, request));
  cluster::ControllerGateway& controller = call.services().controller;
  // The request borrows from the frame, which the callback keeps.
  auto quota = mutation_quota(call, first_strict_version);
  DeniedDeletions denied(call, request);
  controller.delete_topics(
      std::move(request),
      [call = std::move(call), quota,
       denied = std::move(denied)](protocol::DeleteTopicsResponse response) mutable {
        denied.add_to(response);
        throttle(call, quota.get());
        call.reply(response);
      },
      quota);
}

}  // namespace barnabas::broker
