#include "storage/log_directories.h"

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <map>
#include <utility>

#include "io/system_error.h"
#include "storage/clean_shutdown.h"
#include "storage/meta_properties.h"
#include "storage/partition_directory.h"

namespace barnabas::storage {
namespace {

constexpr std::string_view lock_name = "/.lock";

/// A directory while it is being identified.
struct Candidate {
  LogDirectory directory;
  std::optional<MetaProperties> properties;
};

/// Makes a directory so that it, and every one above it that was made, survives a power cut.
Result<void> make_durable_directory(io::Disk& disk, const std::string& path) {
  std::vector<std::string> made;  // deepest first
  for (std::string at = path;; at = io::parent_directory(at)) {
    BARNABAS_ASSIGN(const bool exists, disk.exists(at));
    if (exists || at == "." || at == "/") break;
    made.push_back(at);
  }
  if (made.empty()) return {};
  BARNABAS_TRY(disk.create_directories(path));
  for (const std::string& at : made) BARNABAS_TRY(disk.sync_directory(io::parent_directory(at)));
  return {};
}

/// Locks a directory and reads whose it is. The error of a device is the directory's; any other one is
/// everybody's.
Result<void> identify(io::Disk& disk, Candidate& candidate) {
  const std::string& path = candidate.directory.path;
  BARNABAS_TRY(make_durable_directory(disk, path));
  BARNABAS_ASSIGN(candidate.directory.lock, disk.lock(path + std::string(lock_name)));
  BARNABAS_ASSIGN(candidate.properties, read_meta_properties(disk, path));
  return {};
}

bool is_failure_of_one_directory(const Error& error) {
  switch (error.kind) {
    case ErrorKind::io:
    case ErrorKind::no_space:
    case ErrorKind::not_found:
    case ErrorKind::corrupt:
    case ErrorKind::too_large:
      return true;
    default:
      return false;
  }
}

Error explain_refusal(Error error, const std::string& path) {
  if (error.kind == ErrorKind::already_exists) {
    error.message = "Log directory " + path + " is in use: " + error.message +
                    ". Stop the other broker, or give this one another log.dirs.";
  }
  return error;
}

Result<std::vector<Candidate>> identify_all(io::Disk& disk, const std::vector<std::string>& paths) {
  std::vector<Candidate> candidates;
  std::vector<std::string> seen;
  for (const std::string& path : paths) {
    std::string normal = std::filesystem::path(path).lexically_normal().string();
    if (normal.size() > 1 && normal.ends_with('/')) normal.pop_back();
    if (std::ranges::find(seen, normal) != seen.end()) continue;
    seen.push_back(normal);
    Candidate candidate;
    candidate.directory.path = std::move(normal);
    if (auto identified = identify(disk, candidate); !identified) {
      Error error = std::move(identified).error();
      if (!is_failure_of_one_directory(error))
        return std::unexpected(explain_refusal(std::move(error), path));
      candidate.directory.failure = std::move(error);
    }
    candidates.push_back(std::move(candidate));
  }
  return candidates;
}

Result<std::string> agree_on_cluster_id(const std::vector<Candidate>& candidates,
                                        const LogDirectoriesOptions& options) {
  std::string cluster_id = options.cluster_id;
  std::string from = "the configuration";
  for (const Candidate& candidate : candidates) {
    if (!candidate.properties) continue;
    const std::string& found = candidate.properties->cluster_id;
    if (cluster_id.empty()) {
      cluster_id = found;
      from = candidate.directory.path;
    } else if (found != cluster_id) {
      return fail(ErrorKind::invalid, candidate.directory.path + "/meta.properties: cluster.id=" + found +
                                          " found, " + cluster_id + " expected (as in " + from +
                                          "). Take the directory of the other cluster out of log.dirs");
    }
  }
  return cluster_id;
}

Result<void> check_ids(const std::vector<Candidate>& candidates, NodeId node_id) {
  std::map<Uuid, std::string> paths;
  for (const Candidate& candidate : candidates) {
    if (!candidate.properties) continue;
    const std::string& path = candidate.directory.path;
    if (candidate.properties->node_id != node_id) {
      return fail(
          ErrorKind::invalid,
          path + "/meta.properties: node.id=" + std::to_string(candidate.properties->node_id.value()) +
              " found, " + std::to_string(node_id.value()) +
              " expected (node.id of the configuration). Set node.id to what the directory was made for, "
              "or use the directory of this node");
    }
    const Uuid id = candidate.properties->directory_id;
    if (id.is_zero()) continue;
    const auto [other, is_new] = paths.emplace(id, path);
    if (!is_new) {
      return fail(ErrorKind::invalid, path + "/meta.properties: directory.id=" + id.to_string() +
                                          " found, which is that of " + other->second +
                                          " too: one is a copy. Take the copy out of log.dirs");
    }
  }
  return {};
}

/// Gives a directory its meta.properties, or the directory id that an older Kafka did not write.
Result<void> claim(io::Disk& disk, Candidate& candidate, const std::string& cluster_id, NodeId node_id) {
  const bool is_complete = candidate.properties && !candidate.properties->directory_id.is_zero();
  if (!is_complete) {
    candidate.properties = MetaProperties{cluster_id, node_id, Uuid::random()};
    BARNABAS_TRY(write_meta_properties(disk, candidate.directory.path, *candidate.properties));
  }
  candidate.directory.directory_id = candidate.properties->directory_id;
  BARNABAS_ASSIGN(const auto marker, take_clean_shutdown(disk, candidate.directory.path));
  candidate.directory.clean = marker.has_value();
  candidate.directory.previous_broker_epoch = marker.value_or(BrokerEpoch{-1});
  return {};
}

/// A directory without meta.properties may become ours only if it holds nobody's data: the file may have been
/// lost, and a new cluster id would make every topic in it a stranger.
Result<void> check_unclaimed(io::Disk& disk, const std::string& path) {
  BARNABAS_ASSIGN(const auto entries, disk.list(path));
  for (const io::DirectoryEntry& entry : entries) {
    const DirectoryKind kind = parse_directory_name(entry.name).kind;
    if (!entry.is_directory || kind == DirectoryKind::other) continue;
    return fail(ErrorKind::invalid,
                path + "/" + std::string(meta_properties_name) + ": not there, but " + path + "/" +
                    entry.name +
                    " is. Put the file back (version=1, cluster.id, node.id and directory.id as before; the "
                    "other log directories name the first two), or give this broker an empty directory");
  }
  return {};
}

/// With the system's error of the first one.
std::unexpected<Error> none_can_be_used(const std::vector<Candidate>& candidates) {
  std::string text;
  int system_error = 0;
  for (const Candidate& candidate : candidates) {
    const auto& failure = candidate.directory.failure;
    if (!failure) continue;
    if (text.empty()) system_error = failure->kind == ErrorKind::not_found ? ENOENT : failure->system_error;
    text += (text.empty() ? "" : "; ") + failure->message;
  }
  return fail(ErrorKind::offline, "no log directory can be used: " + text, system_error);
}

}  // namespace

BrokerEpoch LogDirectories::previous_broker_epoch() const {
  std::optional<BrokerEpoch> common;
  for (const LogDirectory& directory : directories) {
    if (!directory.usable() || !directory.clean) return BrokerEpoch{-1};
    if (common && *common != directory.previous_broker_epoch) return BrokerEpoch{-1};
    common = directory.previous_broker_epoch;
  }
  return common.value_or(BrokerEpoch{-1});
}

Result<LogDirectories> open_log_directories(io::Disk& disk, const LogDirectoriesOptions& options) {
  if (options.paths.empty()) return fail(ErrorKind::invalid, "log.dirs names no directory");
  BARNABAS_ASSIGN(std::vector<Candidate> candidates, identify_all(disk, options.paths));
  const bool any_ours =
      std::ranges::any_of(candidates, [](const auto& one) { return one.properties.has_value(); });
  const bool any_usable =
      std::ranges::any_of(candidates, [](const auto& one) { return one.directory.usable(); });
  if (!any_usable) return none_can_be_used(candidates);

  LogDirectories result;
  BARNABAS_ASSIGN(result.cluster_id, agree_on_cluster_id(candidates, options));
  BARNABAS_TRY(check_ids(candidates, options.node_id));
  for (const Candidate& candidate : candidates)
    if (candidate.directory.usable() && !candidate.properties)
      BARNABAS_TRY(check_unclaimed(disk, candidate.directory.path));
  if (!any_ours && !options.format) {
    return fail(ErrorKind::not_found,
                candidates.front().directory.path +
                    "/meta.properties: not there. The log directories must be formatted first "
                    "(barnabas format, or Kafka's kafka-storage.sh format)");
  }
  if (result.cluster_id.empty())
    result.cluster_id = options.new_cluster_id.empty() ? Uuid::random().to_string() : options.new_cluster_id;

  for (Candidate& candidate : candidates) {
    if (candidate.directory.usable()) {
      if (auto claimed = claim(disk, candidate, result.cluster_id, options.node_id); !claimed) {
        candidate.directory.failure = std::move(claimed).error();
      }
    }
    if (candidate.directory.failure) candidate.directory.lock.reset();
    if (candidate.properties) candidate.directory.directory_id = candidate.properties->directory_id;
  }
  if (std::ranges::none_of(candidates, [](const auto& one) { return one.directory.usable(); }))
    return none_can_be_used(candidates);
  for (Candidate& candidate : candidates) result.directories.push_back(std::move(candidate.directory));
  return result;
}

Result<std::vector<std::string>> format_log_directories(io::Disk& disk,
                                                        const FormatLogDirectoriesOptions& options) {
  if (options.paths.empty()) return fail(ErrorKind::invalid, "log.dirs names no directory");
  BARNABAS_ASSIGN(const std::vector<Candidate> candidates, identify_all(disk, options.paths));
  for (const Candidate& candidate : candidates)
    if (candidate.directory.failure) return std::unexpected(*candidate.directory.failure);
  LogDirectoriesOptions expected;
  expected.cluster_id = options.cluster_id;
  BARNABAS_TRY(agree_on_cluster_id(candidates, expected));
  BARNABAS_TRY(check_ids(candidates, options.node_id));
  for (const Candidate& candidate : candidates) {
    const std::string& path = candidate.directory.path;
    if (!candidate.properties) {
      BARNABAS_TRY(check_unclaimed(disk, path));
    } else if (!options.ignore_formatted) {
      return fail(ErrorKind::already_exists,
                  "Log directory " + path +
                      " is already formatted. Use --ignore-formatted to ignore this directory and format the "
                      "others.");
    }
  }
  std::vector<std::string> made;
  for (const Candidate& candidate : candidates) {
    if (candidate.properties) continue;
    const std::string& path = candidate.directory.path;
    const Uuid directory_id = Uuid::random();
    BARNABAS_TRY(options.fill(path, directory_id));
    BARNABAS_TRY(
        write_meta_properties(disk, path, MetaProperties{options.cluster_id, options.node_id, directory_id}));
    made.push_back(path);
  }
  return made;
}

}  // namespace barnabas::storage
