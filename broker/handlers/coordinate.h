#pragma once

#include <concepts>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "broker/call.h"
#include "broker/coordinators/group_coordinator.h"
#include "broker/coordinators/transaction_coordinator.h"
#include "broker/joined_parts.h"
#include "coordinator/decision.h"
#include "coordinator/group_shard.h"
#include "coordinator/shard_environment.h"
#include "coordinator/transaction_shard.h"
#include "protocol/error_code.h"
#include "protocol/messages/consumer_group_heartbeat_request.h"
#include "protocol/messages/join_group_request.h"

namespace barnabas::broker {

/// Who runs the shards of this kind.
template <class Shard>
auto& coordinator_of(const Services& services) {
  if constexpr (std::same_as<Shard, coordinator::GroupShard>) {
    return services.groups;
  } else {
    static_assert(std::same_as<Shard, coordinator::TransactionShard>);
    return services.transactions;
  }
}

/// A request that coordinators answer, with all that its answers borrow from: it lives until it is answered.
template <class Request>
class CoordinatedCall {
 public:
  using Response = typename Request::Response;

  CoordinatedCall(Call call, Request with)
      : request(std::move(with)),
        rights(call.rights()),
        call_(std::move(call)),
        client_id_(call_.client_id()),
        client_host_("/" + call_.connection().peer_address) {}

  int16_t version() const { return call_.version(); }
  const Services& services() const { return call_.services(); }
  coordinator::RequestContext context(const coordinator::Now& now) const {
    return {.version = call_.version(),
            .client_id = client_id_,
            .client_host = client_host_,
            .now = now,
            .may_see = matched_topics()};
  }
  /// What becomes of the response before it leaves, whatever it is. Before the request is handed on.
  void finish_with(std::move_only_function<void(Response&)> finish) { finish_ = std::move(finish); }
  /// Once. From any thread.
  void reply(Response response) {
    if (finish_) finish_(response);
    call_.reply(response);
  }

  const Request request;
  const Rights rights;

 private:
  /// Regular expressions of a group of the consumer protocol are resolved when one of these asks for it.
  coordinator::TopicFilter matched_topics() const {
    if constexpr (std::same_as<Request, protocol::ConsumerGroupHeartbeatRequest> ||
                  std::same_as<Request, protocol::JoinGroupRequest>) {
      if (rights.limited())
        return [rights = rights](std::string_view topic) {
          return rights.may(Right::consumer_heartbeat_matched_topic, topic);
        };
    }
    return {};
  }

  Call call_;
  const std::string client_id_;
  const std::string client_host_;
  std::move_only_function<void(Response&)> finish_;
};

/// Has a request about one group, or one transactional id, answered by the shard that has it.
///  - `operation`: Decision(Shard&, const RequestContext&, const Request&, Reply<Response>), usually a method
///    of the shard; on the shard's thread; the request, and all that it borrows from, stays until the reply
///    is given.
///  - `failure`: Response(const Request&, ErrorCode), the answer when there is no other; from any thread. It
///    gets coordinator_load_in_progress, not_coordinator, coordinator_not_available,
///    unknown_server_error, and whatever the operation gives to Reply::with_error.
///  - `finish`: what becomes of either before it leaves.
/// `key` may borrow from the request. One that is not allowed is for the handler to refuse.
template <class Shard = coordinator::GroupShard, class Request, class Operation, class Failure>
void coordinate(Call call, Request request, std::string_view key, Operation operation, Failure failure,
                std::move_only_function<void(typename Request::Response&)> finish = {}) {
  using Response = typename Request::Response;
  const auto kept = std::make_shared<CoordinatedCall<Request>>(std::move(call), std::move(request));
  if (finish) kept->finish_with(std::move(finish));
  coordinator_of<Shard>(kept->services())
      .schedule(
          key,
          [kept, operation, failure](Shard& shard,
                                     const coordinator::Now& now) mutable -> coordinator::Decision {
            coordinator::Reply<Response> reply(
                [kept, failure](std::expected<Response, protocol::ErrorCode> answer) {
                  kept->reply(answer ? *answer : failure(kept->request, answer.error()));
                });
            return std::invoke(operation, shard, kept->context(now), kept->request, std::move(reply));
          },
          [kept, failure](protocol::ErrorCode error) { kept->reply(failure(kept->request, error)); });
}

/// For coordinate_each: which of the resources the sender may not use, each being asked about once.
inline std::vector<protocol::ErrorCode> refused_keys(const Rights& rights, Right right,
                                                     const std::vector<std::string_view>& keys) {
  std::vector<protocol::ErrorCode> refused;
  if (!rights.limited()) return refused;
  for (const std::string_view key : keys)
    refused.push_back(rights.may(right, key) ? protocol::ErrorCode::none : authorization_failed(right));
  return refused;
}

/// A response that says nothing but what went wrong.
template <class Response>
Response error_response(protocol::ErrorCode error) {
  Response response;
  response.error_code = to_wire(error);
  return response;
}

/// One answer that is put together from those of several shards, each from a thread of its own; whoever
/// brings the last one makes it. `join`: Response(const Request&, std::vector<Part>&&).
template <class Request, class Part, class Join>
class JoinedAnswer {
 public:
  JoinedAnswer(Call asked, Request request, std::size_t parts, Join join)
      : call(std::move(asked), std::move(request)),
        parts_(std::vector<Part>(parts), [this, join = std::move(join)](std::vector<Part>&& all) mutable {
          call.reply(join(call.request, std::move(all)));
        }) {}

  void put(std::size_t at, Part part) {
    parts_.at(at) = std::move(part);
    parts_.finish_one();
  }
  /// See JoinedParts::finish_one: for the handler itself.
  void finish_one() { parts_.finish_one(); }

  CoordinatedCall<Request> call;

 private:
  JoinedParts<Part> parts_;
};

/// Some APIs take the empty group id as one like others, some do not know it.
enum class EmptyGroupId { refused, allowed };

/// The same for a request about many. For each index i of `keys`:
///  - `operation`: Decision(Shard&, const RequestContext&, const Request&, std::size_t i, Reply<Part>)
///  - `failure`: Part(const Request&, std::size_t i, ErrorCode)
/// and then once
///  - `join`: Response(const Request&, std::vector<Part>&&), the parts in the order of `keys`.
/// An empty group id that is refused is answered with invalid_group_id. Keys that `refused` has an error for
/// (it is empty, or has one for each) are not asked for.
template <class Part, class Shard = coordinator::GroupShard, class Request, class Operation, class Failure,
          class Join>
void coordinate_each(Call call, Request request, const std::vector<std::string_view>& keys,
                     Operation operation, Failure failure, Join join,
                     EmptyGroupId empty_id = EmptyGroupId::refused,
                     const std::vector<protocol::ErrorCode>& refused = {}) {
  const auto answer = std::make_shared<JoinedAnswer<Request, Part, Join>>(std::move(call), std::move(request),
                                                                          keys.size(), std::move(join));
  for (std::size_t i = 0; i < keys.size(); ++i) {
    auto put = [answer, failure, i](std::expected<Part, protocol::ErrorCode> part) {
      answer->put(i, part ? std::move(*part) : failure(answer->call.request, i, part.error()));
    };
    if (!refused.empty() && refused[i] != protocol::ErrorCode::none) {
      put(std::unexpected(refused[i]));
      continue;
    }
    if (keys[i].empty() && empty_id == EmptyGroupId::refused) {
      put(std::unexpected(protocol::ErrorCode::invalid_group_id));
      continue;
    }
    coordinator_of<Shard>(answer->call.services())
        .schedule(
            keys[i],
            [answer, operation, put, i](Shard& shard,
                                        const coordinator::Now& now) mutable -> coordinator::Decision {
              return operation(shard, answer->call.context(now), answer->call.request, i,
                               coordinator::Reply<Part>(put));
            },
            [put](protocol::ErrorCode error) mutable { put(std::unexpected(error)); });
  }
  answer->finish_one();
}

/// The same for a request about all that are here: for each shard.
///  - `operation`: Decision(Shard&, const RequestContext&, const Request&, Reply<Part>)
///  - `join`: Response(const Request&, std::vector<std::expected<Part, ErrorCode>>&&)
template <class Part, class Shard = coordinator::GroupShard, class Request, class Operation, class Join>
void coordinate_all(Call call, Request request, Operation operation, Join join) {
  using Outcome = std::expected<Part, protocol::ErrorCode>;
  const std::vector<PartitionIndex> partitions = coordinator_of<Shard>(call.services()).led();
  const auto answer = std::make_shared<JoinedAnswer<Request, Outcome, Join>>(
      std::move(call), std::move(request), partitions.size(), std::move(join));
  for (std::size_t i = 0; i < partitions.size(); ++i) {
    coordinator_of<Shard>(answer->call.services())
        .schedule(
            partitions[i],
            [answer, operation, i](Shard& shard,
                                   const coordinator::Now& now) mutable -> coordinator::Decision {
              return operation(
                  shard, answer->call.context(now), answer->call.request,
                  coordinator::Reply<Part>([answer, i](Outcome part) { answer->put(i, std::move(part)); }));
            },
            [answer, i](protocol::ErrorCode error) { answer->put(i, std::unexpected(error)); });
  }
  answer->finish_one();
}

}  // namespace barnabas::broker
