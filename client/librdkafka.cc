#include "client/librdkafka.h"

#include <algorithm>

#include "base/dynamic_library.h"
#include "client/cluster.h"
#include "client/tls_client.h"

namespace barnabas::client {
namespace {

Result<Librdkafka> load_library() {
  BARNABAS_ASSIGN(const auto library, DynamicLibrary::open("librdkafka.so.1", "librdkafka1"));
  Librdkafka api;
  const bool found =
      library.find("rd_kafka_conf_new", api.conf_new) &&
      library.find("rd_kafka_conf_destroy", api.conf_destroy) &&
      library.find("rd_kafka_conf_set", api.conf_set) &&
      library.find("rd_kafka_conf_set_opaque", api.conf_set_opaque) &&
      library.find("rd_kafka_conf_set_dr_msg_cb", api.conf_set_dr_msg_cb) &&
      library.find("rd_kafka_conf_set_error_cb", api.conf_set_error_cb) &&
      library.find("rd_kafka_conf_set_log_cb", api.conf_set_log_cb) &&
      library.find("rd_kafka_new", api.create) && library.find("rd_kafka_destroy", api.destroy) &&
      library.find("rd_kafka_produceva", api.produceva) && library.find("rd_kafka_poll", api.poll) &&
      library.find("rd_kafka_flush", api.flush) && library.find("rd_kafka_purge", api.purge) &&
      library.find("rd_kafka_outq_len", api.outq_len) &&
      library.find("rd_kafka_error_code", api.error_code) &&
      library.find("rd_kafka_error_string", api.error_string) &&
      library.find("rd_kafka_error_destroy", api.error_destroy) &&
      library.find("rd_kafka_headers_new", api.headers_new) &&
      library.find("rd_kafka_headers_destroy", api.headers_destroy) &&
      library.find("rd_kafka_header_add", api.header_add) &&
      library.find("rd_kafka_header_get_all", api.header_get_all) &&
      library.find("rd_kafka_message_headers", api.message_headers) &&
      library.find("rd_kafka_message_timestamp", api.message_timestamp) &&
      library.find("rd_kafka_message_destroy", api.message_destroy) &&
      library.find("rd_kafka_poll_set_consumer", api.poll_set_consumer) &&
      library.find("rd_kafka_consumer_poll", api.consumer_poll) &&
      library.find("rd_kafka_consumer_close", api.consumer_close) &&
      library.find("rd_kafka_subscribe", api.subscribe) &&
      library.find("rd_kafka_assignment", api.assignment) &&
      library.find("rd_kafka_offsets_store", api.offsets_store) &&
      library.find("rd_kafka_topic_new", api.topic_new) &&
      library.find("rd_kafka_topic_destroy", api.topic_destroy) &&
      library.find("rd_kafka_topic_name", api.topic_name) &&
      library.find("rd_kafka_queue_new", api.queue_new) &&
      library.find("rd_kafka_queue_destroy", api.queue_destroy) &&
      library.find("rd_kafka_consume_start_queue", api.consume_start_queue) &&
      library.find("rd_kafka_consume_queue", api.consume_queue) &&
      library.find("rd_kafka_consume_stop", api.consume_stop) &&
      library.find("rd_kafka_last_error", api.last_error) &&
      library.find("rd_kafka_topic_partition_list_new", api.list_new) &&
      library.find("rd_kafka_topic_partition_list_add", api.list_add) &&
      library.find("rd_kafka_topic_partition_list_destroy", api.list_destroy) &&
      library.find("rd_kafka_err2str", api.err2str) && library.find("rd_kafka_version", api.version);
  if (!found)
    return fail(ErrorKind::unsupported,
                "librdkafka.so.1 is too old; expected 1.6 or newer (package librdkafka1)");
  return api;
}

void on_error(rd_kafka_t*, int error, const char* reason, void* opaque) {
  const bool fatal = error == RD_KAFKA_RESP_ERR__AUTHENTICATION || error == RD_KAFKA_RESP_ERR__SSL ||
                     error == RD_KAFKA_RESP_ERR__FATAL ||
                     error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
                     error == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED;
  std::string words = reason;
  if (error == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED ||
      error == RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED)
    words = error_text(static_cast<int16_t>(error)) + " (" + reason + ")";
  // It sends its nonce twice, which Kafka 4 refuses as it refuses a wrong password (librdkafka#4895).
  constexpr int first_with_right_scram = 0x020601ff;
  const auto api = Librdkafka::load();
  if (error == RD_KAFKA_RESP_ERR__AUTHENTICATION && words.find("SCRAM") != std::string::npos && api &&
      (*api)->version() < first_with_right_scram)
    words +=
        "; librdkafka before 2.6.1 cannot log in by SCRAM at Kafka 4: install a newer one, or log in by "
        "PLAIN or "
        "with a client's certificate";
  static_cast<HandleEvents*>(opaque)->on_error(words, fatal);
}

void on_delivery(rd_kafka_t*, const rd_kafka_message_t* message, void* opaque) {
  static_cast<HandleEvents*>(opaque)->on_delivery(*message);
}

/// Errors come by the callback above; the rest would be noise beside the records.
void on_log(const rd_kafka_t*, int, const char*, const char*) {}

std::string joined(const std::vector<std::string>& servers) {
  std::string text;
  for (const std::string& each : servers) text += (text.empty() ? "" : ",") + each;
  return text;
}

Result<std::map<std::string, std::string>> connection_properties(const ConnectionSettings& settings) {
  std::map<std::string, std::string> properties;
  properties["bootstrap.servers"] = joined(settings.bootstrap_servers);
  properties["client.id"] = settings.client_id;
  std::string protocol(security::to_string(settings.protocol));
  std::ranges::transform(protocol, protocol.begin(), [](unsigned char c) { return std::tolower(c); });
  properties["security.protocol"] = protocol;
  if (security::authenticates_by_sasl(settings.protocol)) {
    properties["sasl.mechanisms"] = settings.mechanism;
    properties["sasl.username"] = settings.user;
    properties["sasl.password"] = settings.password;
  }
  if (!security::encrypts(settings.protocol)) return properties;
  BARNABAS_ASSIGN(const PemStores stores, pem_stores(settings));
  if (!stores.trusted.empty()) properties["ssl.ca.pem"] = stores.trusted;
  if (!stores.key.empty()) {
    properties["ssl.key.pem"] = stores.key;
    properties["ssl.certificate.pem"] = stores.chain;
  }
  properties["ssl.endpoint.identification.algorithm"] =
      settings.verify_host && settings.verify_certificate ? "https" : "none";
  properties["enable.ssl.certificate.verification"] = settings.verify_certificate ? "true" : "false";
  return properties;
}

}  // namespace

void HandleEvents::on_delivery(const rd_kafka_message_t&) {}

Result<const Librdkafka*> Librdkafka::load() {
  static const Result<Librdkafka> loaded = load_library();
  if (!loaded) return std::unexpected<Error>(loaded.error());
  return &*loaded;
}

std::string words_of(const Librdkafka& api, rd_kafka_resp_err_t error) {
  return error > 0 ? error_text(static_cast<int16_t>(error)) : api.err2str(error);
}

Result<Handle> make_handle(const Librdkafka& api, rd_kafka_type_t type, const ConnectionSettings& settings,
                           const std::map<std::string, std::string>& more, HandleEvents& events) {
  BARNABAS_ASSIGN(auto properties, connection_properties(settings));
  for (const auto& [name, value] : settings.librdkafka) properties[name] = value;
  for (const auto& [name, value] : more) properties[name] = value;
  rd_kafka_conf_t* conf = api.conf_new();
  char words[512];
  for (const auto& [name, value] : properties) {
    if (api.conf_set(conf, name.c_str(), value.c_str(), words, sizeof words) == RD_KAFKA_CONF_OK) continue;
    api.conf_destroy(conf);
    return fail(ErrorKind::invalid, name + ": librdkafka refuses it (" + words + ")");
  }
  api.conf_set_opaque(conf, &events);
  api.conf_set_error_cb(conf, on_error);
  api.conf_set_log_cb(conf, on_log);
  if (type == RD_KAFKA_PRODUCER) api.conf_set_dr_msg_cb(conf, on_delivery);
  rd_kafka_t* handle = api.create(type, conf, words, sizeof words);
  if (handle == nullptr) {
    api.conf_destroy(conf);
    return fail(ErrorKind::invalid, std::string("librdkafka refuses to start: ") + words);
  }
  return Handle(handle, HandleDeleter{&api});
}

}  // namespace barnabas::client
