// How records about brokers change the image.

#include "metadata/delta.h"

namespace barnabas::metadata {

void MetadataDelta::note_broker(NodeId id) {
  changes_.changed_brokers.push_back(id);
}

Result<void> MetadataDelta::apply(const protocol::RegisterBrokerRecord& record) {
  BrokerImage broker;
  broker.id = NodeId(record.broker_id);
  broker.epoch = BrokerEpoch(record.broker_epoch);
  broker.incarnation_id = record.incarnation_id;
  for (const auto& endpoint : record.end_points)
    broker.endpoints.push_back(
        {endpoint.name.str(), endpoint.host.str(), endpoint.port, endpoint.security_protocol});
  for (const auto& feature : record.features)
    broker.features[feature.name.str()] = {feature.min_supported_version, feature.max_supported_version};
  if (record.rack) broker.rack = record.rack->str();
  broker.fenced = record.fenced;
  broker.in_controlled_shutdown = record.in_controlled_shutdown;
  broker.is_migrating_zk_broker = record.is_migrating_zk_broker;
  broker.log_dirs = record.log_dirs;
  broker.cordoned_log_dirs = record.cordoned_log_dirs;
  note_broker(broker.id);
  image_.brokers[broker.id] = std::make_shared<const BrokerImage>(std::move(broker));
  return {};
}

Result<void> MetadataDelta::apply(const protocol::UnregisterBrokerRecord& record) {
  auto at = image_.brokers.find(NodeId(record.broker_id));
  if (at == image_.brokers.end() || at->second->epoch != BrokerEpoch(record.broker_epoch)) return {};
  note_broker(at->first);
  image_.brokers.erase(at);
  return {};
}

void MetadataDelta::set_fenced(NodeId id, BrokerEpoch epoch, bool fenced) {
  auto at = image_.brokers.find(id);
  if (at == image_.brokers.end() || at->second->epoch != epoch) return;
  auto changed = std::make_shared<BrokerImage>(*at->second);
  changed->fenced = fenced;
  at->second = std::move(changed);
  note_broker(id);
}

Result<void> MetadataDelta::apply(const protocol::FenceBrokerRecord& record) {
  set_fenced(NodeId(record.id), BrokerEpoch(record.epoch), true);
  return {};
}

Result<void> MetadataDelta::apply(const protocol::UnfenceBrokerRecord& record) {
  set_fenced(NodeId(record.id), BrokerEpoch(record.epoch), false);
  return {};
}

Result<void> MetadataDelta::apply(const protocol::BrokerRegistrationChangeRecord& record) {
  const NodeId id(record.broker_id);
  auto at = image_.brokers.find(id);
  // A change for an earlier registration says nothing about the present one.
  if (at == image_.brokers.end() || at->second->epoch != BrokerEpoch(record.broker_epoch)) return {};
  auto changed = std::make_shared<BrokerImage>(*at->second);
  if (record.fenced != 0) changed->fenced = record.fenced > 0;
  if (record.in_controlled_shutdown != 0) changed->in_controlled_shutdown = record.in_controlled_shutdown > 0;
  if (!record.log_dirs.empty()) changed->log_dirs = record.log_dirs;
  if (record.cordoned_log_dirs) changed->cordoned_log_dirs = record.cordoned_log_dirs;
  at->second = std::move(changed);
  note_broker(id);
  return {};
}

}  // namespace barnabas::metadata
