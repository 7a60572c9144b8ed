#include "client/record_source.h"

#include <optional>
#include <string_view>

namespace barnabas::client {
namespace {

struct ListDeleter {
  const Librdkafka* api;
  void operator()(rd_kafka_topic_partition_list_t* list) const { api->list_destroy(list); }
};
using List = std::unique_ptr<rd_kafka_topic_partition_list_t, ListDeleter>;

struct TopicDeleter {
  const Librdkafka* api;
  void operator()(rd_kafka_topic_t* topic) const { api->topic_destroy(topic); }
};
using Topic = std::unique_ptr<rd_kafka_topic_t, TopicDeleter>;

struct QueueDeleter {
  const Librdkafka* api;
  void operator()(rd_kafka_queue_t* queue) const { api->queue_destroy(queue); }
};
using Queue = std::unique_ptr<rd_kafka_queue_t, QueueDeleter>;

/// librdkafka's older consumer: the newer one looks for a group's coordinator even where it is told all its
/// partitions and offsets.
class Partitions final : public RecordSource {
 public:
  Partitions(const Librdkafka& api, rd_kafka_t* handle)
      : api_(api), handle_(handle), queue_(api.queue_new(handle), QueueDeleter{&api}) {}

  ~Partitions() override {
    for (const auto& [topic, partition] : started_) api_.consume_stop(topic, partition);
  }
  Partitions(const Partitions&) = delete;
  Partitions& operator=(const Partitions&) = delete;

  Result<void> start(const TopicPartition& each, int64_t offset) {
    auto topic = topics_.find(each.topic);
    if (topic == topics_.end()) {
      Topic made(api_.topic_new(handle_, each.topic.c_str(), nullptr), TopicDeleter{&api_});
      if (!made) return failure(each);
      topic = topics_.emplace(each.topic, std::move(made)).first;
    }
    if (api_.consume_start_queue(topic->second.get(), each.partition, offset, queue_.get()) != 0)
      return failure(each);
    started_.emplace_back(topic->second.get(), each.partition);
    return {};
  }

  Message next(int wait_ms) override {
    // Errors of the connection come by the handle.
    api_.poll(handle_, 0);
    return {api_.consume_queue(queue_.get(), wait_ms), MessageDeleter{&api_}};
  }
  void store(const RecordView&) override {}
  bool others_have(const std::set<TopicPartition>&) const override { return false; }

 private:
  std::unexpected<Error> failure(const TopicPartition& each) const {
    return fail(ErrorKind::invalid, each.to_string() + ": " + words_of(api_, api_.last_error()));
  }

  const Librdkafka& api_;
  rd_kafka_t* const handle_;
  const Queue queue_;
  std::map<std::string, Topic> topics_;
  std::vector<std::pair<rd_kafka_topic_t*, int32_t>> started_;
};

class Member final : public RecordSource {
 public:
  Member(const Librdkafka& api, rd_kafka_t* handle) : api_(api), handle_(handle) {
    api.poll_set_consumer(handle);
  }
  ~Member() override { api_.consumer_close(handle_); }
  Member(const Member&) = delete;
  Member& operator=(const Member&) = delete;

  Result<void> subscribe(const std::vector<std::string>& topics) {
    const List list(api_.list_new(static_cast<int>(topics.size())), ListDeleter{&api_});
    for (const std::string& topic : topics) api_.list_add(list.get(), topic.c_str(), RD_KAFKA_PARTITION_UA);
    const auto error = api_.subscribe(handle_, list.get());
    if (error != RD_KAFKA_RESP_ERR_NO_ERROR) return fail(ErrorKind::invalid, words_of(api_, error));
    return {};
  }

  Message next(int wait_ms) override { return {api_.consumer_poll(handle_, wait_ms), MessageDeleter{&api_}}; }

  void store(const RecordView& record) override {
    const List list(api_.list_new(1), ListDeleter{&api_});
    const std::string topic(record.topic);
    api_.list_add(list.get(), topic.c_str(), record.partition)->offset = record.offset + 1;
    // It fails only for a partition that was just taken away; its next owner reads the record again.
    api_.offsets_store(handle_, list.get());
  }

  bool others_have(const std::set<TopicPartition>& partitions) const override {
    rd_kafka_topic_partition_list_t* assigned = nullptr;
    if (api_.assignment(handle_, &assigned) != RD_KAFKA_RESP_ERR_NO_ERROR) return false;
    const List list(assigned, ListDeleter{&api_});
    for (int i = 0; i < list->cnt; ++i)
      if (partitions.contains({list->elems[i].topic, list->elems[i].partition})) return false;
    return list->cnt > 0;
  }

 private:
  const Librdkafka& api_;
  rd_kafka_t* const handle_;
};

std::string_view bytes_of(const void* data, std::size_t size) {
  return {static_cast<const char*>(data), size};
}

}  // namespace

Result<std::unique_ptr<RecordSource>> read_partitions(const Librdkafka& api, rd_kafka_t* handle,
                                                      const std::map<TopicPartition, int64_t>& begins) {
  auto source = std::make_unique<Partitions>(api, handle);
  for (const auto& [partition, offset] : begins) BARNABAS_TRY(source->start(partition, offset));
  return source;
}

Result<std::unique_ptr<RecordSource>> read_as_member(const Librdkafka& api, rd_kafka_t* handle,
                                                     const std::vector<std::string>& topics) {
  auto source = std::make_unique<Member>(api, handle);
  BARNABAS_TRY(source->subscribe(topics));
  return source;
}

RecordView view_of(const Librdkafka& api, const rd_kafka_message_t& message) {
  RecordView record;
  record.topic = api.topic_name(message.rkt);
  record.partition = message.partition;
  record.offset = message.offset;
  rd_kafka_timestamp_type_t type = RD_KAFKA_TIMESTAMP_NOT_AVAILABLE;
  record.timestamp_ms = api.message_timestamp(&message, &type);
  if (message.key != nullptr) record.key = bytes_of(message.key, message.key_len);
  if (message.payload != nullptr) record.value = bytes_of(message.payload, message.len);
  rd_kafka_headers_t* headers = nullptr;
  if (api.message_headers(&message, &headers) != RD_KAFKA_RESP_ERR_NO_ERROR) return record;
  const char* name = nullptr;
  const void* value = nullptr;
  std::size_t size = 0;
  for (std::size_t i = 0; api.header_get_all(headers, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR;
       ++i)
    record.headers.emplace_back(name, value == nullptr ? std::nullopt : std::optional(bytes_of(value, size)));
  return record;
}

}  // namespace barnabas::client
