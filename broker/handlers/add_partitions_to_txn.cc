#include "broker/handlers/add_partitions_to_txn.h"

#include <algorithm>
#include <optional>
#include <set>

#include "broker/handlers/coordinate.h"
#include "broker/handlers/topic_description.h"
#include "protocol/messages/add_partitions_to_txn_response.h"

namespace barnabas::broker {
namespace {

using coordinator::TransactionShard;
using protocol::AddPartitionsToTxnRequest;
using protocol::AddPartitionsToTxnResponse;
using protocol::ErrorCode;
using Transaction = AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction;
using Added = AddPartitionsToTxnResponse::AddPartitionsToTxnResult;

constexpr int16_t first_of_brokers = 4;

/// What a client says of its one transaction, as a broker would say it.
void make_batched(AddPartitionsToTxnRequest& request) {
  Transaction& one = request.transactions.emplace_back();
  one.transactional_id = std::move(request.v3_and_below_transactional_id);
  one.producer_id = request.v3_and_below_producer_id;
  one.producer_epoch = request.v3_and_below_producer_epoch;
  one.topics = std::move(request.v3_and_below_topics);
}

/// What a request is looked at with. Borrows from it.
struct Known {
  metadata::MetadataImagePtr image;
  std::set<std::string_view> denied;  ///< topics that a client may not write to
};

/// What stands against partitions of one topic.
class TopicCheck {
 public:
  TopicCheck(std::string_view topic, const Known& known, int16_t version)
      : topic_(known.image->topic(topic)),
        is_denied_(version < first_of_brokers && (is_internal_topic(topic) || known.denied.contains(topic))) {
  }

  ErrorCode error_of(int32_t partition) const {
    if (is_denied_) return ErrorCode::topic_authorization_failed;
    const bool exists = topic_ != nullptr && topic_->partition(PartitionIndex{partition}) != nullptr;
    return exists ? ErrorCode::none : ErrorCode::unknown_topic_or_partition;
  }
  bool is_good(int32_t partition) const { return error_of(partition) == ErrorCode::none; }

 private:
  const metadata::TopicImage* topic_;
  bool is_denied_;
};

/// Nothing when all partitions exist and may be written to. Otherwise none of them is added.
std::optional<Added> refused_partitions(const Transaction& transaction, const Known& known, int16_t version) {
  const bool all_good = std::ranges::all_of(transaction.topics, [&](const auto& topic) {
    const TopicCheck check(topic.name, known, version);
    return std::ranges::all_of(topic.partitions, [&](int32_t partition) { return check.is_good(partition); });
  });
  if (all_good) return std::nullopt;
  Added result = refuse_transaction(transaction, ErrorCode::operation_not_attempted);
  for (auto& topic : result.topic_results) {
    const TopicCheck check(topic.name, known, version);
    for (auto& partition : topic.results_by_partition)
      if (!check.is_good(partition.partition_index))
        partition.partition_error_code = to_wire(check.error_of(partition.partition_index));
  }
  return result;
}

AddPartitionsToTxnResponse join(std::vector<Added>&& added, int16_t version) {
  AddPartitionsToTxnResponse response;
  if (version >= first_of_brokers) {
    response.results_by_transaction = std::move(added);
    return response;
  }
  response.results_by_topic_v3_and_below = std::move(added.front().topic_results);
  return response;
}

}  // namespace

void AddPartitionsToTxnHandler::handle(Call call, Request request) {
  const int16_t version = call.version();
  if (version < first_of_brokers) make_batched(request);
  std::vector<std::string_view> ids;
  ids.reserve(request.transactions.size());
  for (const Transaction& transaction : request.transactions) ids.push_back(transaction.transactional_id);
  const Rights rights = call.rights();
  const auto known = std::make_shared<Known>(Known{call.services().metadata.current(), {}});
  std::vector<ErrorCode> refused_ids;
  if (version >= first_of_brokers && !rights.may(Right::add_partitions_as_broker)) {
    AddPartitionsToTxnResponse response;
    response.error_code = to_wire(ErrorCode::cluster_authorization_failed);
    return call.reply(response);
  }
  if (version < first_of_brokers) {
    refused_ids = refused_keys(rights, Right::add_partitions_transactional_id, ids);
    for (const auto& topic : request.transactions.front().topics)
      if ((refused_ids.empty() || refused_ids.front() == ErrorCode::none) && !is_internal_topic(topic.name) &&
          !rights.may(Right::add_partitions_topic, topic.name))
        known->denied.insert(topic.name);
  }
  coordinate_each<Added, TransactionShard>(
      std::move(call), std::move(request), ids,
      [known](TransactionShard& shard, const coordinator::RequestContext& context, const Request& asked,
              std::size_t i, coordinator::Reply<Added> reply) {
        const Transaction& transaction = asked.transactions[i];
        if (auto refused = refused_partitions(transaction, *known, context.version))
          return coordinator::Decision::answer(reply.with(std::move(*refused)));
        return shard.add_partitions(context, transaction, std::move(reply));
      },
      [known, version](const Request& asked, std::size_t i, ErrorCode error) {
        const Transaction& transaction = asked.transactions[i];
        if (error == ErrorCode::transactional_id_authorization_failed)
          return refuse_transaction(transaction, error);
        if (auto partitions = refused_partitions(transaction, *known, version)) return std::move(*partitions);
        return refuse_transaction(transaction,
                                  error == ErrorCode::invalid_group_id ? ErrorCode::invalid_request : error);
      },
      [version](const Request&, std::vector<Added>&& added) { return join(std::move(added), version); },
      EmptyGroupId::refused, refused_ids);
}

}  // namespace barnabas::broker
