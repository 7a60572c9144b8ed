#pragma once

#include "broker/call.h"
#include "protocol/messages/describe_log_dirs_request.h"

namespace barnabas::broker {

/// DescribeLogDirs (35), v1–v5. Every log directory with its partitions, their sizes and the size of its
/// volume; a failed one with kafka_storage_error. A replica on its way to the directory is a future one, with
/// what it lacks. A null list is all topics.
struct DescribeLogDirsHandler {
  using Request = protocol::DescribeLogDirsRequest;
  static void handle(Call call, Request request);
};

}  // namespace barnabas::broker
