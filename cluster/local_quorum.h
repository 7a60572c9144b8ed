#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "cluster/metadata_log.h"
#include "metadata/image.h"
#include "metadata/record_list.h"

namespace barnabas::cluster {

/// A feature's level that a new cluster begins with.
struct FeatureLevel {
  std::string name;
  int16_t level = 0;
};

/// Kafka 4.4's levels, in the order in which it writes them.
std::vector<FeatureLevel> default_feature_levels();
/// What this node can read and claims at registration: Kafka 4.4's ranges.
std::map<std::string, metadata::FeatureRange, std::less<>> supported_features();

struct LocalQuorumOptions {
  std::string log_directory;  ///< the one that holds, or will hold, the metadata log
  std::string cluster_id;
  NodeId node_id;
  Uuid directory_id;  ///< of log_directory, from meta.properties
  /// The last run ended cleanly (the directory's clean-shutdown marker): the log needs no recovery.
  bool clean = false;
  /// Where a controller of this node would listen: Kafka looks it up in the Voters record when the directory
  /// moves there.
  metadata::BrokerEndpoint controller_endpoint{"CONTROLLER", "127.0.0.1", 9093, 0};
  /// For a new log only.
  std::vector<FeatureLevel> bootstrap_features = default_feature_levels();
  /// A snapshot is due when so many bytes came after the last
  /// (metadata.log.max.record.bytes.between.snapshots).
  uint64_t snapshot_bytes = 20 << 20;
};

/// The metadata quorum of one voter, which is always its leader: appends, and commits by syncing. Same files
/// and records as Kafka's (docs/formats/metadata-log.md). One thread.
class LocalQuorum {
 public:
  /// Loads the log and becomes leader in the next epoch; a new log gets the bootstrap records. All of it is
  /// durable on return, except for quorum-state. Blocks. ErrorKind::invalid, with what was found and what was
  /// expected, for a directory of a quorum that is not this node alone.
  static Result<std::unique_ptr<LocalQuorum>> open(io::Disk& disk, storage::FilePool& files,
                                                   LocalQuorumOptions options, TimestampMs now);

  /// Appends the records as one batch and gives the image that they make. It is not committed yet: nobody may
  /// see it before commit() has returned. ErrorKind::no_space leaves all as it was; after any other error the
  /// quorum is of no use.
  Result<metadata::NextImage> append(const metadata::RecordList& records, TimestampMs now);
  /// Makes everything appended durable. Blocks. After an error the quorum is of no use.
  Result<void> commit();

  /// With everything appended, committed or not.
  const metadata::MetadataImagePtr& image() const { return log_->replayer().image(); }
  Offset next_offset() const { return log_->end_offset(); }
  LeaderEpoch epoch() const { return epoch_; }

  /// Writes quorum-state, once. May wait until there is time: whoever reads an old one takes the epoch from
  /// the log. Blocks.
  Result<void> write_state();

  bool snapshot_due() const { return log_->bytes_since_snapshot() >= options_.snapshot_bytes; }
  /// Of image(), which must be committed. Blocks.
  Result<void> write_snapshot(TimestampMs now) { return log_->write_snapshot(*image(), now); }

  const storage::RecoveryReport& recovery() const { return log_->recovery(); }
  /// Commits and leaves the log so that its indexes are whole.
  Result<void> close_clean();

 private:
  LocalQuorum(io::Disk& disk, LocalQuorumOptions options, std::unique_ptr<MetadataLog> log)
      : disk_(disk), options_(std::move(options)), log_(std::move(log)) {}

  Result<void> check_features();
  Result<void> check_voters();
  Result<void> become_leader(TimestampMs now);
  Result<void> append_bootstrap(TimestampMs now);
  Result<void> append_controller(TimestampMs now);

  io::Disk& disk_;
  LocalQuorumOptions options_;
  std::unique_ptr<MetadataLog> log_;
  LeaderEpoch epoch_ = no_leader_epoch;
  bool state_written_ = false;
};

}  // namespace barnabas::cluster
