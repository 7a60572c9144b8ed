#include "broker/coordinators/coordinator_runtime.h"

#include "broker/coordinators/runtime_test_support.h"
#include "protocol/records/record_batch_builder.h"

namespace barnabas::broker {
namespace {

using coordinator::Decision;
using coordinator::Now;
using protocol::ErrorCode;
using testing::Answer;
using testing::AnswerPtr;
using testing::Awaited;
using testing::reply_to;
using testing::ToyCoordinator;
using testing::ToyShard;

const Answer put_is_done{"put"};

Answer refused(ErrorCode error) {
  return std::unexpected(error);
}

class RuntimeTest : public ::testing::Test {
 protected:
  ToyCoordinator toys;
};

TEST_F(RuntimeTest, requests_of_a_shard_run_in_the_order_in_which_they_came) {
  toys.start();
  std::vector<AnswerPtr> answers;
  for (int i = 0; i < 300; ++i) {
    answers.push_back(toys.put("key", std::to_string(i)));
    answers.push_back(toys.get("key"));
  }
  for (int i = 0; i < 300; ++i) {
    EXPECT_EQ(answers[static_cast<std::size_t>(2 * i)]->wait(), put_is_done);
    EXPECT_EQ(answers[static_cast<std::size_t>(2 * i + 1)]->wait(), Answer(std::to_string(i)));
  }
  EXPECT_EQ(toys.partition().log().log_end_offset(), Offset{300});
}

TEST_F(RuntimeTest, an_answer_waits_for_all_that_its_shard_appended_before) {
  toys.start();
  EXPECT_EQ(toys.put("key", "old")->wait(), put_is_done);
  EXPECT_EQ(toys.get("key")->wait(), Answer("old"));

  const auto disk = toys.hold_disk();
  EXPECT_EQ(toys.get("key")->wait(), Answer("old")) << "nothing new is told";
  const AnswerPtr put = toys.put("key", "new");
  const AnswerPtr seen = toys.get("key");
  // The shard has long run both when a third one is refused by it.
  auto third = std::make_shared<Awaited<Answer>>();
  toys.ask(third, [third](ToyShard&, const Now&) {
    third->set("ran");
    return Decision{};
  });
  EXPECT_EQ(third->wait(), Answer("ran"));
  EXPECT_FALSE(put->came());
  EXPECT_FALSE(seen->came());
  disk->count_down();
  EXPECT_EQ(put->wait(), put_is_done);
  EXPECT_EQ(seen->wait(), Answer("new"));
}

TEST_F(RuntimeTest, a_disk_that_hangs_is_an_answer_in_time_and_costs_nothing_that_was_decided) {
  toys.start();
  const auto disk = toys.hold_disk();
  const AnswerPtr put = toys.put("key", "new");
  const Instant end = std::chrono::steady_clock::now() + testing::patience;
  while (!put->came() && std::chrono::steady_clock::now() < end)
    toys.partition().expire_waits(std::chrono::steady_clock::now() + std::chrono::hours(1));
  EXPECT_EQ(put->wait(), refused(ErrorCode::coordinator_not_available));
  disk->count_down();
  EXPECT_EQ(toys.get("key")->wait(), Answer("new"));
}

TEST_F(RuntimeTest, a_refused_append_changes_nothing) {
  toys.start();
  EXPECT_EQ(toys.put("key", "old")->wait(), put_is_done);
  toys.disk.add_fault({.call = io::DiskCall::write, .path_part = ".log", .system_error = ENOSPC});
  auto answer = std::make_shared<Awaited<Answer>>();
  auto told = std::make_shared<Awaited<ErrorCode>>();
  toys.ask(answer, [answer, told](ToyShard&, const Now&) {
    auto decision = Decision::answer(reply_to(answer).with("put"));
    decision.records.push_back(ToyShard::record("key", "new"));
    decision.appended = [] { FAIL() << "was not appended"; };
    decision.refused = [told](ErrorCode error) { told->set(error); };
    return decision;
  });
  EXPECT_EQ(answer->wait(), refused(ErrorCode::not_coordinator));
  EXPECT_EQ(told->wait(), ErrorCode::not_coordinator);
  EXPECT_EQ(toys.get("key")->wait(), Answer("old"));
  EXPECT_EQ(toys.put("key", "new")->wait(), put_is_done);
  EXPECT_EQ(toys.get("key")->wait(), Answer("new"));
}

TEST_F(RuntimeTest, what_does_not_fit_into_a_batch_is_refused_as_a_whole) {
  toys.settings->log.max_message_bytes = 200;
  toys.start();
  EXPECT_EQ(toys.put("key", std::string(300, 'x'))->wait(), refused(ErrorCode::unknown_server_error));
  EXPECT_EQ(toys.get("key")->wait(), Answer("-"));
  EXPECT_EQ(toys.put("key", "small")->wait(), put_is_done);
  EXPECT_EQ(toys.partition().log().log_end_offset(), Offset{1});
}

TEST_F(RuntimeTest, what_changes_memory_alone_is_neither_replayed_nor_lost) {
  toys.start();
  auto answer = std::make_shared<Awaited<Answer>>();
  toys.ask(answer, [answer](ToyShard& shard, const Now&) {
    auto decision = Decision::answer(reply_to(answer).with("put"));
    decision.records.push_back(ToyShard::record("key", "in the log"));
    decision.replay = false;
    decision.appended = [&shard] { shard.values["key"] = "in memory"; };
    return decision;
  });
  EXPECT_EQ(answer->wait(), put_is_done);
  EXPECT_EQ(toys.get("key")->wait(), Answer("in memory"));
  toys.runtime->resign(ToyCoordinator::index);
  toys.lead();
  toys.wait_until_loaded();
  EXPECT_EQ(toys.get("key")->wait(), Answer("in the log"));
}

TEST_F(RuntimeTest, what_a_transaction_wrote_is_there_once_its_marker_says_so_and_after_a_start) {
  const coordinator::Producer good{ProducerId{7}, ProducerEpoch{1}}, bad{ProducerId{8}, ProducerEpoch{0}};
  toys.start();
  EXPECT_EQ(*toys.put(good, "kept", "1")->wait(), Answer("put"));
  EXPECT_EQ(*toys.put(bad, "dropped", "2")->wait(), Answer("put"));
  EXPECT_EQ(*toys.get("kept")->wait(), Answer("-")) << "it is still open";
  EXPECT_EQ(toys.end(good, true)->wait(), ErrorCode::none);
  EXPECT_EQ(toys.end(bad, false)->wait(), ErrorCode::none);
  for (const bool started_again : {false, true}) {
    if (started_again) toys.start_again();
    toys.wait_until_loaded();
    EXPECT_EQ(*toys.get("kept")->wait(), Answer("1")) << started_again;
    EXPECT_EQ(*toys.get("dropped")->wait(), Answer("-")) << started_again;
    EXPECT_EQ(toys.partition().last_stable_offset(), Offset{4}) << started_again;
  }
}

TEST_F(RuntimeTest, a_marker_is_told_of_once_it_is_durable) {
  const coordinator::Producer producer{ProducerId{7}, ProducerEpoch{1}};
  toys.start();
  EXPECT_EQ(*toys.put(producer, "key", "1")->wait(), Answer("put"));
  const auto held = toys.hold_disk();
  const auto ended = toys.end(producer, true);
  const auto seen = toys.get("key");
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(ended->came());
  EXPECT_FALSE(seen->came()) << "it would tell of what a power cut takes back";
  held->count_down();
  EXPECT_EQ(ended->wait(), ErrorCode::none);
  EXPECT_EQ(*seen->wait(), Answer("1"));
}

TEST_F(RuntimeTest, a_fenced_producer_is_refused_and_the_shard_goes_on) {
  const coordinator::Producer newer{ProducerId{7}, ProducerEpoch{2}}, older{ProducerId{7}, ProducerEpoch{1}};
  toys.start();
  EXPECT_EQ(*toys.put(newer, "key", "new")->wait(), Answer("put"));
  EXPECT_EQ(*toys.put(older, "key", "old")->wait(),
            Answer(std::unexpected(ErrorCode::invalid_producer_epoch)));
  EXPECT_EQ(toys.end(older, true)->wait(), ErrorCode::invalid_producer_epoch);
  EXPECT_EQ(toys.end(newer, true)->wait(), ErrorCode::none);
  EXPECT_EQ(*toys.get("key")->wait(), Answer("new"));
}

TEST_F(RuntimeTest, a_failed_sync_is_told_and_takes_the_shard_along) {
  toys.start();
  EXPECT_EQ(toys.put("key", "old")->wait(), put_is_done);
  const AnswerPtr waiting = toys.wait_in_shard();
  toys.disk.add_fault({.call = io::DiskCall::sync_data});
  EXPECT_EQ(toys.put("key", "new")->wait(), refused(ErrorCode::not_coordinator));
  EXPECT_EQ(toys.get("key")->wait(), refused(ErrorCode::not_coordinator));
  EXPECT_EQ(waiting->wait(), refused(ErrorCode::not_coordinator));
}

TEST_F(RuntimeTest, a_log_that_comes_back_is_loaded_anew) {
  toys.start();
  EXPECT_EQ(toys.put("key", "old")->wait(), put_is_done);
  toys.partition().deactivate({ErrorKind::offline, "gone"});
  EXPECT_EQ(toys.get("key")->wait(), refused(ErrorCode::not_coordinator));
  toys.set_partition(toys.open());
  toys.wait_until_loaded();
  EXPECT_EQ(toys.get("key")->wait(), Answer("old"));
}

// --- timers
// ------------------------------------------------------------------------------------------------

/// Sets a timer that appends a record and tells when it is appended.
void set_timer(ToyCoordinator& toys, std::chrono::milliseconds in,
               const std::shared_ptr<Awaited<Answer>>& appended) {
  auto set = std::make_shared<Awaited<Answer>>();
  toys.ask(set, [=](ToyShard& shard, const Now& now) {
    shard.timers().set("timer", now.instant + in, [appended](const Now&) {
      Decision decision;
      decision.records.push_back(ToyShard::record("key", "by timer"));
      decision.appended = [appended] { appended->set("appended"); };
      return decision;
    });
    return Decision::answer(reply_to(set).with("set"));
  });
  EXPECT_EQ(set->wait(), Answer("set"));
}

TEST_F(RuntimeTest, a_timer_runs_when_it_is_due_although_nobody_asks) {
  toys.start();
  const auto appended = std::make_shared<Awaited<Answer>>();
  const Instant begun = std::chrono::steady_clock::now();
  set_timer(toys, std::chrono::milliseconds(30), appended);
  EXPECT_EQ(appended->wait(), Answer("appended"));
  EXPECT_GE(std::chrono::steady_clock::now() - begun, std::chrono::milliseconds(30));
  EXPECT_EQ(toys.get("key")->wait(), Answer("by timer"));
}

TEST_F(RuntimeTest, a_timer_whose_records_were_refused_comes_again) {
  toys.start();
  toys.disk.add_fault({.call = io::DiskCall::write, .path_part = ".log", .system_error = ENOSPC});
  const auto appended = std::make_shared<Awaited<Answer>>();
  set_timer(toys, std::chrono::milliseconds(0), appended);
  EXPECT_EQ(appended->wait(), Answer("appended"));
  EXPECT_FALSE(toys.disk.fault_pending());
}

// --- leading
// ------------------------------------------------------------------------------------------------

TEST_F(RuntimeTest, only_who_leads_a_partition_answers) {
  toys.start();
  const AnswerPtr waiting = toys.wait_in_shard();
  auto elsewhere = std::make_shared<Awaited<Answer>>();
  toys.runtime->schedule(
      PartitionIndex{7}, [](ToyShard&, const Now&) { return Decision{}; },
      [elsewhere](ErrorCode error) { elsewhere->set(std::unexpected(error)); });
  EXPECT_EQ(elsewhere->wait(), refused(ErrorCode::not_coordinator));
  toys.runtime->resign(ToyCoordinator::index);
  EXPECT_EQ(waiting->wait(), refused(ErrorCode::not_coordinator));
  EXPECT_EQ(toys.get("key")->wait(), refused(ErrorCode::not_coordinator));
}

TEST_F(RuntimeTest, another_epoch_is_no_reason_to_load_again_unless_somebody_else_wrote) {
  toys.start();
  EXPECT_EQ(toys.put("key", "mine")->wait(), put_is_done);
  const AnswerPtr waiting = toys.wait_in_shard();
  toys.lead(LeaderEpoch{1});
  EXPECT_EQ(toys.get("key")->wait(), Answer("mine"));
  EXPECT_FALSE(waiting->came());

  auto batch = protocol::single_record_batch(TimestampMs{5}, as_byte_view("key"), as_byte_view("theirs"));
  ASSERT_TRUE(toys.partition().append(batch, false, TimestampMs{5}));
  toys.lead(LeaderEpoch{2});
  EXPECT_EQ(waiting->wait(), refused(ErrorCode::not_coordinator));
  toys.wait_until_loaded();
  EXPECT_EQ(toys.get("key")->wait(), Answer("theirs"));
}

TEST_F(RuntimeTest, another_topic_of_the_name_is_another_shard) {
  toys.start();
  EXPECT_EQ(toys.put("key", "old")->wait(), put_is_done);
  toys.topic_id = Uuid::random();
  toys.partition().deactivate({ErrorKind::not_found, "deleted"});
  toys.disk.put_file("/logs/other/marker", "");
  ASSERT_TRUE(toys.disk.remove_tree("/logs/toys-0"));
  toys.set_partition(toys.open());
  toys.lead();
  EXPECT_EQ(toys.get("key")->wait(), Answer("-"));
}

TEST_F(RuntimeTest, stopping_answers_all_who_wait_and_refuses_what_comes) {
  toys.start();
  const AnswerPtr waiting = toys.wait_in_shard();
  const AnswerPtr put = toys.put("key", "last");
  toys.runtime->stop();
  EXPECT_EQ(waiting->wait(), refused(ErrorCode::not_coordinator));
  EXPECT_EQ(put->wait(), put_is_done) << "it was decided, and is on its way to the disk";
  EXPECT_EQ(toys.get("key")->wait(), refused(ErrorCode::coordinator_not_available));
}

}  // namespace
}  // namespace barnabas::broker
