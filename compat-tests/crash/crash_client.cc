// Producers at full speed while somebody else kills and restarts the broker; then the check of what is left.
//
//   crash_client --prefix NAME --seed N [--topics N] [--partitions N] [--producers N]
//
// Creates the topics, prints `producing`, and produces with acks=all and idempotence until its standard input
// ends. Waits until everything in flight is settled, reads all partitions, prints figures and problems, and
// exits with 0 when every acknowledged record is in its partition once, in order, at the offset it was
// acknowledged with.
//
// Each thread lets producers follow each other. Most send their part and wait for every acknowledgement; some
// give up what is in flight, so that there are records nobody knows the fate of: these may be there once or
// not at all.
#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <iostream>
#include <mutex>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "client.h"
#include "ledger.h"

namespace barnabas::compat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds settle_timeout{180};
constexpr int flush_step_ms = 500;
constexpr int records_of_a_producer_max = 20'000;
constexpr int read_timeout_ms = 120'000;

struct Options {
  std::string prefix;
  std::uint64_t seed = 0;
  int topics = 2;
  int partitions = 3;
  int producers = 3;
};

struct Place {
  std::string topic;
  std::int32_t partition;
};

// One producer from its creation to its end, with what became of its records. Lives until all is checked.
class Run : private RdKafka::DeliveryReportCb {
 public:
  Run(std::uint32_t number, std::size_t places, const Settings& settings) : number_(number), fates_(places) {
    std::string problem;
    producer_.reset(RdKafka::Producer::create(configuration(settings, this).get(), problem));
    if (!producer_) {
      throw std::runtime_error(problem);
    }
  }

  void send(const Place& place, std::size_t index) {
    Fates& fates = fates_[index];
    const Stamp stamp{number_, fates.size()};
    Fate& fate = fates.emplace_back(not_acknowledged);
    const Record record{std::to_string(stamp.sequence), payload(stamp), {}, 0};
    if (const auto error = produce(*producer_, place.topic, place.partition, record, &fate)) {
      note(error);
    }
    check();
  }

  // Waits for all acknowledgements: as long as the broker is being killed, which goes on until `quiet`, and
  // then for settle_timeout.
  void finish(const std::atomic<bool>& quiet) {
    auto deadline = Clock::now() + settle_timeout;
    while (producer_->flush(flush_step_ms) != RdKafka::ERR_NO_ERROR) {
      if (!quiet) {
        deadline = Clock::now() + settle_timeout;
      } else if (Clock::now() > deadline) {
        throw std::runtime_error(std::to_string(producer_->outq_len()) + " records were never settled");
      }
    }
    check();
    producer_.reset();
  }

  // Forgets what is queued and in flight.
  void abandon() {
    abandoned_ = true;
    producer_->purge(RdKafka::Producer::PURGE_QUEUE | RdKafka::Producer::PURGE_INFLIGHT);
    producer_->flush(flush_step_ms);  // for the reports of what was purged
    producer_.reset();
  }

  std::uint32_t number() const { return number_; }
  const Fates& fates(std::size_t place) const { return fates_[place]; }

 private:
  // Must not throw: librdkafka calls it, and is C.
  void dr_cb(RdKafka::Message& message) override {
    if (message.err() != RdKafka::ERR_NO_ERROR) {
      note(message.err());
      return;
    }
    *static_cast<Fate*>(message.msg_opaque()) =
        message.offset() >= 0 ? message.offset() : acknowledged_somewhere;
  }

  void note(RdKafka::ErrorCode error) {
    if (!abandoned_ && error_.empty()) {
      std::string reason;
      producer_->fatal_error(reason);
      error_ = RdKafka::err2str(error) + " " + reason;
    }
  }

  // Records never time out, so an error means that the broker has lost what it must know of this producer.
  void check() const {
    if (!error_.empty()) {
      throw std::runtime_error("producer " + std::to_string(number_) + ": " + error_);
    }
  }

  std::uint32_t number_;
  std::vector<Fates> fates_;
  std::unique_ptr<RdKafka::Producer> producer_;
  bool abandoned_ = false;
  std::string error_;
};

class CrashClient {
 public:
  explicit CrashClient(const Options& options) : options_(options) {
    for (int topic = 0; topic < options.topics; ++topic) {
      const std::string name = options.prefix + "-" + std::to_string(topic);
      // Small segments, so that kills meet rolls and indexes of many files.
      create_topic(name, options.partitions, {{"segment.bytes", "1048576"}});
      for (std::int32_t partition = 0; partition < options.partitions; ++partition) {
        places_.push_back({name, partition});
      }
    }
  }

  void produce_until_input_ends() {
    std::vector<std::thread> threads;
    for (int i = 0; i < options_.producers; ++i) {
      threads.emplace_back([this, i] { run_thread(i); });
    }
    std::cout << "producing" << std::endl;
    std::string ignored;
    while (std::getline(std::cin, ignored)) {
    }
    stop_ = true;
    for (std::thread& thread : threads) {
      thread.join();
    }
  }

  // True when nothing is wrong.
  bool check() {
    std::uint64_t acknowledged = 0;
    std::uint64_t unacknowledged = 0;
    bool good = problems_.empty();
    for (const std::string& problem : problems_) {
      std::cout << problem << std::endl;
    }
    for (std::size_t i = 0; i < places_.size(); ++i) {
      PartitionLedger ledger(places_[i].topic + "-" + std::to_string(places_[i].partition));
      for (const std::unique_ptr<Run>& run : runs_) {
        ledger.add(run->number(), run->fates(i));
      }
      read(places_[i], ledger);
      ledger.finish();
      for (const std::string& problem : ledger.problems()) {
        std::cout << problem << std::endl;
      }
      good = good && ledger.problems().empty();
      acknowledged += ledger.acknowledged();
      unacknowledged += ledger.found_unacknowledged();
    }
    std::cout << runs_.size() << " producers, " << acknowledged << " records acknowledged, " << unacknowledged
              << " others found" << std::endl;
    return good && acknowledged > 0;
  }

 private:
  void run_thread(int index) {
    std::mt19937_64 random(options_.seed * 1'000 + static_cast<std::uint64_t>(index));
    try {
      while (!stop_) {
        run_producer(random);
      }
    } catch (const std::exception& error) {
      const std::lock_guard lock(mutex_);
      problems_.push_back(error.what());
    }
  }

  void run_producer(std::mt19937_64& random) {
    const auto up_to = [&random](std::uint64_t limit) { return random() % limit; };
    static constexpr const char* compressions[] = {"none", "gzip", "snappy", "lz4", "zstd"};
    Run& run = add_run({{"acks", "all"},
                        {"enable.idempotence", "true"},
                        {"message.timeout.ms", "0"},
                        {"compression.type", compressions[up_to(std::size(compressions))]},
                        {"linger.ms", std::to_string(up_to(6))},
                        {"batch.num.messages", std::to_string(1 + up_to(2'000))},
                        {"queue.buffering.max.messages", "5000"},
                        {"reconnect.backoff.max.ms", "200"},
                        {"log_level", "0"}});
    const std::uint64_t count = 1 + up_to(records_of_a_producer_max);
    for (std::uint64_t sent = 0; sent < count && !stop_;) {
      const std::size_t place = up_to(places_.size());
      for (std::uint64_t left = 1 + up_to(50); left > 0 && !stop_; --left, ++sent) {
        run.send(places_[place], place);
      }
    }
    if (up_to(4) == 0) {
      run.abandon();
    } else {
      run.finish(stop_);
    }
  }

  Run& add_run(const Settings& settings) {
    const std::lock_guard lock(mutex_);
    runs_.push_back(
        std::make_unique<Run>(static_cast<std::uint32_t>(runs_.size()), places_.size(), settings));
    return *runs_.back();
  }

  static void read(const Place& place, PartitionLedger& ledger) {
    Reader reader;
    std::int64_t low = 0;
    std::int64_t high = 0;
    if (reader.consumer().query_watermark_offsets(place.topic, place.partition, &low, &high,
                                                  read_timeout_ms) != RdKafka::ERR_NO_ERROR) {
      throw std::runtime_error(place.topic + ": no offsets");
    }
    const auto count = static_cast<std::size_t>(high);
    const auto check_one = [&ledger](RdKafka::Message& message) {
      ledger.check(message.offset(), {static_cast<const char*>(message.payload()), message.len()});
    };
    if (reader.for_each(place.topic, place.partition, 0, count, check_one) != count) {
      throw std::runtime_error(place.topic + "-" + std::to_string(place.partition) + ": reading ended early");
    }
  }

  Options options_;
  std::vector<Place> places_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;  // for the two below
  std::vector<std::unique_ptr<Run>> runs_;
  std::vector<std::string> problems_;
};

}  // namespace
}  // namespace barnabas::compat

int main(int argc, char** argv) {
  barnabas::compat::Options options;
  CLI::App app("Produce while the broker is killed, then check what is left");
  app.add_option("--prefix", options.prefix, "of the topics' names")->required();
  app.add_option("--seed", options.seed)->required();
  app.add_option("--topics", options.topics);
  app.add_option("--partitions", options.partitions, "of each topic");
  app.add_option("--producers", options.producers, "at a time");
  CLI11_PARSE(app, argc, argv);
  try {
    barnabas::compat::CrashClient client(options);
    client.produce_until_input_ends();
    return client.check() ? 0 : 1;
  } catch (const std::exception& error) {
    std::cout << "crash_client: " << error.what() << std::endl;
    return 1;
  }
}
