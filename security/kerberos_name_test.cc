#include "security/kerberos_name.h"

#include <gtest/gtest.h>

namespace barnabas::security {
namespace {

std::string local(std::string_view name, const std::vector<std::string>& rules) {
  const auto parsed = KerberosName::parse(name);
  if (!parsed) return "no name";
  const auto all = KerberosRules::parse(rules, "REALM.COM");
  if (!all) return "bad rules: " + all.error().message;
  return all->local_name(*parsed).value_or("none");
}

bool are_rules(const std::vector<std::string>& rules) {
  return KerberosRules::parse(rules, "R").has_value();
}

TEST(KerberosName, has_one_or_two_components) {
  EXPECT_EQ(KerberosName::parse("a/h@R").value(), (KerberosName{"a", "h", "R"}));
  EXPECT_EQ(KerberosName::parse("a@R").value(), (KerberosName{"a", std::nullopt, "R"}));
  EXPECT_EQ(KerberosName::parse("a").value(), (KerberosName{"a", std::nullopt, std::nullopt}));
  EXPECT_EQ(KerberosName::parse("a/b").value(), (KerberosName{"a/b", std::nullopt, std::nullopt}));
  EXPECT_EQ(KerberosName::parse("/@").value(), (KerberosName{"", "", ""}));
  for (const auto* bad : {"a/b/c@R", "a@R@S", "a@R/x", "a/b@R@"})
    EXPECT_FALSE(KerberosName::parse(bad)) << bad;
  EXPECT_FALSE(KerberosName::parse(std::string(5000, 'a')));
}

TEST(KerberosName, says_itself_as_it_was) {
  for (const auto* text : {"a/h@R", "a@R", "a"})
    EXPECT_EQ(KerberosName::parse(text).value().to_string(), text);
}

TEST(KerberosRules, default_is_the_primary_of_those_in_the_default_realm) {
  EXPECT_EQ(local("ann@REALM.COM", {"DEFAULT"}), "ann");
  EXPECT_EQ(local("ann/host@REALM.COM", {"DEFAULT"}), "ann");
  EXPECT_EQ(local("ann@OTHER.COM", {"DEFAULT"}), "none");
  EXPECT_EQ(local("ann@realm.com", {"DEFAULT"}), "none");
  EXPECT_EQ(local("ann@REALM.COM", {}), "none");
  EXPECT_EQ(local("ann", {}), "ann");
}

// The examples of Kafka's documentation and of MIT's auth_to_local.
TEST(KerberosRules, rewrite_names_as_kafka_documents_them) {
  const std::vector<std::string> rules{R"(RULE:[1:$1](App\..*)s/App\.(.*)/$1/g)",
                                       R"(RULE:[2:$1](App\..*)s/App\.(.*)/$1/g)", "DEFAULT"};
  EXPECT_EQ(local("App.service-name/example.com@REALM.COM", rules), "service-name");
  EXPECT_EQ(local("App.service-name@REALM.COM", rules), "service-name");
  EXPECT_EQ(local("user/host@REALM.COM", rules), "user");
  EXPECT_EQ(local("ann@MYDOMAIN.COM", {R"(RULE:[1:$1@$0](.*@MYDOMAIN.COM)s/@.*//)", "DEFAULT"}), "ann");
  EXPECT_EQ(local("ann@YOUR.COM", {R"(RULE:[1:$1@$0](.*@MYDOMAIN.COM)s/@.*//)", "DEFAULT"}), "none");
  EXPECT_EQ(local("nm/h1.x@REALM.COM", {"RULE:[2:$1-$2](nm-.*)s/-.*/_user/"}), "nm_user");
}

TEST(KerberosRules, change_the_case) {
  const std::vector<std::string> lower{"RULE:[1:$1]/L",
                                       "RULE:[2:$1](Test.*)s/ABC///L",
                                       "RULE:[2:$1](ABC.*)s/ABC/XYZ/g/L",
                                       R"(RULE:[2:$1](App\..*)s/App\.(.*)/$1/g/L)",
                                       "RULE:[2:$1]/L",
                                       "DEFAULT"};
  EXPECT_EQ(local("User@REALM.COM", lower), "user");
  EXPECT_EQ(local("TestABC/host@FOO.COM", lower), "test");
  EXPECT_EQ(local("ABC_User_ABC/host@FOO.COM", lower), "xyz_user_xyz");
  EXPECT_EQ(local("App.SERVICE-name/example.com@REALM.COM", lower), "service-name");
  EXPECT_EQ(local("User/root@REALM.COM", lower), "user");
  EXPECT_EQ(local("User@REALM.COM", {"RULE:[1:$1]/U"}), "USER");
  EXPECT_EQ(local("User@REALM.COM", {"RULE:[1:$1]U"}), "USER");
  EXPECT_EQ(local("\xC3\x84nn@REALM.COM", {"RULE:[1:$1]/L"}), "none");
  EXPECT_EQ(local("\xC3\x84nn@REALM.COM", {"RULE:[1:$1]"}), "\xC3\x84nn");
}

TEST(KerberosRules, fit_names_of_their_number_of_components_only) {
  EXPECT_EQ(local("ann@R", {"RULE:[2:$1]"}), "none");
  EXPECT_EQ(local("ann/h@R", {"RULE:[1:$1]"}), "none");
  EXPECT_EQ(local("ann/h@R", {"RULE:[1:one]", "RULE:[2:two]"}), "two");
}

TEST(KerberosRules, the_first_that_fits_decides_even_when_it_makes_no_simple_name) {
  EXPECT_EQ(local("ann@R", {"RULE:[1:$1@$0]", "RULE:[1:$1]"}), "none");
  EXPECT_EQ(local("ann@R", {"RULE:[1:$1](bob)", "RULE:[1:x$1]"}), "xann");
}

TEST(KerberosRules, without_g_only_the_first_match_is_replaced) {
  EXPECT_EQ(local("aXbXc@R", {"RULE:[1:$1]s/X/-/"}), "a-bXc");
  EXPECT_EQ(local("aXbXc@R", {"RULE:[1:$1]s/X/-/g"}), "a-b-c");
}

TEST(KerberosRules, refuses_what_kafka_refuses) {
  for (const auto* bad :
       {"default", "DEFAUL", "DEFAULT/L", "DEFAULT/g", "rule:[1:$1]", "RULE:[1:$1]/L/U", "RULE:[1:$1]/U/L",
        "RULE:[1:$1]/LU", "RULE:[1:$1/L", "RULE:[1:$1]/l", "RULE:[2:$1](ABC.*)s/ABC/XYZ/L/g", "", " DEFAULT",
        "RULE:[:$1]", "RULE:[1:$1](a", "RULE:[1:$1]s/a/b"})
    EXPECT_FALSE(are_rules({bad})) << bad;
}

// Kafka starts with these, and then nobody can log in.
TEST(KerberosRules, refuses_at_once_what_would_fail_later) {
  for (const auto* bad : {"RULE:[1:$2]", "RULE:[1:$x]", "RULE:[1:$]", "RULE:[3:$1]", "RULE:[0:$0]",
                          "RULE:[1:$1]([a)", "RULE:[1:$1]s/a/$1/", "RULE:[1:$99999999999999999999]"})
    EXPECT_FALSE(are_rules({bad})) << bad;
}

}  // namespace
}  // namespace barnabas::security
