// UnregisterBroker (64): rules and texts as Apache Kafka 4.4 has them.

#include <algorithm>

#include "cluster/api_error.h"
#include "cluster/local_controller.h"
#include "cluster/partition_change.h"
#include "metadata/record_versions.h"
#include "protocol/messages/unregister_broker_record.h"

namespace barnabas::cluster {

using protocol::ErrorCode;
using Request = protocol::UnregisterBrokerRequest;
using Response = protocol::UnregisterBrokerResponse;

Outcome<Response> LocalController::unregister_broker(const Request& request,
                                                     const ControllerState& state) const {
  Outcome<Response> outcome;
  const auto& image = state.image;
  const NodeId gone(request.broker_id);
  const auto* broker = image.broker(gone);
  if (broker == nullptr) {
    set_error(outcome.response,
              {ErrorCode::broker_id_not_registered,
               "Broker ID " + std::to_string(request.broker_id) + " is not currently registered"});
    return outcome;
  }
  if (gone == options_.node_id && !broker->fenced) {
    set_error(outcome.response, {ErrorCode::invalid_request,
                                 "Broker ID " + std::to_string(request.broker_id) +
                                     " is running and is the one that answers; it cannot be unregistered"});
    return outcome;
  }
  // Wherever it led or was in sync, somebody else takes over, or nobody.
  const int16_t version = metadata::partition_change_record_version(image.metadata_version());
  for (const auto& topic : image.topics_by_name) {
    for (int32_t i = 0; i < topic->partition_count(); ++i) {
      const auto& partition = *topic->partition(PartitionIndex(i));
      const bool in_sync = std::ranges::find(partition.isr, gone) != partition.isr.end();
      if (!in_sync && partition.leader != gone) continue;
      PartitionTarget target(partition);
      std::erase(target.isr, gone);
      const auto record =
          change_partition(topic->id, PartitionIndex(i), partition, std::move(target),
                           {.image = image,
                            .min_insync_replicas = min_insync_replicas(topic->name, image, options_.node_id,
                                                                       *options_.static_config),
                            .is_alive = [&](const auto& which, NodeId node) {
                              return node != gone && is_alive_in(image, which, node);
                            }});
      if (record) outcome.records.add(*record, version);
    }
  }
  protocol::UnregisterBrokerRecord record;
  record.broker_id = request.broker_id;
  record.broker_epoch = broker->epoch.value();
  outcome.records.add(record);
  return outcome;
}

}  // namespace barnabas::cluster
