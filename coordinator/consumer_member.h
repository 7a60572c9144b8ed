#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/uuid.h"
#include "coordinator/assignors/assignor.h"
#include "coordinator/record.h"
#include "protocol/messages/consumer_group_current_member_assignment_value.h"
#include "protocol/messages/consumer_group_member_metadata_value.h"

namespace barnabas::coordinator {

/// What a member holds: partition → the epoch in which it got it (KIP-1251).
using OwnedPartitions = std::map<Uuid, std::map<int32_t, int32_t>>;

/// Where a member stands between what it has and its target; the numbers are those of the log.
enum class ConsumerMemberState : int8_t {
  stable = 0,
  unrevoked_partitions = 1,   ///< it has been told to give some up, and has not yet
  unreleased_partitions = 2,  ///< it waits for what others still hold
  unknown = 127,              ///< of a newer version
};

/// What makes a member of the classic protocol: it stays a member of its group while that speaks the new one.
struct ClassicMemberData {
  struct Protocol {
    std::string name;
    std::vector<std::byte> metadata;
    bool operator==(const Protocol&) const = default;
  };
  int32_t session_timeout_ms = 0;
  std::vector<Protocol> protocols;
  bool operator==(const ClassicMemberData&) const = default;
};

inline constexpr int32_t leave_epoch = -1;
inline constexpr int32_t leave_static_epoch = -2;

/// A member of a group of the consumer protocol (KIP-848), as the log has it.
struct ConsumerMember {
  std::string id;
  int32_t epoch = 0;
  int32_t previous_epoch = -1;
  ConsumerMemberState state = ConsumerMemberState::stable;
  std::optional<std::string> instance_id = {};
  std::optional<std::string> rack_id = {};
  int32_t rebalance_timeout_ms = -1;
  std::string client_id = {};
  std::string client_host = {};
  std::vector<std::string> topics = {};  ///< sorted, without doubles
  std::optional<std::string> regex = std::string();
  std::optional<std::string> assignor = {};
  OwnedPartitions assigned = {};
  OwnedPartitions pending_revocation = {};
  std::optional<ClassicMemberData> classic = {};
  bool operator==(const ConsumerMember&) const = default;

  bool has_regex() const { return regex && !regex->empty(); }
  bool is_reconciled_to(int32_t target_epoch) const {
    return state == ConsumerMemberState::stable && epoch == target_epoch;
  }
  void move_to_epoch(int32_t next) {
    previous_epoch = epoch;
    epoch = next;
  }

  void take(const protocol::ConsumerGroupMemberMetadataValue& value);
  void take(const protocol::ConsumerGroupCurrentMemberAssignmentValue& value);
};

/// Without the epochs.
TopicPartitions partitions_of(const OwnedPartitions& owned);
OwnedPartitions owned_at(const TopicPartitions& partitions, int32_t epoch);
void sort_unique(std::vector<std::string>& names);

/// Records of groups of the consumer protocol, as Kafka 4.4 writes them.
namespace consumer_records {

Record member_metadata(std::string_view group, const ConsumerMember& member);
Record member_metadata_tombstone(std::string_view group, std::string_view member);
Record current_assignment(std::string_view group, const ConsumerMember& member);
Record current_assignment_tombstone(std::string_view group, std::string_view member);
Record target_assignment(std::string_view group, std::string_view member, const TopicPartitions& partitions);
Record target_assignment_tombstone(std::string_view group, std::string_view member);
Record target_metadata(std::string_view group, int32_t epoch, TimestampMs made_at);
Record target_metadata_tombstone(std::string_view group);
Record group_metadata(std::string_view group, int32_t epoch, int64_t metadata_hash);
Record group_metadata_tombstone(std::string_view group);
/// Of brokers before 4.1, which kept all partitions there.
Record partition_metadata_tombstone(std::string_view group);
Record regular_expression(std::string_view group, std::string_view regex,
                          const std::vector<std::string>& topics, int64_t version, TimestampMs at);
Record regular_expression_tombstone(std::string_view group, std::string_view regex);

}  // namespace consumer_records
}  // namespace barnabas::coordinator
