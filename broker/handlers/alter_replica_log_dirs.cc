#include "broker/handlers/alter_replica_log_dirs.h"

#include <map>
#include <string>
#include <string_view>

#include "broker/handlers/deferred.h"

namespace barnabas::broker {
namespace {

using protocol::AlterReplicaLogDirsRequest;
using protocol::AlterReplicaLogDirsResponse;

AlterReplicaLogDirsResponse move_all(Call& call, const AlterReplicaLogDirsRequest& request, bool allowed) {
  std::map<std::string_view, std::map<int32_t, std::string_view>> wanted;
  for (const auto& directory : request.dirs) {
    for (const auto& topic : directory.topics) {
      for (const int32_t partition : topic.partitions)
        wanted[topic.name.view()][partition] = directory.path.view();
    }
  }
  AlterReplicaLogDirsResponse response;
  for (const auto& [topic, partitions] : wanted) {
    auto& result = response.results.emplace_back();
    result.topic_name = protocol::String(topic);
    for (const auto& [partition, path] : partitions) {
      auto& answer = result.partitions.emplace_back();
      answer.partition_index = partition;
      answer.error_code =
          to_wire(allowed ? call.services().replicas.move({std::string(topic), PartitionIndex{partition}},
                                                          std::string(path))
                          : protocol::ErrorCode::cluster_authorization_failed);
    }
  }
  return response;
}

}  // namespace

void AlterReplicaLogDirsHandler::handle(Call call, Request request) {
  const bool allowed = call.rights().may(Right::alter_replica_log_dirs);
  answer_from_disk_pool(std::move(call), std::move(request), [allowed](Call& waiting, const Request& asked) {
    return move_all(waiting, asked, allowed);
  });
}

}  // namespace barnabas::broker
