#include "security/distinguished_name.h"

#include <gtest/gtest.h>
#include <openssl/x509.h>

#include <charconv>
#include <memory>
#include <string>
#include <string_view>

#include "security/openssl_support.h"

namespace barnabas::security {
namespace {

std::string from_hex(std::string_view digits) {
  std::string bytes;
  for (std::size_t i = 0; i + 1 < digits.size(); i += 2) {
    unsigned value = 0;
    std::from_chars(digits.data() + i, digits.data() + i + 2, value, 16);
    bytes += static_cast<char>(value);
  }
  return bytes;
}

std::string name_of(std::string_view hex) {
  const std::string der = from_hex(hex);
  const auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const std::unique_ptr<X509_NAME, Freed<X509_NAME_free>> name(
      d2i_X509_NAME(nullptr, &at, static_cast<long>(der.size())));
  return name ? java_name(name.get()) : "not a name";
}

struct Case {
  std::string_view der;
  std::string_view java;
};

/// What X500Principal.getName() of OpenJDK 17 said of the same bytes.
constexpr Case cases[] = {
    {"3030310a30080603550406130164310a3008060355040a0c0163310a3008060355040b0c0162310a300806035504030c0161",
     "CN=a,OU=b,O=c,C=d"},
    {"3000", ""},
    {"300b3109300706035504030c00", "CN="},
    {"301e311c301a06035504030c13612c622b633c643e6523663b6722685c693d6a",
     "CN=a\\,b\\+c\\<d\\>e\\#f\\;g\\\"h\\\\i\\=j"},
    {"301b3119301706035504030c10206c65616420616e6420747261696c20", "CN=\\ lead and trail\\ "},
    {"300d310b300906035504030c022020", "CN=\\ \\ "},
    {"300d310b300906035504030c022378", "CN=\\#x"},
    {"301c311a301806035504030c11612a6240635f6421c3a9e4b8adf09f9880",
     "CN=a*b@c_d!\xc3\xa9\xe4\xb8\xad\xf0\x9f\x98\x80"},
    {"30133111300f06035504030c08610a620d6300647f",
     "CN=a\x0a"
     "b\x0d"
     "c\\00d\x7f"},
    {"300e310c300a06035504030c030d780d", "CN=\\\x0dx\\\x0d"},
    {"30223114301206092a864886f70d01090116056140622e63310a300806035504030c0178",
     "CN=x,1.2.840.113549.1.9.1=#16056140622e63"},
    {"304e31133011060a0992268993f22c6401191603636f6d31173015060a0992268993f22c64011916076578616d706c653112301"
     "0060a0992268993f22c6401010c027531310a300806035504030c0178",
     "CN=x,UID=u1,DC=example,DC=com"},
    {"3058310a300806035504070c016c310b300906035504080c027374310c300a06035504090c03732031310a30080603550405130"
     "137310b3009060355040c0c024472310a3008060355042a0c0167310a300806035504040c0173",
     "2.5.4.4=#0c0173,2.5.4.42=#0c0167,2.5.4.12=#0c024472,2.5.4.5=#130137,STREET=s 1,ST=st,L=l"},
    {"30223114300806035504030c01613008060355040b0c0162310a3008060355040a0c0163", "O=c,CN=a+OU=b"},
    {"302231143008060355040b0c0162300806035504030c0161310a3008060355040a0c0163", "O=c,OU=b+CN=a"},
    {"300f310d300b06035504031404636166e9", "CN=caf\xc3\xa9"},
    {"300f310d300b06035504031e0400610062", "CN=ab"},
    {"300d310b3009060355040312026162", "CN=#12026162"},
    {"30133111300f06035504031c080000006100000062", "CN=#1c080000006100000062"},
    {"300c310a300806032a03040c0176", "1.2.3.4=#0c0176"},
    {"300c310a300806032a0304130176", "1.2.3.4=#130176"},
    {"3081d63181d33081d006035504030c81c8616161616161616161616161616161616161616161616161616161616161616161616"
     "1616161616161616161616161616161616161616161616161616161616161616161616161616161616161616161616161616161"
     "6161616161616161616161616161616161616161616161616161616161616161616161616161616161616161616161616161616"
     "1616161616161616161616161616161616161616161616161616161616161616161616161616161616161616161616161616161"
     "6161616161616161616161",
     "CN="
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
     "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"},
    {"300e310c300a06035504030c03612f62", "CN=a/b"},
    {"3010310e300c06035504030c057461620978", "CN=tab\x09x"},
};

TEST(DistinguishedName, is_written_as_java_writes_it) {
  for (const Case& c : cases) EXPECT_EQ(name_of(c.der), c.java) << c.der;
}

}  // namespace
}  // namespace barnabas::security
