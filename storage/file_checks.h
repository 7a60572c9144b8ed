#pragma once

// Checks of a partition's files against each other, as Kafka's dump-log makes them; for tests.

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "io/fake_disk.h"
#include "protocol/records/record_batch.h"
#include "storage/sorted_index.h"

namespace barnabas::storage::test {

struct SegmentBatches {
  std::map<uint64_t, protocol::RecordBatchHeader> by_position;
  std::map<Offset, TimestampMs> max_timestamp_up_to;  ///< by last offset
};

inline SegmentBatches read_batches(const std::string& content) {
  SegmentBatches batches;
  TimestampMs max = no_timestamp;
  protocol::BatchIterator iterator(as_byte_view(content));
  while (iterator.next() == protocol::BatchIterator::Step::batch) {
    const auto header = iterator.batch().header();
    max = std::max(max, header.max_timestamp);
    batches.by_position.emplace(iterator.position(), header);
    batches.max_timestamp_up_to.emplace(header.last_offset(), max);
  }
  EXPECT_EQ(iterator.remaining().size(), 0u);
  return batches;
}

template <class Entry>
std::vector<Entry> entries_of(const std::string& content) {
  EXPECT_EQ(content.size() % Entry::size_bytes, 0u);
  std::vector<Entry> entries;
  for (std::size_t at = 0; at + Entry::size_bytes <= content.size(); at += Entry::size_bytes)
    entries.push_back(Entry::load(as_byte_view(content).data() + at));
  return entries;
}

/// Every index entry leads to a batch that it describes, and both indexes ascend.
inline void check_indexes(const io::FakeDisk& disk, const std::string& directory) {
  for (const std::string& path : disk.all_files()) {
    if (!path.starts_with(directory + "/") || !path.ends_with(".log")) continue;
    const std::string stem = path.substr(0, path.size() - 4);
    const Offset base(std::stoll(stem.substr(stem.rfind('/') + 1)));
    const SegmentBatches batches = read_batches(*disk.content(path));
    SCOPED_TRACE(path);
    int64_t last_offset = -1, last_position = -1;
    for (const auto& entry : entries_of<OffsetIndexEntry>(disk.content(stem + ".index").value_or(""))) {
      EXPECT_GT(entry.relative_offset, last_offset);
      EXPECT_GT(entry.position, last_position);
      last_offset = entry.relative_offset;
      last_position = entry.position;
      const auto found = batches.by_position.find(static_cast<uint64_t>(entry.position));
      ASSERT_NE(found, batches.by_position.end()) << "position " << entry.position;
      EXPECT_EQ(found->second.last_offset(), base + entry.relative_offset);
    }
    TimestampMs last_time = no_timestamp;
    for (const auto& entry : entries_of<TimeIndexEntry>(disk.content(stem + ".timeindex").value_or(""))) {
      EXPECT_GT(entry.timestamp, last_time);
      last_time = entry.timestamp;
      const auto found = batches.max_timestamp_up_to.find(base + entry.relative_offset);
      ASSERT_NE(found, batches.max_timestamp_up_to.end()) << "offset " << entry.relative_offset;
      EXPECT_EQ(found->second, entry.timestamp);
    }
  }
}

}  // namespace barnabas::storage::test
