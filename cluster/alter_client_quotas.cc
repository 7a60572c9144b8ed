// AlterClientQuotas (49): rules and texts as Apache Kafka 4.4 has them.

#include <algorithm>
#include <boost/asio/ip/address.hpp>
#include <cmath>
#include <map>
#include <optional>
#include <span>

#include "cluster/api_error.h"
#include "cluster/local_controller.h"
#include "metadata/quota_image.h"
#include "protocol/messages/client_quota_record.h"

namespace barnabas::cluster {
namespace {

using protocol::ErrorCode;
using Request = protocol::AlterClientQuotasRequest;
using Response = protocol::AlterClientQuotasResponse;
using metadata::QuotaEntity;

enum class ValueType : uint8_t { decimal, int32, int64 };
struct Key {
  std::string_view name;
  ValueType type;
};
constexpr Key user_and_client_keys[] = {{metadata::producer_byte_rate, ValueType::int64},
                                        {metadata::consumer_byte_rate, ValueType::int64},
                                        {metadata::request_percentage, ValueType::decimal},
                                        {metadata::controller_mutation_rate, ValueType::decimal}};
constexpr Key address_keys[] = {{metadata::connection_creation_rate, ValueType::int32}};

ApiError invalid(std::string message) {
  return {ErrorCode::invalid_request, std::move(message)};
}

QuotaEntity entity_of(const Request::EntryData& entry) {
  QuotaEntity entity;
  for (const auto& part : entry.entity)
    entity[part.entity_type.str()] = part.entity_name ? std::optional(part.entity_name->str()) : std::nullopt;
  return entity;
}

/// As Kafka shows it.
std::string text_of(const QuotaEntity& entity) {
  std::string text = "ClientQuotaEntity(entries={";
  const char* between = "";
  for (const auto& [type, name] : entity) {
    text += between + type + "=" + name.value_or("null");
    between = ", ";
  }
  return text + "})";
}

bool known_type(std::string_view type) {
  return type == metadata::quota_user || type == metadata::quota_client_id || type == metadata::quota_ip;
}

std::optional<ApiError> refusal_of(const QuotaEntity& entity) {
  if (entity.empty()) return invalid("Invalid empty client quota entity");
  for (const auto& [type, name] : entity)
    if (!known_type(type)) return invalid("Unhandled client quota entity type: " + type);
  for (const auto& [type, name] : entity)
    if (name && name->empty()) return invalid("Empty " + type + " not supported");
  const auto ip = entity.find(metadata::quota_ip);
  if (ip == entity.end()) return std::nullopt;
  if (entity.size() > 1)
    return invalid("Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId");
  boost::system::error_code bad;
  if (ip->second) {
    (void)boost::asio::ip::make_address(*ip->second, bad);
    if (bad || ip->second->contains('%'))  // a scope is this machine's alone
      return invalid(*ip->second + " is not a valid IP or resolvable host.");
  }
  return std::nullopt;
}

std::optional<ApiError> refusal_of(std::span<const Key> keys, const std::string& name, double value) {
  const auto key = std::ranges::find(keys, name, &Key::name);
  if (key == keys.end()) return invalid("Invalid configuration key " + name);
  if (!std::isfinite(value)) return invalid("Quota " + name + " must be a finite number");
  if (value <= 0) return invalid("Quota " + name + " must be greater than 0");
  if (key->type == ValueType::decimal) return std::nullopt;
  // 2^63 is what a double makes of the greatest 64-bit number.
  const bool small = key->type == ValueType::int32;
  if (value > (small ? 2147483647.0 : 9223372036854775808.0))
    return invalid("Proposed value for " + name + " is too large for " + (small ? "an INT." : "a LONG."));
  if (std::fmod(value, 1.0) > 1e-6) return invalid(name + " cannot be a fractional value.");
  return std::nullopt;
}

protocol::ClientQuotaRecord record_of(const QuotaEntity& entity, const std::string& key,
                                      std::optional<double> value) {
  protocol::ClientQuotaRecord record;
  for (const auto& [type, name] : entity) {
    auto& part = record.entity.emplace_back();
    part.entity_type = protocol::String(type);
    part.entity_name.reset();
    if (name) part.entity_name = protocol::String(*name);
  }
  record.key = protocol::String(key);
  record.value = value.value_or(0);
  record.remove = !value;
  return record;
}

using Operations = std::map<std::string, std::optional<double>>;  // none: removed

/// Adds the records of what changes, or nothing and the reason.
std::optional<ApiError> alter(const QuotaEntity& entity, const Operations& operations,
                              const metadata::MetadataImage& image, metadata::RecordList& records) {
  if (auto refused = refusal_of(entity)) return refused;
  const bool is_address = entity.contains(metadata::quota_ip);
  const std::span<const Key> keys =
      is_address ? std::span<const Key>(address_keys) : std::span<const Key>(user_and_client_keys);
  for (const auto& [key, value] : operations) {
    if (!value) continue;
    if (auto refused = refusal_of(keys, key, *value)) return refused;
  }
  const auto* quotas = image.client_quotas.find(entity);
  for (const auto& [key, value] : operations) {
    std::optional<double> before;
    if (quotas) {
      const auto found = (*quotas)->values.find(key);
      if (found != (*quotas)->values.end()) before = found->second;
    }
    if (before != value) records.add(record_of(entity, key, value));
  }
  return std::nullopt;
}

}  // namespace

std::optional<ApiError> quota_problem(const ControllerState& state, int64_t partitions) {
  if (state.mutation_quota == nullptr || state.mutation_quota->admit(partitions)) return std::nullopt;
  return ApiError{ErrorCode::throttling_quota_exceeded, std::nullopt};
}

Outcome<Response> LocalController::alter_client_quotas(const Request& request,
                                                       const ControllerState& state) const {
  Outcome<Response> outcome;
  std::map<QuotaEntity, std::optional<ApiError>> results;
  for (const auto& entry : request.entries) {
    const QuotaEntity entity = entity_of(entry);
    Operations operations;
    bool doubled = results.contains(entity);
    for (const auto& op : entry.ops) {
      const auto value = op.remove ? std::nullopt : std::optional(op.value);
      doubled |= !operations.emplace(op.key.str(), value).second;
    }
    results[entity] = doubled ? invalid("Ignoring duplicate entity " + text_of(entity))
                              : alter(entity, operations, state.image, outcome.records);
  }
  if (request.validate_only) outcome.records = {};
  for (const auto& [entity, refused] : results) {
    auto& item = outcome.response.entries.emplace_back();
    set_error(item, refused.value_or(ApiError{ErrorCode::none, std::nullopt}));
    for (const auto& [type, name] : entity) {
      auto& part = item.entity.emplace_back();
      part.entity_type = protocol::String(type);
      part.entity_name.reset();
      if (name) part.entity_name = protocol::String(*name);
    }
  }
  return outcome;
}

}  // namespace barnabas::cluster
