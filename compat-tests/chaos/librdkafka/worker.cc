#include "worker.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <thread>
#include <utility>

namespace barnabas::compat {
namespace {

constexpr int commit_tries = 3;
constexpr auto poll_at_most = std::chrono::milliseconds{100};

using Partitions = std::vector<RdKafka::TopicPartition*>;

struct PartitionsDeleter {
  void operator()(Partitions* partitions) const {
    RdKafka::TopicPartition::destroy(*partitions);
    delete partitions;
  }
};

// What librdkafka returns as an error, whose owner the caller is; empty when there is none.
struct Outcome {
  explicit Outcome(RdKafka::Error* owned) : error(owned) {}
  std::string text() const { return error ? error->str() + " (" + error->name() + ")" : ""; }
  std::unique_ptr<RdKafka::Error> error;
};

template <typename Client>
std::unique_ptr<Client> made(const std::unique_ptr<RdKafka::Conf>& conf) {
  std::string error;
  std::unique_ptr<Client> client{Client::create(conf.get(), error)};
  if (!client) throw std::runtime_error(error);
  return client;
}

template <typename Callback>
void set(RdKafka::Conf& conf, const char* name, Callback* callback) {
  std::string error;
  if (conf.set(name, callback, error) != RdKafka::Conf::CONF_OK) throw std::runtime_error(error);
}

}  // namespace

Worker::Worker(Field& field) : field_(field) {
  Settings consumer = consuming("read_committed");
  const int session_ms = field.number("session_ms");
  consumer.insert(consumer.end(), {{"group.id", field.argument("group")},
                                   {"session.timeout.ms", std::to_string(session_ms)},
                                   {"heartbeat.interval.ms", std::to_string(session_ms / 10)},
                                   {"max.poll.interval.ms", field.argument("rebalance_ms")},
                                   {"partition.assignment.strategy", "range"}});
  auto conf = configuration(field, consumer);
  set(*conf, "rebalance_cb", static_cast<RdKafka::RebalanceCb*>(this));
  consumer_ = made<RdKafka::KafkaConsumer>(conf);
  conf = configuration(field, {{"transactional.id", field.argument("id")},
                               {"transaction.timeout.ms", field.argument("txn_timeout_ms")},
                               {"linger.ms", "0"}});
  set(*conf, "dr_cb", static_cast<RdKafka::DeliveryReportCb*>(this));
  producer_ = made<RdKafka::Producer>(conf);
}

Worker::~Worker() {
  if (consumer_) consumer_->close();
}

std::string Worker::run() {
  if (const Outcome init{producer_->init_transactions(call_at_most_ms)}; init.error) return init.text();
  consumer_->subscribe({field_.topic("in"), field_.topic("mid")});
  for (int number = 1; !field_.closing;) {
    const Messages messages = poll();
    if (messages.empty()) continue;
    if (auto failure = copy(number, messages); !failure.empty()) return failure;
    ++number;
  }
  return {};
}

// A random number of records, or those that came in a while. What was polled before a rebalance is not good
// after it.
Worker::Messages Worker::poll() {
  Messages messages;
  const auto most = static_cast<std::size_t>(1 + field_.below(field_.number("batch")));
  const auto until = std::chrono::steady_clock::now() + poll_at_most;
  rebalanced_ = false;
  while (messages.size() < most && !field_.closing) {
    std::unique_ptr<RdKafka::Message> message{consumer_->consume(messages.empty() ? idle_ms : 10)};
    if (std::exchange(rebalanced_, false)) messages.clear();
    const bool is_record = message->err() == RdKafka::ERR_NO_ERROR;
    if (is_record) messages.push_back(std::move(message));
    if (!is_record && messages.empty()) return messages;
    if (std::chrono::steady_clock::now() > until) break;
  }
  return messages;
}

void Worker::rebalance_cb(RdKafka::KafkaConsumer* consumer, RdKafka::ErrorCode what, Partitions& partitions) {
  rebalanced_ = true;
  field_.history().assign(false);
  if (what == RdKafka::ERR__ASSIGN_PARTITIONS) {
    consumer->assign(partitions);
  } else {
    consumer->unassign();
  }
}

// Each message's opaque is its Copy, which lives until the transaction has ended.
void Worker::dr_cb(RdKafka::Message& message) {
  if (message.err() == RdKafka::ERR_NO_ERROR)
    static_cast<Copy*>(message.msg_opaque())->offset = message.offset();
}

std::string Worker::copy(int number, const Messages& messages) {
  const bool on_purpose = field_.below(100) < field_.number("abort");
  std::deque<Copy> copies;
  for (const auto& message : messages) copies.push_back(copy_of(*message, number, on_purpose));
  if (const Outcome begun{producer_->begin_transaction()}; begun.error) return begun.text();
  begin(number, messages, copies);
  std::string failure = send(copies);
  if (const int most = field_.number("work_ms"); most > 0) {
    std::this_thread::sleep_for(std::chrono::milliseconds{field_.below(most)});
  }
  if (on_purpose) {
    producer_->flush(call_at_most_ms);
    return abort(number, "on purpose");
  }
  if (failure.empty()) failure = send_offsets(messages);
  if (!failure.empty()) return abort(number, failure);
  field_.history().commit(number);
  return commit(number, copies);
}

Worker::Copy Worker::copy_of(const RdKafka::Message& message, int number, bool abort) const {
  const bool is_input = message.topic_name() == field_.topic("in");
  const auto partition =
      static_cast<std::int32_t>((message.partition() + message.offset()) % field_.number("partitions"));
  return {field_.topic(is_input ? "mid" : "out"), partition,
          field_.key(message.topic_name(), message.partition()) + "@" + std::to_string(message.offset()) +
              "|" + field_.history().process() + ":" + std::to_string(number) + "|" +
              (abort ? "aborted" : "committed")};
}

void Worker::begin(int number, const Messages& messages, const std::deque<Copy>& copies) {
  History::Polled polled;
  for (const auto& message : messages) {
    polled[field_.key(message->topic_name(), message->partition())].emplace_back(
        message->offset(), std::string{static_cast<const char*>(message->payload()), message->len()});
  }
  History::Sent sent;
  for (const auto& copy : copies) sent[field_.key(copy.topic, copy.partition)].push_back(copy.value);
  field_.history().begin(number, polled, sent);
}

std::string Worker::send(std::deque<Copy>& copies) {
  for (auto& copy : copies) {
    const auto error =
        producer_->produce(copy.topic, copy.partition, RdKafka::Producer::RK_MSG_COPY, copy.value.data(),
                           copy.value.size(), nullptr, 0, 0, nullptr, &copy);
    if (error != RdKafka::ERR_NO_ERROR) return RdKafka::err2str(error);
  }
  return {};
}

std::string Worker::send_offsets(const Messages& messages) {
  std::map<std::pair<std::string, std::int32_t>, std::int64_t> next;
  for (const auto& message : messages)
    next[{message->topic_name(), message->partition()}] = message->offset() + 1;
  Partitions offsets;
  for (const auto& [partition, offset] : next) {
    offsets.push_back(RdKafka::TopicPartition::create(partition.first, partition.second, offset));
  }
  const std::unique_ptr<RdKafka::ConsumerGroupMetadata> member{consumer_->groupMetadata()};
  const Outcome sent{producer_->send_offsets_to_transaction(offsets, member.get(), call_at_most_ms)};
  RdKafka::TopicPartition::destroy(offsets);
  return sent.text();
}

// Nothing that asks for the commit has been sent. An abort that fails needs a new producer.
std::string Worker::abort(int number, const std::string& why) {
  field_.history().ended("fail", number, why);
  if (const Outcome aborted{producer_->abort_transaction(call_at_most_ms)}; aborted.error)
    return aborted.text();
  return rewind();
}

// A failure needs new clients: whether it is committed is not known then.
std::string Worker::commit(int number, const std::deque<Copy>& copies) {
  for (int tries = 1;; ++tries) {
    const Outcome committed{producer_->commit_transaction(call_at_most_ms)};
    if (!committed.error) break;
    if (!committed.error->is_retriable() || tries == commit_tries) {
      field_.history().ended("info", number, committed.text());
      return committed.text();
    }
  }
  History::Offsets offsets;
  for (const auto& copy : copies) offsets[field_.key(copy.topic, copy.partition)].push_back(copy.offset);
  field_.history().ok(number, offsets);
  return {};
}

// Back to where the group is, to poll again what was aborted.
std::string Worker::rewind() {
  const std::unique_ptr<Partitions, PartitionsDeleter> partitions{new Partitions};
  auto error = consumer_->assignment(*partitions);
  if (error == RdKafka::ERR_NO_ERROR && !partitions->empty())
    error = consumer_->committed(*partitions, call_at_most_ms);
  if (error != RdKafka::ERR_NO_ERROR) return "rewind: " + RdKafka::err2str(error);
  for (auto* partition : *partitions) {
    if (partition->offset() < 0) partition->set_offset(RdKafka::Topic::OFFSET_BEGINNING);
    if (error = consumer_->seek(*partition, call_at_most_ms); error != RdKafka::ERR_NO_ERROR) {
      return "rewind: " + RdKafka::err2str(error);
    }
  }
  return {};
}

}  // namespace barnabas::compat
