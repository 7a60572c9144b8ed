#pragma once

#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "storage/log.h"
#include "storage/log_files.h"

namespace barnabas::storage {

/// The ".txnindex" file of a segment: which transactions were aborted by a marker in it. It exists only if
/// there are any. Format: docs/formats/transaction-index.md.
namespace transaction_index {

inline constexpr std::size_t entry_bytes = 34;
inline constexpr int16_t version = 0;

void store(const AbortedTransaction& transaction, std::byte* to);
/// ErrorKind::unsupported for another version. `from` must hold entry_bytes.
Result<AbortedTransaction> load(const std::byte* from);

/// All entries; empty when there is no file. ErrorKind::corrupt: no whole number of entries.
Result<std::vector<AbortedTransaction>> read(io::Disk& disk, const std::string& path);
struct Found {
  std::vector<AbortedTransaction> transactions;  ///< in the order of their markers
  Offset newest = no_offset;                     ///< the last marker of the index
  bool complete = false;                         ///< no later one can touch the range
};
/// Those with records or markers in [from, upper_bound). Costs a search and what is found, however many there
/// are: markers are in the order of their offsets.
Result<Found> find(io::File& file, Offset from, Offset upper_bound);
/// Adds one at the end, making the file if need be.
Result<void> append(io::Disk& disk, const std::string& path, const AbortedTransaction& transaction);
/// Replaces all; removes the file when there are none.
Result<void> write(io::Disk& disk, const std::string& path,
                   const std::vector<AbortedTransaction>& transactions);

}  // namespace transaction_index
}  // namespace barnabas::storage
