#include "broker/handlers/find_coordinator.h"

#include <algorithm>
#include <optional>
#include <vector>

#include "broker/coordinators/group_coordinator.h"
#include "broker/coordinators/transaction_coordinator.h"
#include "broker/handlers/topic_description.h"
#include "protocol/messages/find_coordinator_response.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using protocol::FindCoordinatorRequest;
using protocol::FindCoordinatorResponse;

constexpr int8_t group_type = 0;
constexpr int8_t transaction_type = 1;
constexpr int8_t share_type = 2;
constexpr int16_t first_batched_version = 4;
constexpr int16_t first_version_with_share = 6;

/// What all keys are answered with, wherever they would be; none: it depends on the key. Share groups' state
/// is for brokers to find, and there is none here.
ErrorCode error_of_all(const Call& call, int8_t type) {
  if (type == group_type || type == transaction_type) return ErrorCode::none;
  const bool asks_for_share = type == share_type && call.version() >= first_version_with_share;
  if (asks_for_share && !call.rights().may(Right::find_coordinator_share))
    return authorization_failed(Right::find_coordinator_share);
  return ErrorCode::invalid_request;
}

struct Found {
  ErrorCode error = ErrorCode::none;
  std::optional<BrokerAddress> at;
};

template <class Coordinator>
Found find_key(const Call& call, const metadata::MetadataImage& image, Coordinator& coordinator,
               std::string_view key) {
  const Found not_available{ErrorCode::coordinator_not_available, std::nullopt};
  const auto index = coordinator.partition_of(key);
  const auto* partition = index ? image.partition(coordinator.topic().name(), *index) : nullptr;
  if (partition == nullptr) return not_available;
  for (const BrokerAddress& address : broker_addresses(call, image))
    if (address.id == partition->leader) return {ErrorCode::none, address};
  return not_available;
}

/// Coordinator: the whole response before v4, an element of it from then on.
template <class Coordinator>
void describe(const Found& found, Coordinator& answer) {
  answer.error_code = to_wire(found.error);
  answer.node_id = found.at ? found.at->id.value() : -1;
  answer.host = found.at ? protocol::String(found.at->host) : protocol::String();
  answer.port = found.at ? found.at->port : -1;
}

/// What stands against each key of the request, one before v4.
std::vector<ErrorCode> errors_of(const Call& call, const FindCoordinatorRequest& request) {
  const ErrorCode of_all = error_of_all(call, request.key_type);
  const Rights rights = call.rights();
  const Right right = request.key_type == group_type ? Right::find_coordinator_group
                                                     : Right::find_coordinator_transactional_id;
  const auto error_of = [&](std::string_view key) {
    if (of_all != ErrorCode::none || rights.may(right, key)) return of_all;
    return authorization_failed(right);
  };
  if (call.version() < first_batched_version) return {error_of(request.key)};
  std::vector<ErrorCode> errors;
  for (const protocol::String& key : request.coordinator_keys) errors.push_back(error_of(key));
  return errors;
}

FindCoordinatorResponse make_response(const Call& call, const FindCoordinatorRequest& request,
                                      const std::vector<ErrorCode>& errors) {
  const auto image = call.services().metadata.current();
  const auto find = [&](std::string_view key, ErrorCode error) {
    if (error != ErrorCode::none) return Found{error, std::nullopt};
    const Services& services = call.services();
    return request.key_type == group_type ? find_key(call, *image, services.groups, key)
                                          : find_key(call, *image, services.transactions, key);
  };
  FindCoordinatorResponse response;
  if (call.version() < first_batched_version) {
    const Found found = find(request.key, errors.front());
    describe(found, response);
    response.error_message =
        protocol::String(found.error == ErrorCode::none ? "NONE" : default_message(found.error));
    return response;
  }
  response.coordinators.reserve(request.coordinator_keys.size());
  for (std::size_t i = 0; i < request.coordinator_keys.size(); ++i) {
    const protocol::String& key = request.coordinator_keys[i];
    auto& answer = response.coordinators.emplace_back();
    answer.key = key;
    describe(find(key, errors[i]), answer);
    // Kafka has words only where it refuses the whole request.
    const bool has_words = request.key_type < group_type || request.key_type > share_type ||
                           errors[i] == ErrorCode::cluster_authorization_failed;
    answer.error_message = protocol::String(has_words ? default_message(errors[i]) : "");
  }
  return response;
}

}  // namespace

void FindCoordinatorHandler::handle(Call call, Request request) {
  auto errors = errors_of(call, request);
  if (std::ranges::find(errors, ErrorCode::none) == errors.end())
    return call.reply(make_response(call, request, errors));
  const Services& services = call.services();
  CoordinatorTopic& topic =
      request.key_type == group_type ? services.groups.topic() : services.transactions.topic();
  topic.make([call = std::move(call), request = std::move(request), errors = std::move(errors)]() mutable {
    call.reply(make_response(call, request, errors));
  });
}

}  // namespace barnabas::broker
