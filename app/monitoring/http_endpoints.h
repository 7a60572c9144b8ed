#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/loop_probe.h"
#include "app/monitoring/metrics_collector.h"
#include "base/result.h"
#include "http/server.h"
#include "metadata/static_config.h"
#include "network/event_loops.h"

namespace barnabas::app {

/// What is served over HTTP (http.listeners): `/metrics`, `/livez` (the event loops turn) and `/readyz`
/// (clients are served), the latter also as `/v1/status/ready`. Answers from before the broker serves until
/// after it has stopped to. Methods are for the main thread.
class HttpEndpoints {
 public:
  /// Listens and begins to answer. An address that was set and cannot be had is an error; without the
  /// default one it goes on. http.listeners empty: does nothing, and so do the others.
  Result<void> open(const metadata::StaticConfig& config);
  /// Writes to the log where it answers, or why not. Not by open: of a start that fails the failure is all
  /// that is told.
  void tell() const;
  /// Clients are served from now on. `sources` and `loops` stay until stop().
  void serving(const MetricsSources& sources, network::EventLoops& loops);
  /// The broker begins to stop: not ready any more.
  void stopping() { stage_ = Stage::stopping; }
  /// Closes everything at once.
  void stop();

  /// "127.0.0.1:9644" for each address that is listened on.
  std::vector<std::string> addresses() const;

 private:
  enum class Stage : uint8_t { starting, serving, stopping };

  void answer(const http::Request& request, const http::Respond& respond);
  void answer_alive(const http::Respond& respond);
  void answer_ready(const http::Respond& respond) const;
  void answer_metrics(const http::Respond& respond);

  std::atomic<Stage> stage_{Stage::starting};
  std::string missing_;                        ///< why the default address cannot be had
  std::optional<LoopProbe> probe_;             ///< from Stage::serving on
  std::optional<MetricsCollector> collector_;  ///< the same
  std::optional<http::Server> server_;         ///< ends before what it calls
};

}  // namespace barnabas::app
