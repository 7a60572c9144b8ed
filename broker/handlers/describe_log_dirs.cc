#include "broker/handlers/describe_log_dirs.h"

#include <algorithm>
#include <limits>
#include <set>

#include "broker/handlers/deferred.h"
#include "protocol/messages/describe_log_dirs_response.h"

namespace barnabas::broker {
namespace {

using protocol::DescribeLogDirsRequest;
using protocol::DescribeLogDirsResponse;
using protocol::ErrorCode;
using Wanted = std::set<std::pair<std::string_view, int32_t>>;

int64_t bounded(uint64_t bytes) {
  return static_cast<int64_t>(std::min<uint64_t>(bytes, std::numeric_limits<int64_t>::max()));
}

DescribeLogDirsResponse::DescribeLogDirsResult describe(const storage::LogDirectoryDescription& directory,
                                                        const std::optional<Wanted>& wanted) {
  DescribeLogDirsResponse::DescribeLogDirsResult result;
  result.log_dir = protocol::String(directory.path);
  if (directory.failure) {
    result.error_code = to_wire(ErrorCode::kafka_storage_error);
    return result;
  }
  result.total_bytes = bounded(directory.volume.total_bytes);
  result.usable_bytes = bounded(directory.volume.usable_bytes);
  for (const auto& partition : directory.partitions) {
    if (wanted && !wanted->contains({partition.name.topic, partition.name.partition.value()})) continue;
    if (result.topics.empty() || result.topics.back().name != partition.name.topic)
      result.topics.emplace_back().name = protocol::String(partition.name.topic);
    auto& described = result.topics.back().partitions.emplace_back();
    described.partition_index = partition.name.partition.value();
    described.partition_size = bounded(partition.size_bytes);
    described.offset_lag = partition.offset_lag;
    described.is_future_key = partition.is_future;
  }
  return result;
}

DescribeLogDirsResponse describe_all(Call& call, const DescribeLogDirsRequest& request) {
  std::optional<Wanted> wanted;
  if (request.topics) {
    wanted.emplace();
    for (const auto& topic : *request.topics)
      for (const int32_t partition : topic.partitions) wanted->emplace(topic.topic.view(), partition);
  }
  DescribeLogDirsResponse response;
  for (const auto& directory : call.services().logs.describe())
    response.results.push_back(describe(directory, wanted));
  return response;
}

}  // namespace

void DescribeLogDirsHandler::handle(Call call, Request request) {
  if (!call.rights().may(Right::describe_log_dirs)) {
    DescribeLogDirsResponse response;
    response.error_code = to_wire(ErrorCode::cluster_authorization_failed);
    return call.reply(response);
  }
  answer_from_disk_pool(std::move(call), std::move(request),
                        [](Call& waiting, const Request& asked) { return describe_all(waiting, asked); });
}

}  // namespace barnabas::broker
