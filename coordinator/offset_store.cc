#include "coordinator/offset_store.h"

namespace barnabas::coordinator {

void OffsetStore::put(const OffsetKey& key, const CommittedOffset& offset, ProducerId producer) {
  Table& table = producer == no_producer_id ? committed_ : transactions_[producer];
  const auto [value, is_new] = table.place(key.group, key.topic, key.partition);
  value = offset;
  value.metadata = offset.metadata.owned();
  if (producer != no_producer_id && is_new) ++pending_.place(key.group, key.topic, key.partition).first;
}

void OffsetStore::remove(const OffsetKey& key) {
  committed_.remove(key.group, key.topic, key.partition);
  if (!is_pending(key)) return;
  for (auto transaction = transactions_.begin(); transaction != transactions_.end();) {
    transaction->second.remove(key.group, key.topic, key.partition);
    transaction = transaction->second.size() == 0 ? transactions_.erase(transaction) : std::next(transaction);
  }
  pending_.remove(key.group, key.topic, key.partition);
}

void OffsetStore::no_longer_pending(const OffsetKey& key) {
  if (--pending_.place(key.group, key.topic, key.partition).first == 0)
    pending_.remove(key.group, key.topic, key.partition);
}

void OffsetStore::end_transaction(ProducerId producer, bool committed) {
  const auto found = transactions_.find(producer);
  if (found == transactions_.end()) return;
  const Table offsets = std::move(found->second);
  transactions_.erase(found);
  for (const auto& [group, topics] : offsets) {
    for (const auto& [topic, partitions] : topics) {
      for (const auto& [partition, offset] : partitions) {
        const OffsetKey key{group, topic, partition};
        no_longer_pending(key);
        if (!committed) continue;
        const auto [value, is_new] = committed_.place(key.group, key.topic, key.partition);
        if (is_new || offset.record_offset > value.record_offset) value = offset;
      }
    }
  }
}

}  // namespace barnabas::coordinator
