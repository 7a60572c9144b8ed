#include "broker/handlers/metadata.h"

#include <algorithm>
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

MetadataResponse::MetadataResponseTopic describe(const metadata::MetadataImage& image,
                                                 const metadata::TopicImage& topic, bool with_operations) {
  MetadataResponse::MetadataResponseTopic answer;
  answer.name = protocol::String(topic.name);
  answer.topic_id = topic.id;
  answer.is_internal = is_internal_topic(topic.name);
  if (with_operations) answer.topic_authorized_operations = all_topic_operations;
  answer.partitions.reserve(topic.partitions.size());
  for (int32_t i = 0; i < topic.partition_count(); ++i) {
    describe_partition(image, *topic.partition(PartitionIndex{i}), i, answer.partitions.emplace_back());
  }
  return answer;
}

MetadataResponse::MetadataResponseTopic failed_topic(const MetadataRequest::MetadataRequestTopic& wanted,
                                                     ErrorCode error, bool with_operations) {
  MetadataResponse::MetadataResponseTopic answer;
  answer.error_code = to_wire(error);
  answer.topic_id = wanted.topic_id;
  answer.name = std::nullopt;
  if (error == ErrorCode::unknown_topic_id) return answer;
  answer.name = wanted.name;
  if (wanted.name) answer.is_internal = is_internal_topic(*wanted.name);
  if (with_operations) answer.topic_authorized_operations = all_topic_operations;
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

void add_requested(const metadata::MetadataImage& image, const MetadataRequest& request,
                   MetadataResponse& response) {
  const bool with_operations = request.include_topic_authorized_operations;
  std::set<const metadata::TopicImage*> described;
  std::set<std::pair<std::string_view, Uuid>> failed;
  std::vector<MetadataResponse::MetadataResponseTopic> failures;
  const bool by_id = names_an_id(request);
  for (const auto& wanted : *request.topics) {
    if (by_id && wanted.topic_id.is_zero()) continue;  // a single id makes Kafka overlook all names
    const auto* topic = !wanted.topic_id.is_zero() ? image.topic(wanted.topic_id)
                        : wanted.name              ? image.topic(wanted.name->view())
                                                   : nullptr;
    if (topic != nullptr) {
      if (described.insert(topic).second) response.topics.push_back(describe(image, *topic, with_operations));
      continue;
    }
    const std::string_view name = wanted.name ? wanted.name->view() : std::string_view();
    if (failed.emplace(name, wanted.topic_id).second)
      failures.push_back(failed_topic(wanted, error_for_missing(wanted), with_operations));
  }
  std::ranges::move(failures, std::back_inserter(response.topics));
}

MetadataResponse make_response(const Call& call, const MetadataRequest& request) {
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
    response.cluster_authorized_operations = all_cluster_operations;
  const bool all = !request.topics || (call.version() == 0 && request.topics->empty());
  if (!all) {
    add_requested(*image, request, response);
    return response;
  }
  response.topics.reserve(image->topics_by_name.size());
  for (const auto& topic : image->topics_by_name)
    response.topics.push_back(describe(*image, *topic, request.include_topic_authorized_operations));
  return response;
}

/// The topics that have to be made first; nothing to do when it names none.
protocol::CreateTopicsRequest missing_topics(const Call& call, const MetadataRequest& request) {
  protocol::CreateTopicsRequest create;
  if (!request.topics || !request.allow_auto_topic_creation || !call.services().auto_create_topics ||
      names_an_id(request)) {
    return create;
  }
  const auto image = call.services().metadata.current();
  std::set<std::string_view> names;
  for (const auto& wanted : *request.topics) {
    if (!wanted.name || !wanted.topic_id.is_zero() || image->topic(wanted.name->view()) != nullptr) continue;
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
  auto create = missing_topics(call, request);
  if (create.topics.empty()) return call.reply(make_response(call, request));
  auto* loop = call.connection().loop;
  cluster::ControllerGateway& controller = call.services().controller;
  // Topics that Metadata makes are counted, and beyond the quota not made: the answer then says that they are
  // not there.
  auto quota = mutation_quota(call, 0);
  controller.create_topics(
      std::move(create),
      [loop, call = std::move(call),
       request = std::move(request)](const protocol::CreateTopicsResponse&) mutable {
        // Whatever became of them: the image says it best.
        loop->post([call = std::move(call), request = std::move(request)]() mutable {
          call.reply(make_response(call, request));
        });
      },
      quota);
}

}  // namespace barnabas::broker
