#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

#include "base/text_hash.h"
#include "metadata/quota_image.h"

namespace barnabas::broker {

/// What was set of one kind of quota, and who is bound by what. The most special entity wins, as in Kafka:
/// user and client id, user with the default client id, user, default user with client id, both defaults,
/// default user, client id, default client id. Pure.
class QuotaRules {
 public:
  /// Sets or (none) removes what holds for an entity of users and client ids; others are none of ours.
  void set(const metadata::QuotaEntity& entity, std::optional<double> bound);
  bool empty() const { return bounds_.empty(); }

  struct Found {
    double bound;
    /// Those who share one bucket: all clients of a user, all users of a client id, or one client id of one
    /// user.
    std::string bucket;
  };
  /// Nothing: no quota holds for this client.
  std::optional<Found> find(std::string_view user, std::string_view client_id) const;

 private:
  /// How much of an entity is named.
  enum class Part : uint8_t { none, named, any };
  static std::string key_of(Part user, std::string_view user_name, Part client, std::string_view client_name);
  const double* bound(Part user, std::string_view user_name, Part client, std::string_view client_name) const;
  std::size_t& count(Part user, Part client) {
    return counts_[static_cast<std::size_t>(user) * 3 + static_cast<std::size_t>(client)];
  }

  std::unordered_map<std::string, double, TextHash, std::equal_to<>> bounds_;
  std::array<std::size_t, 9>
      counts_{};  ///< of entities of each shape, so that what is not there is not looked for
};

}  // namespace barnabas::broker
