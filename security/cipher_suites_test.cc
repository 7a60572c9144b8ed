#include "security/cipher_suites.h"

#include <gtest/gtest.h>

namespace barnabas::security {
namespace {

TEST(TlsOffer, both_protocols_are_offered_unless_told) {
  const auto offer = tls_offer({}, {});
  ASSERT_TRUE(offer);
  EXPECT_TRUE(offer->tls_1_2 && offer->tls_1_3);
}

TEST(TlsOffer, javas_names_become_openssls) {
  const auto offer =
      tls_offer({"TLSv1.2", "TLSv1.3"},
                {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256", "TLS_AES_128_GCM_SHA256",
                 "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256", "SSL_RSA_WITH_3DES_EDE_CBC_SHA"});
  if (!offer) {  // where OpenSSL was built without the old cipher
    EXPECT_NE(offer.error().message.find("3DES"), std::string::npos);
    return;
  }
  EXPECT_TRUE(offer->ciphers_1_2.starts_with("ECDHE-RSA-AES128-GCM-SHA256:ECDHE-ECDSA-CHACHA20-POLY1305"));
  EXPECT_EQ(offer->suites_1_3, "TLS_AES_128_GCM_SHA256");
}

TEST(TlsOffer, a_protocol_without_a_suite_is_not_offered) {
  const auto old = tls_offer({"TLSv1.2", "TLSv1.3"}, {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"});
  ASSERT_TRUE(old);
  EXPECT_TRUE(old->tls_1_2);
  EXPECT_FALSE(old->tls_1_3);
  const auto none = tls_offer({"TLSv1.3"}, {"TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256"});
  EXPECT_FALSE(none);
}

TEST(TlsOffer, protocols_that_nobody_should_use_are_passed_over) {
  const auto offer = tls_offer({"TLSv1.1", "TLSv1.2"}, {});
  ASSERT_TRUE(offer);
  EXPECT_TRUE(offer->tls_1_2);
  EXPECT_FALSE(offer->tls_1_3);
  EXPECT_FALSE(tls_offer({"TLSv1.1"}, {}));
  EXPECT_FALSE(tls_offer({"TLSv1.4"}, {}));
}

TEST(TlsOffer, suites_that_protect_nothing_or_are_none_are_refused) {
  for (const char* suite : {"TLS_RSA_WITH_NULL_SHA256", "TLS_ECDH_anon_WITH_AES_128_CBC_SHA", "AES", "ALL",
                            "", "TLS_AES_128_GCM_SHA256:ALL"})
    EXPECT_FALSE(tls_offer({}, {suite})) << suite;
}

}  // namespace
}  // namespace barnabas::security
