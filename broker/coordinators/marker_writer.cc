#include "broker/coordinators/marker_writer.h"

#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/clock.h"
#include "broker/error_map.h"
#include "broker/joined_parts.h"
#include "broker/partition.h"
#include "protocol/records/transaction_marker.h"

namespace barnabas::broker {

using protocol::ErrorCode;

namespace {

/// As long as Kafka's brokers wait for each other (request.timeout.ms).
constexpr std::chrono::seconds durable_timeout{30};

/// What became of the markers of one transaction.
class Outcome : public JoinedParts<coordinator::MarkerResult> {
 public:
  using JoinedParts::JoinedParts;

  void put(std::size_t index, ErrorCode error) {
    at(index).error = error;
    finish_one();
  }
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
    const std::string& topic = outcome->at(i).topic;
    const PartitionIndex index{outcome->at(i).partition};
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
