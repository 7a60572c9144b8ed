#include "cluster/metadata_snapshots.h"

#include <algorithm>
#include <array>
#include <functional>

#include "base/assert.h"

namespace barnabas::cluster {
namespace {

using metadata::SnapshotId;

constexpr uint64_t snapshot_bytes_max = uint64_t{1} << 31;
constexpr std::string_view damaged_suffix = ".damaged";

/// A snapshot that was not finished: ours, or Kafka's.
bool is_unfinished(std::string_view name) {
  for (const std::string_view suffix : {".tmp", ".part"}) {
    if (name.ends_with(suffix) && SnapshotId::parse_file_name(name.substr(0, name.size() - suffix.size())))
      return true;
  }
  return false;
}

}  // namespace

Result<std::vector<SnapshotId>> MetadataSnapshots::list_and_tidy() {
  std::vector<SnapshotId> ids;
  BARNABAS_ASSIGN(const bool exists, disk_.exists(directory_));
  if (!exists) return ids;
  BARNABAS_ASSIGN(const auto entries, disk_.list(directory_));
  for (const auto& entry : entries) {
    if (entry.is_directory) continue;
    if (const auto id = SnapshotId::parse_file_name(entry.name)) ids.push_back(*id);
    if (is_unfinished(entry.name)) BARNABAS_TRY(disk_.remove(directory_ + "/" + entry.name));
  }
  std::ranges::sort(ids, std::greater<>());
  return ids;
}

MetadataSnapshots::File MetadataSnapshots::describe(const SnapshotId& id, ByteView content) const {
  return {id, content.size(), metadata::snapshot_last_contained(content)};
}

Result<metadata::MetadataImagePtr> MetadataSnapshots::load(const metadata::MetadataImage& start) {
  BARNABAS_ASSIGN(const auto ids, list_and_tidy());
  metadata::MetadataImagePtr image;
  for (const auto& id : ids) {
    if (newest_) {
      // Only what decides when it goes.
      BARNABAS_ASSIGN(const auto file, disk_.open(path(id), io::OpenMode::read));
      std::array<std::byte, 4096> head;
      BARNABAS_ASSIGN(const std::size_t got, file->read_at(head, 0));
      File found = describe(id, ByteView(head).first(got));
      BARNABAS_ASSIGN(found.size_bytes, file->size());
      files_.push_back(found);
      continue;
    }
    BARNABAS_ASSIGN(const std::string content, io::read_file(disk_, path(id), snapshot_bytes_max));
    auto read = metadata::read_snapshot(as_byte_view(content), id, start);
    if (read) {
      image = std::move(*read);
      newest_ = id;
      files_.push_back(describe(id, as_byte_view(content)));
    } else if (read.error().kind == ErrorKind::corrupt) {
      damaged_ids_.push_back(id);
      if (!damaged_) damaged_ = Damaged{id, path(id) + ": " + read.error().message};
    } else {
      return fail(path(id), std::move(read).error());
    }
  }
  std::ranges::reverse(files_);
  return image;
}

Result<void> MetadataSnapshots::set_damaged_aside() {
  for (const auto& id : damaged_ids_)
    BARNABAS_TRY(disk_.rename(path(id), path(id) + std::string(damaged_suffix)));
  if (damaged_ids_.empty()) return {};
  damaged_ids_.clear();
  return disk_.sync_directory(directory_);
}

Result<void> MetadataSnapshots::write(const metadata::MetadataImage& image, TimestampMs now) {
  const SnapshotId id{image.position.offset + 1, image.position.epoch};
  const auto content = metadata::write_snapshot(image, now);
  BARNABAS_TRY(io::replace_file(disk_, path(id), as_text(content)));
  newest_ = id;
  files_.push_back(describe(id, content));
  return {};
}

uint64_t MetadataSnapshots::size_bytes() const {
  uint64_t sum = 0;
  for (const File& file : files_) sum += file.size_bytes;
  return sum;
}

Result<void> MetadataSnapshots::remove_oldest() {
  BARNABAS_ASSERT(files_.size() > 1);
  BARNABAS_TRY(disk_.remove(path(files_.front().id)));
  files_.erase(files_.begin());
  return {};
}

}  // namespace barnabas::cluster
