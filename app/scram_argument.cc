#include "app/scram_argument.h"

#include <map>
#include <optional>
#include <string>
#include <utility>

#include "metadata/config_definitions.h"
#include "security/base64.h"
#include "security/scram_keys.h"

namespace barnabas::app {
namespace {

using metadata::ScramMechanism;
using security::ScramBytes;

std::unexpected<Error> complain(const std::string& what) {
  return fail(ErrorKind::invalid, "--add-scram: " + what);
}

using Parts = std::map<std::string, std::string, std::less<>>;

Result<Parts> parts_of(std::string_view list) {
  Parts parts;
  for (;;) {
    const auto comma = list.find(',');
    const std::string_view part = list.substr(0, comma);
    const auto equals = part.find('=');
    if (equals == part.npos) return complain("a part without =; expected name=…,password=…");
    std::string_view value = part.substr(equals + 1);
    if (value.size() >= 2 && value.starts_with('"') && value.ends_with('"'))
      value = value.substr(1, value.size() - 2);
    parts.insert_or_assign(std::string(part.substr(0, equals)), std::string(value));
    if (comma == list.npos) return parts;
    list.remove_prefix(comma + 1);
  }
}

/// Takes a part out.
std::optional<std::string> take(Parts& parts, std::string_view name) {
  const auto at = parts.find(name);
  if (at == parts.end()) return std::nullopt;
  std::string value = std::move(at->second);
  parts.erase(at);
  return value;
}

Result<int32_t> iterations_of(const std::optional<std::string>& given, std::string_view mechanism) {
  if (!given) return security::scram_iterations_min;
  const auto number = metadata::parse_integer(*given);
  if (!number) return complain("iterations is no number");
  if (*number < security::scram_iterations_min)
    return complain("The 'iterations' value must be >= " + std::to_string(security::scram_iterations_min) +
                    " for add-scram using " + std::string(mechanism));
  if (*number > security::scram_iterations_max)
    return complain("The 'iterations' value must be <= " + std::to_string(security::scram_iterations_max) +
                    " for add-scram using " + std::string(mechanism));
  return static_cast<int32_t>(*number);
}

Result<metadata::ScramCredential> credential_of(ScramMechanism mechanism, Parts parts) {
  const auto name = take(parts, "name");
  if (!name || name->empty()) return complain("You must supply 'name' to add-scram");
  BARNABAS_ASSIGN(const int32_t iterations,
                  iterations_of(take(parts, "iterations"), security::scram_name(mechanism)));
  const auto salt_text = take(parts, "salt");
  std::optional<ScramBytes> salt;
  if (salt_text && !(salt = security::decode_base64(*salt_text))) return complain("salt is no Base64 text");
  const auto password = take(parts, "password");
  const auto salted_text = take(parts, "saltedpassword");
  if (!parts.empty()) return complain("Unknown SCRAM configurations: " + parts.begin()->first);
  if (password && password->empty()) return complain("password is empty; everybody could log in");
  if (password) {
    const std::string random = security::scram_random_text();
    if (!salt) salt.emplace(as_byte_view(random).begin(), as_byte_view(random).end());
    return security::scram_credential({mechanism, *name}, *password, std::move(*salt), iterations);
  }
  if (!salted_text) return complain("You must supply one of 'password' or 'saltedpassword' to add-scram");
  if (!salt) return complain("You must supply 'salt' with 'saltedpassword' to add-scram");
  const auto salted = security::decode_base64(*salted_text);
  if (!salted || salted->empty()) return complain("saltedpassword is no Base64 text");
  return security::scram_credential_of_salted({mechanism, *name}, *salted, std::move(*salt), iterations);
}

}  // namespace

Result<metadata::ScramCredential> parse_scram_argument(std::string_view argument) {
  const auto equals = argument.find('=');
  if (equals == argument.npos)
    return complain("no equals sign; expected SCRAM-SHA-256=[name=alice,password=…]");
  const std::string_view name = argument.substr(0, equals);
  const auto mechanism = security::scram_mechanism(name);
  if (!mechanism)
    return complain("The add-scram mechanism " + std::string(name) +
                    " is not supported; expected SCRAM-SHA-256 or SCRAM-SHA-512");
  std::string_view list = argument.substr(equals + 1);
  if (!list.starts_with('[')) return complain("Expected configuration string to start with [");
  if (!list.ends_with(']')) return complain("Expected configuration string to end with ]");
  BARNABAS_ASSIGN(Parts parts, parts_of(list.substr(1, list.size() - 2)));
  return credential_of(*mechanism, std::move(parts));
}

}  // namespace barnabas::app
