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
  MetadataLogSettings log;
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

  /// Takes the records of one operation in and gives the image that they make. It is not committed yet:
  /// nobody may see it before commit() has returned. Everything between two commits stands or falls together.
  /// After an error the quorum is of no use.
  Result<metadata::NextImage> append(const metadata::RecordList& records, TimestampMs now);
  /// Whether the next commit has room for the records; if not, commit first.
  bool fits(const metadata::RecordList& records) const { return log_->fits(records); }
  /// Writes everything appended and makes it durable. Blocks. ErrorKind::no_space and too_large: nothing of
  /// it has been, and all is as after the commit before. After any other error the quorum is of no use.
  Result<void> commit(TimestampMs now) { return log_->commit(epoch_, now); }

  /// With everything appended, committed or not.
  const metadata::MetadataImagePtr& image() const { return log_->replayer().image(); }
  Offset next_offset() const { return log_->next_offset(); }
  LeaderEpoch epoch() const { return epoch_; }
  const LocalQuorumOptions& options() const { return options_; }

  /// Writes quorum-state, once. May wait until there is time: whoever reads an old one takes the epoch from
  /// the log. Blocks.
  Result<void> write_state();

  bool snapshot_due() const { return log_->snapshot_due(); }
  bool has_news_since_snapshot() const { return log_->has_news(); }
  /// Of image(), which must be committed. Blocks.
  Result<void> write_snapshot(TimestampMs now) { return log_->write_snapshot(*image(), now); }

  /// What was made good while opening, for the operator; empty: nothing.
  std::string healed() const { return log_->healed(); }
  /// Commits and leaves the log so that its indexes are whole.
  Result<void> close_clean(TimestampMs now);

 private:
  LocalQuorum(io::Disk& disk, LocalQuorumOptions options, std::unique_ptr<MetadataLog> log)
      : disk_(disk), options_(std::move(options)), log_(std::move(log)) {}

  Result<void> check_features();
  Result<void> check_voters();
  Result<void> become_leader(TimestampMs now);
  Result<void> stage(const metadata::RecordList& records, TimestampMs now);
  Result<void> stage_bootstrap(TimestampMs now);
  Result<void> stage_formatted(const metadata::RecordList& formatted, TimestampMs now);
  Result<void> stage_controller(TimestampMs now);

  io::Disk& disk_;
  LocalQuorumOptions options_;
  std::unique_ptr<MetadataLog> log_;
  LeaderEpoch epoch_ = no_leader_epoch;
  bool state_written_ = false;
};

}  // namespace barnabas::cluster
