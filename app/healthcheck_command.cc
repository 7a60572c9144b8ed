#include "app/healthcheck_command.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <ostream>

#include "base/log.h"
#include "http/client.h"

namespace barnabas::app {
namespace {

constexpr std::string_view scheme = "http://";
constexpr const char* default_address = "127.0.0.1:9644";

/// What listens on every interface is reached on this machine's own.
http::Address reachable(http::Address address) {
  if (address.host.empty() || address.host == "0.0.0.0") address.host = "127.0.0.1";
  if (address.host == "::") address.host = "::1";
  return address;
}

}  // namespace

Result<HealthQuestion> health_question(const std::string& url, const std::string& address, bool live,
                                       const std::string& listeners) {
  const std::string path = live ? "/livez" : "/readyz";
  if (!url.empty()) {
    if (!url.starts_with(scheme)) return fail(ErrorKind::invalid, "--url: expected http://host:port/path");
    const std::string rest = url.substr(scheme.size());
    const auto slash = rest.find('/');
    auto parsed = http::parse_address(rest.substr(0, slash));
    if (!parsed) return fail("--url", parsed.error());
    return HealthQuestion{reachable(*parsed), slash == rest.npos ? path : rest.substr(slash)};
  }
  if (!address.empty()) {
    auto parsed = http::parse_address(address);
    if (!parsed) return fail("--address", parsed.error());
    return HealthQuestion{reachable(*parsed), path};
  }
  auto parsed = http::parse_address(listeners.substr(0, listeners.find(',')));
  if (!parsed) return fail("KAFKA_HTTP_LISTENERS", parsed.error());
  return HealthQuestion{reachable(*parsed), path};
}

void HealthcheckCommand::declare(CLI::App& app) {
  app.add_option("--url", url_, "what to ask for; http://127.0.0.1:9644/readyz unless told otherwise")
      ->type_name("URL");
  app.add_option("--address", address_,
                 "where the broker's http.listeners is; else KAFKA_HTTP_LISTENERS says")
      ->type_name("HOST:PORT");
  app.add_flag("--live", live_, "ask whether it is alive, not whether it is ready");
  app.add_option("--timeout-ms", timeout_ms_, "how long to wait for the answer")
      ->check(CLI::Range(int64_t{1}, int64_t{3'600'000}))
      ->capture_default_str();
  app.footer(
      "Exit code 0: it is; 1: it is not, or does not answer.\nExample: barnabas healthcheck --address "
      "127.0.0.1:9644");
}

int HealthcheckCommand::run(std::ostream& out, std::ostream& errors) {
  const char* listeners = std::getenv("KAFKA_HTTP_LISTENERS");
  const auto question =
      health_question(url_, address_, live_, listeners != nullptr ? listeners : default_address);
  if (!question) {
    errors << "barnabas: " << question.error().message << '\n';
    const bool by_environment = url_.empty() && address_.empty();
    return by_environment ? 1 : 2;
  }
  const auto answer = http::get(question->address, question->path, std::chrono::milliseconds(timeout_ms_));
  if (!answer) {
    errors << "unhealthy: " << answer.error().message << '\n';
    return 1;
  }
  const std::string said = answer->body.substr(0, answer->body.find('\n'));
  const bool well = answer->status == 200;
  (well ? out : errors) << (well ? "healthy" : "unhealthy") << ": " << question->address.to_string()
                        << question->path << " says " << answer->status << ' ' << log_text(said) << '\n';
  return well ? 0 : 1;
}

}  // namespace barnabas::app
