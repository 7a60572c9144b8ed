#!/usr/bin/env python3
"""Apache Kafka's own Java clients: its command-line tools, and ClientTest.java with kafka-clients."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

import suite  # noqa: E402
from broker import Broker  # noqa: E402

CLIENT_TIMEOUT_S = 180


class Tools(suite.BrokerTest):
    def tool(self, name, *arguments, stdin=None):
        """What the tool prints; fails the case when it does not end with 0."""
        done = suite.kafka_tool(name, "--bootstrap-server", self.broker.bootstrap, *arguments, stdin=stdin)
        self.assertEqual(done.returncode, 0, f"{name}: {done.stdout}{done.stderr}")
        return done.stdout

    def create_topic(self, partitions, *more):
        """Where one partition will do, cases leave it to the broker, since each tool is a JVM that must start."""
        self.tool("topics", "--create", "--topic", self.topic(), "--partitions", partitions, *more)
        return self.topic()

    def test_console_producer_to_console_consumer(self):
        topic = self.topic()
        self.tool("console-producer", "--topic", topic, "--reader-property", "parse.key=true",
                  "--reader-property", "parse.headers=true",
                  stdin="a:1,b:2\tk1\tv1\nd:\tk2\tv2\nc:3\tk3\tv3\n")
        read = ["console-consumer", "--topic", topic, "--partition", "0", "--timeout-ms", "20000"]
        printed = self.tool(*read, "--offset", "earliest", "--max-messages", "3", *[
            argument for name in ("key", "headers", "offset", "partition")
            for argument in ("--formatter-property", f"print.{name}=true")
        ])
        self.assertEqual(printed.splitlines(), [
            "Partition:0\tOffset:0\ta:1,b:2\tk1\tv1",
            "Partition:0\tOffset:1\td:\tk2\tv2",
            "Partition:0\tOffset:2\tc:3\tk3\tv3",
        ])
        self.assertEqual(self.tool(*read, "--offset", "2", "--max-messages", "1"), "v3\n")

    def test_console_producer_compresses(self):
        topic = self.topic()
        for compression in ("gzip", "snappy", "lz4", "zstd"):
            self.tool("console-producer", "--topic", topic, "--compression-codec", compression,
                      stdin=f"packed with {compression}\n" * 20)
        printed = self.tool("console-consumer", "--topic", topic, "--partition", "0", "--offset", "earliest",
                            "--max-messages", "80", "--timeout-ms", "20000")
        expected = [f"packed with {c}" for c in ("gzip", "snappy", "lz4", "zstd") for _ in range(20)]
        self.assertEqual(printed.splitlines(), expected)

    def test_producer_perf_test_loses_nothing(self):
        topic = self.create_topic(3)
        for acks, compression in (("all", "none"), ("1", "lz4")):
            printed = self.tool(
                "producer-perf-test", "--topic", topic, "--num-records", "50000", "--record-size", "1000",
                "--throughput", "-1", "--command-property", f"acks={acks}", f"compression.type={compression}")
            self.assertRegex(printed, r"50000 records sent, [\d.]+ records/sec")
        at_end = self.tool("get-offsets", "--topic", topic).split()
        self.assertEqual(sum(int(line.rpartition(":")[2]) for line in at_end), 2 * 50000)

    def test_consumer_perf_test_reads_everything(self):
        topic = self.create_topic(2)
        self.tool("producer-perf-test", "--topic", topic, "--num-records", "20000", "--record-size", "500",
                  "--throughput", "-1")
        for more in ([], ["--group", "perf", "--command-property", "group.protocol=consumer"]):
            printed = self.tool("consumer-perf-test", "--topic", topic, "--num-records", "20000", "--hide-header", *more)
            self.assertEqual(int(printed.split(",")[4]), 20000, printed)

    def test_verifiable_producer_gets_every_acknowledgement(self):
        printed = self.tool("verifiable-producer", "--topic", self.topic(), "--max-messages", "2000")
        events = [json.loads(line) for line in printed.splitlines()]
        offsets = [event["offset"] for event in events if event["name"] == "producer_send_success"]
        self.assertEqual(offsets, list(range(2000)))

    def test_verifiable_consumer_and_streams_application_reset(self):
        """The group of the one is an application to the other."""
        topic = self.topic()
        self.tool("verifiable-producer", "--topic", topic, "--max-messages", "500")
        printed = self.tool("verifiable-consumer", "--topic", topic, "--group-id", "an-application", "--max-messages",
                            "500", "--reset-policy", "earliest")
        events = [json.loads(line) for line in printed.splitlines() if line.startswith("{")]
        self.assertEqual(sum(event["count"] for event in events if event["name"] == "records_consumed"), 500)
        committed = [event for event in events if event["name"] == "offsets_committed"]
        self.assertTrue(committed and all(event["success"] for event in committed), printed)
        printed = self.tool("streams-application-reset", "--application-id", "an-application", "--input-topics", topic,
                            "--force")
        self.assertIn(f"Topic: {topic} Partition: 0 Offset: 0", printed)

    def test_end_to_end_latency(self):
        done = suite.kafka_tool("e2e-latency", self.broker.bootstrap, self.create_topic(1), "200", "all", "100")
        self.assertRegex(done.stdout, r"Avg latency: [\d.]+ ms", done.stderr)

    def test_replica_verification_finds_no_difference(self):
        topic = self.create_topic(1)
        command = suite.kafka_tool_command(
            "replica-verification", "--broker-list", self.broker.bootstrap, "--topics-include", topic,
            "--report-interval-ms", "200")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as verifying:
            found = next((line for line in verifying.stdout if "max lag is" in line), "")
            verifying.kill()
        self.assertIn("max lag is 0 for partition", found)

    def test_topic_from_creation_to_deletion(self):
        topic = self.create_topic(2, "--config", "retention.ms=86400000")
        described = self.tool("topics", "--describe", "--topic", topic)
        self.assertRegex(described, r"TopicId: \S{22}\s+PartitionCount: 2\s+ReplicationFactor: 1")
        self.assertRegex(described, r"Configs: .*retention\.ms=86400000")
        self.assertEqual(len(re.findall(r"Partition: \d\s+Leader: \d+\s+Replicas: \d+\s+Isr: \d+", described)), 2)
        self.tool("topics", "--alter", "--topic", topic, "--partitions", "5")
        self.assertIn("PartitionCount: 5", self.tool("topics", "--describe", "--topic", topic))
        self.assertIn(topic, self.tool("topics", "--list").split())
        self.tool("topics", "--delete", "--topic", topic)
        self.assertNotIn(topic, self.tool("topics", "--list").split())

    def test_offsets_by_name_and_deleted_records(self):
        topic = self.create_topic(2)
        # So many batches that each partition gets some.
        self.tool("producer-perf-test", "--topic", topic, "--num-records", "20000", "--record-size", "100",
                  "--throughput", "-1")
        at_end = self.tool("get-offsets", "--topic", topic).split()
        self.assertEqual([line.rpartition(":")[0] for line in at_end], [f"{topic}:0", f"{topic}:1"])
        for when in ("earliest", "0"):
            self.assertEqual(self.tool("get-offsets", "--topic", topic, "--time", when).split(),
                             [f"{topic}:0:0", f"{topic}:1:0"])
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            json.dump({"version": 1, "partitions": [{"topic": topic, "partition": 1, "offset": 30}]}, file)
            file.flush()
            self.assertIn("low_watermark: 30", self.tool("delete-records", "--offset-json-file", file.name))
        self.assertEqual(self.tool("get-offsets", "--topic", topic, "--time", "earliest").split(),
                         [f"{topic}:0:0", f"{topic}:1:30"])

    def test_log_dirs_shows_each_partition(self):
        topic = self.create_topic(3)
        printed = self.tool("log-dirs", "--describe", "--topic-list", topic)
        answer = json.loads(printed.splitlines()[-1])
        (directory,) = answer["brokers"][0]["logDirs"]
        self.assertIsNone(directory["error"])
        self.assertEqual(sorted(p["partition"] for p in directory["partitions"]), [f"{topic}-{i}" for i in range(3)])

    def test_producers_of_a_partition_are_described(self):
        topic = self.topic()
        self.tool("producer-perf-test", "--topic", topic, "--num-records", "10", "--record-size", "10",
                  "--throughput", "-1")
        printed = self.tool("transactions", "describe-producers", "--topic", topic, "--partition", "0")
        fields = dict(zip(*(line.split() for line in printed.splitlines())))
        self.assertEqual((fields["ProducerEpoch"], fields["LastSequence"]), ("0", "9"))

    def test_cluster_id_and_versions(self):
        done = suite.kafka_tool("cluster", "cluster-id", "--bootstrap-server", self.broker.bootstrap)
        self.assertRegex(done.stdout, r"Cluster ID: \S{22}")
        self.assertRegex(self.tool("broker-api-versions"), r"Produce\(0\): 0 to \d+ \[usable: 13\]")


class Clients(suite.BrokerTest):
    def test_kafka_clients(self):
        """Runs ClientTest.java, which says which of its own cases failed."""
        command = suite.java_command(classes, "ClientTest", self.broker.bootstrap)
        done = subprocess.run(command, timeout=CLIENT_TIMEOUT_S)
        self.assertEqual(done.returncode, 0)


if __name__ == "__main__":
    classes = suite.compile_java("java", sorted(HERE.glob("*.java")), suite.require_kafka())
    suite.main(Broker(properties=suite.KEEP_OLD_RECORDS | {"group.initial.rebalance.delay.ms": "0"}))
