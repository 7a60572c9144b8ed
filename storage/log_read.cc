#include <algorithm>

#include "storage/log_state.h"
#include "storage/transaction_index.h"

namespace barnabas::storage {
namespace {

/// What a read needs to know, as it was at one moment.
struct ReadPlan {
  std::shared_ptr<LogSegment> segment;
  Offset segment_end;             ///< where the next segment begins, or the log end
  uint64_t size = 0;              ///< of the segment
  std::optional<uint64_t> from;   ///< position of the batch to begin with, if known
  std::optional<uint64_t> limit;  ///< position of the first batch that is not below the bound, if known
  uint64_t generation = 0;
};

// With mutex held; `from` lies in the log and below `upper_bound`, that is not above the log end.
ReadPlan plan_read(const LogState& log, Offset from, Offset upper_bound) {
  ReadPlan plan;
  const std::size_t index = log.segment_index(from);
  plan.segment = log.segments[index];
  const bool is_active = index + 1 == log.segments.size();
  plan.segment_end = is_active ? log.log_end.load() : log.segments[index + 1]->base_offset();
  plan.size = plan.segment->size();
  plan.generation = log.generation;
  const Offset base = plan.segment->base_offset();
  plan.from = from <= base ? std::optional<uint64_t>(0) : log.known_positions.find(from, base);
  plan.limit = upper_bound >= plan.segment_end ? plan.size : log.known_positions.find(upper_bound, base);
  return plan;
}

struct Cut {
  uint64_t end = 0;
  Offset next_offset;
  bool first_does_not_fit = false;
};

// Where to stop when not all of [from, limit) fits: behind the last whole batch that does.
Result<Cut> cut_at_batch(LogSegment& segment, io::File& file, uint64_t from, uint64_t limit,
                         uint64_t max_bytes, bool at_least_one_batch, Offset limit_offset) {
  BARNABAS_ASSIGN(LogSegment::BatchStart near, segment.batch_start_before(from + max_bytes));
  if (near.position <= from) near = {.position = from, .last_offset = {}};
  std::optional<HeaderScanner> scanner(std::in_place, file, near.position, limit);
  while (true) {
    auto found = scanner->next();
    if (!near.fits(found)) {  // a damaged index: do without
      BARNABAS_TRY(segment.rebuild_indexes(default_index_interval_bytes));
      near.last_offset.reset();
      scanner.emplace(file, from, limit);
      continue;
    }
    near.last_offset.reset();
    BARNABAS_ASSIGN(const std::optional<BatchAt> batch, std::move(found));
    if (!batch) return Cut{limit, limit_offset};
    if (batch->end() - from <= max_bytes) continue;
    if (batch->position > from) return Cut{batch->position, batch->header.base_offset};
    if (at_least_one_batch) return Cut{batch->end(), batch->header.next_offset()};
    return Cut{from, batch->header.base_offset, true};
  }
}

std::unexpected<Error> outside(const LogState& log, Offset asked) {
  return fail(ErrorKind::out_of_range, "offset " + std::to_string(asked.value()) + ", the log has " +
                                           std::to_string(log.log_start.load().value()) + " to " +
                                           std::to_string(log.log_end.load().value()));
}

Result<ReadResult> read_log(LogState& log, Offset from, uint64_t max_bytes, Offset upper_bound,
                            bool at_least_one_batch) {
  const Offset asked = from;
  while (true) {
    ReadPlan plan;
    {
      std::lock_guard lock(log.mutex);
      const Offset start = log.log_start.load(), end = log.log_end.load();
      if (asked < start || asked > end) return outside(log, asked);
      upper_bound = std::min(upper_bound, end);
      if (from >= upper_bound) return ReadResult{.slice = {}, .next_offset = from};
      plan = plan_read(log, from, upper_bound);
    }
    LogSegment& segment = *plan.segment;
    if (!plan.from) {
      BARNABAS_ASSIGN(const auto batch, segment.find_batch(from, plan.size));
      if (!batch) {  // a gap up to the end of the segment
        if (plan.segment_end <= from) return ReadResult{.slice = {}, .next_offset = from};
        from = plan.segment_end;
        continue;
      }
      plan.from = batch->position;
    }
    if (!plan.limit) {
      BARNABAS_ASSIGN(const auto batch, segment.find_batch(upper_bound, plan.size));
      plan.limit = batch ? batch->position : plan.size;
    }
    if (*plan.limit <= *plan.from) {
      if (upper_bound <= plan.segment_end || *plan.from < plan.size)
        return ReadResult{.slice = {}, .next_offset = from};
      from = plan.segment_end;  // an empty segment
      continue;
    }
    BARNABAS_ASSIGN(std::shared_ptr<io::File> file, segment.file());
    Cut cut{*plan.limit, std::min(upper_bound, plan.segment_end)};
    if (*plan.limit - *plan.from > max_bytes) {
      BARNABAS_ASSIGN(cut, cut_at_batch(segment, *file, *plan.from, *plan.limit, max_bytes,
                                        at_least_one_batch, cut.next_offset));
    }
    {
      std::lock_guard lock(log.mutex);
      if (log.generation == plan.generation)
        log.known_positions.add(cut.next_offset, segment.base_offset(), cut.end);
    }
    return ReadResult{.slice = {std::move(file), *plan.from, cut.end - *plan.from},
                      .next_offset = cut.next_offset,
                      .first_batch_incomplete = cut.first_does_not_fit};
  }
}

Result<std::vector<AbortedTransaction>> read_aborted_transactions(LogState& log, Offset from,
                                                                  Offset upper_bound) {
  std::vector<std::shared_ptr<LogSegment>> segments;
  {
    std::lock_guard lock(log.mutex);
    for (std::size_t i = log.segment_index(from); i < log.segments.size(); ++i)
      if (log.segments[i]->may_have_aborted()) segments.push_back(log.segments[i]);
  }
  std::vector<AbortedTransaction> found;
  for (const auto& segment : segments) {
    BARNABAS_ASSIGN(const transaction_index::Found here, segment->aborted_transactions(from, upper_bound));
    found.insert(found.end(), here.transactions.begin(), here.transactions.end());
    if (here.complete) break;
  }
  return found;
}

}  // namespace

Result<ReadResult> Log::read(Offset from, uint64_t max_bytes, Offset upper_bound, bool at_least_one_batch) {
  auto result = state_->with_steady_segments(
      [&] { return read_log(*state_, from, max_bytes, upper_bound, at_least_one_batch); });
  // The segment was found, and then deleted and removed before its file could be opened.
  if (!result && result.error().kind == ErrorKind::not_found && from < state_->log_start.load())
    return outside(*state_, from);
  return result;
}

Result<std::vector<AbortedTransaction>> aborted_transactions(LogState& log, Offset from, Offset upper_bound) {
  return log.with_steady_segments([&] { return read_aborted_transactions(log, from, upper_bound); });
}

Result<std::vector<AbortedTransaction>> Log::aborted_transactions(Offset from, Offset upper_bound) {
  return storage::aborted_transactions(*state_, from, upper_bound);
}

}  // namespace barnabas::storage
