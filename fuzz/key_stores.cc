// A key store or trust store with any content, read with a password that may be right: refused with a line,
// or understood. The first byte chooses what the rest is taken for; the password is "secret".
#include <cstdint>
#include <string>

#include "base/assert.h"
#include "security/key_store.h"
#include "security/pem.h"

namespace {

using namespace barnabas;
using namespace barnabas::security;

template <class T>
void check(const Result<T>& result) {
  if (result) return;
  BARNABAS_ASSERT(!result.error().message.empty());
  BARNABAS_ASSERT(result.error().message.find('\n') == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(reinterpret_cast<const char*>(data) + 1, size - 1);
  const std::string password = "secret";
  switch (data[0] % 4) {
    case 0: {
      const auto entry = key_entry_from_pem(bytes, bytes, password);
      check(entry);
      if (entry) BARNABAS_ASSERT(entry->key != nullptr && entry->certificate != nullptr);
      break;
    }
    case 1: {
      const auto entry = key_entry_from_pkcs12(as_byte_view(bytes), password, std::nullopt);
      check(entry);
      if (entry) (void)(subject_of(entry->certificate.get()) + expiry_of(entry->certificate.get()));
      break;
    }
    case 2: {
      const auto trusted = trusted_from_pem(bytes);
      check(trusted);
      if (trusted)
        for (const Certificate& certificate : *trusted) (void)subject_of(certificate.get());
      break;
    }
    default:
      check(trusted_from_pkcs12(as_byte_view(bytes), password));
  }
  (void)form_of(as_byte_view(bytes));
  return 0;
}
