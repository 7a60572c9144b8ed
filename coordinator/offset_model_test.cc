// Random commits, deletions, transactions, expiry, topics that come and go, refused appends and crashes,
// against a model that is a map. More seeds: BARNABAS_SEEDS=5000; one seed again: BARNABAS_SEED=1234.

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <set>

#include "base/test_seeds.h"
#include "coordinator/offset_records.h"
#include "coordinator/offset_test_support.h"

namespace barnabas::coordinator {
namespace {

using namespace testing;
using std::chrono::milliseconds;

constexpr milliseconds retention = std::chrono::hours(1);
constexpr milliseconds check_interval = std::chrono::minutes(5);

void short_retention(GroupSettings& settings) {
  settings.offsets_retention = retention;
  settings.offsets_check_interval = check_interval;
}

struct Key {
  std::string group, topic;
  int32_t partition = 0;
  auto operator<=>(const Key&) const = default;
};

struct Value {
  int64_t offset = 0;
  TimestampMs committed_at;
  std::size_t position = 0;  ///< in the log
  Uuid topic_id;
};

struct Model {
  std::map<Key, Value> committed;
  std::map<int64_t, std::map<Key, Value>> open;

  void drop(const auto& chosen) {
    std::erase_if(committed, [&](const auto& entry) { return chosen(entry.first, entry.second); });
    for (auto& [producer, offsets] : open)
      std::erase_if(offsets, [&](const auto& entry) { return chosen(entry.first, entry.second); });
  }
  void end(int64_t producer, bool commit) {
    const auto pending = open[producer];
    open.erase(producer);
    if (!commit) return;
    for (const auto& [key, value] : pending) {
      const auto found = committed.find(key);
      if (found == committed.end() || found->second.position < value.position) committed[key] = value;
    }
  }
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : random_(seed), shard_(short_retention) {
    for (const char* name : names) shard_.create_topic(name, 1 + static_cast<int32_t>(pick(4)));
    remember();
  }

  void run() {
    for (int step = 0; step < 120 && !::testing::Test::HasFailure(); ++step) {
      act();
      look();
      remember();
    }
  }

 private:
  static constexpr std::array<const char*, 3> names{"a", "b", "c"};

  uint64_t pick(uint64_t below) { return random_() % below; }
  std::string any_group() { return "g" + std::to_string(pick(4)); }
  std::string any_topic() { return names[pick(names.size())]; }
  Key any_key() { return {any_group(), any_topic(), static_cast<int32_t>(pick(5))}; }
  TimestampMs now() { return shard_.runner().now().wall; }
  bool exists(const Key& key) {
    const auto* topic = shard_.told_image().topic(key.topic);
    return topic != nullptr && key.partition < topic->partition_count();
  }

  void act() {
    switch (pick(16)) {
      case 0:
        return delete_offsets();
      case 1:
        return delete_groups();
      case 2:
        return change_topic();
      case 3:
        return crash();
      case 4:
        return shard_.runner().advance(milliseconds(pick(2 * retention.count() / 3)));
      case 5:
        return shard_.runner().advance(milliseconds(pick(10'000)));
      case 6:
        return make_durable();
      case 7:
        return shard_.runner().durable_at_once(pick(2) == 0);
      case 8:
        return refused_commit();
      case 9:
      case 10:
        return commit_in_transaction();
      case 11:
        return end_transaction();
      default:
        return commit();
    }
  }

  void commit() {
    const std::string group = any_group();
    std::vector<PartitionOffset> offsets;
    const std::size_t begin = shard_.runner().log().size();
    std::size_t position = begin;
    for (uint64_t i = 0; i <= pick(4); ++i) {
      const Key key{group, any_topic(), static_cast<int32_t>(pick(5))};
      const auto offset = static_cast<int64_t>(pick(1'000));
      offsets.push_back({key.topic, key.partition, offset});
      if (exists(key))
        model_.committed[key] = {offset, now(), position++, shard_.told_image().topic(key.topic)->id};
    }
    answers_.push_back(shard_.commit(commit_request(group, offsets)));
    EXPECT_EQ(shard_.runner().log().size(), position);
  }

  void refused_commit() {
    shard_.runner().refuse_appends(ErrorCode::not_coordinator);
    const Key key = any_key();
    const auto answer = shard_.commit(commit_request(key.group, {{key.topic, key.partition, 12'345}}));
    if (exists(key)) {
      EXPECT_EQ(answer->refused(), ErrorCode::not_coordinator);
    }
    // Sweeps that fall into this time have to come again.
    if (pick(2) == 0) shard_.runner().advance(milliseconds(pick(20'000)));
    shard_.runner().refuse_appends(ErrorCode::none);
  }

  void commit_in_transaction() {
    const Key key = any_key();
    if (!exists(key)) return;
    const int64_t producer = static_cast<int64_t>(pick(3));
    const Uuid id = shard_.told_image().topic(key.topic)->id;
    const Value value{static_cast<int64_t>(pick(1'000)), now(), shard_.runner().log().size(), id};
    CommittedOffset offset;
    offset.offset = value.offset;
    offset.committed_at = value.committed_at;
    offset.topic_id = id;
    shard_.runner().append_in_transaction({offset_record({key.group, key.topic, key.partition}, offset)},
                                          ProducerId{producer});
    model_.open[producer][key] = value;
  }

  void end_transaction() {
    const int64_t producer = static_cast<int64_t>(pick(3));
    const bool committed = pick(3) != 0;
    shard_.runner().end_transaction(ProducerId{producer}, committed);
    model_.end(producer, committed);
  }

  void delete_offsets() {
    const Key chosen = any_key();
    OffsetDeleteRequest request;
    request.group_id = chosen.group;
    request.topics.emplace_back().name = chosen.topic;
    request.topics[0].partitions.emplace_back().partition_index = chosen.partition;
    shard_.delete_offsets(request);
    if (exists(chosen)) model_.drop([&](const Key& key, const Value&) { return key == chosen; });
  }

  void delete_groups() {
    const std::string group = any_group();
    shard_.delete_group(group);
    model_.drop([&](const Key& key, const Value&) { return key.group == group; });
  }

  // Offsets of the old topic are never seen again, whenever their tombstones come.
  void change_topic() {
    const std::string name = any_topic();
    const bool tell = pick(2) == 0;
    if (shard_.image().topic(name) != nullptr) {
      shard_.delete_topic(name, tell);
      if (pick(2) == 0) return;
    }
    shard_.create_topic(name, 1 + static_cast<int32_t>(pick(4)));
  }

  void make_durable() {
    shard_.runner().make_durable();
    for (const auto& answer : answers_) EXPECT_TRUE(answer->came());
    answers_.clear();
  }

  void crash() {
    std::vector<std::size_t> lengths;
    for (const auto& [length, model] : history_)
      if (length >= shard_.runner().durable() && length <= shard_.runner().log().size())
        lengths.push_back(length);
    if (lengths.empty()) return;
    const std::size_t kept = lengths[pick(lengths.size())];
    shard_.runner().crash(kept);
    answers_.clear();
    model_ = history_.at(kept);
    history_.erase(history_.upper_bound(kept), history_.end());
  }

  // What is told of all groups is what the model has, but for what may expire by now.
  void look() {
    shard_.runner().durable_at_once(shard_.runner().durable() == shard_.runner().log().size() &&
                                    pick(2) == 0);
    std::map<Key, CommittedOffset> told = everything();
    for (const auto& [key, offset] : told) {
      const auto found = model_.committed.find(key);
      ASSERT_TRUE(found != model_.committed.end())
          << "invented: " << key.group << " " << key.topic << " " << key.partition << " " << offset.offset;
      EXPECT_EQ(offset.offset, found->second.offset) << key.group << " " << key.topic << " " << key.partition;
    }
    std::erase_if(model_.committed, [&](const auto& entry) {
      const auto& [key, value] = entry;
      const bool is_old = now() - value.committed_at >= retention.count();
      if (told.contains(key) || !is_visible(key, value)) return false;
      EXPECT_TRUE(is_old) << "lost: " << key.group << " " << key.topic << " " << key.partition;
      EXPECT_FALSE(is_pending(key));
      return true;
    });
  }

  bool is_visible(const Key& key, const Value& value) {
    const auto* topic = shard_.told_image().topic(key.topic);
    return topic != nullptr && topic->id == value.topic_id;
  }

  bool is_pending(const Key& key) {
    return std::ranges::any_of(model_.open, [&](const auto& transaction) {
      const auto found = transaction.second.find(key);
      return found != transaction.second.end() && is_visible(key, found->second);
    });
  }

  std::map<Key, CommittedOffset> everything() {
    std::map<Key, CommittedOffset> all;
    const RequestContext context = shard_.runner().context(9);
    for (uint64_t i = 0; i < 4; ++i) {
      const std::string group = "g" + std::to_string(i);
      auto [reply, answer] = reply_and_answer<FetchedGroup>();
      auto decision = shard_.shard().fetch_offsets(context, everything_of(group), false, std::move(reply));
      decision.replies.at(0)(ErrorCode::none);
      for (const auto& topic : answer->response().topics)
        for (const auto& partition : topic.partitions)
          all[{group, topic.name.str(), partition.partition_index}].offset = partition.committed_offset;
      const auto stable = shard_.shard().offsets().store().pending().find(group);
      for (const auto& [producer, offsets] : model_.open)
        for (const auto& [key, value] : offsets)
          EXPECT_TRUE(stable != nullptr || key.group != group || !is_visible(key, value)) << group;
    }
    return all;
  }

  void remember() { history_[shard_.runner().log().size()] = model_; }

  std::mt19937_64 random_;
  OffsetShard shard_;
  Model model_;
  std::map<std::size_t, Model> history_;  ///< by the length of the log
  std::vector<AnswerPtr<OffsetCommitResponse>> answers_;
};

TEST(OffsetModel, nothing_committed_is_lost_or_invented_whatever_the_seed) {
  const auto [first, last] = test_seeds(200);
  for (uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("BARNABAS_SEED=" + std::to_string(seed));
    Simulation(seed).run();
    if (::testing::Test::HasFailure()) break;
  }
}

}  // namespace
}  // namespace barnabas::coordinator
