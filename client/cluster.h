#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "client/connection.h"
#include "client/connection_settings.h"
#include "protocol/error_code.h"
#include "protocol/messages/metadata_response.h"

namespace barnabas::client {

/// "UNKNOWN_TOPIC_OR_PARTITION: …", with the broker's own words if it has some.
std::string error_text(int16_t code, const std::optional<protocol::String>& words = std::nullopt);

/// A cluster as commands ask it: the connections that they need, each made when it is first needed. All of it
/// ends at one deadline, which the settings' timeout makes when the cluster is opened. One thread.
class Cluster {
 public:
  /// Connects to the first bootstrap server that answers.
  static Result<std::unique_ptr<Cluster>> open(ConnectionSettings settings);

  /// Any broker: what it cannot answer itself it passes on to the controller.
  template <class Request>
  Result<Answered<typename Request::Response>> ask(const Request& request,
                                                   int16_t version_min = Request::min_version,
                                                   int16_t version_max = Request::max_version) {
    return first_->call(request, deadline_, version_min, version_max);
  }

  /// The broker of this id. ErrorKind::not_found names those that there are.
  Result<Connection*> broker(int32_t id);
  /// The coordinator of a group. Waits, to the deadline, for one that is just being made or loaded.
  Result<Connection*> coordinator(const std::string& group);
  Connection& first() { return *first_; }
  Deadline deadline() const { return deadline_; }
  /// Whether work may be tried again before the deadline; waits a little.
  bool pause() const;

  using Metadata = Answered<protocol::MetadataResponse>;
  /// Of these topics, or (nothing) of all; no topic is made unless `may_create`. Errors of topics are the
  /// caller's.
  Result<Metadata> metadata(const std::optional<std::vector<std::string>>& topics, bool may_create = false);
  /// As above, but a topic that is not there is an error.
  Result<Metadata> topics(const std::vector<std::string>& names);
  /// Ids of all brokers.
  Result<std::vector<int32_t>> broker_ids();

  const ConnectionSettings& settings() const { return settings_; }

 private:
  explicit Cluster(ConnectionSettings settings);
  void remember(const protocol::MetadataResponse& metadata);

  ConnectionSettings settings_;
  Deadline deadline_;
  std::unique_ptr<TlsClient> tls_;
  std::unique_ptr<Connection> first_;
  std::map<int32_t, HostPort> addresses_;
  std::map<int32_t, std::unique_ptr<Connection>> brokers_;
};

}  // namespace barnabas::client
