#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "base/result.h"
#include "command/command.h"
#include "http/server.h"

namespace barnabas::app {

/// What to ask for whether a broker is well.
struct HealthQuestion {
  http::Address address;
  std::string path;
};
/// `url` ("http://host:port/path") wins over `address` ("host:port"), that over `listeners` (the value of
/// http.listeners, whose first address it is, on this machine where it is every interface).
Result<HealthQuestion> health_question(const std::string& url, const std::string& address, bool live,
                                       const std::string& listeners);

/// `barnabas healthcheck`: asks a broker whether it is ready, for containers without an HTTP client. Exit
/// code 0: it is; 1: it is not, or does not answer.
class HealthcheckCommand : public command::Command {
 public:
  std::string name() const override { return "healthcheck"; }
  std::string summary() const override { return "Ask a running broker whether it is ready"; }
  void declare(CLI::App& app) override;
  int run(std::ostream& out, std::ostream& errors) override;

 private:
  std::string url_;
  std::string address_;
  bool live_ = false;
  int64_t timeout_ms_ = 5000;
};

}  // namespace barnabas::app
