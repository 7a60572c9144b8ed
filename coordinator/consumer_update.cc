#include "coordinator/consumer_update.h"

#include <algorithm>

#include "coordinator/consumer_reconciliation.h"
#include "coordinator/consumer_regex.h"

namespace barnabas::coordinator {
namespace {

using protocol::ErrorCode;
using std::chrono::milliseconds;

/// Between two heartbeats of a member that waits for something that may come at any moment.
constexpr milliseconds waits_min{100};
constexpr milliseconds waits_max{1'000};

/// Expressions of a group are not looked at more often.
constexpr int64_t regex_refresh_min_ms = 10'000;

std::set<Uuid> ids_of(const std::vector<std::string>& topics, const metadata::MetadataImage& image) {
  std::set<Uuid> ids;
  for (const auto& name : topics)
    if (const auto* topic = image.topic(name)) ids.insert(topic->id);
  return ids;
}

}  // namespace

MemberUpdate::MemberUpdate(ConsumerProtocol& protocol, ConsumerGroup& group, const ConsumerMember& old,
                           const Now& now)
    : protocol_(protocol),
      group_(group),
      old_(old),
      now_(now),
      settings_(protocol.settings_.of(group.id())),
      group_epoch_(group.epoch()),
      target_epoch_(group.assignment_epoch()) {}

Checked<void> MemberUpdate::subscribe() {
  if (next_ && *next_ != old_) {
    records_.push_back(consumer_records::member_metadata(group_.id(), *next_));
    topics_changed_ = next_->topics != old_.topics;
    if (next_->assignor != old_.assignor)
      assignor_changed_ = protocol_.assignor_of(group_) != protocol_.assignor_of(group_, &old_, &*next_);
  }
  return change_regex();
}

Checked<void> MemberUpdate::change_regex() {
  bool must_resolve = false;
  const auto members_with = [this](const std::string& regex) {
    const auto found = group_.regex_members().find(regex);
    return found == group_.regex_members().end() ? 0 : found->second;
  };
  if (member().regex != old_.regex) {
    regex_ = RegexChange::unresolved;
    if (old_.has_regex() && members_with(*old_.regex) == 1)
      records_.push_back(consumer_records::regular_expression_tombstone(group_.id(), *old_.regex));
    if (!member().has_regex()) {
      if (old_.has_regex()) regex_ = RegexChange::resolved;
    } else if (members_with(*member().regex) == 0) {
      if (const auto checked = check_regex(*member().regex); !checked)
        return std::unexpected(Refusal{ErrorCode::invalid_regular_expression,
                                       "SubscribedTopicRegex `" + *member().regex +
                                           "` is not a valid regular expression: " + checked.error() + "."});
      must_resolve = true;
    } else if (group_.resolved().contains(*member().regex)) {
      regex_ = RegexChange::resolved;
    }
  }
  if (must_resolve || !group_.regex_members().empty()) look_for_new_topics(must_resolve);
  return {};
}

void MemberUpdate::look_for_new_topics(bool must) {
  if (protocol_.is_resolving(group_.id())) return;
  const ResolvedRegex* last = group_.resolved().empty() ? nullptr : &group_.resolved().begin()->second;
  if (last != nullptr && !has_passed(last->at, regex_refresh_min_ms + 1, now_.wall)) return;
  const auto regexes = group_.regex_members_with(&old_, &member());
  const int64_t version = last == nullptr ? 0 : last->version;
  const auto interval = protocol_.environment_.settings.regex_refresh_interval.count();
  resolve_regexes_ = !regexes.empty() && (must || regexes.size() != group_.resolved().size() ||
                                          version < protocol_.newest_topics_version_ || last == nullptr ||
                                          has_passed(last->at, interval + 1, now_.wall));
}

void MemberUpdate::check_metadata(bool any_regex_change_counts) {
  bool bump = topics_changed_ || assignor_changed_ || regex_ == RegexChange::resolved ||
              (any_regex_change_counts && regex_ != RegexChange::none);
  if (!bump && !group_.needs_metadata_check()) return;
  const auto subscriptions = group_.subscriptions_with(&old_, &member());
  std::vector<std::string> topics;
  for (const auto& [name, count] : subscriptions) topics.push_back(name);
  const int64_t hash = protocol_.hashes_.of(topics, *protocol_.environment_.image);
  bump = bump || hash != group_.metadata_hash();
  if (bump) records_.push_back(consumer_records::group_metadata(group_.id(), ++group_epoch_, hash));
  group_.note_metadata_checked(group_epoch_);
  if (group_.has_partition_metadata_record())
    records_.push_back(consumer_records::partition_metadata_tombstone(group_.id()));
}

MemberUpdate::Target MemberUpdate::target() {
  if (!protocol_.target_is_due(group_, group_epoch_, now_)) return last_target();
  Target target{group_epoch_, {}};
  compute_target(target);
  target_epoch_ = group_epoch_;
  return target;
}

bool MemberUpdate::replaces(std::string_view member_id) const {
  const ConsumerMember* present = group_.static_member(member().instance_id);
  return present != nullptr && present->id == member_id && member_id != member().id;
}

void MemberUpdate::compute_target(Target& target) {
  const auto& image = *protocol_.environment_.image;
  AssignorInput input;
  std::vector<std::string> last_names;
  std::shared_ptr<const std::vector<Uuid>> last_ids;  // most members subscribe to what others do
  const auto add = [&](const ConsumerMember& member, const TopicPartitions* present) {
    auto names = group_.topics_of(member);
    if (!last_ids || names != last_names) {
      const auto ids = ids_of(names, image);
      auto list = std::make_shared<const std::vector<Uuid>>(ids.begin(), ids.end());
      input.same_topics = input.same_topics && (!last_ids || *last_ids == *list);
      last_ids = std::move(list);
      last_names = std::move(names);
      for (const Uuid& id : *last_ids) input.partition_counts[id] = image.topic(id)->partition_count();
    }
    std::optional<std::string_view> instance_id;
    if (member.instance_id) instance_id = *member.instance_id;
    input.members.push_back({member.id, instance_id, last_ids, present});
  };
  const auto target_or_null = [&](std::string_view id) {
    const auto found = group_.targets().find(id);
    return found == group_.targets().end() ? nullptr : &found->second;
  };
  const auto* present = group_.static_member(member().instance_id);
  const auto* own =
      present != nullptr && replaces(present->id) ? target_or_null(present->id) : target_or_null(member().id);
  bool added = false;
  for (const auto& [id, other] : group_.members()) {
    if (!added && id >= member().id) {
      add(member(), own);
      added = true;
    }
    if (id != member().id && !replaces(id)) add(other, target_or_null(id));
  }
  if (!added) add(member(), own);

  const auto assignment = assignor_named(protocol_.assignor_of(group_, &old_, &member()))(input);
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    const auto& assigned = input.members[i];
    if (assigned.target == nullptr || *assigned.target != assignment[i])
      records_.push_back(consumer_records::target_assignment(group_.id(), assigned.id, assignment[i]));
    if (assigned.id == member().id) target.partitions = assignment[i];
  }
  records_.push_back(consumer_records::target_metadata(group_.id(), group_epoch_, now_.wall));
}

Checked<void> MemberUpdate::reconcile(const Target& target, bool subscription_changed,
                                      std::optional<TopicPartitions> reported) {
  if (!subscription_changed && member().is_reconciled_to(target.epoch)) return {};
  const auto subscribed = ids_of(group_.topics_of(member()), *protocol_.environment_.image);
  const std::function<bool(const Uuid&, int32_t)> is_held = [this](const Uuid& topic, int32_t partition) {
    return group_.is_held(topic, partition);
  };
  auto next = reconciled(member(), {.target_epoch = target.epoch,
                                    .target = target.partitions,
                                    .subscribed = subscribed,
                                    .subscription_changed = subscription_changed,
                                    .is_held = is_held,
                                    .reported = std::move(reported)});
  if (!next)
    return std::unexpected(Refusal{ErrorCode::fenced_member_epoch,
                                   "The consumer group member is in a unknown state. The member must abandon "
                                   "all its partitions and rejoin."});
  if (next->state == ConsumerMemberState::unreleased_partitions) expect_releases(*next, target.partitions);
  if (*next == member()) return {};
  next_ = std::move(*next);
  reconciled_ = true;
  records_.push_back(consumer_records::current_assignment(group_.id(), *next_));
  return {};
}

// The first of those who have to give something up: they learn of it, and may answer, when they show
// themselves.
void MemberUpdate::expect_releases(const ConsumerMember& waiting, const TopicPartitions& target) {
  for (const auto& [topic, partitions] : target) {
    const auto owned = waiting.assigned.find(topic);
    for (const int32_t partition : partitions) {
      if (owned != waiting.assigned.end() && owned->second.contains(partition)) continue;
      const ConsumerMember* holder = group_.holder(topic, partition);
      if (holder == nullptr || holder->id == waiting.id) continue;
      Instant expected = group_.heartbeat_expected(holder->id).value_or(now_.instant);
      // It was told already, and answers as soon as it can.
      if (holder->state == ConsumerMemberState::unrevoked_partitions)
        expected -= settings_.heartbeat_interval;
      release_expected_ = release_expected_ ? std::min(*release_expected_, expected) : expected;
    }
  }
}

milliseconds MemberUpdate::until_target_is_due() const {
  const int64_t interval = settings_.assignment_interval.count();
  return milliseconds(group_.assigned_at().value() + interval + 1 - now_.wall.value());
}

milliseconds MemberUpdate::next_heartbeat_in() const {
  const milliseconds usual = settings_.heartbeat_interval;
  // It is the heartbeats that move a group on. Those of members that wait come when there may be something
  // for them.
  milliseconds wait = usual;
  if (target_epoch_ < group_epoch_) wait = std::max(until_target_is_due(), waits_min);
  if (resolve_regexes_) wait = waits_min;
  if (release_expected_) {
    const auto in = std::chrono::duration_cast<milliseconds>(*release_expected_ - now_.instant);
    // Who was expected long ago takes its time, or is dead.
    wait = std::min(wait, in > milliseconds(0) ? in + waits_min : std::clamp(-in / 4, waits_min, waits_max));
  }
  return std::min(wait, usual);
}

std::function<void()> MemberUpdate::timers() {
  const bool watch = reconciled_ && !member().classic;
  if (!watch && !resolve_regexes_) return [] {};
  return [protocol = &protocol_, group = group_.id(), member = member(), now = now_, watch,
          resolve = resolve_regexes_, may_see = may_see_] {
    if (resolve) protocol->set_regex_timer(group, may_see, now);
    if (watch && member.state == ConsumerMemberState::unrevoked_partitions) {
      protocol->set_rebalance_timer(group, member, now);
    } else if (watch) {
      protocol->cancel_rebalance_timer(group, member.id);
    }
  };
}

}  // namespace barnabas::coordinator
