// Transactions in librdkafka's C++ interface; what the program is told and what it says is in
// transactions/scenario.py.
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <mutex>
#include <sstream>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "transactional_client.h"

namespace transactional {
namespace {

using Clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

constexpr std::array isolations{read_committed, read_uncommitted};
constexpr milliseconds seen_timeout{20000};
constexpr milliseconds quiet{100};  // after this long without a record there are no more
constexpr milliseconds pause_between{5};

// Reads on a thread of its own until the program ends.
class Reader {
 public:
  Reader(const std::string& bootstrap, const std::string& topic, int partitions, std::string isolation)
      : isolation_(std::move(isolation)),
        consumer_(new_consumer(bootstrap, isolation_, {{"group.id", "unused"}})) {
    Offsets from;
    for (int partition = 0; partition < partitions; ++partition) from[partition] = 0;
    check(consumer_->assign(TopicOffsets{topic, from}.all));
    std::thread{[this] { run(); }}.detach();
  }

  std::size_t count() {
    const std::scoped_lock lock{mutex_};
    return records_.size();
  }

  std::string tell(std::size_t until) {
    const std::scoped_lock lock{mutex_};
    std::string out;
    for (; told_ < until; ++told_) {
      out += ' ' + isolation_ + ':' + std::to_string(records_[told_].partition) + ':' + records_[told_].value;
    }
    return out;
  }

 private:
  [[noreturn]] void run() {
    while (true) {
      const std::unique_ptr<RdKafka::Message> message{consumer_->consume(100)};
      if (message->err() != RdKafka::ERR_NO_ERROR) continue;
      const std::scoped_lock lock{mutex_};
      records_.push_back(
          {message->partition(), {static_cast<const char*>(message->payload()), message->len()}});
    }
  }

  std::string isolation_;
  std::unique_ptr<RdKafka::KafkaConsumer> consumer_;
  std::mutex mutex_;
  std::vector<Record> records_;
  std::size_t told_ = 0;
};

class Program {
 public:
  explicit Program(std::string bootstrap) : bootstrap_(std::move(bootstrap)) {}

  void run() {
    for (std::string line; std::getline(std::cin, line);) {
      try {
        say("ok" + act(line));
      } catch (const Failure& failure) {
        say("error " + failure.name + " " + failure.why);
      }
    }
    std::_Exit(0);  // the readers read on
  }

 private:
  std::string act(const std::string& line) {
    std::istringstream words{line};
    std::string command;
    words >> command;
    if (command == "read") {
      std::string topic;
      int partitions = 0;
      words >> topic >> partitions;
      for (const auto* isolation : isolations) {
        readers_.push_back(std::make_unique<Reader>(bootstrap_, topic, partitions, isolation));
      }
    } else if (command == "seen") {
      return seen(words);
    } else {
      act_on_producer(command, words);
    }
    return "";
  }

  void act_on_producer(const std::string& command, std::istream& words) {
    std::string name;
    words >> name;
    if (command == "producer") {
      std::string id;
      std::string transaction_timeout_ms;
      words >> id >> transaction_timeout_ms;
      producers_[name] = std::make_unique<Producer>(bootstrap_, id, transaction_timeout_ms);
    } else if (command == "begin") {
      producers_.at(name)->begin();
    } else if (command == "commit") {
      producers_.at(name)->commit();
    } else if (command == "abort") {
      producers_.at(name)->abort();
    } else if (command == "close") {
      producers_.erase(name);
    } else if (command == "send") {
      send(*producers_.at(name), words);
    } else if (command == "offsets") {
      send_offsets(*producers_.at(name), words);
    } else {
      throw Failure{"program", "no such command"};
    }
  }

  static void send(Producer& producer, std::istream& words) {
    std::string topic;
    int partitions = 0;
    int first = 0;
    int count = 0;
    words >> topic >> partitions >> first >> count;
    std::vector<Record> records;
    for (int number = first; number < first + count; ++number) {
      records.push_back({number % partitions, std::to_string(number)});
    }
    producer.send(topic, records);
  }

  void send_offsets(Producer& producer, std::istream& words) {
    std::string group;
    std::string topic;
    words >> group >> topic;
    Offsets offsets;
    char separator = 0;
    for (std::int32_t partition = 0; words >> partition >> separator >> offsets[partition];) {
      words >> separator;
    }
    const auto consumer = new_consumer(bootstrap_, read_committed, {{"group.id", group}});
    producer.send_offsets(*consumer, topic, offsets);
  }

  // Once each reader has read so many or time is up, and no more come.
  std::string seen(std::istream& words) {
    std::array<std::size_t, isolations.size()> counts{};
    for (auto& count : counts) words >> count;
    const auto now = [this] { return std::array{readers_[0]->count(), readers_[1]->count()}; };
    for (const auto deadline = Clock::now() + seen_timeout; Clock::now() < deadline;) {
      if (const auto read = now(); read[0] >= counts[0] && read[1] >= counts[1]) break;
      std::this_thread::sleep_for(pause_between);
    }
    auto known = now();
    for (auto since = Clock::now(); Clock::now() < since + quiet;) {
      if (const auto read = now(); read != known) {
        known = read;
        since = Clock::now();
      }
      std::this_thread::sleep_for(pause_between);
    }
    return readers_[0]->tell(known[0]) + readers_[1]->tell(known[1]);
  }

  std::string bootstrap_;
  std::map<std::string, std::unique_ptr<Producer>> producers_;
  std::vector<std::unique_ptr<Reader>> readers_;
};

}  // namespace
}  // namespace transactional

int main(int count, char** values) try {
  if (count == 2) {
    transactional::Program{values[1]}.run();
  } else if (count == 8) {
    transactional::copy({values[1], values[2], values[3], values[4], values[5], values[7]});
  } else {
    return 2;
  }
} catch (const transactional::Failure& failure) {
  std::cerr << failure.name << ": " << failure.why << '\n';
  return 1;
}
