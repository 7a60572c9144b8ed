#include "broker/quotas/request_time.h"

#include <utility>

namespace barnabas::broker {
namespace {

thread_local const QuotaClient* running_client = nullptr;
thread_local Instant* running_counted_to = nullptr;

/// What the connection was busy with up to `now` and nobody has counted; it begins anew.
std::chrono::nanoseconds take_busy_time(network::ConnectionContext& connection, Instant now) {
  auto busy = std::exchange(connection.busy_time, std::chrono::nanoseconds(0));
  if (connection.busy_since) busy += now - std::exchange(*connection.busy_since, now);
  return busy;
}

}  // namespace

RequestTime::RequestTime(Quotas* quotas, std::shared_ptr<const QuotaClient> client,
                         network::ConnectionContext& connection)
    : quotas_(client && quotas->limits(RateKind::request) ? quotas : nullptr),
      client_(std::move(client)),
      connection_(connection) {
  if (quotas_ == nullptr) return;
  connection.payer = client_;
  counted_to_ = std::chrono::steady_clock::now();
  running_client = client_.get();
  running_counted_to = &counted_to_;
  const auto busy = take_busy_time(connection, counted_to_);
  if (busy.count() > 0) quotas_->note(RateKind::request, *client_, percent_of_thread(busy), counted_to_);
}

RequestTime::~RequestTime() {
  if (quotas_ == nullptr) return;
  running_client = nullptr;
  running_counted_to = nullptr;
  const Instant now = std::chrono::steady_clock::now();
  quotas_->note(RateKind::request, *client_, percent_of_thread(now - counted_to_), now);
  // The time of the handler is counted; the turn goes on from here.
  if (connection_.busy_since) connection_.busy_since = now;
}

void RequestTime::settle(Quotas& quotas, network::ConnectionContext& connection) {
  const auto client = std::static_pointer_cast<const QuotaClient>(std::exchange(connection.payer, nullptr));
  if (!client) return;
  const Instant now = std::chrono::steady_clock::now();
  quotas.note(RateKind::request, *client, percent_of_thread(take_busy_time(connection, now)), now);
}

std::chrono::nanoseconds RequestTime::take(const QuotaClient& client, Instant now) {
  if (running_client != &client) return std::chrono::nanoseconds(0);
  return now - std::exchange(*running_counted_to, now);
}

}  // namespace barnabas::broker
