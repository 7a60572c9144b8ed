// Random histories, and a crash behind each record of their logs: whatever stands there is carried on to its
// end, and the id can be used again.

#include <gtest/gtest.h>

#include <map>
#include <random>

#include "coordinator/transaction_records.h"
#include "coordinator/transaction_test_support.h"

namespace barnabas::coordinator::testing {
namespace {

using std::chrono::milliseconds;

/// Producers of three ids that do what comes to their mind; some are told nothing, or know an old epoch only.
class History {
 public:
  explicit History(uint32_t seed, int16_t transaction_version) : random_(seed), scene_(transaction_version) {
    for (int i = 0; i < 60; ++i) step();
  }
  TransactionScene& scene() { return scene_; }

 private:
  int below(int bound) { return std::uniform_int_distribution<int>(0, bound - 1)(random_); }

  void step() {
    const std::string id(1, static_cast<char>('a' + below(3)));
    Producer& known = known_[id];
    const int16_t version = below(2) == 0 ? 5 : 3;
    switch (below(8)) {
      case 0:
        return learn(known, scene_.ask_init(id));
      case 1:
        return learn(known, scene_.ask_init(id, known.id.value(), known.epoch.value(), 1 + below(60000)));
      case 2:
      case 3:
        scene_.ask_add(id, known, {{below(2) == 0 ? "t" : "u", {below(3)}}}, version);
        return;
      case 4:
        scene_.ask_add_offsets(id, known, below(50));
        return;
      case 5:
        return end(id, known, version);
      case 6:
        if (!scene_.effects().markers.empty())
          scene_.write_markers(below(4) == 0 ? ErrorCode::not_leader_or_follower : ErrorCode::none);
        return;
      default:
        scene_.advance(milliseconds(below(4) == 0 ? 30000 : 90));
    }
  }

  void end(const std::string& id, Producer& known, int16_t version) {
    const auto answer = scene_.ask_end(id, known, below(2) == 0, version);
    if (version >= 5 && below(3) != 0) learn(known, answer);
  }

  template <class Answer>
  static void learn(Producer& known, const Answer& answer) {
    if (!answer->came()) return;
    const auto& response = answer->response();
    if (response.error_code == 0)
      known = {ProducerId(response.producer_id), ProducerEpoch(response.producer_epoch)};
  }

  std::mt19937 random_;
  TransactionScene scene_;
  std::map<std::string, Producer> known_;
};

/// What the log says of each id behind its first `size` records.
std::map<std::string, Transaction> states_of(const std::vector<TransactionScene::Logged>& log,
                                             std::size_t size) {
  std::map<std::string, Transaction> states;
  for (std::size_t i = 0; i < size; ++i) {
    std::optional<ByteView> value;
    if (log[i].record.value) value = ByteView(*log[i].record.value);
    const auto logged = decode_transaction_record(
        {.key = log[i].record.key, .value = value, .offset = Offset{0}, .timestamp = log[i].timestamp});
    EXPECT_TRUE(logged && *logged);
    if ((*logged)->transaction) {
      states[(*logged)->transactional_id] = *(*logged)->transaction;
    } else {
      states.erase((*logged)->transactional_id);
    }
  }
  return states;
}

std::string described(const Transaction& transaction, TransactionState state) {
  return std::string(name_of(state)) + " " + std::to_string(transaction.producer_id.value()) + "/" +
         std::to_string(transaction.producer_epoch.value());
}

void expect_carried_on(TransactionScene& scene, const std::map<std::string, Transaction>& states) {
  std::map<std::string, TransactionPartitions> asked;
  for (const auto& markers : scene.effects().markers) asked[markers.transactional_id] = markers.partitions;
  scene.write_all_markers();
  for (const auto& [id, transaction] : states) {
    if (transaction.is_decided() && !transaction.partitions.empty()) {
      EXPECT_EQ(asked[id], transaction.partitions);
    } else {
      EXPECT_FALSE(asked.contains(id));
    }
    scene.advance(milliseconds(100));
    if (transaction.is_decided())
      EXPECT_EQ(scene.describe(id),
                described(transaction, transaction.state == TransactionState::prepare_commit
                                           ? TransactionState::complete_commit
                                           : TransactionState::complete_abort));
    else
      EXPECT_TRUE(scene.describe(id).starts_with(described(transaction, transaction.state)));
    const auto again = scene.ask_init(id);
    scene.write_all_markers();
    ASSERT_TRUE(again->came());
    EXPECT_GT(scene.producer_of(again->response()).epoch, transaction.producer_epoch);
  }
}

TEST(CrashOfTheCoordinator, behind_any_record_of_any_history_is_survived) {
  std::size_t records = 0;
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    for (const int16_t version : {0, 1, 2}) {
      History history(seed, version);
      const auto& log = history.scene().log();
      for (std::size_t kept = 0; kept <= log.size(); ++kept, ++records) {
        SCOPED_TRACE("seed " + std::to_string(seed) + ", transaction.version " + std::to_string(version) +
                     ", records " + std::to_string(kept));
        TransactionScene scene(version);
        scene.next_producer_id(5000);
        Decision given;
        for (std::size_t i = 0; i < kept; ++i) given.records.push_back(log[i].record);
        scene.set_wall_clock(milliseconds(history.scene().now().wall.value() - scene.now().wall.value()));
        scene.carry_out(std::move(given));
        scene.crash();
        expect_carried_on(scene, states_of(log, kept));
        if (::testing::Test::HasFailure()) return;
      }
    }
  }
  EXPECT_GT(records, 1'000u);
}

TEST(CrashOfTheCoordinator, leaves_what_the_coordinator_said_before) {
  for (uint32_t seed = 1; seed <= 20; ++seed) {
    for (const int16_t version : {0, 1, 2}) {
      SCOPED_TRACE(seed);
      History history(seed, version);
      for (const auto& [id, transaction] : states_of(history.scene().log(), history.scene().log().size())) {
        TransactionScene& scene = history.scene();
        const std::string before = scene.describe(id);
        EXPECT_TRUE(before.starts_with(described(transaction, transaction.state))) << before;
      }
    }
  }
}

}  // namespace
}  // namespace barnabas::coordinator::testing
