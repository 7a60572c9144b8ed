#include "broker/telemetry/pushed_metrics.h"

#include <gmock/gmock.h>

#include "broker/telemetry/otlp_metrics.pb.h"

namespace barnabas::broker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

class PushedMetricsTest : public testing::Test {
 protected:
  otlp::Metric& metric(const std::string& name) {
    auto& scope = *data.add_resource_metrics()->add_scope_metrics();
    auto& metric = *scope.add_metrics();
    metric.set_name(name);
    return metric;
  }
  std::vector<PushedPoint> read(std::size_t max = 1000) const {
    const std::string bytes = data.SerializeAsString();
    auto points = read_pushed_metrics(as_byte_view(bytes), max);
    EXPECT_TRUE(points) << points.error().message;
    return points ? std::move(*points) : std::vector<PushedPoint>{};
  }

  otlp::MetricsData data;
};

TEST_F(PushedMetricsTest, gauges_and_sums_are_read_with_their_attributes) {
  auto& gauge = *metric("latency.avg").mutable_gauge()->add_data_points();
  gauge.set_as_double(1.5);
  auto& attribute = *gauge.add_attributes();
  attribute.set_key("node");
  attribute.mutable_value()->set_int_value(3);
  auto& sum = *metric("record.send.total").mutable_sum();
  sum.set_is_monotonic(true);
  sum.set_aggregation_temporality(otlp::AGGREGATION_TEMPORALITY_DELTA);
  sum.add_data_points()->set_as_int(7);
  const auto points = read();
  ASSERT_THAT(points, SizeIs(2));
  EXPECT_EQ(points[0].name, "latency.avg");
  EXPECT_EQ(points[0].kind, PushedPoint::Kind::gauge);
  EXPECT_EQ(points[0].value, 1.5);
  EXPECT_THAT(points[0].attributes, ElementsAre(Pair("node", "3")));
  EXPECT_EQ(points[1].kind, PushedPoint::Kind::change);
  EXPECT_TRUE(points[1].monotonic);
  EXPECT_EQ(points[1].value, 7);
}

TEST_F(PushedMetricsTest, cumulative_sums_are_totals) {
  auto& sum = *metric("bytes").mutable_sum();
  sum.set_aggregation_temporality(otlp::AGGREGATION_TEMPORALITY_CUMULATIVE);
  sum.add_data_points()->set_as_int(7);
  EXPECT_EQ(read().at(0).kind, PushedPoint::Kind::total);
}

TEST_F(PushedMetricsTest, metrics_without_name_or_number_are_skipped) {
  metric("").mutable_gauge()->add_data_points()->set_as_double(1);
  metric("nothing").mutable_gauge()->add_data_points();
  metric("no data");
  metric(std::string(257, 'n')).mutable_gauge()->add_data_points()->set_as_double(1);
  EXPECT_THAT(read(), IsEmpty());
}

TEST_F(PushedMetricsTest, no_more_points_are_given_than_asked_for) {
  for (int i = 0; i < 10; ++i) metric("m").mutable_gauge()->add_data_points()->set_as_double(i);
  EXPECT_THAT(read(3), SizeIs(3));
}

TEST_F(PushedMetricsTest, attributes_are_bounded_in_number_and_size) {
  auto& point = *metric("m").mutable_gauge()->add_data_points();
  point.set_as_double(1);
  for (int i = 0; i < 100; ++i) {
    auto& attribute = *point.add_attributes();
    attribute.set_key("k" + std::to_string(i));
    attribute.mutable_value()->set_string_value(std::string(10'000, 'v'));
  }
  const auto points = read();
  EXPECT_THAT(points.at(0).attributes, SizeIs(16));
  EXPECT_EQ(points.at(0).attributes.begin()->second.size(), 256U);
}

TEST_F(PushedMetricsTest, what_is_no_such_message_is_corrupt_cut_anywhere) {
  metric("latency.avg").mutable_gauge()->add_data_points()->set_as_double(1.5);
  const std::string whole = data.SerializeAsString();
  for (std::size_t size = 1; size < whole.size(); ++size) {
    const auto points = read_pushed_metrics(as_byte_view(whole).first(size), 10);
    ASSERT_FALSE(points) << size;
    EXPECT_EQ(points.error().kind, ErrorKind::corrupt);
  }
}

}  // namespace
}  // namespace barnabas::broker
