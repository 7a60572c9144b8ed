#pragma once

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "broker/partition.h"
#include "broker/transaction_verifier.h"
#include "protocol/error_code.h"
#include "protocol/messages/produce_request.h"
#include "storage/topic_partition.h"

namespace barnabas::broker {

/// What transactions have to do with one Produce (KIP-890): which of its partitions the coordinator has to be
/// asked about before anything is appended, and what came of it. A request without transactional batches
/// has nothing to ask and costs a look at each header.
///
/// Until v11 the coordinator is asked whether the partition belongs to the transaction (the producer has
/// added it), from v12 on to add it. v10 and older know no transaction_abortable, and get invalid_txn_state.
class ProduceTransaction {
 public:
  struct Rules {
    int16_t version = 0;
    /// transaction.partition.verification.enable; from v12 on partitions are added, and the answer
    /// waited for, in any case.
    bool verify = true;
  };
  using Topic = protocol::ProduceRequest::TopicProduceData;
  /// The partition of a request, or null when it is not here.
  using Find = std::function<std::shared_ptr<Partition>(const Topic& topic, PartitionIndex index)>;

  /// What is known of one partition of the request.
  struct Verdict {
    protocol::ErrorCode error = protocol::ErrorCode::none;
    std::string message;  ///< may be empty
    storage::TransactionCheck check = {};
  };

  /// Whether the sender may use a transactional id.
  using MayUse = std::function<bool(std::string_view transactional_id)>;

  ProduceTransaction(const protocol::ProduceRequest& request, const Rules& rules, const Find& find,
                     TimestampMs now, const MayUse& may_use = {});

  /// The error of the whole request: a transactional batch without a transactional id that the sender may
  /// use, or with several producers.
  protocol::ErrorCode refused() const { return refused_; }
  bool must_ask() const { return !asked_.empty(); }
  /// For TransactionVerifier; owns what it names.
  TransactionVerifier::Transaction question() const;
  void answered(const TransactionVerifier::Verified& answer);
  /// For the n-th partition of the request, in its order.
  const Verdict& verdict(std::size_t nth) const { return verdicts_.empty() ? unasked_ : verdicts_[nth]; }

 private:
  struct Asked {
    std::shared_ptr<Partition> partition;
    storage::VerificationGuard guard;
    std::vector<std::size_t> verdicts;
  };
  bool adds_partitions() const;
  bool find_producer(const protocol::ProduceRequest& request);
  void begin(std::shared_ptr<Partition> partition, int32_t sequence, std::size_t nth, TimestampMs now);
  void answered_one(Asked& asked, protocol::ErrorCode error);

  const Rules rules_;
  protocol::ErrorCode refused_ = protocol::ErrorCode::none;
  std::string transactional_id_;
  ProducerId producer_id_ = no_producer_id;
  ProducerEpoch epoch_ = no_producer_epoch;
  const Verdict unasked_;
  std::vector<Verdict> verdicts_;  ///< empty, or one for each partition of the request
  std::map<storage::TopicPartition, Asked> asked_;
};

}  // namespace barnabas::broker
