#pragma once

#include <atomic>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>

#include "base/log.h"
#include "base/result.h"
#include "metadata/publisher.h"
#include "metadata/static_config.h"
#include "security/acl_index.h"
#include "security/principal.h"

namespace barnabas::security {

/// Who asks, and in which request. Texts that are borrowed outlive it.
struct Requester {
  std::string principal;  ///< "User:alice"
  std::string host;       ///< numeric address
  std::string_view api;   ///< for the audit log
};

/// Which outcomes of a check are told to the audit log at once. The others only at trace level: what was not
/// asked for by name (filters, fields of authorized operations) is no attempt.
enum class Audit : uint8_t { all, allowed_only, none };

struct AuthorizerOptions {
  std::unordered_set<std::string> super_users;  ///< "User:admin"
  bool allow_if_no_acl_found = false;
};

/// The name that authorizer.class.name has to have.
inline constexpr std::string_view standard_authorizer_class =
    "org.apache.kafka.metadata.authorizer.StandardAuthorizer";

/// super.users and allow.everyone.if.no.acl.found. ErrorKind::invalid names a super user that is none.
Result<AuthorizerOptions> authorizer_options(const metadata::StaticConfig& config);

/// Decides as Kafka's StandardAuthorizer (KIP-801): a super user may everything; a denial beats whatever is
/// allowed; what nothing allows is denied, unless there are no rules for that resource at all and
/// allow.everyone.if.no.acl.found is set. Any thread asks; readers share nothing that is written but when
/// rules change.
class Authorizer {
 public:
  explicit Authorizer(AuthorizerOptions options);

  /// From one thread at a time: a listener of the ImagePublisher. Questions asked after it see the change.
  void apply(const metadata::MetadataChanges& changes, const metadata::MetadataImage& image);

  /// `references`: how many items of the request named the resource; for the audit log.
  bool authorize(const Requester& who, metadata::AclOperation operation, metadata::AclResourceType type,
                 std::string_view name, Audit audit = Audit::all, std::size_t references = 1) const;

  /// Whether the operation is allowed on some resource of the type, whatever its name (KIP-679).
  bool authorize_some(const Requester& who, metadata::AclOperation operation,
                      metadata::AclResourceType type) const;

  /// Rules in force, for tests.
  std::size_t rule_count() const;

 private:
  struct Decision {
    bool allowed;
    const metadata::AclEntry* entry;  ///< that decided, if one did
    bool super_user;
  };
  Decision decide(const Requester& who, metadata::AclOperation operation, metadata::AclResourceType type,
                  std::string_view name, const AclIndex& index) const;
  void note(const Requester& who, metadata::AclOperation operation, metadata::AclResourceType type,
            std::string_view name, const Decision& decision, Audit audit, std::size_t references) const;
  const std::shared_ptr<const AclIndex>& current() const;

  const AuthorizerOptions options_;
  const uint64_t number_;  ///< tells this object from others, also from earlier ones at its address
  std::atomic<uint64_t> version_{1};
  mutable std::mutex mutex_;  ///< only for as long as a pointer is copied, once a thread and change
  std::shared_ptr<const AclIndex> index_;
  mutable std::deque<LogLimiter> limiters_;
};

/// The operations that a resource of that type has, in Kafka's order of bits.
std::span<const metadata::AclOperation> supported_operations(metadata::AclResourceType type);

/// As AclOperations' numbers are bits of it: Kafka's fields of authorized operations.
constexpr int32_t operation_bit(metadata::AclOperation operation) {
  return int32_t{1} << static_cast<int>(operation);
}

}  // namespace barnabas::security
