#include "client/answer.h"

#include <gtest/gtest.h>

#include <sstream>

#include "client/commands/acl_words.h"
#include "protocol/error_code.h"

namespace barnabas::client {
namespace {

TEST(Answer, rows_are_a_table_for_people_and_a_list_for_programs) {
  const Answer answer = Answer::list({{{"topic", "orders"}, {"in_sync", {1, 2}}, {"rack", nullptr}},
                                      {{"topic", "t"}, {"in_sync", Json::array()}, {"rack", "a"}}});
  std::ostringstream text, json;
  answer.print(text, OutputFormat::text, false);
  EXPECT_EQ(text.str(),
            "TOPIC   IN-SYNC  RACK\n"
            "orders  1,2      -\n"
            "t       -        a\n");
  answer.print(json, OutputFormat::json, false);
  EXPECT_EQ(Json::parse(json.str()).at(0).at("in_sync").at(1), 2);
}

TEST(Answer, outcomes_are_one_table_and_failures_are_complaints) {
  Answer answer;
  answer.outcome({{"topic", "a"}}, "topic a", 0);
  answer.outcome({{"topic", "b"}}, "topic b", protocol::to_wire(protocol::ErrorCode::topic_already_exists));
  answer.outcome({{"topic", "c"}}, "topic c", 0);
  std::ostringstream text;
  const auto& complaints = answer.print(text, OutputFormat::text, false);
  EXPECT_EQ(text.str(), "TOPIC  STATUS\na      OK\nc      OK\n");
  ASSERT_EQ(complaints.size(), 1U);
  EXPECT_TRUE(complaints[0].starts_with("topic b: TOPIC_ALREADY_EXISTS: ")) << complaints[0];
  EXPECT_EQ(answer.document[1]["status"], "TOPIC_ALREADY_EXISTS");
}

TEST(Answer, text_of_others_plays_no_tricks) {
  const Json rows = Json::array({{{"name", "a\x1b[2Jb\nc"}}});
  EXPECT_EQ(table_text(rows, false), "NAME\na [2Jb c\n");
  EXPECT_EQ(json_line(Json("\xff")), "\"\xEF\xBF\xBD\"\n");
}

TEST(AclWords, words_go_both_ways) {
  EXPECT_EQ(acl_number(AclWords::operation, "describe-configs"), 10);
  EXPECT_EQ(acl_word(AclWords::operation, 10), "DESCRIBE_CONFIGS");
  EXPECT_EQ(acl_number(AclWords::resource_type, "topic"), acl_topic);
  EXPECT_EQ(acl_number(AclWords::operation, "unknown"), std::nullopt);
  EXPECT_EQ(acl_word(AclWords::permission, 99), "99");
}

}  // namespace
}  // namespace barnabas::client
