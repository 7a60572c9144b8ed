#include "metadata/snapshot.h"

#include <algorithm>
#include <charconv>

#include "metadata/control_record.h"
#include "metadata/image_writer.h"
#include "metadata/replayer.h"
#include "protocol/records/record_batch_builder.h"
#include "protocol/records/record_reader.h"

namespace barnabas::metadata {
namespace {

constexpr std::size_t offset_digits = 20;
constexpr std::size_t epoch_digits = 10;
constexpr std::string_view suffix = ".checkpoint";
/// Records of one batch; Kafka bounds batches by size instead, readers take any.
constexpr std::size_t batch_bytes_max = 1 << 20;

std::string padded(int64_t number, std::size_t digits) {
  std::string text = std::to_string(number);
  return std::string(digits - std::min(digits, text.size()), '0') + text;
}

template <class Number>
bool parse_digits(std::string_view text, Number& into) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
  return error == std::errc() && end == text.data() + text.size() && text.front() != '-';
}

/// Appends batches to a file with running offsets.
class SnapshotFile {
 public:
  SnapshotFile(LeaderEpoch epoch, TimestampMs now) : epoch_(epoch), now_(now) {}

  void add_control(const std::vector<ControlRecord>& records) {
    auto builder = begin(true);
    for (const auto& record : records) builder.append(now_, record.key, record.value);
    end(builder);
  }
  void add(const RecordList& records) {
    std::size_t i = 0;
    while (i < records.size()) {
      auto builder = begin(false);
      for (; i < records.size() && (builder.empty() || builder.size_bytes() < batch_bytes_max); ++i)
        builder.append(now_, std::nullopt, records[i]);
      end(builder);
    }
  }
  std::vector<std::byte> take() { return std::move(file_); }

 private:
  protocol::RecordBatchBuilder begin(bool control) const {
    protocol::RecordBatchOptions options;
    options.base_offset = next_;
    options.partition_leader_epoch = epoch_;
    options.control = control;
    return protocol::RecordBatchBuilder(options);
  }
  void end(protocol::RecordBatchBuilder& builder) {
    next_ += builder.record_count();
    const auto batch = builder.build();
    file_.insert(file_.end(), batch.begin(), batch.end());
  }

  LeaderEpoch epoch_;
  TimestampMs now_;
  Offset next_{0};
  std::vector<std::byte> file_;
};

/// The type of a control batch's first record.
std::optional<ControlType> first_control(const protocol::RecordBatchView& batch) {
  if (!batch.is_control()) return std::nullopt;
  protocol::RecordReader reader(batch);
  protocol::RecordView record;
  const auto more = reader.next(record);
  if (!more || !*more || !record.key()) return std::nullopt;
  return parse_control_key(*record.key());
}

}  // namespace

std::string SnapshotId::file_name() const {
  return padded(end_offset.value(), offset_digits) + "-" + padded(epoch.value(), epoch_digits) +
         std::string(suffix);
}

std::optional<SnapshotId> SnapshotId::parse_file_name(std::string_view name) {
  if (name.size() != offset_digits + 1 + epoch_digits + suffix.size() || !name.ends_with(suffix) ||
      name[offset_digits] != '-')
    return std::nullopt;
  int64_t offset = 0;
  int32_t epoch = 0;
  if (!parse_digits(name.substr(0, offset_digits), offset) ||
      !parse_digits(name.substr(offset_digits + 1, epoch_digits), epoch))
    return std::nullopt;
  return SnapshotId{Offset(offset), LeaderEpoch(epoch)};
}

TimestampMs snapshot_last_contained(ByteView head) {
  protocol::BatchIterator batches(head);
  if (batches.next() != protocol::BatchIterator::Step::batch) return no_timestamp;
  protocol::RecordReader reader(batches.batch());
  protocol::RecordView record;
  const auto more = reader.next(record);
  if (!more || !*more || !record.key() || !record.value()) return no_timestamp;
  if (parse_control_key(*record.key()) != ControlType::snapshot_header) return no_timestamp;
  return decode_snapshot_header(*record.value()).value_or(no_timestamp);
}

Result<MetadataImagePtr> read_snapshot(ByteView file, const SnapshotId& id, const MetadataImage& start) {
  auto empty = std::make_shared<MetadataImage>();
  empty->cluster_id = start.cluster_id;
  empty->controller = start.controller;
  Replayer replayer(std::move(empty));
  protocol::BatchIterator batches(file);
  Offset expected{0};
  bool header = false;
  bool footer = false;
  using Step = protocol::BatchIterator::Step;
  for (auto step = batches.next(); step != Step::end; step = batches.next()) {
    const std::string at = "byte " + std::to_string(batches.position());
    if (step != Step::batch) return fail(ErrorKind::corrupt, at + ": no whole record batch");
    if (footer) return fail(ErrorKind::corrupt, at + ": a batch behind the footer");
    if (auto valid = protocol::validate_stored_batch(batches.batch().bytes()); !valid)
      return fail(at, std::move(valid).error());
    if (batches.batch().base_offset() != expected)
      return fail(ErrorKind::corrupt, at + ": a batch of offset " +
                                          std::to_string(batches.batch().base_offset().value()) +
                                          ", expected " + std::to_string(expected.value()));
    expected = batches.batch().next_offset();
    const auto control = first_control(batches.batch());
    if (!header && control != ControlType::snapshot_header)
      return fail(ErrorKind::corrupt, "no snapshot header");
    header = true;
    footer = control == ControlType::snapshot_footer;
    BARNABAS_TRY(replayer.replay(batches.batch()));
  }
  if (!footer) return fail(ErrorKind::corrupt, "no snapshot footer: the file was never finished");
  BARNABAS_ASSIGN(const auto next, replayer.take());
  if (!next) return fail(ErrorKind::corrupt, "the snapshot ends inside of a metadata transaction");
  auto image = std::make_shared<MetadataImage>(*next->image);
  image->position = {id.end_offset - 1, id.epoch, image->position.timestamp};
  return image;
}

std::vector<std::byte> write_snapshot(const MetadataImage& image, TimestampMs now) {
  SnapshotFile file(image.position.epoch, now);
  std::vector<ControlRecord> head{snapshot_header_record(image.position.timestamp)};
  if (image.kraft_version > 0) {
    head.push_back(kraft_version_record(image.kraft_version));
    head.push_back(voters_record(image.voters));
  }
  file.add_control(head);
  file.add(records_of(image));
  file.add_control({snapshot_footer_record()});
  return file.take();
}

}  // namespace barnabas::metadata
