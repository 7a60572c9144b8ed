#include <gtest/gtest.h>

#include "metadata/access_control_filter.h"
#include "metadata/address_block.h"
#include "metadata/image_writer.h"
#include "metadata/metadata_test_support.h"

namespace barnabas::metadata {
namespace {

using testing::apply;
using testing::id;

AclRule rule(std::string_view name, AclPatternType pattern = AclPatternType::literal,
             std::string_view principal = "User:alice") {
  return {AclResourceType::topic, std::string(name),   pattern, std::string(principal), "*",
          AclOperation::read,     AclPermission::allow};
}

protocol::RemoveAccessControlEntryRecord removal(const Uuid& entry) {
  protocol::RemoveAccessControlEntryRecord record;
  record.id = entry;
  return record;
}

TEST(AccessControl, entries_come_and_go_and_changes_say_what_was_there_before) {
  const AclRule first = rule("one");
  const AclRule second = rule("two");
  auto next =
      apply(MetadataImage{}, access_control_record(first, id(1)), access_control_record(second, id(2)));
  ASSERT_EQ(next.changes.access_control.size(), 2u);
  EXPECT_EQ(next.changes.access_control[0].before, nullptr);
  EXPECT_EQ(next.changes.access_control[0].after->rule, first);
  EXPECT_TRUE(next.image->access_control.contains(first));
  EXPECT_FALSE(next.image->access_control.contains(rule("three")));

  const auto later = apply(*next.image, removal(id(1)));
  ASSERT_EQ(later.changes.access_control.size(), 1u);
  EXPECT_EQ(later.changes.access_control[0].before->rule, first);
  EXPECT_EQ(later.changes.access_control[0].after, nullptr);
  EXPECT_FALSE(later.image->access_control.contains(first));
  EXPECT_TRUE(later.image->access_control.contains(second));
  EXPECT_TRUE(next.image->access_control.contains(first)) << "older images stay as they are";
}

TEST(AccessControl, what_comes_and_goes_within_one_change_is_none) {
  const auto next =
      apply(MetadataImage{}, access_control_record(rule("t"), id(1)), removal(id(1)), removal(id(7)));
  EXPECT_TRUE(next.changes.access_control.empty());
  EXPECT_TRUE(next.image->access_control.by_id.empty());
  EXPECT_TRUE(next.image->access_control.by_rule.empty());
}

TEST(AccessControl, a_rule_that_two_entries_say_stays_until_both_are_gone) {
  const auto both =
      apply(MetadataImage{}, access_control_record(rule("t"), id(1)), access_control_record(rule("t"), id(2)))
          .image;
  const auto one = apply(*both, removal(id(1))).image;
  EXPECT_TRUE(one->access_control.contains(rule("t")));
  EXPECT_FALSE(apply(*one, removal(id(2))).image->access_control.contains(rule("t")));
}

TEST(AccessControl, a_snapshot_holds_all_entries_also_those_with_numbers_to_come) {
  AclRule odd = rule("t");
  odd.operation = static_cast<AclOperation>(101);
  odd.resource_type = static_cast<AclResourceType>(-3);
  const auto image =
      apply(MetadataImage{}, access_control_record(odd, id(1)), access_control_record(rule("t"), id(2)))
          .image;
  EXPECT_EQ(name_of(odd.operation), "UNKNOWN");
  EXPECT_EQ(name_of(odd.resource_type), "UNKNOWN");
  MetadataDelta delta(MetadataImage{});
  const RecordList records = records_of(*image);
  for (std::size_t i = 0; i < records.size(); ++i) ASSERT_TRUE(delta.replay(records[i]));
  const auto again = std::move(delta).finish({});
  ASSERT_TRUE(again);
  ASSERT_EQ(again->image->access_control.by_id.size(), 2u);
  EXPECT_EQ((*again->image->access_control.by_id.find(id(1)))->rule, odd);
  EXPECT_EQ((*again->image->access_control.by_id.find(id(2)))->rule, rule("t"));
}

TEST(AclFilter, names_match_by_the_type_of_pattern_that_is_asked_for) {
  const auto matches = [](AclPatternType asked, std::string_view name, const AclRule& rule) {
    AclFilter filter;
    filter.pattern_type = asked;
    filter.resource_name = name;
    return filter.matches(rule);
  };
  using enum AclPatternType;
  EXPECT_TRUE(matches(literal, "foo", rule("foo")));
  EXPECT_FALSE(matches(literal, "foo", rule("*")));
  EXPECT_FALSE(matches(literal, "foo", rule("foo", prefixed)));
  EXPECT_FALSE(matches(prefixed, "foo", rule("fo", prefixed)));
  EXPECT_TRUE(matches(prefixed, "fo", rule("fo", prefixed)));
  EXPECT_TRUE(matches(any, "foo", rule("foo")));
  EXPECT_TRUE(matches(any, "foo", rule("foo", prefixed)));
  EXPECT_FALSE(matches(any, "foo", rule("fo", prefixed)));
  EXPECT_FALSE(matches(any, "foo", rule("*")));
  EXPECT_TRUE(matches(match, "foo", rule("foo")));
  EXPECT_TRUE(matches(match, "foo", rule("fo", prefixed)));
  EXPECT_TRUE(matches(match, "foo", rule("*")));
  EXPECT_FALSE(matches(match, "foo", rule("*", prefixed)));
  EXPECT_FALSE(matches(match, "foo", rule("fool", prefixed)));
}

TEST(AclFilter, what_is_not_asked_for_matches_anything) {
  EXPECT_TRUE(AclFilter{}.matches(rule("x")));
  AclFilter filter;
  filter.principal = "User:bob";
  EXPECT_FALSE(filter.matches(rule("x")));
  filter = {};
  filter.host = "1.2.3.4";
  EXPECT_FALSE(filter.matches(rule("x")));
  filter = {};
  filter.operation = AclOperation::all;
  EXPECT_FALSE(filter.matches(rule("x"))) << "ALL is an operation of its own here";
  filter = {};
  filter.permission = AclPermission::deny;
  EXPECT_FALSE(filter.matches(rule("x")));
  filter = {};
  filter.resource_type = AclResourceType::group;
  EXPECT_FALSE(filter.matches(rule("x")));
}

TEST(AddressBlock, holds_the_addresses_that_begin_as_it_does) {
  const auto in = [](std::string_view block, std::string_view address) {
    return AddressBlock::parse(block)->contains(address);
  };
  EXPECT_TRUE(in("10.1.0.0/16", "10.1.255.3"));
  EXPECT_FALSE(in("10.1.0.0/16", "10.2.0.1"));
  EXPECT_TRUE(in("10.1.2.3/31", "10.1.2.2"));
  EXPECT_FALSE(in("10.1.2.3/32", "10.1.2.2"));
  EXPECT_TRUE(in("0.0.0.0/0", "255.255.255.255"));
  EXPECT_TRUE(in("10.128.0.0/9", "10.200.0.1"));
  EXPECT_FALSE(in("10.128.0.0/9", "10.100.0.1"));
  EXPECT_FALSE(in("0.0.0.0/0", "::1"));
  EXPECT_TRUE(in("::/0", "::1"));
  EXPECT_TRUE(in("2001:db8::/33", "2001:db8:7fff::1"));
  EXPECT_FALSE(in("2001:db8::/33", "2001:db8:8000::1"));
  EXPECT_FALSE(in("2001:db8::/33", "10.0.0.1"));
  EXPECT_FALSE(in("10.0.0.0/8", "host.example"));
}

TEST(AddressBlock, refuses_what_is_none_in_kafkas_words) {
  const auto why = [](std::string_view text) {
    const auto block = AddressBlock::parse(text);
    return block ? std::string() : block.error().message;
  };
  EXPECT_EQ(why("10.0.0.0/33"), "Value [33] not in range [0,32]");
  EXPECT_EQ(why("10.0.0.256/8"), "Value [256] not in range [0,255]");
  EXPECT_EQ(why("10.0.0/8"), "Could not parse [10.0.0/8]");
  EXPECT_EQ(why("10.0.0.0.0/8"), "Could not parse [10.0.0.0.0/8]");
  EXPECT_EQ(why("10.0.0.0/"), "Could not parse [10.0.0.0/]");
  EXPECT_EQ(why("::/129"), "Could not parse [::/129] - prefix length must be between 0 and 128");
  for (const std::string bits : {"x", "", "+", "+-5", "-+5", " 5"})
    EXPECT_EQ(why("::/" + bits), "Could not parse [::/" + bits + "] - invalid prefix length");
  EXPECT_EQ(why("::/-5"), "Could not parse [::/-5] - prefix length must be between 0 and 128");
  EXPECT_EQ(why("::zz/8"), "Could not parse [::zz]");
  EXPECT_EQ(why("::ffff:1.2.3.4/8"), "Could not parse [::ffff:1.2.3.4] - not an IPv6 address");
  EXPECT_EQ(why("10.0.0.0"), "Could not parse [10.0.0.0]");
}

}  // namespace
}  // namespace barnabas::metadata
