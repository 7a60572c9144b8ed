#include "app/monitoring/http_endpoints.h"

#include <utility>

#include "app/exposure.h"
#include "app/setting_error.h"
#include "base/log.h"
#include "metrics/page.h"
#include "metrics/process.h"

namespace barnabas::app {
namespace {

constinit Logger log_{"barnabas"};
constexpr const char* setting = "http.listeners";

http::Response metrics_response(std::shared_ptr<const std::string> page) {
  return {200, "text/plain; version=0.0.4; charset=utf-8", std::move(page)};
}

}  // namespace

Result<void> HttpEndpoints::open(const metadata::StaticConfig& config) {
  const std::vector<std::string> items = config.list(setting);
  if (items.empty()) return {};
  http::Limits limits;
  // Whoever asks for metrics or health has given up by then.
  limits.answer_max = std::chrono::seconds(10);
  server_.emplace([this](const http::Request& request, http::Respond respond) { answer(request, respond); },
                  limits);
  const bool given = config.given(setting) != nullptr;
  for (const std::string& item : items) {
    const auto address = http::parse_address(item);
    if (!address) return setting_error(ErrorKind::invalid, config, setting, address.error().message);
    const auto bound = server_->bind(*address);
    if (bound) continue;
    if (given)
      return setting_error(bound.error().kind, config, setting,
                           bound.error().message + "; choose another port, or leave it empty to go without");
    missing_ = bound.error().message;
    server_.reset();
    return {};
  }
  server_->start();
  return {};
}

void HttpEndpoints::tell() const {
  if (!missing_.empty())
    log_.info("no metrics and health over HTTP: {}; set http.listeners to another address", missing_);
  for (const std::string& address : addresses())
    log_.info("metrics and health at http://{}/metrics", address);
  if (const auto warning = http_exposure_warning(addresses())) log_.warn("{}", *warning);
}

void HttpEndpoints::serving(const MetricsSources& sources, network::EventLoops& loops) {
  if (!server_) return;
  probe_.emplace(loops);
  collector_.emplace(sources, *server_);
  stage_.store(Stage::serving, std::memory_order_release);
}

void HttpEndpoints::stop() {
  if (server_) server_->stop();
}

std::vector<std::string> HttpEndpoints::addresses() const {
  std::vector<std::string> result;
  if (!server_) return result;
  for (const http::Address& address : server_->bound()) result.push_back(address.to_string());
  return result;
}

void HttpEndpoints::answer(const http::Request& request, const http::Respond& respond) {
  if (request.path == "/metrics") return answer_metrics(respond);
  if (request.path == "/livez") return answer_alive(respond);
  if (request.path == "/readyz" || request.path == "/v1/status/ready") return answer_ready(respond);
  if (request.path == "/") return respond(http::text_response(200, "/metrics\n/livez\n/readyz"));
  respond(http::text_response(404, "there are /metrics, /livez and /readyz"));
}

void HttpEndpoints::answer_alive(const http::Respond& respond) {
  const Stage stage = stage_.load(std::memory_order_acquire);
  // Long recoveries and stops must not look like something that a restart would help.
  if (stage != Stage::serving)
    return respond(
        http::text_response(200, stage == Stage::starting ? "alive, starting" : "alive, stopping"));
  probe_->ask([respond](bool turn) {
    respond(turn ? http::text_response(200, "alive") : http::text_response(503, "event loops stand still"));
  });
}

void HttpEndpoints::answer_ready(const http::Respond& respond) const {
  switch (stage_.load(std::memory_order_acquire)) {
    case Stage::starting:
      return respond(http::text_response(503, "starting"));
    case Stage::serving:
      if (collector_->out_of_disks()) return respond(http::text_response(503, "no log directory is left"));
      return respond(http::text_response(200, "ready"));
    case Stage::stopping:
      return respond(http::text_response(503, "stopping"));
  }
}

void HttpEndpoints::answer_metrics(const http::Respond& respond) {
  if (stage_.load(std::memory_order_acquire) == Stage::serving)
    return collector_->collect(
        [respond](std::shared_ptr<const std::string> page) { respond(metrics_response(std::move(page))); });
  metrics::Page page;
  metrics::add_process(page);
  respond(metrics_response(std::make_shared<const std::string>(page.text())));
}

}  // namespace barnabas::app
