#include <algorithm>

#include "base/log.h"
#include "coordinator/classic_answers.h"
#include "coordinator/classic_protocol.h"

namespace barnabas::coordinator {

using protocol::ErrorCode;
using std::chrono::milliseconds;

namespace {
constinit Logger log_{"coordinator"};
}  // namespace

void ClassicProtocol::begin_rebalance(ClassicGroup& group, const Now& now, Decision& decision) {
  prepare_rebalance({group, now, decision});
}

// Something changed: a group that is settled, or about to be, begins again; one in which members are joining
// already may now be complete.
void ClassicProtocol::rebalance_or_complete(const Turn& turn) {
  if (turn.group.is_in(ClassicState::preparing_rebalance)) {
    complete_join_if_all_there(turn);
  } else {
    prepare_rebalance(turn);
  }
}

void ClassicProtocol::prepare_rebalance(const Turn& turn) {
  ClassicGroup& group = turn.group;
  if (group.is_in(ClassicState::completing_rebalance)) refuse_syncs(turn, ErrorCode::rebalance_in_progress);
  group.expect_no_sync();
  environment_.timers.cancel(sync_timer(group));
  log_.debug("group rebalances group={} generation={} state={} members={}", log_text(group.id()),
             group.generation(), group.state_name(), group.members().size());
  if (group.is_empty()) {
    // The others of a deployment will follow soon. One generation for all is cheaper than one for each.
    const milliseconds delay = environment_.settings.initial_rebalance_delay;
    group.last_newcomer_at = turn.now.instant;
    delay_first_rebalance(turn, turn.now.instant + std::max(group.rebalance_timeout(), delay));
    group.enter(ClassicState::preparing_rebalance, turn.now.wall);
    return;
  }
  group.enter(ClassicState::preparing_rebalance, turn.now.wall);
  if (group.all_joined()) {
    complete_join(turn);
  } else {
    await_joins(turn);
  }
}

// Until nobody has come for as long as the delay, or the group has waited for its rebalance timeout. (Kafka
// looks only once in each delay, and so has a group of which all came at once wait for two.)
void ClassicProtocol::delay_first_rebalance(const Turn& turn, Instant latest) {
  const auto end = [this, latest](const ClassicGroup& group) {
    return std::min(group.last_newcomer_at + environment_.settings.initial_rebalance_delay, latest);
  };
  set_timer(join_timer(turn.group), end(turn.group), turn.group.id(), [this, end, latest](const Turn& due) {
    if (!due.group.is_in(ClassicState::preparing_rebalance)) return;
    if (due.now.instant < end(due.group)) return delay_first_rebalance(due, latest);
    complete_join(due);
  });
}

void ClassicProtocol::await_joins(const Turn& turn) {
  set_timer(join_timer(turn.group), turn.now.instant + turn.group.rebalance_timeout(), turn.group.id(),
            [this](const Turn& due) {
              if (due.group.is_in(ClassicState::preparing_rebalance)) complete_join(due);
            });
}

// A first rebalance waits out its delay: everybody who is known having come says nothing about the others.
void ClassicProtocol::complete_join_if_all_there(const Turn& turn) {
  const ClassicGroup& group = turn.group;
  if (group.is_in(ClassicState::preparing_rebalance) && group.previous_state() != ClassicState::empty &&
      group.all_joined())
    complete_join(turn);
}

// Members that have not come lose their place, but for static ones: their restart may take a session's time.
void ClassicProtocol::complete_join(const Turn& turn) {
  ClassicGroup& group = turn.group;
  environment_.timers.cancel(join_timer(group));
  std::vector<std::string> absent;
  for (const auto& [id, member] : group.members())
    if (!member.is_joining() && !member.is_static()) absent.push_back(id);
  for (const std::string& id : absent) drop_member(turn, id);

  if (!group.elect_joined_leader() && !group.members().empty()) {
    // Nobody came, so nobody can share out. The sessions of those that are left will end.
    await_joins(turn);
    return;
  }
  group.begin_generation(turn.now.wall);
  log_.debug("generation begins group={} generation={} members={} leader={}", log_text(group.id()),
             group.generation(), group.members().size(), log_text(group.leader().value_or("")));
  if (group.is_empty()) {
    turn.decision.records.push_back(group.record());
    turn.decision.replay = false;
  } else {
    answer_joins(turn);
  }
}

void ClassicProtocol::answer_joins(const Turn& turn) {
  ClassicGroup& group = turn.group;
  for (const auto& [id, listed] : group.members()) {
    ClassicMember& member = *group.find_member(id);
    if (member.is_joining())
      turn.decision.replies.push_back(
          group.take_join(member).with(joined(group, member, group.is_leader(id))));
    member.is_new = false;
    expect_heartbeat(turn, member, member.session_timeout);
    group.expect_sync(id);
  }
  set_timer(sync_timer(group), turn.now.instant + group.rebalance_timeout(), group.id(),
            [this, generation = group.generation()](const Turn& due) {
              if (due.group.generation() == generation) sync_due(due);
            });
}

// Whoever has not fetched its share by now is gone.
void ClassicProtocol::sync_due(const Turn& turn) {
  ClassicGroup& group = turn.group;
  const std::vector<std::string> absent(group.unsynced().begin(), group.unsynced().end());
  if (absent.empty()) return;
  if (!group.is_in(ClassicState::completing_rebalance) && !group.is_in(ClassicState::stable)) return;
  for (const std::string& id : absent) drop_member(turn, id);
  prepare_rebalance(turn);
}

void ClassicProtocol::refuse_syncs(const Turn& turn, ErrorCode error) {
  turn.group.empty_assignments();
  for (const auto& [id, listed] : turn.group.members())
    if (listed.is_syncing()) answer_sync(turn, *turn.group.find_member(id), sync_refused(error));
}

void ClassicProtocol::answer_sync(const Turn& turn, ClassicMember& member,
                                  protocol::SyncGroupResponse response) {
  turn.decision.replies.push_back(std::exchange(member.sync, {}).with(std::move(response)));
  expect_heartbeat(turn, member, member.session_timeout);
}

// If it still lives it will learn that it is no member any more, and join as a new one.
void ClassicProtocol::drop_member(const Turn& turn, std::string_view id) {
  ClassicGroup& group = turn.group;
  cancel_member_timer(group, id);
  std::optional<ClassicMember> member = group.remove(id);
  if (!member) return;
  log_.debug("member is gone group={} member={} state={}", log_text(group.id()), log_text(member->id),
             group.state_name());
  if (member->join)
    turn.decision.replies.push_back(member->join.with(join_refused(ErrorCode::unknown_member_id, "")));
  if (member->sync)
    turn.decision.replies.push_back(member->sync.with(sync_refused(ErrorCode::unknown_member_id)));
}

}  // namespace barnabas::coordinator
