// A compacted log under random work, cleaned again and again with maps that are too small, cut, retained,
// crashed at random calls and opened again; compared with a plain list of all that was appended
// (compaction_model.h).
//
// More seeds: BARNABAS_SEEDS=5000; one seed again: BARNABAS_SEED=1234.

#include "storage/compaction_model.h"
#include "base/test_seeds.h"

namespace barnabas::storage {
namespace {

using namespace test;
using Outcome = CompactionModel::Outcome;

class Simulation {
 public:
  explicit Simulation(uint64_t seed) : random_(seed) {
    log_.config.segment_bytes = static_cast<int32_t>(1'500 + random_.below(6'000));
    log_.config.index_interval_bytes = random_.one_in(2) ? 0 : 300;
    log_.config.segment_ms = std::numeric_limits<int64_t>::max() / 4;
    log_.config.retention_ms = -1;
    log_.config.cleanup_compact = true;
    log_.config.cleanup_delete = random_.one_in(3);
    log_.config.delete_retention_ms = static_cast<int64_t>(random_.below(20'000));
    log_.config.min_compaction_lag_ms = random_.one_in(3) ? static_cast<int64_t>(random_.below(5'000)) : 0;
    keys_ = 2 + random_.below(20);
    log_.open();
  }

  void run() {
    for (int life = 0; life < 8 && !::testing::Test::HasFailure(); ++life) {
      armed_ = random_.one_in(3);
      arm();
      const uint64_t steps = random_.below(80);
      for (uint64_t i = 0; i < steps && !log_.disk.is_off() && !::testing::Test::HasFailure(); ++i) step();
      if (!::testing::Test::HasFailure()) end_life();
    }
  }

 private:
  void step() {
    log_.now = log_.now + static_cast<int64_t>(random_.below(2'000));
    switch (random_.below(14)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return append(-1, false);
      case 4:
      case 5:
        return append(static_cast<int64_t>(random_.below(3)), false);
      case 6:
      case 7:
      case 8:
        return append_to_transaction();
      case 9:
        if (auto rolled = log_.log->roll(log_.now); !rolled) {
          ASSERT_TRUE(log_.disk.is_off()) << rolled.error().message;
        }
        return;
      case 10:
        return flush();
      case 11:
        return trim();
      default:
        return clean();
    }
  }

  // The power goes off at one of the next calls; not while the test itself looks.
  void arm() {
    if (armed_) log_.disk.power_off_at(1 + random_.below(400));
  }
  void disarm() { log_.disk.power_off_at(never); }

  // --- appending ---

  std::optional<std::string> random_value() {
    if (random_.one_in(5)) return std::nullopt;
    return "value " + std::to_string(++values_) + std::string(random_.below(200), '.');
  }
  void append(int64_t producer_id, bool transactional) {
    KeyedBatch batch;
    batch.timestamp = log_.now;
    batch.producer_id = producer_id;
    batch.transactional = transactional;
    batch.codec = static_cast<protocol::Codec>(random_.one_in(2) ? 0 : random_.below(protocol::codec_count));
    for (uint64_t i = 1 + random_.below(5); i > 0; --i) {
      std::optional<std::string> key = "key " + std::to_string(random_.below(keys_));
      if (random_.one_in(40)) key.reset();
      batch.records.push_back({key, random_value()});
    }
    if (producer_id >= 0) batch.sequence = next_sequence(producer_id);
    auto result = log_.try_append(keyed_batch(batch));
    if (!result) {
      ASSERT_TRUE(log_.disk.is_off()) << result.error().message;
    } else {
      ASSERT_EQ(result->base_offset, model_.end);
    }
    note({.base = model_.end, .batch = batch});
  }
  struct Appended {
    Offset base;
    KeyedBatch batch = {};
    bool is_marker = false;
    bool aborts = false;
    int32_t records() const { return is_marker ? 1 : static_cast<int32_t>(batch.records.size()); }
  };
  void note(Appended appended) {
    if (appended.is_marker)
      model_.end_transaction(appended.batch.producer_id, appended.aborts, appended.base);
    else
      model_.append(appended.batch, appended.base);
    batches_.push_back(std::move(appended));
  }
  int32_t next_sequence(int64_t producer_id) const {
    for (auto batch = batches_.rbegin(); batch != batches_.rend(); ++batch)
      if (batch->batch.producer_id == producer_id && !batch->is_marker)
        return batch->batch.sequence + batch->records();
    return 0;
  }
  void append_to_transaction() {
    const auto id = static_cast<int64_t>(10 + random_.below(2));
    if (model_.open_transaction(id) < 0 || !random_.one_in(2)) return append(id, true);
    const bool abort = random_.one_in(2);
    auto result = log_.try_append(marker(id, abort), AppendOrigin::coordinator);
    ASSERT_TRUE(result || log_.disk.is_off()) << result.error().message;
    Appended appended{.base = model_.end, .is_marker = true, .aborts = abort};
    appended.batch.producer_id = id;
    note(std::move(appended));
  }

  // --- the other work ---

  void flush() {
    if (auto result = log_.log->flush(); !result) {
      ASSERT_TRUE(log_.disk.is_off()) << result.error().message;
      return;
    }
    durable_ = model_.end;
    if (random_.one_in(2)) log_.checkpoint();
  }

  void trim() {
    if (random_.one_in(3)) {
      const auto to =
          Offset(static_cast<int64_t>(random_.below(static_cast<uint64_t>(durable_.value()) + 1)));
      static_cast<void>(log_.log->delete_records_before(to).has_value());
    } else if (random_.one_in(4)) {
      truncate();
    } else {
      LogConfig config = log_.config;
      config.retention_bytes = static_cast<int64_t>(random_.below(40'000));
      log_.log->set_config(std::make_shared<LogConfig>(config));
      auto result = log_.log->apply_retention(log_.now, durable_);
      ASSERT_TRUE(result || log_.disk.is_off()) << result.error().message;
    }
    for (const std::string& path : log_.log->take_deleted_files())
      if (random_.one_in(2)) static_cast<void>(log_.disk.remove(path).has_value());
  }
  void truncate() {
    if (batches_.empty()) return;
    // Never below the high watermark: what lies there was agreed upon.
    const std::size_t back = 1 + random_.below(std::min<std::size_t>(batches_.size(), 12));
    const Offset to = batches_[batches_.size() - back].base;
    if (to < log_.start() || to < high_watermark_) return;
    auto result = log_.log->truncate_to(to);
    durable_ = std::min(durable_, to);
    if (!result) {
      ASSERT_TRUE(log_.disk.is_off()) << result.error().message;
      return;
    }
    cut_model(to);
    log_.checkpoint();
  }
  void cut_model(Offset to) {
    while (!batches_.empty() && batches_.back().base >= to) batches_.pop_back();
    model_.cut(to);
  }

  // --- cleaning ---

  void clean() {
    high_watermark_ =
        random_.one_in(3)
            ? high_watermark_ +
                  static_cast<int64_t>(random_.below(static_cast<uint64_t>(model_.end - high_watermark_ + 1)))
            : model_.end;
    const auto need = log_.log->cleaning_need(log_.now, high_watermark_);
    if (!need) {
      ASSERT_TRUE(log_.disk.is_off()) << need.error().message;
      return;
    }
    if (need->cleanable_bytes == 0 || log_.disk.is_off()) return;
    ASSERT_LE(need->first_uncleanable, std::min(high_watermark_, model_.first_open()));
    ASSERT_LE(need->first_uncleanable, log_.log->segments().back().base_offset);
    const Offset stable_end = model_.end;
    disarm();
    first_kept_ = std::max(first_kept_, log_.start());
    note_cleaning(need->first_uncleanable);
    if (::testing::Test::HasFailure()) return;

    OffsetMap keys(OffsetMap::slot_bytes * (2 + random_.below(random_.one_in(2) ? 8 : 100)), 0.9);
    CleaningTools tools{.keys = keys,
                        .read_buffer_bytes = 100 + random_.below(5'000),
                        .write_buffer_bytes = random_.below(3'000)};
    bool replacing = false;
    const bool disturbed = random_.one_in(3);
    tools.go_on = [&](uint64_t) {
      if (disturbed && random_.one_in(4) && !log_.disk.is_off()) disturb();
      return !random_.one_in(40);
    };
    tools.before_replacing = [&] {
      replacing = true;
      log_.recovery_point = log_.log->recovery_point();
      return Result<void>{};
    };
    arm();
    auto result = log_.log->clean(*need, tools, log_.now);
    durable_ = std::max(durable_, std::min(stable_end, log_.log->recovery_point()));
    if (log_.disk.is_off()) return;
    disarm();
    ASSERT_TRUE(result) << result.error().message;
    if (result->segments_after < result->segments_before && !result->interrupted) {
      EXPECT_TRUE(replacing);
    }
    for (const std::string& path : log_.log->take_deleted_files())
      if (random_.one_in(2)) static_cast<void>(log_.disk.remove(path).has_value());
    if (random_.one_in(2)) log_.cleaned_to = log_.log->cleaned_to();
    if (!result->interrupted) {
      ASSERT_GT(result->cleaned_to, need->first_dirty) << "a pass gets on";
      ASSERT_EQ(log_.log->cleaned_to(), result->cleaned_to);
      if (!result->map_was_full) {
        ASSERT_EQ(result->cleaned_to, need->first_uncleanable);
      }
      check_thorough(result->cleaned_to);
    }
    check();
    arm();
  }

  // What others do while a cleaning runs.
  void disturb() {
    switch (random_.below(5)) {
      case 0:
      case 1:
        return append(-1, false);
      case 2:
        return append(static_cast<int64_t>(random_.below(3)), false);
      case 3:
        return flush();
      case 4:
        return trim();
    }
  }

  // Before a cleaning: from now on tombstones and markers in its range may have a horizon.
  void note_cleaning(Offset bound) {
    for (auto& [offset, record] : model_.records) {
      if (offset >= bound) break;
      if (!record.content.value && !record.cleaned_at) record.cleaned_at = log_.now;
    }
    std::set<int> with_data;
    for (const FoundBatch& batch : read_batches(log_, 4'000)) {
      if (!batch.header.is_transactional() || batch.header.is_control()) continue;
      with_data.insert(transaction_at(batch.header));
    }
    for (std::size_t i = 0; i < model_.transactions.size(); ++i) {
      auto& one = model_.transactions[i];
      if (one.marker != no_offset && one.marker < bound && !with_data.contains(static_cast<int>(i)) &&
          !one.without_data_at)
        one.without_data_at = log_.now;
    }
  }
  int transaction_at(const protocol::RecordBatchHeader& header) const {
    const auto found = model_.records.find(header.base_offset);
    EXPECT_NE(found, model_.records.end());
    return found == model_.records.end() ? -1 : found->second.transaction;
  }

  // --- checks ---

  // After a pass that ended: nothing is left below `bound` that need not be there.
  void check_thorough(Offset bound) {
    const auto newest = model_.newest(bound);
    for (const FoundBatch& batch : read_batches(log_, 4'000)) {
      for (const auto& [offset, content] : batch.records) {
        if (offset >= bound || offset < first_kept_ || batch.header.is_control()) continue;
        const auto& record = model_.records.at(offset);
        EXPECT_FALSE(model_.is_aborted(record)) << "aborted data at " << offset.value();
        ASSERT_TRUE(content.key) << "without a key at " << offset.value();
        // A newer one beyond the map's end may have been deleted or cut since.
        const auto last = newest.find(*content.key);
        ASSERT_TRUE(last != newest.end());
        EXPECT_EQ(last->second, offset) << "superseded record of " << *content.key;
        if (!content.value) {
          EXPECT_TRUE(batch.header.delete_horizon()) << "tombstone without a horizon at " << offset.value();
        }
      }
    }
  }

  void check() {
    const std::vector<FoundBatch> batches = read_batches(log_, 1 + random_.below(5'000));
    std::set<Offset> found, markers;
    std::set<int> with_data;
    for (const FoundBatch& batch : batches) {
      const auto original =
          std::ranges::find(batches_, batch.header.base_offset, [](const Appended& one) { return one.base; });
      ASSERT_NE(original, batches_.end()) << "a batch at " << batch.header.base_offset.value();
      ASSERT_EQ(batch.header.last_offset_delta, original->records() - 1);
      ASSERT_EQ(batch.header.producer_id.value(), original->batch.producer_id);
      if (batch.header.is_control()) {
        if (batch.header.record_count > 0) markers.insert(batch.header.base_offset);
        continue;
      }
      if (batch.header.is_transactional()) with_data.insert(transaction_at(batch.header));
      check_content(batch, found);
      if (::testing::Test::HasFatalFailure()) return;
    }
    check_survivors(found);
    check_transactions(found, markers, with_data);
    check_producers();
    check_indexes(log_.disk, TestLog::directory);
  }

  void check_content(const FoundBatch& batch, std::set<Offset>& found) {
    for (const auto& [offset, content] : batch.records) {
      const auto record = model_.records.find(offset);
      ASSERT_NE(record, model_.records.end()) << "a record at " << offset.value();
      ASSERT_EQ(content.key, record->second.content.key);
      ASSERT_EQ(content.value, record->second.content.value);
      found.insert(offset);
    }
  }

  void check_survivors(const std::set<Offset>& found) {
    const auto newest = model_.newest(model_.end);
    for (const auto& [key, offset] : newest) {
      if (offset < log_.start() || found.contains(offset)) continue;
      const auto& record = model_.records.at(offset);
      ASSERT_FALSE(record.content.value)
          << "the last value of " << key << " is lost, offset " << offset.value();
      ASSERT_TRUE(record.cleaned_at) << "tombstone of " << key << " went without a cleaning";
      ASSERT_GE(log_.now, *record.cleaned_at + log_.config.delete_retention_ms) << "tombstone went too early";
    }
    for (const auto& [offset, record] : model_.records) {
      if (model_.is_open(record) && offset >= log_.start()) {
        ASSERT_TRUE(found.contains(offset)) << "undecided record " << offset.value();
      }
    }
  }

  void check_transactions(const std::set<Offset>& found, const std::set<Offset>& markers,
                          const std::set<int>& with_data) {
    const auto entries = log_.log->aborted_transactions(log_.start(), log_.end());
    ASSERT_TRUE(entries) << entries.error().message;
    for (const Offset offset : found) {
      const auto& record = model_.records.at(offset);
      if (record.transaction < 0) continue;
      const int64_t id = model_.transactions[static_cast<std::size_t>(record.transaction)].producer_id;
      const bool told = std::ranges::any_of(*entries, [&](const AbortedTransaction& one) {
        return one.producer_id.value() == id && one.first_offset <= offset && offset <= one.last_offset;
      });
      ASSERT_EQ(told, model_.is_aborted(record)) << "record " << offset.value();
    }
    for (std::size_t i = 0; i < model_.transactions.size(); ++i) {
      const auto& one = model_.transactions[i];
      if (one.marker == no_offset || one.marker < log_.start() || markers.contains(one.marker)) continue;
      ASSERT_FALSE(with_data.contains(static_cast<int>(i)))
          << "marker " << one.marker.value() << " of data is gone";
      ASSERT_TRUE(one.without_data_at) << "marker " << one.marker.value() << " went without a cleaning";
      ASSERT_GE(log_.now, *one.without_data_at + log_.config.delete_retention_ms) << "marker went too early";
    }
    ASSERT_EQ(log_.log->last_stable_offset(log_.end()), std::max(model_.first_open(), log_.start()));
  }

  void check_producers() {
    std::map<int64_t, CompactionModel::LastBatch> expected;
    for (const Appended& batch : batches_)
      if (batch.batch.producer_id >= 0 && !batch.is_marker)
        expected[batch.batch.producer_id] = {batch.batch.sequence + batch.records(),
                                             batch.base + (batch.records() - 1)};
    std::map<int64_t, CompactionModel::LastBatch> found;
    for (const ProducerStateEntry& entry : log_.log->producers())
      if (!entry.empty()) found[entry.producer_id.value()] = {entry.last_sequence() + 1, entry.last_offset()};
    ASSERT_EQ(found.size(), expected.size());
    for (const auto& [id, last] : expected) {
      ASSERT_TRUE(found.contains(id));
      EXPECT_EQ(found[id].next_sequence, last.next_sequence) << "producer " << id;
      EXPECT_EQ(found[id].last_offset, last.last_offset) << "producer " << id;
    }
  }

  // --- ends of lives ---

  void end_life() {
    const bool off = log_.disk.is_off();
    const uint64_t how = random_.below(4);
    log_.disk.power_off_at(never);
    if (!off && how == 0) {
      log_.reopen();
      ASSERT_FALSE(log_.log->recovery().scanned);
      durable_ = model_.end;
    } else if (!off && how == 1) {
      log_.crash();
    } else {
      lose_power();
    }
    if (::testing::Test::HasFatalFailure()) return;
    log_.recovery_point = std::min(log_.recovery_point, log_.log->recovery_point());
    if (log_.cleaned_to) log_.cleaned_to = log_.log->cleaned_to();
    ASSERT_GE(log_.end(), durable_) << log_.log->recovery().to_string();
    ASSERT_LE(log_.end(), model_.end);
    cut_model(log_.end());
    leave_out_holes();
    ASSERT_EQ(log_.end(), model_.end) << "cut within a batch";
    durable_ = log_.end();
    high_watermark_ = std::min(high_watermark_, model_.end);
    check();
  }

  // Above what is durable a power cut may take the end of a segment and leave the next one: in a compacted
  // log that looks like any other gap.
  void leave_out_holes() {
    std::set<Offset> there;
    for (const FoundBatch& batch : read_batches(log_, 4'000)) there.insert(batch.header.base_offset);
    std::vector<Appended> above;
    std::ranges::copy_if(batches_, std::back_inserter(above),
                         [&](const Appended& one) { return one.base >= durable_; });
    if (above.empty()) return;
    cut_model(above.front().base);
    for (Appended& one : above)
      if (there.contains(one.base) || one.base < log_.start()) note(std::move(one));
    model_.end = std::max(model_.end, log_.end());
  }

  void lose_power() {
    const auto unsynced = random_.one_in(4) ? io::Unsynced::lost : io::Unsynced::partly_kept;
    while (random_.one_in(3)) {
      log_.log.reset();
      log_.disk.power_cut(unsynced, random_.next());
      log_.disk.power_off_at(1 + random_.below(80));
      static_cast<void>(log_.try_open().has_value());
    }
    log_.lose_power(unsynced, random_.next());
  }

  static constexpr uint64_t never = uint64_t{1} << 60;
  SeededRandom random_;
  TestLog log_;
  CompactionModel model_;
  std::vector<Appended> batches_;
  Offset durable_{0};
  Offset high_watermark_{0};
  /// The highest log start that a cleaning met: it falls back when a crash comes before its checkpoint.
  Offset first_kept_{0};
  uint64_t keys_ = 10;
  int values_ = 0;
  bool armed_ = false;
};

TEST(CompactionModel, a_compacted_log_is_what_a_plain_list_says_whatever_the_seed) {
  const auto [first, last] = test_seeds(300);
  for (uint64_t seed = first; seed <= last; ++seed) {
    SCOPED_TRACE("BARNABAS_SEED=" + std::to_string(seed));
    Simulation(seed).run();
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace barnabas::storage
