#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "io/disk.h"
#include "metadata/credential_image.h"
#include "metadata/image.h"

namespace barnabas::cluster {

/// What a new cluster of one node begins with.
struct FormatOptions {
  std::string log_directory;  ///< holds, or will hold, the metadata log
  NodeId node_id;
  Uuid directory_id;  ///< of log_directory, from meta.properties
  /// Quorum of the settings (kraft.version 0) instead of one that is written down with the log.
  bool static_quorum = false;
  metadata::BrokerEndpoint controller_endpoint{"CONTROLLER", "127.0.0.1", 9093, 0};
  std::vector<metadata::ScramCredential> credentials;  ///< of users who can log in from the first start on
};

/// Writes the snapshot with which a metadata log begins, as `kafka-storage.sh format` does, durably:
/// features, voters, credentials. The first start takes it into the log. ErrorKind::already_exists when the
/// directory has a metadata log. Blocks.
Result<void> format_metadata_log(io::Disk& disk, const FormatOptions& options, TimestampMs now);

}  // namespace barnabas::cluster
