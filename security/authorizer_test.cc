#include "security/authorizer.h"

#include <gtest/gtest.h>

#include <mutex>
#include <thread>

#include "metadata/image_writer.h"
#include "metadata/metadata_test_support.h"
#include "security/acl_test_support.h"

namespace barnabas::security {
namespace {

using metadata::AclOperation;
using metadata::AclPermission;
using metadata::AclResourceType;
using testing::entry;
using testing::Entry;

constexpr auto topic = AclResourceType::topic;
constexpr auto reading = AclOperation::read;

metadata::MetadataChanges added(const Entry& which) {
  metadata::MetadataChanges changes;
  changes.access_control.push_back({nullptr, which});
  return changes;
}
metadata::MetadataChanges removed(const Entry& which) {
  metadata::MetadataChanges changes;
  changes.access_control.push_back({which, nullptr});
  return changes;
}

const metadata::MetadataImage no_image;
const Requester alice{"User:alice", "10.0.0.1", "Fetch"};
const Requester admin{"User:admin", "10.0.0.1", "Fetch"};

TEST(Authorizer, super_users_may_everything_also_what_is_denied_to_all) {
  Authorizer authorizer({.super_users = {"User:admin"}});
  authorizer.apply(added(entry(1, AclPermission::deny, "User:*", AclOperation::all, "*")), no_image);
  EXPECT_TRUE(authorizer.authorize(admin, reading, topic, "t"));
  EXPECT_TRUE(authorizer.authorize_some(admin, reading, topic));
  EXPECT_FALSE(authorizer.authorize(alice, reading, topic, "t"));
  EXPECT_FALSE(authorizer.authorize({"User:Admin", "10.0.0.1", ""}, reading, topic, "t"));
}

TEST(Authorizer, without_rules_for_a_resource_all_or_nobody_may_as_it_is_set) {
  Authorizer closed({});
  EXPECT_FALSE(closed.authorize(alice, reading, topic, "t"));
  EXPECT_FALSE(closed.authorize_some(alice, reading, topic));
  Authorizer open({.super_users = {}, .allow_if_no_acl_found = true});
  EXPECT_TRUE(open.authorize(alice, reading, topic, "t"));
  EXPECT_TRUE(open.authorize_some(alice, reading, topic));
  open.apply(added(entry(1, AclPermission::allow, "User:bob", AclOperation::write, "t")), no_image);
  EXPECT_FALSE(open.authorize(alice, reading, topic, "t")) << "there is a rule now, for somebody else";
  EXPECT_TRUE(open.authorize(alice, reading, topic, "u"));
}

TEST(Authorizer, changes_take_effect_for_threads_that_have_asked_before) {
  Authorizer authorizer({});
  const auto rule = entry(1, AclPermission::allow, "User:alice", reading, "t");
  EXPECT_FALSE(authorizer.authorize(alice, reading, topic, "t"));
  authorizer.apply(added(rule), no_image);
  EXPECT_TRUE(authorizer.authorize(alice, reading, topic, "t"));
  authorizer.apply(removed(rule), no_image);
  EXPECT_FALSE(authorizer.authorize(alice, reading, topic, "t"));
  EXPECT_EQ(authorizer.rule_count(), 0u);
}

TEST(Authorizer, a_whole_image_replaces_what_was_there) {
  Authorizer authorizer({});
  authorizer.apply(added(entry(1, AclPermission::allow, "User:alice", reading, "old")), no_image);
  metadata::MetadataImage image;
  image.access_control.put(entry(2, AclPermission::allow, "User:alice", reading, "new"));
  authorizer.apply(metadata::all_of(image), image);
  EXPECT_FALSE(authorizer.authorize(alice, reading, topic, "old"));
  EXPECT_TRUE(authorizer.authorize(alice, reading, topic, "new"));
}

TEST(Authorizer, two_of_them_on_one_thread_are_not_mixed_up) {
  Authorizer first({});
  Authorizer second({});
  first.apply(added(entry(1, AclPermission::allow, "User:alice", reading, "t")), no_image);
  second.apply(added(entry(1, AclPermission::allow, "User:alice", reading, "u")), no_image);
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(first.authorize(alice, reading, topic, "t"));
    EXPECT_FALSE(second.authorize(alice, reading, topic, "t"));
  }
}

TEST(Authorizer, many_threads_see_what_was_applied_before_they_ask) {
  Authorizer authorizer({});
  authorizer.apply(added(entry(1, AclPermission::allow, "User:alice", reading, "always")), no_image);
  std::atomic<int> applied{0};
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 4; ++i) {
    readers.emplace_back([&] {
      while (!stop) {
        const int seen = applied.load();
        if (seen > 0) {
          EXPECT_TRUE(authorizer.authorize(alice, reading, topic, "t" + std::to_string(seen)));
        }
        EXPECT_TRUE(authorizer.authorize(alice, reading, topic, "always"));
      }
    });
  }
  for (int i = 1; i <= 2'000; ++i) {
    authorizer.apply(added(entry(static_cast<uint32_t>(i + 1), AclPermission::allow, "User:alice", reading,
                                 "t" + std::to_string(i))),
                     no_image);
    applied = i;
  }
  stop = true;
  for (auto& reader : readers) reader.join();
  EXPECT_EQ(authorizer.rule_count(), 2'001u);
}

std::mutex lines_mutex;
std::vector<std::string> lines;

class AuditLog : public ::testing::Test {
 protected:
  AuditLog() {
    lines.clear();
    set_log_sink([](LogLevel level, std::string_view logger, std::string_view text) {
      const std::lock_guard lock(lines_mutex);
      if (logger == "kafka.authorizer.logger")
        lines.push_back(std::string(log_level_name(level)) + " " + std::string(text));
    });
  }
  ~AuditLog() override {
    set_log_sink(nullptr);
    set_logger_level("kafka.authorizer.logger", std::nullopt);
  }
  Authorizer authorizer_{{.super_users = {"User:admin"}}};
};

TEST_F(AuditLog, denials_say_who_wanted_what_from_where_and_why_not) {
  authorizer_.authorize(alice, reading, topic, "secret\n", Audit::all, 3);
  authorizer_.apply(added(entry(1, AclPermission::deny, "User:*", AclOperation::all, "s",
                                metadata::AclPatternType::prefixed)),
                    no_image);
  authorizer_.authorize({"User:bob", "10.0.0.2", "Produce"}, AclOperation::write, topic, "s1");
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0],
            "INFO denied principal=\"User:alice\" operation=READ host=10.0.0.1 "
            "resource=TOPIC:LITERAL:\"secret\\n\" "
            "request=Fetch references=3 rule=(DefaultDeny)");
  EXPECT_EQ(lines[1],
            "INFO denied principal=\"User:bob\" operation=WRITE host=10.0.0.2 resource=TOPIC:LITERAL:\"s1\" "
            "request=Produce references=1 rule=(DENY ALL \"User:*\" from \"*\" on TOPIC:PREFIXED:\"s\")");
}

TEST_F(AuditLog, what_is_allowed_and_what_was_not_asked_for_by_name_is_told_when_wanted) {
  authorizer_.authorize(admin, reading, topic, "t");
  authorizer_.authorize(alice, reading, topic, "t", Audit::allowed_only);
  EXPECT_TRUE(lines.empty());
  set_logger_level("kafka.authorizer.logger", LogLevel::debug);
  authorizer_.authorize(admin, reading, topic, "t");
  authorizer_.authorize(admin, reading, topic, "t", Audit::none);
  ASSERT_EQ(lines.size(), 1u);
  EXPECT_TRUE(lines[0].starts_with("DEBUG allowed principal=\"User:admin\"")) << lines[0];
  EXPECT_TRUE(lines[0].ends_with("rule=(SuperUser)")) << lines[0];
  set_logger_level("kafka.authorizer.logger", LogLevel::trace);
  authorizer_.authorize(alice, reading, topic, "t", Audit::allowed_only);
  EXPECT_TRUE(lines.back().starts_with("TRACE denied")) << lines.back();
}

TEST_F(AuditLog, one_who_tries_again_and_again_does_not_fill_it) {
  for (int i = 0; i < 1'000; ++i) authorizer_.authorize(alice, reading, topic, "t");
  EXPECT_GE(lines.size(), 1u);
  EXPECT_LE(lines.size(), 60u);
}

TEST(AuthorizerOptions, super_users_are_parted_by_semicolons) {
  metadata::StaticConfig config;
  ASSERT_TRUE(config.set("super.users", " User:a ;; User:CN=x,O=y;Group:z:1;", "test"));
  ASSERT_TRUE(config.set("allow.everyone.if.no.acl.found", " TRUE ", "test"));
  const auto options = authorizer_options(config);
  ASSERT_TRUE(options);
  EXPECT_EQ(options->super_users, (std::unordered_set<std::string>{"User:a", "User:CN=x,O=y", "Group:z:1"}));
  EXPECT_TRUE(options->allow_if_no_acl_found);
  ASSERT_TRUE(config.set("allow.everyone.if.no.acl.found", "yes", "test"));
  EXPECT_FALSE(authorizer_options(config)->allow_if_no_acl_found);
  ASSERT_TRUE(config.set("super.users", "admin", "server.properties:7"));
  const auto bad = authorizer_options(config);
  ASSERT_FALSE(bad);
  EXPECT_EQ(bad.error().message,
            "server.properties:7: super.users: expected a string in format principalType:principalName but "
            "got admin");
}

}  // namespace
}  // namespace barnabas::security
