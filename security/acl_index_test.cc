#include "security/acl_index.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "security/acl_test_support.h"

namespace barnabas::security {
namespace {

using metadata::AclOperation;
using metadata::AclPatternType;
using metadata::AclPermission;
using metadata::AclResourceType;
using testing::entry;
using testing::Entry;

constexpr auto allow = AclPermission::allow;
constexpr auto deny = AclPermission::deny;
constexpr auto literal = AclPatternType::literal;
constexpr auto prefixed = AclPatternType::prefixed;

enum class Outcome { denied, allowed, no_rule, others };

Outcome ask(const AclIndex& index, std::string_view principal, AclOperation operation, std::string_view name,
            std::string_view host = "10.0.0.1") {
  const auto answer = index.find({principal, host, operation, AclResourceType::topic, name});
  if (answer.denied_by != nullptr) return Outcome::denied;
  if (answer.allowed_by != nullptr) return Outcome::allowed;
  return answer.has_rules ? Outcome::others : Outcome::no_rule;
}

AclIndex index_of(std::initializer_list<Entry> entries) {
  AclIndex index;
  for (const auto& each : entries) index.add(each);
  return index;
}

constexpr auto reading = AclOperation::read;

TEST(AclIndex, a_literal_name_is_that_name_and_a_prefix_all_that_begin_so) {
  const auto index = index_of({entry(1, allow, "User:alice", reading, "foo"),
                               entry(2, allow, "User:alice", reading, "ba", prefixed)});
  EXPECT_EQ(ask(index, "User:alice", reading, "foo"), Outcome::allowed);
  EXPECT_EQ(ask(index, "User:alice", reading, "fool"), Outcome::no_rule);
  EXPECT_EQ(ask(index, "User:alice", reading, "ba"), Outcome::allowed);
  EXPECT_EQ(ask(index, "User:alice", reading, "bar"), Outcome::allowed);
  EXPECT_EQ(ask(index, "User:alice", reading, "b"), Outcome::no_rule);
  EXPECT_EQ(ask(index, "User:bob", reading, "bar"), Outcome::others);
}

/// SEC-09.
TEST(AclIndex, only_a_literal_star_is_every_name) {
  const auto begins_with_star = index_of({entry(1, allow, "User:alice", reading, "*", prefixed)});
  EXPECT_EQ(ask(begins_with_star, "User:alice", reading, "a"), Outcome::no_rule);
  EXPECT_EQ(ask(begins_with_star, "User:alice", reading, "*a"), Outcome::allowed);
  const auto all = index_of({entry(1, allow, "User:alice", reading, "*")});
  EXPECT_EQ(ask(all, "User:alice", reading, "a"), Outcome::allowed);
  EXPECT_EQ(ask(all, "User:alice", reading, "*"), Outcome::allowed);
  const auto resource_of_another_type =
      all.find({"User:alice", "10.0.0.1", reading, AclResourceType::group, "a"});
  EXPECT_FALSE(resource_of_another_type.has_rules);
}

TEST(AclIndex, a_denial_beats_what_is_allowed_wherever_either_stands) {
  for (const auto& [denied, pattern] : {std::pair{"foo", literal}, {"fo", prefixed}, {"*", literal}}) {
    const auto index = index_of({entry(1, allow, "User:alice", reading, "foo"),
                                 entry(2, allow, "User:*", AclOperation::all, "*"),
                                 entry(3, deny, "User:alice", reading, denied, pattern)});
    EXPECT_EQ(ask(index, "User:alice", reading, "foo"), Outcome::denied) << denied;
    EXPECT_EQ(ask(index, "User:bob", reading, "foo"), Outcome::allowed) << denied;
    EXPECT_EQ(ask(index, "User:alice", AclOperation::write, "foo"), Outcome::allowed) << denied;
  }
}

TEST(AclIndex, some_operations_allow_others_and_none_denies_others) {
  using enum AclOperation;
  for (const auto operation : {read, write, create, remove, alter, describe, cluster_action, describe_configs,
                               alter_configs, idempotent_write}) {
    const auto allowing = index_of({entry(1, allow, "User:alice", operation, "t")});
    const auto denying = index_of({entry(1, deny, "User:alice", operation, "t")});
    const bool describes = operation == read || operation == write || operation == remove ||
                           operation == alter || operation == describe;
    const bool describes_configs = operation == alter_configs || operation == describe_configs;
    EXPECT_EQ(ask(allowing, "User:alice", describe, "t") == Outcome::allowed, describes);
    EXPECT_EQ(ask(allowing, "User:alice", describe_configs, "t") == Outcome::allowed, describes_configs);
    EXPECT_EQ(ask(denying, "User:alice", describe, "t") == Outcome::denied, operation == describe);
    EXPECT_EQ(ask(allowing, "User:alice", all, "t") == Outcome::allowed, false);
  }
  const auto everything = index_of({entry(1, allow, "User:alice", all, "t")});
  EXPECT_EQ(ask(everything, "User:alice", idempotent_write, "t"), Outcome::allowed);
}

TEST(AclIndex, principals_are_the_same_byte_by_byte_or_everybody) {
  const auto index =
      index_of({entry(1, allow, "User:*", reading, "t"), entry(2, deny, "User:bob", reading, "t"),
                entry(3, allow, "Group:staff", AclOperation::write, "t")});
  EXPECT_EQ(ask(index, "User:alice", reading, "t"), Outcome::allowed);
  EXPECT_EQ(ask(index, "User:bob", reading, "t"), Outcome::denied);
  EXPECT_EQ(ask(index, "User:Bob", reading, "t"), Outcome::allowed);
  EXPECT_EQ(ask(index, "Group:staff", reading, "t"), Outcome::allowed) << "User:* is everybody of any type";
  EXPECT_EQ(ask(index, "User:staff", AclOperation::write, "t"), Outcome::others);
  EXPECT_EQ(ask(index, "User:*", reading, "t"), Outcome::allowed) << "somebody may be called so";
}

TEST(AclIndex, hosts_are_addresses_and_networks) {
  const auto index = index_of({entry(1, allow, "User:alice", reading, "t", literal, "10.0.0.1"),
                               entry(2, allow, "User:alice", reading, "t", literal, "192.168.0.0/16"),
                               entry(3, deny, "User:alice", reading, "t", literal, "192.168.1.0/24"),
                               entry(4, allow, "User:alice", reading, "t", literal, "2001:db8::/32")});
  EXPECT_EQ(ask(index, "User:alice", reading, "t", "10.0.0.1"), Outcome::allowed);
  EXPECT_EQ(ask(index, "User:alice", reading, "t", "10.0.0.2"), Outcome::others);
  EXPECT_EQ(ask(index, "User:alice", reading, "t", "192.168.2.2"), Outcome::allowed);
  EXPECT_EQ(ask(index, "User:alice", reading, "t", "192.168.1.2"), Outcome::denied);
  EXPECT_EQ(ask(index, "User:alice", reading, "t", "2001:db8::7"), Outcome::allowed);
}

TEST(AclIndex, an_address_is_the_same_in_each_of_its_spellings) {
  for (const char* host : {"0:0:0:0:0:0:0:1", "::1", "0::0:1"}) {
    const auto index = index_of({entry(1, allow, "User:alice", reading, "t"),
                                 entry(2, deny, "User:alice", reading, "t", literal, host)});
    EXPECT_EQ(ask(index, "User:alice", reading, "t", "::1"), Outcome::denied) << host;
    EXPECT_EQ(ask(index, "User:alice", reading, "t", "::2"), Outcome::allowed) << host;
  }
}

TEST(AclIndex, some_topic_is_one_that_is_not_denied_again) {
  using enum AclOperation;
  const auto some = [](const AclIndex& index, AclOperation operation = AclOperation::write) {
    return index.allows_some({"User:alice", "10.0.0.1", operation, AclResourceType::topic, {}});
  };
  EXPECT_FALSE(some(index_of({})));
  EXPECT_TRUE(some(index_of({entry(1, allow, "User:alice", write, "t")})));
  EXPECT_TRUE(some(index_of({entry(1, allow, "User:*", all, "t", prefixed)})));
  EXPECT_FALSE(some(index_of({entry(1, allow, "User:bob", write, "t")})));
  EXPECT_FALSE(some(index_of({entry(1, allow, "User:alice", write, "t")}), describe)) << "nothing is implied";
  EXPECT_FALSE(
      some(index_of({entry(1, allow, "User:alice", write, "t"), entry(2, deny, "User:alice", write, "t")})));
  EXPECT_FALSE(some(
      index_of({entry(1, allow, "User:alice", write, "tx"), entry(2, deny, "User:*", all, "t", prefixed)})));
  EXPECT_TRUE(some(index_of(
      {entry(1, allow, "User:alice", write, "t", prefixed), entry(2, deny, "User:alice", write, "t")})));
  EXPECT_FALSE(
      some(index_of({entry(1, allow, "User:alice", write, "*"), entry(2, deny, "User:alice", write, "*")})));
  EXPECT_TRUE(
      some(index_of({entry(1, allow, "User:alice", write, "*"), entry(2, deny, "User:alice", write, "t")})));
  EXPECT_TRUE(some(index_of(
      {entry(1, allow, "User:alice", write, "*"), entry(2, deny, "User:alice", write, "t", prefixed)})));
}

TEST(AclIndex, copies_keep_what_they_had) {
  AclIndex first =
      index_of({entry(1, allow, "User:alice", reading, "t"), entry(2, allow, "User:bob", reading, "t")});
  const AclIndex copy = first;
  first.remove(entry(1, allow, "User:alice", reading, "t"));
  first.add(entry(3, deny, "User:bob", reading, "t"));
  EXPECT_EQ(ask(copy, "User:alice", reading, "t"), Outcome::allowed);
  EXPECT_EQ(ask(copy, "User:bob", reading, "t"), Outcome::allowed);
  EXPECT_EQ(ask(first, "User:alice", reading, "t"), Outcome::others);
  EXPECT_EQ(ask(first, "User:bob", reading, "t"), Outcome::denied);
  EXPECT_EQ(copy.size(), 2u);
  EXPECT_EQ(first.size(), 2u);
}

TEST(AclIndex, entries_of_types_and_operations_to_come_concern_nobody) {
  auto odd = entry(1, allow, "User:alice", static_cast<AclOperation>(90), "t");
  auto index = index_of({odd, entry(2, allow, "User:alice", AclOperation::all, "t", literal, "*",
                                    static_cast<AclResourceType>(120))});
  EXPECT_EQ(ask(index, "User:alice", reading, "t"), Outcome::others);
  index.remove(odd);
  EXPECT_EQ(ask(index, "User:alice", reading, "t"), Outcome::no_rule);
  EXPECT_EQ(index.size(), 1u);
}

uint64_t seed_count() {
  const char* wanted = std::getenv("BARNABAS_SEEDS");
  return wanted != nullptr ? std::strtoull(wanted, nullptr, 10) : 150;
}

/// Entries come and go; after each change the index, one that is built anew, and a walk over all entries say
/// the same.
TEST(AclIndex, says_what_a_walk_over_all_entries_says_whatever_came_and_went) {
  const char* one = std::getenv("BARNABAS_SEED");
  const uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 1;
  const uint64_t last = one != nullptr ? first : seed_count();
  for (uint64_t seed = first; seed <= last; ++seed) {
    testing::SmallWorld world(seed);
    testing::SlowModel model;
    AclIndex index;
    AclIndex older;
    testing::SlowModel older_model;
    for (int step = 0; step < 60; ++step) {
      if (model.entries().empty() || world.below(3) != 0) {
        auto added = world.entry();
        model.add(added);
        index.add(added);
      } else {
        const auto gone = model.entries()[world.below(model.entries().size())];
        model.remove(gone);
        index.remove(gone);
      }
      if (world.below(10) == 0) {
        older = index;
        older_model = model;
      }
      AclIndex anew;
      for (const auto& each : model.entries()) anew.add(each);
      for (int i = 0; i < 20; ++i) {
        const std::string name = world.name();
        const std::string principal = world.principal();
        const AclIndex::Question question{principal, world.one_of({"10.0.0.1", "10.0.0.9", "2001:db8::1"}),
                                          world.operation(), world.type(), name};
        const auto same = [&](const AclIndex& which, const testing::SlowModel& as) {
          const auto got = which.find(question);
          const auto expected = as.find(question);
          ASSERT_EQ(got.denied_by != nullptr, expected.denied) << "seed " << seed << " " << name;
          ASSERT_TRUE(expected.denied || (got.allowed_by != nullptr) == expected.allowed)
              << "seed " << seed << " " << name;
          ASSERT_EQ(got.has_rules, expected.has_rules) << "seed " << seed << " " << name;
          ASSERT_EQ(which.allows_some(question), as.allows_some(question)) << "seed " << seed;
        };
        same(index, model);
        same(anew, model);
        same(older, older_model);
        if (HasFatalFailure()) return;
      }
    }
    ASSERT_EQ(index.size(), model.entries().size()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace barnabas::security
