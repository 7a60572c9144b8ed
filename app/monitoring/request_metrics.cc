#include "app/monitoring/request_metrics.h"

#include <algorithm>

#include "network/event_loops.h"
#include "network/request_handler.h"

namespace barnabas::app {

std::string_view to_string(RequestStage stage) {
  switch (stage) {
    case RequestStage::queue:
      return "queue";
    case RequestStage::local:
      return "local";
    case RequestStage::remote:
      return "remote";
    case RequestStage::response_queue:
      return "response_queue";
    case RequestStage::send:
      return "send";
  }
  return "";
}

struct RequestMetrics::Histograms {
  metrics::LatencyHistogram total;
  std::array<metrics::LatencyHistogram, request_stages> stages;
  metrics::LatencyHistogram throttle;
};

RequestMetrics::RequestMetrics(std::size_t loops) {
  for (std::size_t i = 0; i < loops; ++i) loops_.push_back(std::make_unique<Loop>());
}

RequestMetrics::~RequestMetrics() {
  for (const auto& loop : loops_)
    for (auto& histograms : loop->of_api) delete histograms.load(std::memory_order_acquire);
}

void RequestMetrics::answered(const network::ConnectionContext& connection, int16_t api,
                              const network::RequestTimes& times, std::chrono::milliseconds throttled) {
  record(connection.loop->index(), api, times, throttled);
}

void RequestMetrics::record(std::size_t loop, int16_t api, const network::RequestTimes& times,
                            std::chrono::milliseconds throttled) {
  if (loop >= loops_.size() || api < 0 || static_cast<std::size_t>(api) >= apis) return;
  auto& place = loops_[loop]->of_api[static_cast<std::size_t>(api)];
  Histograms* histograms = place.load(std::memory_order_relaxed);
  if (histograms == nullptr) {
    histograms = new Histograms;
    place.store(histograms, std::memory_order_release);
  }
  const auto stage = [&](RequestStage which, Instant from, Instant to) {
    histograms->stages[static_cast<std::size_t>(which)].observe(to - from);
  };
  // Answered inside the handler: what that did afterwards held nobody up.
  const Instant left_handler = std::min(times.handled, times.answered);
  stage(RequestStage::queue, times.received, times.started);
  stage(RequestStage::local, times.started, left_handler);
  stage(RequestStage::remote, left_handler, times.answered);
  stage(RequestStage::response_queue, times.answered, times.taken);
  stage(RequestStage::send, times.taken, times.sent);
  histograms->total.observe(times.sent - times.received);
  if (throttled.count() > 0) histograms->throttle.observe(throttled);
}

std::vector<RequestMetrics::OfApi> RequestMetrics::snapshot() const {
  std::vector<OfApi> result;
  for (std::size_t api = 0; api < apis; ++api) {
    OfApi of_api;
    of_api.api = static_cast<int16_t>(api);
    for (const auto& loop : loops_) {
      const Histograms* histograms = loop->of_api[api].load(std::memory_order_acquire);
      if (histograms == nullptr) continue;
      of_api.total += histograms->total.snapshot();
      of_api.throttle += histograms->throttle.snapshot();
      for (std::size_t i = 0; i < request_stages; ++i) of_api.stages[i] += histograms->stages[i].snapshot();
    }
    if (of_api.total.count() > 0) result.push_back(of_api);
  }
  return result;
}

}  // namespace barnabas::app
