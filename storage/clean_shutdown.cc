#include "storage/clean_shutdown.h"

#include <nlohmann/json.hpp>

namespace barnabas::storage {
namespace {

constexpr int version = 0;
constexpr uint64_t file_bytes_max = 4096;
constexpr BrokerEpoch unknown{-1};

std::string path_in(const std::string& directory) {
  return directory + "/" + std::string(clean_shutdown_name);
}

}  // namespace

BrokerEpoch parse_clean_shutdown(std::string_view text) {
  const auto json = nlohmann::json::parse(text, nullptr, false);
  if (!json.is_object()) return unknown;
  const auto found_version = json.find("version");
  const auto epoch = json.find("brokerEpoch");
  if (found_version == json.end() || !found_version->is_number_integer() || *found_version != version)
    return unknown;
  if (epoch == json.end() || !epoch->is_number_integer()) return unknown;
  return BrokerEpoch{epoch->get<int64_t>()};
}

std::string format_clean_shutdown(BrokerEpoch broker_epoch) {
  return nlohmann::ordered_json{{"version", version}, {"brokerEpoch", broker_epoch.value()}}.dump();
}

Result<std::optional<BrokerEpoch>> take_clean_shutdown(io::Disk& disk, const std::string& directory) {
  const std::string path = path_in(directory);
  const auto text = io::read_file(disk, path, file_bytes_max);
  BrokerEpoch epoch = unknown;
  if (text) {
    epoch = parse_clean_shutdown(*text);
  } else if (text.error().kind == ErrorKind::not_found) {
    return std::optional<BrokerEpoch>();
  } else if (text.error().kind != ErrorKind::too_large) {
    return std::unexpected(text.error());
  }
  BARNABAS_TRY(disk.remove(path));
  BARNABAS_TRY(disk.sync_directory(directory));
  return std::optional(epoch);
}

Result<void> write_clean_shutdown(io::Disk& disk, const std::string& directory, BrokerEpoch broker_epoch) {
  return io::replace_file(disk, path_in(directory), format_clean_shutdown(broker_epoch));
}

}  // namespace barnabas::storage
