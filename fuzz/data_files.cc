// Files of a data directory with any content: they are refused or understood, and what is understood is
// written again as it was read. The first byte chooses the kind of file, the rest is the content.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>

#include "base/assert.h"
#include "io/fake_disk.h"
#include "protocol/records/record_batch_builder.h"
#include "storage/checkpoint_file.h"
#include "storage/clean_shutdown.h"
#include "storage/file_pool.h"
#include "storage/leader_epoch_cache.h"
#include "storage/log.h"
#include "storage/meta_properties.h"
#include "storage/partition_directory.h"
#include "storage/producer_snapshot.h"

namespace {

using namespace barnabas;
using namespace barnabas::storage;

constexpr TimestampMs now{1'700'000'000'000};

void check_checkpoint(std::string_view text) {
  const auto offsets = parse_offset_checkpoint(text);
  if (offsets)
    BARNABAS_ASSERT(parse_offset_checkpoint(format_offset_checkpoint(*offsets)).value() == *offsets);
}

void check_meta_properties(std::string_view text) {
  const auto properties = parse_meta_properties(text);
  if (properties) BARNABAS_ASSERT(properties->node_id >= NodeId{0} && !properties->cluster_id.empty());
}

void check_epochs(std::string_view text) {
  const auto epochs = LeaderEpochCache::parse(text);
  if (epochs) BARNABAS_ASSERT(LeaderEpochCache::parse(epochs->format()).value() == *epochs);
}

void check_directory_name(std::string_view name) {
  const PartitionDirectory parsed = parse_directory_name(name);
  if (parsed.kind == DirectoryKind::partition) BARNABAS_ASSERT(partition_directory_name(parsed.name) == name);
}

Result<std::unique_ptr<Log>> open_log(io::Disk& disk, FilePool& files, bool clean) {
  Log::OpenOptions options;
  options.topic = "t";
  options.topic_id.bytes.fill(std::byte{1});
  options.config = std::make_shared<const LogConfig>();
  options.clean = clean;
  options.now = now;
  return Log::open(disk, files, "/d/t-0", std::move(options));
}

void read_everything(Log& log) {
  Offset next = log.log_start_offset();
  while (next < log.log_end_offset()) {
    const auto found = log.read(next, 1 << 16, log.log_end_offset(), true);
    if (!found || found->slice.length == 0) break;
    BARNABAS_ASSERT(found->next_offset > next);
    next = found->next_offset;
  }
  (void)log.offset_for_timestamp(now);
  (void)log.offset_of_max_timestamp();
  (void)log.aborted_transactions(Offset{0}, log.log_end_offset());
  (void)log.producers();
}

/// Whatever a crash has left in a segment: the log opens on the good part of it, takes records, and the next
/// start finds nothing more to cut off.
void check_recovery(std::string_view segment) {
  io::FakeDisk disk;
  disk.put_file("/d/t-0/00000000000000000000.log", segment);
  FilePool files(disk, 10);
  {
    auto log = open_log(disk, files, false);
    if (!log) return BARNABAS_ASSERT(log.error().kind == ErrorKind::unsupported);
    read_everything(**log);
    auto batch = protocol::single_record_batch(now, std::nullopt, as_byte_view("value"));
    if ((*log)->append_as_leader(batch, LeaderEpoch{0}, now)) BARNABAS_ASSERT((*log)->flush().has_value());
  }
  auto again = open_log(disk, files, false);
  BARNABAS_ASSERT(again.has_value());
  BARNABAS_ASSERT((*again)->recovery().lossless());
}

/// A good segment with companions of any content, opened as after a clean stop.
void check_companions(std::string_view content) {
  io::FakeDisk disk;
  std::string segment;
  for (int64_t offset = 0; offset < 3; ++offset) {
    protocol::RecordBatchOptions options;
    options.base_offset = Offset{offset};
    options.partition_leader_epoch = LeaderEpoch{0};
    segment += as_text(protocol::single_record_batch(now, std::nullopt, as_byte_view("value"), options));
  }
  const std::size_t third = content.size() / 3;
  disk.put_file("/d/t-0/00000000000000000000.log", segment);
  disk.put_file("/d/t-0/00000000000000000000.index", content.substr(0, third));
  disk.put_file("/d/t-0/00000000000000000000.timeindex", content.substr(third, third));
  disk.put_file("/d/t-0/00000000000000000003.snapshot", content.substr(2 * third));
  FilePool files(disk, 10);
  auto log = open_log(disk, files, true);
  if (!log) return;
  read_everything(**log);
  auto batch = protocol::single_record_batch(now, std::nullopt, as_byte_view("value"));
  (void)(*log)->append_as_leader(batch, LeaderEpoch{0}, now);
  (void)(*log)->close_clean();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size < 1) return 0;
  const std::string_view content = as_text(std::as_bytes(std::span(data, size)).subspan(1));
  switch (data[0] % 8) {
    case 0:
      check_checkpoint(content);
      break;
    case 1:
      check_meta_properties(content);
      break;
    case 2:
      (void)parse_clean_shutdown(content);
      break;
    case 3:
      check_directory_name(content);
      break;
    case 4:
      check_epochs(content);
      break;
    case 5:
      (void)producer_snapshot::parse(as_byte_view(content));
      break;
    case 6:
      check_recovery(content);
      break;
    case 7:
      check_companions(content);
      break;
  }
  return 0;
}
