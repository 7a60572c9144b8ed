#include <algorithm>
#include <limits>
#include <unordered_set>

#include "storage/batch_scanner.h"
#include "storage/log_state.h"

namespace barnabas::storage {
namespace {

constexpr std::string_view segment_suffixes[] = {log_suffix, offset_index_suffix, time_index_suffix,
                                                 transaction_index_suffix, producer_snapshot_suffix};

// The offset in the name of any file of a segment, whatever follows its own suffix.
std::optional<Offset> offset_of_any(std::string_view name) {
  for (std::string_view suffix : segment_suffixes)
    if (auto offset = offset_of_file_name(name, suffix)) return offset;
  return std::nullopt;
}

std::string_view without(std::string_view name, std::string_view suffix) {
  return name.substr(0, name.size() - suffix.size());
}

Result<Offset> end_of_segment(LogFiles& files, const std::string& name, Offset base_offset) {
  BARNABAS_ASSIGN(const std::shared_ptr<io::File> file,
                  files.disk().open(files.path(name), io::OpenMode::read));
  BARNABAS_ASSIGN(const uint64_t size, file->size());
  BatchVerifier verifier(*file, base_offset, size, /*check_crc=*/false);
  while (true) {
    BARNABAS_ASSIGN(const auto batch, verifier.next());
    if (!batch) return verifier.next_offset();
  }
}

// A compaction that had finished its new segments: they take the place of what they were made of.
Result<void> complete_swap(LogFiles& files, const std::vector<std::string>& swaps,
                           std::vector<std::string>& names) {
  Offset first(std::numeric_limits<int64_t>::max()), end{-1};
  for (const std::string& swap : swaps) {
    const auto base = offset_of_file_name(without(swap, swap_suffix), log_suffix);
    if (!base) continue;
    BARNABAS_ASSIGN(const Offset segment_end, end_of_segment(files, swap, *base));
    first = std::min(first, *base);
    end = std::max(end, segment_end);
  }
  for (auto name = names.begin(); name != names.end();) {
    const auto offset = name->ends_with(producer_snapshot_suffix) ? std::nullopt : offset_of_any(*name);
    if (offset && *offset >= first && *offset < end) {
      BARNABAS_TRY(files.disk().remove(files.path(*name)));
      name = names.erase(name);
    } else {
      ++name;
    }
  }
  for (const std::string& swap : swaps) {
    std::string name(without(swap, swap_suffix));
    BARNABAS_TRY(files.disk().rename(files.path(swap), files.path(name)));
    // One without records covers nothing, so what it replaces may still be there; and a repeated start may
    // find what an earlier one has begun.
    if (std::ranges::find(names, name) == names.end()) names.push_back(std::move(name));
  }
  return {};
}

Result<void> remove_orphaned_indexes(LogFiles& files, std::vector<std::string>& names) {
  std::unordered_set<int64_t> segments;
  for (const std::string& name : names)
    if (auto base = offset_of_file_name(name, log_suffix)) segments.insert(base->value());
  for (auto name = names.begin(); name != names.end();) {
    const bool is_index = name->ends_with(offset_index_suffix) || name->ends_with(time_index_suffix) ||
                          name->ends_with(transaction_index_suffix);
    const auto base = is_index ? offset_of_any(*name) : std::nullopt;
    if (base && !segments.contains(base->value())) {
      BARNABAS_TRY(files.disk().remove(files.path(*name)));
      name = names.erase(name);
    } else {
      ++name;
    }
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> clean_leftovers(LogFiles& files,
                                                 const std::vector<io::DirectoryEntry>& entries) {
  std::vector<std::string> names, swaps, cleaned;
  Offset first_cleaned(std::numeric_limits<int64_t>::max());
  for (const io::DirectoryEntry& entry : entries) {
    if (entry.is_directory) continue;
    if (entry.name.ends_with(deleted_suffix)) {
      BARNABAS_TRY(files.disk().remove(files.path(entry.name)));
    } else if (entry.name.ends_with(cleaned_suffix)) {
      if (auto offset = offset_of_any(without(entry.name, cleaned_suffix)))
        first_cleaned = std::min(first_cleaned, *offset);
      cleaned.push_back(entry.name);
    } else if (entry.name.ends_with(swap_suffix)) {
      swaps.push_back(entry.name);
    } else {
      names.push_back(entry.name);
    }
  }
  // Swap files at or above an unfinished one belong to the same step, which had not ended: the old segments
  // stay.
  std::erase_if(swaps, [&](const std::string& swap) {
    const auto offset = offset_of_any(without(swap, swap_suffix));
    if (offset && *offset < first_cleaned) return false;
    cleaned.push_back(swap);
    return true;
  });
  for (const std::string& name : cleaned) BARNABAS_TRY(files.disk().remove(files.path(name)));
  if (!swaps.empty()) BARNABAS_TRY(complete_swap(files, swaps, names));
  BARNABAS_TRY(remove_orphaned_indexes(files, names));
  return names;
}

}  // namespace barnabas::storage
