#include "tools/check/check_node.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>

#include "storage/checkpoint_file.h"
#include "storage/clean_shutdown.h"
#include "storage/meta_properties.h"
#include "storage/partition_directory.h"
#include "tools/check/check_metadata.h"
#include "tools/check/check_partition.h"

namespace barnabas::tools {
namespace {

using storage::DirectoryKind;
using storage::OffsetCheckpoint;
using storage::TopicPartition;

struct Directory {
  std::string path;
  storage::MetaProperties owner;
  bool clean = false;
  OffsetCheckpoint recovery_points, log_starts, high_watermarks, cleaned;
  std::map<TopicPartition, std::string> partitions;  ///< path of each
  bool has_metadata = false;
};

std::optional<Offset> offset_in(const OffsetCheckpoint& offsets, const TopicPartition& name) {
  const auto found = offsets.find(name);
  return found == offsets.end() ? std::nullopt : std::optional(found->second);
}

class NodeCheck {
 public:
  NodeCheck(io::Disk& disk, const NodeCheckOptions& options, Findings& findings)
      : disk_(disk), options_(options), findings_(findings) {}

  void run() {
    for (const std::string& path : options_.directories) open(path);
    check_owners();
    check_metadata_logs();
    for (const Directory& directory : directories_) {
      for (const auto& [name, path] : directory.partitions) check_one(directory, name, path);
      check_entries(directory);
    }
    check_assignments();
  }

 private:
  void open(const std::string& path) {
    Directory directory;
    directory.path = path;
    auto owner = storage::read_meta_properties(disk_, path);
    if (!owner) return findings_.problem(path, owner.error().message);
    if (!*owner)
      return findings_.problem(path + "/" + std::string(storage::meta_properties_name),
                               "not there; a log directory has one, so this is none, or it was lost");
    directory.owner = **owner;
    directory.clean = disk_.exists(path + "/" + std::string(storage::clean_shutdown_name)).value_or(false);
    if (!directory.clean) findings_.note(path, "the last run did not end cleanly");
    read(directory, storage::recovery_point_offset_checkpoint, directory.recovery_points);
    read(directory, storage::log_start_offset_checkpoint, directory.log_starts);
    read(directory, storage::replication_offset_checkpoint, directory.high_watermarks);
    read(directory, storage::cleaner_offset_checkpoint, directory.cleaned);
    list(directory);
    directories_.push_back(std::move(directory));
  }

  void read(const Directory& directory, std::string_view file, OffsetCheckpoint& into) {
    auto offsets = storage::read_offset_checkpoint(disk_, directory.path + "/" + std::string(file));
    if (offsets)
      into = std::move(*offsets);
    else
      findings_.problem(directory.path + "/" + std::string(file), offsets.error().message);
  }

  void list(Directory& directory) {
    const auto entries = disk_.list(directory.path);
    if (!entries) return findings_.problem(directory.path, entries.error().message);
    for (const io::DirectoryEntry& entry : *entries) {
      if (!entry.is_directory) continue;
      const auto parsed = storage::parse_directory_name(entry.name);
      const std::string path = directory.path + "/" + entry.name;
      switch (parsed.kind) {
        case DirectoryKind::partition:
          directory.partitions.emplace(parsed.name, path);
          break;
        case DirectoryKind::metadata:
          directory.has_metadata = true;
          break;
        case DirectoryKind::deleted:
          findings_.note(path, "deleted; the next start removes it");
          break;
        case DirectoryKind::future:
          findings_.note(path, "a replica on its way between two directories");
          break;
        case DirectoryKind::stray:
          findings_.note(path, "set aside, since the metadata did not know it");
          break;
        case DirectoryKind::other:
          findings_.note(path, "not a name of a log directory's; left alone");
          break;
      }
    }
  }

  void check_owners() {
    std::map<Uuid, std::string> ids;
    for (const Directory& directory : directories_) {
      const auto& first = directories_.front();
      const std::string file = directory.path + "/" + std::string(storage::meta_properties_name);
      if (directory.owner.cluster_id != first.owner.cluster_id)
        findings_.problem(file, fmt::format("cluster.id={} found, {} expected (as in {})",
                                            directory.owner.cluster_id, first.owner.cluster_id, first.path));
      if (directory.owner.node_id != first.owner.node_id)
        findings_.problem(
            file, fmt::format("node.id={} found, {} expected (as in {})", directory.owner.node_id.value(),
                              first.owner.node_id.value(), first.path));
      if (directory.owner.directory_id.is_zero()) continue;
      const auto [other, is_new] = ids.emplace(directory.owner.directory_id, directory.path);
      if (!is_new)
        findings_.problem(file, fmt::format("directory.id={} found, which is that of {} too: one is a copy",
                                            directory.owner.directory_id.to_string(), other->second));
    }
  }

  void check_metadata_logs() {
    const Directory* with = nullptr;
    for (const Directory& directory : directories_) {
      if (!directory.has_metadata) continue;
      if (with != nullptr)
        findings_.problem(directory.path + "/" + std::string(storage::metadata_directory_name),
                          "a second metadata log; the other one is in " + with->path);
      with = &directory;
      image_ = check_metadata(disk_, directory.path, directory.clean, directory.owner, findings_);
    }
    if (with == nullptr && !directories_.empty())
      findings_.note(directories_.front().path,
                     "no metadata log in the directories given, so topics are not compared with it (name "
                     "metadata.log.dir, too)");
  }

  void check_one(const Directory& directory, const TopicPartition& name, const std::string& path) {
    PartitionContext context;
    context.clean = directory.clean;
    context.contents = options_.contents;
    context.recovery_point = offset_in(directory.recovery_points, name);
    context.log_start = offset_in(directory.log_starts, name);
    context.high_watermark = offset_in(directory.high_watermarks, name);
    if (image_) {
      const auto* topic = image_->topic(name.topic);
      if (topic == nullptr || topic->partition(name.partition) == nullptr)
        findings_.note(path, "not in the metadata log; the next start sets it aside");
      else
        context.topic_id = topic->id;
    }
    (void)check_partition(disk_, path, context, findings_);
    const auto [other, is_new] = seen_.emplace(name, path);
    if (!is_new)
      findings_.problem(path,
                        "a second replica of " + name.to_string() + "; the other one is " + other->second);
  }

  /// Checkpoints of partitions that are not there: their files were lost, unless they moved or were deleted.
  void check_entries(const Directory& directory) {
    for (const auto& [name, offset] : directory.recovery_points) {
      if (directory.partitions.contains(name) || !image_ || offset == Offset{0}) continue;
      const auto* topic = image_->topic(name.topic);
      const auto* partition = topic != nullptr ? topic->partition(name.partition) : nullptr;
      if (partition == nullptr) continue;
      const Uuid assigned = partition->directory_of(directory.owner.node_id);
      if (assigned != directory.owner.directory_id && !is_unassigned(assigned)) continue;
      findings_.problem(directory.path + "/" + storage::partition_directory_name(name),
                        fmt::format("not there, {} records expected (recovery point)", offset.value()));
    }
  }

  /// What the metadata say lies in one of these directories.
  void check_assignments() {
    if (!image_ || directories_.empty()) return;
    for (const auto& topic : image_->topics_by_name) {
      for (int32_t index = 0; index < topic->partition_count(); ++index)
        check_assignment(*topic, PartitionIndex{index});
    }
  }

  void check_assignment(const metadata::TopicImage& topic, PartitionIndex index) {
    const Uuid assigned = topic.partition(index)->directory_of(directories_.front().owner.node_id);
    const TopicPartition name{topic.name, index};
    if (seen_.contains(name)) return;
    const auto at =
        std::ranges::find(directories_, assigned, [](const auto& one) { return one.owner.directory_id; });
    if (at == directories_.end() || offset_in(at->recovery_points, name).value_or(Offset{0}) > Offset{0})
      return;
    const std::string path = at->path + "/" + storage::partition_directory_name(name);
    if (at->clean)
      findings_.problem(path, "not there, though the metadata log says so and the last run ended cleanly");
    else
      findings_.note(path, "not there yet; the next start makes it");
  }

  static bool is_unassigned(const Uuid& id) {
    // 0 to 2 are reserved: unassigned, lost, migrating (KIP-858).
    return std::all_of(id.bytes.begin(), id.bytes.end() - 1,
                       [](std::byte byte) { return byte == std::byte{0}; });
  }

  io::Disk& disk_;
  const NodeCheckOptions& options_;
  Findings& findings_;
  std::vector<Directory> directories_;
  metadata::MetadataImagePtr image_;
  std::map<TopicPartition, std::string> seen_;
};

}  // namespace

void check_node(io::Disk& disk, const NodeCheckOptions& options, Findings& findings) {
  NodeCheck(disk, options, findings).run();
}

}  // namespace barnabas::tools
