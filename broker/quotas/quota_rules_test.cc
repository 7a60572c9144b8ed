#include "broker/quotas/quota_rules.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <vector>

namespace barnabas::broker {
namespace {

using metadata::QuotaEntity;
using Name = std::optional<std::string>;

QuotaEntity user(Name name) {
  return {{"user", std::move(name)}};
}
QuotaEntity client(Name name) {
  return {{"client-id", std::move(name)}};
}
QuotaEntity both(Name user_name, Name client_name) {
  return {{"user", std::move(user_name)}, {"client-id", std::move(client_name)}};
}

/// From the one that wins over all others to the one that loses against all.
const std::vector<QuotaEntity> by_precedence = {both("u", "c"),
                                                both("u", std::nullopt),
                                                user("u"),
                                                both(std::nullopt, "c"),
                                                both(std::nullopt, std::nullopt),
                                                user(std::nullopt),
                                                client("c"),
                                                client(std::nullopt)};

TEST(QuotaRules, of_two_entities_the_more_special_one_holds) {
  for (std::size_t strong = 0; strong < by_precedence.size(); ++strong) {
    for (std::size_t weak = strong + 1; weak < by_precedence.size(); ++weak) {
      QuotaRules rules;
      rules.set(by_precedence[weak], 1);
      rules.set(by_precedence[strong], 2);
      ASSERT_TRUE(rules.find("u", "c"));
      EXPECT_EQ(rules.find("u", "c")->bound, 2) << strong << " " << weak;
      rules.set(by_precedence[strong], std::nullopt);
      EXPECT_EQ(rules.find("u", "c")->bound, 1) << strong << " " << weak;
      rules.set(by_precedence[weak], std::nullopt);
      EXPECT_FALSE(rules.find("u", "c"));
      EXPECT_TRUE(rules.empty());
    }
  }
}

TEST(QuotaRules, who_shares_a_bucket_depends_on_what_the_entity_names) {
  const auto share = [](const QuotaEntity& entity, std::string_view u1, std::string_view c1,
                        std::string_view u2, std::string_view c2) {
    QuotaRules rules;
    rules.set(entity, 1);
    const auto one = rules.find(u1, c1);
    const auto two = rules.find(u2, c2);
    return one && two && one->bucket == two->bucket;
  };
  for (const auto& entity : {user("u"), user(std::nullopt)}) {
    EXPECT_TRUE(share(entity, "u", "c", "u", "other"));
    EXPECT_TRUE(share(entity, "u", "c", "u", ""));
    EXPECT_FALSE(share(entity, "u", "c", "v", "c"));
  }
  for (const auto& entity : {client("c"), client(std::nullopt)}) {
    EXPECT_TRUE(share(entity, "u", "c", "v", "c"));
    EXPECT_FALSE(share(entity, "u", "c", "u", "d"));
  }
  for (const auto& entity : {both("u", std::nullopt), both(std::nullopt, std::nullopt)}) {
    EXPECT_FALSE(share(entity, "u", "c", "u", "d"));
    EXPECT_TRUE(share(entity, "u", "c", "u", "c"));
  }
  QuotaRules rules;
  rules.set(both(std::nullopt, std::nullopt), 1);
  EXPECT_NE(rules.find("ab", "c")->bucket, rules.find("a", "bc")->bucket);
}

TEST(QuotaRules, client_without_an_id_is_bound_by_users_only) {
  QuotaRules rules;
  rules.set(client(std::nullopt), 1);
  rules.set(both(std::nullopt, std::nullopt), 2);
  EXPECT_FALSE(rules.find("u", ""));
  rules.set(user(std::nullopt), 3);
  EXPECT_EQ(rules.find("u", "")->bound, 3);
  EXPECT_EQ(rules.find("u", "c")->bound, 2);
}

TEST(QuotaRules, addresses_and_unknown_types_are_none_of_theirs) {
  QuotaRules rules;
  rules.set({{"ip", "192.0.2.1"}}, 1);
  rules.set({{"user", "u"}, {"ip", std::nullopt}}, 1);
  rules.set({{"group", "u"}, {"user", "u"}}, 1);
  rules.set({}, 1);
  EXPECT_TRUE(rules.empty());
}

/// Against Kafka's order of look-ups, word by word over a plain map.
TEST(QuotaRules, random_rules_are_found_as_in_a_plain_list) {
  std::mt19937 random(17);
  const std::vector<std::string> users = {"a", "b", "1:a", "<default>"};
  const std::vector<std::string> clients = {"x", "y", "a", "<default>"};
  for (int round = 0; round < 200; ++round) {
    QuotaRules rules;
    std::map<QuotaEntity, double> model;
    for (int i = 0; i < 12; ++i) {
      const auto some = [&](const auto& names) -> Name {
        return random() % 3 == 0 ? Name() : Name(names[random() % names.size()]);
      };
      const auto kind = random() % 3;
      const QuotaEntity entity = kind == 0   ? user(some(users))
                                 : kind == 1 ? client(some(clients))
                                             : both(some(users), some(clients));
      if (random() % 4 == 0) {
        rules.set(entity, std::nullopt);
        model.erase(entity);
      } else {
        const double bound = 1.0 + static_cast<double>(random() % 1000);
        rules.set(entity, bound);
        model[entity] = bound;
      }
    }
    for (const auto& u : users) {
      for (const auto& c : clients) {
        std::optional<double> expected;
        for (const auto& entity :
             {both(u, c), both(u, std::nullopt), user(u), both(std::nullopt, c),
              both(std::nullopt, std::nullopt), user(std::nullopt), client(c), client(std::nullopt)}) {
          const auto at = model.find(entity);
          if (!expected && at != model.end()) expected = at->second;
        }
        const auto found = rules.find(u, c);
        ASSERT_EQ(found ? std::optional(found->bound) : std::nullopt, expected) << round << u << c;
      }
    }
  }
}

}  // namespace
}  // namespace barnabas::broker
