#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "coordinator/record.h"
#include "coordinator/transaction.h"

/// Keys and values of __transaction_state: docs/formats/transaction-state.md.
namespace barnabas::coordinator {

/// What a key can hold. No transactional id is longer.
inline constexpr std::size_t transactional_id_size_max = 32767;

/// `transaction_version`: the finalized level of the feature. At level 0 the value is written in version 0,
/// which knows neither of other producer ids nor of the client's version.
Record transaction_record(std::string_view transactional_id, const Transaction& transaction,
                          int16_t transaction_version);
Record transaction_tombstone(std::string_view transactional_id);

/// About what the record takes of a batch.
std::size_t size_in_batch(const Record& record);

struct LoggedTransaction {
  std::string transactional_id;
  std::optional<Transaction> transaction;  ///< none: a tombstone, or it says that the id is dead
};
/// Nothing: a record type that came after Kafka 4.4. ErrorKind::corrupt: not of this log.
Result<std::optional<LoggedTransaction>> decode_transaction_record(const ReplayedRecord& record);

}  // namespace barnabas::coordinator
