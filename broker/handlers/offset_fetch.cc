#include "broker/handlers/offset_fetch.h"

#include "broker/handlers/coordinate.h"
#include "broker/handlers/denied_topics.h"
#include "coordinator/offset_fetch.h"
#include "protocol/messages/offset_fetch_response.h"

namespace barnabas::broker {

namespace {

using protocol::ErrorCode;
using GroupToFetch = coordinator::OffsetProtocol::GroupToFetch;
using Group = protocol::OffsetFetchResponse::OffsetFetchResponseGroup;
using TopicToFetch = protocol::OffsetFetchRequest::OffsetFetchRequestTopics;

/// Topics that the sender may not know of, or whose ids nobody has: those that it names are taken out of the
/// request and answered for themselves, the others are left out of the answer.
class HiddenTopics {
 public:
  HiddenTopics(const Rights& rights, metadata::MetadataImagePtr image, int16_t version)
      : rights_(rights),
        image_(std::move(image)),
        by_id_(version >= coordinator::offset_fetch_first_with_topic_ids) {}

  void take_from(GroupToFetch& group) {
    auto& taken = taken_.emplace_back();
    all_.push_back(!group.topics);
    if (group.topics)
      taken = take_out_refused(*group.topics, by_id_, *image_, rights_, Right::offset_fetch_topic);
  }

  /// For a group of which nothing is told.
  void skip() {
    taken_.emplace_back();
    all_.push_back(false);
  }

  void finish(std::vector<Group>& groups) const {
    if (!rights_.limited()) return;
    for (std::size_t i = 0; i < groups.size(); ++i) {
      if (groups[i].error_code != 0) continue;
      // The coordinator has put in their names, in every version.
      if (all_[i])
        std::erase_if(groups[i].topics,
                      [&](const auto& topic) { return !rights_.may(Right::offset_fetch_topic, topic.name); });
      for (const auto& topic : taken_[i]) add_refused(groups[i], topic);
    }
  }

 private:
  static void add_refused(Group& group, const RefusedTopic<TopicToFetch>& refused) {
    const TopicToFetch& asked = refused.asked;
    auto& topic = group.topics.emplace_back();
    topic.name = asked.name;
    topic.topic_id = asked.topic_id;
    for (const int32_t index : asked.partition_indexes) {
      auto& partition = topic.partitions.emplace_back();
      partition.partition_index = index;
      partition.committed_offset = -1;
      partition.error_code = to_wire(refused.error);
    }
  }

  const Rights rights_;
  const metadata::MetadataImagePtr image_;
  const bool by_id_;
  std::vector<std::vector<RefusedTopic<TopicToFetch>>> taken_;  ///< of each group
  std::vector<bool> all_;                                       ///< whether it was asked for all topics
};

}  // namespace

void OffsetFetchHandler::handle(Call call, Request request) {
  const int16_t version = call.version();
  const Rights rights = call.rights();
  // Answers borrow from these.
  auto groups = coordinator::groups_to_fetch(request, version);
  const auto hidden = std::make_shared<HiddenTopics>(rights, call.services().metadata.current(), version);
  std::vector<ErrorCode> refused;
  for (auto& group : groups) {
    const bool allowed = rights.may(Right::offset_fetch_group, group.group_id);
    refused.push_back(allowed ? ErrorCode::none : ErrorCode::group_authorization_failed);
    if (allowed) {
      hidden->take_from(group);
    } else {
      hidden->skip();
    }
  }
  const auto asked = std::make_shared<const std::vector<GroupToFetch>>(std::move(groups));
  std::vector<std::string_view> ids;
  ids.reserve(asked->size());
  for (const auto& group : *asked) ids.push_back(group.group_id);
  coordinate_each<Group>(
      std::move(call), std::move(request), ids,
      [asked](coordinator::GroupShard& shard, const coordinator::RequestContext& context,
              const Request& wanted, std::size_t i, coordinator::Reply<Group> reply) {
        return shard.fetch_offsets(context, (*asked)[i], wanted.require_stable, std::move(reply));
      },
      [asked, version](const Request&, std::size_t i, protocol::ErrorCode error) {
        return coordinator::refuse_fetch((*asked)[i], version, error);
      },
      [asked, hidden, version](const Request&, std::vector<Group>&& fetched) {
        hidden->finish(fetched);
        return coordinator::fetch_response(std::move(fetched), version);
      },
      EmptyGroupId::allowed, refused);
}

}  // namespace barnabas::broker
