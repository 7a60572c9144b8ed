#include "broker/handlers/metadata.h"

#include <algorithm>
#include <optional>
#include <set>

#include "broker/handlers/topic_description.h"
#include "broker/quotas/client_mutations.h"
#include "metadata/topic_name.h"
#include "network/event_loops.h"
#include "protocol/messages/metadata_response.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using protocol::MetadataRequest;
using protocol::MetadataResponse;

constexpr auto topic_type = metadata::AclResourceType::topic;

MetadataResponse::MetadataResponseTopic describe(const metadata::MetadataImage& image,
                                                 const metadata::TopicImage& topic,
                                                 const Rights* operations_of) {
  MetadataResponse::MetadataResponseTopic answer;
  answer.name = protocol::String(topic.name);
  answer.topic_id = topic.id;
  answer.is_internal = is_internal_topic(topic.name);
  if (operations_of != nullptr)
    answer.topic_authorized_operations = operations_of->operations(topic_type, topic.name);
  answer.partitions.reserve(topic.partitions.size());
  for (int32_t i = 0; i < topic.partition_count(); ++i) {
    describe_partition(image, *topic.partition(PartitionIndex{i}), i, answer.partitions.emplace_back());
  }
  return answer;
}

MetadataResponse::MetadataResponseTopic failed_topic(const MetadataRequest::MetadataRequestTopic& wanted,
                                                     ErrorCode error, const Rights* operations_of) {
  MetadataResponse::MetadataResponseTopic answer;
  answer.error_code = to_wire(error);
  answer.topic_id = wanted.topic_id;
  answer.name = std::nullopt;
  if (error == ErrorCode::unknown_topic_id) return answer;
  answer.name = wanted.name;
  if (wanted.name && error != ErrorCode::topic_authorization_failed)
    answer.is_internal = is_internal_topic(*wanted.name);
  if (operations_of != nullptr && wanted.name && error != ErrorCode::topic_authorization_failed)
    answer.topic_authorized_operations = operations_of->operations(topic_type, *wanted.name);
  return answer;
}

bool names_an_id(const MetadataRequest& request) {
  return request.topics &&
         std::ranges::any_of(*request.topics, [](const auto& wanted) { return !wanted.topic_id.is_zero(); });
}

/// Before v12 the fields for ids are there but may not be used; then nothing at all is told.
bool uses_ids_too_early(const Call& call, const MetadataRequest& request) {
  return call.version() < 12 && request.topics &&
         std::ranges::any_of(*request.topics,
                             [](const auto& wanted) { return !wanted.topic_id.is_zero() || !wanted.name; });
}

MetadataResponse refuse(const MetadataRequest& request) {
  MetadataResponse response;
  response.cluster_id = std::nullopt;
  for (const auto& wanted : *request.topics) {
    auto& answer = response.topics.emplace_back();
    answer.error_code = to_wire(ErrorCode::invalid_request);
    answer.name = wanted.name ? *wanted.name : protocol::String();
    answer.topic_id = wanted.topic_id;
  }
  return response;
}

/// What a name or id that the image does not have is answered with.
ErrorCode error_for_missing(const MetadataRequest::MetadataRequestTopic& wanted) {
  if (!wanted.topic_id.is_zero() || !wanted.name) return ErrorCode::unknown_topic_id;
  if (metadata::topic_name_problem(*wanted.name)) return ErrorCode::invalid_topic_exception;
  return ErrorCode::unknown_topic_or_partition;
}

/// Whether there is a name to ask for a right on: an id that nobody has reveals nothing.
bool wanted_is_known(const MetadataRequest::MetadataRequestTopic& wanted, const metadata::TopicImage* topic) {
  return topic != nullptr || (wanted.name && wanted.topic_id.is_zero());
}

/// The names that would have to be made for the request, and may not be by its sender: who may not know of a
/// topic is not among them.
using NotCreated = std::set<std::string_view>;

void add_requested(const metadata::MetadataImage& image, const MetadataRequest& request, const Rights& rights,
                   const NotCreated& not_created, MetadataResponse& response) {
  const Rights* operations_of = request.include_topic_authorized_operations ? &rights : nullptr;
  std::set<const metadata::TopicImage*> described;
  std::set<std::pair<std::string_view, Uuid>> failed;
  std::vector<MetadataResponse::MetadataResponseTopic> failures;
  const bool by_id = names_an_id(request);
  for (const auto& wanted : *request.topics) {
    if (by_id && wanted.topic_id.is_zero()) continue;  // a single id makes Kafka overlook all names
    const auto* topic = !wanted.topic_id.is_zero() ? image.topic(wanted.topic_id)
                        : wanted.name              ? image.topic(wanted.name->view())
                                                   : nullptr;
    const std::string_view name = topic != nullptr ? topic->name
                                  : wanted.name    ? wanted.name->view()
                                                   : std::string_view();
    if (topic != nullptr && described.contains(topic)) continue;
    if (!failed.contains({name, wanted.topic_id}) && wanted_is_known(wanted, topic) &&
        !rights.may(Right::metadata_topic, name)) {
      failed.emplace(name, wanted.topic_id);
      auto& denied =
          failures.emplace_back(failed_topic(wanted, ErrorCode::topic_authorization_failed, nullptr));
      if (!wanted.topic_id.is_zero()) denied.name = std::nullopt;
      continue;
    }
    if (topic != nullptr && !failed.contains({name, wanted.topic_id})) {
      described.insert(topic);
      response.topics.push_back(describe(image, *topic, operations_of));
      continue;
    }
    if (!failed.emplace(name, wanted.topic_id).second) continue;
    if (not_created.contains(name)) {
      auto& denied =
          failures.emplace_back(failed_topic(wanted, ErrorCode::topic_authorization_failed, nullptr));
      denied.is_internal = is_internal_topic(name);
    } else {
      failures.push_back(failed_topic(wanted, error_for_missing(wanted), operations_of));
    }
  }
  std::ranges::move(failures, std::back_inserter(response.topics));
}

MetadataResponse make_response(const Call& call, const MetadataRequest& request,
                               const NotCreated& not_created = {}) {
  const Rights rights = call.rights();
  const auto image = call.services().metadata.current();
  MetadataResponse response;
  for (const BrokerAddress& address : broker_addresses(call, *image)) {
    auto& broker = response.brokers.emplace_back();
    broker.node_id = address.id.value();
    broker.host = protocol::String(address.host);
    broker.port = address.port;
    if (address.broker->rack) broker.rack = protocol::String(*address.broker->rack);
  }
  response.cluster_id = protocol::String(call.services().cluster_id);
  response.controller_id = call.services().node.value();
  if (call.version() >= 8 && call.version() <= 10 && request.include_cluster_authorized_operations)
    response.cluster_authorized_operations = cluster_operations(rights, Right::metadata_cluster);
  const bool all = !request.topics || (call.version() == 0 && request.topics->empty());
  if (!all) {
    add_requested(*image, request, rights, not_created, response);
    return response;
  }
  response.topics.reserve(image->topics_by_name.size());
  const Rights* operations_of = request.include_topic_authorized_operations ? &rights : nullptr;
  for (const auto& topic : image->topics_by_name)
    if (rights.may(Right::metadata_all_topics, topic->name))
      response.topics.push_back(describe(*image, *topic, operations_of));
  return response;
}

/// The topics that have to be made first; nothing to do when it names none.
protocol::CreateTopicsRequest missing_topics(const Call& call, const MetadataRequest& request,
                                             NotCreated& not_created) {
  protocol::CreateTopicsRequest create;
  if (!request.topics || !request.allow_auto_topic_creation || !call.services().auto_create_topics ||
      names_an_id(request)) {
    return create;
  }
  const auto image = call.services().metadata.current();
  const Rights rights = call.rights();
  std::optional<bool> anywhere;
  std::set<std::string_view> names;
  for (const auto& wanted : *request.topics) {
    if (!wanted.name || !wanted.topic_id.is_zero() || image->topic(wanted.name->view()) != nullptr) continue;
    if (names.contains(wanted.name->view())) continue;
    // Who may not know of the topic is told so with the answer.
    if (rights.limited() && !rights.may(Right::metadata_missing_topic, *wanted.name)) continue;
    if (!anywhere) anywhere = rights.may(Right::metadata_create_anywhere);
    if (!*anywhere && !rights.may(Right::metadata_create_topic, *wanted.name)) {
      not_created.insert(*wanted.name);
      continue;
    }
    // Internal topics are made by what needs them, with settings of their own.
    if (is_internal_topic(*wanted.name) || metadata::topic_name_problem(*wanted.name)) continue;
    if (names.insert(*wanted.name).second) {
      auto& topic = create.topics.emplace_back();
      topic.name = wanted.name->owned();
      topic.num_partitions = -1;
      topic.replication_factor = -1;
    }
  }
  return create;
}

}  // namespace

void MetadataHandler::handle(Call call, Request request) {
  if (uses_ids_too_early(call, request)) return call.reply(refuse(request));
  NotCreated not_created;
  auto create = missing_topics(call, request, not_created);
  if (create.topics.empty()) return call.reply(make_response(call, request, not_created));
  auto* loop = call.connection().loop;
  cluster::ControllerGateway& controller = call.services().controller;
  // Topics that Metadata makes are counted, and beyond the quota not made: the answer then says that they are
  // not there.
  auto quota = mutation_quota(call, 0);
  controller.create_topics(
      std::move(create),
      [loop, call = std::move(call), request = std::move(request),
       not_created = std::move(not_created)](const protocol::CreateTopicsResponse&) mutable {
        // Whatever became of them: the image says it best.
        loop->post([call = std::move(call), request = std::move(request),
                    not_created = std::move(not_created)]() mutable {
          call.reply(make_response(call, request, not_created));
        });
      },
      quota);
}

}  // namespace barnabas::broker
