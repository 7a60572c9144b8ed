#include "metadata/control_record.h"

#include "base/assert.h"
#include "base/endian.h"
#include "protocol/messages/kraft_version_record.h"
#include "protocol/messages/leader_change_message.h"
#include "protocol/messages/snapshot_footer_record.h"
#include "protocol/messages/snapshot_header_record.h"
#include "protocol/messages/voters_record.h"
#include "protocol/reader.h"
#include "protocol/writer.h"

namespace barnabas::metadata {
namespace {

constexpr int16_t version_0 = 0;

template <class Message>
ControlRecord control_record(ControlType type, const Message& message) {
  ControlRecord record;
  record.key.resize(4);
  store_big_endian<int16_t>(record.key.data(), 0);
  store_big_endian(record.key.data() + 2, static_cast<int16_t>(type));
  protocol::Writer writer;
  message.encode(writer, version_0);
  BARNABAS_ASSERT(writer.ok());
  record.value.assign(writer.bytes().begin(), writer.bytes().end());
  return record;
}

template <class Message>
Result<Message> decode(ByteView value) {
  protocol::Reader reader(value);
  return Message::decode(reader, version_0);
}

}  // namespace

std::optional<ControlType> parse_control_key(ByteView key) {
  if (key.size() < 4) return std::nullopt;
  const auto type = load_big_endian<int16_t>(key.data() + 2);
  if (type < static_cast<int16_t>(ControlType::leader_change) ||
      type > static_cast<int16_t>(ControlType::voters))
    return std::nullopt;
  return static_cast<ControlType>(type);
}

ControlRecord leader_change_record(NodeId leader, const std::vector<NodeId>& voters) {
  protocol::LeaderChangeMessage message;
  message.leader_id = leader.value();
  for (const NodeId voter : voters) message.voters.emplace_back().voter_id = voter.value();
  message.granting_voters = message.voters;
  return control_record(ControlType::leader_change, message);
}

ControlRecord kraft_version_record(int16_t version) {
  protocol::KRaftVersionRecord message;
  message.k_raft_version = version;
  return control_record(ControlType::kraft_version, message);
}

ControlRecord voters_record(const std::vector<VoterImage>& voters) {
  protocol::VotersRecord message;
  for (const auto& voter : voters) {
    auto& added = message.voters.emplace_back();
    added.voter_id = voter.id.value();
    added.voter_directory_id = voter.directory_id;
    for (const auto& endpoint : voter.endpoints) {
      auto& to = added.endpoints.emplace_back();
      to.name = endpoint.listener;
      to.host = endpoint.host;
      to.port = endpoint.port;
    }
    added.k_raft_version_feature.min_supported_version = voter.kraft_versions.min;
    added.k_raft_version_feature.max_supported_version = voter.kraft_versions.max;
  }
  return control_record(ControlType::voters, message);
}

ControlRecord snapshot_header_record(TimestampMs last_contained) {
  protocol::SnapshotHeaderRecord message;
  message.last_contained_log_timestamp = last_contained.value();
  return control_record(ControlType::snapshot_header, message);
}

ControlRecord snapshot_footer_record() {
  return control_record(ControlType::snapshot_footer, protocol::SnapshotFooterRecord{});
}

Result<LeaderChange> decode_leader_change(ByteView value) {
  BARNABAS_ASSIGN(const auto message, decode<protocol::LeaderChangeMessage>(value));
  LeaderChange change{NodeId(message.leader_id), {}};
  for (const auto& voter : message.voters) change.voters.emplace_back(voter.voter_id);
  return change;
}

Result<TimestampMs> decode_snapshot_header(ByteView value) {
  BARNABAS_ASSIGN(const auto message, decode<protocol::SnapshotHeaderRecord>(value));
  return TimestampMs(message.last_contained_log_timestamp);
}

Result<int16_t> decode_kraft_version(ByteView value) {
  BARNABAS_ASSIGN(const auto message, decode<protocol::KRaftVersionRecord>(value));
  return message.k_raft_version;
}

Result<std::vector<VoterImage>> decode_voters(ByteView value) {
  BARNABAS_ASSIGN(const auto message, decode<protocol::VotersRecord>(value));
  std::vector<VoterImage> voters;
  for (const auto& voter : message.voters) {
    VoterImage image{NodeId(voter.voter_id), voter.voter_directory_id, {}, {}};
    for (const auto& endpoint : voter.endpoints)
      image.endpoints.push_back({endpoint.name.str(), endpoint.host.str(), endpoint.port, 0});
    image.kraft_versions = {voter.k_raft_version_feature.min_supported_version,
                            voter.k_raft_version_feature.max_supported_version};
    voters.push_back(std::move(image));
  }
  return voters;
}

}  // namespace barnabas::metadata
