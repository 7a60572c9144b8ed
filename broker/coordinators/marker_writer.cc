#include "broker/coordinators/marker_writer.h"

#include <atomic>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "broker/error_map.h"
#include "broker/partition.h"
#include "protocol/records/transaction_marker.h"

namespace barnabas::broker {

using protocol::ErrorCode;

namespace {

/// As long as Kafka's brokers wait for each other (request.timeout.ms).
constexpr std::chrono::seconds durable_timeout{30};

/// What became of the markers of one transaction; whoever brings the last result tells.
class Outcome {
 public:
  Outcome(MarkerWriter::Results results, MarkerWriter::Done done)
      : results_(std::move(results)), missing_(results_.size() + 1), done_(std::move(done)) {}

  const std::string& topic(std::size_t at) const { return results_[at].topic; }
  int32_t partition(std::size_t at) const { return results_[at].partition; }
  void put(std::size_t at, ErrorCode error) {
    results_[at].error = error;
    finish_one();
  }
  /// One more for the writer itself, so that nothing is told before all are asked.
  void finish_one() {
    if (missing_.fetch_sub(1, std::memory_order_acq_rel) == 1) done_(std::move(results_));
  }

 private:
  MarkerWriter::Results results_;
  std::atomic<std::size_t> missing_;
  MarkerWriter::Done done_;
};

/// Transaction coordinators know nothing of group coordinators.
ErrorCode group_marker_error(ErrorCode error) {
  switch (error) {
    case ErrorCode::coordinator_not_available:
    case ErrorCode::coordinator_load_in_progress:
    case ErrorCode::not_coordinator:
      return ErrorCode::not_leader_or_follower;
    default:
      return error;
  }
}

void append(Partition& partition, const protocol::TransactionMarker& marker,
            const std::shared_ptr<Outcome>& outcome, std::size_t at) {
  const auto appended = partition.append_marker(marker, wall_clock_now());
  if (!appended) return outcome->put(at, error_code_of(appended.error().kind));
  if (!partition.flush_before_ack()) return outcome->put(at, ErrorCode::none);
  partition.when_durable(appended->last_offset + 1, std::chrono::steady_clock::now() + durable_timeout,
                         [outcome, at](const Result<void>& durable) {
                           outcome->put(at, durable ? ErrorCode::none : error_code_of(durable.error().kind));
                         });
}

}  // namespace

void MarkerWriter::write(const coordinator::TransactionMarkers& markers, Done done) {
  const protocol::TransactionMarker marker{.producer_id = markers.producer_id,
                                           .producer_epoch = markers.producer_epoch,
                                           .committed = markers.committed,
                                           .coordinator_epoch = markers.coordinator_epoch,
                                           .transaction_version = markers.transaction_version};
  Results results;
  for (const auto& [topic, indexes] : markers.partitions)
    for (const int32_t index : indexes) results.push_back({.topic = topic, .partition = index});
  const std::size_t count = results.size();
  const auto outcome = std::make_shared<Outcome>(std::move(results), std::move(done));
  for (std::size_t i = 0; i < count; ++i) {
    const std::string& topic = outcome->topic(i);
    const PartitionIndex index{outcome->partition(i)};
    const auto found = replicas_.find(topic, index);
    if (found.partition == nullptr) {
      outcome->put(i, found.error);
    } else if (topic == groups_.topic().name()) {
      groups_.write_marker(index, marker,
                           [outcome, i](ErrorCode error) { outcome->put(i, group_marker_error(error)); });
    } else {
      append(*found.partition, marker, outcome, i);
    }
  }
  outcome->finish_one();
}

}  // namespace barnabas::broker
