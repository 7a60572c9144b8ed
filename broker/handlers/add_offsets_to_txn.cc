#include "broker/handlers/add_offsets_to_txn.h"

#include "broker/handlers/coordinate.h"
#include "protocol/messages/add_offsets_to_txn_response.h"

namespace barnabas::broker {
namespace {

using coordinator::TransactionShard;
using protocol::AddOffsetsToTxnRequest;
using protocol::AddOffsetsToTxnResponse;
using protocol::ErrorCode;

void add_offsets(Call call, AddOffsetsToTxnRequest request) {
  const auto partition = call.services().groups.partition_of(request.group_id);
  if (!partition)
    return call.reply(error_response<AddOffsetsToTxnResponse>(ErrorCode::coordinator_not_available));
  const std::string_view id = request.transactional_id;
  coordinate<TransactionShard>(
      std::move(call), std::move(request), id,
      [partition = partition->value()](TransactionShard& shard, const coordinator::RequestContext& context,
                                       const AddOffsetsToTxnRequest& asked,
                                       coordinator::Reply<AddOffsetsToTxnResponse> reply) {
        return shard.add_offsets(
            context, asked.transactional_id, ProducerId{asked.producer_id},
            ProducerEpoch{asked.producer_epoch}, partition,
            {[reply = std::move(reply)](std::expected<ErrorCode, ErrorCode> answer) mutable {
              reply.with_error(answer ? *answer : answer.error())(ErrorCode::none);
            }});
      },
      [](const AddOffsetsToTxnRequest&, ErrorCode error) {
        return error_response<AddOffsetsToTxnResponse>(error);
      });
}

}  // namespace

void AddOffsetsToTxnHandler::handle(Call call, Request request) {
  const Rights rights = call.rights();
  if (!rights.may(Right::add_offsets_transactional_id, request.transactional_id))
    return call.reply(
        error_response<AddOffsetsToTxnResponse>(ErrorCode::transactional_id_authorization_failed));
  if (!rights.may(Right::add_offsets_group, request.group_id))
    return call.reply(error_response<AddOffsetsToTxnResponse>(ErrorCode::group_authorization_failed));
  if (request.transactional_id.empty())
    return call.reply(error_response<AddOffsetsToTxnResponse>(ErrorCode::invalid_request));
  GroupCoordinator& groups = call.services().groups;
  if (groups.partition_of(request.group_id)) return add_offsets(std::move(call), std::move(request));
  // A producer may come here before anybody has asked for a group.
  groups.topic().make([call = std::move(call), request = std::move(request)]() mutable {
    add_offsets(std::move(call), std::move(request));
  });
}

}  // namespace barnabas::broker
