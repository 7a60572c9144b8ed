#include "broker/quotas/request_time.h"

#include <utility>

namespace barnabas::broker {
namespace {

thread_local const QuotaClient* running_client = nullptr;
thread_local Instant* running_counted_to = nullptr;

}  // namespace

RequestTime::RequestTime(Quotas* quotas, std::shared_ptr<const QuotaClient> client,
                         network::ConnectionContext& connection)
    : quotas_(client && quotas->limits(RateKind::request) ? quotas : nullptr),
      client_(std::move(client)),
      connection_(connection) {
  const bool was_measured = std::exchange(connection.measure_time, quotas_ != nullptr);
  if (quotas_ == nullptr) return;
  began_ = counted_to_ = std::chrono::steady_clock::now();
  running_client = client_.get();
  running_counted_to = &counted_to_;
  within_measure_ = was_measured;
  if (connection.busy_time.count() <= 0) return;
  const auto busy = std::exchange(connection.busy_time, std::chrono::nanoseconds(0));
  quotas_->note(RateKind::request, *client_, percent_of_thread(busy), began_);
}

RequestTime::~RequestTime() {
  if (quotas_ == nullptr) return;
  running_client = nullptr;
  running_counted_to = nullptr;
  const Instant now = std::chrono::steady_clock::now();
  quotas_->note(RateKind::request, *client_, percent_of_thread(now - counted_to_), now);
  if (within_measure_) connection_.busy_time -= now - began_;
}

std::chrono::nanoseconds RequestTime::take(const QuotaClient& client, Instant now) {
  if (running_client != &client) return std::chrono::nanoseconds(0);
  return now - std::exchange(*running_counted_to, now);
}

}  // namespace barnabas::broker
