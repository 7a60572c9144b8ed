#!/usr/bin/env python3
"""Quotas as clients feel them: what librdkafka's producers and consumers get through, and what they are told."""

import pathlib
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "harness"), str(HERE.parent / "conformance")]

import python_environment  # noqa: E402
import suite  # noqa: E402
from broker import Broker  # noqa: E402

python_environment.enter("confluent-kafka", __file__)

from base import Client, eventually  # noqa: E402
from confluent_kafka import Consumer, Producer, TopicPartition  # noqa: E402
from quotas import described, entity, set_quotas  # noqa: E402

# Two windows of a second: a burst is spread over one second, and measuring takes seconds instead of a minute.
WINDOWS = {"quota.window.num": "3", "quota.window.size.seconds": "1", "num.network.threads": "4"}
RATE = 1_000_000
SECONDS = 5


class QuotasTest(suite.BrokerTest):
    topics = 0

    def setUp(self):
        self.raw = Client((self.broker.bootstrap.split(":")[0], self.broker.port))
        self.addCleanup(self.raw.close)

    def limit(self, parts, **quotas):
        set_quotas(self.raw, parts, **quotas)
        key = tuple((part["entityType"], part["entityName"]) for part in parts)
        self.assertTrue(eventually(lambda: quotas.items() <= described(self.raw).get(key, {}).items()))

    def topic_of(self, partitions=4):
        QuotasTest.topics += 1
        name = f"{self.topic()}-{QuotasTest.topics}"
        self.raw.create_usable(name, partitions)
        return name

    def produced_in(self, topic, client_id, seconds, told, **settings):
        """Bytes that are acknowledged within a time, by a producer that sends as fast as it may."""
        done = [0]

        def delivered(error, message):
            if error is None:
                done[0] += len(message.value())

        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "client.id": client_id, "linger.ms": 5,
                             "throttle_cb": lambda event: told.append(event.throttle_time), "acks": "all",
                             "batch.size": 100_000, "queue.buffering.max.kbytes": 2_000, **settings})
        value = bytes(10_000)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                producer.produce(topic, value, on_delivery=delivered)
                producer.poll(0)
            except BufferError:
                producer.poll(0.01)
        got = done[0]
        producer.purge()
        producer.flush(1)
        return got

    def assert_within(self, got, seconds):
        """At most the quota and what two windows hold at once; at least most of it."""
        self.assertLess(got, RATE * (seconds + 3))
        self.assertGreater(got, RATE * seconds * 0.6)

    def test_producer_keeps_to_its_quota_and_is_told(self):
        self.limit(entity(client_id="limited"), producer_byte_rate=RATE)
        told = []
        got = self.produced_in(self.topic_of(), "limited", SECONDS, told)
        self.assert_within(got, SECONDS)
        self.assertTrue(any(0 < seconds < 10 for seconds in told), told)
        free = self.produced_in(self.topic_of(), "free", 2, [])
        self.assertGreater(free, RATE * 2 * 3)

    def test_producers_of_a_client_id_share_its_quota(self):
        self.limit(entity(client_id="shared"), producer_byte_rate=RATE)
        topic = self.topic_of(8)
        got = [0] * 4

        def produce(number):
            got[number] = self.produced_in(topic, "shared", SECONDS, [])

        threads = [threading.Thread(target=produce, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertLess(sum(got), RATE * (SECONDS + 5))
        self.assertGreater(sum(got), RATE * SECONDS * 0.5)

    def test_consumer_keeps_to_its_quota_and_reads_on(self):
        topic = self.topic_of(1)
        self.produced_in(topic, "filler", 2, [])
        size = self.raw.end_offset(topic) * 10_000
        self.assertGreater(size, 6 * RATE)
        self.limit(entity(client_id="reader"), consumer_byte_rate=RATE)
        told = []
        consumer = Consumer({"bootstrap.servers": self.broker.bootstrap, "client.id": "reader", "group.id": "g",
                             "throttle_cb": lambda event: told.append(event.throttle_time)})
        consumer.assign([TopicPartition(topic, 0, 0)])
        got, began = 0, time.monotonic()
        while time.monotonic() < began + SECONDS and got < size:
            message = consumer.poll(0.1)
            if message and not message.error():
                got += len(message.value())
        took = time.monotonic() - began
        consumer.close()
        self.assertLess(got, RATE * (took + 3))
        self.assertGreater(got, min(size, RATE * took * 0.6))
        self.assertTrue(told)

    def test_kcat_is_limited_by_its_user(self):
        suite.require_tools("kcat")
        topic = self.topic_of(1)
        self.limit(entity(user=None), producer_byte_rate=RATE)
        self.addCleanup(lambda: set_quotas(self.raw, entity(user=None), producer_byte_rate=None))
        began = time.monotonic()
        lines = (b"x" * 9_999 + b"\n") * 500
        done = subprocess.run(["kcat", "-b", self.broker.bootstrap, "-t", topic, "-P", "-p", "0"], input=lines, timeout=60)
        self.assertEqual(done.returncode, 0)
        self.assertEqual(self.raw.end_offset(topic), 500)
        self.assertGreater(time.monotonic() - began, 2)


if __name__ == "__main__":
    suite.main(Broker(properties=WINDOWS))
