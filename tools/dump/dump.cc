#include "tools/dump/dump.h"

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "io/posix_disk.h"
#include "io/system_error.h"
#include "storage/checkpoint_file.h"
#include "storage/clean_shutdown.h"
#include "storage/log_files.h"
#include "storage/meta_properties.h"
#include "tools/dump/dump_batches.h"
#include "tools/dump/dump_indexes.h"
#include "tools/dump/dump_report.h"
#include "tools/dump/dump_small_files.h"

namespace barnabas::tools {

std::string readable_time(TimestampMs timestamp) {
  constexpr int64_t calendar_end = 253'402'300'800'000;  // the year 10000
  if (timestamp < TimestampMs{0} || timestamp >= TimestampMs{calendar_end})
    return std::to_string(timestamp.value());
  const std::chrono::sys_time<std::chrono::milliseconds> time{std::chrono::milliseconds(timestamp.value())};
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  return fmt::format("{} ({:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z)", timestamp.value(),
                     static_cast<int>(date.year()), static_cast<unsigned>(date.month()),
                     static_cast<unsigned>(date.day()), clock.hours().count(), clock.minutes().count(),
                     clock.seconds().count(), clock.subseconds().count());
}

namespace {

constexpr uint64_t small_file_bytes_max = uint64_t{1} << 28;
constexpr std::size_t offset_digits = 20;

enum class FileType {
  segment,
  metadata_snapshot,
  offset_index,
  time_index,
  transaction_index,
  producer_snapshot,
  offset_checkpoint,
  leader_epochs,
  partition_metadata,
  meta_properties,
  clean_shutdown,
  quorum_state,
};

struct KnownFile {
  FileType type;
  std::optional<Offset> first_offset;  // that the name says
};

std::string_view name_of(std::string_view path) {
  return path.substr(path.rfind('/') + 1);
}

/// Of a name that begins with an offset.
std::optional<KnownFile> known_by_suffix(std::string_view name) {
  constexpr std::pair<std::string_view, FileType> suffixes[] = {
      {storage::log_suffix, FileType::segment},
      {storage::offset_index_suffix, FileType::offset_index},
      {storage::time_index_suffix, FileType::time_index},
      {storage::transaction_index_suffix, FileType::transaction_index},
      {storage::producer_snapshot_suffix, FileType::producer_snapshot},
  };
  for (const auto marker : {storage::deleted_suffix, storage::cleaned_suffix, storage::swap_suffix}) {
    if (name.ends_with(marker)) name.remove_suffix(marker.size());
  }
  for (const auto& [suffix, type] : suffixes) {
    if (!name.ends_with(suffix)) continue;
    if (const auto offset = storage::offset_of_file_name(name, suffix)) return KnownFile{type, *offset};
  }
  return std::nullopt;
}

std::optional<KnownFile> identify(std::string_view path) {
  const std::string_view name = name_of(path);
  if (auto known = known_by_suffix(name)) return known;
  // "<end offset>-<epoch>.checkpoint": the snapshot itself counts from 0.
  if (name.ends_with(".checkpoint")) return KnownFile{FileType::metadata_snapshot, {}};
  const std::pair<std::string_view, FileType> names[] = {
      {storage::replication_offset_checkpoint, FileType::offset_checkpoint},
      {storage::recovery_point_offset_checkpoint, FileType::offset_checkpoint},
      {storage::log_start_offset_checkpoint, FileType::offset_checkpoint},
      {storage::cleaner_offset_checkpoint, FileType::offset_checkpoint},
      {storage::leader_epoch_checkpoint_name, FileType::leader_epochs},
      {storage::partition_metadata_name, FileType::partition_metadata},
      {storage::meta_properties_name, FileType::meta_properties},
      {storage::clean_shutdown_name, FileType::clean_shutdown},
      {"quorum-state", FileType::quorum_state},
  };
  for (const auto& [known_name, type] : names) {
    if (name == known_name) return KnownFile{type, {}};
  }
  return std::nullopt;
}

/// The segment beside one of its indexes.
std::shared_ptr<io::File> log_beside(io::Disk& disk, const std::string& path, Offset base) {
  const std::string log =
      io::parent_directory(path) + "/" + storage::segment_file_name(base, storage::log_suffix);
  return disk.open(log, io::OpenMode::read).value_or(nullptr);
}

void dump_large(io::Disk& disk, const std::string& path, const KnownFile& known, const DumpOptions& options,
                DumpReport& report) {
  const auto file = disk.open(path, io::OpenMode::read);
  if (!file) return report.problem(file.error().message);
  const auto contents = contents_by_name(options.decoder).value_or(contents_by_path(path));
  std::shared_ptr<io::File> log;
  if (options.cross_check && known.first_offset) log = log_beside(disk, path, *known.first_offset);
  switch (known.type) {
    case FileType::segment:
    case FileType::metadata_snapshot:
      return dump_batches(**file, known.first_offset, contents, options, report);
    case FileType::offset_index:
      return dump_offset_index(**file, *known.first_offset, log.get(), report);
    case FileType::time_index:
      return dump_time_index(**file, *known.first_offset, log.get(), report);
    case FileType::transaction_index:
      return dump_transaction_index(**file, report);
    default:
      return;
  }
}

void dump_small(io::Disk& disk, const std::string& path, FileType type, DumpReport& report) {
  const auto content = io::read_file(disk, path, small_file_bytes_max);
  if (!content) return report.problem(content.error().message);
  switch (type) {
    case FileType::producer_snapshot:
      return dump_producer_snapshot(as_byte_view(*content), report);
    case FileType::offset_checkpoint:
      return dump_offset_checkpoint(*content, report);
    case FileType::leader_epochs:
      return dump_leader_epochs(*content, report);
    case FileType::partition_metadata:
      return dump_partition_metadata(*content, report);
    case FileType::meta_properties:
      return dump_meta_properties(*content, report);
    case FileType::clean_shutdown:
      return dump_clean_shutdown(*content, report);
    case FileType::quorum_state:
      return dump_quorum_state(*content, report);
    default:
      return;
  }
}

bool is_large(FileType type) {
  switch (type) {
    case FileType::segment:
    case FileType::metadata_snapshot:
    case FileType::offset_index:
    case FileType::time_index:
    case FileType::transaction_index:
      return true;
    default:
      return false;
  }
}

/// The files to look at: a directory stands for all files in it that are known.
std::vector<std::string> expand(io::Disk& disk, const std::vector<std::string>& paths) {
  std::vector<std::string> files;
  for (const std::string& path : paths) {
    const auto listed = disk.list(path);
    if (!listed) {
      files.push_back(path);
      continue;
    }
    std::vector<std::string> known;
    for (const io::DirectoryEntry& entry : *listed) {
      if (!entry.is_directory && identify(entry.name)) known.push_back(path + "/" + entry.name);
    }
    std::ranges::sort(known);
    files.insert(files.end(), known.begin(), known.end());
  }
  return files;
}

}  // namespace

void dump_file(io::Disk& disk, const DumpOptions& options, DumpReport& report) {
  const std::string& path = report.path();
  const auto known = identify(path);
  if (!known) {
    const auto file = disk.open(path, io::OpenMode::read);
    return report.problem(file ? "not a file name of a data directory" : file.error().message);
  }
  report.line("{}", path);
  if (is_large(known->type)) {
    dump_large(disk, path, *known, options, report);
  } else {
    dump_small(disk, path, known->type, report);
  }
}

void DumpCommand::declare(CLI::App& app) {
  app.add_option("FILE", paths_, "Files, or directories for all known files in them")->required();
  app.add_flag("--batches-only", batches_only_, "Do not print records (they are checked all the same)");
  app.add_option("--shown-bytes", options_.shown_bytes_max, "Print so many bytes of a key or value")
      ->capture_default_str();
  app.add_option("--max-bytes", options_.batch_bytes_max, "Do not read batches or records above this size")
      ->capture_default_str();
  app.add_flag("--no-cross-check", no_cross_check_, "Do not compare an index with the segment beside it");
  app.add_option("--decoder", options_.decoder,
                 "What the records hold; auto goes by the name of the directory")
      ->check(CLI::IsMember({"auto", "none", "metadata", "offsets", "transactions", "share"}))
      ->capture_default_str();
  app.footer(
      "Exit code 1: something is damaged.\n"
      "Example: barnabas dump data/orders-0/00000000000000000000.log");
}

int DumpCommand::run(std::ostream& out, std::ostream& errors) {
  options_.records = !batches_only_;
  options_.cross_check = !no_cross_check_;
  io::PosixDisk disk;
  bool all_good = true;
  for (const std::string& path : expand(disk, paths_)) {
    DumpReport report(path, out, errors);
    dump_file(disk, options_, report);
    all_good &= report.problems() == 0;
  }
  return all_good ? 0 : 1;
}

}  // namespace barnabas::tools
