#include <utility>

#include "coordinator/transaction_request.h"
#include "coordinator/transaction_shard.h"
#include "coordinator/transaction_turn.h"

/// How requests take their turns, and wait for outcomes that are being carried out.
namespace barnabas::coordinator {

using protocol::ErrorCode;

namespace {

/// About as long as clients wait before they ask again.
constexpr std::chrono::milliseconds hold_time(100);
/// Who comes when so many wait is told at once to ask again.
constexpr std::size_t held_max = 10'000;
constexpr std::string_view overdue_timer = "held requests";

}  // namespace

Decision TransactionShard::serve(std::unique_ptr<TransactionRequest> request, const Now& now,
                                 std::optional<ProducerId> new_producer_id) {
  TransactionTurn turn = begin(request->transactional_id(), now);
  if (new_producer_id) turn.give_new_producer_id(*new_producer_id);
  attempt(turn, std::move(request));
  return finish(std::move(turn));
}

TransactionTurn TransactionShard::begin(std::string_view transactional_id, const Now& now) {
  return {environment_, std::string(transactional_id), find(transactional_id), now, ++last_turn_};
}

void TransactionShard::attempt(TransactionTurn& turn, std::unique_ptr<TransactionRequest> request,
                               std::optional<Instant> until) {
  switch (request->attempt(turn)) {
    case TransactionRequest::Progress::done:
      return;
    case TransactionRequest::Progress::needs_producer_id:
      return ask_for_producer_id(std::move(request));
    case TransactionRequest::Progress::waits:
      return hold(turn, std::move(request), until);
  }
}

Decision TransactionShard::finish(TransactionTurn turn) {
  std::vector<TransactionTurn> turns;
  turns.push_back(std::move(turn));
  return finish(std::move(turns));
}

Decision TransactionShard::finish(std::vector<TransactionTurn> turns) {
  Decision decision;
  decision.replay = false;
  for (auto& turn : turns) {
    Decision of_turn = turn.take_decision();
    decision.append(std::move(of_turn.records));
    std::ranges::move(of_turn.replies, std::back_inserter(decision.replies));
  }
  if (decision.records.empty()) return decision;
  decision.appended = [this, turns = std::move(turns)]() mutable {
    for (auto& turn : turns) {
      if (!turn.has_changed()) continue;
      const std::string& transactional_id = turn.transactional_id();
      Entry& entry = keep(transactional_id, *turn.take_transaction());
      entry.markers = turn.number();
    }
  };
  return decision;
}

void TransactionShard::ask_for_producer_id(std::unique_ptr<TransactionRequest> request) {
  const std::string transactional_id = request->transactional_id();
  // One of the two closures takes it.
  auto asking = std::make_shared<std::unique_ptr<TransactionRequest>>(std::move(request));
  environment_.effects.next_producer_id(
      transactional_id,
      [asking](TransactionShard& shard, ProducerId id, ErrorCode error, const Now& now) {
        if (error != ErrorCode::none) return Decision::answer((*asking)->refused(error));
        return shard.serve(std::move(*asking), now, id);
      },
      [asking](ErrorCode error) { (*asking)->refused(error)(ErrorCode::none); });
}

void TransactionShard::hold(TransactionTurn& turn, std::unique_ptr<TransactionRequest> request,
                            std::optional<Instant> until) {
  if (held_count_ >= held_max) return turn.answer(request->refused(ErrorCode::concurrent_transactions));
  if (!until) {
    until = turn.now().instant + hold_time;
    held_deadlines_.push_back({*until, turn.transactional_id()});
    if (!environment_.timers.is_set(overdue_timer))
      environment_.timers.set(overdue_timer, *until, [this](const Now& now) { return refuse_overdue(now); });
  }
  held_[turn.transactional_id()].push_back({*until, std::move(request)});
  ++held_count_;
}

void TransactionShard::release_held(TransactionTurn& turn) {
  const auto found = held_.find(turn.transactional_id());
  if (found == held_.end()) return;
  std::deque<Held> released = std::move(found->second);
  held_.erase(found);
  held_count_ -= released.size();
  // Once one of them ends the next transaction, those behind it wait again.
  for (auto& held : released) attempt(turn, std::move(held.request), held.until);
}

Decision TransactionShard::refuse_overdue(const Now& now) {
  Decision decision;
  while (!held_deadlines_.empty() && held_deadlines_.front().at <= now.instant) {
    const auto found = held_.find(held_deadlines_.front().transactional_id);
    held_deadlines_.pop_front();
    if (found == held_.end()) continue;
    auto& waiting = found->second;
    while (!waiting.empty() && waiting.front().until <= now.instant) {
      decision.replies.push_back(waiting.front().request->refused(ErrorCode::concurrent_transactions));
      waiting.pop_front();
      --held_count_;
    }
    if (waiting.empty()) held_.erase(found);
  }
  if (!held_deadlines_.empty())
    environment_.timers.set(overdue_timer, held_deadlines_.front().at,
                            [this](const Now& at) { return refuse_overdue(at); });
  return decision;
}

}  // namespace barnabas::coordinator
