#include "storage/transaction_index.h"

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
