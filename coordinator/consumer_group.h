#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "coordinator/consumer_member.h"
#include "coordinator/group.h"
#include "metadata/image.h"

namespace barnabas::coordinator {

/// How many members subscribe to a topic by name, and how many regular expressions of the group match it.
struct SubscriptionCount {
  int32_t by_name = 0;
  int32_t by_regex = 0;
  bool operator==(const SubscriptionCount&) const = default;
};
using SubscriptionCounts = std::map<std::string, SubscriptionCount, std::less<>>;

struct ResolvedRegex {
  std::vector<std::string> topics;  ///< sorted
  int64_t version = -1;             ///< offset of the metadata image
  TimestampMs at{-1};
};

/// A group of the consumer protocol (KIP-848): its members, its target assignment and who has which partition
/// now. Everything but the time of the last look at the metadata comes from the log, by the take_ and remove_
/// methods, and only from there.
class ConsumerGroup final : public Group {
 public:
  using Group::Group;

  using Members = std::map<std::string, ConsumerMember, std::less<>>;
  using Targets = std::map<std::string, TopicPartitions, std::less<>>;

  // --- as others see it
  GroupType type() const override { return GroupType::consumer; }
  std::string_view state_name() const override;
  std::string_view protocol_type() const override { return "consumer"; }
  bool is_empty() const override { return members_.empty(); }
  protocol::ErrorCode validate_offset_commit(std::string_view member_id,
                                             const std::optional<std::string>& instance_id,
                                             int32_t generation_or_member_epoch, bool transactional,
                                             int16_t version) const override;
  protocol::ErrorCode validate_partition_commit(std::string_view member_id,
                                                int32_t generation_or_member_epoch, const Uuid& topic_id,
                                                int32_t partition) const override;
  protocol::ErrorCode validate_offset_fetch(const std::optional<std::string>& member_id,
                                            int32_t member_epoch) const override;
  protocol::ErrorCode validate_offset_delete() const override { return protocol::ErrorCode::none; }
  protocol::ErrorCode validate_delete() const override;
  bool is_subscribed_to(std::string_view topic) const override { return subscriptions_.contains(topic); }
  bool offset_is_expired(const OffsetAge& age, TimestampMs now,
                         std::chrono::milliseconds retention) const override;
  void tombstones(std::vector<Record>& into) const override;
  bool may_be_removed(TimestampMs) const override { return is_empty(); }
  void note_alive(std::string_view, const Now&) override {}

  /// The tombstones of a group in which `joining` has taken the place of `leaving` in the same batch.
  void tombstones_replacing(std::string_view leaving, std::string_view joining,
                            std::vector<Record>& into) const;

  // --- what it is
  int32_t epoch() const { return epoch_; }
  int64_t metadata_hash() const { return metadata_hash_; }
  int32_t assignment_epoch() const { return assignment_epoch_; }
  TimestampMs assigned_at() const { return assigned_at_; }
  const Members& members() const { return members_; }
  const ConsumerMember* member(std::string_view id) const;
  const ConsumerMember* static_member(const std::optional<std::string>& instance_id) const;
  const Targets& targets() const { return targets_; }
  const TopicPartitions& target(std::string_view member_id) const;
  /// Of a static member also that of the member whose place it takes.
  const TopicPartitions& target(const ConsumerMember& member) const;
  bool is_held(const Uuid& topic, int32_t partition) const { return holder(topic, partition) != nullptr; }
  /// Who has it, or has not yet said that it gave it up; null: nobody.
  const ConsumerMember* holder(const Uuid& topic, int32_t partition) const;
  const SubscriptionCounts& subscriptions() const { return subscriptions_; }
  /// Members by regular expression.
  const std::map<std::string, int32_t>& regex_members() const { return regex_members_; }
  const std::map<std::string, ResolvedRegex>& resolved() const { return resolved_; }
  bool has_partition_metadata_record() const { return has_partition_metadata_record_; }

  // --- what it would be once `next` has taken the place of `old` (either may be null)
  /// The assignor that most members ask for; nothing: nobody asks for one. The broker may not have it.
  std::optional<std::string> preferred_assignor(const ConsumerMember* old, const ConsumerMember* next) const;
  SubscriptionCounts subscriptions_with(const ConsumerMember* old, const ConsumerMember* next) const;
  std::map<std::string, int32_t> regex_members_with(const ConsumerMember* old,
                                                    const ConsumerMember* next) const;
  /// What a member subscribes to by name and by its expression, as far as that is resolved; sorted.
  std::vector<std::string> topics_of(const ConsumerMember& member) const;

  // --- members of the classic protocol
  std::size_t classic_members() const { return classic_members_; }
  /// Whether a classic member that supports these protocols may join: all that are here support one of them.
  bool supports_classic(const std::vector<std::string_view>& protocols) const;
  /// It waits for partitions that others have not released yet.
  bool waits_for_others(const ConsumerMember& member) const;

  // --- replay
  void take_member(ConsumerMember next);
  void remove_member(std::string_view id);
  void take_target(std::string_view member_id, TopicPartitions target);
  void remove_target(std::string_view member_id);
  void take_epoch(int32_t epoch, int64_t metadata_hash);
  void take_assignment(int32_t epoch, TimestampMs at);
  void take_resolved(std::string_view regex, std::optional<ResolvedRegex> resolved);
  void take_partition_metadata(bool there) { has_partition_metadata_record_ = there; }

  // --- in memory only
  /// The metadata were looked at, for this epoch of the group; void if that never came about.
  void note_metadata_checked(int32_t epoch) { checked_at_epoch_ = epoch; }
  /// When members were told to show themselves again; nothing: not known, since a start.
  void expect_heartbeat(std::string_view id, Instant at);
  std::optional<Instant> heartbeat_expected(std::string_view id) const;
  void request_metadata_check() { checked_at_epoch_.reset(); }
  bool needs_metadata_check() const { return !checked_at_epoch_ || epoch_ < *checked_at_epoch_; }

 private:
  void count(const ConsumerMember& member, int32_t by);
  void release(const ConsumerMember& member);

  int32_t epoch_ = 1;
  int64_t metadata_hash_ = 0;
  int32_t assignment_epoch_ = 1;
  TimestampMs assigned_at_{0};
  Members members_;
  std::map<std::string, std::string, std::less<>> static_members_;  ///< instance id → member id
  Targets targets_;
  /// Who has or has not given up yet; members are nodes of members_.
  std::unordered_map<Uuid, std::unordered_map<int32_t, const ConsumerMember*>> holders_;
  std::map<std::string, Instant, std::less<>> heartbeats_expected_;
  SubscriptionCounts subscriptions_;
  std::map<std::string, int32_t> regex_members_;
  std::map<std::string, ResolvedRegex> resolved_;
  std::map<std::string, int32_t> assignors_;
  std::map<std::string, std::size_t, std::less<>> classic_protocols_;  ///< members by what they support
  std::size_t classic_members_ = 0;
  bool has_partition_metadata_record_ = false;
  std::optional<int32_t> checked_at_epoch_;
};

}  // namespace barnabas::coordinator
