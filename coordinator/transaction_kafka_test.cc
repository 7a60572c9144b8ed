// What Apache Kafka 4.4 answered and wrote into __transaction_state, request by request, in
// testdata/transaction/kafka-4.4.txt: we answer the same and write the same bytes.
//
//   server LEVEL                            of transaction.version
//   init ID PRODUCER EPOCH TIMEOUT          InitProducerId, until it was no longer 51
//   add VERSION ID PRODUCER EPOCH TOPIC PARTITION, offsets ID PRODUCER EPOCH PARTITION
//   end VERSION ID PRODUCER EPOCH commit|abort
//   timeout ID                              time passed
//   given KEY VALUE                         this is in the log already
//   -> ANSWER                               error, and what else the answer says
//   = KEY VALUE                             a record

#include <gtest/gtest.h>

#include <fstream>
#include <sstream>

#include "coordinator/format_page.h"
#include "coordinator/transaction_records.h"
#include "coordinator/transaction_test_support.h"
#include "protocol/messages/transaction_log_value.h"

namespace barnabas::coordinator::testing {
namespace {

protocol::TransactionLogValue value_of(const Record& record) {
  auto value = protocol::decode_coordinator_value<protocol::TransactionLogValue>(*record.value);
  EXPECT_TRUE(value);
  return *value;
}

struct Step {
  std::vector<std::string> words;
  std::string answer;
  std::vector<Record> records;

  const std::string& word(std::size_t at) const { return words.at(at); }
  int64_t number(std::size_t at) const { return std::stoll(words.at(at)); }
  Producer producer(std::size_t at) const {
    return {ProducerId(number(at)), ProducerEpoch(static_cast<int16_t>(number(at + 1)))};
  }
};

std::vector<Step> steps() {
  std::ifstream in(BARNABAS_SOURCE_DIR "/coordinator/testdata/transaction/kafka-4.4.txt");
  std::vector<Step> steps;
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string first, key, value;
    words >> first;
    if (first == "->") {
      steps.back().answer = line.substr(3);
    } else if (first == "=" || first == "given") {
      if (first == "given") steps.push_back({.words = {first}, .answer = {}, .records = {}});
      words >> key >> value;
      steps.back().records.push_back({bytes_of(key), bytes_of(value)});
    } else {
      Step& step = steps.emplace_back();
      step.words.push_back(first);
      for (std::string word; words >> word;) step.words.push_back(word);
    }
  }
  return steps;
}

/// Does the steps at the times at which Kafka did them, and says what came of each.
class Player {
 public:
  std::string play(const Step& step) {
    if (!step.records.empty()) be_at(step.records[0]);
    const auto& what = step.word(0);
    if (what == "server") {
      scene_.set_transaction_version(static_cast<int16_t>(step.number(1)));
    } else if (what == "given") {
      Decision decision{.records = step.records};
      scene_.carry_out(std::move(decision));
      scene_.next_producer_id(value_of(step.records[0]).producer_id + 1);
    } else if (what == "timeout") {
      scene_.set_wall_clock(std::chrono::milliseconds(-1));
      scene_.advance(std::chrono::milliseconds(1));
      write_markers(step);
    } else if (what == "init") {
      const auto answer = scene_.ask_init(step.word(1), step.number(2), static_cast<int16_t>(step.number(3)),
                                          static_cast<int32_t>(step.number(4)));
      write_markers(step);
      return told(answer->response());
    } else if (what == "add") {
      const auto answer = scene_.ask_add(step.word(2), step.producer(3),
                                         {{step.word(5), {static_cast<int32_t>(step.number(6))}}},
                                         static_cast<int16_t>(step.number(1)));
      return std::to_string(static_cast<int>(scene_.first_error(answer->response())));
    } else if (what == "offsets") {
      const auto answer =
          scene_.ask_add_offsets(step.word(1), step.producer(2), static_cast<int32_t>(step.number(4)));
      return std::to_string(static_cast<int>(answer->response()));
    } else if (what == "end") {
      const auto version = static_cast<int16_t>(step.number(1));
      const auto answer = scene_.ask_end(step.word(2), step.producer(3), step.word(5) == "commit", version);
      write_markers(step);
      const auto& response = answer->response();
      return version >= 5 ? told(response) : std::to_string(response.error_code);
    } else {
      ADD_FAILURE() << what;
    }
    return "";
  }

  std::vector<Record> new_records() {
    std::vector<Record> records;
    for (; seen_ < scene_.log().size(); ++seen_) records.push_back(scene_.log()[seen_].record);
    return records;
  }

 private:
  template <class Response>
  static std::string told(const Response& response) {
    return std::to_string(response.error_code) + " " + std::to_string(response.producer_id) + " " +
           std::to_string(response.producer_epoch);
  }

  void be_at(const Record& record) {
    const int64_t then = value_of(record).transaction_last_update_timestamp_ms;
    scene_.set_wall_clock(std::chrono::milliseconds(then - scene_.now().wall.value()));
  }

  void write_markers(const Step& step) {
    if (step.records.size() > 1) be_at(step.records[1]);
    scene_.write_all_markers();
  }

  static std::shared_ptr<TransactionScene::World> world() {
    auto world = TransactionScene::world_of(0);
    world->settings.abort_interval = std::chrono::milliseconds(1);
    return world;
  }

  TransactionScene scene_{world(), 0};
  std::size_t seen_ = 0;
};

/// What Kafka does one after the other is done in one moment here: an InitProducerId that aborts first waits,
/// where Kafka's client asks again; a transaction without partitions is over as soon as it is decided.
bool is_done_in_one_moment(const Step& step) {
  if (step.word(0) == "init") return step.records.size() > 2;
  return step.word(0) == "end" && step.records.size() == 2 &&
         value_of(step.records[0]).transaction_partitions->empty();
}

void expect_same_but_for_the_time(std::vector<Record> records, std::vector<Record> expected) {
  const auto without_time = [](Record& record) {
    auto value = value_of(record);
    value.transaction_last_update_timestamp_ms = 0;
    record.value = detail::encoded(
        [&](protocol::Writer& writer) { protocol::encode_coordinator_value(writer, value, 1); });
  };
  std::ranges::for_each(records, without_time);
  std::ranges::for_each(expected, without_time);
  EXPECT_EQ(records, expected);
}

TEST(TransactionsOfKafka, are_answered_and_written_so) {
  Player player;
  std::size_t at = 0;
  std::size_t records = 0;
  for (const Step& step : steps()) {
    std::string text = std::to_string(++at) + ":";
    for (const auto& word : step.words) text += " " + word;
    SCOPED_TRACE(text);
    EXPECT_EQ(player.play(step), step.answer);
    records += step.records.size();
    if (is_done_in_one_moment(step)) {
      expect_same_but_for_the_time(player.new_records(), step.records);
    } else {
      EXPECT_EQ(player.new_records(), step.records);
    }
  }
  EXPECT_GT(records, 60u);
}

}  // namespace
}  // namespace barnabas::coordinator::testing
