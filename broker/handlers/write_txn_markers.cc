#include "broker/handlers/write_txn_markers.h"

#include <algorithm>
#include <optional>

#include "broker/handlers/coordinate.h"
#include "protocol/messages/write_txn_markers_response.h"

namespace barnabas::broker {
namespace {

using protocol::WriteTxnMarkersRequest;
using protocol::WriteTxnMarkersResponse;
using Written = WriteTxnMarkersResponse::WritableTxnMarkerResult;

coordinator::TransactionMarkers markers_of(const WriteTxnMarkersRequest::WritableTxnMarker& asked) {
  coordinator::TransactionMarkers markers;
  markers.producer_id = ProducerId{asked.producer_id};
  markers.producer_epoch = ProducerEpoch{asked.producer_epoch};
  markers.committed = asked.transaction_result;
  markers.coordinator_epoch = asked.coordinator_epoch;
  markers.transaction_version = asked.transaction_version;
  for (const auto& topic : asked.topics) {
    auto& partitions = markers.partitions[topic.name.str()];
    partitions.insert(partitions.end(), topic.partition_indexes.begin(), topic.partition_indexes.end());
  }
  for (auto& [topic, partitions] : markers.partitions) {
    std::ranges::sort(partitions);
    const auto repeated = std::ranges::unique(partitions);
    partitions.erase(repeated.begin(), repeated.end());
  }
  return markers;
}

Written answer_of(int64_t producer_id, const MarkerWriter::Results& results) {
  Written written;
  written.producer_id = producer_id;
  for (const coordinator::MarkerResult& result : results) {
    if (written.topics.empty() || written.topics.back().name != result.topic)
      written.topics.emplace_back().name = protocol::String(result.topic);
    auto& partition = written.topics.back().partitions.emplace_back();
    partition.partition_index = result.partition;
    partition.error_code = to_wire(result.error);
  }
  return written;
}

/// Nobody has such an id or epoch, or the sender may not: nothing is to be written.
std::optional<MarkerWriter::Results> refused(const coordinator::TransactionMarkers& markers, bool allowed) {
  if (allowed && markers.producer_id.value() >= 0 && markers.producer_epoch.value() >= 0) return std::nullopt;
  const auto error =
      allowed ? protocol::ErrorCode::invalid_request : protocol::ErrorCode::cluster_authorization_failed;
  MarkerWriter::Results results;
  for (const auto& [topic, partitions] : markers.partitions)
    for (const int32_t partition : partitions)
      results.push_back({.topic = topic, .partition = partition, .error = error});
  return results;
}

WriteTxnMarkersResponse join(const WriteTxnMarkersRequest&, std::vector<Written>&& written) {
  WriteTxnMarkersResponse response;
  response.markers = std::move(written);
  return response;
}

}  // namespace

void WriteTxnMarkersHandler::handle(Call call, Request request) {
  MarkerWriter& writer = call.services().transactions.markers();
  const std::size_t count = request.markers.size();
  const Rights rights = call.rights();
  const bool allowed = rights.may(Right::write_markers_alter) || rights.may(Right::write_markers_as_broker);
  const auto answer = std::make_shared<JoinedAnswer<Request, Written, decltype(&join)>>(
      std::move(call), std::move(request), count, &join);
  const auto& markers = answer->call.request.markers;
  for (std::size_t i = 0; i < count; ++i) {
    const int64_t id = markers[i].producer_id;
    const auto asked = markers_of(markers[i]);
    if (const auto results = refused(asked, allowed)) {
      answer->put(i, answer_of(id, *results));
      continue;
    }
    writer.write(asked, [answer, i, id](auto results) { answer->put(i, answer_of(id, results)); });
  }
  answer->finish_one();
}

}  // namespace barnabas::broker
