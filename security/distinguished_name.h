#pragma once

#include <string>

struct X509_name_st;

namespace barnabas::security {

/// The name of a certificate's subject as Java's X500Principal.getName() writes it (RFC 2253): the last part
/// first, the nine short names of that RFC, other attributes as "1.2.3=#" and the DER bytes of the value in
/// hexadecimal digits. It is what ssl.principal.mapping.rules are applied to and, without rules, the
/// principal's name, so it has to be Java's letter by letter: access control entries name it. Always UTF-8;
/// bytes that are none become U+FFFD.
std::string java_name(const X509_name_st* name);

}  // namespace barnabas::security
