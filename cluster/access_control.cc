// CreateAcls (30) and DeleteAcls (31): rules and texts as Apache Kafka 4.4 has them.

#include <optional>
#include <set>

#include "cluster/api_error.h"
#include "cluster/local_controller.h"
#include "metadata/access_control_filter.h"
#include "metadata/address_block.h"
#include "metadata/image_writer.h"
#include "metadata/record_versions.h"
#include "protocol/messages/remove_access_control_entry_record.h"

namespace barnabas::cluster {
namespace {

using metadata::AclOperation;
using metadata::AclPatternType;
using metadata::AclPermission;
using metadata::AclResourceType;
using metadata::AclRule;
using protocol::ErrorCode;
using CreateRequest = protocol::CreateAclsRequest;
using CreateResponse = protocol::CreateAclsResponse;
using DeleteRequest = protocol::DeleteAclsRequest;
using DeleteResponse = protocol::DeleteAclsResponse;

/// Numbers that this version does not know are as good as UNKNOWN.
template <class Kind>
bool is_definite(Kind kind) {
  return metadata::name_of(kind) != "UNKNOWN" && kind != Kind::any;
}

ApiError invalid(std::string message) {
  return {ErrorCode::invalid_request, std::move(message)};
}

template <class Kind>
ApiError invalid(std::string_view what, Kind kind) {
  return invalid("Invalid " + std::string(what) + " " + std::string(metadata::name_of(kind)));
}

AclRule rule_of(const CreateRequest::AclCreation& creation) {
  return {static_cast<AclResourceType>(creation.resource_type),
          creation.resource_name.str(),
          static_cast<AclPatternType>(creation.resource_pattern_type),
          creation.principal.str(),
          creation.host.str(),
          static_cast<AclOperation>(creation.operation),
          static_cast<AclPermission>(creation.permission_type)};
}

std::optional<ApiError> check_host(const std::string& host, int16_t metadata_version) {
  if (host.empty()) return invalid("Host pattern cannot be null or empty");
  if (host == metadata::acl_wildcard || !host.contains('/')) return std::nullopt;
  if (!metadata::allows_address_blocks(metadata_version))
    return ApiError{ErrorCode::unsupported_version,
                    "CIDR-based ACL host patterns require metadata version 4.4-IV1 or higher."};
  const auto block = metadata::AddressBlock::parse(host);
  if (block) return std::nullopt;
  return invalid("Invalid CIDR notation '" + host + "': " + block.error().message);
}

std::optional<ApiError> check(const AclRule& rule, int16_t metadata_version) {
  if (rule.resource_type == AclResourceType::cluster && rule.resource_name != metadata::cluster_resource_name)
    return invalid("The only valid name for the CLUSTER resource is kafka-cluster");
  if (rule.resource_name.empty()) return invalid("Invalid empty resource name");
  if (!is_definite(rule.resource_type)) return invalid("resourceType", rule.resource_type);
  if (!is_definite(rule.pattern_type) || rule.pattern_type == AclPatternType::match)
    return invalid("patternType", rule.pattern_type);
  if (!is_definite(rule.operation)) return invalid("operation", rule.operation);
  if (!is_definite(rule.permission)) return invalid("permissionType", rule.permission);
  if (!rule.principal.contains(':'))
    return invalid("Could not parse principal from `" + rule.principal +
                   "` (no colon is present separating the principal type from the principal name)");
  return check_host(rule.host, metadata_version);
}

std::optional<ApiError> check(const metadata::AclFilter& filter) {
  if (metadata::name_of(filter.resource_type) == "UNKNOWN" ||
      metadata::name_of(filter.pattern_type) == "UNKNOWN")
    return invalid("Unknown patternFilter.");
  if (metadata::name_of(filter.operation) == "UNKNOWN" || metadata::name_of(filter.permission) == "UNKNOWN")
    return invalid("Unknown entryFilter.");
  return std::nullopt;
}

/// Collects what the filters of one request match. One entry may be matched by each of many filters, and
/// every time it stands in the answer: both what is removed and the answer are bounded, before they grow.
class Matches {
 public:
  /// Why the request is refused as a whole, once it matches too much.
  const std::optional<ApiError>& refusal() const { return refusal_; }
  const std::set<Uuid>& removed() const { return removed_; }

  void add(DeleteResponse::DeleteAclsFilterResult& result, const metadata::AclEntry& entry) {
    if (refusal_) return;
    const AclRule& rule = entry.rule;
    bytes_ += sizeof(DeleteResponse::DeleteAclsMatchingAcl) + rule.resource_name.size() +
              rule.principal.size() + rule.host.size();
    removed_.insert(entry.id);
    if (removed_.size() > records_per_request_max) {
      refusal_ = invalid("Cannot remove more than 10000 acls in a single delete operation.");
    } else if (bytes_ > delete_acls_answer_bytes_max) {
      refusal_ = invalid("The filters match more than fits into an answer; name fewer at once.");
    } else {
      append(result, rule);
    }
  }

 private:
  static void append(DeleteResponse::DeleteAclsFilterResult& result, const AclRule& rule) {
    auto& match = result.matching_acls.emplace_back();
    match.error_message.reset();
    match.resource_type = static_cast<int8_t>(rule.resource_type);
    match.resource_name = protocol::String(rule.resource_name);
    match.pattern_type = static_cast<int8_t>(rule.pattern_type);
    match.principal = protocol::String(rule.principal);
    match.host = protocol::String(rule.host);
    match.operation = static_cast<int8_t>(rule.operation);
    match.permission_type = static_cast<int8_t>(rule.permission);
  }

  std::set<Uuid> removed_;
  std::size_t bytes_ = 0;
  std::optional<ApiError> refusal_;
};

}  // namespace

Outcome<CreateResponse> LocalController::create_acls(const CreateRequest& request,
                                                     const ControllerState& state) const {
  Outcome<CreateResponse> outcome;
  std::set<AclRule> added;
  for (const auto& creation : request.creations) {
    auto& result = outcome.response.results.emplace_back();
    result.error_message = protocol::String();  // not absent, as in Kafka
    AclRule rule = rule_of(creation);
    if (const auto error = check(rule, state.image.metadata_version())) {
      set_error(result, *error);
      continue;
    }
    if (state.image.access_control.contains(rule) || added.contains(rule)) continue;
    if (added.size() == records_per_request_max) {
      outcome.records = {};
      outcome.response.results.resize(request.creations.size());
      for (auto& each : outcome.response.results)
        set_error(each,
                  {ErrorCode::policy_violation, "Unable to perform excessively large batch operation."});
      break;
    }
    outcome.records.add(metadata::access_control_record(rule, options_.new_id()));
    added.insert(std::move(rule));
  }
  return outcome;
}

Outcome<DeleteResponse> LocalController::delete_acls(const DeleteRequest& request,
                                                     const ControllerState& state) const {
  Outcome<DeleteResponse> outcome;
  Matches matches;
  for (const auto& item : request.filters) {
    auto& result = outcome.response.filter_results.emplace_back();
    result.error_message.reset();
    const auto filter = metadata::acl_filter_of(item);
    if (const auto error = check(filter)) {
      set_error(result, *error);
      continue;
    }
    metadata::for_each_match(state.image.access_control, filter,
                             [&](const auto& entry) { matches.add(result, *entry); });
    if (matches.refusal()) break;
  }
  if (matches.refusal()) {
    outcome.response = {};
    for (std::size_t i = 0; i < request.filters.size(); ++i)
      set_error(outcome.response.filter_results.emplace_back(), *matches.refusal());
    return outcome;
  }
  for (const Uuid& id : matches.removed()) {
    protocol::RemoveAccessControlEntryRecord record;
    record.id = id;
    outcome.records.add(record);
  }
  return outcome;
}

}  // namespace barnabas::cluster
