// Texts of settings that are small languages of their own. The first byte says which: JAAS, properties, or
// rules that make local names of Kerberos principals, one a line, the principal on the first.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/assert.h"
#include "base/properties.h"
#include "security/jaas.h"
#include "security/kerberos_name.h"

namespace {

using namespace barnabas;
using namespace barnabas::security;

void read_jaas(std::string_view text) {
  const auto module = parse_login_module(text);
  if (!module) return;
  BARNABAS_ASSERT(!module->name.empty());
  BARNABAS_ASSERT(module->name.ends_with(module->short_name()));
}

void read_settings(std::string_view text) {
  const auto properties = parse_properties(text);
  if (!properties) return;
  int line = 0;
  for (const Property& property : *properties) {
    BARNABAS_ASSERT(property.line >= line);
    line = property.line;
  }
}

void map_principal(std::string_view text) {
  const std::size_t end = text.find('\n');
  const auto name = KerberosName::parse(text.substr(0, end));
  if (!name || end == std::string_view::npos) return;
  std::vector<std::string> lines;
  for (text.remove_prefix(end + 1); !text.empty() && lines.size() < 8;) {
    const std::size_t next = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, next));
    text.remove_prefix(std::min(next + 1, text.size()));
  }
  const auto rules = KerberosRules::parse(lines, "REALM");
  if (!rules) return;
  const auto local = rules->local_name(*name);
  if (local && name->realm) BARNABAS_ASSERT(local->find_first_of("/@") == std::string::npos);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  switch (data[0] % 3) {
    case 0:
      read_jaas(text);
      break;
    case 1:
      read_settings(text);
      break;
    default:
      map_principal(text);
  }
  return 0;
}
