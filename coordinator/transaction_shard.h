#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "base/text_hash.h"
#include "coordinator/decision.h"
#include "coordinator/shard_environment.h"
#include "coordinator/timers.h"
#include "coordinator/transaction.h"
#include "coordinator/transaction_filter.h"
#include "coordinator/transaction_settings.h"
#include "metadata/publisher.h"
#include "protocol/error_code.h"
#include "protocol/messages/add_partitions_to_txn_request.h"
#include "protocol/messages/add_partitions_to_txn_response.h"
#include "protocol/messages/describe_transactions_response.h"
#include "protocol/messages/end_txn_request.h"
#include "protocol/messages/end_txn_response.h"
#include "protocol/messages/init_producer_id_request.h"
#include "protocol/messages/init_producer_id_response.h"
#include "protocol/messages/list_transactions_response.h"

namespace barnabas::coordinator {

class TransactionRequest;
class TransactionShard;
class TransactionTurn;

/// How a transaction ended, for one partition.
struct MarkerResult {
  std::string topic;
  int32_t partition = 0;
  protocol::ErrorCode error = protocol::ErrorCode::none;
};

/// The markers of one transaction that are to be written into these partitions.
struct TransactionMarkers {
  std::string transactional_id;
  ProducerId producer_id = no_producer_id;
  ProducerEpoch producer_epoch = no_producer_epoch;
  bool committed = false;
  int32_t coordinator_epoch = 0;
  int16_t transaction_version = 0;
  TransactionPartitions partitions;
  /// The shard's own: results of what it asked for before count no more.
  uint64_t number = 0;
};

/// What a shard wants of the world besides its log. Methods are called on the shard's thread, or from a reply
/// that became durable, on any; they return at once. What comes back is run with the shard as a request is.
class TransactionEffects {
 public:
  virtual ~TransactionEffects() = default;

  using Resume =
      std::move_only_function<Decision(TransactionShard&, ProducerId, protocol::ErrorCode, const Now&)>;
  /// A producer id that nobody had before. `resume` runs with the shard of this transactional id, and not at
  /// all if that is gone by then: whoever waits is answered by `refused` instead.
  virtual void next_producer_id(std::string transactional_id, Resume resume,
                                std::move_only_function<void(protocol::ErrorCode)> refused) = 0;

  /// Writes them; TransactionShard::markers_written gets a result for each partition once each is durable or
  /// failed, and nothing if the shard is gone by then. Asked for only when the outcome is durable.
  virtual void write_markers(TransactionMarkers markers) = 0;
};

struct TransactionEnvironment {
  const metadata::StaticConfig& config;  ///< outlives the shard
  TransactionSettings settings;
  metadata::MetadataImagePtr image;  ///< never null
  /// Leader epoch of the partition that holds the shard's log: an older coordinator's markers are refused.
  int32_t coordinator_epoch = 0;
  TransactionEffects& effects;  ///< outlives the shard and what it decided
  Timers timers = {};
};

/// The transactional ids of one partition of __transaction_state: a pure state machine (KIP-98, KIP-360,
/// KIP-447, KIP-588, KIP-664, KIP-890). Every method runs on the one thread of the shard and gives a
/// Decision, which that thread carries out before it calls the next one.
class TransactionShard {
 public:
  explicit TransactionShard(TransactionEnvironment environment);
  ~TransactionShard();
  TransactionShard(const TransactionShard&) = delete;
  TransactionShard& operator=(const TransactionShard&) = delete;

  // --- for whoever runs it
  // -----------------------------------------------------------------------------------

  Result<void> replay(const ReplayedRecord& record);
  /// Its own log has no transactions.
  void end_transaction(ProducerId producer, bool committed);
  /// The log is replayed to its end: outcomes that were decided are carried on, timers begin.
  Decision loaded(const Now& now);
  Decision metadata_changed(const metadata::MetadataChanges& changes, const metadata::MetadataImagePtr& image,
                            const Now& now);
  /// No longer led by this broker: answers all that wait with not_coordinator.
  Decision unload();
  Timers& timers() { return environment_.timers; }

  /// See TransactionEffects::write_markers. `committed` and the epoch say which outcome they belong to.
  Decision markers_written(const TransactionMarkers& markers, const std::vector<MarkerResult>& results,
                           const Now& now);

  // --- requests
  // -----------------------------------------------------------------------------------

  /// With a transactional id that is not empty.
  Decision init_producer_id(const RequestContext& context, const protocol::InitProducerIdRequest& request,
                            Reply<protocol::InitProducerIdResponse> reply);
  /// One transaction of AddPartitionsToTxn: by a client (version 0 to 3; made into this struct), or by a
  /// broker that leads partitions (4 on): add, or only verify (KIP-890). A result for each partition, in the
  /// order of the request.
  Decision add_partitions(
      const RequestContext& context,
      const protocol::AddPartitionsToTxnRequest::AddPartitionsToTxnTransaction& transaction,
      Reply<protocol::AddPartitionsToTxnResponse::AddPartitionsToTxnResult> reply);
  /// For AddOffsetsToTxn: the partition that holds the group's offsets becomes a part of the transaction.
  Decision add_offsets(const RequestContext& context, std::string_view transactional_id,
                       ProducerId producer_id, ProducerEpoch producer_epoch, int32_t offsets_partition,
                       Reply<protocol::ErrorCode> reply);
  Decision end_txn(const RequestContext& context, const protocol::EndTxnRequest& request,
                   Reply<protocol::EndTxnResponse> reply);
  /// The answer has its error in it.
  Decision describe(std::string_view transactional_id,
                    Reply<protocol::DescribeTransactionsResponse::TransactionState> reply) const;
  /// Those of this shard that the filter lets through.
  Decision list(const RequestContext& context, const TransactionFilter& filter,
                Reply<std::vector<protocol::ListTransactionsResponse::TransactionState>> reply) const;

 private:
  struct Entry {
    Transaction transaction;
    std::size_t among_ongoing = 0;  ///< its place in ongoing_, if it is ongoing
    uint64_t markers = 0;           ///< the number of those that were asked for last
  };
  using Entries = std::unordered_map<std::string, Entry, TextHash, std::equal_to<>>;
  struct Held {
    Instant until;
    std::unique_ptr<TransactionRequest> request;
  };
  struct HeldDeadline {
    Instant at;
    std::string transactional_id;
  };

  std::optional<Transaction> find(std::string_view transactional_id) const;
  Entry& keep(std::string_view transactional_id, Transaction transaction);
  void forget(std::string_view transactional_id);
  void drop_from_ongoing(const Entry& entry);

  Decision serve(std::unique_ptr<TransactionRequest> request, const Now& now,
                 std::optional<ProducerId> new_producer_id = {});
  TransactionTurn begin(std::string_view transactional_id, const Now& now);
  void attempt(TransactionTurn& turn, std::unique_ptr<TransactionRequest> request,
               std::optional<Instant> until = {});
  Decision finish(TransactionTurn turn);
  Decision finish(std::vector<TransactionTurn> turns);

  void ask_for_producer_id(std::unique_ptr<TransactionRequest> request);
  void hold(TransactionTurn& turn, std::unique_ptr<TransactionRequest> request, std::optional<Instant> until);
  void release_held(TransactionTurn& turn);
  Decision refuse_overdue(const Now& now);

  Decision carry_on(const std::string& transactional_id, const Now& now);
  void carry_on_later(const std::string& transactional_id, const Now& now);
  bool is_there(const std::string& topic, int32_t partition) const;
  Decision complete(const std::string& transactional_id, const Now& now);

  void begin_timers(const Now& now);
  Decision abort_timed_out(const Now& now);
  Decision expire_ids(const Now& now);

  TransactionEnvironment environment_;
  Entries transactions_;
  std::vector<Entries::value_type*> ongoing_;
  /// Requests for ids whose outcome is being carried out, in the order in which they came.
  std::unordered_map<std::string, std::deque<Held>, TextHash, std::equal_to<>> held_;
  std::size_t held_count_ = 0;
  uint64_t last_turn_ = 0;
  std::deque<HeldDeadline> held_deadlines_;  ///< the earliest first; the request may be gone
};

}  // namespace barnabas::coordinator
