#!/usr/bin/env python3
"""Ten thousand partitions: made, written, stopped, killed and deleted, with a thousand descriptors. Bounds are on the
broker's own processor time and on memory: the machine may have other work, and what a file system takes for thousands of
files depends on what was deleted before.
"""

import os
import pathlib
import sys
import tempfile
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "harness"), str(TESTS / "conformance")]

from broker import HOST, Broker, barnabas_binary  # noqa: E402
from client import Connection  # noqa: E402
from records import batch  # noqa: E402

PARTITIONS = 10_000
DESCRIPTORS = 1024
SMALL = batch(b"x" * 1500)
LARGE = batch(b"y" * 900_000)
PATIENCE_S = 300


def names(count):
    return [f"part-{i}" for i in range(count)]


class Scale(unittest.TestCase):
    def start(self, **properties):
        broker = Broker(target="barnabas", properties=properties)
        self.addCleanup(broker.clean)
        return broker.start()

    def connect(self, broker):
        connection = Connection((HOST, broker.port), timeout=PATIENCE_S)
        self.addCleanup(connection.close)
        return connection

    def cpu(self, broker):
        """Processor seconds of the broker so far, without the system's."""
        fields = pathlib.Path(f"/proc/{broker.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return int(fields[11]) / os.sysconf("SC_CLK_TCK")

    def assert_small(self, broker):
        self.assertLess(broker.rss(), 200 << 20)
        self.assertLess(len(os.listdir(f"/proc/{broker.pid}/fd")), DESCRIPTORS)

    def create(self, connection, topics, partitions):
        answer = connection.call("CreateTopics", 7, timeoutMs=120_000, topics=[
            {"name": name, "numPartitions": partitions, "replicationFactor": 1} for name in topics])
        self.assertEqual({topic.errorCode for topic in answer.topics}, {0})

    def produce(self, connection, topic, partitions, records, acks=-1):
        for first in range(0, len(partitions), 500):
            answer = connection.call("Produce", 9, acks=acks, timeoutMs=60_000, topicData=[
                {"name": topic, "partitionData": [{"index": p, "records": records} for p in partitions[first:first + 500]]}])
            self.assertEqual({p.errorCode for p in answer.responses[0].partitionResponses}, {0})

    def ends(self, broker, topic, partitions):
        answer = self.connect(broker).call("ListOffsets", 5, replicaId=-1, topics=[
            {"name": topic, "partitions": [{"partitionIndex": p, "timestamp": -1} for p in range(partitions)]}])
        self.assertEqual({p.errorCode for p in answer.topics[0].partitions}, {0})
        return [p.offset for p in sorted(answer.topics[0].partitions, key=lambda p: p.partitionIndex)]

    def delete(self, connection, topics):
        answer = connection.call("DeleteTopics", 5, topicNames=topics, timeoutMs=120_000)
        self.assertEqual({topic.errorCode for topic in answer.responses}, {0})

    def test_one_topic_of_ten_thousand_partitions(self):
        broker = self.start(**{"log.segment.delete.delay.ms": "0"})
        connection = self.connect(broker)
        self.create(connection, ["wide"], PARTITIONS)
        self.assertLess(self.cpu(broker), 10)
        self.assert_small(broker)
        everywhere = list(range(PARTITIONS))
        self.produce(connection, "wide", everywhere, SMALL)
        for _ in range(4):
            self.produce(connection, "wide", everywhere[:10], LARGE)
        expected = [5 if p < 10 else 1 for p in everywhere]
        self.assertEqual(self.ends(broker, "wide", PARTITIONS), expected)
        self.assert_small(broker)

        with self.subTest("an idle broker has nothing to do"):
            time.sleep(6)  # what the writes left to do is done
            before = self.cpu(broker)
            time.sleep(6)
            self.assertLess(self.cpu(broker) - before, 0.15)

        with self.subTest("a clean stop and start"):
            self.assertEqual(broker.stop(), 0)
            broker.start()
            self.assertLess(self.cpu(broker), 2)
            self.assertEqual(self.ends(broker, "wide", PARTITIONS), expected)
            self.assert_small(broker)

        with self.subTest("SIGKILL with news in every partition"):
            self.produce(self.connect(broker), "wide", everywhere, SMALL, acks=1)
            broker.kill()
            broker.start()
            self.assertLess(self.cpu(broker), 15)
            self.assertEqual(self.ends(broker, "wide", PARTITIONS), [end + 1 for end in expected])
            self.assert_small(broker)

        with self.subTest("deleted"):
            connection = self.connect(broker)
            before = self.cpu(broker)
            self.delete(connection, ["wide"])
            deadline = time.monotonic() + PATIENCE_S
            while any(broker.data_dir.glob("wide-*")) and time.monotonic() < deadline:
                time.sleep(0.1)
            self.assertEqual(list(broker.data_dir.glob("wide-*")), [])
            self.assertLess(self.cpu(broker) - before, 10)
            self.assertEqual(connection.call("Metadata", 12, topics=None).topics, [])

    def test_a_hundred_topics_of_a_hundred_partitions(self):
        broker = self.start()
        connection = self.connect(broker)
        topics = names(PARTITIONS // 100)
        for topic in topics:
            self.create(connection, [topic], 100)
        self.assertLess(self.cpu(broker), 10)
        self.assert_small(broker)
        # The last costs what the first did: nothing looks at all of them for one.
        before = self.cpu(broker)
        self.create(connection, names(1_000 + PARTITIONS // 100)[PARTITIONS // 100:][:50], 1)
        self.assertLess(self.cpu(broker) - before, 1)
        self.delete(connection, topics)
        self.assertEqual(len(connection.call("Metadata", 12, topics=None).topics), 50)


def with_few_descriptors():
    """A broker raises its limit as far as it may, so it is started by a shell that has lowered it for good."""
    directory = tempfile.TemporaryDirectory()
    wrapper = pathlib.Path(directory.name) / "barnabas"
    wrapper.write_text(f'#!/bin/sh\nulimit -n {DESCRIPTORS}\nexec "{barnabas_binary()}" "$@"\n')
    wrapper.chmod(0o755)
    os.environ["BARNABAS_BINARY"] = str(wrapper)
    return directory


if __name__ == "__main__":
    with with_few_descriptors():
        unittest.main(verbosity=2)
