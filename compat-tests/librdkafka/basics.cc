// Records and administration with librdkafka's C interface; what it is told and what it says is in
// basics/scenario.py.
#include <librdkafka/rdkafka.h>
#include <openssl/evp.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace {

using Json = nlohmann::json;
using Handle = std::unique_ptr<rd_kafka_t, decltype(&rd_kafka_destroy)>;
using Event = std::unique_ptr<rd_kafka_event_t, decltype(&rd_kafka_event_destroy)>;
using Partitions =
    std::unique_ptr<rd_kafka_topic_partition_list_t, decltype(&rd_kafka_topic_partition_list_destroy)>;
using Settings = std::vector<std::pair<std::string, std::string>>;

constexpr int timeout_ms = 30000;
constexpr int poll_ms = 100;

Json encoded(const void* data, std::size_t size) {
  if (data == nullptr) return nullptr;
  std::string text(4 * ((size + 2) / 3) + 1, '\0');
  const auto length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()),
                                      static_cast<const unsigned char*>(data), static_cast<int>(size));
  text.resize(static_cast<std::size_t>(length));
  return text;
}

std::optional<std::string> decoded(const Json& told) {
  if (told.is_null()) return std::nullopt;
  const auto& text = told.get_ref<const std::string&>();
  std::string content(text.size() / 4 * 3 + 1, '\0');
  const auto length =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(content.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  // It counts the padding too.
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with("=") ? 1 : 0;
  content.resize(static_cast<std::size_t>(length) - padding);
  return content;
}

[[noreturn]] void fail(const std::string& why) {
  throw std::runtime_error{why};
}

void check(rd_kafka_resp_err_t error) {
  if (error != RD_KAFKA_RESP_ERR_NO_ERROR) fail(rd_kafka_err2str(error));
}

void note_delivery(rd_kafka_t* /*handle*/, const rd_kafka_message_t* message, void* opaque) {
  auto& failure = *static_cast<rd_kafka_resp_err_t*>(opaque);
  if (message->err != RD_KAFKA_RESP_ERR_NO_ERROR) failure = message->err;
}

// `failure`: where the first failed delivery is noted.
Handle make(rd_kafka_type_t type, const Settings& settings, rd_kafka_resp_err_t* failure = nullptr) {
  std::string error(512, '\0');
  auto* conf = rd_kafka_conf_new();
  for (const auto& [name, value] : settings) {
    if (rd_kafka_conf_set(conf, name.c_str(), value.c_str(), error.data(), error.size()) !=
        RD_KAFKA_CONF_OK) {
      fail(error);
    }
  }
  if (failure != nullptr) {
    rd_kafka_conf_set_dr_msg_cb(conf, note_delivery);
    rd_kafka_conf_set_opaque(conf, failure);
  }
  Handle handle{rd_kafka_new(type, conf, error.data(), error.size()), rd_kafka_destroy};
  if (!handle) fail(error);
  return handle;
}

class Basics {
 public:
  explicit Basics(std::string bootstrap)
      : settings_{{"bootstrap.servers", std::move(bootstrap)}, {"log_level", "2"}},
        admin_{make(RD_KAFKA_PRODUCER, settings_)} {}

  Json answer(const Json& request) {
    const auto& what = request.at("do").get_ref<const std::string&>();
    if (what == "produce") return produce(request);
    if (what == "consume") return consume(request);
    if (what == "create") return create(request);
    if (what == "topics" || what == "describe" || what == "brokers") return metadata(what, request);
    if (what == "add_partitions") return add_partitions(request);
    if (what == "alter_config") return alter_config(request);
    if (what == "config") return config(request);
    if (what == "delete_records") return delete_records(request);
    if (what == "delete") return delete_topic(request);
    if (what == "groups") return groups();
    if (what == "group_offsets") return group_offsets(request);
    if (what == "delete_group") return delete_group(request);
    fail("it has no " + what);
  }

 private:
  Json produce(const Json& request) {
    auto settings = settings_;
    settings.insert(
        settings.end(),
        {{"acks", "all"}, {"linger.ms", "50"}, {"compression.type", request.at("codec").get<std::string>()}});
    auto failure = RD_KAFKA_RESP_ERR_NO_ERROR;
    const auto producer = make(RD_KAFKA_PRODUCER, settings, &failure);
    for (const auto& record : request.at("records")) send(producer.get(), request, record);
    check(rd_kafka_flush(producer.get(), timeout_ms));
    check(failure);
    return nullptr;
  }

  static void send(rd_kafka_t* producer, const Json& request, const Json& record) {
    auto key = decoded(record.at("key"));
    auto value = decoded(record.at("value"));
    auto* headers = rd_kafka_headers_new(8);
    for (const auto& header : record.at("headers")) {
      const auto name = header.at("name").get<std::string>();
      const auto content = decoded(header.at("value"));
      rd_kafka_header_add(headers, name.c_str(), -1, content ? content->data() : nullptr,
                          content ? static_cast<ssize_t>(content->size()) : 0);
    }
    std::array<rd_kafka_vu_t, 7> fields{};
    fields[0].vtype = RD_KAFKA_VTYPE_TOPIC;
    fields[0].u.cstr = request.at("topic").get_ref<const std::string&>().c_str();
    fields[1].vtype = RD_KAFKA_VTYPE_PARTITION;
    fields[1].u.i32 = request.at("partition").get<std::int32_t>();
    fields[2].vtype = RD_KAFKA_VTYPE_MSGFLAGS;
    fields[2].u.i = RD_KAFKA_MSG_F_COPY;
    fields[3].vtype = RD_KAFKA_VTYPE_KEY;
    fields[3].u.mem = memory(key);
    fields[4].vtype = RD_KAFKA_VTYPE_VALUE;
    fields[4].u.mem = memory(value);
    fields[5].vtype = RD_KAFKA_VTYPE_TIMESTAMP;
    fields[5].u.i64 = record.at("timestamp").get<std::int64_t>();
    fields[6].vtype = RD_KAFKA_VTYPE_HEADERS;
    fields[6].u.headers = headers;
    const std::unique_ptr<rd_kafka_error_t, decltype(&rd_kafka_error_destroy)> error{
        rd_kafka_produceva(producer, fields.data(), fields.size()), rd_kafka_error_destroy};
    if (error) {
      rd_kafka_headers_destroy(headers);
      fail(rd_kafka_error_string(error.get()));
    }
  }

  static decltype(rd_kafka_vu_t::u.mem) memory(std::optional<std::string>& content) {
    if (!content) return {nullptr, 0};
    return {content->data(), content->size()};
  }

  Json consume(const Json& request) {
    auto settings = settings_;
    settings.insert(settings.end(), {{"group.id", "unused"}, {"enable.auto.commit", "false"}});
    const auto consumer = make(RD_KAFKA_CONSUMER, settings);
    const auto start = partition_of(request);
    start->elems[0].offset = request.value("offset", std::int64_t{0});
    if (request.contains("timestamp")) {
      start->elems[0].offset = request.at("timestamp").get<std::int64_t>();
      check(rd_kafka_offsets_for_times(consumer.get(), start.get(), timeout_ms));
    }
    check(rd_kafka_assign(consumer.get(), start.get()));
    auto out = Json::array();
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds{timeout_ms};
    while (out.size() < request.at("count").get<std::size_t>() &&
           std::chrono::steady_clock::now() < deadline) {
      const std::unique_ptr<rd_kafka_message_t, decltype(&rd_kafka_message_destroy)> message{
          rd_kafka_consumer_poll(consumer.get(), poll_ms), rd_kafka_message_destroy};
      if (!message) continue;
      check(message->err);
      out.push_back(told(*message));
    }
    check(rd_kafka_consumer_close(consumer.get()));
    return out;
  }

  static Json told(const rd_kafka_message_t& message) {
    auto headers = Json::array();
    rd_kafka_headers_t* found = nullptr;
    if (rd_kafka_message_headers(&message, &found) == RD_KAFKA_RESP_ERR_NO_ERROR) {
      const char* name = nullptr;
      const void* value = nullptr;
      std::size_t size = 0;
      for (std::size_t i = 0;
           rd_kafka_header_get_all(found, i, &name, &value, &size) == RD_KAFKA_RESP_ERR_NO_ERROR; ++i) {
        headers.push_back({{"name", name}, {"value", encoded(value, size)}});
      }
    }
    return {{"offset", message.offset},
            {"timestamp", rd_kafka_message_timestamp(&message, nullptr)},
            {"key", encoded(message.key, message.key_len)},
            {"value", encoded(message.payload, message.len)},
            {"headers", headers}};
  }

  static Partitions partition_of(const Json& request) {
    Partitions list{rd_kafka_topic_partition_list_new(1), rd_kafka_topic_partition_list_destroy};
    rd_kafka_topic_partition_list_add(list.get(), request.at("topic").get_ref<const std::string&>().c_str(),
                                      request.at("partition").get<std::int32_t>());
    return list;
  }

  // The answer's event to what `ask` sends.
  Event ask(const std::function<void(rd_kafka_queue_t*)>& send) {
    const std::unique_ptr<rd_kafka_queue_t, decltype(&rd_kafka_queue_destroy)> queue{
        rd_kafka_queue_new(admin_.get()), rd_kafka_queue_destroy};
    send(queue.get());
    Event event{rd_kafka_queue_poll(queue.get(), timeout_ms), rd_kafka_event_destroy};
    if (!event) fail("no answer in time");
    if (rd_kafka_event_error(event.get()) != RD_KAFKA_RESP_ERR_NO_ERROR)
      fail(rd_kafka_event_error_string(event.get()));
    return event;
  }

  static Json check_topics(const rd_kafka_topic_result_t** results) {
    check(rd_kafka_topic_result_error(results[0]));
    return nullptr;
  }

  Json create(const Json& request) {
    auto* topic = rd_kafka_NewTopic_new(request.at("topic").get_ref<const std::string&>().c_str(),
                                        request.at("count").get<int>(), 1, nullptr, 0);
    for (const auto& [name, value] : request.at("config").items()) {
      rd_kafka_NewTopic_set_config(topic, name.c_str(), value.get_ref<const std::string&>().c_str());
    }
    const auto event =
        ask([&](auto* queue) { rd_kafka_CreateTopics(admin_.get(), &topic, 1, nullptr, queue); });
    rd_kafka_NewTopic_destroy(topic);
    std::size_t count = 0;
    return check_topics(
        rd_kafka_CreateTopics_result_topics(rd_kafka_event_CreateTopics_result(event.get()), &count));
  }

  Json add_partitions(const Json& request) {
    std::string error(512, '\0');
    auto* more =
        rd_kafka_NewPartitions_new(request.at("topic").get_ref<const std::string&>().c_str(),
                                   request.at("count").get<std::size_t>(), error.data(), error.size());
    const auto event =
        ask([&](auto* queue) { rd_kafka_CreatePartitions(admin_.get(), &more, 1, nullptr, queue); });
    rd_kafka_NewPartitions_destroy(more);
    std::size_t count = 0;
    return check_topics(
        rd_kafka_CreatePartitions_result_topics(rd_kafka_event_CreatePartitions_result(event.get()), &count));
  }

  Json delete_topic(const Json& request) {
    auto* topic = rd_kafka_DeleteTopic_new(request.at("topic").get_ref<const std::string&>().c_str());
    const auto event =
        ask([&](auto* queue) { rd_kafka_DeleteTopics(admin_.get(), &topic, 1, nullptr, queue); });
    rd_kafka_DeleteTopic_destroy(topic);
    std::size_t count = 0;
    return check_topics(
        rd_kafka_DeleteTopics_result_topics(rd_kafka_event_DeleteTopics_result(event.get()), &count));
  }

  Json metadata(const std::string& what, const Json& request) {
    const std::unique_ptr<rd_kafka_topic_t, decltype(&rd_kafka_topic_destroy)> topic{
        what == "describe"
            ? rd_kafka_topic_new(admin_.get(), request.at("topic").get_ref<const std::string&>().c_str(),
                                 nullptr)
            : nullptr,
        rd_kafka_topic_destroy};
    const struct rd_kafka_metadata* found = nullptr;
    check(rd_kafka_metadata(admin_.get(), what == "topics" ? 1 : 0, topic.get(), &found, timeout_ms));
    auto out = Json::array();
    if (what == "describe") out = found->topics[0].partition_cnt;
    for (int i = 0; what == "topics" && i < found->topic_cnt; ++i) out.push_back(found->topics[i].topic);
    for (int i = 0; what == "brokers" && i < found->broker_cnt; ++i) {
      out.push_back(std::string{found->brokers[i].host} + ":" + std::to_string(found->brokers[i].port));
    }
    rd_kafka_metadata_destroy(found);
    return out;
  }

  Json alter_config(const Json& request) {
    auto* resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC,
                                                 request.at("topic").get_ref<const std::string&>().c_str());
    for (const auto& [name, value] : request.at("config").items()) {
      rd_kafka_ConfigResource_set_config(resource, name.c_str(), value.get_ref<const std::string&>().c_str());
    }
    const auto event =
        ask([&](auto* queue) { rd_kafka_AlterConfigs(admin_.get(), &resource, 1, nullptr, queue); });
    rd_kafka_ConfigResource_destroy(resource);
    std::size_t count = 0;
    const auto* const* resources =
        rd_kafka_AlterConfigs_result_resources(rd_kafka_event_AlterConfigs_result(event.get()), &count);
    check(rd_kafka_ConfigResource_error(resources[0]));
    return nullptr;
  }

  Json config(const Json& request) {
    auto* resource = rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC,
                                                 request.at("topic").get_ref<const std::string&>().c_str());
    const auto event =
        ask([&](auto* queue) { rd_kafka_DescribeConfigs(admin_.get(), &resource, 1, nullptr, queue); });
    rd_kafka_ConfigResource_destroy(resource);
    std::size_t count = 0;
    const auto* const* resources =
        rd_kafka_DescribeConfigs_result_resources(rd_kafka_event_DescribeConfigs_result(event.get()), &count);
    check(rd_kafka_ConfigResource_error(resources[0]));
    const auto* const* entries = rd_kafka_ConfigResource_configs(resources[0], &count);
    Json out;
    for (std::size_t i = 0; i < count; ++i) {
      const auto* value = rd_kafka_ConfigEntry_value(entries[i]);
      out[rd_kafka_ConfigEntry_name(entries[i])] = value == nullptr ? Json() : Json(value);
    }
    return out;
  }

  Json delete_records(const Json& request) {
    const auto before = partition_of(request);
    before->elems[0].offset = request.at("offset").get<std::int64_t>();
    auto* records = rd_kafka_DeleteRecords_new(before.get());
    const auto event =
        ask([&](auto* queue) { rd_kafka_DeleteRecords(admin_.get(), &records, 1, nullptr, queue); });
    rd_kafka_DeleteRecords_destroy(records);
    check(rd_kafka_DeleteRecords_result_offsets(rd_kafka_event_DeleteRecords_result(event.get()))
              ->elems[0]
              .err);
    return nullptr;
  }

  Json groups() {
    const struct rd_kafka_group_list* found = nullptr;
    check(rd_kafka_list_groups(admin_.get(), nullptr, &found, timeout_ms));
    auto out = Json::array();
    for (int i = 0; i < found->group_cnt; ++i) out.push_back(found->groups[i].group);
    rd_kafka_group_list_destroy(found);
    return out;
  }

  Json group_offsets(const Json& request) {
    auto settings = settings_;
    settings.emplace_back("group.id", request.at("group").get<std::string>());
    const auto consumer = make(RD_KAFKA_CONSUMER, settings);
    const auto asked = partition_of(request);
    check(rd_kafka_committed(consumer.get(), asked.get(), timeout_ms));
    return asked->elems[0].offset;
  }

  Json delete_group(const Json& request) {
    auto* group = rd_kafka_DeleteGroup_new(request.at("group").get_ref<const std::string&>().c_str());
    const auto event =
        ask([&](auto* queue) { rd_kafka_DeleteGroups(admin_.get(), &group, 1, nullptr, queue); });
    rd_kafka_DeleteGroup_destroy(group);
    std::size_t count = 0;
    const auto* const* results =
        rd_kafka_DeleteGroups_result_groups(rd_kafka_event_DeleteGroups_result(event.get()), &count);
    if (const auto* error = rd_kafka_group_result_error(results[0])) fail(rd_kafka_error_string(error));
    return nullptr;
  }

  Settings settings_;
  Handle admin_;
};

}  // namespace

int main(int count, char** values) {
  if (count != 2) return 2;
  Basics basics{values[1]};
  for (std::string line; std::getline(std::cin, line);) {
    Json answer;
    try {
      answer["ok"] = basics.answer(Json::parse(line));
    } catch (const std::exception& error) {
      answer["error"] = error.what();
    }
    std::cout << answer.dump() << std::endl;
  }
}
