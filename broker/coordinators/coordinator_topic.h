#pragma once

#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/log.h"
#include "cluster/controller_gateway.h"
#include "metadata/publisher.h"
#include "metadata/static_config.h"
#include "protocol/error_code.h"

namespace barnabas::broker {

/// The topic in which coordinators keep their logs, made when it is first asked for.
class CoordinatorTopic {
 public:
  struct Settings {
    std::string name;
    int32_t partitions = 50;
    /// Nothing was said: three, or as many as there are brokers.
    std::optional<int16_t> replication_factor;
    std::vector<std::pair<std::string, std::string>> configs;

    /// A compacted topic, by the settings `prefix`num.partitions, replication.factor and segment.bytes.
    /// `compression`: its compression.type.
    static Settings of(const metadata::StaticConfig& config, std::string_view name, const std::string& prefix,
                       std::string_view compression);
  };

  /// References must outlive it, and the controller must be closed before it goes.
  CoordinatorTopic(Settings settings, metadata::ImagePublisher& metadata,
                   cluster::ControllerGateway& controller)
      : settings_(std::move(settings)), metadata_(metadata), controller_(controller) {}

  const std::string& name() const { return settings_.name; }

  using Done = std::move_only_function<void()>;
  /// Calls `done` once the topic is there, or could not be made: the metadata then say which. On the calling
  /// thread when it is there already, else on one of the controller's. Calls that overlap share one request.
  void make(Done done);

 private:
  protocol::CreateTopicsRequest request() const;
  void made(const protocol::CreateTopicsResponse& response);

  const Settings settings_;
  metadata::ImagePublisher& metadata_;
  cluster::ControllerGateway& controller_;
  LogLimiter limiter_{1, std::chrono::seconds(10)};  ///< clients ask again and again
  std::mutex mutex_;
  std::vector<Done> waiting_;  ///< not empty: a request is under way
};

}  // namespace barnabas::broker
