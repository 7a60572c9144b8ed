#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/uuid.h"
#include "coordinator/decision.h"
#include "coordinator/record.h"
#include "protocol/error_code.h"

namespace barnabas::coordinator {

/// Which protocol a group speaks; the text is that of ListGroups (KIP-848).
enum class GroupType { classic, consumer };

constexpr std::string_view to_string(GroupType type) {
  return type == GroupType::classic ? "classic" : "consumer";
}

/// What decides whether a committed offset has had its time.
struct OffsetAge {
  std::string_view topic;
  TimestampMs committed_at;
  /// Versions 0 and 1 of OffsetCommit let the client say when; old records carry it.
  std::optional<TimestampMs> expires_at;
};

/// One group of any protocol, as everything that is not its own protocol sees it: offsets, listing, deleting.
/// Belongs to one shard and its thread.
class Group {
 public:
  explicit Group(std::string id) : id_(std::move(id)) {}
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  const std::string& id() const { return id_; }
  virtual GroupType type() const = 0;
  /// As ListGroups and DescribeGroups spell it: "Stable", "PreparingRebalance", "Reconciling" …
  virtual std::string_view state_name() const = 0;
  /// "consumer", or what members of a classic group said ("connect" …); empty while nobody did.
  virtual std::string_view protocol_type() const = 0;
  /// It has no members.
  virtual bool is_empty() const = 0;

  /// Whether this member may commit. `member_id` "" and epoch (generation) below 0: somebody without
  /// membership. unknown_member_id, illegal_generation, stale_member_epoch, fenced_instance_id,
  /// rebalance_in_progress …
  virtual protocol::ErrorCode validate_offset_commit(std::string_view member_id,
                                                     const std::optional<std::string>& instance_id,
                                                     int32_t generation_or_member_epoch, bool transactional,
                                                     int16_t version) const = 0;
  /// Once validate_offset_commit gave none: whether it may commit this partition. A member of a consumer
  /// group that has not heard of its newest epoch yet may commit what it has had since the epoch it knows
  /// (KIP-1251): stale_member_epoch, illegal_generation otherwise. A refusal refuses the whole request.
  virtual protocol::ErrorCode validate_partition_commit(std::string_view /*member_id*/,
                                                        int32_t /*generation_or_member_epoch*/,
                                                        const Uuid& /*topic_id*/,
                                                        int32_t /*partition*/) const {
    return protocol::ErrorCode::none;
  }
  /// The same for OffsetFetch from version 9 on; no member and a negative epoch are always welcome.
  virtual protocol::ErrorCode validate_offset_fetch(const std::optional<std::string>& member_id,
                                                    int32_t member_epoch) const = 0;
  /// For OffsetDelete: group_id_not_found for a dead group, non_empty_group where it cannot tell
  /// subscriptions.
  virtual protocol::ErrorCode validate_offset_delete() const = 0;
  /// For DeleteGroups: non_empty_group, group_id_not_found.
  virtual protocol::ErrorCode validate_delete() const = 0;
  virtual bool is_subscribed_to(std::string_view topic) const = 0;
  /// Whether an offset of this age may go (KIP-211), given offsets.retention.minutes.
  virtual bool offset_is_expired(const OffsetAge& age, TimestampMs now,
                                 std::chrono::milliseconds retention) const = 0;
  /// Records that remove the group itself (not its offsets).
  virtual void tombstones(std::vector<Record>& into) const = 0;
  /// Whether the group itself may be removed once it has no offsets left: then its tombstones are appended.
  virtual bool may_be_removed(TimestampMs now) const = 0;

  /// Called after each commit and fetch by a member of the classic protocol: they count as heartbeats.
  virtual void note_alive(std::string_view member_id, const Now& now) = 0;

 private:
  const std::string id_;
};

/// All groups of a shard, by id.
class GroupTable {
 public:
  Group* find(std::string_view id) const {
    const auto found = groups_.find(id);
    return found == groups_.end() ? nullptr : found->second.get();
  }
  /// As T, or null if there is no such group or it is of another kind.
  template <class T>
  T* find_as(std::string_view id) const {
    return dynamic_cast<T*>(find(id));
  }
  /// Takes the place of a group with this id.
  Group& put(std::unique_ptr<Group> group) {
    auto& place = groups_[group->id()];
    place = std::move(group);
    return *place;
  }
  /// Out of the table; null: there is none.
  std::unique_ptr<Group> take(std::string_view id) {
    const auto found = groups_.find(id);
    if (found == groups_.end()) return nullptr;
    std::unique_ptr<Group> group = std::move(found->second);
    groups_.erase(found);
    return group;
  }
  void remove(std::string_view id) {
    if (const auto found = groups_.find(id); found != groups_.end()) groups_.erase(found);
  }
  std::size_t size() const { return groups_.size(); }
  auto begin() const { return groups_.begin(); }
  auto end() const { return groups_.end(); }

 private:
  std::map<std::string, std::unique_ptr<Group>, std::less<>> groups_;
};

}  // namespace barnabas::coordinator
