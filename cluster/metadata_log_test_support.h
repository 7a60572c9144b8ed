#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "cluster/local_quorum.h"
#include "io/fake_disk.h"
#include "metadata/image_writer.h"
#include "metadata/metadata_test_support.h"

/// A metadata log with a random history, small enough that everything happens often: rolls, snapshots,
/// transactions.
namespace barnabas::cluster::testing {

inline const std::string metadata_path = "/data/__cluster_metadata-0";

/// Everything that the image says, less what each start writes anew.
inline std::string state_of(const metadata::MetadataImage& image) {
  constexpr std::byte register_controller{27};
  std::string text;
  const auto records = metadata::records_of(image);
  for (std::size_t i = 0; i < records.size(); ++i) {
    if (records[i][1] == register_controller) continue;
    text += std::to_string(records[i].size()) + ":";
    text += as_text(records[i]);
  }
  return text;
}

inline LocalQuorumOptions small_quorum() {
  LocalQuorumOptions options;
  options.log_directory = "/data";
  options.cluster_id = "cluster";
  options.node_id = NodeId{1};
  options.directory_id = metadata::testing::id(7);
  options.log.batch_bytes = 700;
  options.log.segment_bytes = 2500;
  options.log.snapshot_bytes = 2000;
  options.log.retention_bytes = 6000;
  return options;
}

/// One run after the other on a disk that may fail at any call. What was acknowledged is `acknowledged`, what
/// a commit that is under way would make `pending`.
class History {
 public:
  History(io::FakeDisk& disk, uint64_t seed) : disk_(disk), random_(seed) {}

  /// False once a call has failed for good: the run is over.
  bool start(bool clean) {
    options.clean = clean;
    auto opened = LocalQuorum::open(disk_, files_, options, now());
    if (!opened) {
      error = opened.error().message;
      return false;
    }
    quorum_ = std::move(*opened);
    pending = acknowledged = state_of(*quorum_->image());
    topics_.clear();
    for (const auto& topic : quorum_->image()->topics_by_name) topics_.push_back(topic->id);
    return true;
  }
  bool step() {
    const auto changes = 1 + random_.below(3);
    for (uint64_t i = 0; i < changes; ++i) {
      const auto records = change();
      if (!quorum_->fits(records) && !commit()) return false;
      if (!quorum_->append(records, now())) return false;
    }
    if (!commit()) return false;
    if (quorum_->snapshot_due() || (unasked_snapshots && random_.below(12) == 0)) {
      const auto written = quorum_->write_snapshot(now());
      if (!written && written.error().kind != ErrorKind::no_space) return false;
    }
    if (random_.below(8) == 0) {
      if (auto written = quorum_->write_state(); !written && written.error().kind != ErrorKind::no_space)
        return false;
    }
    return true;
  }
  bool stop() {
    const auto closed = quorum_->close_clean(now());
    quorum_.reset();
    return closed.has_value();
  }
  void crash() { quorum_.reset(); }
  const LocalQuorum& quorum() const { return *quorum_; }

  LocalQuorumOptions options = small_quorum();
  bool unasked_snapshots = true;
  std::string acknowledged;
  std::string pending;
  std::string error;
  uint64_t refused = 0;

 private:
  TimestampMs now() { return TimestampMs{++clock_ * 1000}; }

  bool commit() {
    pending = state_of(*quorum_->image());
    const auto committed = quorum_->commit(now());
    if (committed) {
      acknowledged = pending;
      return true;
    }
    if (committed.error().kind != ErrorKind::no_space && committed.error().kind != ErrorKind::too_large)
      return false;
    ++refused;
    EXPECT_EQ(state_of(*quorum_->image()), acknowledged) << "a change that was refused has never been";
    pending = acknowledged;
    topics_.clear();
    for (const auto& topic : quorum_->image()->topics_by_name) topics_.push_back(topic->id);
    return true;
  }

  metadata::RecordList change() {
    metadata::RecordList records;
    const auto kind = random_.below(10);
    if (kind < 5 || topics_.empty()) {
      Uuid id;
      for (auto& byte : id.bytes) byte = std::byte(random_.below(256));
      records.add(metadata::testing::topic(
          "t" + std::to_string(++names_) + "." + std::to_string(random_.below(1000)), id));
      // Now and then more than one batch holds.
      const auto count = random_.below(6) == 0 ? 20 + random_.below(20) : 1 + random_.below(3);
      for (uint64_t i = 0; i < count; ++i)
        records.add(metadata::testing::partition(id, static_cast<int32_t>(i)), 2);
      topics_.push_back(id);
    } else if (kind < 8) {
      const auto at = random_.below(topics_.size());
      protocol::RemoveTopicRecord removal;
      removal.topic_id = topics_[at];
      records.add(removal);
      topics_.erase(topics_.begin() + static_cast<std::ptrdiff_t>(at));
    } else if (kind == 8) {
      const std::string value = std::to_string(random_.below(1'000'000));
      records.add(
          metadata::testing::config(metadata::ConfigResourceType::broker, "", "log.retention.ms", value));
    } else {
      protocol::ProducerIdsRecord ids;
      ids.next_producer_id = static_cast<int64_t>(random_.below(1'000'000));
      records.add(ids);
    }
    return records;
  }

  io::FakeDisk& disk_;
  SeededRandom random_;
  storage::FilePool files_{disk_, 16};
  std::unique_ptr<LocalQuorum> quorum_;
  std::vector<Uuid> topics_;
  int64_t clock_ = 0;
  int names_ = 0;
};

}  // namespace barnabas::cluster::testing
