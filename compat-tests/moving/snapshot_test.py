#!/usr/bin/env python3
"""The metadata log after Barnabas has cut it: it begins with a snapshot, and Apache Kafka goes on from there, and back."""

import pathlib
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
for room in ("compat-tests/harness", "compat-tests/conformance", "tools/peers/kafka"):
    sys.path.append(str(PROJECT / room))

import suite  # noqa: E402
from moving_case import MovingCase  # noqa: E402

OFTEN = {
    "metadata.log.max.record.bytes.between.snapshots": "6000",
    "metadata.max.retention.bytes": "20000",
}


class Snapshots(MovingCase):
    def topics(self, client):
        described = client.call("Metadata", 12, topics=None, allowAutoTopicCreation=False).topics
        return {topic.name: (topic.topicId, len(topic.partitions)) for topic in described}

    def configs(self, client, topic):
        answer = client.call("DescribeConfigs", 4, resources=[
            {"resourceType": 2, "resourceName": topic, "configurationKeys": None}])
        return {one.name: one.value for one in answer.results[0].configs if one.configSource == 1}

    def dump(self, path):
        done = suite.kafka_tool("dump-log", "--cluster-metadata-decoder", "--files", path)
        self.assertEqual(done.returncode, 0, done.stderr)
        for problem in ("Found", "Exception", "invalid", "skipping"):
            self.assertNotIn(problem, done.stdout)
        return done.stdout

    def test_kafka_goes_on_from_our_snapshot_and_we_from_kafkas(self):
        node = self.formatted_node(properties=OFTEN)
        client = self.start(node, "barnabas")
        for i in range(120):
            self.assertEqual(client.create(f"t{i}", 1 + i % 3, {"retention.ms": str(1000 + i)}).errorCode, 0)
            if i % 4 == 3:
                self.assertEqual(client.delete(f"t{i - 1}").errorCode, 0)
        before = self.topics(client)
        self.assertEqual(len(before), 90)
        node.stop()

        log = node.metadata_log
        first = min(int(path.stem) for path in log.glob("*.log"))
        self.assertGreater(first, 0, "the log was never cut")
        snapshots = sorted(log.glob("*.checkpoint"))
        self.assertLess(len(snapshots), 5)
        self.assertFalse(list(log.glob("*.tmp")))
        for path in snapshots:
            text = self.dump(path)
            for wanted in ("SnapshotHeader", "SnapshotFooter", "FEATURE_LEVEL_RECORD", "TOPIC_RECORD", "CONFIG_RECORD"):
                self.assertIn(wanted, text)
        for path in log.glob("*.log"):
            self.dump(path)

        client = self.start(node, "kafka")
        self.assertEqual(self.topics(client), before)
        self.assertEqual(self.configs(client, "t0"), {"retention.ms": "1000"})
        for i in range(60):
            client.create_usable(f"kafka-{i}", 2, {"retention.ms": "5"})
        after = self.topics(client)
        node.stop()
        self.assertGreater(max(log.glob("*.checkpoint")).name, snapshots[-1].name, "Kafka has made no snapshot")

        client = self.start(node, "barnabas")
        self.assertEqual(self.topics(client), after)
        self.assertEqual(self.configs(client, "kafka-59"), {"retention.ms": "5"})
        self.assertEqual(client.create("last").errorCode, 0)
        node.stop()


if __name__ == "__main__":
    suite.require_kafka()
    unittest.main(verbosity=2)
