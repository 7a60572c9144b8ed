#include <algorithm>
#include <array>

#include "base/random.h"
#include "base/test_seeds.h"
#include "broker/coordinators/coordinator_runtime.h"
#include "broker/coordinators/runtime_test_support.h"
#include "protocol/records/record_batch_builder.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using testing::Answer;
using testing::AnswerPtr;
using testing::ToyCoordinator;

const Answer put_is_done{"put"};

class LoadingTest : public ::testing::Test {
 protected:
  /// What the log holds before anybody leads it.
  void write(const std::string& key, const std::optional<std::string>& value,
             protocol::RecordBatchOptions options = {}) {
    auto batch =
        protocol::single_record_batch(TimestampMs{5}, as_byte_view(key),
                                      value ? std::optional(as_byte_view(*value)) : std::nullopt, options);
    append(batch);
  }
  void write_marker(ProducerId producer, bool commit) {
    const std::array<std::byte, 4> key{std::byte{0}, std::byte{0}, std::byte{0},
                                       commit ? std::byte{1} : std::byte{0}};
    const std::array<std::byte, 6> value{};
    auto batch = protocol::single_record_batch(TimestampMs{5}, key, value,
                                               {.producer_id = producer,
                                                .producer_epoch = ProducerEpoch{0},
                                                .transactional = true,
                                                .control = true});
    append(batch);
  }
  void append(std::vector<std::byte>& batch) {
    if (log == nullptr) log = toys.open();
    const auto appended = log->append(batch, false, TimestampMs{5}, storage::AppendOrigin::coordinator);
    ASSERT_TRUE(appended) << appended.error().message;
  }
  void start() {
    if (log != nullptr) {
      ASSERT_TRUE(log->log().flush());
      log = nullptr;
    }
    toys.start();
  }
  Answer get(const std::string& key) { return toys.get(key)->wait().value_or("no answer"); }

  ToyCoordinator toys;
  std::shared_ptr<Partition> log;
};

TEST_F(LoadingTest, an_empty_log_is_ready_at_once) {
  start();
  EXPECT_EQ(get("key"), Answer("-"));
  EXPECT_EQ(toys.world.count("loaded"), 1);
}

TEST_F(LoadingTest, requests_are_told_to_come_again_meanwhile_and_changes_are_told_afterwards) {
  write("slow", "1");
  write("key", "2");
  toys.world.slow_key = "slow";
  start();
  EXPECT_EQ(get("key"), Answer(std::unexpected(ErrorCode::coordinator_load_in_progress)));
  metadata::MetadataChanges changes;
  changes.changed_brokers.resize(3);
  toys.runtime->metadata_changed(changes, std::make_shared<metadata::MetadataImage>());
  EXPECT_EQ(get("key"), Answer(std::unexpected(ErrorCode::coordinator_load_in_progress)));
  EXPECT_EQ(toys.world.count("metadata 3"), 0);
  toys.world.slow->count_down();
  toys.wait_until_loaded();
  EXPECT_EQ(get("key"), Answer("2"));
  const std::vector<std::string> events{"loaded", "metadata 3"};
  EXPECT_EQ(toys.world.events, events);
}

TEST_F(LoadingTest, the_last_record_of_a_key_counts_and_tombstones_do) {
  for (int i = 0; i < 100; ++i) write("key", std::to_string(i));
  write("gone", "1");
  write("gone", std::nullopt);
  start();
  toys.wait_until_loaded();
  EXPECT_EQ(get("key"), Answer("99"));
  EXPECT_EQ(get("gone"), Answer("-"));
}

TEST_F(LoadingTest, what_belongs_to_a_transaction_comes_with_its_producer_and_markers_end_it) {
  const auto in_transaction = [](int64_t producer) {
    return protocol::RecordBatchOptions{.producer_id = ProducerId{producer},
                                        .producer_epoch = ProducerEpoch{0},
                                        .base_sequence = 0,
                                        .transactional = true};
  };
  write("committed", "1", in_transaction(1));
  write("aborted", "1", in_transaction(2));
  write("open", "1", in_transaction(3));
  write_marker(ProducerId{1}, true);
  write_marker(ProducerId{2}, false);
  start();
  toys.wait_until_loaded();
  EXPECT_EQ(get("committed"), Answer("1"));
  EXPECT_EQ(get("aborted"), Answer("-"));
  EXPECT_EQ(get("open"), Answer("-"));
}

TEST_F(LoadingTest, what_does_not_decode_is_left_out_and_the_rest_is_there) {
  write("before", "1");
  write("damaged", "1");
  auto without_key = protocol::single_record_batch(TimestampMs{5}, std::nullopt, as_byte_view("value"));
  append(without_key);
  auto wrong_sum =
      protocol::single_record_batch(TimestampMs{5}, as_byte_view("wrong sum"), as_byte_view("1"));
  wrong_sum.back() ^= std::byte{1};
  append(wrong_sum);
  write("after", "1");
  toys.start_with(log);
  toys.wait_until_loaded();
  EXPECT_EQ(get("before"), Answer("1"));
  EXPECT_EQ(get("wrong sum"), Answer("-"));
  EXPECT_EQ(get("after"), Answer("1"));
}

TEST_F(LoadingTest, is_given_up_when_the_partition_is_led_elsewhere) {
  write("slow", "1");
  write("key", "2");
  toys.world.slow_key = "slow";
  start();
  EXPECT_EQ(get("key"), Answer(std::unexpected(ErrorCode::coordinator_load_in_progress)));
  toys.runtime->resign(ToyCoordinator::index);
  EXPECT_EQ(get("key"), Answer(std::unexpected(ErrorCode::not_coordinator)));
  toys.world.slow->count_down();
  toys.runtime->stop();
  EXPECT_EQ(toys.world.count("loaded"), 0);
}

TEST_F(LoadingTest, a_log_that_cannot_be_read_is_not_served_with_half_of_what_it_holds) {
  write("key", "1");
  toys.disk.add_fault({.call = io::DiskCall::read, .path_part = ".log", .for_good = true});
  toys.start_with(log);
  const Instant end = std::chrono::steady_clock::now() + testing::patience;
  Answer answer = get("key");
  while (answer == Answer(std::unexpected(ErrorCode::coordinator_load_in_progress)) &&
         std::chrono::steady_clock::now() < end)
    answer = get("key");
  EXPECT_EQ(answer, Answer(std::unexpected(ErrorCode::not_coordinator)));
}

/// Writers count up, each in its own key; the power is cut at a random call of the disk. What was
/// acknowledged, or shown to a reader, must be there after the next start.
void run_power_cut(uint64_t seed) {
  constexpr std::size_t keys = 4;
  SeededRandom random(seed);
  ToyCoordinator toys;
  toys.start();
  toys.disk.power_off_at(random.below(150) + 1);
  struct Asked {
    std::size_t key;
    int written;  ///< 0: read
    AnswerPtr answer;
  };
  std::vector<Asked> asked;
  for (int i = 1; i <= 100; ++i) {
    const std::size_t key = random.below(keys);
    const bool read = random.one_in(3);
    const std::string name = std::to_string(key);
    asked.push_back({key, read ? 0 : i, read ? toys.get(name) : toys.put(name, std::to_string(i))});
    if (random.one_in(4)) (void)asked.back().answer->wait();
  }
  std::array<int, keys> told{};
  const auto number = [](const std::string& value) { return value == "-" ? 0 : std::stoi(value); };
  for (const Asked& one : asked) {
    const auto answer = one.answer->wait();
    ASSERT_TRUE(answer);
    if (*answer) told[one.key] = std::max(told[one.key], one.written > 0 ? one.written : number(**answer));
  }
  toys.stop();
  toys.disk.power_cut(io::Unsynced::partly_kept, seed);
  toys.start_again();
  toys.wait_until_loaded();
  for (std::size_t key = 0; key < keys; ++key) {
    const auto value = toys.get(std::to_string(key))->wait();
    ASSERT_TRUE(value && value->has_value());
    EXPECT_GE(number(**value), told[key]) << "seed " << seed << " key " << key;
  }
}

TEST(CoordinatorPowerCut, nobody_was_told_of_what_is_lost) {
  const TestSeeds seeds = test_seeds(60);
  for (uint64_t seed = seeds.first; seed <= seeds.last && !::testing::Test::HasFailure(); ++seed)
    run_power_cut(seed);
}

}  // namespace
}  // namespace barnabas::broker
