#include "security/security_protocol.h"

#include <gtest/gtest.h>

namespace barnabas::security {
namespace {

TEST(SecurityProtocol, names_are_read_in_any_case_of_letters) {
  EXPECT_EQ(security_protocol("PLAINTEXT"), SecurityProtocol::plaintext);
  EXPECT_EQ(security_protocol("sasl_ssl"), SecurityProtocol::sasl_ssl);
  EXPECT_EQ(security_protocol("Ssl"), SecurityProtocol::ssl);
}

TEST(SecurityProtocol, other_names_are_none) {
  for (const char* name : {"", "TLS", "SSL ", "SASL_", "PLAINTEXTS"})
    EXPECT_EQ(security_protocol(name), std::nullopt);
}

TEST(SecurityProtocol, numbers_are_those_of_registration_records) {
  EXPECT_EQ(static_cast<int>(SecurityProtocol::plaintext), 0);
  EXPECT_EQ(static_cast<int>(SecurityProtocol::ssl), 1);
  EXPECT_EQ(static_cast<int>(SecurityProtocol::sasl_plaintext), 2);
  EXPECT_EQ(static_cast<int>(SecurityProtocol::sasl_ssl), 3);
}

}  // namespace
}  // namespace barnabas::security
