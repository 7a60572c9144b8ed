#pragma once

#include <cstdint>
#include <memory>

#include "broker/fetch_session.h"
#include "broker/replica_manager.h"
#include "protocol/error_code.h"
#include "protocol/messages/fetch_response.h"

namespace barnabas::broker {

/// What bounds the answer of one fetch.
struct FetchLimits {
  int64_t max_bytes = 0;  ///< of all partitions together
  bool read_committed = false;
  bool by_topic_id = false;
};

/// What one partition has for a fetch.
struct FetchRead {
  protocol::FetchResponse::PartitionData data;
  const FetchPartition* entry = nullptr;  ///< what was asked; to be compared only
  std::shared_ptr<Partition> partition;   ///< null on an error
  uint64_t bytes = 0;
  Offset seen_high_watermark = no_offset;
  bool diverged = false;

  bool failed() const { return data.error_code != 0; }
};

/// What a partition that is not read is answered with.
FetchRead failed_fetch(const FetchPartition& wanted, protocol::ErrorCode error);

/// The name under which a topic that is asked for by its id was found before; "" if it never was.
const std::string& name_in_session(const FetchPartition& wanted);

/// The same for an id that no topic has, or had when rights were asked for. Who waits or has a session is
/// told of the name, as by Kafka: some clients pass on to their users what they are told of an id that does
/// not fit.
FetchRead unknown_id_fetch(const ReplicaManager& replicas, FetchPartition& wanted);

/// Reads from the partition what `wanted` asks for: at most `bytes_max`, but one whole batch at least when
/// `at_least_one_batch`. Errors are in the result. Looks up `wanted.partition` when it is not known or stale.
FetchRead read_partition(const ReplicaManager& replicas, FetchPartition& wanted, const FetchLimits& limits,
                         int64_t bytes_max, bool at_least_one_batch);

}  // namespace barnabas::broker
