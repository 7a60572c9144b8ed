#!/usr/bin/env python3
"""A broker is killed while a partition moves between its log directories, and the other kind of broker goes on moving it.

    half_moved_test.py [HalfMoved.test_NAME …]
"""

import pathlib
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
for room in ("compat-tests/harness", "compat-tests/conformance", "tools/peers/kafka"):
    sys.path.append(str(PROJECT / room))

import suite  # noqa: E402
from base import eventually  # noqa: E402
from node import Node  # noqa: E402
from records import records_of  # noqa: E402

RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
SLOW, FAST = "300000", "100000000"
RECORDS = 40
ARRIVES_S = 60


class HalfMoved(unittest.TestCase):
    def setUp(self):
        self.node = Node(log_dirs=3, properties={RATE: SLOW, "log.segment.bytes": "1048576"})
        self.addCleanup(self.node.clean)
        self.node.format("--standalone")
        self.node.start("kafka")
        self.node.stop()

    def start(self, target):
        self.node.start(target)
        client = self.node.client()
        self.addCleanup(client.close)
        return client

    def places(self, client):
        """{is future: (directory, lag)} of the one partition."""
        answer = client.call("DescribeLogDirs", 5, topics=None)
        return {each.isFutureKey: (result.logDir, each.offsetLag) for result in answer.results
                for topic in result.topics if topic.name == "t" for each in topic.partitions}

    def move(self, client, target):
        answer = client.call("AlterReplicaLogDirs", 2, dirs=[{"path": target, "topics": [{"name": "t", "partitions": [0]}]}])
        self.assertEqual(answer.results[0].partitions[0].errorCode, 0)

    def is_half_way(self, client):
        place = self.places(client).get(True)
        return place is not None and 0 < place[1] < RECORDS

    def assert_whole(self, client, target):
        self.assertTrue(eventually(lambda: set(self.places(client)) == {False}, ARRIVES_S), self.places(client))
        self.assertEqual(self.places(client)[False][0], target)
        values = [value for _, _, _, value, _ in records_of(client.read("t"))]
        self.assertEqual([value[:3] for value in values], [b"%03d" % number for number in range(len(values))])
        return len(values)

    def hand_over(self, first, second):
        client = self.start(first)
        client.create_usable("t", 1, {"retention.ms": "-1"})
        for number in range(RECORDS):
            client.append("t", b"%03d" % number + b"x" * 100_000)
        source = self.places(client)[False][0]
        target, third = [str(path) for path in self.node.log_dirs if str(path) != source]
        self.move(client, target)
        self.assertTrue(eventually(lambda: self.is_half_way(client), ARRIVES_S), self.places(client))
        self.node.kill()
        self.node.properties[RATE] = FAST
        client = self.start(second)
        self.assertGreaterEqual(self.assert_whole(client, target), RECORDS)
        client.append("t", b"%03d" % RECORDS)
        self.move(client, third)
        self.assertEqual(self.assert_whole(client, third), RECORDS + 1)
        self.node.stop()
        client = self.start(first)
        self.assertEqual(self.assert_whole(client, third), RECORDS + 1)

    def test_barnabas_goes_on_where_kafka_was(self):
        self.hand_over("kafka", "barnabas")

    def test_kafka_goes_on_where_barnabas_was(self):
        self.hand_over("barnabas", "kafka")


if __name__ == "__main__":
    suite.require_kafka()
    unittest.main()
