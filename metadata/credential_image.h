#pragma once

#include <compare>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/types.h"

/// Who may log in, as the metadata log holds it: SCRAM credentials (KIP-554) and delegation tokens (KIP-48).
namespace barnabas::metadata {

/// With the numbers of records and requests; records may bring others.
enum class ScramMechanism : int8_t { unknown = 0, sha_256 = 1, sha_512 = 2 };

struct ScramKey {
  ScramMechanism mechanism = ScramMechanism::unknown;
  std::string user;
  auto operator<=>(const ScramKey&) const = default;
};

/// What is kept of a user's password for one mechanism. Secrets: with the stored key passwords can be
/// guessed.
struct ScramCredential {
  ScramKey key;
  std::vector<std::byte> salt;
  std::vector<std::byte> stored_key;
  std::vector<std::byte> server_key;
  int32_t iterations = 0;
};

/// Principals are as records have them: "User:alice".
struct DelegationToken {
  std::string id;
  std::string owner;
  std::string requester;
  std::vector<std::string> renewers;
  TimestampMs issued = no_timestamp;
  TimestampMs expires = no_timestamp;  ///< unless it is renewed before
  TimestampMs expires_at_last{-1};     ///< no renewal goes beyond

  bool expired(TimestampMs now) const { return expires_at_last < now || expires < now; }
};

struct ScramKeyOf {
  const ScramKey& operator()(const std::shared_ptr<const ScramCredential>& credential) const {
    return credential->key;
  }
};
struct DelegationTokenIdOf {
  const std::string& operator()(const std::shared_ptr<const DelegationToken>& token) const {
    return token->id;
  }
};

}  // namespace barnabas::metadata
