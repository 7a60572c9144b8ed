#include "command/wrong_word.h"

#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "command/positive_number.h"

namespace barnabas::command {
namespace {

class WrongWordTest : public testing::Test {
 protected:
  WrongWordTest() : model_("does things", "program") {
    model_.add_option("settings", settings_);
    model_.add_subcommand("consume", "");
    model_.add_subcommand("manual", "")->group("");
    CLI::App* topic = model_.add_subcommand("topic", "");
    topic->require_subcommand(1);
    for (const char* name : {"list", "create", "delete"}) topic->add_subcommand(name, "");
  }

  std::string said(const std::vector<const char*>& words) const {
    return wrong_word(model_, words).value_or("");
  }

  CLI::App model_;
  std::string settings_;
};

TEST_F(WrongWordTest, commands_options_and_nothing_are_right) {
  EXPECT_EQ(said({}), "");
  EXPECT_EQ(said({"consume", "anything"}), "");
  EXPECT_EQ(said({"manual"}), "");
  EXPECT_EQ(said({"--override", "a=b"}), "");
  EXPECT_EQ(said({"topic", "list"}), "");
  EXPECT_EQ(said({"topic", "--help"}), "");
  EXPECT_EQ(said({"topic", "-h"}), "");
}

TEST_F(WrongWordTest, a_mistyped_command_is_told_what_it_may_have_been) {
  EXPECT_EQ(said({"topics"}), "no command topics; did you mean topic?");
  EXPECT_EQ(said({"consum", "f1"}), "no command consum; did you mean consume?");
  EXPECT_EQ(said({"tpoic", "list"}), "no command tpoic; did you mean topic?");
  EXPECT_EQ(said({"topic", "crate", "x"}), "no command topic crate; did you mean create?");
  EXPECT_EQ(said({"topic", "lst"}), "no command topic lst; did you mean list?");
  EXPECT_EQ(said({"topic", "--list"}), "no command topic --list; did you mean list?");
}

TEST_F(WrongWordTest, where_nothing_is_near_it_is_said_what_there_is) {
  EXPECT_EQ(said({"frobnicate"}), "no command frobnicate; program help shows those that there are");
  EXPECT_EQ(said({"topic", "frobnicate"}), "no command topic frobnicate; there are list, create, delete");
  EXPECT_EQ(said({"topic"}), "topic: expected one of list, create, delete");
  EXPECT_EQ(said({"topic", "-b"}), "topic: expected one of list, create, delete, and options behind it");
  EXPECT_EQ(no_command(*model_.get_subcommand("topic")->get_subcommand("list"), "x"),
            "no command topic list x; there are none below topic list");
}

TEST_F(WrongWordTest, what_may_be_a_file_is_none_of_its_business) {
  EXPECT_EQ(said({"topics.properties"}), "");
  EXPECT_EQ(said({"/etc/topics"}), "");
  const auto here = std::filesystem::current_path();
  std::string directory = (std::filesystem::temp_directory_path() / "words-XXXXXX").string();
  ASSERT_NE(::mkdtemp(directory.data()), nullptr);
  std::filesystem::current_path(directory);
  std::ofstream("topics") << "node.id=1\n";
  EXPECT_EQ(said({"topics"}), "");
  std::filesystem::current_path(here);
  std::filesystem::remove_all(directory);
}

TEST(NearWord, short_words_bear_fewer_mistakes) {
  EXPECT_EQ(near_word("crte", {"create", "delete"}), std::nullopt);
  EXPECT_EQ(near_word("creaet", {"create", "delete"}), "create");
  EXPECT_EQ(near_word("x", {"y"}), std::nullopt);
  EXPECT_EQ(near_word("consume", {"produce", "consume"}), "consume");
}

TEST(PositiveNumber, says_what_it_wants) {
  CLI::App app;
  int number = 0;
  app.add_option("-p", number)->check(positive_number());
  for (const char* text : {"0", "-1", "many", "1.5"}) {
    try {
      app.parse(std::string("-p \"") + text + "\"");
      FAIL() << text;
    } catch (const CLI::ParseError& error) {
      EXPECT_EQ(std::string(error.what()), std::string("-p: expected 1 or more, not ") + text);
    }
  }
  app.parse("-p 3");
  EXPECT_EQ(number, 3);
}

}  // namespace
}  // namespace barnabas::command
