#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/types.h"
#include "metadata/credential_image.h"

/// The arithmetic of SCRAM (RFC 5802, RFC 7677) on OpenSSL.
namespace barnabas::security {

using metadata::ScramMechanism;

/// Bounds that Kafka sets on the rounds of hashing behind a password.
inline constexpr int32_t scram_iterations_min = 4096;
inline constexpr int32_t scram_iterations_max = 16384;

/// "SCRAM-SHA-256", "SCRAM-SHA-512"; empty for others.
std::string_view scram_name(ScramMechanism mechanism);
/// Nothing for other names.
std::optional<ScramMechanism> scram_mechanism(std::string_view name);

using ScramBytes = std::vector<std::byte>;

/// `mechanism` is a known one in all of these.
ScramBytes scram_hash(ScramMechanism mechanism, ByteView bytes);
ScramBytes scram_hmac(ScramMechanism mechanism, ByteView key, ByteView bytes);
/// Hi() of the RFC, which takes milliseconds. The password is used as it is: Kafka does not prepare it
/// either.
ScramBytes scram_salted_password(ScramMechanism mechanism, std::string_view password, ByteView salt,
                                 int32_t iterations);
/// What is kept of a salted password.
ScramBytes scram_stored_key(ScramMechanism mechanism, ByteView salted_password);
ScramBytes scram_server_key(ScramMechanism mechanism, ByteView salted_password);

/// A credential of a password, or of what a client made of it.
metadata::ScramCredential scram_credential(metadata::ScramKey key, std::string_view password, ScramBytes salt,
                                           int32_t iterations);
metadata::ScramCredential scram_credential_of_salted(metadata::ScramKey key, ByteView salted_password,
                                                     ScramBytes salt, int32_t iterations);

/// 130 random bits as 26 letters and digits: a nonce, or (its bytes) a salt.
std::string scram_random_text();

}  // namespace barnabas::security
