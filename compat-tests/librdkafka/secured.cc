// Ways into a secured broker with librdkafka's C++ interface; security/ways.py tells what is asked and what
// is said.
#include <librdkafka/rdkafkacpp.h>

#include <array>
#include <chrono>
#include <fstream>
#include <iostream>
#include <list>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace {

using Json = nlohmann::json;
using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds timeout{60};
constexpr int poll_ms = 100;
constexpr std::chrono::minutes token_lifetime{10};

// The broker, or the client for what the broker showed, ended it before any request.
struct Refused : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Let in, but not to do this.
struct Denied : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// In TLS 1.3 a client learns that its certificate is refused by the end of its connection.
const std::set<RdKafka::ErrorCode> refusals{RdKafka::ERR__AUTHENTICATION, RdKafka::ERR__SSL,
                                            RdKafka::ERR_SASL_AUTHENTICATION_FAILED,
                                            RdKafka::ERR__ALL_BROKERS_DOWN};

// The way's fields that are settings by other names.
constexpr std::array<std::array<const char*, 2>, 7> settings_of_fields{
    {{"bootstrap", "bootstrap.servers"},
     {"ca", "ssl.ca.location"},
     {"certificate", "ssl.certificate.location"},
     {"key", "ssl.key.location"},
     {"mechanism", "sasl.mechanism"},
     {"username", "sasl.username"},
     {"password", "sasl.password"}}};

void check(RdKafka::ErrorCode error) {
  if (error == RdKafka::ERR_TOPIC_AUTHORIZATION_FAILED) throw Denied{RdKafka::err2str(error)};
  if (error != RdKafka::ERR_NO_ERROR) throw std::runtime_error{RdKafka::err2str(error)};
}

// One way; single-threaded. librdkafka tries for ever and tells of errors by events: the first that means a
// refusal ends it.
class Attempt : RdKafka::EventCb, RdKafka::DeliveryReportCb, RdKafka::OAuthBearerTokenRefreshCb {
 public:
  explicit Attempt(const Json& way) : way_(way), topic_(way.at("topic").get<std::string>()) {}

  void produce() {
    std::string error;
    const std::unique_ptr<RdKafka::Producer> producer{
        RdKafka::Producer::create(configuration().get(), error)};
    if (!producer) throw std::runtime_error{error};
    for (const auto& told : way_.at("values")) {
      auto value = told.get<std::string>();
      check(producer->produce(topic_, 0, RdKafka::Producer::RK_MSG_COPY, value.data(), value.size(), nullptr,
                              0, 0, nullptr));
    }
    for (const auto deadline = Clock::now() + timeout; producer->outq_len() > 0;) {
      if (Clock::now() > deadline) throw std::runtime_error{"not delivered in time"};
      producer->poll(poll_ms);
      check_refusal();
    }
    check(failed_delivery_);
  }

  std::vector<std::string> consume() {
    std::string error;
    const auto conf = configuration();
    conf->set("group.id", "secured-" + way_.at("name").get<std::string>(), error);
    const std::unique_ptr<RdKafka::KafkaConsumer> consumer{RdKafka::KafkaConsumer::create(conf.get(), error)};
    if (!consumer) throw std::runtime_error{error};
    const std::unique_ptr<RdKafka::TopicPartition> partition{
        RdKafka::TopicPartition::create(topic_, 0, RdKafka::Topic::OFFSET_BEGINNING)};
    check(consumer->assign({partition.get()}));
    std::vector<std::string> values;
    for (const auto deadline = Clock::now() + timeout; values.size() < way_.at("values").size();) {
      if (Clock::now() > deadline) throw std::runtime_error{"not read in time"};
      const std::unique_ptr<RdKafka::Message> message{consumer->consume(poll_ms)};
      check_refusal();
      if (message->err() == RdKafka::ERR__TIMED_OUT) continue;
      check(message->err());
      values.emplace_back(static_cast<const char*>(message->payload()), message->len());
    }
    consumer->close();
    return values;
  }

 private:
  void event_cb(RdKafka::Event& event) override {
    // The first one says more than that no broker is left.
    if (!refusal_.empty() || event.type() != RdKafka::Event::EVENT_ERROR) return;
    if (refusals.contains(event.err())) refusal_ = event.str();
  }

  void dr_cb(RdKafka::Message& message) override {
    if (message.err() != RdKafka::ERR_NO_ERROR) failed_delivery_ = message.err();
  }

  void oauthbearer_token_refresh_cb(RdKafka::Handle* handle, const std::string& /*config*/) override {
    const auto expires = std::chrono::system_clock::now().time_since_epoch() + token_lifetime;
    std::string error;
    if (handle->oauthbearer_set_token(way_.at("token").get<std::string>(),
                                      std::chrono::duration_cast<std::chrono::milliseconds>(expires).count(),
                                      "alice", {}, error) != RdKafka::ERR_NO_ERROR) {
      handle->oauthbearer_set_token_failure(error);
    }
  }

  std::unique_ptr<RdKafka::Conf> configuration() {
    std::unique_ptr<RdKafka::Conf> conf{RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL)};
    std::vector<std::pair<std::string, std::string>> settings{
        {"security.protocol", way_.at("protocol").get<std::string>()},
        {"linger.ms", "0"},
        {"log_level", "0"},
        {"reconnect.backoff.max.ms", "500"}};
    for (const auto& [field, name] : settings_of_fields) {
      if (way_.contains(field)) settings.emplace_back(name, way_.at(field).get<std::string>());
    }
    std::string error;
    for (const auto& [name, value] : settings) {
      if (conf->set(name, value, error) != RdKafka::Conf::CONF_OK) throw std::runtime_error{error};
    }
    const auto has_token = way_.contains("token");
    if (conf->set("event_cb", static_cast<RdKafka::EventCb*>(this), error) != RdKafka::Conf::CONF_OK ||
        conf->set("dr_cb", static_cast<RdKafka::DeliveryReportCb*>(this), error) != RdKafka::Conf::CONF_OK ||
        (has_token &&
         conf->set("oauthbearer_token_refresh_cb", static_cast<RdKafka::OAuthBearerTokenRefreshCb*>(this),
                   error) != RdKafka::Conf::CONF_OK)) {
      throw std::runtime_error{error};
    }
    return conf;
  }

  void check_refusal() const {
    if (!refusal_.empty()) throw Refused{refusal_};
  }

  const Json& way_;
  std::string topic_;
  std::string refusal_;
  RdKafka::ErrorCode failed_delivery_ = RdKafka::ERR_NO_ERROR;
};

Json outcome_of(const Json& way) {
  Json told{{"way", way.at("name")}};
  const auto ended = [&told](const char* outcome, const Json& detail) {
    told["outcome"] = outcome;
    told["detail"] = detail;
  };
  try {
    Attempt attempt{way};
    attempt.produce();
    ended("values", attempt.consume());
  } catch (const Refused& refused) {
    ended("refused", refused.what());
  } catch (const Denied& denied) {
    ended("denied", denied.what());
  } catch (const std::exception& error) {
    ended("error", error.what());
  }
  return told;
}

}  // namespace

int main(int count, char** values) {
  if (count != 2) return 2;
  std::ifstream file{values[1]};
  const auto ways = Json::parse(file);
  std::mutex mutex;
  std::list<std::jthread> threads;
  for (const auto& way : ways) {
    threads.emplace_back([&way, &mutex] {
      const auto told = outcome_of(way);
      const std::scoped_lock lock{mutex};
      std::cout << told.dump() << std::endl;
    });
  }
}
