#include "metadata/replayer.h"

#include <string>
#include <utility>
#include <variant>

#include "metadata/control_record.h"
#include "protocol/records/record_reader.h"

namespace barnabas::metadata {

Replayer::Replayer(MetadataImagePtr start)
    : image_(std::move(start)), delta_(*image_), position_(image_->position) {}

Result<void> Replayer::replay(const protocol::RecordBatchView& batch) {
  protocol::RecordReader reader(batch);
  protocol::RecordView record;
  const bool is_control = batch.is_control();
  while (true) {
    auto more = reader.next(record);
    if (more && !*more) break;
    Result<void> done;
    if (!more) {
      done = std::unexpected(more.error());
    } else if (!record.value()) {
      done = fail(ErrorKind::corrupt, "a record without value");
    } else if (is_control) {
      done = replay_control(record.key().value_or(ByteView{}), *record.value());
    } else {
      done = replay_record(*record.value());
    }
    if (!done)
      return fail("metadata record at offset " + std::to_string(record.offset.value()),
                  std::move(done).error());
  }
  position_ = {batch.last_offset(), batch.partition_leader_epoch(), batch.max_timestamp()};
  return {};
}

Result<void> Replayer::replay_record(ByteView framed_value) {
  BARNABAS_ASSIGN(const protocol::MetadataRecord record, protocol::decode_metadata_record(framed_value));
  if (std::holds_alternative<protocol::BeginTransactionRecord>(record)) {
    if (in_transaction()) return fail(ErrorKind::corrupt, "BeginTransactionRecord inside of a transaction");
    before_transaction_ = delta_;
    return {};
  }
  const bool ends = std::holds_alternative<protocol::EndTransactionRecord>(record);
  const bool aborts = std::holds_alternative<protocol::AbortTransactionRecord>(record);
  if (!ends && !aborts) return delta_.replay(record, framed_value);
  if (!in_transaction()) return fail(ErrorKind::corrupt, "the end of a transaction that has no begin");
  if (aborts) delta_ = std::move(*before_transaction_);
  before_transaction_.reset();
  return {};
}

Result<void> Replayer::replay_control(ByteView key, ByteView value) {
  const auto type = parse_control_key(key);
  if (!type) return fail(ErrorKind::unsupported, "control record of unknown type");
  switch (*type) {
    case ControlType::leader_change: {
      BARNABAS_ASSIGN(auto change, decode_leader_change(value));
      delta_.set_controller(change.leader);
      leader_change_voters_ = std::move(change.voters);
      // The transaction of a leader that died stays open until the new one writes its AbortTransactionRecord.
      if (in_transaction()) before_transaction_->set_controller(change.leader);
      return {};
    }
    case ControlType::kraft_version: {
      BARNABAS_ASSIGN(const int16_t version, decode_kraft_version(value));
      delta_.set_kraft_version(version);
      return {};
    }
    case ControlType::voters: {
      BARNABAS_ASSIGN(auto voters, decode_voters(value));
      delta_.set_voters(std::move(voters));
      return {};
    }
    case ControlType::snapshot_header:
    case ControlType::snapshot_footer:
      return {};
  }
  return {};
}

Result<std::optional<NextImage>> Replayer::take() {
  if (in_transaction() || position_ == image_->position) return std::nullopt;
  BARNABAS_ASSIGN(NextImage next, std::move(delta_).finish(position_));
  image_ = next.image;
  delta_ = MetadataDelta(*image_);
  return std::optional(std::move(next));
}

}  // namespace barnabas::metadata
