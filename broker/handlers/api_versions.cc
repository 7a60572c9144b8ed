#include "broker/handlers/api_versions.h"

#include <algorithm>
#include <cctype>

#include "broker/authentication.h"
#include "broker/handlers/handlers.h"
#include "metadata/supported_features.h"

namespace barnabas::broker {
namespace {

/// What a client calls itself goes into log lines: no more of it than this.
constexpr std::size_t software_bytes_kept = 100;

using protocol::ApiVersionsRequest;
using protocol::ApiVersionsResponse;
using protocol::ErrorCode;

void add_api(ApiVersionsResponse& response, const HandlerEntry& handler) {
  auto& api = response.api_keys.emplace_back();
  api.api_key = static_cast<int16_t>(handler.api);
  api.min_version = handler.announced_min_version;
  api.max_version = handler.max_version;
}

/// Letters, digits, dots and dashes, with a letter or digit at both ends.
bool is_software_name(std::string_view text) {
  const auto alphanumeric = [](unsigned char c) { return c < 128 && std::isalnum(c) != 0; };
  return !text.empty() && alphanumeric(static_cast<unsigned char>(text.front())) &&
         alphanumeric(static_cast<unsigned char>(text.back())) && std::ranges::all_of(text, [&](char c) {
           return c == '.' || c == '-' || alphanumeric(static_cast<unsigned char>(c));
         });
}

/// From v5 on a client may say which cluster and node it means to talk to: both or neither. ErrorCode::none
/// when it is us.
ErrorCode check_destination(const Call& call, const ApiVersionsRequest& request) {
  constexpr int32_t not_said = -1;
  if (call.version() < 5 || (!request.cluster_id && request.node_id == not_said)) return ErrorCode::none;
  if (!request.cluster_id || request.node_id == not_said) return ErrorCode::invalid_request;
  const Services& services = call.services();
  const bool meant = *request.cluster_id == services.cluster_id && request.node_id == services.node.value();
  return meant ? ErrorCode::none : ErrorCode::rebootstrap_required;
}

void add_features(const Call& call, ApiVersionsResponse& response) {
  const auto image = call.services().metadata.current();
  for (const metadata::SupportedFeature& feature : metadata::supported_features) {
    if (feature.min == 0 && call.version() < 4) continue;
    auto& supported = response.supported_features.emplace_back();
    supported.name = protocol::String::view_of(feature.name);
    supported.min_version = feature.min;
    supported.max_version = feature.max;
  }
  const auto add_finalized = [&](std::string_view name, int16_t level) {
    auto& finalized = response.finalized_features.emplace_back();
    finalized.name = protocol::String(name);
    finalized.min_version_level = level;
    finalized.max_version_level = level;
  };
  for (const auto& [name, level] : image->features) add_finalized(name, level);
  if (image->kraft_version > 0) add_finalized("kraft.version", image->kraft_version);
  response.finalized_features_epoch = image->position.offset.value();
}

}  // namespace

void ApiVersionsHandler::run(Call call, protocol::Reader& body) {
  ApiVersionsResponse response;
  const HandlerEntry& self = *find_handler(protocol::ApiKey::api_versions);
  if (call.version() < self.min_version || call.version() > self.max_version) {
    response.error_code = static_cast<int16_t>(ErrorCode::unsupported_version);
    add_api(response, self);
    return call.reply_in_version(response, 0);
  }
  const auto request = Request::decode(body, call.version());
  if (!request) return call.close("ApiVersions malformed: " + request.error().message);
  if (call.version() >= 3) {
    if (!is_software_name(request->client_software_name) ||
        !is_software_name(request->client_software_version)) {
      response.error_code = static_cast<int16_t>(ErrorCode::invalid_request);
      return call.reply(response);
    }
    if (const ErrorCode error = check_destination(call, *request); error != ErrorCode::none) {
      response.error_code = to_wire(error);
      return call.reply(response);
    }
    call.connection().client_software_name =
        request->client_software_name.view().substr(0, software_bytes_kept);
    call.connection().client_software_version =
        request->client_software_version.view().substr(0, software_bytes_kept);
  }
  for (const HandlerEntry& handler : all_handlers()) add_api(response, handler);
  if (call.version() >= 3) add_features(call, response);
  Authentication::versions_told(call.connection());
  call.reply(response);
}

}  // namespace barnabas::broker
