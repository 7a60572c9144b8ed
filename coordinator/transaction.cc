#include "coordinator/transaction.h"

#include <algorithm>
#include <array>
#include <limits>
#include <utility>

#include "base/assert.h"

namespace barnabas::coordinator {
namespace {

constexpr std::array<std::string_view, 8> names = {"Empty",        "Ongoing",          "PrepareCommit",
                                                   "PrepareAbort", "CompleteCommit",   "CompleteAbort",
                                                   "Dead",         "PrepareEpochFence"};

constexpr ProducerEpoch highest_epoch{std::numeric_limits<int16_t>::max()};

ProducerEpoch next(ProducerEpoch epoch) {
  return ProducerEpoch(static_cast<int16_t>(epoch.value() + 1));
}

Transaction changed(const Transaction& of, TransactionState state, TimestampMs now) {
  Transaction to = of;
  to.previous_producer_id = of.producer_id;
  to.state = state;
  to.updated_at = now;
  return to;
}

}  // namespace

std::string_view name_of(TransactionState state) {
  return names[static_cast<std::size_t>(state)];
}

std::optional<TransactionState> transaction_state_of(std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end()) return std::nullopt;
  return static_cast<TransactionState>(found - names.begin());
}

bool contains(const TransactionPartitions& partitions, const std::string& topic, int32_t partition) {
  const auto found = partitions.find(topic);
  return found != partitions.end() && std::ranges::binary_search(found->second, partition);
}

void insert(TransactionPartitions& partitions, const std::string& topic, int32_t partition) {
  auto& of_topic = partitions[topic];
  const auto at = std::ranges::lower_bound(of_topic, partition);
  if (at == of_topic.end() || *at != partition) of_topic.insert(at, partition);
}

void remove(TransactionPartitions& partitions, const std::string& topic, int32_t partition) {
  const auto found = partitions.find(topic);
  if (found == partitions.end()) return;
  const auto at = std::ranges::lower_bound(found->second, partition);
  if (at != found->second.end() && *at == partition) found->second.erase(at);
  if (found->second.empty()) partitions.erase(found);
}

bool Transaction::has_timed_out(TimestampMs now) const {
  return state == TransactionState::ongoing && timeout_ms != std::numeric_limits<int32_t>::max() &&
         started_at.value() + timeout_ms < now.value();
}

Transaction new_transaction(ProducerId producer, TimestampMs now) {
  return {.producer_id = producer, .updated_at = now};
}

Transaction initialized(const Transaction& of, ProducerEpoch epoch, ProducerEpoch last_epoch,
                        int32_t timeout_ms, TimestampMs now) {
  BARNABAS_ASSERT(of.state == TransactionState::empty || of.is_complete());
  Transaction to = changed(of, TransactionState::empty, now);
  to.producer_epoch = epoch;
  to.last_producer_epoch = last_epoch;
  to.timeout_ms = timeout_ms;
  to.started_at = no_timestamp;
  to.partitions.clear();
  return to;
}

Transaction initialized_anew(const Transaction& of, ProducerId producer, ProducerEpoch last_epoch,
                             int32_t timeout_ms, TimestampMs now) {
  Transaction to = initialized(of, ProducerEpoch{0}, last_epoch, timeout_ms, now);
  to.producer_id = producer;
  return to;
}

Transaction with_partitions(const Transaction& of, const TransactionPartitions& more, int16_t client_version,
                            TimestampMs now) {
  BARNABAS_ASSERT(!of.is_decided());
  Transaction to = changed(of, TransactionState::ongoing, now);
  if (of.state != TransactionState::ongoing) to.started_at = now;
  to.client_version = client_version;
  for (const auto& [topic, partitions] : more)
    for (const int32_t partition : partitions) insert(to.partitions, topic, partition);
  return to;
}

Transaction decided(const Transaction& of, bool committed, int16_t client_version, ProducerId next_producer,
                    TimestampMs now) {
  // Version 2 can also abort what never began, to get a new epoch.
  BARNABAS_ASSERT(of.state == TransactionState::ongoing || (!committed && !of.is_decided()));
  Transaction to =
      changed(of, committed ? TransactionState::prepare_commit : TransactionState::prepare_abort, now);
  if (of.state != TransactionState::ongoing) to.started_at = now;
  if (client_version >= first_version_with_epoch_bump) {
    if (of.producer_epoch != highest_epoch) to.producer_epoch = next(of.producer_epoch);
    to.last_producer_epoch = of.producer_epoch;
  }
  to.next_producer_id = next_producer;
  to.client_version = client_version;
  return to;
}

Transaction completed(const Transaction& of, TimestampMs now) {
  BARNABAS_ASSERT(of.is_decided());
  Transaction to = changed(of,
                           of.state == TransactionState::prepare_commit ? TransactionState::complete_commit
                                                                        : TransactionState::complete_abort,
                           now);
  if (of.client_version >= first_version_with_epoch_bump && of.next_producer_id != no_producer_id) {
    to.producer_id = of.next_producer_id;
    to.producer_epoch = ProducerEpoch{0};
  }
  to.next_producer_id = no_producer_id;
  to.partitions.clear();
  return to;
}

}  // namespace barnabas::coordinator
