// A member of a group in librdkafka's C++ interface; the lines are those of groups/scenario.py.
#include <librdkafka/rdkafkacpp.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

constexpr int commit_at = 20;
constexpr int idle_ms = 300;

struct Arguments {
  std::string bootstrap, group, topic, name, mode;  // a mode may end with -static
  int session_ms;
};

// In one write, since all members share the pipe.
void say(const std::string& name, const std::string& what) {
  const std::string line = name + " " + what + "\n";
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::perror("write");
}

std::unique_ptr<RdKafka::Conf> configuration(const Arguments& arguments, RdKafka::RebalanceCb* rebalances) {
  std::unique_ptr<RdKafka::Conf> conf{RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL)};
  const bool is_static = arguments.mode.ends_with("-static");
  const std::vector<std::pair<std::string, std::string>> settings{
      {"bootstrap.servers", arguments.bootstrap},
      {"group.id", arguments.group},
      {"group.instance.id", is_static ? arguments.name : ""},
      {"auto.offset.reset", "earliest"},
      {"enable.auto.commit", "false"},
      {"reconnect.backoff.max.ms", "500"},
      {"log_level", "3"},
      {"session.timeout.ms", std::to_string(arguments.session_ms)},
      {"heartbeat.interval.ms", std::to_string(arguments.session_ms / 12)},
      {"partition.assignment.strategy",
       arguments.mode.starts_with("cooperative") ? "cooperative-sticky" : "range"}};
  std::string error;
  for (const auto& [name, value] : settings) {
    if (conf->set(name, value, error) != RdKafka::Conf::CONF_OK) break;
  }
  if (!error.empty() || conf->set("rebalance_cb", rebalances, error) != RdKafka::Conf::CONF_OK) {
    std::fprintf(stderr, "%s\n", error.c_str());
    std::exit(1);
  }
  return conf;
}

class Member : private RdKafka::RebalanceCb {
 public:
  explicit Member(Arguments arguments) : arguments_(std::move(arguments)) {
    std::string error;
    consumer_.reset(RdKafka::KafkaConsumer::create(configuration(arguments_, this).get(), error));
    if (!consumer_) {
      std::fprintf(stderr, "%s\n", error.c_str());
      std::exit(1);
    }
  }

  void run(const std::atomic<bool>& closing) {
    consumer_->subscribe({arguments_.topic});
    while (!closing) {
      const std::unique_ptr<RdKafka::Message> message{consumer_->consume(idle_ms)};
      const bool is_record = message->err() == RdKafka::ERR_NO_ERROR;
      if (is_record) {
        pending_[message->partition()] = message->offset() + 1;
        ++records_;
        say(arguments_.name,
            "consumed " + std::to_string(message->partition()) + " " + std::to_string(message->offset()));
      }
      if (records_ >= commit_at || !is_record) commit();
    }
    consumer_->close();
    say(arguments_.name, "closed");
  }

 private:
  void rebalance_cb(RdKafka::KafkaConsumer* consumer, RdKafka::ErrorCode what,
                    std::vector<RdKafka::TopicPartition*>& partitions) override {
    const bool cooperative = consumer->rebalance_protocol() == "COOPERATIVE";
    if (what == RdKafka::ERR__ASSIGN_PARTITIONS) {
      for (const auto* partition : partitions) partitions_.insert(partition->partition());
      say_assigned();
      if (cooperative) {
        delete consumer->incremental_assign(partitions);
      } else {
        consumer->assign(partitions);
      }
      return;
    }
    if (!consumer->assignment_lost()) commit();
    if (cooperative) {
      delete consumer->incremental_unassign(partitions);
    } else {
      consumer->unassign();
    }
    for (const auto* partition : partitions) {
      partitions_.erase(partition->partition());
      pending_.erase(partition->partition());
    }
    say_assigned();
  }

  void commit() {
    if (pending_.empty()) return;
    std::vector<RdKafka::TopicPartition*> offsets;
    std::string text;
    for (const auto& [partition, offset] : pending_) {
      offsets.push_back(RdKafka::TopicPartition::create(arguments_.topic, partition, offset));
      text += (text.empty() ? "" : ",") + std::to_string(partition) + ":" + std::to_string(offset);
    }
    say(arguments_.name, "committing " + text);
    auto error = consumer_->commitSync(offsets);
    for (const auto* offset : offsets) {
      if (error == RdKafka::ERR_NO_ERROR) error = offset->err();
    }
    RdKafka::TopicPartition::destroy(offsets);
    if (error != RdKafka::ERR_NO_ERROR) {
      say(arguments_.name, "refused " + RdKafka::err2str(error));
      return;
    }
    say(arguments_.name, "committed " + text);
    pending_.clear();
    records_ = 0;
  }

  void say_assigned() const {
    std::string text;
    for (const auto partition : partitions_) text += (text.empty() ? "" : ",") + std::to_string(partition);
    say(arguments_.name, "assigned " + (text.empty() ? "-" : text));
  }

  Arguments arguments_;
  std::set<std::int32_t> partitions_;
  std::map<std::int32_t, std::int64_t> pending_;
  int records_ = 0;
  std::unique_ptr<RdKafka::KafkaConsumer> consumer_;
};

void await_end_of_input() {
  std::array<char, 256> ignored{};
  while (::read(STDIN_FILENO, ignored.data(), ignored.size()) > 0) {
  }
}

}  // namespace

int main(int count, char** values) {
  if (count != 7) return 2;
  std::atomic<bool> closing = false;
  std::thread waiting{[&closing] {
    await_end_of_input();
    closing = true;
  }};
  Member{{values[1], values[2], values[3], values[4], values[5], std::atoi(values[6])}}.run(closing);
  waiting.join();
}
