#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "base/types.h"
#include "broker/fetch_session.h"
#include "broker/replica_manager.h"
#include "cluster/controller_gateway.h"
#include "io/disk_pool.h"
#include "metadata/publisher.h"
#include "metadata/static_config.h"
#include "storage/log_manager.h"

namespace barnabas::security {
class Authorizer;
}

namespace barnabas::broker {

class Authentication;
class ClientTelemetry;
class GroupCoordinator;
class ListenerStores;
class ProducerIds;
class Quotas;
class TransactionCoordinator;
class TransactionVerifier;

/// One address under which clients reach this broker.
struct AdvertisedListener {
  std::string listener;  ///< name, upper case
  std::string host;
  uint16_t port = 0;
  int16_t security_protocol =
      0;  ///< as in registration records: 0 PLAINTEXT, 1 SSL, 2 SASL_PLAINTEXT, 3 SASL_SSL
};

/// What handlers work with. Everything outlives the server that calls them and may be used from any thread.
struct Services {
  NodeId node;
  std::string cluster_id;
  std::vector<AdvertisedListener> listeners;
  const metadata::StaticConfig& config;
  metadata::ImagePublisher& metadata;
  cluster::ControllerGateway& controller;
  ReplicaManager& replicas;
  storage::LogManager& logs;
  io::DiskPool& disk_pool;
  FetchSessionCache& fetch_sessions;
  ProducerIds& producer_ids;
  GroupCoordinator& groups;
  TransactionCoordinator& transactions;
  /// Asked before the first batch of a transaction is appended.
  TransactionVerifier& transaction_verifier;
  ClientTelemetry& telemetry;
  /// transaction.partition.verification.enable, as it is now; a request asks once.
  const std::atomic<bool>& verify_transactions;
  /// Null: none is configured, and everybody may do everything.
  security::Authorizer* authorizer = nullptr;
  /// Null: no listener asks for SASL.
  Authentication* authentication = nullptr;
  Quotas* quotas = nullptr;
  /// Null: no listener encrypts.
  ListenerStores* listener_stores = nullptr;

  // Settings that every request asks for, read once.
  bool auto_create_topics = true;
  bool delete_topics = true;
  bool check_record_contents = true;
  int32_t fetch_bytes_max = 57'671'680;
};

}  // namespace barnabas::broker
