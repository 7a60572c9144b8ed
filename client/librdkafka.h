#pragma once

#include <librdkafka/rdkafka.h>

#include <map>
#include <memory>
#include <string>

#include "base/result.h"
#include "client/connection_settings.h"

namespace barnabas::client {

/// What is called of librdkafka. Loaded when records are produced or consumed: a broker and all other
/// commands do without it, and without the libraries that it brings.
struct Librdkafka {
  decltype(::rd_kafka_conf_new)* conf_new = nullptr;
  decltype(::rd_kafka_conf_destroy)* conf_destroy = nullptr;
  decltype(::rd_kafka_conf_set)* conf_set = nullptr;
  decltype(::rd_kafka_conf_set_opaque)* conf_set_opaque = nullptr;
  decltype(::rd_kafka_conf_set_dr_msg_cb)* conf_set_dr_msg_cb = nullptr;
  decltype(::rd_kafka_conf_set_error_cb)* conf_set_error_cb = nullptr;
  decltype(::rd_kafka_conf_set_log_cb)* conf_set_log_cb = nullptr;
  decltype(::rd_kafka_new)* create = nullptr;
  decltype(::rd_kafka_destroy)* destroy = nullptr;
  decltype(::rd_kafka_produceva)* produceva = nullptr;
  decltype(::rd_kafka_poll)* poll = nullptr;
  decltype(::rd_kafka_flush)* flush = nullptr;
  decltype(::rd_kafka_purge)* purge = nullptr;
  decltype(::rd_kafka_outq_len)* outq_len = nullptr;
  decltype(::rd_kafka_error_code)* error_code = nullptr;
  decltype(::rd_kafka_error_string)* error_string = nullptr;
  decltype(::rd_kafka_error_destroy)* error_destroy = nullptr;
  decltype(::rd_kafka_headers_new)* headers_new = nullptr;
  decltype(::rd_kafka_headers_destroy)* headers_destroy = nullptr;
  decltype(::rd_kafka_header_add)* header_add = nullptr;
  decltype(::rd_kafka_header_get_all)* header_get_all = nullptr;
  decltype(::rd_kafka_message_headers)* message_headers = nullptr;
  decltype(::rd_kafka_message_timestamp)* message_timestamp = nullptr;
  decltype(::rd_kafka_message_destroy)* message_destroy = nullptr;
  decltype(::rd_kafka_poll_set_consumer)* poll_set_consumer = nullptr;
  decltype(::rd_kafka_consumer_poll)* consumer_poll = nullptr;
  decltype(::rd_kafka_consumer_close)* consumer_close = nullptr;
  decltype(::rd_kafka_subscribe)* subscribe = nullptr;
  decltype(::rd_kafka_assignment)* assignment = nullptr;
  decltype(::rd_kafka_offsets_store)* offsets_store = nullptr;
  decltype(::rd_kafka_topic_new)* topic_new = nullptr;
  decltype(::rd_kafka_topic_destroy)* topic_destroy = nullptr;
  decltype(::rd_kafka_topic_name)* topic_name = nullptr;
  decltype(::rd_kafka_queue_new)* queue_new = nullptr;
  decltype(::rd_kafka_queue_destroy)* queue_destroy = nullptr;
  decltype(::rd_kafka_consume_start_queue)* consume_start_queue = nullptr;
  decltype(::rd_kafka_consume_queue)* consume_queue = nullptr;
  decltype(::rd_kafka_consume_stop)* consume_stop = nullptr;
  decltype(::rd_kafka_last_error)* last_error = nullptr;
  decltype(::rd_kafka_topic_partition_list_new)* list_new = nullptr;
  decltype(::rd_kafka_topic_partition_list_add)* list_add = nullptr;
  decltype(::rd_kafka_topic_partition_list_destroy)* list_destroy = nullptr;
  decltype(::rd_kafka_err2str)* err2str = nullptr;
  decltype(::rd_kafka_version)* version = nullptr;

  /// ErrorKind::not_found names the package; unsupported: an older library than any that is known to work.
  static Result<const Librdkafka*> load();
};

/// What an error means, with the remedy where one is known.
std::string words_of(const Librdkafka& api, rd_kafka_resp_err_t error);

/// A producer or consumer.
struct HandleDeleter {
  const Librdkafka* api;
  void operator()(rd_kafka_t* handle) const { api->destroy(handle); }
};
using Handle = std::unique_ptr<rd_kafka_t, HandleDeleter>;

/// Who hears of what a handle does, from the thread that polls it.
class HandleEvents {
 public:
  virtual ~HandleEvents() = default;
  /// An error that librdkafka tries to get over by itself, unless `fatal`.
  virtual void on_error(const std::string& words, bool fatal) = 0;
  virtual void on_delivery(const rd_kafka_message_t& message);
};

/// A handle of these settings: what they say about the connection, then what is meant for librdkafka alone,
/// then `more`, which wins. `events` must outlive the handle. ErrorKind::invalid names the property.
Result<Handle> make_handle(const Librdkafka& api, rd_kafka_type_t type, const ConnectionSettings& settings,
                           const std::map<std::string, std::string>& more, HandleEvents& events);

}  // namespace barnabas::client
