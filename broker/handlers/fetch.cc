#include "broker/handlers/fetch.h"

#include "broker/handlers/fetch_operation.h"
#include "broker/quotas/quotas.h"
#include "protocol/messages/fetch_response.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using protocol::FetchRequest;
using protocol::FetchResponse;

constexpr int16_t first_version_by_id = 13;
constexpr int16_t first_version_with_sessions = 7;
/// Each takes some hundred bytes while the request waits. Far more than a client of the largest cluster asks
/// for.
constexpr std::size_t partitions_max = 200'000;
constexpr int8_t read_uncommitted = 0;
constexpr int8_t read_committed = 1;

FetchPartition wanted_partition(const FetchRequest::FetchTopic& topic,
                                const FetchRequest::FetchPartition& partition) {
  FetchPartition wanted;
  wanted.topic = topic.topic.str();
  wanted.topic_id = topic.topic_id;
  wanted.index = PartitionIndex{partition.partition};
  wanted.current_leader_epoch = LeaderEpoch{partition.current_leader_epoch};
  wanted.fetch_offset = Offset{partition.fetch_offset};
  wanted.last_fetched_epoch = LeaderEpoch{partition.last_fetched_epoch};
  wanted.max_bytes = partition.partition_max_bytes;
  return wanted;
}

void reply_error(Call& call, ErrorCode error) {
  FetchResponse response;
  response.error_code = static_cast<int16_t>(error);
  call.reply(response);
}

/// Every partition of the request with the same error.
void reply_error_for_each(Call& call, const FetchRequest& request, ErrorCode error, bool top_level) {
  FetchResponse response;
  if (top_level) response.error_code = static_cast<int16_t>(error);
  for (const auto& topic : request.topics) {
    auto& answer = response.responses.emplace_back();
    answer.topic = topic.topic;
    answer.topic_id = topic.topic_id;
    for (const auto& partition : topic.partitions) {
      auto& data = answer.partitions.emplace_back();
      data.partition_index = partition.partition;
      data.error_code = static_cast<int16_t>(error);
      data.high_watermark = -1;
      data.aborted_transactions = std::nullopt;
      data.records = protocol::Records(protocol::Bytes());
    }
  }
  call.reply(response);
}

void add_all(FetchSession& session, const FetchRequest& request) {
  for (const auto& topic : request.topics)
    for (const auto& partition : topic.partitions) session.add(wanted_partition(topic, partition));
}

std::size_t partition_count(const FetchRequest& request) {
  std::size_t count = 0;
  for (const auto& topic : request.topics) count += topic.partitions.size();
  return count;
}

/// A full request: opens a session if it wants one and there is room.
void plan_full(Call& call, const FetchRequest& request, FetchOperation::Plan& plan) {
  FetchSessionCache& cache = call.services().fetch_sessions;
  std::string owner = call.connection().principal.to_string();
  if (request.session_id != 0) cache.remove(request.session_id, owner);
  const bool wants_session = call.version() >= first_version_with_sessions &&
                             request.session_epoch == FetchSessionCache::initial_epoch;
  if (wants_session)
    plan.session =
        cache.create(std::move(owner), plan.limits.by_topic_id, partition_count(request), call.received());
  if (plan.session) {
    bool kept = false;
    {
      const std::scoped_lock lock(plan.session->lock());
      add_all(*plan.session, request);
      kept = cache.resized(*plan.session, plan.session->size(), plan.session->bytes());
    }
    if (kept) return;
    plan.session = nullptr;
  }
  // The session class also folds doubles; it is the simplest way to the same rule without one.
  FetchSession once(0, {}, plan.limits.by_topic_id, call.received());
  add_all(once, request);
  plan.partitions = std::move(once.partitions());
}

/// An incremental request. False when it was answered with an error.
bool plan_incremental(Call& call, const FetchRequest& request, FetchOperation::Plan& plan) {
  FetchSessionCache& cache = call.services().fetch_sessions;
  const auto found = cache.continue_session(request.session_id, call.connection().principal.to_string(),
                                            request.session_epoch, plan.limits.by_topic_id, call.received());
  if (!found.session) {
    reply_error(call, found.error);
    return false;
  }
  plan.session = found.session;
  plan.incremental = true;
  std::size_t size = 0;
  std::size_t bytes = 0;
  {
    const std::scoped_lock lock(plan.session->lock());
    add_all(*plan.session, request);
    for (const auto& topic : request.forgotten_topics_data)
      for (const int32_t partition : topic.partitions)
        plan.session->forget(topic.topic, topic.topic_id, PartitionIndex{partition});
    size = plan.session->size();
    bytes = plan.session->bytes();
  }
  if (!cache.resized(*plan.session, size, bytes)) {
    reply_error(call, ErrorCode::fetch_session_id_not_found);
    return false;
  }
  if (size == 0) {
    // Nothing left to fetch again and again: the session ends, and the answer says so by its id 0.
    cache.remove(*plan.session);
    plan.session = nullptr;
    plan.incremental = false;
  }
  return true;
}

/// More than fits into a quota would be throttled whatever the client does, and it would never get anything.
void limit_to_quota(const Call& call, FetchOperation::Plan& plan) {
  if (!call.quota_client()) return;
  const double most = call.services().quotas->most_at_once(RateKind::fetch, *call.quota_client());
  if (most < static_cast<double>(plan.limits.max_bytes)) plan.limits.max_bytes = static_cast<int64_t>(most);
  plan.min_bytes = static_cast<int32_t>(std::min<int64_t>(plan.min_bytes, plan.limits.max_bytes));
}

}  // namespace

void FetchHandler::handle(Call call, Request request) {
  if (const std::size_t count = partition_count(request); count > partitions_max)
    return call.close("Fetch of " + std::to_string(count) + " partitions; at most " +
                      std::to_string(partitions_max) + " are allowed");
  if (request.isolation_level != read_uncommitted && request.isolation_level != read_committed)
    return reply_error_for_each(call, request, ErrorCode::unknown_server_error, true);
  const Rights rights = call.rights();
  if (request.replica_id >= 0 || request.replica_state.replica_id >= 0)
    return reply_error_for_each(call, request,
                                rights.may(Right::fetch_as_broker) ? ErrorCode::not_leader_or_follower
                                                                   : ErrorCode::topic_authorization_failed,
                                false);
  FetchOperation::Plan plan;
  plan.limits.max_bytes = std::min(request.max_bytes, call.services().fetch_bytes_max);
  plan.limits.read_committed = request.isolation_level == read_committed;
  plan.limits.by_topic_id = call.version() >= first_version_by_id;
  if (rights.limited())
    plan.rights =
        std::make_shared<FetchRights>(rights, call.services().metadata.current(), plan.limits.by_topic_id);
  plan.max_wait_ms = request.max_wait_ms;
  plan.min_bytes = request.min_bytes;
  limit_to_quota(call, plan);
  const bool full = call.version() < first_version_with_sessions ||
                    request.session_epoch == FetchSessionCache::initial_epoch ||
                    request.session_epoch == FetchSessionCache::final_epoch;
  if (full) {
    plan_full(call, request, plan);
  } else if (!plan_incremental(call, request, plan)) {
    return;
  }
  std::make_shared<FetchOperation>(std::move(call), std::move(plan))->start();
}

}  // namespace barnabas::broker
