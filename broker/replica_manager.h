#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/clock.h"
#include "base/text_hash.h"
#include "broker/partition.h"
#include "broker/replica_mover.h"
#include "metadata/image.h"
#include "metadata/publisher.h"
#include "metadata/static_config.h"
#include "protocol/error_code.h"
#include "storage/log_manager.h"

namespace barnabas::broker {

/// All partitions that this broker hosts. Follows the metadata: makes and removes logs as topics come and go,
/// hands on changed settings. Look-ups may come from any thread.
class ReplicaManager {
 public:
  /// All references must outlive it.
  ReplicaManager(NodeId node, storage::LogManager& logs, const metadata::StaticConfig& config,
                 PartitionServices& services);

  /// The metadata changed: called by the publisher, on its thread, before the image is shown to anybody.
  /// Makes the logs of new partitions, so it blocks on directory work.
  void apply(const metadata::MetadataChanges& changes, const metadata::MetadataImagePtr& image);

  struct Found {
    std::shared_ptr<Partition> partition;  ///< null: see error
    protocol::ErrorCode error = protocol::ErrorCode::none;
  };
  /// unknown_topic_or_partition, or kafka_storage_error when its log is lost.
  Found find(std::string_view topic, PartitionIndex index) const;
  /// unknown_topic_id, unknown_topic_or_partition, or kafka_storage_error.
  Found find(const Uuid& topic_id, PartitionIndex index) const;

  /// How to move partitions and to tell the controller where they are; both must outlive it. Without them
  /// nothing is moved or told. Before the first apply.
  void connect(ReplicaMover& mover, DirectoryAssignments& assignments) {
    mover_ = &mover;
    assignments_ = &assignments;
  }

  /// One partition of AlterReplicaLogDirs (34): begins to move it to the log directory `path`, which must be
  /// one of log.dirs letter by letter. Gives up a move to elsewhere; the directory where it is ends any move.
  /// A partition that is yet to be made will be made there, and answers unknown_topic_or_partition. Codes as
  /// Kafka's. Blocks on directory work.
  protocol::ErrorCode move(const storage::TopicPartition& name, const std::string& path);
  /// Tries again to make logs for which there was no room. Returns when to come again; Instant::max():
  /// nothing fails.
  Instant retry_failed(Instant now);

  /// For what is asked of partitions that are not here.
  BrokerTraffic& traffic() const { return services_.traffic; }

  /// A log directory failed: its partitions answer kafka_storage_error from now on.
  void lose(const std::vector<storage::TopicPartition>& lost);

  /// For the checkpoint of high watermarks.
  std::optional<Offset> high_watermark(const storage::TopicPartition& name) const;

 private:
  struct HostedTopic {
    std::string name;
    Uuid id;
    std::vector<std::shared_ptr<Partition>> partitions;  ///< null: its log is lost, or it is not ours
  };
  using TopicPtr = std::shared_ptr<const HostedTopic>;

  /// Logs that the metadata do not know any more are not served, and kept for a person to look at.
  void set_aside_strays(const metadata::MetadataImage& image);
  static Found find_in(const HostedTopic& topic, PartitionIndex index);
  void remove_topic(const metadata::TopicImage& topic);
  void update_topic(const metadata::TopicImage& topic, const metadata::MetadataImage& image, bool is_new);
  /// For a directory that failed while a topic was being made and lose() could not find it yet.
  void deactivate_lost(const HostedTopic& topic);
  void update_settings(const metadata::MetadataChanges& changes, const metadata::MetadataImage& image,
                       bool defaults_changed);
  /// Settings of a topic. Topics without settings of their own share one object.
  std::shared_ptr<const TopicSettings> settings_of(std::string_view topic,
                                                   const metadata::MetadataImage& image);
  std::shared_ptr<Partition> host(const storage::TopicPartition& name, const metadata::TopicImage& topic,
                                  const metadata::PartitionImage& partition,
                                  const std::shared_ptr<const TopicSettings>& settings, bool is_new);
  Result<std::shared_ptr<storage::Log>> open_log(const storage::TopicPartition& name, const Uuid& topic_id,
                                                 const Uuid& assigned, bool is_new);
  /// After a start: replicas that were on their way when the last run ended.
  void settle_futures(const metadata::MetadataImage& image);
  void finish_switches(Instant now);
  void go_on_moving();
  /// Takes the directory that was wished for a partition which did not exist; zero: none.
  Uuid take_wish(const storage::TopicPartition& name);
  protocol::ErrorCode note_wish(const storage::TopicPartition& name, const Uuid& directory_id);

  const NodeId node_;
  storage::LogManager& logs_;
  const metadata::StaticConfig& config_;
  PartitionServices& services_;
  ReplicaMover* mover_ = nullptr;
  DirectoryAssignments* assignments_ = nullptr;

  std::mutex change_mutex_;  ///< one change of what is hosted at a time; the next three
  std::shared_ptr<const TopicSettings> default_settings_;
  std::vector<std::string> broker_settings_;  ///< that topics depend on, as they are in force
  metadata::MetadataImagePtr image_;
  /// Logs that there was no room to make: topic id and partition, and whether it is new.
  std::map<std::pair<Uuid, int32_t>, bool> failed_;
  bool switches_unfinished_ = false;  ///< for want of room, too
  Instant retry_at_{};
  std::chrono::milliseconds retry_pause_{};

  std::mutex alter_mutex_;  ///< one request to move a partition at a time

  std::mutex wishes_mutex_;
  std::map<storage::TopicPartition, Uuid> wishes_;

  mutable std::shared_mutex mutex_;
  std::unordered_map<std::string, TopicPtr, TextHash, std::equal_to<>> by_name_;
  std::unordered_map<Uuid, TopicPtr> by_id_;
};

}  // namespace barnabas::broker
