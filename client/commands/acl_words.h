#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

/// The words for the numbers of ACLs, as Kafka's tools write them.
namespace barnabas::client {

enum class AclWords : uint8_t { resource_type, pattern_type, operation, permission };

inline constexpr int8_t acl_any = 1;
inline constexpr int8_t acl_deny = 2;
inline constexpr int8_t acl_allow = 3;
inline constexpr int8_t acl_match = 2;
inline constexpr int8_t acl_literal = 3;
inline constexpr int8_t acl_prefixed = 4;
inline constexpr int8_t acl_topic = 2;
inline constexpr int8_t acl_group = 3;
inline constexpr int8_t acl_cluster = 4;
inline constexpr int8_t acl_transactional_id = 5;
inline constexpr int8_t acl_delegation_token = 6;
inline constexpr int8_t acl_user = 7;

/// "READ"; the number itself when it is unknown.
std::string acl_word(AclWords words, int8_t number);
/// In any case of letters, "-" for "_".
std::optional<int8_t> acl_number(AclWords words, std::string_view word);

}  // namespace barnabas::client
