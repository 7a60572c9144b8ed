#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "metadata/credential_image.h"
#include "security/principal.h"

/// Delegation tokens (KIP-48): what a token's secret is, and whose principals stand in its record.
namespace barnabas::security {

/// The secret of a token: HMAC-SHA-512 of its id with delegation.token.secret.key. Its Base64 text is the
/// password of SCRAM. For its holders' eyes only.
std::vector<std::byte> delegation_token_hmac(std::string_view token_id, std::string_view secret_key);

/// "User:alice" as a principal; nothing when there is no colon between two non-empty parts.
std::optional<Principal> parse_principal(std::string_view text);

/// Whether `principal` may renew and expire the token.
bool owns_or_renews(const metadata::DelegationToken& token, const Principal& principal);

/// Whether the token is one of `principal`'s to look at: those may who may renew it, and who asked for it
/// (KIP-373).
bool may_look_at(const metadata::DelegationToken& token, const Principal& principal);

}  // namespace barnabas::security
