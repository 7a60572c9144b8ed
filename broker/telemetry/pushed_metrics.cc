#include "broker/telemetry/pushed_metrics.h"

#include "broker/telemetry/otlp_metrics.pb.h"

namespace barnabas::broker {
namespace {

constexpr std::size_t attributes_max = 16;
constexpr std::size_t text_bytes_max = 256;

std::string text_of(const otlp::AnyValue& value) {
  switch (value.value_case()) {
    case otlp::AnyValue::kStringValue:
      return value.string_value().substr(0, text_bytes_max);
    case otlp::AnyValue::kBoolValue:
      return value.bool_value() ? "true" : "false";
    case otlp::AnyValue::kIntValue:
      return std::to_string(value.int_value());
    case otlp::AnyValue::kDoubleValue:
      return std::to_string(value.double_value());
    case otlp::AnyValue::VALUE_NOT_SET:
      break;
  }
  return {};
}

class Points {
 public:
  explicit Points(std::size_t max) : max_(max) {}

  void add(const otlp::Metric& metric) {
    if (metric.name().empty() || metric.name().size() > text_bytes_max) return;
    if (metric.has_gauge()) {
      for (const auto& point : metric.gauge().data_points())
        add(metric, point, PushedPoint::Kind::gauge, false);
    } else if (metric.has_sum()) {
      const bool change = metric.sum().aggregation_temporality() == otlp::AGGREGATION_TEMPORALITY_DELTA;
      for (const auto& point : metric.sum().data_points())
        add(metric, point, change ? PushedPoint::Kind::change : PushedPoint::Kind::total,
            metric.sum().is_monotonic());
    }
  }

  std::vector<PushedPoint> take() { return std::move(points_); }

 private:
  void add(const otlp::Metric& metric, const otlp::NumberDataPoint& read, PushedPoint::Kind kind,
           bool monotonic) {
    if (points_.size() == max_ || read.value_case() == otlp::NumberDataPoint::VALUE_NOT_SET) return;
    PushedPoint point{metric.name(), kind, monotonic, {}, 0};
    point.value = read.has_as_double() ? read.as_double() : static_cast<double>(read.as_int());
    for (const auto& attribute : read.attributes()) {
      if (point.attributes.size() == attributes_max) break;
      if (attribute.key().size() <= text_bytes_max)
        point.attributes.emplace(attribute.key(), text_of(attribute.value()));
    }
    points_.push_back(std::move(point));
  }

  std::size_t max_;
  std::vector<PushedPoint> points_;
};

}  // namespace

Result<std::vector<PushedPoint>> read_pushed_metrics(ByteView bytes, std::size_t points_max) {
  otlp::MetricsData data;
  if (!data.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
    return fail(ErrorKind::corrupt, "pushed metrics of " + std::to_string(bytes.size()) +
                                        " bytes are no OpenTelemetry MetricsData");
  Points points(points_max);
  for (const auto& resource : data.resource_metrics())
    for (const auto& scope : resource.scope_metrics())
      for (const auto& metric : scope.metrics()) points.add(metric);
  return points.take();
}

}  // namespace barnabas::broker
