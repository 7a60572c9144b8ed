#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/types.h"
#include "base/uuid.h"
#include "cluster/controller_gateway.h"
#include "metadata/image.h"
#include "metadata/publisher.h"

namespace barnabas::cluster {

/// What this broker says of itself when it registers.
struct BrokerIdentity {
  NodeId node_id;
  std::string cluster_id;
  std::vector<metadata::BrokerEndpoint> endpoints;  ///< advertised
  std::optional<std::string> rack;
  std::vector<Uuid> log_dirs;  ///< all that are usable
  /// From the clean-shutdown markers of the log directories; -1 after a crash.
  BrokerEpoch previous_epoch{-1};
};

/// Brings this broker into its cluster and out of it, through the gateway: registered (known, fenced) →
/// unfenced (leads) → fenced. The calls block until the controller has answered and the image shows it; one
/// thread, never the gateway's.
class BrokerLifecycle {
 public:
  /// The incarnation id is drawn here: one object is one run of the broker. References must outlive it.
  BrokerLifecycle(ControllerGateway& gateway, const metadata::ImagePublisher& publisher,
                  BrokerIdentity identity);

  /// ErrorKind::invalid with the controller's reason when it refuses.
  Result<BrokerEpoch> register_broker();
  /// After the logs are recovered and the listeners open.
  Result<void> unfence();
  /// Before the logs are closed; from then on this broker leads nothing in the eyes of the cluster.
  Result<void> shut_down();

  BrokerEpoch epoch() const { return epoch_; }

 private:
  Result<protocol::BrokerHeartbeatResponse> heartbeat(bool want_shut_down);

  ControllerGateway& gateway_;
  const metadata::ImagePublisher& publisher_;
  const BrokerIdentity identity_;
  const Uuid incarnation_id_ = Uuid::random();
  BrokerEpoch epoch_{-1};
};

}  // namespace barnabas::cluster
