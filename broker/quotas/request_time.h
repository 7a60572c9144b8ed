#pragma once

#include <memory>

#include "base/clock.h"
#include "broker/quotas/quotas.h"
#include "network/request_handler.h"

namespace barnabas::broker {

/// Counts the time for which a handler keeps the thread of a loop busy with one request, and what the
/// connection itself took since its last one (reading, writing, encryption; before the first one also the
/// handshake and the authentication, as Kafka does), against the client's request_percentage. Lives on the
/// stack around the handler; costs nothing while there is no such quota.
class RequestTime {
 public:
  /// `client` null: nothing is counted.
  RequestTime(Quotas* quotas, std::shared_ptr<const QuotaClient> client,
              network::ConnectionContext& connection);
  /// What was not counted with the answer is counted now: the client feels it with its next request.
  ~RequestTime();
  /// Counts what a connection has taken after its last request. It is closed.
  static void settle(Quotas& quotas, network::ConnectionContext& connection);
  RequestTime(const RequestTime&) = delete;
  RequestTime& operator=(const RequestTime&) = delete;

  /// Inside the handler of this client's request on this thread: what has been used since the last call. Else
  /// zero.
  static std::chrono::nanoseconds take(const QuotaClient& client, Instant now);

 private:
  Quotas* const quotas_;
  const std::shared_ptr<const QuotaClient> client_;
  network::ConnectionContext& connection_;
  Instant counted_to_{};
};

/// What a time is in units of request_percentage.
inline double percent_of_thread(std::chrono::nanoseconds time) {
  return static_cast<double>(time.count()) * 100.0 / 1e9;
}

}  // namespace barnabas::broker
