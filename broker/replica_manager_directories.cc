// In which log directory a partition lies, and how it gets to another one.

#include <algorithm>
#include <mutex>
#include <utility>

#include "base/log.h"
#include "broker/error_map.h"
#include "broker/replica_manager.h"
#include "storage/partition_directory.h"

namespace barnabas::broker {

using protocol::ErrorCode;
using std::chrono::milliseconds;

namespace {

constinit Logger logger{"broker"};

/// What strangers may wish for takes this much room at most.
constexpr std::size_t wishes_max = 10'000;
constexpr std::chrono::seconds arrival_max{10};
constexpr milliseconds first_retry{1'000};
constexpr milliseconds longest_retry{30'000};

/// Not one of the ids that stand for something else.
bool names_directory(const Uuid& id) {
  return id != metadata::directory_migrating && id != metadata::directory_unassigned &&
         id != metadata::directory_lost;
}

}  // namespace

Result<std::shared_ptr<storage::Log>> ReplicaManager::open_log(const storage::TopicPartition& name,
                                                               const Uuid& topic_id, const Uuid& assigned,
                                                               bool is_new) {
  // The metadata speak last: where they want the partition there may be more than where another one was
  // found.
  const bool elsewhere = names_directory(assigned) && !logs_.is_usable(assigned) && logs_.any_offline();
  if (elsewhere && !is_new && logs_.get(name))
    return fail(ErrorKind::offline, name.to_string() +
                                        ": the metadata want it in a directory that is offline, and not in " +
                                        logs_.path_of(name));
  storage::LogManager::CreateOptions options{topic_id, take_wish(name), is_new};
  if (!logs_.is_usable(options.directory_id))
    options.directory_id = names_directory(assigned) && logs_.is_usable(assigned) ? assigned : Uuid{};
  auto log = logs_.create(name, options, wall_clock_now());
  if (log || log.error().kind != ErrorKind::already_exists) return log;
  // A log of an earlier topic of this name, whose deletion was not finished before the last stop.
  logger.warn("partition={} has another topic id than the metadata; set aside", name.to_string());
  if (auto aside = logs_.set_aside(name); !aside) return std::unexpected(aside.error());
  return logs_.create(name, options, wall_clock_now());
}

// --- the start ---------------------------------------------------------------------------------------------

void ReplicaManager::settle_futures(const metadata::MetadataImage& image) {
  const Instant now = std::chrono::steady_clock::now();
  for (const storage::TopicPartition& name : logs_.futures()) {
    const auto future = logs_.future(name);
    if (!future) continue;
    const auto* topic = image.topic(name.topic);
    const auto* partition = topic != nullptr ? topic->partition(name.partition) : nullptr;
    const auto id = future->log->topic_id();
    Result<void> done;
    if (partition == nullptr || std::ranges::find(partition->replicas, node_) == partition->replicas.end()) {
      done = logs_.set_aside(name);
    } else if (id && *id != topic->id && !id->is_zero()) {
      done = logs_.remove_future(name, now);
    } else {
      const auto present = logs_.get(name);
      // One that is ahead had taken the place of the other, which nobody has written to since.
      const bool in_place =
          present ? future->log->log_end_offset() > (*present)->log_end_offset()
                  : future->directory_id == partition->directory_of(node_) || !logs_.any_offline();
      if (!in_place) continue;
      logger.info("partition={} had moved when the last run ended, now in {}", name.to_string(),
                  future->path);
      done = logs_.promote_future(name, now);
    }
    if (done) continue;
    logger.error("partition={} not settled: {}", name.to_string(), done.error().message);
    logs_.report_directory(future->path, done.error());
    switches_unfinished_ = true;
  }
}

void ReplicaManager::finish_switches(Instant now) {
  if (!std::exchange(switches_unfinished_, false)) return;
  for (const storage::TopicPartition& name : logs_.unfinished_switches()) {
    const auto finished = logs_.finish_switch(name, now);
    if (!finished && finished.error().kind == ErrorKind::no_space) switches_unfinished_ = true;
  }
}

void ReplicaManager::go_on_moving() {
  if (mover_ == nullptr) return;
  for (const storage::TopicPartition& name : logs_.futures()) {
    if (const Found found = find(name.topic, name.partition); found.partition) mover_->start(found.partition);
  }
}

// --- requests ----------------------------------------------------------------------------------------------

ErrorCode ReplicaManager::move(const storage::TopicPartition& name, const std::string& path) {
  if (!storage::can_have_future(name)) return ErrorCode::invalid_topic_exception;
  const auto directory = logs_.directory_at(path);
  if (!directory) return ErrorCode::log_dir_not_found;
  if (!directory->usable) return ErrorCode::kafka_storage_error;
  const Found found = find(name.topic, name.partition);
  if (!found.partition && found.error == ErrorCode::unknown_topic_or_partition)
    return note_wish(name, directory->directory_id);
  if (!found.partition) return found.error;
  if (mover_ == nullptr) return ErrorCode::kafka_storage_error;

  const std::scoped_lock lock(alter_mutex_);
  const Instant now = std::chrono::steady_clock::now();
  const auto on_its_way = logs_.future(name);
  if (!on_its_way || on_its_way->directory_id != directory->directory_id) {
    if (const auto cancelled = mover_->cancel(name, now + arrival_max); !cancelled)
      return error_code_of(cancelled.error().kind);
    if (const auto removed = logs_.remove_future(name, now);
        !removed && removed.error().kind != ErrorKind::not_found) {
      logs_.report_directory(on_its_way ? on_its_way->path : path, removed.error());
      return error_code_of(removed.error().kind);
    }
    if (on_its_way)
      logger.info("replica no longer moves partition={} to={}", name.to_string(), on_its_way->path);
  }
  if (logs_.directory_of(name) == directory->directory_id) return ErrorCode::none;
  if (const auto made = logs_.create_future(name, directory->directory_id, wall_clock_now()); !made) {
    logger.warn("replica not moved partition={} to={} reason=\"{}\"", name.to_string(), path,
                made.error().message);
    return made.error().kind == ErrorKind::already_exists ? ErrorCode::request_timed_out
                                                          : error_code_of(made.error().kind);
  }
  mover_->start(found.partition);
  return ErrorCode::none;
}

ErrorCode ReplicaManager::note_wish(const storage::TopicPartition& name, const Uuid& directory_id) {
  const std::scoped_lock lock(wishes_mutex_);
  if (wishes_.size() >= wishes_max && !wishes_.contains(name)) wishes_.erase(wishes_.begin());
  wishes_.insert_or_assign(name, directory_id);
  return ErrorCode::unknown_topic_or_partition;
}

Uuid ReplicaManager::take_wish(const storage::TopicPartition& name) {
  const std::scoped_lock lock(wishes_mutex_);
  const auto found = wishes_.find(name);
  if (found == wishes_.end()) return {};
  const Uuid directory_id = found->second;
  wishes_.erase(found);
  return directory_id;
}

// --- second attempts ---------------------------------------------------------------------------------------

Instant ReplicaManager::retry_failed(Instant now) {
  const std::scoped_lock lock(change_mutex_);
  if (failed_.empty() && !switches_unfinished_) {
    retry_pause_ = first_retry;
    retry_at_ = now + first_retry;
    return Instant::max();
  }
  if (now < retry_at_) return retry_at_;
  finish_switches(now);
  const auto failed = std::exchange(failed_, {});
  for (const auto& [key, is_new] : failed) {
    const auto* topic = image_->topic(key.first);
    const PartitionIndex index{key.second};
    const auto* partition = topic != nullptr ? topic->partition(index) : nullptr;
    if (partition == nullptr) continue;
    auto made = host({topic->name, index}, *topic, *partition, settings_of(topic->name, *image_), is_new);
    if (!made) continue;
    logger.info("partition={} made, there is room again", made->name().to_string());
    const std::unique_lock map_lock(mutex_);
    const auto at = by_id_.find(topic->id);
    if (at == by_id_.end()) continue;
    auto hosted = std::make_shared<HostedTopic>(*at->second);
    hosted->partitions[static_cast<std::size_t>(key.second)] = std::move(made);
    at->second = hosted;
    by_name_.insert_or_assign(topic->name, std::move(hosted));
  }
  const bool done = failed_.empty() && !switches_unfinished_;
  retry_pause_ = done ? first_retry : std::min(retry_pause_ * 2, longest_retry);
  retry_at_ = now + retry_pause_;
  return done ? Instant::max() : retry_at_;
}

}  // namespace barnabas::broker
