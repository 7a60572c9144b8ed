#include "broker/handlers/produce.h"

#include <algorithm>
#include <atomic>
#include <map>
#include <memory>

#include "broker/error_map.h"
#include "broker/handlers/denied_topics.h"
#include "broker/handlers/produce_transaction.h"
#include "broker/handlers/topic_description.h"
#include "broker/quotas/quotas.h"
#include "network/event_loops.h"
#include "protocol/messages/produce_response.h"
#include "protocol/records/produce_validation.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using protocol::ProduceRequest;
using protocol::ProduceResponse;
using PartitionAnswer = ProduceResponse::PartitionProduceResponse;

constexpr int16_t first_version_by_id = 13;
/// The one client that may write into the broker's own topics, as in Kafka, where it names itself so too.
constexpr std::string_view admin_client = "__admin_client";

/// Counts the request's bytes.
void charge_bytes(Call& call) {
  if (!call.quota_client()) return;
  call.throttle(call.services().quotas->record(RateKind::produce, *call.quota_client(), call.request_bytes(),
                                               std::chrono::steady_clock::now()));
}

/// An answer that waits for the disk: the last partition to become durable sends it.
struct PendingProduce {
  PendingProduce(Call waiting_call, ProduceResponse waiting_response)
      : call(std::move(waiting_call)), response(std::move(waiting_response)) {}

  void finish_one() {
    if (remaining.fetch_sub(1, std::memory_order_acq_rel) == 1) call.reply(response);
  }

  Call call;
  ProduceResponse response;
  /// One for the handler itself, so that nothing is sent before all partitions are waited for.
  std::atomic<int> remaining{1};
};

/// What has to be on disk before the answer may leave.
struct DurableWait {
  std::shared_ptr<Partition> partition;
  Offset end;
  std::size_t topic_at;
  std::size_t partition_at;
};

void set_error(PartitionAnswer& answer, ErrorCode error) {
  answer.error_code = static_cast<int16_t>(error);
  answer.base_offset = -1;
  answer.log_append_time_ms = -1;
}

/// A message goes with errors of single records only; the log start with all that Kafka's log, not its
/// request, refuses.
void set_failure(PartitionAnswer& answer, const protocol::ProduceFailure& failure, Offset log_start) {
  set_error(answer, failure.error);
  const bool by_log = !failure.malformed && failure.error != ErrorCode::corrupt_message &&
                      failure.error != ErrorCode::message_too_large;
  if (by_log) answer.log_start_offset = log_start.value();
  if (failure.record_errors.empty()) return;
  answer.error_message = protocol::String(failure.message);
  for (const protocol::RecordError& record : failure.record_errors) {
    auto& error = answer.record_errors.emplace_back();
    error.batch_index = record.batch_index;
    error.batch_index_error_message = protocol::String(record.message);
  }
}

protocol::ProduceRules rules_of(const TopicSettings& settings, int16_t version, bool check_contents,
                                TimestampMs now) {
  protocol::ProduceRules rules;
  rules.produce_version = version;
  rules.max_message_bytes = settings.log.max_message_bytes;
  rules.compacted = settings.log.cleanup_compact;
  rules.timestamp_type = settings.log.message_timestamp_type;
  rules.timestamp_before_max_ms = settings.log.message_timestamp_before_max_ms;
  rules.timestamp_after_max_ms = settings.log.message_timestamp_after_max_ms;
  rules.target_compression = settings.target_compression;
  rules.max_decompressed_message_bytes = settings.max_decompressed_message_bytes;
  rules.now = now;
  rules.check_contents = check_contents;
  return rules;
}

ReplicaManager::Found find_partition(const Call& call, const ProduceRequest::TopicProduceData& topic,
                                     PartitionIndex index) {
  const ReplicaManager& replicas = call.services().replicas;
  return call.version() >= first_version_by_id ? replicas.find(topic.topic_id, index)
                                               : replicas.find(topic.name, index);
}

/// The elements of a request whose topics its sender may not write to, or whose ids nobody had when it was
/// looked at; once for each.
using RefusedTopics = std::map<const ProduceRequest::TopicProduceData*, ErrorCode>;

RefusedTopics refused_topics(const Call& call, const ProduceRequest& request) {
  RefusedTopics refused;
  const Rights& rights = call.rights();
  if (!rights.limited()) return refused;
  const auto image = call.services().metadata.current();
  for (const auto& topic : request.topic_data) {
    const ErrorCode error = refusal_of_topic(topic, call.version() >= first_version_by_id, *image, rights,
                                             Right::produce_topic, topic.partition_data.size());
    if (error != ErrorCode::none) refused.emplace(&topic, error);
  }
  return refused;
}

class Produce {
 public:
  Produce(Call& call, const ProduceRequest& request, const ProduceTransaction& transaction,
          const RefusedTopics& refused)
      : call_(call),
        request_(request),
        refused_(refused),
        transaction_(transaction),
        now_(wall_clock_now()),
        wait_for_disk_(request.acks == -1) {}

  ProduceResponse run() {
    ProduceResponse response;
    response.responses.reserve(request_.topic_data.size());
    for (const auto& topic : request_.topic_data) {
      auto& answer = response.responses.emplace_back();
      answer.name = topic.name.owned();
      answer.topic_id = topic.topic_id;
      answer.partition_responses.reserve(topic.partition_data.size());
      for (const auto& partition : topic.partition_data) {
        auto& result = answer.partition_responses.emplace_back();
        result.index = partition.index;
        topic_at_ = response.responses.size() - 1;
        partition_at_ = answer.partition_responses.size() - 1;
        append(topic, partition, result);
        count(Traffic::produce_requests);
        if (result.error_code != 0) {
          failed_ = true;
          count(Traffic::failed_produce_requests);
        }
        partition_.reset();
        ++nth_;
      }
    }
    return response;
  }

  bool failed() const { return failed_; }
  std::vector<DurableWait>& waits() { return waits_; }

 private:
  void append(const ProduceRequest::TopicProduceData& topic, const ProduceRequest::PartitionProduceData& data,
              PartitionAnswer& answer) {
    if (transaction_.refused() != ErrorCode::none) return set_error(answer, transaction_.refused());
    if (!refused_.empty())
      if (const auto at = refused_.find(&topic); at != refused_.end()) return set_error(answer, at->second);
    auto found = find_partition(call_, topic, PartitionIndex{data.index});
    if (!found.partition) return set_error(answer, found.error);
    partition_ = found.partition;
    const ProduceTransaction::Verdict& verdict = transaction_.verdict(nth_);
    if (verdict.error != ErrorCode::none) {
      set_error(answer, verdict.error);
      if (!verdict.message.empty()) answer.error_message = protocol::String(verdict.message);
      return;
    }
    Partition& partition = *found.partition;
    auto batch = protocol::validate_produced_records(
        records_of(data),
        rules_of(*partition.settings(), call_.version(), call_.services().check_record_contents, now_));
    const bool bad_acks = request_.acks < -1 || request_.acks > 1;
    if (bad_acks && (batch || !batch.error().malformed))
      return set_error(answer, ErrorCode::invalid_required_acks);
    if ((batch || !batch.error().malformed) && is_internal_topic(partition.name().topic) &&
        call_.client_id() != admin_client)
      return set_error(answer, ErrorCode::invalid_topic_exception);
    if (!batch) return set_failure(answer, batch.error(), partition.log().log_start_offset());

    const auto appended =
        partition.append(batch->bytes, wait_for_disk_, now_, storage::AppendOrigin::client, verdict.check);
    if (!appended) {
      set_error(answer, error_code_of(appended.error().kind));
      answer.log_start_offset = partition.log().log_start_offset().value();
      return;
    }
    answer.base_offset = appended->base_offset.value();
    answer.log_append_time_ms =
        (appended->duplicate ? appended->max_timestamp : batch->log_append_time).value();
    answer.log_start_offset = appended->log_start_offset.value();
    if (wait_for_disk_ && partition.flush_before_ack())
      waits_.push_back({std::move(found.partition), appended->last_offset + 1, topic_at_, partition_at_});
  }

  void count(Traffic what) {
    if (partition_) return partition_->count(what, 1);
    call_.services().replicas.traffic().count(what, 1);
  }

  /// The records where they lie in the request's frame, which is ours to patch.
  static std::optional<MutableByteView> records_of(const ProduceRequest::PartitionProduceData& data) {
    if (data.records.is_null()) return std::nullopt;
    const ByteView bytes = data.records.bytes();
    return MutableByteView(const_cast<std::byte*>(bytes.data()), bytes.size());
  }

  Call& call_;
  const ProduceRequest& request_;
  const RefusedTopics& refused_;
  const ProduceTransaction& transaction_;
  const TimestampMs now_;
  const bool wait_for_disk_;
  bool failed_ = false;
  std::shared_ptr<Partition> partition_;  ///< which it is about now; null: not here, or refused before
  std::size_t nth_ = 0;                   ///< of all partitions of the request
  std::size_t topic_at_ = 0;
  std::size_t partition_at_ = 0;
  std::vector<DurableWait> waits_;
};

/// The producer's timeout_ms, but time enough for a sync whatever it says.
Instant deadline_of(const Call& call, int32_t timeout_ms) {
  constexpr std::chrono::milliseconds least{1'000};
  return call.received() + std::max(least, std::chrono::milliseconds(timeout_ms));
}

void answer_when_durable(Call call, ProduceResponse response, std::vector<DurableWait> waits,
                         Instant deadline) {
  call.release_frame();
  // What a client over its quota sends behind is not begun: one request too much is the most that it gets
  // through.
  if (call.throttle_time_ms() == 0) call.allow_next();
  auto pending = std::make_shared<PendingProduce>(std::move(call), std::move(response));
  pending->remaining.fetch_add(static_cast<int>(waits.size()), std::memory_order_relaxed);
  for (DurableWait& wait : waits) {
    auto& answer = pending->response.responses[wait.topic_at].partition_responses[wait.partition_at];
    wait.partition->when_durable(
        wait.end, deadline,
        [pending, &answer, partition = wait.partition.get()](const Result<void>& durable) {
          if (!durable) {
            set_error(answer, error_code_of(durable.error().kind));
            partition->count(Traffic::failed_produce_requests, 1);
          }
          pending->finish_one();
        });
  }
  pending->finish_one();
}

void append_and_answer(Call call, const ProduceRequest& request, const ProduceTransaction& transaction,
                       const RefusedTopics& refused) {
  const int16_t acks = request.acks;
  const Instant deadline = deadline_of(call, request.timeout_ms);
  Produce produce(call, request, transaction, refused);
  ProduceResponse response = produce.run();
  charge_bytes(call);
  if (acks == 0) {
    if (produce.failed())
      return call.close("Produce with acks=0 failed; closing is all that such a producer can see");
    return call.no_reply();
  }
  if (produce.waits().empty()) return call.reply(response);
  answer_when_durable(std::move(call), std::move(response), std::move(produce.waits()), deadline);
}

/// A request whose transaction is being verified. Nothing of it is appended yet, and its connection starts no
/// other one: so batches stay in the order in which the producer sent them.
struct UnverifiedProduce {
  Call call;
  ProduceRequest request;
  ProduceTransaction transaction;
  RefusedTopics refused;  ///< elements of `request`, which keep their place when it is moved
};

void append_when_verified(TransactionVerifier& verifier, Call call, ProduceRequest request,
                          ProduceTransaction transaction, RefusedTopics refused) {
  auto question = transaction.question();
  const auto waiting = std::make_shared<UnverifiedProduce>(std::move(call), std::move(request),
                                                           std::move(transaction), std::move(refused));
  verifier.verify(std::move(question), [waiting](TransactionVerifier::Verified verified) {
    waiting->call.connection().loop->post([waiting, verified = std::move(verified)] {
      waiting->transaction.answered(verified);
      append_and_answer(std::move(waiting->call), waiting->request, waiting->transaction, waiting->refused);
    });
  });
}

}  // namespace

void ProduceHandler::handle(Call call, Request request) {
  const Services& services = call.services();
  const Rights rights = call.rights();
  auto refused = refused_topics(call, request);
  const auto find = [&](const ProduceTransaction::Topic& topic, PartitionIndex index) {
    return refused.contains(&topic) ? nullptr : find_partition(call, topic, index).partition;
  };
  ProduceTransaction transaction(
      request, {.version = call.version(), .verify = services.verify_transactions}, find, wall_clock_now(),
      [&](std::string_view id) { return rights.may(Right::produce_transactional_id, id); });
  if (!transaction.must_ask()) return append_and_answer(std::move(call), request, transaction, refused);
  append_when_verified(services.transaction_verifier, std::move(call), std::move(request),
                       std::move(transaction), std::move(refused));
}

}  // namespace barnabas::broker
