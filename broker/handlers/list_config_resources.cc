#include "broker/handlers/list_config_resources.h"

#include <algorithm>
#include <array>

#include "metadata/image.h"

namespace barnabas::broker {
namespace {

using metadata::ConfigResourceType;
using protocol::ErrorCode;
using Response = protocol::ListConfigResourcesResponse;

/// In the order of the answer.
constexpr auto listable = std::to_array<ConfigResourceType>({
    ConfigResourceType::group,
    ConfigResourceType::client_metrics,
    ConfigResourceType::broker_logger,
    ConfigResourceType::broker,
    ConfigResourceType::topic,
});

void list(ConfigResourceType type, const metadata::MetadataImage& image, Response& response) {
  const auto add = [&](std::string_view name) {
    auto& resource = response.config_resources.emplace_back();
    resource.resource_name = protocol::String(name);
    resource.resource_type = static_cast<int8_t>(type);
  };
  switch (type) {
    case ConfigResourceType::topic:
      for (const auto& topic : image.topics_by_name) add(topic->name);
      return;
    case ConfigResourceType::broker:
    case ConfigResourceType::broker_logger:
      for (const auto& [id, broker] : image.brokers) add(std::to_string(id.value()));
      return;
    default:
      for (const auto& config : image.configs)
        if (config->resource.type == type) add(config->resource.name);
  }
}

}  // namespace

Response ListConfigResourcesHandler::handle(Call& call, const Request& request) {
  Response response;
  if (!call.rights().may(Right::list_config_resources)) {
    response.error_code = to_wire(ErrorCode::cluster_authorization_failed);
    return response;
  }
  const auto image = call.services().metadata.current();
  if (call.version() == 0) {
    list(ConfigResourceType::client_metrics, *image, response);
    return response;
  }
  const auto& asked = request.resource_types;
  for (const int8_t type : asked)
    if (std::ranges::find(listable, static_cast<ConfigResourceType>(type)) == listable.end()) {
      response.error_code = to_wire(ErrorCode::unsupported_version);
      return response;
    }
  for (const ConfigResourceType type : listable)
    if (asked.empty() || std::ranges::find(asked, static_cast<int8_t>(type)) != asked.end())
      list(type, *image, response);
  return response;
}

}  // namespace barnabas::broker
