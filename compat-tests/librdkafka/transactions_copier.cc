// The copier of transactions/scenario.py.
#include <unistd.h>

#include <array>
#include <atomic>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "transactional_client.h"

namespace transactional {
namespace {

constexpr const char* transaction_timeout_ms = "15000";
constexpr std::size_t copy_at_most = 10;  // records in one transaction
constexpr int abort_every = 4;            // of the transactions one is aborted and done again

std::atomic<bool> closing = false;

void await_end_of_input() {
  std::array<char, 256> ignored{};
  while (::read(STDIN_FILENO, ignored.data(), ignored.size()) > 0) {
  }
  closing = true;
}

// With a callback of its own a rebalance waits for consume(), so that what is copied is of the generation
// that is told.
class Copier : private RdKafka::RebalanceCb {
 public:
  explicit Copier(const CopierArguments& arguments)
      : source_(arguments.source),
        target_(arguments.target),
        consumer_(new_consumer(arguments.bootstrap, read_committed,
                               {{"group.id", arguments.group},
                                {"session.timeout.ms", arguments.session_ms},
                                {"heartbeat.interval.ms", "500"}},
                               this)),
        producer_(arguments.bootstrap, arguments.id, transaction_timeout_ms) {}

  void run() {
    check(consumer_->subscribe({source_}));
    while (!closing) copy(read());
    check(consumer_->close());
  }

 private:
  using Messages = std::vector<std::unique_ptr<RdKafka::Message>>;

  void rebalance_cb(RdKafka::KafkaConsumer* consumer, RdKafka::ErrorCode what,
                    std::vector<RdKafka::TopicPartition*>& partitions) override {
    assigned_.clear();
    changed_ = true;
    if (what != RdKafka::ERR__ASSIGN_PARTITIONS) {
      consumer->unassign();
      return;
    }
    for (const auto* partition : partitions) assigned_.insert(partition->partition());
    consumer->assign(partitions);
  }

  // What was read before a rebalance is not for this member any more.
  Messages read() {
    Messages messages;
    for (int wait_ms = 100; messages.size() < copy_at_most; wait_ms = 0) {
      changed_ = false;
      std::unique_ptr<RdKafka::Message> message{consumer_->consume(wait_ms)};
      if (changed_) messages.clear();
      if (message->err() != RdKafka::ERR_NO_ERROR) break;
      messages.push_back(std::move(message));
    }
    return messages;
  }

  void copy(const Messages& messages) {
    if (messages.empty()) return;
    bool committed = false;
    producer_.begin();
    try {
      Offsets offsets;
      std::vector<Record> records;
      for (const auto& message : messages) {
        records.push_back(
            {message->partition(), {static_cast<const char*>(message->payload()), message->len()}});
        offsets[message->partition()] = message->offset() + 1;
      }
      producer_.send(target_, records);
      producer_.send_offsets(*consumer_, source_, offsets);
      committed = ++transactions_ % abort_every != 0;
      if (committed) producer_.commit();
    } catch (const Failure& failure) {
      say("failed " + failure.name + " " + failure.why);
      if (failure.fatal) throw;
      committed = false;
    }
    if (!committed) {
      producer_.abort();
      seek_back(messages);
    }
    say((committed ? "committed " : "aborted ") + std::to_string(messages.size()));
  }

  void seek_back(const Messages& messages) {
    Offsets first;
    for (const auto& message : messages) first.emplace(message->partition(), message->offset());
    const TopicOffsets offsets{source_, first};
    for (const auto* partition : offsets.all) {
      if (assigned_.contains(partition->partition())) check(consumer_->seek(*partition, timeout_ms));
    }
  }

  std::string source_;
  std::string target_;
  std::set<std::int32_t> assigned_;
  bool changed_ = false;
  int transactions_ = 0;
  std::unique_ptr<RdKafka::KafkaConsumer> consumer_;
  Producer producer_;
};

}  // namespace

void copy(const CopierArguments& arguments) {
  std::thread{await_end_of_input}.detach();
  Copier{arguments}.run();
}

}  // namespace transactional
