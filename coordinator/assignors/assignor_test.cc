#include "coordinator/assignors/assignor.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>

#include "base/test_seeds.h"

namespace barnabas::coordinator {
namespace {

Uuid topic_id(uint8_t number) {
  Uuid id;
  id.bytes[15] = std::byte{number};
  return id;
}

std::shared_ptr<const std::vector<Uuid>> topics(std::initializer_list<uint8_t> numbers) {
  std::vector<Uuid> ids;
  for (const uint8_t number : numbers) ids.push_back(topic_id(number));
  std::ranges::sort(ids);
  return std::make_shared<const std::vector<Uuid>>(std::move(ids));
}

std::size_t count_of(const TopicPartitions& partitions) {
  std::size_t count = 0;
  for (const auto& [topic, list] : partitions) count += list.size();
  return count;
}

/// Whether each partition of each topic with subscribers is given once, to a subscriber.
void expect_complete(const AssignorInput& input, const Assignment& assignment) {
  ASSERT_EQ(assignment.size(), input.members.size());
  std::map<Uuid, std::set<int32_t>> given;
  for (std::size_t i = 0; i < assignment.size(); ++i) {
    for (const auto& [topic, list] : assignment[i]) {
      EXPECT_TRUE(std::ranges::binary_search(*input.members[i].topics, topic));
      EXPECT_TRUE(std::ranges::is_sorted(list));
      EXPECT_FALSE(list.empty());
      for (const int32_t partition : list) EXPECT_TRUE(given[topic].insert(partition).second);
    }
  }
  for (const auto& [topic, count] : input.partition_counts) {
    EXPECT_EQ(given[topic].size(), static_cast<std::size_t>(count));
    if (count > 0) {
      EXPECT_EQ(*given[topic].rbegin(), count - 1);
    }
  }
}

/// Groups that come about by chance, one from the other.
class RandomGroup {
 public:
  explicit RandomGroup(uint64_t seed) : random_(seed) {}

  int below(int limit) { return std::uniform_int_distribution<int>(0, limit - 1)(random_); }

  void change(bool same_topics) {
    const int members = 1 + below(12);
    std::map<std::string, TopicPartitions> kept;
    for (auto& [id, target] : targets_)
      if (below(4) != 0) kept.insert({id, std::move(target)});
    while (static_cast<int>(kept.size()) < members) kept["m" + std::to_string(below(1000))];
    while (static_cast<int>(kept.size()) > members) kept.erase(std::prev(kept.end()));
    targets_ = std::move(kept);
    for (int i = below(3); i > 0; --i) counts_[topic_id(static_cast<uint8_t>(below(8)))] += below(9);
    if (below(5) == 0 && !counts_.empty()) counts_.erase(counts_.begin());

    input = {};
    std::vector<Uuid> all;
    for (const auto& [id, count] : counts_) all.push_back(id);
    const auto everything = std::make_shared<const std::vector<Uuid>>(all);
    for (const auto& [id, target] : targets_) {
      auto subscribed = everything;
      if (!same_topics) {
        std::vector<Uuid> some;
        for (const Uuid& topic : all)
          if (below(2) == 0) some.push_back(topic);
        subscribed = std::make_shared<const std::vector<Uuid>>(std::move(some));
      }
      for (const Uuid& topic : *subscribed) input.partition_counts[topic] = counts_[topic];
      input.members.push_back({id, std::nullopt, subscribed, &target});
    }
    input.same_topics = same_topics;
  }

  void keep(const Assignment& assignment) {
    std::size_t index = 0;
    for (auto& [id, target] : targets_) target = assignment[index++];
  }

  AssignorInput input;

 private:
  std::mt19937_64 random_;
  std::map<std::string, TopicPartitions> targets_;
  std::map<Uuid, int32_t> counts_;
};

std::size_t valid_of(const AssignorInput& input, const AssignorMember& member) {
  std::size_t count = 0;
  for (const auto& [topic, list] : *member.target) {
    const auto found = input.partition_counts.find(topic);
    if (found == input.partition_counts.end()) continue;
    for (const int32_t partition : list) count += partition < found->second ? 1 : 0;
  }
  return count;
}

TEST(UniformAssignor, where_subscriptions_are_the_same_all_get_the_same_and_nothing_moves_without_need) {
  const auto seeds = test_seeds(300);
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE(seed);
    RandomGroup group(seed);
    for (int round = 0; round < 12; ++round) {
      group.change(true);
      const AssignorInput& input = group.input;
      const Assignment assignment = assign_uniform(input);
      expect_complete(input, assignment);
      std::size_t total = 0;
      for (const auto& [topic, count] : input.partition_counts) total += static_cast<std::size_t>(count);
      const std::size_t quota = total / input.members.size();
      const std::size_t extra = total % input.members.size();
      std::size_t may_stay = 0;
      std::size_t above = 0;
      std::size_t stayed = 0;
      for (std::size_t i = 0; i < assignment.size(); ++i) {
        const std::size_t count = count_of(assignment[i]);
        EXPECT_TRUE(count == quota || (extra > 0 && count == quota + 1)) << count << " of " << quota;
        const std::size_t had = valid_of(input, input.members[i]);
        may_stay += std::min(had, quota);
        above += had > quota ? 1 : 0;
        for (const auto& [topic, list] : *input.members[i].target) {
          const auto now = assignment[i].find(topic);
          if (now == assignment[i].end()) continue;
          for (const int32_t partition : list)
            stayed += std::ranges::binary_search(now->second, partition) ? 1 : 0;
        }
      }
      EXPECT_EQ(stayed, may_stay + std::min(extra, above));
      group.keep(assignment);
      for (auto& member : group.input.members) ASSERT_NE(member.target, nullptr);
      EXPECT_EQ(assign_uniform(group.input), assignment) << "the same again moves nothing";
    }
  }
}

TEST(UniformAssignor, where_subscriptions_differ_nobody_has_two_more_than_who_could_take_one) {
  const auto seeds = test_seeds(300);
  for (uint64_t seed = seeds.first; seed <= seeds.last; ++seed) {
    SCOPED_TRACE(seed);
    RandomGroup group(seed);
    for (int round = 0; round < 12; ++round) {
      group.change(false);
      const AssignorInput& input = group.input;
      const Assignment assignment = assign_uniform(input);
      expect_complete(input, assignment);
      for (std::size_t a = 0; a < assignment.size(); ++a)
        for (const auto& [topic, list] : assignment[a])
          for (std::size_t b = 0; b < assignment.size(); ++b)
            if (std::ranges::binary_search(*input.members[b].topics, topic)) {
              EXPECT_LE(count_of(assignment[a]), count_of(assignment[b]) + 1);
            }
      group.keep(assignment);
      EXPECT_EQ(assign_uniform(group.input), assignment) << "the same again moves nothing";
    }
  }
}

TEST(UniformAssignor, old_targets_that_contradict_each_other_or_the_topics_are_overlooked) {
  const TopicPartitions both{{topic_id(1), {0, 1, 7, 1'000'000}}, {topic_id(9), {0}}};
  const TopicPartitions negative{{topic_id(1), {-5, 1}}};
  for (const bool same_topics : {true, false}) {
    AssignorInput input{.members = {{"a", std::nullopt, topics({1}), &both},
                                    {"b", std::nullopt, topics({1}), &both},
                                    {"c", std::nullopt, topics({1}), &negative}},
                        .same_topics = same_topics,
                        .partition_counts = {{topic_id(1), 3}}};
    expect_complete(input, assign_uniform(input));
  }
}

TEST(RangeAssignor, gives_runs_and_meets_topics_of_the_same_size_at_one_member) {
  const auto all = topics({1, 2, 3});
  const AssignorInput input{.members = {{"a", std::nullopt, all}, {"b", std::nullopt, all}, {"c", "0", all}},
                            .same_topics = true,
                            .partition_counts = {{topic_id(1), 7}, {topic_id(2), 7}, {topic_id(3), 2}}};
  const Assignment assignment = assign_range(input);
  expect_complete(input, assignment);
  using List = std::vector<int32_t>;
  // Static members come first.
  EXPECT_EQ(assignment[2].at(topic_id(1)), (List{0, 1, 2}));
  EXPECT_EQ(assignment[0].at(topic_id(1)), (List{3, 4}));
  EXPECT_EQ(assignment[1].at(topic_id(1)), (List{5, 6}));
  for (const auto& member : assignment) EXPECT_EQ(member.at(topic_id(1)), member.at(topic_id(2)));
  EXPECT_FALSE(assignment[1].contains(topic_id(3)));
}

TEST(RangeAssignor, of_a_topic_only_its_subscribers_get_something) {
  const AssignorInput input{.members = {{"a", std::nullopt, topics({1, 2})},
                                        {"b", std::nullopt, topics({2})},
                                        {"c", std::nullopt, topics({})}},
                            .same_topics = false,
                            .partition_counts = {{topic_id(1), 3}, {topic_id(2), 3}}};
  const Assignment assignment = assign_range(input);
  expect_complete(input, assignment);
  EXPECT_EQ(count_of(assignment[0]), 5u);
  EXPECT_EQ(count_of(assignment[1]), 1u);
}

TEST(Assignors, have_nothing_to_give_where_there_is_nothing) {
  for (const auto* name : {"uniform", "range"}) {
    EXPECT_TRUE(assignor_named(name)({}).empty());
    const AssignorInput input{.members = {{"a", std::nullopt, topics({})}}, .partition_counts = {}};
    EXPECT_EQ(assignor_named(name)(input), Assignment(1));
  }
  EXPECT_EQ(assignor_named("best"), nullptr);
}

}  // namespace
}  // namespace barnabas::coordinator
