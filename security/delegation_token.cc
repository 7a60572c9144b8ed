#include "security/delegation_token.h"

#include <algorithm>

#include "security/scram_keys.h"

namespace barnabas::security {

std::vector<std::byte> delegation_token_hmac(std::string_view token_id, std::string_view secret_key) {
  return scram_hmac(ScramMechanism::sha_512, as_byte_view(secret_key), as_byte_view(token_id));
}

std::optional<Principal> parse_principal(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == text.npos || colon == 0 || colon + 1 == text.size()) return std::nullopt;
  return Principal{std::string(text.substr(0, colon)), std::string(text.substr(colon + 1))};
}

bool owns_or_renews(const metadata::DelegationToken& token, const Principal& principal) {
  const std::string name = principal.to_string();
  return token.owner == name || std::ranges::find(token.renewers, name) != token.renewers.end();
}

bool may_look_at(const metadata::DelegationToken& token, const Principal& principal) {
  return token.requester == principal.to_string() || owns_or_renews(token, principal);
}

}  // namespace barnabas::security
