#include "transactional_client.h"

#include <unistd.h>

#include <algorithm>
#include <cstdio>

namespace transactional {

namespace {

std::unique_ptr<RdKafka::Conf> configuration(const std::string& bootstrap, const Settings& more) {
  std::unique_ptr<RdKafka::Conf> conf{RdKafka::Conf::create(RdKafka::Conf::CONF_GLOBAL)};
  Settings settings{
      {"bootstrap.servers", bootstrap}, {"reconnect.backoff.max.ms", "200"}, {"log_level", "2"}};
  settings.insert(settings.end(), more.begin(), more.end());
  std::string error;
  for (const auto& [name, value] : settings) {
    if (conf->set(name, value, error) != RdKafka::Conf::CONF_OK) throw Failure{"settings", error};
  }
  return conf;
}

}  // namespace

void check(RdKafka::Error* error) {
  const std::unique_ptr<RdKafka::Error> owned{error};
  if (owned) throw Failure{owned->name(), owned->str(), owned->is_fatal()};
}

void check(RdKafka::ErrorCode code) {
  if (code != RdKafka::ERR_NO_ERROR) throw Failure{std::to_string(code), RdKafka::err2str(code)};
}

void say(std::string line) {
  std::replace(line.begin(), line.end(), '\n', ' ');
  line += '\n';
  if (::write(STDOUT_FILENO, line.data(), line.size()) < 0) std::perror("write");
}

TopicOffsets::TopicOffsets(const std::string& topic, const Offsets& offsets) {
  for (const auto& [partition, offset] : offsets) {
    all.push_back(RdKafka::TopicPartition::create(topic, partition, offset));
  }
}

TopicOffsets::~TopicOffsets() {
  RdKafka::TopicPartition::destroy(all);
}

std::unique_ptr<RdKafka::KafkaConsumer> new_consumer(const std::string& bootstrap,
                                                     const std::string& isolation, const Settings& more,
                                                     RdKafka::RebalanceCb* rebalances) {
  Settings settings{{"isolation.level", isolation},
                    {"auto.offset.reset", "earliest"},
                    {"enable.auto.commit", "false"},
                    {"fetch.wait.max.ms", "100"}};
  settings.insert(settings.end(), more.begin(), more.end());
  const auto conf = configuration(bootstrap, settings);
  std::string error;
  if (rebalances != nullptr) conf->set("rebalance_cb", rebalances, error);
  std::unique_ptr<RdKafka::KafkaConsumer> made{RdKafka::KafkaConsumer::create(conf.get(), error)};
  if (!made) throw Failure{"consumer", error};
  return made;
}

Producer::Producer(const std::string& bootstrap, const std::string& id,
                   const std::string& transaction_timeout_ms) {
  const auto conf = configuration(
      bootstrap,
      {{"transactional.id", id}, {"transaction.timeout.ms", transaction_timeout_ms}, {"linger.ms", "0"}});
  std::string error;
  conf->set("dr_cb", static_cast<RdKafka::DeliveryReportCb*>(this), error);
  producer_.reset(RdKafka::Producer::create(conf.get(), error));
  if (!producer_) throw Failure{"producer", error};
  check(producer_->init_transactions(timeout_ms));
}

void Producer::send(const std::string& topic, const std::vector<Record>& records) {
  failed_ = RdKafka::ERR_NO_ERROR;
  for (const auto& record : records) {
    check(producer_->produce(topic, record.partition, RdKafka::Producer::RK_MSG_COPY,
                             const_cast<char*>(record.value.data()), record.value.size(), nullptr, 0, 0,
                             nullptr));
  }
  check(producer_->flush(timeout_ms));
  if (failed_ == RdKafka::ERR_NO_ERROR) return;
  std::string why;
  const bool fatal = producer_->fatal_error(why) != RdKafka::ERR_NO_ERROR;
  throw Failure{std::to_string(failed_), RdKafka::err2str(failed_) + ": " + why, fatal};
}

void Producer::send_offsets(RdKafka::KafkaConsumer& consumer, const std::string& topic,
                            const Offsets& offsets) {
  const std::unique_ptr<RdKafka::ConsumerGroupMetadata> member{consumer.groupMetadata()};
  check(producer_->send_offsets_to_transaction(TopicOffsets{topic, offsets}.all, member.get(), timeout_ms));
}

void Producer::dr_cb(RdKafka::Message& message) {
  if (message.err() != RdKafka::ERR_NO_ERROR) failed_ = message.err();
}

}  // namespace transactional
