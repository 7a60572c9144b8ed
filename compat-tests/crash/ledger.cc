#include "ledger.h"

namespace barnabas::compat {
namespace {

constexpr std::size_t problems_max = 20;

std::string describe(std::uint32_t producer, std::uint64_t sequence) {
  return "record " + std::to_string(sequence) + " of producer " + std::to_string(producer);
}

}  // namespace

void PartitionLedger::check(std::int64_t offset, std::string_view value) {
  const std::string at = " at offset " + std::to_string(offset);
  if (offset != next_offset_) {
    problem("offset " + std::to_string(offset) + " follows " + std::to_string(next_offset_ - 1));
  }
  next_offset_ = offset + 1;
  ++records_;

  const std::optional<Stamp> stamp = read_payload(value);
  const auto found = stamp ? sent_.find(stamp->producer) : sent_.end();
  if (found == sent_.end() || stamp->sequence >= found->second.fates->size()) {
    problem("damaged or foreign record of " + std::to_string(value.size()) + " bytes" + at);
    return;
  }
  Entry& entry = found->second;
  if (stamp->sequence < entry.next) {
    problem(describe(stamp->producer, stamp->sequence) + " again or out of order" + at);
    return;
  }
  skip_to(stamp->producer, entry, stamp->sequence);
  const Fate fate = (*entry.fates)[stamp->sequence];
  entry.next = stamp->sequence + 1;
  if (fate == not_acknowledged) {
    ++found_unacknowledged_;
    return;
  }
  ++acknowledged_;
  if (fate != acknowledged_somewhere && fate != offset) {
    problem(describe(stamp->producer, stamp->sequence) + " acknowledged at " + std::to_string(fate) + " but" +
            at);
  }
}

void PartitionLedger::finish() {
  for (auto& [producer, entry] : sent_) {
    skip_to(producer, entry, entry.fates->size());
  }
}

// Records between the last one seen and this one are not in the log: none may have been acknowledged.
void PartitionLedger::skip_to(std::uint32_t producer, Entry& entry, std::uint64_t sequence) {
  for (; entry.next < sequence; ++entry.next) {
    if ((*entry.fates)[entry.next] != not_acknowledged) {
      ++acknowledged_;
      problem(describe(producer, entry.next) + " was acknowledged (offset " +
              std::to_string((*entry.fates)[entry.next]) + ") and is lost");
    }
  }
}

void PartitionLedger::problem(const std::string& what) {
  if (problems_.size() < problems_max) {
    problems_.push_back(name_ + ": " + what);
  }
}

}  // namespace barnabas::compat
