// A log under random work while the power is cut at random moments. What was flushed is there afterwards,
// nothing else is but what was appended, and producer state is what a replay gives.
//
// More seeds: BARNABAS_SEEDS=5000; one seed again: BARNABAS_SEED=1234.

#include <gtest/gtest.h>

#include <map>

#include "base/random.h"
#include "base/test_seeds.h"
#include "storage/file_checks.h"
#include "storage/log_fixture.h"

namespace barnabas::storage {
namespace {

using namespace test;

struct ModelBatch {
  Offset base;
  BatchShape shape;
  bool is_marker = false;
  bool abort = false;
  Offset next() const { return base + shape.records; }
};

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : random_(seed) {
    log_.config.segment_bytes = 4'000;
    log_.config.index_interval_bytes = random_.one_in(2) ? 0 : 300;
    log_.config.retention_ms = -1;
    log_.open();
  }

  void run() {
    for (int life = 0; life < 6 && !::testing::Test::HasFailure(); ++life) {
      if (random_.one_in(3)) log_.disk.power_off_at(1 + random_.below(150));
      const uint64_t steps = random_.below(60);
      for (uint64_t i = 0; i < steps && !log_.disk.is_off() && !::testing::Test::HasFailure(); ++i) step();
      end_life();
    }
  }

 private:
  void step() {
    log_.now = log_.now + static_cast<int64_t>(random_.below(1'000));
    switch (random_.below(18)) {
      case 0:
      case 1:
      case 2:
      case 3:
      case 4:
        append_plain();
        break;
      case 5:
      case 6:
      case 7:
        append_idempotent();
        break;
      case 8:
        repeat_batch();
        break;
      case 9:
      case 10:
        flush();
        break;
      case 11:
        delete_records();
        break;
      case 12:
        retain();
        break;
      case 13:
        if (random_.one_in(3)) truncate();
        break;
      case 14:
        log_.epoch = log_.epoch + 1;
        log_.log->assign_epoch_start(log_.epoch, log_.end());
        break;
      case 16:
      case 17:
        append_to_transaction();
        break;
      case 15:
        if (!log_.disk.is_off()) log_.checkpoint();
        break;
    }
  }

  void append(BatchShape shape) {  // offsets and text are filled in
    shape.records = static_cast<int32_t>(1 + random_.below(4));
    shape.value_bytes = random_.below(400);
    shape.timestamp = TimestampMs(static_cast<int64_t>(1'000'000 + random_.below(100'000)));
    shape.text = "record " + std::to_string(++texts_);
    auto result = log_.try_append(batch(shape));
    if (!result) {
      ASSERT_TRUE(log_.disk.is_off()) << result.error().message;
    } else {
      ASSERT_EQ(result->base_offset, end());
    }
    // One that failed may be there or not once the power is back.
    history_.push_back({end(), shape, false, false});
  }
  void append_plain() { append({}); }
  void append_idempotent() {
    const int64_t id = static_cast<int64_t>(random_.below(3));
    int16_t& epoch = epochs_[id];
    const auto before = history_of(id);
    int32_t sequence = 0;
    if (random_.one_in(20)) ++epoch;
    if (!before.empty() && before.back()->shape.producer_epoch == epoch)
      sequence = before.back()->shape.sequence + before.back()->shape.records;
    append({.producer_id = id, .producer_epoch = epoch, .sequence = sequence});
  }

  // Two producers with transactions that begin, go on, and end either way.
  void append_to_transaction() {
    const auto id = static_cast<int64_t>(10 + random_.below(2));
    const auto before = history_of(id);
    const bool is_open = !before.empty() && !before.back()->is_marker;
    if (is_open && random_.one_in(2)) return end_transaction(id);
    int32_t sequence = 0;
    for (const ModelBatch* one : before)
      if (!one->is_marker) sequence = one->shape.sequence + one->shape.records;
    append({.producer_id = id, .sequence = sequence, .transactional = true});
  }
  void end_transaction(int64_t id) {
    const bool abort = random_.one_in(2);
    auto result = log_.try_append(marker(id, abort), AppendOrigin::coordinator);
    ASSERT_TRUE(result || log_.disk.is_off()) << result.error().message;
    history_.push_back({end(), {.records = 1, .producer_id = id}, true, abort});
  }

  // One of the last five batches of a producer is acknowledged with its old offset, if it is still in the
  // log.
  void repeat_batch() {
    const int64_t id = static_cast<int64_t>(random_.below(3));
    const auto known = history_of(id);
    if (known.empty()) return;
    const std::size_t back = random_.below(std::min<std::size_t>(known.size(), 5));
    const ModelBatch& old = *known[known.size() - 1 - back];
    if (old.shape.producer_epoch != known.back()->shape.producer_epoch) return;
    if (old.base < log_.log->segments().front().base_offset) return;
    auto result = log_.try_append(batch(old.shape));
    if (log_.disk.is_off()) return;
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_TRUE(result->duplicate);
    EXPECT_EQ(result->base_offset, old.base);
  }

  void flush() {
    auto result = log_.log->flush();
    if (log_.disk.is_off()) return;
    ASSERT_TRUE(result) << result.error().message;
    EXPECT_EQ(*result, end());
    durable_ = end();
  }

  void delete_records() {
    const auto up_to =
        Offset(static_cast<int64_t>(random_.below(static_cast<uint64_t>(durable_.value()) + 1)));
    static_cast<void>(log_.log->delete_records_before(up_to).has_value());
  }

  void retain() {
    LogConfig config = log_.config;
    config.retention_bytes = static_cast<int64_t>(random_.below(30'000));
    log_.log->set_config(std::make_shared<LogConfig>(config));
    auto result = log_.log->apply_retention(log_.now, durable_);
    ASSERT_TRUE(result || log_.disk.is_off()) << result.error().message;
    for (const std::string& path : log_.log->take_deleted_files())
      if (random_.one_in(2)) static_cast<void>(log_.disk.remove(path).has_value());
  }

  void truncate() {
    if (history_.empty()) return;
    const Offset to = history_[random_.below(history_.size())].base;
    if (to < log_.start()) return;
    auto result = log_.log->truncate_to(to);
    durable_ = std::min(durable_, to);
    if (!result) {
      ASSERT_TRUE(log_.disk.is_off()) << result.error().message;
      return;
    }
    ASSERT_EQ(log_.end(), to);
    while (!history_.empty() && history_.back().base >= to) history_.pop_back();
    log_.checkpoint();
  }

  void end_life() {
    const bool off = log_.disk.is_off();
    const Offset start_before = log_.start();
    const uint64_t how = random_.below(4);
    log_.disk.power_off_at(never);
    if (!off && how == 0) {
      log_.reopen();
      ASSERT_FALSE(log_.log->recovery().scanned);
      ASSERT_EQ(log_.end(), end());
      ASSERT_EQ(log_.start(), start_before);
      durable_ = end();
    } else if (!off && how == 1) {
      log_.crash();
      ASSERT_EQ(log_.end(), end());
    } else {
      lose_power();
    }
    if (::testing::Test::HasFatalFailure()) return;
    // As the log manager does once logs are loaded: a checkpoint above the log end would be believed later.
    log_.recovery_point = std::min(log_.recovery_point, log_.log->recovery_point());
    ASSERT_GE(log_.end(), durable_) << log_.log->recovery().to_string();
    ASSERT_LE(log_.end(), end());
    while (!history_.empty() && history_.back().base >= log_.end()) history_.pop_back();
    ASSERT_EQ(log_.end(), end()) << "cut within a batch";
    durable_ = log_.end();
    check_records();
    check_producers();
    check_indexes(log_.disk, TestLog::directory);
  }

  // The power may go again while the log is being recovered.
  void lose_power() {
    const auto unsynced = random_.one_in(4) ? io::Unsynced::lost : io::Unsynced::partly_kept;
    while (random_.one_in(3)) {
      log_.log.reset();
      log_.disk.power_cut(unsynced, random_.next());
      log_.disk.power_off_at(1 + random_.below(60));
      static_cast<void>(log_.try_open().has_value());
    }
    log_.lose_power(unsynced, random_.next());
  }

  void check_records() {
    std::map<Offset, std::string> expected;
    for (const ModelBatch& one : history_)
      for (int32_t i = 0; i < one.shape.records && !one.is_marker; ++i)
        expected[one.base + i] = one.shape.text + " " + std::to_string(i);
    const auto records = log_.read_all(log_.start(), log_.end(), 1 + random_.below(3'000));
    ASSERT_EQ(static_cast<int64_t>(records.size()), log_.end() - log_.start());
    Offset next = log_.start();
    for (const ReadRecord& record : records) {
      ASSERT_EQ(record.offset, next);
      if (expected.contains(next)) {
        ASSERT_EQ(record.value.substr(0, record.value.find_first_of('.')), expected[next]);
      }
      ++next;
    }
  }

  void check_producers() {
    ProducerState replayed;
    std::vector<AbortedTransaction> aborted;
    for (const ModelBatch& one : history_) {
      if (one.shape.producer_id < 0) continue;
      const Bytes bytes = one.is_marker ? marker(one.shape.producer_id, one.abort) : batch(one.shape);
      protocol::RecordBatchHeader header = protocol::RecordBatchView::parse(bytes)->header();
      header.base_offset = one.base;
      if (!one.is_marker) {
        replayed.append(header);
        continue;
      }
      const auto ended = replayed.append_marker(
          header, {.abort = one.abort, .coordinator_epoch = 0, .timestamp = header.max_timestamp});
      if (ended && ended->aborted && one.base >= log_.log->segments().front().base_offset)
        aborted.push_back({ended->producer_id, ended->first_offset, ended->last_offset,
                           replayed.stable_offset_after(*ended)});
    }
    EXPECT_EQ(log_.log->aborted_transactions(log_.log->segments().front().base_offset, log_.end()).value(),
              aborted);
    const auto unstable = replayed.first_unstable_offset(log_.end());
    EXPECT_EQ(log_.log->last_stable_offset(log_.end()),
              std::max(unstable.value_or(log_.end()), log_.start()));
    const auto expected = replayed.entries(), found = log_.log->producers();
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_EQ(found[i].producer_id, expected[i].producer_id);
      EXPECT_EQ(found[i].epoch, expected[i].epoch);
      EXPECT_EQ(found[i].last_sequence(), expected[i].last_sequence());
      EXPECT_EQ(found[i].last_offset(), expected[i].last_offset());
      EXPECT_EQ(found[i].last_timestamp, expected[i].last_timestamp);
    }
  }

  Offset end() const { return history_.empty() ? log_.start() : history_.back().next(); }
  std::vector<const ModelBatch*> history_of(int64_t producer) const {
    std::vector<const ModelBatch*> found;
    for (const ModelBatch& one : history_)
      if (one.shape.producer_id == producer) found.push_back(&one);
    return found;
  }

  static constexpr uint64_t never = uint64_t{1} << 60;
  SeededRandom random_;
  TestLog log_;
  std::vector<ModelBatch> history_;  ///< everything ever appended and not cut off, deleted records too
  Offset durable_{0};
  std::map<int64_t, int16_t> epochs_;
  int texts_ = 0;
};

TEST(StoragePowerCut, nothing_flushed_is_lost_whatever_the_seed) {
  const auto [first, last] = test_seeds(300);
  for (uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("BARNABAS_SEED=" + std::to_string(seed));
    Simulation(seed).run();
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace barnabas::storage
