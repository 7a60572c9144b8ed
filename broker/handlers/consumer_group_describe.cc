#include "broker/handlers/consumer_group_describe.h"

#include <map>
#include <string>

#include "broker/handlers/consumer_group_heartbeat.h"
#include "broker/handlers/coordinate.h"
#include "broker/handlers/topic_description.h"
#include "protocol/messages/consumer_group_describe_response.h"

namespace barnabas::broker {
namespace {

using protocol::ConsumerGroupDescribeResponse;
using protocol::ErrorCode;
using Described = ConsumerGroupDescribeResponse::DescribedGroup;
using Request = protocol::ConsumerGroupDescribeRequest;

Described failed(const Request& request, std::size_t at, ErrorCode error) {
  Described group;
  group.group_id = request.group_ids[at];
  group.error_code = to_wire(error);
  return group;
}

/// Whether the group has topics that the reader may not know of. Each is asked about once.
class TopicsSeen {
 public:
  explicit TopicsSeen(const Rights& rights) : rights_(rights) {}

  bool hides(const Described& group) {
    bool hidden = false;
    for (const auto& member : group.members)
      for (const auto* assignment : {&member.assignment, &member.target_assignment})
        for (const auto& topic : assignment->topic_partitions) hidden |= !may(topic.topic_name);
    return hidden;
  }

 private:
  bool may(std::string_view name) {
    const auto [at, is_new] = known_.try_emplace(std::string(name), false);
    if (is_new) at->second = rights_.may(Right::consumer_describe_topic, name);
    return at->second;
  }
  const Rights& rights_;
  std::map<std::string, bool> known_;
};

void hide_topics(std::vector<Described>& groups, const Rights& rights) {
  if (!rights.limited()) return;
  TopicsSeen seen(rights);
  for (Described& group : groups) {
    if (!seen.hides(group)) continue;
    Described hidden;
    hidden.group_id = group.group_id;
    hidden.error_code = to_wire(ErrorCode::topic_authorization_failed);
    hidden.error_message =
        protocol::String("The group has described topic(s) that the client is not authorized to describe.");
    group = std::move(hidden);
  }
}

}  // namespace

void ConsumerGroupDescribeHandler::handle(Call call, Request request) {
  if (!consumer_protocol_is_on(call)) {
    ConsumerGroupDescribeResponse response;
    for (std::size_t i = 0; i < request.group_ids.size(); ++i)
      response.groups.push_back(failed(request, i, ErrorCode::unsupported_version));
    return call.reply(response);
  }
  const std::vector<std::string_view> groups(request.group_ids.begin(), request.group_ids.end());
  const Rights rights = call.rights();
  coordinate_each<Described>(
      std::move(call), std::move(request), groups,
      [](coordinator::GroupShard& shard, const coordinator::RequestContext&, const Request& asked,
         std::size_t at, coordinator::Reply<Described> reply) {
        return shard.describe_consumer_group(asked.group_ids[at], std::move(reply));
      },
      failed,
      [rights](const Request& asked, std::vector<Described>&& described) {
        ConsumerGroupDescribeResponse response;
        response.groups = std::move(described);
        if (asked.include_authorized_operations) add_operations(response.groups, rights);
        hide_topics(response.groups, rights);
        return response;
      },
      EmptyGroupId::refused, refused_keys(rights, Right::consumer_describe_group, groups));
}

}  // namespace barnabas::broker
