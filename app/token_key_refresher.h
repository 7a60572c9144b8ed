#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/result.h"
#include "security/token_key_schedule.h"
#include "security/token_keys.h"

namespace barnabas::app {

/// Keeps the keys of one endpoint up to date, on a thread of its own: a key set at a URL is fetched when its
/// schedule says so, a file is read when it has changed. What fails is logged, and the keys that were there
/// stay in force.
class TokenKeyRefresher final : public security::TokenKeys {
 public:
  /// What the endpoint says; nothing when that has not changed since the last call. Called on one thread at a
  /// time; may wait, and gives up soon once `cancelled` is true.
  using Fetch = std::function<Result<std::optional<std::string>>(const std::atomic<bool>& cancelled)>;

  /// Fetches once, which may wait, then starts the thread. `name` is for the log.
  TokenKeyRefresher(const security::TokenKeyEndpoint& endpoint, std::string name, Fetch fetch);
  ~TokenKeyRefresher() override;
  TokenKeyRefresher(const TokenKeyRefresher&) = delete;
  TokenKeyRefresher& operator=(const TokenKeyRefresher&) = delete;

  std::shared_ptr<const security::JsonWebKeySet> current() const override;
  void look_again() override;

  /// Why the last fetch failed; nothing when it did not.
  std::optional<Error> complaint() const;

 private:
  void run();
  void fetch();
  Result<void> take(const std::string& text);

  const std::string name_;
  const Fetch fetch_;
  std::atomic<bool> stopping_{false};
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  // Under mutex_.
  security::TokenKeySchedule schedule_;
  std::shared_ptr<const security::JsonWebKeySet> keys_;
  std::optional<Error> complaint_;

  std::thread thread_;  ///< last: it uses all of the above
};

/// The endpoints of all listeners; those with the same settings share one. One thread, at start.
class TokenKeyEndpoints {
 public:
  /// Fetches the keys, and goes on doing so. An error when the URL is of another kind than http, https or
  /// file, when libcurl is needed and missing, and when a file holds no keys. An endpoint of http that gives
  /// none is asked again later: a broker has to start while others do.
  Result<std::shared_ptr<security::TokenKeys>> open(const security::TokenKeyEndpoint& endpoint);

 private:
  struct Open {
    security::TokenKeyEndpoint endpoint;
    std::shared_ptr<TokenKeyRefresher> keys;
  };
  std::vector<Open> open_;
};

}  // namespace barnabas::app
