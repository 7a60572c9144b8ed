#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "metadata/static_config.h"

namespace barnabas::app {

/// A whole broker: log directories, metadata log, partitions, server. One per process. Methods are for the
/// main thread.
class BrokerProcess {
 public:
  /// Opens everything and begins to serve. An error says what the operator can do about it. When this returns
  /// with a broker, clients are answered.
  static Result<std::unique_ptr<BrokerProcess>> start(metadata::StaticConfig config);

  /// As a crash, unless stop() came before.
  ~BrokerProcess();

  /// "PLAINTEXT://127.0.0.1:9092" for each address that is listened on.
  std::vector<std::string> addresses() const;
  std::vector<std::string> log_directories() const;
  std::string cluster_id() const;

  /// Orderly end: stops accepting, answers or refuses what waits, flushes, fences itself in the metadata log,
  /// marks the directories clean. False when something did not work; the log says what.
  bool stop(std::chrono::milliseconds deadline);
  /// Cuts a stop() that runs in the main thread short: connections are closed at once. From any thread.
  void hurry();

 private:
  BrokerProcess();
  struct Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace barnabas::app
