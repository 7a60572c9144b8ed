#include "broker/handlers/access_control.h"

#include <algorithm>
#include <optional>

#include "broker/handlers/forwarded.h"
#include "metadata/access_control_filter.h"

namespace barnabas::broker {
namespace {

using metadata::AclRule;
using protocol::ErrorCode;
using protocol::to_wire;
using DescribeRequest = protocol::DescribeAclsRequest;
using DescribeResponse = protocol::DescribeAclsResponse;

/// Why nothing of the request is done.
struct Refusal {
  ErrorCode code;
  std::string_view message;
};

std::optional<Refusal> refusal_of(const Call& call, Right right) {
  if (call.services().authorizer == nullptr)
    return Refusal{ErrorCode::security_disabled, "No Authorizer is configured."};
  if (call.rights().may(right)) return std::nullopt;
  const ErrorCode code = authorization_failed(right);
  return Refusal{code, protocol::default_message(code)};
}

template <class Items>
void refuse_all(Items& items, std::size_t count, const Refusal& refusal) {
  for (std::size_t i = 0; i < count; ++i) {
    auto& item = items.emplace_back();
    item.error_code = to_wire(refusal.code);
    item.error_message = protocol::String(refusal.message);
  }
}

bool is_resource_of(const DescribeResponse::DescribeAclsResource& resource, const AclRule& rule) {
  return resource.resource_type == static_cast<int8_t>(rule.resource_type) &&
         resource.pattern_type == static_cast<int8_t>(rule.pattern_type) &&
         resource.resource_name.view() == rule.resource_name;
}

void add(DescribeResponse& response, const AclRule& rule) {
  if (response.resources.empty() || !is_resource_of(response.resources.back(), rule)) {
    auto& resource = response.resources.emplace_back();
    resource.resource_type = static_cast<int8_t>(rule.resource_type);
    resource.resource_name = rule.resource_name;
    resource.pattern_type = static_cast<int8_t>(rule.pattern_type);
  }
  auto& entry = response.resources.back().acls.emplace_back();
  entry.principal = rule.principal;
  entry.host = rule.host;
  entry.operation = static_cast<int8_t>(rule.operation);
  entry.permission_type = static_cast<int8_t>(rule.permission);
}

}  // namespace

void DescribeAclsHandler::handle(Call call, Request request) {
  if (request.resource_type_filter == 0 || request.pattern_type_filter == 0 || request.operation == 0 ||
      request.permission_type == 0)
    return call.close("DescribeAcls asks for an unknown kind");
  DescribeResponse response;
  if (const auto refusal = refusal_of(call, Right::describe_acls)) {
    response.error_code = to_wire(refusal->code);
    response.error_message = refusal->code == ErrorCode::security_disabled
                                 ? protocol::String("No Authorizer is configured on the broker")
                                 : protocol::String(refusal->message);
    return call.reply(response);
  }
  response.error_message = protocol::String();  // not absent, as in Kafka
  const auto image = call.services().metadata.current();
  metadata::for_each_match(image->access_control, metadata::acl_filter_of(request),
                           [&](const auto& entry) { add(response, entry->rule); });
  call.reply(response);
}

void CreateAclsHandler::handle(Call call, Request request) {
  const bool malformed = std::ranges::any_of(request.creations, [](const auto& creation) {
    return creation.resource_type == 0 || creation.resource_pattern_type == 0 || creation.operation == 0 ||
           creation.permission_type == 0;
  });
  if (malformed) return call.close("CreateAcls has an entry of an unknown kind");
  if (const auto refusal = refusal_of(call, Right::create_acls)) {
    protocol::CreateAclsResponse response;
    refuse_all(response.results, request.creations.size(), *refusal);
    return call.reply(response);
  }
  forward(std::move(call), std::move(request), &cluster::ControllerGateway::create_acls);
}

void DeleteAclsHandler::handle(Call call, Request request) {
  const bool malformed = std::ranges::any_of(request.filters, [](const auto& filter) {
    return filter.resource_type_filter == 0 || filter.pattern_type_filter == 0 || filter.operation == 0 ||
           filter.permission_type == 0;
  });
  if (malformed) return call.close("DeleteAcls has a filter of an unknown kind");
  if (const auto refusal = refusal_of(call, Right::delete_acls)) {
    protocol::DeleteAclsResponse response;
    refuse_all(response.filter_results, request.filters.size(), *refusal);
    return call.reply(response);
  }
  forward(std::move(call), std::move(request), &cluster::ControllerGateway::delete_acls);
}

}  // namespace barnabas::broker
