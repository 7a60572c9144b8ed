#include "sim/invariants.h"

#include <algorithm>

namespace barnabas::sim {
namespace {

std::string text(const PartitionName& name) {
  return name.first + "-" + std::to_string(name.second);
}
std::string text(const Attempt& attempt) {
  return "transaction " + std::to_string(attempt.number) + " of " + attempt.transactional_id + ", instance " +
         std::to_string(attempt.instance);
}
bool holds_offsets(const PartitionName& name) {
  return name.first != "t";
}

}  // namespace

Invariants::Broken Invariants::after_event() {
  for (auto& [name, partition] : broker_.partitions())
    if (auto broken = look_at(name, partition, seen_[name])) return text(name) + ": " + *broken;
  return std::nullopt;
}

Invariants::Broken Invariants::look_at(const PartitionName& name, SimulatedPartition& partition, Seen& seen) {
  const int64_t last_stable = partition.last_stable().value();
  if (last_stable < seen.last_stable)
    return "the last stable offset went back from " + std::to_string(seen.last_stable) + " to " +
           std::to_string(last_stable);
  seen.last_stable = last_stable;
  // Only what is durable counts: the rest may be lost, and is shown to nobody.
  for (; seen.batches < partition.durable(); ++seen.batches)
    if (auto broken = take(name, partition.log()[seen.batches], seen))
      return "offset " + std::to_string(seen.batches) + ": " + *broken;
  for (const auto& [id, number] : history_.last_number) {
    if (!holds_offsets(name) || !partition.is_durable()) continue;
    int64_t& before = seen.committed_numbers[id];
    const int64_t now = partition.committed_number(id);
    if (now < before) return "the committed offset of " + id + " was rolled back";
    before = now;
  }
  return std::nullopt;
}

Invariants::Broken Invariants::take(const PartitionName& name, const SimulatedBatch& batch, Seen& seen) {
  const auto& header = batch.header;
  Attempt*& open = seen.open[header.producer_id];
  if (header.is_control()) {
    if (open != nullptr) ++(batch.marker.abort ? ends_[open].aborted : ends_[open].committed);
    open = nullptr;
    return std::nullopt;
  }
  Attempt& attempt = *batch.attempt;
  if (open != nullptr && open != &attempt) return text(attempt) + " runs into " + text(*open);
  open = &attempt;
  ends_[&attempt].written[name].insert(header.base_sequence);
  if (holds_offsets(name)) return std::nullopt;
  auto [last, is_new] =
      seen.sequences.try_emplace({header.producer_id, header.producer_epoch}, header.base_sequence - 1);
  if (header.base_sequence != last->second + 1)
    return text(attempt) + ": sequence " + std::to_string(header.base_sequence) + " behind " +
           std::to_string(last->second);
  last->second = header.base_sequence;
  return std::nullopt;
}

Invariants::Broken Invariants::check_attempt(const Attempt& attempt, const Ends& ends) const {
  using Outcome = Attempt::Outcome;
  if (ends.committed != 0 && ends.aborted != 0) return "is committed here and aborted there";
  if (ends.committed + ends.aborted != static_cast<int>(ends.written.size()))
    return "is open, or ended twice";
  if (ends.committed != 0 && !attempt.asked_to_commit) return "is committed, though nobody asked";
  if (ends.committed != 0 && attempt.told == Outcome::aborted)
    return "is committed, and was told to be aborted";
  if (ends.aborted != 0 && attempt.told == Outcome::committed)
    return "is aborted, and was told to be committed";
  const bool must_be_whole = ends.committed != 0 || attempt.told == Outcome::committed;
  for (const auto& [name, sequences] : attempt.acknowledged) {
    if (!must_be_whole) break;
    const auto written = ends.written.find(name);
    if (written == ends.written.end() || !std::ranges::includes(written->second, sequences))
      return "is committed without what was acknowledged in " + text(name);
  }
  return std::nullopt;
}

Invariants::Broken Invariants::at_the_end() {
  for (auto& [name, partition] : broker_.partitions())
    if (partition.last_stable() != partition.end())
      return text(name) + ": a transaction hangs from offset " +
             std::to_string(partition.last_stable().value());
  std::map<std::string, int64_t> last_committed;
  for (const Attempt& attempt : history_.attempts) {
    const Ends& ends = ends_[&attempt];
    if (auto broken = check_attempt(attempt, ends)) return text(attempt) + " " + *broken;
    const bool has_offsets =
        std::ranges::any_of(ends.written, [](const auto& one) { return holds_offsets(one.first); });
    if (ends.committed != 0 && has_offsets) {
      int64_t& last = last_committed[attempt.transactional_id];
      last = std::max(last, attempt.number);
    }
  }
  for (const auto& [id, number] : last_committed)
    if (broker_.partitions().at({"__consumer_offsets", 0}).committed_number(id) != number)
      return "the committed offset of " + id + " is not that of its last transaction";
  return std::nullopt;
}

}  // namespace barnabas::sim
