#include "storage/periodic_schedule.h"

#include <algorithm>

namespace barnabas::storage {

Instant PeriodicSchedule::after(Instant begin, std::chrono::milliseconds interval) {
  const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(Instant::max() - begin);
  return interval >= left ? Instant::max() : begin + interval;
}

void PeriodicSchedule::add(PeriodicJob job, std::chrono::milliseconds interval, Instant begin) {
  entries_.push_back({job, interval, after(begin, interval)});
}

std::vector<PeriodicJob> PeriodicSchedule::take_due(Instant now) {
  std::vector<PeriodicJob> due;
  for (Entry& entry : entries_) {
    if (entry.next > now) continue;
    due.push_back(entry.job);
    entry.next = after(now, entry.interval);
  }
  return due;
}

Instant PeriodicSchedule::next() const {
  Instant earliest = Instant::max();
  for (const Entry& entry : entries_) earliest = std::min(earliest, entry.next);
  return earliest;
}

}  // namespace barnabas::storage
