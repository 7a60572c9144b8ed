// The part of librdkafka in the chaos test: `chaos_process NAME=VALUE…`; ../README.md says what each role
// does.
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdio>
#include <exception>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "field.h"
#include "worker.h"

namespace barnabas::compat {
namespace {

constexpr std::chrono::milliseconds retry_after{200};
constexpr std::size_t records_a_poll = 500;

// The exit code of one whose place another has taken.
constexpr int fenced = 3;

// Workers go on with new clients after a failure, and are new processes as far as the history is concerned.
void work(Field& field) {
  for (int sessions = 0; !field.closing; ++sessions) {
    field.history().set_process(field.argument("name") +
                                (sessions == 0 ? "" : ".next" + std::to_string(sessions)));
    const auto failure = Worker{field}.run();
    if (failure.empty()) continue;
    std::fprintf(stderr, "%s: %s\n", field.history().process().c_str(), failure.c_str());
    if (failure.find(RdKafka::err2str(RdKafka::ERR__FENCED)) != std::string::npos) ::_exit(fenced);
    std::this_thread::sleep_for(retry_after);
  }
}

// Notes all that it is shown of all partitions, to the end (of a log that has come to rest) or until it is
// told to end.
class Reader {
 public:
  explicit Reader(Field& field) : field_(field), isolation_(field.argument("isolation")) {
    auto settings = consuming(isolation_);
    settings.insert(settings.end(), {{"group.id", "none"}, {"enable.partition.eof", "true"}});
    std::string error;
    consumer_.reset(RdKafka::KafkaConsumer::create(configuration(field, settings).get(), error));
    if (!consumer_) throw std::runtime_error(error);
  }

  void run() {
    std::vector<RdKafka::TopicPartition*> all;
    for (const auto* name : {"in", "mid", "out"}) {
      for (int partition = 0; partition < field_.number("partitions"); ++partition) {
        all.push_back(
            RdKafka::TopicPartition::create(field_.topic(name), partition, RdKafka::Topic::OFFSET_BEGINNING));
      }
    }
    field_.history().assign(true);
    consumer_->assign(all);
    const bool to_the_end = field_.has("ends");
    while (!field_.closing && !(to_the_end && ended_.size() == all.size())) poll();
    RdKafka::TopicPartition::destroy(all);
    consumer_->close();
  }

 private:
  void poll() {
    History::Polled polled;
    std::size_t count = 0;
    while (count < records_a_poll) {
      const std::unique_ptr<RdKafka::Message> message{consumer_->consume(count == 0 ? idle_ms : 10)};
      if (message->err() == RdKafka::ERR__PARTITION_EOF) {
        ended_.insert(field_.key(message->topic_name(), message->partition()));
      }
      if (message->err() != RdKafka::ERR_NO_ERROR) break;
      polled[field_.key(message->topic_name(), message->partition())].emplace_back(
          message->offset(), std::string{static_cast<const char*>(message->payload()), message->len()});
      ++count;
    }
    if (count > 0) field_.history().poll(polled, isolation_);
  }

  Field& field_;
  std::string isolation_;
  std::unique_ptr<RdKafka::KafkaConsumer> consumer_;
  std::set<std::string> ended_;
};

void await_end_of_input() {
  std::array<char, 256> ignored{};
  while (::read(STDIN_FILENO, ignored.data(), ignored.size()) > 0) {
  }
}

int run(const std::vector<std::string>& arguments) {
  Field field{arguments};
  std::thread waiting{[&field] {
    await_end_of_input();
    field.closing = true;
  }};
  // A reader that has come to the end does not wait for that of its input.
  waiting.detach();
  if (field.argument("role") == "worker") {
    work(field);
  } else {
    field.history().set_process(field.argument("name"));
    Reader{field}.run();
  }
  std::fflush(nullptr);
  ::_exit(0);
}

}  // namespace
}  // namespace barnabas::compat

int main(int count, char** values) {
  try {
    return barnabas::compat::run({values + 1, values + count});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
