#include "broker/telemetry/client_telemetry.h"

#include <gmock/gmock.h>

#include "broker/telemetry/otlp_metrics.pb.h"
#include "protocol/compression/compressor.h"

namespace barnabas::broker {
namespace {

using protocol::ErrorCode;
using std::chrono::milliseconds;
using testing::IsEmpty;
using testing::SizeIs;

constexpr milliseconds interval{1000};
constexpr int32_t push_bytes_max = 10'000;

ClientTelemetry::Image image_with(const std::string& metrics) {
  auto image = std::make_shared<metadata::MetadataImage>();
  image->configs.put(std::make_shared<const metadata::ConfigImage>(
      metadata::ConfigImage{{metadata::ConfigResourceType::client_metrics, "watch"},
                            {{"metrics", metrics}, {"interval.ms", std::to_string(interval.count())}}}));
  return image;
}

std::string pushed(const std::string& name, int64_t value, bool change = true) {
  otlp::MetricsData data;
  auto& metric = *data.add_resource_metrics()->add_scope_metrics()->add_metrics();
  metric.set_name(name);
  metric.mutable_sum()->set_is_monotonic(true);
  metric.mutable_sum()->set_aggregation_temporality(change ? otlp::AGGREGATION_TEMPORALITY_DELTA
                                                           : otlp::AGGREGATION_TEMPORALITY_CUMULATIVE);
  metric.mutable_sum()->add_data_points()->set_as_int(value);
  return data.SerializeAsString();
}

class ClientTelemetryTest : public testing::Test {
 protected:
  ClientTelemetry::Subscription subscribe(const Uuid& instance = {}, uint64_t connection = 1) {
    return telemetry.subscribe(instance, who, connection, image, now);
  }
  ErrorCode push(const ClientTelemetry::Subscription& to, const std::string& metrics,
                 bool terminating = false, int8_t compression = 0) {
    return telemetry.push({to.instance, to.id, terminating, compression, as_byte_view(metrics)}, who, 1,
                          image, now);
  }

  ClientTelemetry telemetry{push_bytes_max};
  ClientTelemetry::Image image = image_with("org.apache.kafka.");
  TelemetryClient who{"orders-1", "java", "4.4.0", "192.0.2.7", 40312};
  Instant now{milliseconds(5)};
};

TEST_F(ClientTelemetryTest, a_client_without_an_id_gets_one_and_is_told_what_to_push) {
  const auto told = subscribe();
  EXPECT_EQ(told.error, ErrorCode::none);
  EXPECT_FALSE(told.instance.is_zero());
  EXPECT_EQ(told.wish, (TelemetryWish{{"org.apache.kafka."}, 1000}));
}

TEST_F(ClientTelemetryTest, who_asks_again_too_early_is_throttled_unless_something_has_changed) {
  const auto told = subscribe();
  EXPECT_EQ(subscribe(told.instance).error, ErrorCode::throttling_quota_exceeded);
  image = image_with("other");
  EXPECT_EQ(subscribe(told.instance).error, ErrorCode::none);
  EXPECT_EQ(subscribe(told.instance).error, ErrorCode::throttling_quota_exceeded);
  now += interval;
  EXPECT_EQ(subscribe(told.instance).error, ErrorCode::none);
}

TEST_F(ClientTelemetryTest, changes_of_metrics_that_do_not_concern_telemetry_change_nothing) {
  const auto told = subscribe();
  image = image_with("org.apache.kafka.");
  EXPECT_EQ(subscribe(told.instance).error, ErrorCode::throttling_quota_exceeded);
  EXPECT_EQ(push(told, pushed("a.total", 1)), ErrorCode::none);
}

TEST_F(ClientTelemetryTest, the_first_push_may_come_at_once_and_the_next_after_the_interval) {
  const auto told = subscribe();
  now += milliseconds(1);
  EXPECT_EQ(push(told, pushed("a.total", 1)), ErrorCode::none);
  EXPECT_EQ(push(told, pushed("a.total", 1)), ErrorCode::throttling_quota_exceeded);
  now += interval;
  EXPECT_EQ(push(told, pushed("a.total", 1)), ErrorCode::none);
}

TEST_F(ClientTelemetryTest, changes_add_up_and_totals_replace) {
  const auto told = subscribe();
  EXPECT_EQ(push(told, pushed("a.total", 3)), ErrorCode::none);
  now += interval;
  EXPECT_EQ(push(told, pushed("a.total", 4)), ErrorCode::none);
  ASSERT_THAT(telemetry.samples(now), SizeIs(1));
  const ClientSample sample = telemetry.samples(now)[0];
  EXPECT_EQ(sample.name, "a.total");
  EXPECT_EQ(sample.value, 7);
  EXPECT_TRUE(sample.counter);
  EXPECT_EQ(sample.client_id, "orders-1");
  EXPECT_EQ(sample.instance, told.instance);
  now += interval;
  EXPECT_EQ(push(told, pushed("a.total", 5, false)), ErrorCode::none);
  EXPECT_EQ(telemetry.samples(now)[0].value, 5);
}

TEST_F(ClientTelemetryTest, a_push_for_what_was_asked_before_is_unknown_and_may_be_corrected_at_once) {
  const auto told = subscribe();
  image = image_with("other");
  EXPECT_EQ(push(told, pushed("a.total", 1)), ErrorCode::unknown_subscription_id);
  const auto again = subscribe(told.instance);
  EXPECT_EQ(again.error, ErrorCode::none);
  EXPECT_NE(again.id, told.id);
  now += interval;
  EXPECT_EQ(push(again, pushed("a.total", 1)), ErrorCode::none);
}

TEST_F(ClientTelemetryTest, the_last_words_may_come_early_and_nothing_comes_behind_them) {
  const auto told = subscribe();
  EXPECT_EQ(push(told, pushed("a.total", 1)), ErrorCode::none);
  EXPECT_EQ(push(told, pushed("a.total", 1), true), ErrorCode::none);
  now += interval;
  EXPECT_EQ(push(told, pushed("a.total", 1)), ErrorCode::invalid_request);
}

TEST_F(ClientTelemetryTest, ids_that_nobody_may_have_are_invalid) {
  const auto told = subscribe();
  Uuid one;
  one.bytes.back() = std::byte{1};
  for (const Uuid& id : {Uuid{}, one}) {
    auto wrong = told;
    wrong.instance = id;
    EXPECT_EQ(push(wrong, ""), ErrorCode::invalid_request);
  }
}

TEST_F(ClientTelemetryTest, every_codec_is_read_and_an_unknown_one_refused) {
  const auto told = subscribe();
  EXPECT_EQ(push(told, pushed("a.total", 1), false, 5), ErrorCode::unsupported_compression_type);
  for (int8_t id = 0; id < protocol::codec_count; ++id) {
    now += interval;
    const auto bytes = protocol::compress({*protocol::codec_from_id(id)}, as_byte_view(pushed("a.total", 1)));
    EXPECT_EQ(push(told, std::string(as_text(bytes)), false, id), ErrorCode::none) << int{id};
  }
  EXPECT_EQ(telemetry.samples(now)[0].value, 5);
}

TEST_F(ClientTelemetryTest, what_is_too_large_before_or_after_decompression_is_refused) {
  const auto told = subscribe();
  const std::string large(push_bytes_max + 1, 'x');
  EXPECT_EQ(push(told, large), ErrorCode::telemetry_too_large);
  now += interval;
  const auto bomb = protocol::compress({protocol::Codec::gzip}, as_byte_view(std::string(1 << 20, 'x')));
  EXPECT_EQ(push(told, std::string(as_text(bomb)), false, 1), ErrorCode::telemetry_too_large);
}

TEST_F(ClientTelemetryTest, what_cannot_be_read_is_an_invalid_record) {
  const auto told = subscribe();
  EXPECT_EQ(push(told, "no metrics at all"), ErrorCode::invalid_record);
  now += interval;
  EXPECT_EQ(push(told, "no gzip", false, 1), ErrorCode::invalid_record);
  EXPECT_THAT(telemetry.samples(now), IsEmpty());
}

TEST_F(ClientTelemetryTest, a_client_is_forgotten_with_its_connection_or_when_it_is_silent) {
  const auto told = subscribe();
  EXPECT_EQ(push(told, pushed("a.total", 1)), ErrorCode::none);
  telemetry.connection_closed(2);
  EXPECT_THAT(telemetry.samples(now), SizeIs(1));
  telemetry.connection_closed(1);
  EXPECT_THAT(telemetry.samples(now), IsEmpty());
  subscribe({}, 3);
  EXPECT_EQ(telemetry.clients(now), 1U);
  now += milliseconds(60'000);
  EXPECT_EQ(telemetry.clients(now), 0U);
}

TEST_F(ClientTelemetryTest, a_connection_speaks_for_one_client) {
  for (int i = 0; i < 10; ++i) subscribe({}, 1);
  EXPECT_EQ(telemetry.clients(now), 1U);
}

TEST_F(ClientTelemetryTest, series_of_a_client_are_bounded) {
  otlp::MetricsData data;
  auto& scope = *data.add_resource_metrics()->add_scope_metrics();
  for (std::size_t i = 0; i < ClientTelemetry::series_of_client + 10; ++i) {
    auto& metric = *scope.add_metrics();
    metric.set_name(std::to_string(i));
    metric.mutable_gauge()->add_data_points()->set_as_double(1);
  }
  ClientTelemetry roomy(1 << 20);
  const auto told = roomy.subscribe({}, who, 1, image, now);
  const std::string bytes = data.SerializeAsString();
  EXPECT_EQ(roomy.push({told.instance, told.id, false, 0, as_byte_view(bytes)}, who, 1, image, now),
            ErrorCode::none);
  EXPECT_THAT(roomy.samples(now), SizeIs(ClientTelemetry::series_of_client));
}

TEST_F(ClientTelemetryTest, of_too_many_clients_the_one_that_was_silent_longest_goes) {
  const auto first = subscribe({}, 1);
  EXPECT_EQ(push(first, pushed("a.total", 1)), ErrorCode::none);
  for (uint64_t i = 0; i < ClientTelemetry::clients_max; ++i) subscribe({}, 2 + i);
  EXPECT_EQ(telemetry.clients(now), ClientTelemetry::clients_max);
  EXPECT_THAT(telemetry.samples(now), IsEmpty());
}

}  // namespace
}  // namespace barnabas::broker
