#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "client/cluster.h"
#include "client/offsets.h"
#include "protocol/error_code.h"

namespace barnabas::client {

struct GroupMember {
  std::string id;
  std::string client_id;
  std::string host;
  std::optional<std::string> instance;
  std::vector<TopicPartition> assigned;
};

struct GroupState {
  std::string id;
  std::string type;  ///< "consumer", "classic"
  std::string state;
  std::string assignor;
  std::vector<GroupMember> members;
};

/// Of either protocol. ErrorKind::not_found when there is no such group.
Result<GroupState> read_group(Cluster& cluster, const std::string& group);

using CommittedOffsets = std::map<TopicPartition, int64_t>;
/// All that the group has committed.
Result<CommittedOffsets> committed_offsets(Cluster& cluster, const std::string& group);

/// Asks the coordinator, again as long as it is only loading or just moved. `error_of`: the error code in the
/// body.
template <class Request, class ErrorOf>
Result<Answered<typename Request::Response>> ask_coordinator(Cluster& cluster, const std::string& group,
                                                             const Request& request, ErrorOf error_of,
                                                             int16_t version_max = Request::max_version) {
  using protocol::ErrorCode;
  while (true) {
    BARNABAS_ASSIGN(Connection * coordinator, cluster.coordinator(group));
    BARNABAS_ASSIGN(auto answer,
                    coordinator->call(request, cluster.deadline(), Request::min_version, version_max));
    const auto code = protocol::error_code(error_of(answer.body));
    const bool again = code == ErrorCode::coordinator_load_in_progress ||
                       code == ErrorCode::not_coordinator || code == ErrorCode::coordinator_not_available;
    if (!again || !cluster.pause()) return answer;
  }
}

}  // namespace barnabas::client
