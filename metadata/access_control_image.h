#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/uuid.h"
#include "metadata/shared_map.h"

/// Access control entries as the metadata log holds them (KIP-801). Numbers are those of the protocol and of
/// the records; one that is none of these (of a later version) is kept as it is and matches nothing.
namespace barnabas::metadata {

enum class AclResourceType : int8_t {
  unknown = 0,
  any = 1,  ///< of filters alone
  topic = 2,
  group = 3,
  cluster = 4,  ///< its one name: cluster_resource_name
  transactional_id = 5,
  delegation_token = 6,
  user = 7,
};

enum class AclPatternType : int8_t {
  unknown = 0,
  any = 1,       ///< of filters alone: patterns of that very name, of any type
  match = 2,     ///< of filters alone: patterns that apply to a resource of that name
  literal = 3,   ///< this name; "*" is every name
  prefixed = 4,  ///< names that begin so; "*" is nothing special here
};

enum class AclOperation : int8_t {
  unknown = 0,
  any = 1,  ///< of filters alone
  all = 2,
  read = 3,
  write = 4,
  create = 5,
  remove = 6,  ///< Kafka's DELETE
  alter = 7,
  describe = 8,
  cluster_action = 9,
  describe_configs = 10,
  alter_configs = 11,
  idempotent_write = 12,
  create_tokens = 13,
  describe_tokens = 14,
  two_phase_commit = 15,
};

enum class AclPermission : int8_t { unknown = 0, any = 1, deny = 2, allow = 3 };

inline constexpr std::string_view cluster_resource_name = "kafka-cluster";
inline constexpr std::string_view acl_wildcard = "*";

/// Kafka's names: "TRANSACTIONAL_ID", "PREFIXED", "DESCRIBE_CONFIGS", "ALLOW"; "UNKNOWN" for what is none.
std::string_view name_of(AclResourceType type);
std::string_view name_of(AclPatternType type);
std::string_view name_of(AclOperation operation);
std::string_view name_of(AclPermission permission);

/// What an entry says. Two entries with the same rule are one too many.
struct AclRule {
  AclResourceType resource_type = AclResourceType::unknown;
  std::string resource_name;
  AclPatternType pattern_type = AclPatternType::literal;
  std::string principal;  ///< "User:alice", "User:*" for everybody
  std::string host;       ///< an address, a network in CIDR notation (KIP-1276), or "*"
  AclOperation operation = AclOperation::unknown;
  AclPermission permission = AclPermission::unknown;
  auto operator<=>(const AclRule&) const = default;
};

struct AclEntry {
  AclRule rule;
  Uuid id;
  auto operator<=>(const AclEntry&) const = default;
};

struct AclIdOf {
  const Uuid& operator()(const std::shared_ptr<const AclEntry>& entry) const { return entry->id; }
};
struct AclEntryOf {
  const AclEntry& operator()(const std::shared_ptr<const AclEntry>& entry) const { return *entry; }
};

/// All entries, by id and in the order of their rules: those of one resource pattern lie beside each other.
struct AccessControlImage {
  SharedMap<std::shared_ptr<const AclEntry>, AclIdOf> by_id;
  SharedMap<std::shared_ptr<const AclEntry>, AclEntryOf> by_rule;

  bool contains(const AclRule& rule) const {
    const auto at = by_rule.lower_bound(AclEntry{rule, {}});
    return at != by_rule.end() && (*at)->rule == rule;
  }
  void put(std::shared_ptr<const AclEntry> entry);
  void erase(const Uuid& id);
};

/// One entry that came, went, or (which Kafka never writes) became another one.
struct AccessControlChange {
  std::shared_ptr<const AclEntry> before;  ///< null: new
  std::shared_ptr<const AclEntry> after;   ///< null: gone
};

}  // namespace barnabas::metadata
