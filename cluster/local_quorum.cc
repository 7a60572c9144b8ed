#include "cluster/local_quorum.h"

#include <algorithm>

#include "base/assert.h"
#include "cluster/quorum_state.h"
#include "metadata/delta.h"
#include "metadata/image_writer.h"
#include "metadata/record_versions.h"
#include "metadata/supported_features.h"
#include "protocol/messages/abort_transaction_record.h"
#include "protocol/messages/begin_transaction_record.h"
#include "protocol/messages/config_record.h"
#include "protocol/messages/end_transaction_record.h"
#include "protocol/messages/feature_level_record.h"
#include "protocol/messages/register_controller_record.h"

namespace barnabas::cluster {
namespace {

/// What a new cluster is formatted with: dynamic quorum (KIP-853).
constexpr int16_t new_kraft_version = 1;

std::string numbers(const std::vector<NodeId>& nodes) {
  std::string text;
  for (const NodeId node : nodes) text += (text.empty() ? "" : ", ") + std::to_string(node.value());
  return text;
}

}  // namespace

std::vector<FeatureLevel> default_feature_levels() {
  return {{"metadata.version", metadata::metadata_version_max},
          {"eligible.leader.replicas.version", 1},
          {"group.version", 1},
          {"share.version", 2},
          {"streams.version", 1},
          {"transaction.version", 2}};
}

std::map<std::string, metadata::FeatureRange, std::less<>> supported_features() {
  std::map<std::string, metadata::FeatureRange, std::less<>> features;
  for (const metadata::SupportedFeature& feature : metadata::supported_features)
    features.emplace(feature.name, metadata::FeatureRange{feature.min, feature.max});
  return features;
}

Result<std::unique_ptr<LocalQuorum>> LocalQuorum::open(io::Disk& disk, storage::FilePool& files,
                                                       LocalQuorumOptions options, TimestampMs now) {
  metadata::MetadataImage start;
  start.cluster_id = options.cluster_id;
  BARNABAS_ASSIGN(auto log, MetadataLog::open(disk, files, options.log_directory, options.clean, start,
                                              options.log, now));
  std::unique_ptr<LocalQuorum> quorum(new LocalQuorum(disk, std::move(options), std::move(log)));
  // What is loaded so far is needed as an image for the checks.
  if (!quorum->log_->replayer().in_transaction()) BARNABAS_TRY(quorum->log_->replayer().take());
  BARNABAS_TRY(quorum->check_features());
  BARNABAS_TRY(quorum->check_voters());
  BARNABAS_TRY(quorum->become_leader(now));
  return quorum;
}

/// Whoever goes on with features that it doesn't know writes what others cannot read, or loses what it cannot
/// read.
Result<void> LocalQuorum::check_features() {
  for (const auto& [name, level] : image()->features) {
    const auto known =
        std::ranges::find(metadata::supported_features, name, &metadata::SupportedFeature::name);
    if (known == metadata::supported_features.end())
      return fail(ErrorKind::unsupported, log_->directory() + ": the feature " + name + " is at level " +
                                              std::to_string(level) +
                                              ", and this version does not know it; start a newer version");
    if (level > known->max || level < known->min)
      return fail(ErrorKind::unsupported,
                  log_->directory() + ": the feature " + name + " is at level " + std::to_string(level) +
                      ", this version supports " + std::to_string(known->min) + " to " +
                      std::to_string(known->max) +
                      "; start a newer version, or lower it with kafka-features.sh first");
  }
  return {};
}

Result<void> LocalQuorum::check_voters() {
  const auto refuse = [&](const std::string& found) {
    return fail(ErrorKind::invalid,
                log_->directory() + ": " + found +
                    "; a broker on its own can only go on with the metadata log of a quorum " +
                    "whose single voter it is: node " + std::to_string(options_.node_id.value()) +
                    " in directory " + options_.directory_id.to_string() +
                    ". A member of a larger quorum cannot run alone; to start anew, use an empty directory");
  };
  const auto& voters = image()->voters;
  if (voters.size() > 1) {
    std::vector<NodeId> ids;
    for (const auto& voter : voters) ids.push_back(voter.id);
    return refuse("the metadata quorum has the voters " + numbers(ids));
  }
  if (voters.size() == 1) {
    const auto& voter = voters.front();
    if (voter.id != options_.node_id)
      return refuse("the voter of the metadata quorum is node " + std::to_string(voter.id.value()));
    if (!voter.directory_id.is_zero() && voter.directory_id != options_.directory_id)
      return refuse("the voter of the metadata quorum has the directory " + voter.directory_id.to_string());
    return {};
  }
  if (image()->kraft_version > 0)
    return refuse(
        "the metadata quorum has no voter: the directory was formatted to join the controllers of others");
  const auto& named = log_->replayer().leader_change_voters();
  if (named.size() > 1) return refuse("the metadata quorum has the voters " + numbers(named));
  if (named.size() == 1 && named.front() != options_.node_id)
    return refuse("the voter of the metadata quorum is node " + std::to_string(named.front().value()));
  return {};
}

Result<void> LocalQuorum::become_leader(TimestampMs now) {
  LeaderEpoch last = std::max(log_->last_epoch(), LeaderEpoch{0});
  // A damaged quorum-state is no loss: the log names the epoch of every batch, and nobody else can have
  // voted.
  if (auto state = read_quorum_state(disk_, log_->directory()); state && *state) {
    last = std::max(last, (*state)->epoch);
  } else if (!state && state.error().kind == ErrorKind::io) {
    return std::unexpected(std::move(state).error());
  }
  epoch_ = last + 1;
  // What kafka-storage.sh writes is a snapshot of nothing, which nobody reads again once there is a log: what
  // it says must come first in the log, as a Kafka controller does it.
  const bool is_formatted = log_->next_offset() == Offset{0} && !image()->features.empty();
  const bool is_new = log_->next_offset() == Offset{0} && !is_formatted;
  const metadata::RecordList formatted =
      is_formatted ? metadata::records_of(*image()) : metadata::RecordList{};

  std::vector<metadata::ControlRecord> control{
      metadata::leader_change_record(options_.node_id, {options_.node_id})};
  if (is_new) {
    control.push_back(metadata::kraft_version_record(new_kraft_version));
    control.push_back(metadata::voters_record(
        {{options_.node_id, options_.directory_id, {options_.controller_endpoint}, {0, new_kraft_version}}}));
  }
  if (is_formatted && image()->kraft_version > 0) {
    control.push_back(metadata::kraft_version_record(image()->kraft_version));
    control.push_back(metadata::voters_record(image()->voters));
  }
  BARNABAS_TRY(log_->commit_control(control, epoch_, now));
  if (log_->replayer().in_transaction()) {
    metadata::RecordList abort;
    abort.add(protocol::AbortTransactionRecord{});
    BARNABAS_TRY(log_->stage(abort, epoch_, now));
  }
  BARNABAS_TRY(log_->replayer().take());
  if (is_formatted) BARNABAS_TRY(stage_formatted(formatted, now));
  if (image()->features.empty()) BARNABAS_TRY(stage_bootstrap(now));
  BARNABAS_TRY(stage_controller(now));
  return commit(now);
}

Result<void> LocalQuorum::stage(const metadata::RecordList& records, TimestampMs now) {
  BARNABAS_TRY(log_->stage(records, epoch_, now));
  BARNABAS_TRY(log_->replayer().take());
  return {};
}

namespace {

protocol::BeginTransactionRecord begin_bootstrap() {
  protocol::BeginTransactionRecord begin;
  begin.name = protocol::String("Bootstrap records");
  return begin;
}

}  // namespace

Result<void> LocalQuorum::stage_formatted(const metadata::RecordList& formatted, TimestampMs now) {
  const bool as_transaction = metadata::has_transactions(image()->metadata_version());
  metadata::RecordList records;
  if (as_transaction) records.add(begin_bootstrap());
  for (std::size_t i = 0; i < formatted.size(); ++i) records.add_framed(formatted[i]);
  if (as_transaction) records.add(protocol::EndTransactionRecord{});
  return stage(records, now);
}

Result<void> LocalQuorum::stage_bootstrap(TimestampMs now) {
  metadata::RecordList records;
  records.add(begin_bootstrap());
  bool elr = false;
  for (const auto& [name, level] : options_.bootstrap_features) {
    protocol::FeatureLevelRecord record;
    record.name = name;
    record.feature_level = level;
    records.add(record);
    elr |= name == "eligible.leader.replicas.version" && level > 0;
  }
  if (elr) {
    // With eligible leader replicas min.insync.replicas is cluster metadata: all brokers must mean the same
    // by it.
    protocol::ConfigRecord record;
    record.resource_type = static_cast<int8_t>(metadata::ConfigResourceType::broker);
    record.name = "min.insync.replicas";
    record.value = protocol::String("1");
    records.add(record);
  }
  records.add(protocol::EndTransactionRecord{});
  return stage(records, now);
}

Result<void> LocalQuorum::stage_controller(TimestampMs now) {
  if (!metadata::registers_controllers(image()->metadata_version())) return {};
  protocol::RegisterControllerRecord record;
  record.controller_id = options_.node_id.value();
  record.incarnation_id = Uuid::random();
  auto& endpoint = record.end_points.emplace_back();
  endpoint.name = options_.controller_endpoint.listener;
  endpoint.host = options_.controller_endpoint.host;
  endpoint.port = options_.controller_endpoint.port;
  endpoint.security_protocol = options_.controller_endpoint.security_protocol;
  for (const auto& [name, range] : supported_features()) {
    auto& feature = record.features.emplace_back();
    feature.name = name;
    feature.min_supported_version = range.min;
    feature.max_supported_version = range.max;
  }
  metadata::RecordList records;
  records.add(record);
  return stage(records, now);
}

Result<metadata::NextImage> LocalQuorum::append(const metadata::RecordList& records, TimestampMs now) {
  if (log_->fits_one_batch(records) || !metadata::has_transactions(image()->metadata_version())) {
    BARNABAS_TRY(log_->stage(records, epoch_, now));
  } else {
    metadata::RecordList transaction;
    transaction.add(protocol::BeginTransactionRecord{});
    for (std::size_t i = 0; i < records.size(); ++i) transaction.add_framed(records[i]);
    transaction.add(protocol::EndTransactionRecord{});
    BARNABAS_TRY(log_->stage(transaction, epoch_, now, /*is_transaction=*/true));
  }
  BARNABAS_ASSIGN(auto next, log_->replayer().take());
  BARNABAS_ASSERT(next.has_value());
  return std::move(*next);
}

Result<void> LocalQuorum::write_state() {
  if (state_written_) return {};
  BARNABAS_TRY(write_quorum_state(disk_, log_->directory(), {options_.node_id, epoch_},
                                  image()->kraft_version, options_.node_id));
  state_written_ = true;
  return {};
}

Result<void> LocalQuorum::close_clean(TimestampMs now) {
  BARNABAS_TRY(commit(now));
  BARNABAS_TRY(write_state());
  return log_->close_clean();
}

}  // namespace barnabas::cluster
