#include "client.h"

#include <librdkafka/rdkafka.h>

#include <array>
#include <cstdlib>
#include <iostream>
#include <stdexcept>
#include <thread>

namespace barnabas::compat {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int poll_ms = 50;

[[noreturn]] void die(const std::string& what) {
  std::cerr << what << std::endl;
  std::exit(1);
}

// librdkafka's C objects, each with the function that frees it.
template <class T, void (*Destroy)(T*)>
struct Destroyer {
  void operator()(T* object) const { Destroy(object); }
};
template <class T, void (*Destroy)(T*)>
using Owned = std::unique_ptr<T, Destroyer<T, Destroy>>;

int milliseconds(std::chrono::milliseconds time) {
  return static_cast<int>(time.count());
}

std::unique_ptr<RdKafka::Headers> to_client(const std::vector<Header>& headers) {
  if (headers.empty()) {
    return nullptr;
  }
  std::unique_ptr<RdKafka::Headers> result(RdKafka::Headers::create());
  for (const Header& header : headers) {
    result->add(header.name, header.value ? header.value->data() : nullptr,
                header.value ? header.value->size() : 0);
  }
  return result;
}

std::optional<std::string> optional_bytes(const void* data, std::size_t size) {
  if (data == nullptr) {
    return std::nullopt;
  }
  return std::string(static_cast<const char*>(data), size);
}

// librdkafka takes a pointer to non-const but, told to copy, only reads.
void* payload(const std::optional<std::string>& bytes) {
  return bytes ? const_cast<char*>(bytes->data()) : nullptr;
}

std::size_t size(const std::optional<std::string>& bytes) {
  return bytes ? bytes->size() : 0;
}

void request_topic(rd_kafka_t* client, const std::string& name, int partitions, const Settings& config) {
  std::array<char, 512> text{};
  Owned<rd_kafka_NewTopic_t, rd_kafka_NewTopic_destroy> topic(
      rd_kafka_NewTopic_new(name.c_str(), partitions, 1, text.data(), text.size()));
  if (!topic) {
    throw std::runtime_error(text.data());
  }
  for (const auto& [setting, value] : config) {
    rd_kafka_NewTopic_set_config(topic.get(), setting.c_str(), value.c_str());
  }

  Owned<rd_kafka_queue_t, rd_kafka_queue_destroy> queue(rd_kafka_queue_new(client));
  Owned<rd_kafka_AdminOptions_t, rd_kafka_AdminOptions_destroy> options(
      rd_kafka_AdminOptions_new(client, RD_KAFKA_ADMIN_OP_CREATETOPICS));
  rd_kafka_AdminOptions_set_operation_timeout(options.get(), milliseconds(client_timeout), text.data(),
                                              text.size());
  rd_kafka_NewTopic_t* topics[] = {topic.get()};
  rd_kafka_CreateTopics(client, topics, 1, options.get(), queue.get());

  Owned<rd_kafka_event_t, rd_kafka_event_destroy> event(
      rd_kafka_queue_poll(queue.get(), 2 * milliseconds(client_timeout)));
  if (!event || rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error(name + ": " + (event ? rd_kafka_event_error_string(event.get()) : "no answer"));
  }
  std::size_t count = 0;
  const rd_kafka_topic_result_t** results =
      rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count);
  if (count != 1 || rd_kafka_topic_result_error(results[0]) != RD_KAFKA_RESP_ERR_NO_ERROR) {
    throw std::runtime_error(name + ": " + rd_kafka_err2str(rd_kafka_topic_result_error(results[0])));
  }
}

// Apache Kafka may answer CreateTopics before it leads the partitions; a producer without idempotence that is
// refused then sends again later and out of order.
void await_leader(RdKafka::Handle& client, const std::string& topic, std::int32_t partition) {
  const auto deadline = Clock::now() + client_timeout;
  std::int64_t low = 0;
  std::int64_t high = 0;
  while (client.query_watermark_offsets(topic, partition, &low, &high, milliseconds(client_timeout)) !=
         RdKafka::ERR_NO_ERROR) {
    if (Clock::now() > deadline) {
      throw std::runtime_error(topic + ": no leader");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(poll_ms));
  }
}

}  // namespace

std::string bootstrap() {
  const char* address = std::getenv("BARNABAS_BOOTSTRAP");
  if (address == nullptr) {
    die("BARNABAS_BOOTSTRAP is not set; run this under compat-tests/harness/with_broker.py");
  }
  return address;
}

std::unique_ptr<RdKafka::Conf> configuration(const Settings& settings, RdKafka::DeliveryReportCb* reports) {
  std::unique_ptr<RdKafka::Conf> conf(RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL));
  std::string problem;
  auto set = [&](const std::string& name, const std::string& value) {
    if (conf->set(name, value, problem) != RdKafka::Conf::CONF_OK) {
      die(problem);
    }
  };
  set("bootstrap.servers", bootstrap());
  for (const auto& [name, value] : settings) {
    set(name, value);
  }
  if (reports != nullptr && conf->set("dr_cb", reports, problem) != RdKafka::Conf::CONF_OK) {
    die(problem);
  }
  return conf;
}

void create_topic(const std::string& name, int partitions, const Settings& config) {
  std::string problem;
  std::unique_ptr<RdKafka::Producer> producer(RdKafka::Producer::create(configuration({}).get(), problem));
  if (!producer) {
    throw std::runtime_error(problem);
  }
  request_topic(producer->c_ptr(), name, partitions, config);
  for (std::int32_t partition = 0; partition < partitions; ++partition) {
    await_leader(*producer, name, partition);
  }
}

RdKafka::ErrorCode produce(RdKafka::Producer& producer, const std::string& topic, std::int32_t partition,
                           const Record& record, void* opaque) {
  std::unique_ptr<RdKafka::Headers> headers = to_client(record.headers);
  for (;;) {
    const RdKafka::ErrorCode error = producer.produce(
        topic, partition, RdKafka::Producer::RK_MSG_COPY, payload(record.value), size(record.value),
        payload(record.key), size(record.key), record.timestamp_ms, headers.get(), opaque);
    if (error == RdKafka::ERR__QUEUE_FULL) {
      producer.poll(poll_ms);
      continue;
    }
    if (error == RdKafka::ERR_NO_ERROR) {
      headers.release();  // librdkafka's now
    }
    producer.poll(0);
    return error;
  }
}

Sender::Sender(const Settings& settings) {
  std::string problem;
  producer_.reset(RdKafka::Producer::create(configuration(settings, this).get(), problem));
  if (!producer_) {
    die(problem);
  }
}

Sender::~Sender() {
  producer_->purge(RdKafka::Producer::PURGE_QUEUE | RdKafka::Producer::PURGE_INFLIGHT);
  producer_->flush(milliseconds(client_timeout));
}

void Sender::send(const std::string& topic, std::int32_t partition, const Record& record) {
  Delivery& delivery = deliveries_.emplace_back();
  const RdKafka::ErrorCode error = produce(*producer_, topic, partition, record, &delivery);
  if (error != RdKafka::ERR_NO_ERROR) {
    delivery.error = error;
  }
}

std::deque<Delivery> Sender::flush() {
  // Reports point into deliveries_, so what is still open after the time-out must not come later.
  if (producer_->flush(milliseconds(client_timeout)) != RdKafka::ERR_NO_ERROR) {
    producer_->purge(RdKafka::Producer::PURGE_QUEUE | RdKafka::Producer::PURGE_INFLIGHT);
    producer_->flush(milliseconds(client_timeout));
  }
  return std::exchange(deliveries_, {});
}

void Sender::dr_cb(RdKafka::Message& message) {
  *static_cast<Delivery*>(message.msg_opaque()) = {message.err(), message.partition(), message.offset()};
}

Reader::Reader(const Settings& settings) {
  std::string problem;
  consumer_.reset(RdKafka::Consumer::create(configuration(settings).get(), problem));
  if (!consumer_) {
    die(problem);
  }
}

std::size_t Reader::for_each(const std::string& topic, std::int32_t partition, std::int64_t offset,
                             std::size_t count, const Visitor& visit, std::chrono::milliseconds timeout) {
  std::string problem;
  std::unique_ptr<RdKafka::Topic> handle(RdKafka::Topic::create(consumer_.get(), topic, nullptr, problem));
  if (!handle) {
    throw std::runtime_error(problem);
  }
  if (const auto error = consumer_->start(handle.get(), partition, offset); error != RdKafka::ERR_NO_ERROR) {
    throw std::runtime_error(RdKafka::err2str(error));
  }
  std::size_t seen = 0;
  auto deadline = Clock::now() + timeout;
  while (seen < count && Clock::now() < deadline) {
    std::unique_ptr<RdKafka::Message> message(consumer_->consume(handle.get(), partition, poll_ms));
    if (message->err() == RdKafka::ERR_NO_ERROR) {
      visit(*message);
      ++seen;
      deadline = Clock::now() + timeout;
    } else if (message->err() != RdKafka::ERR__TIMED_OUT && message->err() != RdKafka::ERR__PARTITION_EOF) {
      consumer_->stop(handle.get(), partition);
      throw std::runtime_error(message->errstr());
    }
  }
  consumer_->stop(handle.get(), partition);
  return seen;
}

std::vector<Received> Reader::read(const std::string& topic, std::int32_t partition, std::int64_t offset,
                                   std::size_t count, std::chrono::milliseconds timeout) {
  std::vector<Received> result;
  for_each(
      topic, partition, offset, count,
      [&result](RdKafka::Message& message) { result.push_back(received(message)); }, timeout);
  return result;
}

Received received(RdKafka::Message& message) {
  Received result;
  result.offset = message.offset();
  result.record.key = optional_bytes(message.key_pointer(), message.key_len());
  result.record.value = optional_bytes(message.payload(), message.len());
  result.record.timestamp_ms = message.timestamp().timestamp;
  if (RdKafka::Headers* headers = message.headers()) {
    for (const RdKafka::Headers::Header& header : headers->get_all()) {
      result.record.headers.push_back({header.key(), optional_bytes(header.value(), header.value_size())});
    }
  }
  return result;
}

}  // namespace barnabas::compat
