#include "broker/coordinators/coordinator_topic.h"

#include <algorithm>

#include "base/log.h"

namespace barnabas::broker {

namespace {

constinit Logger logger{"coordinator"};

/// Clients wait about half a minute for an answer; then they ask again.
constexpr int32_t timeout_ms = 10'000;
constexpr std::size_t usual_replication_factor = 3;

}  // namespace

CoordinatorTopic::Settings CoordinatorTopic::Settings::of(const metadata::StaticConfig& config,
                                                          std::string_view name, const std::string& prefix,
                                                          std::string_view compression) {
  const std::string factor = prefix + "replication.factor";
  Settings settings;
  settings.name = name;
  settings.partitions = static_cast<int32_t>(config.integer(prefix + "num.partitions"));
  if (config.given(factor) != nullptr)
    settings.replication_factor = static_cast<int16_t>(config.integer(factor));
  settings.configs = {{"cleanup.policy", "compact"},
                      {"compression.type", std::string(compression)},
                      {"segment.bytes", config.text(prefix + "segment.bytes")}};
  return settings;
}

void CoordinatorTopic::make(Done done) {
  if (metadata_.current()->topic(settings_.name) != nullptr) return done();
  bool first = false;
  {
    const std::scoped_lock lock(mutex_);
    first = waiting_.empty();
    waiting_.push_back(std::move(done));
  }
  if (first)
    controller_.create_topics(request(),
                              [this](const protocol::CreateTopicsResponse& response) { made(response); });
}

protocol::CreateTopicsRequest CoordinatorTopic::request() const {
  protocol::CreateTopicsRequest request;
  request.timeout_ms = timeout_ms;
  auto& topic = request.topics.emplace_back();
  topic.name = settings_.name;
  topic.num_partitions = settings_.partitions;
  topic.replication_factor = settings_.replication_factor.value_or(static_cast<int16_t>(
      std::clamp<std::size_t>(metadata_.current()->brokers.size(), 1, usual_replication_factor)));
  for (const auto& [name, value] : settings_.configs) {
    auto& config = topic.configs.emplace_back();
    config.name = name;
    config.value = protocol::String(value);
  }
  return request;
}

void CoordinatorTopic::made(const protocol::CreateTopicsResponse& response) {
  for (const auto& topic : response.topics) {
    const auto error = static_cast<protocol::ErrorCode>(topic.error_code);
    if (error == protocol::ErrorCode::none)
      logger.info("topic={} made partitions={}", settings_.name, settings_.partitions);
    else if (error != protocol::ErrorCode::topic_already_exists &&
             limiter_.admit(std::chrono::steady_clock::now()))
      logger.warn("topic={} not made, clients find no coordinator: {}", settings_.name,
                  topic.error_message ? topic.error_message->str() : std::string(protocol::name(error)));
  }
  std::vector<Done> waiting;
  {
    const std::scoped_lock lock(mutex_);
    waiting.swap(waiting_);
  }
  for (Done& done : waiting) done();
}

}  // namespace barnabas::broker
