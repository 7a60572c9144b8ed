#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <iostream>
#include <map>
#include <set>

#include "base/random.h"
#include "base/test_seeds.h"
#include "storage/checkpoint_file.h"
#include "storage/log_manager_test_support.h"

namespace barnabas::storage {
namespace {

using std::chrono::milliseconds;

/// What was promised about one partition.
struct Promise {
  Uuid topic_id;
  std::vector<std::string> values;  // all that was appended, from offset 0 on
  std::size_t durable = 0;          // so many of them were flushed
  std::size_t start = 0;            // log start offset
  bool may_be_gone = false;         // a deletion was begun and not acknowledged
};

/// A node that lives through random work and power cuts, and remembers what it was promised. Everything comes
/// from the seed.
class CrashSimulation {
 public:
  explicit CrashSimulation(uint64_t seed) : seed_(seed), random_(seed), node_(disk_, {"/a", "/b"}) {
    node_.config.segment_bytes = 2000;
    node_.config.file_delete_delay_ms = 50;
    node_.config.retention_bytes = random_.one_in(3) ? 6000 : -1;
    node_.config.index_interval_bytes = 200;
    node_.options.retention_interval = milliseconds(100);
    node_.options.checkpoint_interval = milliseconds(70);
    node_.options.start_checkpoint_interval = milliseconds(90);
    node_.options.high_watermark_interval = milliseconds(40);
  }

  void run() {
    ASSERT_TRUE(node_.start());
    for (int life = 0; life < 4 && !testing::Test::HasFailure(); ++life) {
      disk_.power_off_at(20 + random_.below(400));
      work();
      trace("power cut");
      node_.crash();
      disk_.power_cut(random_.one_in(4) ? io::Unsynced::lost : io::Unsynced::partly_kept, random_.next());
      check_checkpoint_files();
      const auto started = node_.start(false);
      ASSERT_TRUE(started) << place() << started.error().message;
      check();
    }
  }

 private:
  /// BARNABAS_CRASH_TRACE=1 shows what was done.
  void trace(const std::string& text) const {
    static const bool wanted = std::getenv("BARNABAS_CRASH_TRACE") != nullptr;
    if (wanted) std::cerr << text << "\n";
  }

  std::string place() const { return "seed " + std::to_string(seed_) + ": "; }

  void work() {
    node_->set_high_watermark_source([this](const TopicPartition& name) -> std::optional<Offset> {
      const auto known = promises_.find(name);
      if (known == promises_.end()) return std::nullopt;
      return Offset{static_cast<int64_t>(known->second.durable)};
    });
    while (!disk_.is_off()) {
      const uint64_t choice = random_.below(100);
      if (choice < 60) {
        append_some();
      } else if (choice < 75) {
        flush_some();
      } else if (choice < 83) {
        create_one();
      } else if (choice < 86) {
        remove_one();
      } else if (choice < 88) {
        delete_records();
      } else if (choice < 98) {
        node_.now += milliseconds(static_cast<int64_t>(random_.below(60)));
        node_->tick(node_.now, node_.wall);
      } else {
        stop_and_start();
        if (!node_.running()) return;
      }
    }
  }

  std::map<TopicPartition, Promise>::iterator some_partition() {
    if (promises_.empty()) return promises_.end();
    return std::next(promises_.begin(), static_cast<int64_t>(random_.below(promises_.size())));
  }

  void append_some() {
    const auto chosen = some_partition();
    if (chosen == promises_.end()) return;
    auto log = node_->get(chosen->first);
    if (!log) return;
    Promise& promise = chosen->second;
    for (uint64_t left = 1 + random_.below(4); left > 0; --left) {
      const std::string value = chosen->first.to_string() + "/" + std::to_string(++counter_) + "/" +
                                std::string(random_.below(700), static_cast<char>('a' + random_.below(26)));
      const auto appended = append(**log, value, node_.wall);
      if (!appended) {
        // Not acknowledged; the write may have been done all the same.
        promise.values.push_back(value);
        return;
      }
      trace("append " + chosen->first.to_string() + " " + std::to_string(promise.values.size()));
      ASSERT_EQ(appended->base_offset.value(), static_cast<int64_t>(promise.values.size())) << place();
      promise.values.push_back(value);
    }
  }

  void flush_some() {
    const auto chosen = some_partition();
    if (chosen == promises_.end()) return;
    auto log = node_->get(chosen->first);
    if (!log) return;
    const auto flushed = (*log)->flush();
    if (!flushed) return;
    trace("flush " + chosen->first.to_string() + " " + std::to_string(flushed->value()));
    ASSERT_EQ(flushed->value(), static_cast<int64_t>(chosen->second.values.size())) << place();
    chosen->second.durable = chosen->second.values.size();
  }

  void create_one() {
    const TopicPartition name =
        partition(random_.one_in(2) ? "topic" : "other-topic", static_cast<int32_t>(random_.below(4)));
    if (promises_.contains(name)) return;
    const Uuid id = id_from(random_);
    if (!node_->create(name, {.topic_id = id, .directory_id = {}}, node_.wall)) return;
    trace("create " + name.to_string());
    promises_[name].topic_id = id;
  }

  void remove_one() {
    const auto chosen = some_partition();
    if (chosen == promises_.end()) return;
    chosen->second.may_be_gone = true;
    trace("remove " + chosen->first.to_string());
    if (node_->remove(chosen->first, node_.now)) {
      gone_.insert(chosen->second.topic_id);
      promises_.erase(chosen);
    }
  }

  void delete_records() {
    const auto chosen = some_partition();
    if (chosen == promises_.end() || chosen->second.durable == 0) return;
    auto log = node_->get(chosen->first);
    if (!log) return;
    const Offset start{static_cast<int64_t>(random_.below(chosen->second.durable))};
    trace("delete records " + chosen->first.to_string() + " " + std::to_string(start.value()));
    (void)(*log)->delete_records_before(start);
  }

  void stop_and_start() {
    trace("stop");
    const bool stopped = node_.stop().has_value();
    if (!stopped) return;
    for (auto& [name, promise] : promises_) promise.durable = promise.values.size();
    const auto started = node_.start(false);
    if (!started) {
      ASSERT_TRUE(disk_.is_off()) << place() << started.error().message;
      return;
    }
    EXPECT_EQ(started->recovered, 0U) << place();
  }

  static Uuid id_from(SeededRandom& random) {
    Uuid id;
    for (std::byte& byte : id.bytes) byte = static_cast<std::byte>(random.below(255) + 1);
    return id;
  }

  /// A checkpoint file holds what it held before or what was to be written: never a part.
  void check_checkpoint_files() {
    for (const std::string directory : {"/a/", "/b/"}) {
      for (const auto name : {recovery_point_offset_checkpoint, log_start_offset_checkpoint,
                              replication_offset_checkpoint, cleaner_offset_checkpoint}) {
        const auto text = disk_.content(directory + std::string(name));
        if (!text) continue;
        const auto offsets = parse_offset_checkpoint(*text);
        EXPECT_TRUE(offsets) << place() << directory << name << ": " << offsets.error().message;
      }
    }
  }

  void check() {
    for (auto known = promises_.begin(); known != promises_.end();) {
      if (!node_->get(known->first)) {
        EXPECT_TRUE(known->second.may_be_gone || known->second.durable == 0)
            << place() << known->first.to_string() << " is gone";
        known = promises_.erase(known);
      } else {
        check_partition(known->first, known->second);
        ++known;
      }
    }
    for (const auto& [name, log] : node_->all()) {
      const auto id = log->topic_id();
      EXPECT_FALSE(id && gone_.contains(*id)) << place() << name.to_string() << " has come back";
      // Its creation was not acknowledged; out of the way for the next one.
      ASSERT_TRUE(promises_.contains(name) || node_->remove(name, node_.now)) << place();
    }
    for (const LogDirectoryDescription& directory : node_->describe())
      EXPECT_FALSE(directory.failure) << place() << directory.failure->message;
  }

  void check_partition(const TopicPartition& name, Promise& promise) {
    Log& log = **node_->get(name);
    promise.may_be_gone = false;
    const auto id = log.topic_id();
    EXPECT_TRUE(!id || id->is_zero() || *id == promise.topic_id) << place() << name.to_string();
    // What the metadata do at each start; makes a spoilt id good.
    const auto made = node_->create(name, {.topic_id = promise.topic_id, .directory_id = {}}, node_.wall);
    ASSERT_TRUE(made) << place() << made.error().message;
    const auto start = static_cast<std::size_t>(log.log_start_offset().value());
    const auto end = static_cast<std::size_t>(log.log_end_offset().value());
    ASSERT_GE(end, promise.durable) << place() << name.to_string() << ": flushed records are gone";
    ASSERT_LE(end, promise.values.size()) << place() << name.to_string() << ": records from nowhere";
    ASSERT_LE(start, promise.durable) << place() << name.to_string();
    promise.values.resize(end);
    const std::vector<std::string> expected(promise.values.begin() + static_cast<int64_t>(start),
                                            promise.values.end());
    EXPECT_EQ(values_of(log), expected) << place() << name.to_string();
    // What recovery kept is on disk as far as the log says.
    EXPECT_LE(log.recovery_point().value(), static_cast<int64_t>(end));
    promise.durable = std::max(promise.durable, static_cast<std::size_t>(log.recovery_point().value()));
  }

  const uint64_t seed_;
  SeededRandom random_;
  io::FakeDisk disk_;
  NodeStorage node_;
  std::map<TopicPartition, Promise> promises_;
  std::set<Uuid> gone_;
  uint64_t counter_ = 0;
};

// More seeds: BARNABAS_CRASH_SEEDS=5000; one again: BARNABAS_CRASH_SEED=17.
TEST(PowerCut, leaves_everything_that_was_flushed) {
  const auto [first, last] = test_seeds(300, "BARNABAS_CRASH");
  for (uint64_t seed = first; seed <= last && !testing::Test::HasFailure(); ++seed)
    CrashSimulation(seed).run();
}

/// A fixed piece of work that touches everything once. Ends early when something fails.
class Scenario {
 public:
  /// Of `untouched` it is known that nothing will fail in it.
  Scenario(io::FakeDisk& disk, std::string untouched)
      : disk_(disk), untouched_(std::move(untouched)), node_(disk, {"/a", "/b"}) {
    node_.config.segment_bytes = 400;
    node_.config.retention_bytes = 800;
    node_.config.file_delete_delay_ms = 0;
    node_.options.retention_interval = milliseconds(10);
    node_.options.on_offline = [this](const LogDirectory& directory, const auto&) {
      offline_.insert(directory.path);
    };
  }

  /// Returns whether every step went well.
  bool run() {
    bool good = true;
    const auto started = node_.start();
    if (!started) return false;
    node_->set_high_watermark_source([](const TopicPartition&) { return Offset{1'000}; });
    for (int i = 0; i < 4; ++i) good &= create(partition("topic", i));
    for (int round = 0; round < 6; ++round) {
      for (int i = 0; i < 4; ++i) good &= add(partition("topic", i), round);
    }
    for (int i = 0; i < 4; ++i) good &= flush(partition("topic", i));
    node_->tick(node_.now, node_.wall);
    node_->tick(node_.now + std::chrono::hours(1), node_.wall);
    good &= checked(partition("topic", 3), node_->remove(partition("topic", 3), node_.now));
    ends_.erase(partition("topic", 3));
    for (int i = 0; i < 3; ++i) good &= add(partition("topic", i), 6);
    node_->tick(node_.now + std::chrono::hours(2), node_.wall);
    check_untouched();
    good &= node_.stop().has_value();
    return good && offline_.empty();
  }

  /// After a restart without faults: nothing acknowledged is missing, whatever failed before.
  void check_again() {
    node_.crash();
    disk_.clear_faults();
    const auto started = node_.start();
    ASSERT_TRUE(started) << started.error().message;
    for (const auto& [name, end] : ends_) {
      const auto log = node_->get(name);
      ASSERT_TRUE(log) << log.error().message;
      EXPECT_GE((*log)->log_end_offset(), end) << name.to_string();
      EXPECT_EQ(static_cast<int64_t>(values_of(**log).size()),
                (*log)->log_end_offset() - (*log)->log_start_offset());
    }
  }

 private:
  template <class T>
  bool checked(const TopicPartition& name, const Result<T>& result) {
    if (!result) node_->report(name, result.error());
    return result.has_value();
  }
  bool create(const TopicPartition& name) {
    return checked(name, node_->create(name, {.topic_id = Uuid::random(), .directory_id = {}}, node_.wall));
  }
  bool add(const TopicPartition& name, int round) {
    const auto log = node_->get(name);
    if (!log) return false;
    const auto appended = append(**log, std::to_string(round) + std::string(150, '.'), node_.wall);
    if (appended) ends_[name] = appended->last_offset + 1;
    return checked(name, appended);
  }
  bool flush(const TopicPartition& name) {
    const auto log = node_->get(name);
    return log && checked(name, (*log)->flush());
  }
  void check_untouched() {
    ASSERT_LE(offline_.size(), 1U);
    if (untouched_.empty()) return;
    EXPECT_FALSE(offline_.contains(untouched_));
    for (const auto& [name, log] : node_->all()) {
      if (!log->directory().starts_with(untouched_ + "/")) continue;
      EXPECT_TRUE(add(name, 7)) << name.to_string();
      EXPECT_TRUE(flush(name)) << name.to_string();
    }
  }

  io::FakeDisk& disk_;
  const std::string untouched_;
  NodeStorage node_;
  std::set<std::string> offline_;
  std::map<TopicPartition, Offset> ends_;
};

void fail_each_call(int system_error, bool for_good, const std::string& path_part) {
  bool pending = false;
  for (uint64_t n = 1; !pending && !testing::Test::HasFailure(); ++n) {
    SCOPED_TRACE("call " + std::to_string(n) + " errno " + std::to_string(system_error));
    io::FakeDisk disk;
    disk.add_fault({.path_part = path_part, .nth = n, .system_error = system_error, .for_good = for_good});
    Scenario scenario(disk, for_good ? "/a" : "");
    const bool good = scenario.run();
    pending = disk.fault_pending();
    EXPECT_TRUE(good || !pending);
    scenario.check_again();
    ASSERT_LT(n, 5'000U);
  }
}

TEST(FailingCall, at_any_place_is_an_error_and_never_a_loss) {
  fail_each_call(EIO, false, "");
}
TEST(FailingCall, of_a_full_disk_is_an_error_and_never_a_loss) {
  fail_each_call(ENOSPC, false, "");
}
TEST(FailingCall, of_a_device_that_dies_for_good_costs_its_directory_only) {
  fail_each_call(EIO, true, "/b");
}

}  // namespace
}  // namespace barnabas::storage
