// What of a broker is on disk: log directories, logs, the metadata log and those who keep logs and metadata
// in step.

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <thread>

#include "app/broker_parts.h"
#include "app/cleaner_settings.h"
#include "app/directories.h"
#include "app/room_settings.h"
#include "base/log.h"
#include "storage/log_directories.h"
#include "storage/partition_directory.h"

namespace barnabas::app {

namespace {

constinit Logger log_{"barnabas"};

}  // namespace

broker::ReplicaMover::Options BrokerProcess::Parts::mover_options() const {
  broker::ReplicaMover::Options options;
  options.threads =
      config.given("num.replica.alter.log.dirs.threads") != nullptr
          ? static_cast<unsigned>(std::max<int64_t>(config.integer("num.replica.alter.log.dirs.threads"), 1))
          : static_cast<unsigned>(paths.size());
  options.bytes_per_second = config.integer("replica.alter.log.dirs.io.max.bytes.per.second");
  return options;
}

storage::LogManagerOptions BrokerProcess::Parts::log_manager_options() {
  storage::LogManagerOptions options;
  options.on_offline = [this](const storage::LogDirectory& directory,
                              const std::vector<storage::TopicPartition>& lost) {
    directory_failed(directory, lost);
  };
  options.load_threads = std::max(1U, std::thread::hardware_concurrency());
  if (config.given("num.recovery.threads.per.data.dir") != nullptr)
    options.load_threads = static_cast<unsigned>(config.integer("num.recovery.threads.per.data.dir")) *
                           static_cast<unsigned>(paths.size());
  options.retention_interval = interval(config, "log.retention.check.interval.ms");
  options.checkpoint_interval = interval(config, "log.flush.offset.checkpoint.interval.ms");
  options.start_checkpoint_interval = interval(config, "log.flush.start.offset.checkpoint.interval.ms");
  options.high_watermark_interval = interval(config, "replica.high.watermark.checkpoint.interval.ms");
  options.flush_interval = interval(config, "log.flush.scheduler.interval.ms");
  options.producer_expiry_interval = interval(config, "producer.id.expiration.check.interval.ms");
  return options;
}

void BrokerProcess::Parts::directory_failed(const storage::LogDirectory& directory,
                                            const std::vector<storage::TopicPartition>& lost) {
  log_.error("log directory offline path={} partitions={} reason={}", directory.path, lost.size(),
             directory.failure ? directory.failure->message : "");
  if (replicas) replicas->lose(lost);
  if (loaded && logs->usable_directories().empty() && !out_of_disks.exchange(true)) {
    log_.error("stopping: every log directory is offline");
    (void)kill(getpid(), SIGTERM);
  }
}

namespace {

/// What the operator can do about log directories that cannot be used.
std::string remedy(const Error& error) {
  if (error.kind != ErrorKind::offline) return "";
  const std::string user = std::to_string(::geteuid());
  switch (error.system_error) {
    case 0:  // it says so itself
      return "";
    case EACCES:
    case EPERM:
      return "; make it writable for this user (chown -R " + user +
             "), or set log.dirs to a directory that is";
    case EROFS:
      return "; mount the file system for writing, or set log.dirs to a directory on another one";
    case ENOSPC:
    case EDQUOT:
      return "; make room on the volume, or set log.dirs to a directory on another one";
    case ENOTDIR:
    case EEXIST:
      return "; set log.dirs to a directory, or to a path where one can be made";
    default:
      return "; set log.dirs to a directory that this user can make or write to (barnabas doctor looks into "
             "it)";
  }
}

}  // namespace

/// Changing log.dirs must not make the broker forget its topics: metadata lie in the first one unless told.
/// Nor may a metadata log that was lost: every partition would be a stranger and be set aside.
Result<void> BrokerProcess::Parts::find_metadata() {
  const std::string name = "/" + std::string(storage::metadata_directory_name);
  const auto has_metadata = [&](const std::string& path) { return disk.exists(path + name); };
  BARNABAS_ASSIGN(const bool in_its_place, has_metadata(metadata_directory));
  if (in_its_place) return {};
  for (const std::string& path : paths)
    if (has_metadata(path).value_or(false))
      return fail(ErrorKind::invalid, metadata_directory + " holds no metadata log, but " + path +
                                          " does; set metadata.log.dir=" + path + ", or move " + path + name +
                                          " there");
  for (const std::string& path : paths) {
    const auto entries = disk.list(path);
    if (!entries) continue;
    for (const io::DirectoryEntry& entry : *entries)
      if (storage::parse_directory_name(entry.name).kind == storage::DirectoryKind::partition)
        return fail(ErrorKind::not_found,
                    metadata_directory + name + ": not there, but the partition " + path + "/" + entry.name +
                        " is. Without the metadata log nobody knows its topic: put the log back, or "
                        "set metadata.log.dir to where it is");
  }
  return {};
}

Result<void> BrokerProcess::Parts::open_storage() {
  paths = log_paths(config);
  metadata_directory = metadata_path(config, paths);
  BARNABAS_TRY(find_metadata());
  storage::LogDirectoriesOptions options;
  options.paths = paths;
  options.paths.push_back(metadata_directory);
  options.node_id = node;
  options.format = true;
  options.new_cluster_id = new_cluster_id;
  auto opened = storage::open_log_directories(disk, options);
  if (!opened) {
    Error error = std::move(opened).error();
    error.message += remedy(error);
    return std::unexpected(std::move(error));
  }
  storage::LogDirectories directories = std::move(*opened);
  if (!new_cluster_id.empty() && directories.cluster_id != new_cluster_id)
    log_.warn("CLUSTER_ID is not that of the directories, which stays id={} CLUSTER_ID={}",
              directories.cluster_id, new_cluster_id);
  for (storage::LogDirectory& directory : directories.directories)
    if (directory.path == metadata_directory) {
      metadata_directory_id = directory.directory_id;
      metadata_clean = directory.clean;
      directory.metadata_only = std::ranges::find(paths, metadata_directory) == paths.end();
    }
  files.emplace(disk, open_files_budget(config));
  disk_pool.emplace(io::DiskPool::Options{
      .name = "disk", .threads = static_cast<std::size_t>(config.integer("disk.threads"))});
  background.emplace(*disk_pool);
  logs.emplace(disk, *files, std::move(directories), log_manager_options());
  BARNABAS_ASSIGN(const storage::LoadSummary summary, logs->load(wall_clock_now()));
  loaded = true;
  if (summary.recovered > 0)
    log_.info("recovered after an unclean stop logs={} of={}", summary.recovered, summary.logs);
  return {};
}

Result<void> BrokerProcess::Parts::open_metadata() {
  cluster::LocalGatewayOptions options;
  options.quorum.log_directory = metadata_directory;
  options.quorum.cluster_id = logs->cluster_id();
  options.quorum.node_id = node;
  options.quorum.directory_id = metadata_directory_id;
  options.quorum.clean = metadata_clean;
  if (const auto& at = listeners.controller)
    options.quorum.controller_endpoint = {at->listener, at->host, at->port, at->security_protocol};
  options.quorum.log = metadata_log_settings(config);
  options.snapshot_interval = interval(config, "metadata.log.max.snapshot.interval.ms");
  options.static_config = &config;
  options.on_failure = [](const Error& error) {
    log_.error("metadata log failed, stopping: {}", error.message);
    (void)kill(getpid(), SIGTERM);
  };
  options.on_notice = [](const std::string& line) { log_.info("{}", line); };
  BARNABAS_ASSIGN(gateway, cluster::LocalGateway::start(disk, *files, publisher, std::move(options)));

  partition_services.emplace(
      *disk_pool,
      [this](const storage::TopicPartition& name, const Error& error) { logs->report(name, error); },
      config.boolean("log.flush.before.ack"));
  BARNABAS_TRY(logs->resolve_doubles([this](const storage::TopicPartition& name) -> storage::Assignment {
    const auto image = publisher.current();
    const auto* topic = image->topic(name.topic);
    const auto* partition = topic != nullptr ? topic->partition(name.partition) : nullptr;
    if (partition == nullptr) return {};
    return {topic->id, partition->directory_of(node)};
  }));
  assignments.emplace(
      node,
      [this](auto request, auto done) {
        gateway->assign_replicas_to_dirs(std::move(request), std::move(done));
      },
      publisher);
  mover.emplace(*logs, *assignments, mover_options());
  replicas.emplace(node, *logs, config, *partition_services);
  replicas->connect(*mover, *assignments);
  publisher.subscribe([this](const metadata::MetadataChanges& changes,
                             const metadata::MetadataImagePtr& image) { replicas->apply(changes, image); });
  logs->set_high_watermark_source(
      [this](const storage::TopicPartition& name) { return replicas->high_watermark(name); });
  cleaner.emplace(*logs, cleaner_settings({*publisher.current(), node, config}));
  publisher.subscribe(
      [this](const metadata::MetadataChanges& changes, const metadata::MetadataImagePtr& image) {
        if (!changes.changed_configs.empty()) cleaner->reconfigure(cleaner_settings({*image, node, config}));
      });
  return {};
}

}  // namespace barnabas::app
