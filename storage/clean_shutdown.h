#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "base/result.h"
#include "base/types.h"
#include "io/disk.h"

namespace barnabas::storage {

/// The file in a log directory that says that its last run ended with everything flushed. Format:
/// docs/formats/clean-shutdown-marker.md.
inline constexpr std::string_view clean_shutdown_name = ".kafka_cleanshutdown";

/// Broker epoch that the marker's text names; -1 when it names none (written by a Kafka before 3.8: empty).
/// The text never takes the cleanness away, only the epoch.
BrokerEpoch parse_clean_shutdown(std::string_view text);
std::string format_clean_shutdown(BrokerEpoch broker_epoch);

/// Reads the marker and removes it, durably; nullopt when there is none. Must come before anything is written
/// in the directory, since the marker would vouch for that too.
Result<std::optional<BrokerEpoch>> take_clean_shutdown(io::Disk& disk, const std::string& directory);
/// Atomic and durable; the last thing that is written in a directory.
Result<void> write_clean_shutdown(io::Disk& disk, const std::string& directory, BrokerEpoch broker_epoch);

}  // namespace barnabas::storage
