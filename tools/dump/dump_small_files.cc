#include "tools/dump/dump_small_files.h"

#include <nlohmann/json.hpp>

#include "base/uuid.h"
#include "storage/checkpoint_file.h"
#include "storage/clean_shutdown.h"
#include "storage/leader_epoch_cache.h"
#include "storage/meta_properties.h"
#include "storage/producer_snapshot.h"

namespace barnabas::tools {

void dump_producer_snapshot(ByteView content, DumpReport& report) {
  const auto entries = storage::producer_snapshot::parse(content);
  if (!entries) return report.problem(entries.error().message);
  for (const storage::ProducerStateEntry& entry : *entries) {
    const auto batches = entry.known_batches();
    const storage::ProducerBatch last = batches.empty() ? storage::ProducerBatch{} : batches.back();
    report.line(
        "producerId={} producerEpoch={} lastSequence={} lastOffset={} offsetDelta={} lastTime={} "
        "coordinatorEpoch={} "
        "currentTransactionFirstOffset={}",
        entry.producer_id.value(), entry.epoch.value(), last.last_sequence, last.last_offset.value(),
        last.offset_delta, readable_time(entry.last_timestamp), entry.coordinator_epoch,
        entry.current_txn_first_offset.value());
  }
  report.line("end: {} producers", entries->size());
}

void dump_offset_checkpoint(std::string_view content, DumpReport& report) {
  const auto offsets = storage::parse_offset_checkpoint(content);
  if (!offsets) return report.problem(offsets.error().message);
  for (const auto& [name, offset] : *offsets)
    report.line("topic={} partition={} offset={}", name.topic, name.partition.value(), offset.value());
  report.line("end: {} partitions", offsets->size());
}

void dump_leader_epochs(std::string_view content, DumpReport& report) {
  const auto epochs = storage::LeaderEpochCache::parse(content);
  if (!epochs) return report.problem(epochs.error().message);
  for (const storage::EpochStart& start : epochs->entries())
    report.line("leaderEpoch={} startOffset={}", start.epoch.value(), start.start_offset.value());
  report.line("end: {} epochs", epochs->entries().size());
}

void dump_partition_metadata(std::string_view content, DumpReport& report) {
  constexpr std::string_view version = "version: 0\n";
  constexpr std::string_view topic_id = "topic_id: ";
  if (!content.starts_with(version)) return report.problem("line 1: \"version: 0\" expected");
  std::string_view rest = content.substr(version.size());
  if (!rest.starts_with(topic_id)) return report.problem("line 2: \"topic_id: …\" expected");
  rest.remove_prefix(topic_id.size());
  if (rest.ends_with('\n')) rest.remove_suffix(1);
  const auto id = Uuid::parse(rest);
  if (!id) return report.problem("line 2: " + id.error().message);
  report.line("version=0 topicId={}", id->to_string());
}

void dump_meta_properties(std::string_view content, DumpReport& report) {
  const auto properties = storage::parse_meta_properties(content);
  if (!properties) return report.problem(properties.error().message);
  report.line("version=1 clusterId={} nodeId={} directoryId={}", properties->cluster_id,
              properties->node_id.value(),
              properties->directory_id.is_zero() ? "none" : properties->directory_id.to_string());
}

void dump_clean_shutdown(std::string_view content, DumpReport& report) {
  report.line("clean brokerEpoch={}", storage::parse_clean_shutdown(content).value());
}

void dump_quorum_state(std::string_view content, DumpReport& report) {
  const auto json = nlohmann::json::parse(content, nullptr, false);
  if (!json.is_object()) return report.problem("no JSON object found");
  const auto version = json.find("data_version");
  if (version == json.end() || !version->is_number_integer() || (*version != 0 && *version != 1))
    return report.problem("data_version 0 or 1 expected");
  report.line("{}", json.dump());
}

}  // namespace barnabas::tools
