#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "coordinator/transaction_turn.h"

namespace barnabas::coordinator {

/// Something that wants to be done with a transactional id, and somebody who may have to be told. It owns all
/// it needs, so that it can wait.
class TransactionRequest {
 public:
  enum class Progress {
    done,               ///< whoever asked is answered by the turn
    waits,              ///< for the outcome that is being carried out
    needs_producer_id,  ///< then it is attempted again
  };

  explicit TransactionRequest(std::string_view transactional_id) : transactional_id_(transactional_id) {}
  virtual ~TransactionRequest() = default;
  const std::string& transactional_id() const { return transactional_id_; }

  /// May come several times, until it is done.
  virtual Progress attempt(TransactionTurn& turn) = 0;
  /// It ends with this error instead.
  virtual ReadyReply refused(protocol::ErrorCode error) = 0;

 protected:
  Progress refuse(TransactionTurn& turn, protocol::ErrorCode error) {
    turn.answer(refused(error));
    return Progress::done;
  }

 private:
  std::string transactional_id_;
};

/// What clients that are older than the error are told of being fenced.
inline protocol::ErrorCode fenced_for(int16_t version, int16_t first_that_knows, protocol::ErrorCode error) {
  return error == protocol::ErrorCode::producer_fenced && version < first_that_knows
             ? protocol::ErrorCode::invalid_producer_epoch
             : error;
}

class InitProducerId : public TransactionRequest {
 public:
  InitProducerId(int16_t version, const protocol::InitProducerIdRequest& request,
                 Reply<protocol::InitProducerIdResponse> reply);
  Progress attempt(TransactionTurn& turn) override;
  ReadyReply refused(protocol::ErrorCode error) override;

 private:
  protocol::ErrorCode check(const TransactionSettings& settings) const;
  bool is_its_producer(const Transaction& transaction) const;
  Progress initialize(TransactionTurn& turn, const Transaction& current);
  Progress advance_epoch(TransactionTurn& turn, const Transaction& current);
  Progress finish(TransactionTurn& turn, Transaction next);

  int16_t version_;
  int32_t timeout_ms_;
  bool two_phase_commit_;
  bool keeps_prepared_;
  ProducerId producer_id_;
  ProducerEpoch producer_epoch_;
  Reply<protocol::InitProducerIdResponse> reply_;
};

/// Base of the requests that put partitions into a transaction.
class PartitionsRequest : public TransactionRequest {
 public:
  PartitionsRequest(std::string_view transactional_id, int16_t version, ProducerId producer_id,
                    ProducerEpoch producer_epoch)
      : TransactionRequest(transactional_id),
        version_(version),
        producer_id_(producer_id),
        producer_epoch_(producer_epoch) {}

 protected:
  Progress add(TransactionTurn& turn, const TransactionPartitions& partitions, int16_t client_version);
  protocol::ErrorCode check(const Transaction& transaction) const;
  virtual ReadyReply accepted() = 0;
  int16_t version() const { return version_; }

 private:
  int16_t version_;
  ProducerId producer_id_;
  ProducerEpoch producer_epoch_;
};

class AddPartitions : public PartitionsRequest {
 public:
  using Asked = protocol::AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction;
  using Told = protocol::AddPartitionsToTxnResponse::AddPartitionsToTxnResult;

  AddPartitions(int16_t version, const Asked& asked, Reply<Told> reply);
  Progress attempt(TransactionTurn& turn) override;
  ReadyReply refused(protocol::ErrorCode error) override;

 protected:
  ReadyReply accepted() override { return told(protocol::ErrorCode::none); }

 private:
  Progress verify(TransactionTurn& turn);
  ReadyReply told(protocol::ErrorCode of_each);

  bool only_verifies_;
  Told result_;  ///< names what was asked for, in that order; errors come later
  Reply<Told> reply_;
};

class AddOffsets : public PartitionsRequest {
 public:
  AddOffsets(std::string_view transactional_id, int16_t version, ProducerId producer_id,
             ProducerEpoch producer_epoch, int32_t offsets_partition, Reply<protocol::ErrorCode> reply)
      : PartitionsRequest(transactional_id, version, producer_id, producer_epoch),
        offsets_partition_(offsets_partition),
        reply_(std::move(reply)) {}
  Progress attempt(TransactionTurn& turn) override;
  ReadyReply refused(protocol::ErrorCode error) override;

 protected:
  ReadyReply accepted() override { return reply_.with(protocol::ErrorCode::none); }

 private:
  int32_t offsets_partition_;
  Reply<protocol::ErrorCode> reply_;
};

class EndTransaction : public TransactionRequest {
 public:
  EndTransaction(int16_t version, const protocol::EndTxnRequest& request,
                 Reply<protocol::EndTxnResponse> reply);
  Progress attempt(TransactionTurn& turn) override;
  ReadyReply refused(protocol::ErrorCode error) override;

 private:
  Progress end(TransactionTurn& turn, const Transaction& current);
  Progress end_with_new_epoch(TransactionTurn& turn, const Transaction& current);
  Progress decide_with_new_epoch(TransactionTurn& turn, const Transaction& current);
  Progress accept(TransactionTurn& turn, ProducerId producer_id, ProducerEpoch producer_epoch);
  bool was(const Transaction& transaction) const;

  int16_t version_;
  ProducerId producer_id_;
  ProducerEpoch producer_epoch_;
  bool commits_;
  Reply<protocol::EndTxnResponse> reply_;
};

/// Nobody asks for it: the transaction takes longer than its producer said.
class AbortTimedOut : public TransactionRequest {
 public:
  using TransactionRequest::TransactionRequest;
  Progress attempt(TransactionTurn& turn) override;
  ReadyReply refused(protocol::ErrorCode) override {
    return [](protocol::ErrorCode) {};
  }
};

}  // namespace barnabas::coordinator
