// Rules that map certificates' names, and a name: up to the first zero byte the rules, behind it the name,
// once as text and once as the DER of a certificate's subject. What is refused says why; what a rule makes of
// a name is no longer than the rules allow.
#include <openssl/x509.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/assert.h"
#include "security/distinguished_name.h"
#include "security/principal_mapping.h"

namespace {

using barnabas::security::PrincipalMapping;

constexpr std::size_t input_bytes_max = 2'000;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), std::min(size, input_bytes_max));
  const std::string_view rules = input.substr(0, input.find('\0'));
  const std::string name(input.substr(std::min(rules.size() + 1, input.size())));
  const auto mapping = PrincipalMapping::parse(rules);
  if (!mapping) {
    BARNABAS_ASSERT(!mapping.error().message.empty());
    return 0;
  }
  (void)mapping->name_of(name);
  const auto* at = reinterpret_cast<const unsigned char*>(name.data());
  X509_NAME* subject = d2i_X509_NAME(nullptr, &at, static_cast<long>(name.size()));
  if (subject == nullptr) return 0;
  (void)mapping->name_of(barnabas::security::java_name(subject));
  X509_NAME_free(subject);
  return 0;
}
