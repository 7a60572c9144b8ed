#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "metrics/latency_histogram.h"
#include "network/request_observer.h"

namespace barnabas::app {

/// Where the time of a request goes; together they are its total.
enum class RequestStage : uint8_t {
  queue,           ///< from its last byte to the start of its handler
  local,           ///< in the handler, on the connection's thread
  remote,          ///< waiting: for the disk, a coordinator, the controller, records to come
  response_queue,  ///< answered, while answers to earlier requests are not
  send,            ///< until the socket has all of the answer
};
inline constexpr std::size_t request_stages = 5;
std::string_view to_string(RequestStage stage);

/// How long requests took, by API. Each loop writes histograms of its own, so no two threads meet.
class RequestMetrics : public network::RequestObserver {
 public:
  explicit RequestMetrics(std::size_t loops);
  ~RequestMetrics() override;
  RequestMetrics(const RequestMetrics&) = delete;
  RequestMetrics& operator=(const RequestMetrics&) = delete;

  void answered(const network::ConnectionContext& connection, int16_t api, const network::RequestTimes& times,
                std::chrono::milliseconds throttled) override;
  /// On the thread of that loop.
  void record(std::size_t loop, int16_t api, const network::RequestTimes& times,
              std::chrono::milliseconds throttled);

  struct OfApi {
    int16_t api = 0;
    metrics::LatencySnapshot total;
    std::array<metrics::LatencySnapshot, request_stages> stages;
    metrics::LatencySnapshot throttle;  ///< of those only that were throttled
  };
  /// Of each API that was asked for, by number. Any thread.
  std::vector<OfApi> snapshot() const;

 private:
  struct Histograms;
  /// Beyond all keys that Kafka knows.
  static constexpr std::size_t apis = 128;
  struct Loop {
    /// Made by the loop when it first sees the API.
    std::array<std::atomic<Histograms*>, apis> of_api{};
  };
  std::vector<std::unique_ptr<Loop>> loops_;
};

}  // namespace barnabas::app
