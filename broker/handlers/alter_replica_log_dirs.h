#pragma once

#include "broker/call.h"
#include "protocol/messages/alter_replica_log_dirs_request.h"
#include "protocol/messages/alter_replica_log_dirs_response.h"

namespace barnabas::broker {

/// AlterReplicaLogDirs (34), v1–v2 (KIP-113). Begins to move partitions to other log directories of this
/// broker; how far that is, DescribeLogDirs tells. Paths are compared with log.dirs letter by letter.
///  - Of a partition that is named more than once the last directory counts, and it is answered once, as in
///  Kafka.
///  - A partition that does not exist is answered unknown_topic_or_partition and made in that directory
///  later.
struct AlterReplicaLogDirsHandler {
  using Request = protocol::AlterReplicaLogDirsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
