#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "coordinator/group.h"
#include "coordinator/offset_commit_topics.h"
#include "coordinator/offset_store.h"
#include "coordinator/shard_environment.h"
#include "metadata/publisher.h"
#include "protocol/messages/delete_groups_response.h"
#include "protocol/messages/offset_commit_request.h"
#include "protocol/messages/offset_commit_response.h"
#include "protocol/messages/offset_delete_request.h"
#include "protocol/messages/offset_delete_response.h"
#include "protocol/messages/offset_fetch_request.h"
#include "protocol/messages/offset_fetch_response.h"
#include "protocol/messages/txn_offset_commit_request.h"
#include "protocol/messages/txn_offset_commit_response.h"

namespace barnabas::coordinator {

/// Committed offsets of the groups of one shard: commit, fetch, deletion, expiry (KIP-211).
///
/// An offset belongs to a topic with an id. Once the topic is gone, or its name stands for another one, the
/// offset is not seen any more, and its tombstone follows soon.
class OffsetProtocol {
 public:
  using FetchedGroup = protocol::OffsetFetchResponse::OffsetFetchResponseGroup;
  using GroupToFetch = protocol::OffsetFetchRequest::OffsetFetchRequestGroup;
  using DeletedGroup = protocol::DeleteGroupsResponse::DeletableGroupResult;

  /// Both outlive it.
  OffsetProtocol(ShardEnvironment& environment, GroupTable& groups)
      : environment_(environment), groups_(groups) {}

  // --- replay: record types 0 and 1 ---------------------------------------------------------------

  Result<void> replay(int16_t type, ByteView key, std::optional<ByteView> value, Offset offset,
                      ProducerId producer);
  void end_transaction(ProducerId producer, bool committed) { store_.end_transaction(producer, committed); }

  // --- the life of the shard ----------------------------------------------------------------------

  Decision loaded(const Now& now);
  /// Once the environment has the new image.
  Decision metadata_changed(const metadata::MetadataChanges& changes, const Now& now);

  // --- requests -----------------------------------------------------------------------------------

  Decision commit(const RequestContext& context, const protocol::OffsetCommitRequest& request,
                  Reply<protocol::OffsetCommitResponse> reply);
  /// As a part of the producer's transaction: it counts once that is committed (KIP-98, KIP-447). That the
  /// transaction is open, and has the group's partition in it, is for the caller to know.
  Decision commit_in_transaction(const RequestContext& context,
                                 const protocol::TxnOffsetCommitRequest& request,
                                 Reply<protocol::TxnOffsetCommitResponse> reply);
  /// One group of a request; groups_to_fetch and fetch_response (offset_fetch.h) know what versions before 8
  /// look like.
  Decision fetch(const RequestContext& context, const GroupToFetch& group, bool require_stable,
                 Reply<FetchedGroup> reply);
  Decision delete_offsets(const RequestContext& context, const protocol::OffsetDeleteRequest& request,
                          Reply<protocol::OffsetDeleteResponse> reply);
  /// One group of DeleteGroups. The answer borrows from `id`.
  Decision delete_group(const protocol::String& id, Reply<DeletedGroup> reply);

  const OffsetStore& store() const { return store_; }

 private:
  using TopicToFetch = protocol::OffsetFetchRequest::OffsetFetchRequestTopics;
  using FetchedTopic = protocol::OffsetFetchResponse::OffsetFetchResponseTopics;
  struct Tombstones;

  /// How the APIs that commit differ: versions from which on they know an error.
  struct CommitKind {
    bool transactional;
    int16_t first_with_topic_ids;
    int16_t first_with_group_id_not_found;
    int16_t first_with_stale_member_epoch;
  };
  template <class Request>
  protocol::ErrorCode validate_commit(const RequestContext& context, const Request& request,
                                      const CommitTopics<Request>& topics, CommitKind kind) const;
  template <class Request>
  Decision commit_as(const RequestContext& context, const Request& request, CommittedOffset offset,
                     CommitKind kind, Reply<typename Request::Response> reply);
  bool is_too_large(const std::optional<protocol::String>& metadata) const;
  /// Whether the topic that the offset was committed for is still the one of that name.
  bool is_current(const CommittedOffset& offset, const metadata::TopicImage* topic) const;
  void fetch_all(std::string_view group, bool require_stable, std::vector<FetchedTopic>& into) const;
  void fetch_topic(std::string_view group, const TopicToFetch& asked, const metadata::TopicImage* topic,
                   bool require_stable, FetchedTopic& answer) const;
  /// Somebody committed for the topic that has this name now, be it in an open transaction.
  bool holds_current(const OffsetKey& key, const metadata::TopicImage* topic) const;
  void tombstone_all(const std::string& group, std::vector<Record>& records) const;
  Decision expire(const Now& now);
  /// Nothing of the group that could be kept is left.
  bool expire_offsets(const Group& group, const Now& now, Tombstones& tombstones) const;
  Decision drop_deleted_topics(const Now& now);

  ShardEnvironment& environment_;
  GroupTable& groups_;
  OffsetStore store_;
};

}  // namespace barnabas::coordinator
