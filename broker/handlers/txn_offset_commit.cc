#include "broker/handlers/txn_offset_commit.h"

#include "broker/handlers/coordinate.h"
#include "broker/handlers/denied_topics.h"
#include "broker/transaction_verifier.h"
#include "coordinator/offset_commit.h"

namespace barnabas::broker {
namespace {

using coordinator::GroupShard;
using protocol::ErrorCode;
using protocol::TxnOffsetCommitRequest;
using protocol::TxnOffsetCommitResponse;

constexpr int16_t first_with_abortable_error = 4;
constexpr int16_t first_that_adds_the_partition = 5;

/// The word of the transaction's coordinator, as clients of the group's know it.
ErrorCode told(ErrorCode error, int16_t version) {
  switch (const ErrorCode known = told_to_writers(error, version < first_that_adds_the_partition)) {
    case ErrorCode::transaction_abortable:
      return version >= first_with_abortable_error ? known : ErrorCode::invalid_txn_state;
    case ErrorCode::not_enough_replicas:
    case ErrorCode::unknown_topic_or_partition:
      return ErrorCode::coordinator_not_available;
    default:
      return known;
  }
}

/// One commit on its way: the log is asked whether the transaction is known there, then its coordinator if it
/// is not, then the group's shard commits.
class Commit : public std::enable_shared_from_this<Commit> {
 public:
  Commit(Call call, TxnOffsetCommitRequest request)
      : services_(call.services()),
        image_(services_.metadata.current()),
        call_(std::move(call), std::move(request)) {}

  /// Topics that are not in the request any more.
  void add_refused(std::vector<RefusedTopic<TxnOffsetCommitRequest::TxnOffsetCommitRequestTopic>> refused) {
    if (refused.empty()) return;
    call_.finish_with([refused = std::move(refused)](TxnOffsetCommitResponse& response) {
      for (const auto& topic : refused) add_failed_topic(response.topics, topic.asked, topic.error);
    });
  }

  void begin() {
    const TxnOffsetCommitRequest& request = call_.request;
    if (request.group_id.empty()) return refuse(ErrorCode::invalid_group_id);
    if (auto answer = coordinator::answer_without_commits(request, call_.version(), *image_))
      return call_.reply(*answer);
    const auto partition = services_.groups.partition_of(request.group_id);
    if (!partition) return refuse(ErrorCode::not_coordinator);
    partition_ = *partition;
    if (!must_be_verified()) return commit({});
    services_.groups.begin_verification(
        partition_,
        {.producer_id = ProducerId(request.producer_id),
         .epoch = ProducerEpoch(request.producer_epoch),
         .sequence = 0,
         .adds_partition = adds_partition()},
        [self = shared_from_this()](std::expected<storage::VerificationGuard, ErrorCode> guard) {
          if (!guard) return self->refuse(guard.error());
          if (*guard == storage::no_guard) return self->commit({.must_be_verified = true});
          self->verify(*guard);
        });
  }

 private:
  bool adds_partition() const { return call_.version() >= first_that_adds_the_partition; }
  bool must_be_verified() const { return services_.verify_transactions || adds_partition(); }
  void refuse(ErrorCode error) {
    call_.reply(coordinator::refuse_commit(call_.request, call_.version(), *image_, error));
  }

  void verify(storage::VerificationGuard guard) {
    TransactionVerifier::Transaction question;
    question.transactional_id = call_.request.transactional_id.owned();
    question.producer_id = call_.request.producer_id;
    question.producer_epoch = call_.request.producer_epoch;
    question.verify_only = !adds_partition();
    auto& topic = question.topics.emplace_back();
    topic.name = services_.groups.topic().name();
    topic.partitions.push_back(partition_.value());
    services_.transaction_verifier.verify(
        std::move(question),
        [self = shared_from_this(), guard](const TransactionVerifier::Verified& verified) {
          const auto code = verified.topic_results.at(0).results_by_partition.at(0).partition_error_code;
          const ErrorCode refused = protocol::error_code(code).value_or(ErrorCode::unknown_server_error);
          if (refused == ErrorCode::none) return self->commit({.must_be_verified = true, .guard = guard});
          const ErrorCode error = told(refused, self->call_.version());
          if (!protocol::is_retriable(error)) self->forget(guard);
          self->refuse(error);
        });
  }

  void forget(storage::VerificationGuard guard) {
    services_.groups.refuse_verification(partition_, ProducerId(call_.request.producer_id), guard);
  }

  void commit(const storage::TransactionCheck& check) {
    services_.groups.schedule(
        partition_, check,
        [self = shared_from_this()](GroupShard& shard, const coordinator::Now& now) {
          return shard.commit_offsets_in_transaction(
              self->call_.context(now), self->call_.request,
              coordinator::Reply<TxnOffsetCommitResponse>(
                  [self](const std::expected<TxnOffsetCommitResponse, ErrorCode>& answer) {
                    if (!answer) return self->refuse(answer.error());
                    self->call_.reply(*answer);
                  }));
        },
        [self = shared_from_this()](ErrorCode error) { self->refuse(error); });
  }

  const Services& services_;
  const metadata::MetadataImagePtr image_;
  CoordinatedCall<TxnOffsetCommitRequest> call_;
  PartitionIndex partition_{0};
};

}  // namespace

void TxnOffsetCommitHandler::handle(Call call, Request request) {
  const Rights rights = call.rights();
  const auto refuse_all = [&](ErrorCode error) {
    TxnOffsetCommitResponse response;
    for (const auto& topic : request.topics) add_failed_topic(response.topics, topic, error);
    call.reply(response);
  };
  if (!rights.may(Right::txn_offset_commit_transactional_id, request.transactional_id))
    return refuse_all(ErrorCode::transactional_id_authorization_failed);
  if (!rights.may(Right::txn_offset_commit_group, request.group_id))
    return refuse_all(ErrorCode::group_authorization_failed);
  const bool by_id = call.version() >= coordinator::txn_offset_commit_first_with_topic_ids;
  const auto image = call.services().metadata.current();
  auto refused = take_out_refused(request.topics, by_id, *image, rights, Right::txn_offset_commit_topic);
  const auto commit = std::make_shared<Commit>(std::move(call), std::move(request));
  commit->add_refused(std::move(refused));
  commit->begin();
}

}  // namespace barnabas::broker
