#include "tools/dump/dump_batches.h"

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "base/endian.h"
#include "base/log.h"
#include "protocol/records/record_batch.h"
#include "protocol/records/record_reader.h"

namespace barnabas::tools {
namespace {

namespace format = protocol::batch_format;
using protocol::RecordBatchHeader;
using protocol::RecordBatchView;
using protocol::RecordView;

std::string_view codec_name(const RecordBatchHeader& header) {
  constexpr std::array<std::string_view, 5> names{"none", "gzip", "snappy", "lz4", "zstd"};
  const auto id = static_cast<std::size_t>(header.codec_id());
  return id < names.size() ? names[id] : "unknown";
}

std::string shown(std::optional<ByteView> bytes, std::size_t bytes_max) {
  return bytes ? log_text(as_text(*bytes), bytes_max) : "null";
}

class BatchDump {
 public:
  BatchDump(io::File& file, std::optional<Offset> first_offset, RecordContents contents,
            const DumpOptions& options, DumpReport& report)
      : file_(file), first_offset_(first_offset), contents_(contents), options_(options), report_(report) {
    if (first_offset) next_offset_ = *first_offset;
  }

  void run() {
    const auto size = file_.size();
    if (!size) return report_.problem(size.error().message);
    size_ = std::min(*size, options_.end);
    while (position_ < size_ && next_batch()) {
    }
    report_.line("end: {} batches, {} records, {} of {} bytes, next offset {}", batches_, records_, position_,
                 size_, next_offset_.value());
  }

 private:
  /// False when there is no way to go on.
  bool next_batch() {
    std::array<std::byte, format::header_bytes> head{};
    const auto got = file_.read_at(head, position_);
    if (!got) return stop(got.error().message);
    if (*got < format::log_overhead) return stop(fmt::format("{} bytes found, a batch expected", *got));
    const auto length = load_big_endian<int32_t>(head.data() + format::length_at);
    if (length == 0 && std::ranges::all_of(head, [](std::byte byte) { return byte == std::byte{0}; }))
      return stop(fmt::format("zeros found up to the end ({} bytes), a batch expected", size_ - position_));
    const auto header = RecordBatchHeader::parse(ByteView(head).first(*got));
    if (!header) return stop(header.error().message);
    if (header->size_bytes() > size_ - position_) {
      return stop(fmt::format("batch of {} bytes found, of which the file has {}", header->size_bytes(),
                              size_ - position_));
    }
    if (header->size_bytes() > options_.batch_bytes_max) {
      report_.problem(position_,
                      fmt::format("batch of {} bytes is not read (see --max-bytes)", header->size_bytes()));
    } else if (!read_batch(*header)) {
      return false;
    }
    next_offset_ = std::max(next_offset_, header->next_offset());
    position_ += header->size_bytes();
    ++batches_;
    return true;
  }

  bool stop(const std::string& text) {
    report_.problem(position_, text);
    return false;
  }

  bool read_batch(const RecordBatchHeader& header) {
    buffer_.resize(header.size_bytes());
    const auto got = file_.read_at(buffer_, position_);
    if (!got) return stop(got.error().message);
    if (*got < buffer_.size()) return stop(fmt::format("{} bytes found, {} expected", *got, buffer_.size()));
    const RecordBatchView batch = RecordBatchView::trusted(buffer_);
    if (report_.prints()) print_header(header);
    check_header(header);
    if (const uint32_t computed = batch.computed_crc(); computed != header.crc) {
      report_.problem(position_, fmt::format("crc {:08x} found, {:08x} expected", header.crc, computed));
      return true;  // its records say nothing
    }
    read_records(batch, header);
    return true;
  }

  void print_header(const RecordBatchHeader& header) {
    report_.line(
        "batch baseOffset={} lastOffset={} position={} size={} leaderEpoch={} codec={} {}={} records={}{}{} "
        "producer={}/{} baseSequence={} crc={:08x}{}",
        header.base_offset.value(), header.last_offset().value(), position_, header.size_bytes(),
        header.partition_leader_epoch.value(), codec_name(header),
        header.timestamp_type() == protocol::TimestampType::create_time ? "CreateTime" : "LogAppendTime",
        readable_time(header.max_timestamp), header.record_count,
        header.is_transactional() ? " transactional" : "", header.is_control() ? " control" : "",
        header.producer_id.value(), header.producer_epoch.value(), header.base_sequence, header.crc,
        header.delete_horizon() ? " deleteHorizon=" + readable_time(*header.delete_horizon()) : "");
  }

  void check_header(const RecordBatchHeader& header) {
    if (header.last_offset_delta < 0)
      report_.problem(
          position_, fmt::format("last offset delta {} found, 0 or more expected", header.last_offset_delta));
    if (header.base_offset < next_offset_) {
      report_.problem(position_, fmt::format("base offset {} found, {} or more expected",
                                             header.base_offset.value(), next_offset_.value()));
    }
    const int64_t reach = std::numeric_limits<int32_t>::max();
    if (first_offset_ && header.last_offset() > *first_offset_ &&
        header.last_offset() - *first_offset_ > reach) {
      report_.problem(position_, fmt::format("offset {} found, which a segment from {} cannot hold",
                                             header.last_offset().value(), first_offset_->value()));
    }
  }

  void read_records(const RecordBatchView& batch, const RecordBatchHeader& header) {
    protocol::RecordReader reader(
        batch, {protocol::ReadMode::contents, static_cast<int64_t>(options_.batch_bytes_max)});
    RecordView record;
    int64_t last_delta = -1;
    for (int64_t index = 0;; ++index) {
      const auto more = reader.next(record);
      if (!more) return report_.problem(position_, more.error().message);
      if (!*more) return;
      ++records_;
      if (record.offset_delta <= last_delta || record.offset_delta > header.last_offset_delta) {
        report_.problem(position_,
                        fmt::format("record {}: offset delta {} found, {} to {} expected", index,
                                    record.offset_delta, last_delta + 1, header.last_offset_delta));
      }
      last_delta = record.offset_delta;
      if (options_.records && report_.prints())
        print_record(record, header);
      else if (options_.decode)
        check_contents(record, header);
    }
  }

  void print_record(const RecordView& record, const RecordBatchHeader& header) {
    const std::string place =
        fmt::format("  record offset={} time={}", record.offset.value(), readable_time(record.timestamp));
    if (const auto decoded = decode(record, header)) {
      if (*decoded) return report_.line("{} {}", place, **decoded);
      undecodable(record, decoded->error());
    }
    std::string headers;
    for (const protocol::RecordHeader& one : record.headers()) {
      headers += headers.empty() ? " headers: " : ", ";
      headers +=
          log_text(one.key, options_.shown_bytes_max) + "=" + shown(one.value, options_.shown_bytes_max);
    }
    report_.line("{} key={} value={}{}", place, shown(record.key(), options_.shown_bytes_max),
                 shown(record.value(), options_.shown_bytes_max), headers);
  }

  void check_contents(const RecordView& record, const RecordBatchHeader& header) {
    if (const auto decoded = decode(record, header); decoded && !*decoded)
      undecodable(record, decoded->error());
  }

  void undecodable(const RecordView& record, const Error& error) {
    report_.problem(position_, fmt::format("record at offset {}: {}", record.offset.value(), error.message));
  }

  /// nullopt for somebody's bytes.
  std::optional<Result<std::string>> decode(const RecordView& record, const RecordBatchHeader& header) const {
    if (header.is_control()) return decode_control_record(record.key(), record.value());
    if (contents_ == RecordContents::opaque) return std::nullopt;
    if (contents_ == RecordContents::metadata) {
      if (!record.value()) return fail(ErrorKind::corrupt, "no value found, a metadata record expected");
      return decode_metadata_value(*record.value());
    }
    if (!record.key()) return fail(ErrorKind::corrupt, "no key found, a record type expected");
    return decode_coordinator_record(contents_, *record.key(), record.value());
  }

  io::File& file_;
  const std::optional<Offset> first_offset_;
  const RecordContents contents_;
  const DumpOptions& options_;
  DumpReport& report_;
  uint64_t size_ = 0;
  uint64_t position_ = 0;
  Offset next_offset_{0};
  uint64_t batches_ = 0;
  uint64_t records_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace

void dump_batches(io::File& file, std::optional<Offset> first_offset, RecordContents contents,
                  const DumpOptions& options, DumpReport& report) {
  BatchDump(file, first_offset, contents, options, report).run();
}

}  // namespace barnabas::tools
