// What is made from the model: completion and the manual page.

#include <gmock/gmock.h>

#include "command/manual_page.h"
#include "command/model_walk.h"
#include "command/shell_completion.h"

namespace barnabas::command {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

class ModelTest : public ::testing::Test {
 protected:
  ModelTest() : model_("Serves it's clients.", "program") {
    model_.add_option("--override", text_, "a setting")->type_name("NAME=VALUE");
    CLI::App* topic = model_.add_subcommand("topic", "Topics");
    CLI::App* list = topic->add_subcommand("list", "List topics");
    list->add_option("-o,--output", text_, "how")->check(CLI::IsMember({"text", "json"}));
    list->add_flag("--internal", flag_, "also those of the broker's own");
    list->add_option("PATTERN", text_, "which");
    list->footer("Example: program topic list\n.dots and \\backslashes");
    model_.add_subcommand("secret", "Hidden")->group("");
  }

  CLI::App model_;
  std::string text_;
  bool flag_ = false;
};

TEST_F(ModelTest, commands_options_and_arguments_are_told_apart) {
  std::vector<std::string> places;
  for_each_command(model_, [&](const std::string& place, const CLI::App&) { places.push_back(place); });
  EXPECT_THAT(places, ElementsAre("program", "program topic", "program topic list"));
  const CLI::App& list = *model_.get_subcommand("topic")->get_subcommand("list");
  const auto options = shown_options(list);
  ASSERT_EQ(options.size(), 3U);
  EXPECT_THAT(names_of(*options[1]), ElementsAre("-o", "--output"));
  EXPECT_THAT(choices_of(*options[1]), ::testing::UnorderedElementsAre("text", "json"));
  EXPECT_TRUE(takes_value(*options[1]));
  EXPECT_FALSE(takes_value(*options[2]));
  EXPECT_EQ(shown_arguments(list).size(), 1U);
}

TEST_F(ModelTest, every_command_and_option_is_in_each_completion_and_in_the_manual) {
  for (const std::string& made : {bash_completion(model_), zsh_completion(model_), fish_completion(model_),
                                  manual_page(model_, "program 1")}) {
    for (const char* word : {"override", "topic", "list", "output", "internal", "json"})
      EXPECT_THAT(made, HasSubstr(word));
    EXPECT_THAT(made, Not(HasSubstr("secret")));
  }
}

TEST_F(ModelTest, the_manual_cannot_be_taken_for_requests_of_the_formatter) {
  const std::string page = manual_page(model_, "program 1");
  EXPECT_THAT(page, HasSubstr("\n\\&.dots and \\ebackslashes\n"));
  EXPECT_THAT(page, HasSubstr("\\fB\\-o\\fR, \\fB\\-\\-output\\fR"));
}

}  // namespace
}  // namespace barnabas::command
