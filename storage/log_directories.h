#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "io/disk.h"

namespace barnabas::storage {

/// One of log.dirs after it was opened.
struct LogDirectory {
  std::string path;
  Uuid directory_id;
  /// The last run ended with everything flushed: its logs need no recovery.
  bool clean = false;
  /// Broker epoch of the last run, when it ended cleanly; -1 otherwise.
  BrokerEpoch previous_broker_epoch{-1};
  /// metadata.log.dir when it is not among log.dirs: no partitions are made in it.
  bool metadata_only = false;
  /// Why the directory cannot be used; empty when it can.
  std::optional<Error> failure;
  /// Held while the directory is used.
  std::unique_ptr<io::FileLock> lock;

  bool usable() const { return !failure.has_value(); }
};

/// The log directories of a node, locked and known to be ours, before anything in them is loaded.
struct LogDirectories {
  std::string cluster_id;
  std::vector<LogDirectory> directories;  ///< in the order of log.dirs

  /// The broker epoch of the last run if all directories were left cleanly by the same one, else -1
  /// (KIP-966).
  BrokerEpoch previous_broker_epoch() const;
};

struct LogDirectoriesOptions {
  std::vector<std::string> paths;  ///< log.dirs and metadata.log.dir; doubles are taken once
  NodeId node_id;
  /// A cluster id that every directory must have; empty: whatever the directories say.
  std::string cluster_id;
  /// Directories without meta.properties become ours (made if missing, a cluster id is generated if none is
  /// known). Off: they are an error that says how to format them.
  bool format = false;
  /// For directories none of which has one; empty: generated.
  std::string new_cluster_id{};
};

/// Makes, locks and identifies the directories and takes their clean-shutdown markers away (durably, before
/// anything is written). A directory with a failing device is returned with its failure; another owner,
/// another cluster or node id, two directories of one id, or no usable directory at all is an error that
/// names the directory and both values. Blocking; call it once at start.
Result<LogDirectories> open_log_directories(io::Disk& disk, const LogDirectoriesOptions& options);

struct FormatLogDirectoriesOptions {
  std::vector<std::string> paths;  ///< as in LogDirectoriesOptions
  NodeId node_id;
  std::string cluster_id;
  bool ignore_formatted =
      false;  ///< leave those alone that are formatted, if they are of this node and cluster
  /// Puts into a directory what it is to begin with; called before it becomes ours, so that one that was left
  /// half done is not taken for a whole one.
  std::function<Result<void>(const std::string& path, const Uuid& directory_id)> fill;
};

/// Makes the directories ours that are not, without a broker; gives their paths. ErrorKind::already_exists
/// for one that is formatted. Blocking.
Result<std::vector<std::string>> format_log_directories(io::Disk& disk,
                                                        const FormatLogDirectoriesOptions& options);

}  // namespace barnabas::storage
