#include "broker/rights.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "broker/handlers/handlers.h"
#include "broker/handlers/table_on_page.h"

namespace barnabas::broker {
namespace {

std::string table_from_the_code() {
  std::string table = "| API | resource | operation | |\n|---|---|---|---|\n";
  for (const RightRow& row : all_rights()) {
    table += "| " + std::string(protocol::name(row.api)) + " | " + std::string(name_of(row.resource)) +
             " | " + std::string(name_of(row.operation)) + " | " +
             (row.audit == security::Audit::all ? "" : "filter") + " |\n";
  }
  return table;
}

TEST(Rights, each_api_that_is_served_needs_some_but_for_those_that_let_people_in_or_say_how_they_are) {
  std::set<protocol::ApiKey> guarded;
  for (const RightRow& row : all_rights()) guarded.insert(row.api);
  for (const HandlerEntry& handler : all_handlers()) {
    using enum protocol::ApiKey;
    const bool open = handler.api == api_versions || handler.api == sasl_handshake ||
                      handler.api == sasl_authenticate || handler.api == renew_delegation_token ||
                      handler.api == expire_delegation_token || handler.api == get_telemetry_subscriptions ||
                      handler.api == push_telemetry;
    EXPECT_NE(guarded.contains(handler.api), open) << protocol::name(handler.api);
  }
}

TEST(Rights, without_an_authorizer_everything_is_allowed) {
  const Rights rights;
  EXPECT_FALSE(rights.limited());
  EXPECT_TRUE(rights.may(Right::produce_topic, "t"));
  EXPECT_TRUE(rights.may_on_some(Right::init_producer_some_topic));
  EXPECT_EQ(rights.operations(metadata::AclResourceType::topic, "t"), 3576);
  EXPECT_EQ(rights.operations(metadata::AclResourceType::group, "g"), 3400);
  EXPECT_EQ(rights.operations(metadata::AclResourceType::cluster, "kafka-cluster"), 8096);
}

TEST(Rights, fields_of_operations_have_those_that_are_allowed) {
  security::Authorizer authorizer({});
  metadata::MetadataImage image;
  image.access_control.put(std::make_shared<const metadata::AclEntry>(
      metadata::AclEntry{{metadata::AclResourceType::topic, "t", metadata::AclPatternType::literal,
                          "User:alice", "*", metadata::AclOperation::read, metadata::AclPermission::allow},
                         Uuid::random()}));
  authorizer.apply(metadata::all_of(image), image);
  const Rights rights(authorizer, {"User:alice", "192.0.2.1", "Metadata"});
  EXPECT_TRUE(rights.limited());
  EXPECT_EQ(rights.operations(metadata::AclResourceType::topic, "t"),
            security::operation_bit(metadata::AclOperation::read) |
                security::operation_bit(metadata::AclOperation::describe));
  EXPECT_TRUE(rights.may(Right::fetch_topic, "t"));
  EXPECT_FALSE(rights.may(Right::produce_topic, "t"));
  EXPECT_FALSE(rights.may(Right::describe_quorum));
}

TEST(Rights, the_page_shows_the_table_of_the_code) {
  testing::expect_table_on_page("docs/authorization.md", "rights", table_from_the_code());
}

}  // namespace
}  // namespace barnabas::broker
