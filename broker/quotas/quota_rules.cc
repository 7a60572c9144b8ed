#include "broker/quotas/quota_rules.h"

namespace barnabas::broker {

std::string QuotaRules::key_of(Part user, std::string_view user_name, Part client,
                               std::string_view client_name) {
  std::string key;
  key.reserve(user_name.size() + client_name.size() + 12);
  key += static_cast<char>('0' + static_cast<int>(user) * 3 + static_cast<int>(client));
  if (user == Part::named) key.append(std::to_string(user_name.size())).append(":").append(user_name);
  if (client == Part::named) key += client_name;
  return key;
}

void QuotaRules::set(const metadata::QuotaEntity& entity, std::optional<double> bound) {
  const auto user = entity.find(metadata::quota_user);
  const auto client = entity.find(metadata::quota_client_id);
  const std::size_t known = (user != entity.end()) + (client != entity.end());
  if (known == 0 || known != entity.size()) return;
  const auto part = [&](auto found) {
    return found == entity.end() ? Part::none : found->second ? Part::named : Part::any;
  };
  const auto name = [&](auto found) {
    return found != entity.end() && found->second ? std::string_view(*found->second) : std::string_view();
  };
  const std::string key = key_of(part(user), name(user), part(client), name(client));
  std::size_t& of_shape = count(part(user), part(client));
  if (bound) {
    of_shape += bounds_.insert_or_assign(key, *bound).second ? 1 : 0;
  } else {
    of_shape -= bounds_.erase(key);
  }
}

const double* QuotaRules::bound(Part user, std::string_view user_name, Part client,
                                std::string_view client_name) const {
  if (counts_[static_cast<std::size_t>(user) * 3 + static_cast<std::size_t>(client)] == 0) return nullptr;
  const auto found = bounds_.find(key_of(user, user_name, client, client_name));
  return found == bounds_.end() ? nullptr : &found->second;
}

std::optional<QuotaRules::Found> QuotaRules::find(std::string_view user, std::string_view client_id) const {
  using enum Part;
  struct Level {
    Part user;
    Part client;
  };
  // A client that gives no id is bound by quotas of users only.
  constexpr Level levels[] = {{named, named}, {named, any}, {named, none}, {any, named},
                              {any, any},     {any, none},  {none, named}, {none, any}};
  for (const Level& level : levels) {
    if (client_id.empty() && level.client != none) continue;
    const double* found = bound(level.user, user, level.client, client_id);
    if (found == nullptr) continue;
    const bool by_user = level.user != none;
    const bool by_client = level.client != none;
    return Found{*found, key_of(by_user ? named : none, user, by_client ? named : none, client_id)};
  }
  return std::nullopt;
}

}  // namespace barnabas::broker
