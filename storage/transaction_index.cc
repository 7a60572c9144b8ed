#include "storage/transaction_index.h"

#include <algorithm>
#include <array>

#include "base/endian.h"

namespace barnabas::storage::transaction_index {

void store(const AbortedTransaction& transaction, std::byte* to) {
  store_big_endian(to, version);
  store_big_endian(to + 2, transaction.producer_id.value());
  store_big_endian(to + 10, transaction.first_offset.value());
  store_big_endian(to + 18, transaction.last_offset.value());
  store_big_endian(to + 26, transaction.last_stable_offset.value());
}
static_assert(entry_bytes == sizeof version + 4 * sizeof(int64_t));

Result<AbortedTransaction> load(const std::byte* from) {
  if (const auto found = load_big_endian<int16_t>(from); found != version)
    return fail(ErrorKind::unsupported, "aborted transaction of version " + std::to_string(found));
  return AbortedTransaction{.producer_id = ProducerId(load_big_endian<int64_t>(from + 2)),
                            .first_offset = Offset(load_big_endian<int64_t>(from + 10)),
                            .last_offset = Offset(load_big_endian<int64_t>(from + 18)),
                            .last_stable_offset = Offset(load_big_endian<int64_t>(from + 26))};
}

Result<std::vector<AbortedTransaction>> read(io::Disk& disk, const std::string& path) {
  std::vector<AbortedTransaction> transactions;
  auto file = disk.open(path, io::OpenMode::read);
  if (!file && file.error().kind == ErrorKind::not_found) return transactions;
  if (!file) return std::unexpected(std::move(file).error());
  BARNABAS_ASSIGN(const uint64_t size, (*file)->size());
  if (size % entry_bytes != 0)
    return fail(ErrorKind::corrupt,
                path + ": " + std::to_string(size) + " bytes, no whole number of entries");
  std::vector<std::byte> bytes(size);
  BARNABAS_ASSIGN(const std::size_t got, (*file)->read_at(bytes, 0));
  for (std::size_t at = 0; at + entry_bytes <= got; at += entry_bytes) {
    auto transaction = load(bytes.data() + at);
    if (!transaction) return fail(path + ", byte " + std::to_string(at), std::move(transaction).error());
    transactions.push_back(*transaction);
  }
  return transactions;
}

namespace {

Result<AbortedTransaction> load_at(io::File& file, uint64_t index) {
  std::array<std::byte, entry_bytes> bytes;
  BARNABAS_ASSIGN(const std::size_t got, file.read_at(bytes, index * entry_bytes));
  if (got != bytes.size()) return fail(ErrorKind::corrupt, "an index of aborted transactions became shorter");
  return load(bytes.data());
}

// The first of `count` entries whose marker is not below `from`.
Result<uint64_t> first_not_below(io::File& file, uint64_t count, Offset from) {
  uint64_t low = 0;
  while (low < count) {
    const uint64_t middle = low + (count - low) / 2;
    BARNABAS_ASSIGN(const AbortedTransaction entry, load_at(file, middle));
    if (entry.last_offset < from)
      low = middle + 1;
    else
      count = middle;
  }
  return low;
}

}  // namespace

Result<Found> find(io::File& file, Offset from, Offset upper_bound) {
  Found found;
  BARNABAS_ASSIGN(const uint64_t size, file.size());
  const uint64_t count = size / entry_bytes;
  if (count == 0) return found;
  BARNABAS_ASSIGN(const AbortedTransaction last, load_at(file, count - 1));
  found.newest = last.last_offset;
  if (last.last_offset < from) return found;
  BARNABAS_ASSIGN(uint64_t at, first_not_below(file, count, from));
  constexpr uint64_t at_once = 64;
  std::array<std::byte, at_once * entry_bytes> bytes;
  while (at < count) {
    BARNABAS_ASSIGN(const std::size_t got, file.read_at(bytes, at * entry_bytes));
    const uint64_t here = std::min(got / entry_bytes, count - at);
    if (here == 0) break;
    for (uint64_t i = 0; i < here; ++i) {
      BARNABAS_ASSIGN(const AbortedTransaction entry, load(bytes.data() + i * entry_bytes));
      if (entry.first_offset < upper_bound) found.transactions.push_back(entry);
      // Everything below was decided when this one was.
      if (entry.last_stable_offset >= upper_bound) {
        found.complete = true;
        return found;
      }
    }
    at += here;
  }
  return found;
}

Result<void> append(io::Disk& disk, const std::string& path, const AbortedTransaction& transaction) {
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, disk.open(path, io::OpenMode::create));
  BARNABAS_ASSIGN(const uint64_t size, file->size());
  std::array<std::byte, entry_bytes> bytes;
  store(transaction, bytes.data());
  return file->write_at(ByteView(bytes), size - size % entry_bytes);
}

Result<void> write(io::Disk& disk, const std::string& path,
                   const std::vector<AbortedTransaction>& transactions) {
  BARNABAS_ASSIGN(const bool there, disk.exists(path));
  if (transactions.empty()) return there ? disk.remove(path) : Result<void>{};
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> file, disk.open(path, io::OpenMode::create));
  BARNABAS_TRY(file->truncate(0));
  std::vector<std::byte> bytes(transactions.size() * entry_bytes);
  for (std::size_t i = 0; i < transactions.size(); ++i)
    store(transactions[i], bytes.data() + i * entry_bytes);
  return file->write_at(ByteView(bytes), 0);
}

}  // namespace barnabas::storage::transaction_index
