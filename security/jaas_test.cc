#include "security/jaas.h"

#include <gtest/gtest.h>

namespace barnabas::security {
namespace {

LoginModule parsed(std::string_view text) {
  auto module = parse_login_module(text);
  EXPECT_TRUE(module) << (module ? "" : module.error().message);
  return module.value_or(LoginModule());
}

std::string refusal(std::string_view text) {
  const auto module = parse_login_module(text);
  EXPECT_FALSE(module) << text;
  return module ? "" : module.error().message;
}

TEST(Jaas, a_module_has_class_flag_and_options) {
  const auto module = parsed(
      "org.apache.kafka.common.security.plain.PlainLoginModule REQUIRED\n"
      "  username=\"admin\" password='admin secret'\n  user_al-ice=\"alice-secret\" plain=word;\n");
  EXPECT_EQ(module.name, "org.apache.kafka.common.security.plain.PlainLoginModule");
  EXPECT_EQ(module.short_name(), "PlainLoginModule");
  EXPECT_EQ(module.flag, LoginModule::Flag::required);
  EXPECT_EQ(module.options.size(), 4u);
  EXPECT_EQ(module.option("username"), "admin");
  EXPECT_EQ(module.option("password"), "admin secret");
  EXPECT_EQ(module.option("user_al-ice"), "alice-secret");
  EXPECT_EQ(module.option("plain"), "word");
  EXPECT_EQ(module.option("user_bob"), std::nullopt);
}

TEST(Jaas, escapes_are_those_of_java) {
  const auto module = parsed(R"(M optional a="\"\\\n\t\101\0612\377" b='"' "key with spaces"="" ;)");
  EXPECT_EQ(module.option("a"), "\"\\\n\tA12\xC3\xBF");
  EXPECT_EQ(module.option("b"), "\"");
  EXPECT_EQ(module.option("key with spaces"), "");
}

TEST(Jaas, text_beyond_ascii_is_passed_through) {
  EXPECT_EQ(parsed("M required user_j\xC3\xBCrgen=\"gr\xC3\xBC\xC3\x9F\";").option("user_j\xC3\xBCrgen"),
            "gr\xC3\xBC\xC3\x9F");
}

TEST(Jaas, comments_of_both_kinds_end_where_java_ends_them) {
  const auto module = parsed("// one\nM /* two; */ required a=b / three;\n c=d; // four");
  EXPECT_EQ(module.name, "M");
  EXPECT_EQ(module.option("c"), "d");
}

TEST(Jaas, errors_say_where) {
  EXPECT_EQ(refusal(""), "character 1: expected the class of a login module");
  EXPECT_EQ(refusal("M"),
            "character 2: expected required, requisite, sufficient or optional behind the module's class");
  EXPECT_EQ(refusal("M must;"),
            "character 3: expected required, requisite, sufficient or optional behind the module's class");
  EXPECT_EQ(refusal("M required a=b"),
            "character 15: the end, expected ; behind the last option of the module");
  EXPECT_EQ(refusal("M required a b;"), "character 14: expected = behind the name of an option");
  EXPECT_EQ(refusal("M required a=;"),
            "character 14: expected a value; one with other characters than letters needs quotes");
  EXPECT_EQ(refusal("M required; N required;"), "character 13: more than one module, expected one");
  EXPECT_EQ(refusal("M required a=\"b;\nc\";"),
            "character 14: a text that begins with \" and does not end with it before the end of the line");
  EXPECT_EQ(refusal("M /* required;"), "character 3: a comment without its end, expected */");
}

TEST(Jaas, a_value_that_begins_with_a_digit_needs_quotes_as_in_java) {
  EXPECT_NE(refusal("M required a=1secret;"), "");
  EXPECT_EQ(parsed("M required a=\"1secret\";").option("a"), "1secret");
}

TEST(Jaas, no_error_repeats_a_secret) {
  EXPECT_EQ(refusal("M required user_a=\"hunter2\" user_b=\"hunter3\"").find("hunter"), std::string::npos);
  EXPECT_EQ(refusal("M required user_a=\"hunter2").find("hunter"), std::string::npos);
}

}  // namespace
}  // namespace barnabas::security
