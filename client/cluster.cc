#include "client/cluster.h"

#include <algorithm>
#include <thread>

#include "protocol/messages/find_coordinator_request.h"
#include "protocol/messages/find_coordinator_response.h"
#include "protocol/messages/metadata_request.h"

namespace barnabas::client {

using protocol::ErrorCode;

namespace {

/// What to do about it, where that can be said without knowing more.
std::string_view remedy(ErrorCode code) {
  switch (code) {
    case ErrorCode::unknown_topic_or_partition:
      return "barnabas topic list shows those that there are";
    case ErrorCode::topic_already_exists:
      return "take another name, or add --if-not-exists";
    case ErrorCode::topic_authorization_failed:
    case ErrorCode::group_authorization_failed:
    case ErrorCode::cluster_authorization_failed:
    case ErrorCode::transactional_id_authorization_failed:
      return "an administrator gives the right with barnabas acl create";
    case ErrorCode::security_disabled:
      return "set authorizer.class.name for the brokers first";
    case ErrorCode::group_id_not_found:
      return "barnabas group list shows those that there are";
    case ErrorCode::non_empty_group:
    case ErrorCode::group_subscribed_to_topic:
      return "stop its members first";
    case ErrorCode::resource_not_found:
      return "the list command shows what there is";
    default:
      return "";
  }
}

}  // namespace

std::string error_text(int16_t code, const std::optional<protocol::String>& words) {
  const auto known = protocol::error_code(code);
  std::string text = known ? std::string(protocol::name(*known)) : "error " + std::to_string(code);
  if (words && !words->empty()) {
    text += ": " + words->str();
  } else if (known) {
    text += ": " + std::string(protocol::default_message(*known));
  }
  if (!known || remedy(*known).empty()) return text;
  while (text.ends_with('.')) text.pop_back();
  return text + "; " + std::string(remedy(*known));
}

Cluster::Cluster(ConnectionSettings settings)
    : settings_(std::move(settings)), deadline_(std::chrono::steady_clock::now() + settings_.timeout) {}

Result<std::unique_ptr<Cluster>> Cluster::open(ConnectionSettings settings) {
  BARNABAS_TRY(check(settings));
  std::unique_ptr<Cluster> cluster(new Cluster(std::move(settings)));
  if (security::encrypts(cluster->settings_.protocol)) {
    BARNABAS_ASSIGN(TlsClient tls, TlsClient::load(cluster->settings_));
    cluster->tls_ = std::make_unique<TlsClient>(std::move(tls));
  }
  std::optional<Error> failure;
  for (const std::string& server : cluster->settings_.bootstrap_servers) {
    BARNABAS_ASSIGN(const HostPort address, parse_host_port(server));
    auto connection = Connection::open(cluster->settings_, cluster->tls_.get(), address, cluster->deadline_);
    if (connection) {
      cluster->first_ = std::make_unique<Connection>(std::move(*connection));
      return cluster;
    }
    failure = std::move(connection.error());
    if (failure->kind == ErrorKind::invalid) break;  // it would be the same elsewhere
  }
  return std::unexpected<Error>(std::move(*failure));
}

void Cluster::remember(const protocol::MetadataResponse& metadata) {
  for (const auto& each : metadata.brokers)
    addresses_[each.node_id] = {each.host.str(), std::to_string(each.port)};
}

bool Cluster::pause() const {
  constexpr auto between_tries = std::chrono::milliseconds(100);
  if (std::chrono::steady_clock::now() + between_tries >= deadline_) return false;
  std::this_thread::sleep_for(between_tries);
  return true;
}

Result<Cluster::Metadata> Cluster::metadata(const std::optional<std::vector<std::string>>& topics,
                                            bool may_create) {
  protocol::MetadataRequest request;
  request.allow_auto_topic_creation = may_create;
  request.topics = std::nullopt;
  if (topics) {
    request.topics.emplace();
    for (const std::string& name : *topics) request.topics->emplace_back().name = name;
  }
  auto answer = ask(request, 4);
  if (!answer && answer.error().kind == ErrorKind::closed &&
      !security::authenticates_by_sasl(settings_.protocol))
    return fail(ErrorKind::closed,
                answer.error().message +
                    "; the listener may want a login: add --user, --password and --sasl-mechanism");
  if (answer && answer->body.error_code != 0)
    return fail(ErrorKind::invalid, error_text(answer->body.error_code));
  if (answer) remember(answer->body);
  return answer;
}

Result<Cluster::Metadata> Cluster::topics(const std::vector<std::string>& names) {
  // A new topic may be known to the controller and not to the broker yet: see Metadata in Kafka's protocol.
  BARNABAS_ASSIGN(auto found, metadata(names));
  for (const auto& topic : found->topics)
    if (topic.error_code != 0)
      return fail(ErrorKind::not_found,
                  "topic " + (topic.name ? topic.name->str() : "") + ": " + error_text(topic.error_code));
  return found;
}

Result<std::vector<int32_t>> Cluster::broker_ids() {
  BARNABAS_ASSIGN(const Metadata answer, metadata(std::vector<std::string>()));
  std::vector<int32_t> ids;
  for (const auto& each : answer->brokers) ids.push_back(each.node_id);
  std::ranges::sort(ids);
  return ids;
}

Result<Connection*> Cluster::broker(int32_t id) {
  if (!addresses_.contains(id)) BARNABAS_TRY(metadata(std::vector<std::string>()));
  const auto address = addresses_.find(id);
  if (address == addresses_.end()) {
    std::string known;
    for (const auto& each : addresses_) known += (known.empty() ? "" : ", ") + std::to_string(each.first);
    return fail(ErrorKind::not_found, "no broker has the id " + std::to_string(id) + "; there are: " + known);
  }
  auto& connection = brokers_[id];
  if (!connection) {
    auto opened = Connection::open(settings_, tls_.get(), address->second, deadline_);
    if (!opened)
      return fail("broker " + std::to_string(id) + ", by its advertised address", std::move(opened.error()));
    connection = std::make_unique<Connection>(std::move(*opened));
  }
  return connection.get();
}

Result<Connection*> Cluster::coordinator(const std::string& group) {
  protocol::FindCoordinatorRequest request;
  request.key = group;
  while (true) {
    // Version 3 is the last one that asks for one, and every broker has it.
    BARNABAS_ASSIGN(const auto answer, ask(request, 1, 3));
    if (answer->error_code == 0) {
      addresses_[answer->node_id] = {answer->host.str(), std::to_string(answer->port)};
      return broker(answer->node_id);
    }
    if (answer->error_code != protocol::to_wire(ErrorCode::coordinator_not_available) || !pause())
      return fail(ErrorKind::invalid, "coordinator of group " + group + ": " +
                                          error_text(answer->error_code, answer->error_message));
  }
}

}  // namespace barnabas::client
