#pragma once

// A log with keys and what it ought to hold, for tests of compaction: everything that was ever appended, in a
// plain list, and what of it must, may and must not be there after cleanings and crashes.

#include <gtest/gtest.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "storage/file_checks.h"
#include "storage/log_compaction.h"
#include "storage/log_fixture.h"

namespace barnabas::storage::test {

struct KeyedRecord {
  std::optional<std::string> key;
  std::optional<std::string> value;
};

struct KeyedBatch {
  std::vector<KeyedRecord> records;
  TimestampMs timestamp{0};
  int64_t producer_id = -1;
  int32_t sequence = 0;
  bool transactional = false;
  protocol::Codec codec = protocol::Codec::none;
};

inline Bytes keyed_batch(const KeyedBatch& shape) {
  protocol::RecordBatchOptions options;
  options.transactional = shape.transactional;
  options.compression.codec = shape.codec;
  if (shape.producer_id >= 0) {
    options.producer_id = ProducerId(shape.producer_id);
    options.producer_epoch = ProducerEpoch(0);
    options.base_sequence = shape.sequence;
  }
  const auto view = [](const std::optional<std::string>& text) {
    return text ? std::optional(as_byte_view(*text)) : std::nullopt;
  };
  protocol::RecordBatchBuilder builder(options);
  int64_t at = 0;
  for (const KeyedRecord& record : shape.records)
    builder.append(shape.timestamp + at++, view(record.key), view(record.value));
  return builder.build();
}

/// A batch as a reader finds it.
struct FoundBatch {
  protocol::RecordBatchHeader header;
  std::map<Offset, KeyedRecord> records;
};

inline std::vector<FoundBatch> read_batches(TestLog& log, uint64_t max_bytes) {
  std::vector<FoundBatch> found;
  Offset from = log.start();
  while (from < log.end()) {
    auto result = log.log->read(from, max_bytes, log.end(), true);
    EXPECT_TRUE(result) << result.error().message;
    if (!result || result->slice.length == 0) break;
    const Bytes bytes = log.bytes_of(*result);
    protocol::BatchIterator iterator(bytes);
    while (iterator.next() == protocol::BatchIterator::Step::batch) {
      EXPECT_TRUE(iterator.batch().verify_crc());
      FoundBatch batch{iterator.batch().header(), {}};
      protocol::RecordReader reader(iterator.batch());
      protocol::RecordView record;
      while (reader.next(record).value_or(false)) {
        KeyedRecord& into = batch.records[record.offset];
        if (record.key()) into.key = std::string(as_text(*record.key()));
        if (record.value()) into.value = std::string(as_text(*record.value()));
      }
      EXPECT_EQ(static_cast<int32_t>(batch.records.size()), batch.header.record_count);
      EXPECT_GE(batch.header.last_offset(), from);
      from = batch.header.next_offset();
      found.push_back(std::move(batch));
    }
    EXPECT_EQ(iterator.remaining().size(), 0u);
  }
  return found;
}

/// What was appended, and what may have become of it.
class CompactionModel {
 public:
  struct Record {
    KeyedRecord content;
    int transaction = -1;
    TimestampMs timestamp;
    /// First time that a cleaning went over it, for tombstones.
    std::optional<TimestampMs> cleaned_at;
  };
  enum class Outcome { open, committed, aborted };
  struct Transaction {
    int64_t producer_id = -1;
    Offset first, marker = no_offset;
    Outcome outcome = Outcome::open;
    /// When a cleaning first found none of its batches.
    std::optional<TimestampMs> without_data_at;
  };
  struct LastBatch {
    int32_t next_sequence = 0;
    Offset last_offset = no_offset;
  };

  void append(const KeyedBatch& batch, Offset base) {
    int transaction = -1;
    if (batch.transactional) {
      transaction = open_transaction(batch.producer_id);
      if (transaction < 0) {
        transaction = static_cast<int>(transactions.size());
        transactions.emplace_back();
        transactions.back().producer_id = batch.producer_id;
        transactions.back().first = base;
      }
    }
    Offset at = base;
    for (const KeyedRecord& record : batch.records) {
      records[at] = {record, transaction, batch.timestamp + (at - base), {}};
      ++at;
    }
    end = at;
  }
  void end_transaction(int64_t producer_id, bool abort, Offset at) {
    const int transaction = open_transaction(producer_id);
    if (transaction >= 0) {
      transactions[static_cast<std::size_t>(transaction)].marker = at;
      transactions[static_cast<std::size_t>(transaction)].outcome =
          abort ? Outcome::aborted : Outcome::committed;
    }
    end = at + 1;
  }
  int open_transaction(int64_t producer_id) const {
    for (std::size_t i = 0; i < transactions.size(); ++i)
      if (transactions[i].producer_id == producer_id && transactions[i].outcome == Outcome::open)
        return static_cast<int>(i);
    return -1;
  }
  /// The log was cut there; `to` is where a batch began.
  void cut(Offset to) {
    records.erase(records.lower_bound(to), records.end());
    std::erase_if(transactions, [&](const Transaction& one) { return one.first >= to; });
    for (Transaction& one : transactions) {
      if (one.marker < to) continue;
      one.marker = no_offset;
      one.outcome = Outcome::open;
    }
    end = std::min(end, to);
  }

  bool is_aborted(const Record& record) const {
    return record.transaction >= 0 && outcome(record) == Outcome::aborted;
  }
  bool is_open(const Record& record) const {
    return record.transaction >= 0 && outcome(record) == Outcome::open;
  }
  Offset first_open() const {
    Offset first = end;
    for (const Transaction& one : transactions)
      if (one.outcome == Outcome::open) first = std::min(first, one.first);
    return first;
  }
  /// The last record of each key that counts, of those below `bound`.
  std::map<std::string, Offset> newest(Offset bound) const {
    std::map<std::string, Offset> last;
    for (const auto& [offset, record] : records) {
      if (offset >= bound) break;
      if (record.content.key && !is_aborted(record) && !is_open(record)) last[*record.content.key] = offset;
    }
    return last;
  }

  std::map<Offset, Record> records;  ///< all but markers
  std::vector<Transaction> transactions;
  Offset end{0};

 private:
  Outcome outcome(const Record& record) const {
    return transactions[static_cast<std::size_t>(record.transaction)].outcome;
  }
};

}  // namespace barnabas::storage::test
