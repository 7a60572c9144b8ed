#include "metadata/replayer.h"

#include <string>
#include <utility>
#include <variant>

#include "base/endian.h"
#include "protocol/messages/kraft_version_record.h"
#include "protocol/messages/leader_change_message.h"
#include "protocol/messages/voters_record.h"
#include "protocol/reader.h"
#include "protocol/records/record_reader.h"

namespace barnabas::metadata {
namespace {

/// Control messages stand in their own version, which is their first field. Kafka 4.4 always reads LeaderChange as
/// version 0, and writes nothing else.
template <class Message>
Result<Message> decode_control(ByteView value) {
  protocol::Reader reader(value);
  return Message::decode(reader, 0);
}

std::vector<VoterImage> voters_of(const protocol::VotersRecord& record) {
  std::vector<VoterImage> voters;
  for (const auto& voter : record.voters) {
    VoterImage image{NodeId(voter.voter_id), voter.voter_directory_id, {}, {}};
    for (const auto& endpoint : voter.endpoints)
      image.endpoints.push_back({endpoint.name.str(), endpoint.host.str(), endpoint.port, 0});
    image.kraft_versions = {voter.k_raft_version_feature.min_supported_version,
                            voter.k_raft_version_feature.max_supported_version};
    voters.push_back(std::move(image));
  }
  return voters;
}

}  // namespace

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
    if (!done) return fail("metadata record at offset " + std::to_string(record.offset.value()), std::move(done).error());
  }
  position_ = {batch.last_offset(), batch.partition_leader_epoch(), batch.max_timestamp()};
  return {};
}

Result<void> Replayer::replay_record(ByteView framed_value) {
  BARNABAS_ASSIGN(const protocol::MetadataRecord record, protocol::decode_metadata_record(framed_value));
  if (std::holds_alternative<protocol::BeginTransactionRecord>(record.content)) {
    if (in_transaction()) return fail(ErrorKind::corrupt, "BeginTransactionRecord inside of a transaction");
    before_transaction_ = delta_;
    return {};
  }
  const bool ends = std::holds_alternative<protocol::EndTransactionRecord>(record.content);
  const bool aborts = std::holds_alternative<protocol::AbortTransactionRecord>(record.content);
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
      BARNABAS_ASSIGN(const auto message, decode_control<protocol::LeaderChangeMessage>(value));
      delta_.set_controller(NodeId(message.leader_id));
      // The transaction of a leader that died stays open until the new one writes its AbortTransactionRecord.
      if (in_transaction()) before_transaction_->set_controller(NodeId(message.leader_id));
      return {};
    }
    case ControlType::kraft_version: {
      BARNABAS_ASSIGN(const auto message, decode_control<protocol::KRaftVersionRecord>(value));
      delta_.set_kraft_version(message.k_raft_version);
      return {};
    }
    case ControlType::voters: {
      BARNABAS_ASSIGN(const auto message, decode_control<protocol::VotersRecord>(value));
      delta_.set_voters(voters_of(message));
      return {};
    }
    case ControlType::snapshot_header:
    case ControlType::snapshot_footer: return {};
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

std::vector<std::byte> control_key(ControlType type) {
  std::vector<std::byte> key(4);
  store_big_endian<int16_t>(key.data(), 0);
  store_big_endian(key.data() + 2, static_cast<int16_t>(type));
  return key;
}

std::optional<ControlType> parse_control_key(ByteView key) {
  if (key.size() < 4) return std::nullopt;
  const auto type = load_big_endian<int16_t>(key.data() + 2);
  if (type < 2 || type > 6) return std::nullopt;
  return static_cast<ControlType>(type);
}

}  // namespace barnabas::metadata
