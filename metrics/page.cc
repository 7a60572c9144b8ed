#include "metrics/page.h"

#include <fmt/format.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "base/assert.h"
#include "base/utf8.h"

namespace barnabas::metrics {
namespace {

prometheus::MetricType type_of(Type type) {
  switch (type) {
    case Type::counter:
      return prometheus::MetricType::Counter;
    case Type::gauge:
      return prometheus::MetricType::Gauge;
    case Type::histogram:
      return prometheus::MetricType::Histogram;
    case Type::summary:
      return prometheus::MetricType::Summary;
  }
  return prometheus::MetricType::Untyped;
}

/// Those that Kafka's own metrics have.
constexpr std::array quantiles = {0.5, 0.75, 0.95, 0.98, 0.99, 0.999};

std::string readable(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = utf8_length(text);
    if (size == 0)
      result += fmt::format("\\x{:02x}", static_cast<unsigned char>(text.front()));
    else
      result += text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return result;
}

std::string label_name(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool digit = c >= '0' && c <= '9';
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (digit && result.empty()) result += 'n';
    result += digit || letter ? c : '_';
  }
  // Names in front with two underscores are Prometheus' own.
  return result.empty() || result.front() == '_' ? "label" + result : result;
}

}  // namespace

Page::Page() {
  families_.reserve(catalog().size());
  for (const Family& family : catalog())
    families_.push_back({std::string(family.name), std::string(family.help), type_of(family.type), {}});
}

prometheus::ClientMetric& Page::metric(std::string_view name, LabelValues values) {
  const std::size_t at = index_of(name);
  const Family& family = catalog()[at];
  BARNABAS_ASSERT(values.size() == 0 || values.size() == family.labels.size());
  prometheus::ClientMetric& added = families_[at].metric.emplace_back();
  added.label.reserve(values.size());
  auto label = family.labels.begin();
  for (const std::string_view value : values) added.label.push_back({std::string(*label++), readable(value)});
  return added;
}

void Page::add(std::string_view name, LabelValues labels, double value) {
  prometheus::ClientMetric& added = metric(name, labels);
  added.counter.value = value;
  added.gauge.value = value;
}

void Page::add(std::string_view name, LabelValues labels, const std::map<std::string, std::string>& further,
               double value) {
  prometheus::ClientMetric& added = metric(name, labels);
  added.counter.value = value;
  added.gauge.value = value;
  for (const auto& [label, text] : further) {
    const std::string made = label_name(label);
    if (std::ranges::find(added.label, made, &prometheus::ClientMetric::Label::name) == added.label.end())
      added.label.push_back({made, readable(text)});
  }
}

void Page::add(std::string_view name, LabelValues labels, const LatencySnapshot& latency) {
  auto& histogram = metric(name, labels).histogram;
  histogram.sample_count = latency.count();
  histogram.sample_sum = latency.sum_seconds();
  for (const double bound : LatencySnapshot::shown_bounds)
    histogram.bucket.push_back({latency.count_up_to(bound), bound});
}

void Page::add_milliseconds(std::string_view name, LabelValues labels, const LatencySnapshot& all,
                            const LatencySnapshot& lately) {
  auto& summary = metric(name, labels).summary;
  summary.sample_count = all.count();
  summary.sample_sum = all.sum_seconds() * 1e3;
  for (const double quantile : quantiles)
    summary.quantile.push_back({quantile, lately.quantile(quantile) * 1e3});
}

std::string Page::text() const {
  std::vector<prometheus::MetricFamily> told;
  for (const auto& family : families_)
    if (!family.metric.empty()) told.push_back(family);
  std::ostringstream out;
  prometheus::TextSerializer().Serialize(out, told);
  return std::move(out).str();
}

}  // namespace barnabas::metrics
