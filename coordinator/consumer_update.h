#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "coordinator/consumer_protocol.h"

namespace barnabas::coordinator {

/// One member of a group comes, changes or only shows that it is there: the records of all that follows from
/// it, step by step as Kafka takes them. Nothing is changed yet.
class MemberUpdate {
 public:
  /// `group` may be one that is not in the table yet. `old`: the member as it was; both outlive this.
  MemberUpdate(ConsumerProtocol& protocol, ConsumerGroup& group, const ConsumerMember& old, const Now& now);

  /// Before all else. Not called: the member stays as it was.
  void change_to(ConsumerMember next) { next_ = std::move(next); }
  const ConsumerMember& member() const { return next_ ? *next_ : old_; }
  std::vector<Record>& records() { return records_; }

  /// The member's record, if it changed. Refused: a regular expression that is none.
  Checked<void> subscribe();
  /// The group's epoch, if its metadata are to be looked at; a member of the classic protocol moves it also
  /// by an expression that is not resolved.
  void check_metadata(bool any_regex_change_counts);
  bool subscription_changed() const { return topics_changed_ || regex_ != RegexChange::none; }
  int32_t group_epoch() const { return group_epoch_; }

  struct Target {
    int32_t epoch = 0;
    TopicPartitions partitions;
  };
  /// The one that there is, or a new one if the group moved on and enough time has passed.
  Target target();
  Target last_target() const { return {group_.assignment_epoch(), group_.target(member())}; }
  /// Moves the member towards it.
  Checked<void> reconcile(const Target& target, bool subscription_changed,
                          std::optional<TopicPartitions> reported);

  /// What is in force for the group.
  const ConsumerGroupSettings& settings() const { return settings_; }
  /// When the member should show itself again: as usual, or sooner while more is to come for it.
  std::chrono::milliseconds next_heartbeat_in() const;

  /// Expressions match only topics that the member may know of.
  void show_only(TopicFilter topics) { may_see_ = std::move(topics); }

  /// What is to happen to timers once the records are appended.
  std::function<void()> timers();

 private:
  enum class RegexChange { none, unresolved, resolved };

  Checked<void> change_regex();
  void look_for_new_topics(bool must);
  void compute_target(Target& target);
  bool replaces(std::string_view member_id) const;
  void expect_releases(const ConsumerMember& waiting, const TopicPartitions& target);
  std::chrono::milliseconds until_target_is_due() const;

  ConsumerProtocol& protocol_;
  ConsumerGroup& group_;
  const ConsumerMember& old_;
  const Now now_;
  std::optional<ConsumerMember> next_;
  std::vector<Record> records_;
  const ConsumerGroupSettings settings_;
  int32_t group_epoch_;
  int32_t target_epoch_;
  /// When the first of those who hold what the member waits for will show itself.
  std::optional<Instant> release_expected_;
  bool topics_changed_ = false;
  bool assignor_changed_ = false;
  RegexChange regex_ = RegexChange::none;
  bool resolve_regexes_ = false;
  TopicFilter may_see_;
  bool reconciled_ = false;
};

}  // namespace barnabas::coordinator
