#include "security/principal_mapping.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace barnabas::security {
namespace {

struct Case {
  const char* rules;
  const char* name;
  const char* principal;  ///< null: no rule has one
};

/// What Kafka 4.4's SslPrincipalMapper made of the same.
constexpr Case cases[] = {
    {"DEFAULT", "CN=a,OU=b,O=c,C=d", "CN=a,OU=b,O=c,C=d"},
    {"", "CN=a,OU=b,O=c,C=d", nullptr},
    {"RULE:^CN=(.*?),.*$/$1/L, DEFAULT", "CN=a,OU=b,O=c,C=d", "a"},
    {"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L, DEFAULT", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "duke"},
    {"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/L, DEFAULT", "CN=a,OU=b,O=c,C=d", "CN=a,OU=b,O=c,C=d"},
    {"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "Duke"},
    {"RULE:^CN=(.*?),OU=ServiceUsers.*$/$1/", "CN=a,OU=b,O=c,C=d", nullptr},
    {"RULE:^CN=(.*?), OU=(.*?), O=(.*?), L=(.*?), ST=(.*?), C=(.*?)$/$1@$2/",
     "CN=Adm, OU=ASF, O=X, L=Y, ST=Z, C=UK", "Adm@ASF"},
    {"RULE:^CN=(.*?),OU=(.*?),O=(.*?),C=(.*?)$/$1@$2/L", "CN=Duke,OU=ServiceUsers,O=Org,C=US",
     "duke@serviceusers"},
    {"RULE:^.*[Cc][Nn]=([a-zA-Z0-9.]*).*$/$1/U", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "DUKE"},
    {"RULE:^CN=([^,]*).*$/$1@$4/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "Duke@$4"},
    {"RULE:^CN=([^,]*).*$/$12/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "Duke2"},
    {"RULE:^CN=([^,]*).*$/$0/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "CN=Duke,OU=ServiceUsers,O=Org,C=US"},
    {"RULE:^CN=([^,]*).*$/\\$1/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "$1"},
    {"RULE:^CN=([^,]*).*$/a\\/b/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "a/b"},
    {"RULE:.*/x/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "xx"},
    {"RULE:(.*)/$1/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "CN=Duke,OU=ServiceUsers,O=Org,C=US"},
    {"RULE:CN=(.*?)/$1/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "Duke,OU=ServiceUsers,O=Org,C=US"},
    {"RULE:CN=(.*?)/<$1>/", "CN=a,OU=b,O=c,C=d", "<>a,OU=b,O=c,C=d"},
    {"RULE:^(.*)$/$1/L", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "cn=duke,ou=serviceusers,o=org,c=us"},
    {"DEFAULT,RULE:^.*$/x/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "CN=Duke,OU=ServiceUsers,O=Org,C=US"},
    {" RULE:^nothing$/x/ , RULE:^CN=(\\w+),.*$/$1/ ,DEFAULT ", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "Duke"},
    {"RULE:^CN=([^,]+),OU=(?<unit>[^,]+).*$/${unit}/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "ServiceUsers"},
    {"RULE:^CN=(.*),OU=(.*),O=(.*),C=(.*)$/$4$3$2$1/U", "CN=Duke,OU=ServiceUsers,O=Org,C=US",
     "USORGSERVICEUSERSDUKE"},
    {"RULE:^CN=(\\S+?),.*$/user-$1/,,DEFAULT", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "user-Duke"},
    {"RULE:^cn=.*$/x/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", nullptr},
    {"RULE:^CN=([^,]*)(,OU=x)?.*$/$1$2/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "Duke"},
    {"RULE:^.*$//", "CN=Duke,OU=ServiceUsers,O=Org,C=US", ""},
    {"RULE:^CN=(.),.*$/$1/L", "CN=\xc3\x89,O=x", "\xc3\xa9"},
    {"RULE:^CN=(.),.*$/$1/U", "CN=\xc3\xa9,O=x", "\xc3\x89"},
    {"RULE:^CN=([^,]*),.*$/$1 $01/", "CN=Duke,OU=ServiceUsers,O=Org,C=US", "Duke Duke"},
};

/// What it refuses, at the start or when the rule is used.
constexpr const char* refused[] = {
    "RULE:///",
    "RULE:^CN=([^,]*).*$/$1/X",
    "RULE:^CN=([^,]*).*$/$1/LU",
    "RULE:^CN=([^,]*).*$/$1",
    "rule:^.*$/x/",
    "default",
    "RULE:^CN=([^,]*).*$/$1/L,x",
    "RULE:^.*$/$1/",
    "RULE:^(.*)$/$/",
    "RULE:^(.*)$/$a/",
    "RULE:^(.*)$/a\\/",
    "RULE:^(.*$/a/",
    "RULE:^CN=([^/]*),O.*$/$1/L",
};

TEST(PrincipalMapping, names_are_what_kafka_makes_of_them) {
  for (const Case& c : cases) {
    const auto mapping = PrincipalMapping::parse(c.rules);
    ASSERT_TRUE(mapping) << c.rules << ": " << mapping.error().message;
    const auto name = mapping->name_of(c.name);
    if (c.principal == nullptr) {
      EXPECT_FALSE(name) << c.rules << " on " << c.name << ": " << *name;
    } else {
      EXPECT_EQ(name, c.principal) << c.rules << " on " << c.name;
    }
  }
}

TEST(PrincipalMapping, what_kafka_refuses_is_refused_at_the_start) {
  for (const char* rules : refused) EXPECT_FALSE(PrincipalMapping::parse(rules)) << rules;
}

TEST(PrincipalMapping, the_error_names_the_rule) {
  const auto mapping = PrincipalMapping::parse("DEFAULT, RULE:^(?!CN)(.*)$/$1/");
  ASSERT_FALSE(mapping);
  EXPECT_NE(mapping.error().message.find("RULE:^(?!CN)(.*)$/$1/"), std::string::npos)
      << mapping.error().message;
}

TEST(PrincipalMapping, patterns_that_would_keep_java_busy_do_not) {
  const auto mapping = PrincipalMapping::parse("RULE:^(a+)+$/$1/,DEFAULT");
  ASSERT_TRUE(mapping);
  const std::string name = std::string(100'000, 'a') + "!";
  EXPECT_EQ(mapping->name_of(name), name);
}

TEST(PrincipalMapping, rules_that_would_take_much_memory_are_refused) {
  EXPECT_FALSE(PrincipalMapping::parse("RULE:((((a{100}){10}){100}){10})/x/"));
  EXPECT_FALSE(PrincipalMapping::parse(std::string(1 << 20, 'x')));
}

}  // namespace
}  // namespace barnabas::security
