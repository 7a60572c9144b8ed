#include "broker/handlers/describe_client_quotas.h"

#include <map>
#include <optional>
#include <set>

#include "metadata/quota_image.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using Request = protocol::DescribeClientQuotasRequest;
using Response = protocol::DescribeClientQuotasResponse;
using metadata::QuotaEntity;

enum class MatchType : int8_t { exact = 0, default_name = 1, specified = 2 };

struct Problem {
  ErrorCode code;
  std::string message;
};

/// What an entity must have: these names (none: the default) of these types, and any name of those.
struct Filter {
  QuotaEntity names;
  std::set<std::string, std::less<>> types;
  bool strict = false;

  bool has(std::string_view type) const { return names.contains(type) || types.contains(type); }
  bool matches(const QuotaEntity& entity) const {
    if (strict && entity.size() != names.size() + types.size()) return false;
    for (const auto& [type, name] : names) {
      const auto found = entity.find(type);
      if (found == entity.end() || found->second != name) return false;
    }
    return std::ranges::all_of(types, [&](const auto& type) { return entity.contains(type); });
  }
};

std::optional<Problem> add(const Request::ComponentData& component, Filter& filter) {
  const std::string type = component.entity_type.str();
  if (type.empty()) return Problem{ErrorCode::invalid_request, "Invalid empty entity type."};
  if (filter.has(type))
    return Problem{ErrorCode::invalid_request,
                   "Entity type " + type + " cannot appear more than once in the filter."};
  if (type != metadata::quota_user && type != metadata::quota_client_id && type != metadata::quota_ip)
    return Problem{ErrorCode::unsupported_version, "Unsupported entity type " + type};
  const auto unwanted_name = [&](const char* match) {
    return Problem{ErrorCode::invalid_request,
                   std::string("Request specified ") + match + ", but also specified a match string."};
  };
  switch (static_cast<MatchType>(component.match_type)) {
    case MatchType::exact:
      if (!component.match)
        return Problem{ErrorCode::invalid_request,
                       "Request specified MATCH_TYPE_EXACT, but set match string to null."};
      filter.names.emplace(type, component.match->str());
      return std::nullopt;
    case MatchType::default_name:
      if (component.match) return unwanted_name("MATCH_TYPE_DEFAULT");
      filter.names.emplace(type, std::nullopt);
      return std::nullopt;
    case MatchType::specified:
      if (component.match) return unwanted_name("MATCH_TYPE_SPECIFIED");
      filter.types.insert(type);
      return std::nullopt;
  }
  return Problem{ErrorCode::invalid_request, "Unknown match type " + std::to_string(component.match_type)};
}

std::optional<Problem> read(const Request& request, Filter& filter) {
  filter.strict = request.strict;
  for (const auto& component : request.components)
    if (auto problem = add(component, filter)) return problem;
  if (filter.has(metadata::quota_ip) &&
      (filter.has(metadata::quota_user) || filter.has(metadata::quota_client_id)))
    return Problem{ErrorCode::invalid_request,
                   "Invalid entity filter component combination. IP filter component should not be used with "
                   "user or clientId filter component."};
  return std::nullopt;
}

Response::EntryData entry_of(const metadata::QuotaImage& quotas) {
  Response::EntryData entry;
  for (const auto& [type, name] : quotas.entity) {
    auto& part = entry.entity.emplace_back();
    part.entity_type = type;
    part.entity_name.reset();
    if (name) part.entity_name = protocol::String(*name);
  }
  for (const auto& [key, value] : quotas.values) {
    auto& named = entry.values.emplace_back();
    named.key = key;
    named.value = value;
  }
  return entry;
}

}  // namespace

Response DescribeClientQuotasHandler::handle(Call& call, const Request& request) {
  Response response;
  if (!call.rights().may(Right::describe_client_quotas)) {
    constexpr ErrorCode error = ErrorCode::cluster_authorization_failed;
    response.error_code = protocol::to_wire(error);
    response.error_message.reset();  // Kafka says no more than the code
    response.entries.reset();
    return response;
  }
  Filter filter;
  if (const auto problem = read(request, filter)) {
    response.error_code = protocol::to_wire(problem->code);
    response.error_message = protocol::String(problem->message);
    response.entries.reset();
    return response;
  }
  response.error_message = protocol::String("");
  response.entries.emplace();
  const auto image = call.services().metadata.current();
  for (const auto& quotas : image->client_quotas)
    if (filter.matches(quotas->entity)) response.entries->push_back(entry_of(*quotas));
  return response;
}

}  // namespace barnabas::broker
