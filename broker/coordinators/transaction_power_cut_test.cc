#include <algorithm>
#include <set>

#include "base/random.h"
#include "base/test_seeds.h"
#include "broker/coordinators/transaction_machine.h"
#include "broker/handlers/test_connection.h"
#include "protocol/messages/offset_fetch_request.h"
#include "protocol/messages/offset_fetch_response.h"
#include "protocol/messages/txn_offset_commit_request.h"
#include "protocol/messages/txn_offset_commit_response.h"

/// Several producers with offsets in their transactions, and the power that goes at any call of the disk.
namespace barnabas::broker {
namespace {

using protocol::String;
using testing::TestConnection;
using testing::TestProducer;
using testing::TransactionMachine;

constexpr int producers = 3;
constexpr int steps = 60;
const std::vector<storage::TopicPartition> outputs{{"t", PartitionIndex{0}},
                                                   {"t", PartitionIndex{1}},
                                                   {"t", PartitionIndex{2}},
                                                   {"u", PartitionIndex{0}},
                                                   {"u", PartitionIndex{1}}};
constexpr int32_t inputs = 2;  ///< partitions of "t" of which offsets are committed

/// A transaction of which the test knows what it did and what it was told.
struct Attempt {
  std::string value;  ///< of all its records
  std::set<storage::TopicPartition> written;
  std::optional<int64_t> offset;  ///< of all inputs
  bool wants_commit = false;
  bool told = false;  ///< that it ended as it wanted
};

/// What a consumer with read_committed is given, by Kafka's rules for consumers.
std::vector<std::string> committed_values(const std::shared_ptr<Partition>& partition) {
  std::vector<std::string> values;
  storage::Log& log = partition->log();
  const Offset end = log.last_stable_offset(log.log_end_offset());
  auto aborted = log.aborted_transactions(log.log_start_offset(), end);
  EXPECT_TRUE(aborted);
  std::ranges::sort(*aborted, {}, &storage::AbortedTransaction::first_offset);
  auto next_aborted = aborted->begin();
  std::set<ProducerId> skipped;
  TransactionMachine::for_each_record(log, end, [&](const auto& batch, const auto& record) {
    for (; next_aborted != aborted->end() && next_aborted->first_offset < batch.next_offset(); ++next_aborted)
      skipped.insert(next_aborted->producer_id);
    if (batch.is_control() && record.key()->back() == std::byte{0}) skipped.erase(batch.producer_id());
    if (!batch.is_control() && !skipped.contains(batch.producer_id()))
      values.emplace_back(as_text(record.value().value_or(ByteView())));
  });
  return values;
}

/// A producer of transactions, one step at a time. Whatever fails ends it: the machine is off, or busy.
class Copier {
 public:
  Copier(TransactionMachine& machine, SeededRandom& random, int number)
      : machine_(machine), random_(random), id_("id-" + std::to_string(number)) {}

  const std::string& id() const { return id_; }
  std::string group() const { return "group of " + id_; }
  const std::vector<Attempt>& attempts() const { return attempts_; }
  bool is_over() const { return is_over_; }

  bool begin() {
    producer_ = machine_.init(id_);
    is_over_ = !producer_;
    return !is_over_;
  }
  void step(TestConnection& connection) {
    if (!is_open_) {
      attempts_.push_back(
          {.value = id_ + "/" + std::to_string(attempts_.size()), .written = {}, .offset = {}});
      is_open_ = true;
    }
    Attempt& attempt = attempts_.back();
    if (attempt.written.empty() || random_.one_in(2)) return write(attempt);
    if (random_.one_in(3)) return commit_offsets(attempt, connection);
    end(attempt);
  }
  /// Whether all goes on: one more transaction.
  bool can_go_on(TestConnection& connection) {
    is_over_ = false;
    is_open_ = true;
    if (!begin()) return false;
    Attempt& attempt = attempts_.emplace_back(
        Attempt{.value = id_ + "/last", .written = {}, .offset = {}, .wants_commit = true});
    write(attempt);
    if (!is_over_) commit_offsets(attempt, connection);
    if (!is_over_) attempt.told = machine_.end_and_go_on(*producer_, true);
    return attempt.told && machine_.comes_to(id_, "CompleteCommit");
  }

 private:
  void write(Attempt& attempt) {
    const auto& [topic, partition] = outputs[random_.below(outputs.size())];
    // It may be there, though nobody was told.
    if (attempt.written.contains({topic, partition})) return;
    attempt.written.insert({topic, partition});
    is_over_ = !machine_.write(*producer_, topic, partition.value(), attempt.value);
  }
  void commit_offsets(Attempt& attempt, TestConnection& connection) {
    position_ += static_cast<int64_t>(random_.below(9)) + 1;
    protocol::TxnOffsetCommitRequest request;
    request.transactional_id = String(id_);
    request.group_id = String(group());
    request.producer_id = producer_->id.value();
    request.producer_epoch = producer_->epoch.value();
    auto& topic = request.topics.emplace_back();
    topic.name = String("t");
    for (int32_t index = 0; index < inputs; ++index) {
      auto& partition = topic.partitions.emplace_back();
      partition.partition_index = index;
      partition.committed_offset = position_;
    }
    const auto answer = connection.ask(request, 5);
    is_over_ = answer == nullptr;
    if (is_over_) return;
    for (const auto& partition : answer->topics.at(0).partitions) is_over_ |= partition.error_code != 0;
    attempt.offset = position_;
  }
  void end(Attempt& attempt) {
    is_open_ = false;
    if (random_.one_in(6)) {
      // Another one takes over the id, and the transaction is aborted.
      attempt.told = begin();
      return;
    }
    attempt.wants_commit = !random_.one_in(3);
    attempt.told = machine_.end_and_go_on(*producer_, attempt.wants_commit);
    is_over_ = !attempt.told;
  }

  TransactionMachine& machine_;
  SeededRandom& random_;
  const std::string id_;
  std::optional<TestProducer> producer_;
  std::vector<Attempt> attempts_;
  int64_t position_ = 0;
  bool is_open_ = false;
  bool is_over_ = false;
};

class Course {
 public:
  explicit Course(uint64_t seed) : random_(seed), seed_(seed) {
    for (int i = 0; i < producers; ++i) copiers_.emplace_back(machine_, random_, i);
  }

  /// The calls of the disk from here on; `power_off_at` 0: the power stays.
  uint64_t work(uint64_t power_off_at) {
    EXPECT_TRUE(machine_.start());
    EXPECT_TRUE(machine_.create_topic("t", 3) && machine_.create_topic("u", 2));
    EXPECT_TRUE(machine_.wait_until_ready());
    machine_.disk.reset_counters();
    if (power_off_at > 0) machine_.disk.power_off_at(power_off_at);
    auto connection = std::make_shared<TestConnection>(machine_.services());
    for (Copier& copier : copiers_) (void)copier.begin();
    for (int step = 0; step < steps && !machine_.disk.is_off(); ++step) {
      Copier& copier = copiers_[random_.below(copiers_.size())];
      if (!copier.is_over()) copier.step(*connection);
    }
    return machine_.disk.calls();
  }
  /// The power is cut, sometimes again while what was decided is carried out.
  void come_back() {
    machine_.power_cut(seed_);
    for (uint64_t again = 1; again < 4 && random_.one_in(2); ++again) {
      machine_.disk.power_off_at(random_.below(250) + 1);
      if (machine_.start()) (void)machine_.state_of(copiers_.front().id());
      machine_.power_cut(seed_ + again);
    }
    ASSERT_TRUE(machine_.start());
    // A new producer of an id finds the old one's transaction ended.
    for (Copier& copier : copiers_) ASSERT_TRUE(copier.begin()) << copier.id();
  }
  void check() {
    std::map<storage::TopicPartition, std::vector<std::string>> seen;
    for (const auto& name : outputs) {
      EXPECT_TRUE(machine_.is_decided(name.topic, name.partition.value())) << name.to_string() << " hangs";
      seen[name] = committed_values(machine_.partition(name.topic, name.partition.value()));
    }
    EXPECT_TRUE(machine_.is_decided("__consumer_offsets"));
    const auto connection = std::make_shared<TestConnection>(machine_.services());
    for (Copier& copier : copiers_) {
      int64_t offset = -1;
      for (const Attempt& attempt : copier.attempts())
        if (is_committed(attempt, seen)) offset = attempt.offset.value_or(offset);
      expect_offset(*connection, copier.group(), offset);
    }
    for (Copier& copier : copiers_) EXPECT_TRUE(copier.can_go_on(*connection)) << copier.id();
  }

 private:
  static bool is_committed(const Attempt& attempt,
                           const std::map<storage::TopicPartition, std::vector<std::string>>& seen) {
    const auto count = std::ranges::count_if(attempt.written, [&](const storage::TopicPartition& name) {
      const auto times = std::ranges::count(seen.at(name), attempt.value);
      EXPECT_LE(times, 1) << attempt.value << " in " << name.to_string();
      return times > 0;
    });
    const auto all = std::ssize(attempt.written);
    if (attempt.told)
      EXPECT_EQ(count, attempt.wants_commit ? all : 0) << attempt.value;
    else
      EXPECT_TRUE(count == 0 || (attempt.wants_commit && count == all)) << attempt.value;
    return count > 0;
  }
  static void expect_offset(TestConnection& connection, const std::string& group, int64_t expected) {
    protocol::OffsetFetchRequest request;
    request.require_stable = true;
    auto& asked = request.groups.emplace_back();
    asked.group_id = String(group);
    auto& topic = asked.topics->emplace_back();
    topic.name = String("t");
    for (int32_t index = 0; index < inputs; ++index) topic.partition_indexes.push_back(index);
    std::shared_ptr<const protocol::OffsetFetchResponse> answer;
    // It may still be loading.
    EXPECT_TRUE(TransactionMachine::eventually([&] {
      answer = connection.ask(request, 9);
      return answer == nullptr || answer->groups.at(0).error_code == 0;
    }));
    ASSERT_NE(answer, nullptr);
    for (const auto& partition : answer->groups.at(0).topics.at(0).partitions) {
      EXPECT_EQ(partition.error_code, 0) << group << ": something is pending";
      EXPECT_EQ(partition.committed_offset, expected) << group;
    }
  }

  TransactionMachine machine_;
  SeededRandom random_;
  const uint64_t seed_;
  std::vector<Copier> copiers_;
};

TEST(TransactionsPowerCut, records_and_offsets_are_of_one_outcome_and_nothing_hangs) {
  // How long a run is without a cut, so that cuts meet all of it.
  const uint64_t calls = Course(0).work(0);
  ASSERT_GT(calls, 100U);
  const TestSeeds seeds = test_seeds(20);
  for (uint64_t seed = seeds.first; seed <= seeds.last && !::testing::Test::HasFailure(); ++seed) {
    SCOPED_TRACE("again: BARNABAS_SEED=" + std::to_string(seed));
    Course run(seed);
    (void)run.work(SeededRandom(seed).below(calls) + 1);
    run.come_back();
    if (!::testing::Test::HasFailure()) run.check();
  }
}

}  // namespace
}  // namespace barnabas::broker
