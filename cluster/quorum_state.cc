#include "cluster/quorum_state.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "base/uuid.h"

namespace barnabas::cluster {
namespace {

constexpr uint64_t size_max = 1 << 20;

Result<int32_t> integer(const nlohmann::json& object, const char* name) {
  const auto found = object.find(name);
  if (found == object.end() || !found->is_number_integer())
    return fail(ErrorKind::corrupt, std::string("quorum-state: no integer ") + name);
  const auto value = found->get<int64_t>();
  if (value < -1 || value > std::numeric_limits<int32_t>::max())
    return fail(ErrorKind::corrupt, std::string("quorum-state: ") + name + " is " + std::to_string(value));
  return static_cast<int32_t>(value);
}

}  // namespace

Result<QuorumState> parse_quorum_state(std::string_view text) {
  const auto object = nlohmann::json::parse(text, nullptr, false);
  if (!object.is_object()) return fail(ErrorKind::corrupt, "quorum-state: not a JSON object");
  BARNABAS_ASSIGN(const int32_t version, integer(object, "data_version"));
  if (version != 0 && version != 1)
    return fail(ErrorKind::unsupported,
                "quorum-state: data_version " + std::to_string(version) + ", known are 0 and 1");
  BARNABAS_ASSIGN(const int32_t leader, integer(object, "leaderId"));
  BARNABAS_ASSIGN(const int32_t epoch, integer(object, "leaderEpoch"));
  return QuorumState{NodeId(leader), LeaderEpoch(epoch)};
}

std::string format_quorum_state(const QuorumState& state, int16_t kraft_version, NodeId node) {
  nlohmann::ordered_json object;
  if (kraft_version == 0) object["clusterId"] = "";
  object["leaderId"] = state.leader.value();
  object["leaderEpoch"] = state.epoch.value();
  object["votedId"] = -1;
  if (kraft_version == 0) {
    object["appliedOffset"] = 0;
    object["currentVoters"] = nlohmann::ordered_json::array({{{"voterId", node.value()}}});
    object["data_version"] = 0;
  } else {
    object["votedDirectoryId"] = Uuid{}.to_string();
    object["data_version"] = 1;
  }
  return object.dump();
}

Result<std::optional<QuorumState>> read_quorum_state(io::Disk& disk, const std::string& directory) {
  const std::string path = directory + "/" + std::string(quorum_state_name);
  BARNABAS_ASSIGN(const bool exists, disk.exists(path));
  if (!exists) return std::nullopt;
  BARNABAS_ASSIGN(const std::string text, io::read_file(disk, path, size_max));
  BARNABAS_ASSIGN(const QuorumState state, parse_quorum_state(text));
  return state;
}

Result<void> write_quorum_state(io::Disk& disk, const std::string& directory, const QuorumState& state,
                                int16_t kraft_version, NodeId node) {
  return io::replace_file(disk, directory + "/" + std::string(quorum_state_name),
                          format_quorum_state(state, kraft_version, node));
}

}  // namespace barnabas::cluster
