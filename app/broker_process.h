#pragma once

#include <chrono>
#include <functional>
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
  /// `new_cluster_id` is for directories that have none yet; empty: a random one.
  static Result<std::unique_ptr<BrokerProcess>> start(metadata::StaticConfig config,
                                                      std::string new_cluster_id = {});

  /// As a crash, unless stop() came before.
  ~BrokerProcess();

  /// "PLAINTEXT://127.0.0.1:9092" for each address that is listened on.
  std::vector<std::string> addresses() const;
  /// "host:port" as told to clients, of the first listener that asks for nothing; nothing if there is none.
  std::optional<std::string> plaintext_address() const;
  /// Those that are online.
  std::vector<std::string> log_directories() const;
  std::string cluster_id() const;
  int32_t node_id() const;

  /// Calls `beat` about every `period`, on a thread of its own, for as long as all event loops turn; until
  /// stop().
  void watch(std::chrono::microseconds period, std::function<void()> beat);
  /// Settings have been read again. What can change while the broker runs is taken over before this returns;
  /// a log line for each setting says whether it was, and what waits for a restart. Files of TLS listeners
  /// are looked at as well.
  void reload(const metadata::StaticConfig& wanted);

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
