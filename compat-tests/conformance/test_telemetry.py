"""GetTelemetrySubscriptions and PushTelemetry (KIP-714): who is asked for what, when, and what is taken."""

import gzip
import os
import time
import unittest
import uuid

import codes
from base import ConformanceTest, chosen_target, eventually

CLIENT_METRICS = 16
SET, DELETE = 0, 1
INTERVAL_MS = 200  # to be waited for
LONG_INTERVAL_MS = 60_000
NOTHING_ASKED_MS = 300_000
NONE, GZIP, SNAPPY, LZ4, ZSTD = range(5)
UNSUPPORTED_COMPRESSION_TYPE, UNKNOWN_SUBSCRIPTION_ID, TELEMETRY_TOO_LARGE = 76, 117, 118
# MetricsData with one gauge "up" of 1.0, as OpenTelemetry's protobuf messages have it.
POINT = b"\x21" + bytes.fromhex("000000000000f03f")
GAUGE = b"\x0a" + bytes([len(POINT)]) + POINT
METRIC = b"\x0a\x02up\x2a" + bytes([len(GAUGE)]) + GAUGE
SCOPE = b"\x12" + bytes([len(METRIC)]) + METRIC
RESOURCE = b"\x12" + bytes([len(SCOPE)]) + SCOPE
METRICS = b"\x0a" + bytes([len(RESOURCE)]) + RESOURCE


@unittest.skipIf(chosen_target() == "kafka" and not os.environ.get("BARNABAS_KAFKA_TAKES_TELEMETRY"),
                 "Apache Kafka announces these only with a reporter that takes telemetry")
class TelemetryTest(ConformanceTest):
    def setUp(self):
        super().setUp()
        self.name = self.new_name()
        self.connection = self.new_connection(client_id=self.name)
        self.connection.call("ApiVersions", 3, clientSoftwareName="probe", clientSoftwareVersion="1.2")

    def alter(self, *configs):
        """A subscription of this case's client only."""
        sent = [{"name": key, "configOperation": DELETE if value is None else SET, "value": value} for key, value in configs]
        answer = self.client.call("IncrementalAlterConfigs", 1, validateOnly=False, resources=[
            {"resourceType": CLIENT_METRICS, "resourceName": self.name, "configs": sent}])
        self.assertEqual([r.errorCode for r in answer.responses], [0])

    def subscribe_to(self, metrics, interval_ms=INTERVAL_MS, match=None):
        keys = ("metrics", "interval.ms", "match")
        self.addCleanup(self.alter, *((key, None) for key in keys))
        self.alter(*zip(keys, (metrics, str(interval_ms), match or f"client_id={self.name}")))
        # Brokers learn of it a little later than the controller.
        self.assertTrue(match or eventually(lambda: self.other_told("x", "1").pushIntervalMs == interval_ms))

    def other_told(self, software, version):
        """What another connection of the same client is told."""
        with self.new_connection(client_id=self.name) as other:
            other.call("ApiVersions", 3, clientSoftwareName=software, clientSoftwareVersion=version)
            return other.call("GetTelemetrySubscriptions", 0, clientInstanceId=bytes(16))

    def ask(self, instance=bytes(16)):
        return self.connection.call("GetTelemetrySubscriptions", 0, clientInstanceId=instance)

    def push(self, told, metrics=METRICS, terminating=False, compression=NONE, subscription=None):
        return self.connection.call(
            "PushTelemetry", 0, clientInstanceId=told.clientInstanceId, terminating=terminating,
            subscriptionId=told.subscriptionId if subscription is None else subscription,
            compressionType=compression, metrics=metrics).errorCode

    def await_interval(self):
        time.sleep(INTERVAL_MS / 1000 + 0.02)


class Asking(TelemetryTest):
    def test_a_client_that_nobody_wants_to_hear_of_pushes_nothing(self):
        told = self.ask()
        self.assertEqual((told.errorCode, told.throttleTimeMs, list(told.requestedMetrics), told.pushIntervalMs),
                         (codes.NONE, 0, [], NOTHING_ASKED_MS))
        self.assertNotEqual(told.clientInstanceId, bytes(16))
        self.assertEqual(list(told.acceptedCompressionTypes), [ZSTD, LZ4, GZIP, SNAPPY])
        self.assertEqual((told.telemetryMaxBytes, told.deltaTemporality), (1048576, True))

    def test_a_client_keeps_the_id_that_it_has(self):
        own = uuid.uuid4().bytes
        self.assertEqual(self.ask(own).clientInstanceId, own)

    def test_those_who_match_are_told_of_metrics_and_interval(self):
        self.subscribe_to("org.apache.kafka.producer.,org.apache.kafka.consumer.")
        told = self.ask()
        self.assertEqual(sorted(told.requestedMetrics), ["org.apache.kafka.consumer.", "org.apache.kafka.producer."])
        self.assertEqual(told.pushIntervalMs, INTERVAL_MS)

    def test_all_metrics_are_a_star(self):
        self.subscribe_to("a,*,b")
        self.assertEqual(list(self.ask().requestedMetrics), ["*"])

    def test_software_and_address_match_too_and_all_patterns_must(self):
        software = "client_software_name=pro.*,client_software_version=1\\..*,client_source_address=127\\..*"
        self.subscribe_to("a", match=f"client_id={self.name},{software}")
        self.assertTrue(eventually(lambda: list(self.other_told("probe", "1.2").requestedMetrics) == ["a"]))
        self.assertEqual(list(self.other_told("probe", "2.2").requestedMetrics), [])
        self.assertEqual(list(self.other_told("a-probe", "1.2").requestedMetrics), [])

    def test_who_asks_again_before_the_interval_is_over_is_throttled(self):
        told = self.ask()
        again = self.ask(told.clientInstanceId)
        self.assertEqual((again.errorCode, again.clientInstanceId, again.subscriptionId),
                         (codes.THROTTLING_QUOTA_EXCEEDED, bytes(16), 0))

    def test_a_change_may_be_asked_for_at_once(self):
        told = self.ask()
        self.subscribe_to("a")
        again = self.ask(told.clientInstanceId)
        self.assertEqual((again.errorCode, list(again.requestedMetrics)), (codes.NONE, ["a"]))
        self.assertNotEqual(again.subscriptionId, told.subscriptionId)


class Pushing(TelemetryTest):
    def setUp(self):
        super().setUp()
        self.subscribe_to("*")
        self.told = self.ask()
        self.assertEqual(self.told.errorCode, codes.NONE)

    def test_the_first_push_may_come_at_once_and_the_next_one_after_the_interval(self):
        self.assertEqual(self.push(self.told), codes.NONE)
        self.await_interval()
        self.assertEqual(self.push(self.told), codes.NONE)

    def test_a_second_push_before_the_interval_is_over_is_throttled(self):
        self.subscribe_to("*", LONG_INTERVAL_MS)
        told = self.ask(self.told.clientInstanceId)
        self.assertEqual(self.push(told), codes.NONE)
        self.assertEqual(self.push(told), codes.THROTTLING_QUOTA_EXCEEDED)

    def test_the_last_push_may_come_early_and_nothing_comes_behind_it(self):
        self.assertEqual(self.push(self.told), codes.NONE)
        self.assertEqual(self.push(self.told, terminating=True), codes.NONE)
        self.assertEqual(self.push(self.told), codes.INVALID_REQUEST)

    def test_a_push_for_another_subscription_is_unknown_and_the_client_may_ask_at_once(self):
        self.assertEqual(self.push(self.told, subscription=self.told.subscriptionId ^ 1), UNKNOWN_SUBSCRIPTION_ID)
        self.assertEqual(self.ask(self.told.clientInstanceId).errorCode, codes.NONE)

    def test_compressed_pushes_are_read_and_unknown_codecs_are_not(self):
        self.assertEqual(self.push(self.told, gzip.compress(METRICS), compression=GZIP), codes.NONE)
        self.await_interval()
        self.assertEqual(self.push(self.told, compression=5), UNSUPPORTED_COMPRESSION_TYPE)
        self.assertEqual(self.ask(self.told.clientInstanceId).errorCode, codes.NONE)

    def test_a_push_above_the_limit_is_too_large(self):
        self.assertEqual(self.push(self.told, bytes(1048577)), TELEMETRY_TOO_LARGE)

    def test_a_push_without_metrics_is_taken(self):
        self.assertEqual(self.push(self.told, b""), codes.NONE)

    def test_ids_that_no_client_has_are_invalid(self):
        for instance in (bytes(16), bytes(15) + b"\1"):
            answer = self.connection.call("PushTelemetry", 0, clientInstanceId=instance, terminating=False,
                                          subscriptionId=0, compressionType=NONE, metrics=METRICS)
            self.assertEqual(answer.errorCode, codes.INVALID_REQUEST)


@unittest.skipUnless(chosen_target() == "barnabas", "what becomes of the metrics is a plug-in's affair in Apache Kafka")
class Unreadable(TelemetryTest):
    def test_what_is_no_metrics_message_is_an_invalid_record(self):
        self.subscribe_to("*")
        told = self.ask()
        self.assertEqual(self.push(told, b"no metrics"), codes.INVALID_RECORD)
        self.await_interval()
        self.assertEqual(self.push(told, b"no gzip", compression=GZIP), codes.INVALID_RECORD)
        self.await_interval()
        self.assertEqual(self.push(told, gzip.compress(bytes(2 << 20)), compression=GZIP), TELEMETRY_TOO_LARGE)


if __name__ == "__main__":
    unittest.main()
