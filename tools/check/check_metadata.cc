#include "tools/check/check_metadata.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "io/system_error.h"
#include "metadata/replayer.h"
#include "metadata/snapshot.h"
#include "storage/batch_scanner.h"
#include "storage/partition_directory.h"
#include "tools/check/check_partition.h"
#include "tools/dump/dump.h"

namespace barnabas::tools {
namespace {

using metadata::MetadataImage;
using metadata::MetadataImagePtr;
using metadata::SnapshotId;

constexpr uint64_t snapshot_bytes_max = uint64_t{1} << 31;

class MetadataCheck {
 public:
  MetadataCheck(io::Disk& disk, std::string directory, const storage::MetaProperties& owner,
                Findings& findings)
      : disk_(disk), directory_(std::move(directory)), owner_(owner), findings_(findings) {}

  MetadataImagePtr run(bool clean) {
    PartitionContext context;
    context.clean = clean;
    const auto problems = findings_.problems();
    const auto segments = check_partition(disk_, directory_, context, findings_);
    if (!check_small_files() || findings_.problems() > problems) return nullptr;
    if (!load_snapshots() || !replay(segments)) return nullptr;
    return finish();
  }

 private:
  MetadataImagePtr failed(const std::string& path, const std::string& text) {
    findings_.problem(path, text);
    return nullptr;
  }

  bool check_small_files() {
    for (const std::string_view name : {"quorum-state"}) {
      const std::string path = directory_ + "/" + std::string(name);
      if (!disk_.exists(path).value_or(false)) continue;
      DumpReport report(path, findings_.out());
      dump_file(disk_, {}, report);
      findings_.add_problems(report.problems());
    }
    return true;
  }

  /// Every snapshot must be readable; the newest one is gone on from.
  bool load_snapshots() {
    MetadataImage start;
    start.cluster_id = owner_.cluster_id;
    image_ = std::make_shared<const MetadataImage>(start);
    const auto entries = disk_.list(directory_);
    if (!entries) return failed(directory_, entries.error().message) != nullptr;
    std::vector<SnapshotId> ids;
    for (const auto& entry : *entries)
      if (const auto id = SnapshotId::parse_file_name(entry.name)) ids.push_back(*id);
    std::ranges::sort(ids);
    for (const SnapshotId& id : ids) {
      const std::string path = directory_ + "/" + id.file_name();
      const auto content = io::read_file(disk_, path, snapshot_bytes_max);
      if (!content) return failed(path, content.error().message) != nullptr;
      findings_.bytes += content->size();
      auto read = metadata::read_snapshot(as_byte_view(*content), id, start);
      if (!read) return failed(path, read.error().message) != nullptr;
      image_ = std::move(*read);
      snapshot_ = id;
    }
    return true;
  }

  bool replay(const std::vector<CheckedSegment>& segments) {
    replayer_.emplace(image_);
    Offset next = snapshot_ ? snapshot_->end_offset : Offset{0};
    for (const CheckedSegment& segment : segments) {
      const auto file = disk_.open(segment.path, io::OpenMode::read);
      if (!file) return failed(segment.path, file.error().message) != nullptr;
      storage::BatchVerifier verifier(**file, segment.base_offset, segment.good_bytes);
      while (true) {
        const auto batch = verifier.next();
        if (!batch) return failed(segment.path, batch.error().message) != nullptr;
        if (!*batch) break;
        if ((*batch)->last_offset() < next) continue;
        // Nothing is ever compacted away here, so a gap is a lost file.
        if ((*batch)->base_offset() > next)
          return failed(
                     segment.path,
                     fmt::format("offset {} found, {} expected: a segment or snapshot before it is missing",
                                 (*batch)->base_offset().value(), next.value())) != nullptr;
        if (const auto replayed = replayer_->replay(**batch); !replayed)
          return failed(segment.path, replayed.error().message) != nullptr;
        next = (*batch)->next_offset();
      }
    }
    return true;
  }

  MetadataImagePtr finish() {
    if (replayer_->in_transaction())
      findings_.note(directory_, "ends within a metadata transaction; the next start aborts it");
    if (const auto taken = replayer_->take(); !taken) return failed(directory_, taken.error().message);
    const auto image = replayer_->image();
    if (image->features.empty())
      return failed(directory_, "no feature levels found; nothing was ever formatted here");
    check_voters(*image);
    return image;
  }

  void check_voters(const MetadataImage& image) {
    if (image.voters.size() > 1) {
      findings_.note(directory_,
                     fmt::format("the quorum has {} voters: a broker on its own will not take it over",
                                 image.voters.size()));
    } else if (image.voters.size() == 1) {
      const auto& voter = image.voters.front();
      if (voter.id != owner_.node_id)
        findings_.problem(directory_, fmt::format("the voter is node {}, node {} expected (meta.properties)",
                                                  voter.id.value(), owner_.node_id.value()));
      if (!voter.directory_id.is_zero() && voter.directory_id != owner_.directory_id)
        findings_.problem(directory_,
                          fmt::format("the voter has directory id {}, {} expected (meta.properties)",
                                      voter.directory_id.to_string(), owner_.directory_id.to_string()));
    }
  }

  io::Disk& disk_;
  const std::string directory_;
  const storage::MetaProperties& owner_;
  Findings& findings_;
  MetadataImagePtr image_;
  std::optional<SnapshotId> snapshot_;
  std::optional<metadata::Replayer> replayer_;
};

}  // namespace

MetadataImagePtr check_metadata(io::Disk& disk, const std::string& log_directory, bool clean,
                                const storage::MetaProperties& owner, Findings& findings) {
  return MetadataCheck(disk, log_directory + "/" + std::string(storage::metadata_directory_name), owner,
                       findings)
      .run(clean);
}

}  // namespace barnabas::tools
