#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "coordinator/decision.h"
#include "coordinator/transaction.h"
#include "coordinator/transaction_shard.h"

namespace barnabas::coordinator {

/// One transactional id while requests look at it and change it, one after the other: each finds what the
/// ones before it made of it, and all become one decision.
class TransactionTurn {
 public:
  /// `transaction`: nothing if nobody uses the id. `number`: of the markers that it may ask for. The
  /// environment outlives the turn.
  TransactionTurn(TransactionEnvironment& environment, std::string transactional_id,
                  std::optional<Transaction> transaction, const Now& now, uint64_t number)
      : environment_(&environment),
        transactional_id_(std::move(transactional_id)),
        now_(now),
        number_(number),
        transaction_(std::move(transaction)) {}

  const std::string& transactional_id() const { return transactional_id_; }
  const TransactionSettings& settings() const { return environment_->settings; }
  const Now& now() const { return now_; }
  const std::optional<Transaction>& transaction() const { return transaction_; }
  /// Level of the feature transaction.version.
  int16_t server_version() const;

  /// A producer id that nobody had before, if one was asked for; once.
  std::optional<ProducerId> take_new_producer_id() { return std::exchange(new_producer_id_, std::nullopt); }
  void give_new_producer_id(ProducerId id) { new_producer_id_ = id; }

  void write(Transaction next);
  /// The outcome; of a transaction that has no partitions also the end. The markers are asked for once the
  /// outcome is durable.
  void decide(bool committed, int16_t client_version, ProducerId next_producer);
  /// The transaction must be ongoing: aborts it, and fences its producer. False: that needs a new producer
  /// id.
  bool abort();
  void answer(ReadyReply reply) { decision_.replies.push_back(std::move(reply)); }

  /// About what its records take of a batch.
  std::size_t size() const;
  uint64_t number() const { return number_; }
  bool has_changed() const { return has_changed_; }
  /// What the turn came to, without `appended`. The turn is over.
  Decision take_decision() { return std::move(decision_); }
  std::optional<Transaction> take_transaction() { return std::move(transaction_); }

 private:
  TransactionEnvironment* environment_;
  std::string transactional_id_;
  Now now_;
  uint64_t number_;
  std::optional<Transaction> transaction_;
  bool has_changed_ = false;
  std::optional<ProducerId> new_producer_id_;
  Decision decision_ = {.replay = false};
};

/// The markers that this decided transaction still misses.
TransactionMarkers missing_markers(const TransactionEnvironment& environment,
                                   std::string_view transactional_id, const Transaction& transaction,
                                   uint64_t number);
/// Asks for them, unless what it waits for never becomes durable.
ReadyReply ask_for_markers(const TransactionEnvironment& environment, TransactionMarkers markers);

}  // namespace barnabas::coordinator
