#!/usr/bin/env python3
"""kcat as people use it at the prompt: list, produce, consume, query offsets."""

import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "harness"))

import suite  # noqa: E402
from broker import Broker  # noqa: E402

TIMEOUT_S = 60
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")


class Kcat(suite.BrokerTest):
    def kcat(self, *arguments, stdin=b""):
        """What kcat prints; fails the case when it does not end with 0."""
        done = self.run_kcat(*arguments, stdin=stdin)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return done.stdout

    def run_kcat(self, *arguments, stdin=b""):
        command = ["kcat", "-b", self.broker.bootstrap, *map(str, arguments)]
        return subprocess.run(command, input=stdin, capture_output=True, timeout=TIMEOUT_S)

    def produce(self, topic, data, *arguments):
        self.kcat("-P", "-t", topic, *arguments, stdin=data)

    def consume(self, topic, *arguments):
        """All of the topic, or what the arguments say, without waiting for more."""
        return self.kcat("-C", "-q", "-e", "-t", topic, *arguments)

    def test_list_shows_broker_and_topic(self):
        topic = self.topic()
        self.produce(topic, b"x\n")
        listing = json.loads(self.kcat("-L", "-J"))
        self.assertEqual([broker["name"] for broker in listing["brokers"]], [self.broker.bootstrap])
        described = {t["topic"]: t for t in listing["topics"]}[topic]
        leader = listing["brokers"][0]["id"]
        for partition in described["partitions"]:
            self.assertEqual(partition["leader"], leader)
            self.assertEqual(partition["isrs"], [{"id": leader}])
        self.assertIn(f'topic "{topic}"'.encode(), self.kcat("-L", "-t", topic))

    def test_lines_come_back_as_they_went_in(self):
        lines = b"".join(b"line %d\n" % i for i in range(5000))
        self.produce(self.topic(), lines, "-p", "0")
        self.assertEqual(self.consume(self.topic(), "-p", "0"), lines)

    def test_each_compression(self):
        lines = b"".join(b"a line that repeats, number %d\n" % i for i in range(2000))
        for compression in COMPRESSIONS:
            with self.subTest(compression=compression):
                topic = f"{self.topic()}-{compression}"
                self.produce(topic, lines, "-z", compression, "-p", "0")
                self.assertEqual(self.consume(topic, "-p", "0"), lines)

    def test_keys_headers_and_format(self):
        topic = self.topic()
        self.produce(topic, b"k1:v1\nk2:v2\n", "-p", "0", "-K:", "-H", "who=me", "-H", "empty=")
        printed = self.consume(topic, "-p", "0", "-f", "%t/%p@%o %k=%s [%h] %S\n").decode()
        self.assertEqual(
            printed.splitlines(),
            [f"{topic}/0@0 k1=v1 [who=me,empty=] 2", f"{topic}/0@1 k2=v2 [who=me,empty=] 2"],
        )

    def test_null_key_and_value(self):
        topic = self.topic()
        self.produce(topic, b"gone:\n:kept\n", "-p", "0", "-K:", "-Z")
        records = [json.loads(line) for line in self.consume(topic, "-p", "0", "-J").splitlines()]
        self.assertEqual([(r["key"], r["payload"]) for r in records], [("gone", None), (None, "kept")])

    def test_offsets_from_start_end_and_between(self):
        topic = self.topic()
        self.produce(topic, b"".join(b"%d\n" % i for i in range(100)), "-p", "0")
        for start, count, expected in [
            ("beginning", 2, [0, 1]), ("42", 2, [42, 43]), ("-3", 3, [97, 98, 99]), ("99", 1, [99]),
        ]:
            with self.subTest(start=start):
                printed = self.consume(topic, "-p", "0", "-o", start, "-c", count)
                self.assertEqual([int(line) for line in printed.split()], expected)
        self.assertEqual(self.consume(topic, "-p", "0", "-o", "end"), b"")

    def test_query_offsets_by_time(self):
        topic = self.topic()
        self.produce(topic, b"one\n", "-p", "0")
        self.produce(topic, b"two\n", "-p", "0")
        timestamps = [int(t) for t in self.consume(topic, "-p", "0", "-f", "%T\n").split()]
        for time, expected in [(0, 0), (timestamps[1], 1), (timestamps[1] + 1, -1), (-2, 0), (-1, 2)]:
            with self.subTest(time=time):
                printed = self.kcat("-Q", "-t", f"{topic}:0:{time}").decode()
                self.assertEqual(printed.strip(), f"{topic} [0] offset {expected}")

    def test_consume_between_times(self):
        topic = self.topic()
        for value in (b"one\n", b"two\n", b"three\n"):
            self.produce(topic, value, "-p", "0")
        second, third = [int(t) for t in self.consume(topic, "-p", "0", "-f", "%T\n").split()][1:]
        self.assertEqual(self.consume(topic, "-p", "0", "-o", f"s@{second}", "-o", f"e@{third}"), b"two\n")

    def test_whole_file_as_one_record(self):
        data = bytes(range(256)) * 2000
        with tempfile.NamedTemporaryFile() as file:
            file.write(data)
            file.flush()
            self.kcat("-P", "-t", self.topic(), "-p", "0", file.name)
        self.assertEqual(self.consume(self.topic(), "-p", "0", "-D", ""), data)

    def test_idempotent_producer(self):
        lines = b"".join(b"%d\n" % i for i in range(3000))
        self.produce(self.topic(), lines, "-p", "0", "-X", "enable.idempotence=true")
        self.assertEqual(self.consume(self.topic(), "-p", "0"), lines)

    def test_acks_of_each_kind(self):
        for acks in ("0", "1", "all"):
            with self.subTest(acks=acks):
                topic = f"{self.topic()}-{acks}"
                self.produce(topic, b"value\n", "-p", "0", "-X", f"acks={acks}")
                self.assertEqual(self.consume(topic, "-p", "0"), b"value\n")

    def test_topic_that_nobody_made_is_an_error_to_a_consumer(self):
        done = self.run_kcat("-C", "-e", "-t", self.topic(), "-p", "0", "-X", "allow.auto.create.topics=false")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn(b"Unknown topic", done.stderr)


if __name__ == "__main__":
    suite.require_tools("kcat")
    suite.main(Broker())
