#!/usr/bin/env python3
"""Apache Kafka's console consumer in a group, in both protocols at the same time: shared, killed, taken over, continued
after the broker was killed, and stopped. It commits by itself."""

import pathlib
import re
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
sys.path.insert(0, str(HERE.parent / "conformance"))
sys.path.insert(0, str(HERE.parent / "groups"))

import codes  # noqa: E402
import scenario  # noqa: E402
import suite  # noqa: E402
from base import Client, eventually  # noqa: E402
from broker import HOST, Broker  # noqa: E402
from records import batch  # noqa: E402

PARTITIONS = 4
TIMEOUT_S = 60
PROTOCOL_SETTINGS = {
    "classic": [f"session.timeout.ms={scenario.SESSION_MS}", "heartbeat.interval.ms=500"],
    "consumer": ["group.protocol=consumer"],
}


class ConsoleConsumer:
    """What it has printed: (partition, offset) in order."""

    def __init__(self, bootstrap, protocol, *more):
        self.file = tempfile.NamedTemporaryFile("w")
        settings = ["auto.commit.interval.ms=200", "auto.offset.reset=earliest", *PROTOCOL_SETTINGS[protocol]]
        self.process = subprocess.Popen(
            suite.kafka_tool_command(
                "console-consumer", "--bootstrap-server", bootstrap, "--topic", protocol, "--group", protocol,
                *[argument for setting in settings for argument in ("--command-property", setting)],
                "--formatter-property", "print.partition=true", "--formatter-property", "print.offset=true", *more),
            stdin=subprocess.DEVNULL, stdout=self.file, stderr=subprocess.DEVNULL)

    def read(self):
        # Opened anew: a seek in the file it was given would also move the place where it writes.
        printed = pathlib.Path(self.file.name).read_text()
        return [(int(match[1]), int(match[2])) for match in re.finditer(
            r"^Partition:(\d+)\tOffset:(\d+)\t\w+$", printed, re.MULTILINE)]

    def end(self):
        """SIGTERM; the consumer commits and leaves in the JVM's shutdown."""
        self.process.terminate()
        return self.process.wait(TIMEOUT_S)

    def kill(self):
        self.process.kill()
        self.process.wait()

    def clean(self):
        self.kill()
        self.file.close()


class Groups(suite.BrokerTest):
    def setUp(self):
        self.connect()
        self.ends = [0] * PARTITIONS
        self.consumers = {protocol: [] for protocol in PROTOCOL_SETTINGS}

    def connect(self):
        self.client = Client((HOST, self.broker.port))
        self.addCleanup(self.client.close)

    def start(self, *more):
        for protocol, consumers in self.consumers.items():
            consumers.append(ConsoleConsumer(self.broker.bootstrap, protocol, *more))
            self.addCleanup(consumers[-1].clean)

    def produce(self):
        for partition in range(PARTITIONS):
            for protocol in PROTOCOL_SETTINGS:
                # A broker that has just started may not lead it yet.
                self.assertTrue(eventually(
                    lambda: self.client.produce(protocol, batch(b"value"), partition).errorCode == codes.NONE))
            self.ends[partition] += 1

    def wait(self, what, condition):
        deadline = time.monotonic() + TIMEOUT_S
        while not all(condition(consumers) for consumers in self.consumers.values()):
            self.assertLess(time.monotonic(), deadline, f"not in time: {what}")
            time.sleep(0.05)

    def all_is_read(self, consumers):
        expected = {(p, offset) for p, end in enumerate(self.ends) for offset in range(end)}
        return {record for consumer in consumers for record in consumer.read()} == expected

    def produce_until_each_has_read(self):
        seen = {id(consumer): len(consumer.read()) for both in self.consumers.values() for consumer in both}

        def each_has_more(consumers):
            self.produce()
            return all(len(consumer.read()) > seen[id(consumer)] for consumer in consumers)

        self.wait("both read", each_has_more)

    def stored(self, protocol):
        asked = {"groupId": protocol, "topics": [{"name": protocol, "partitionIndexes": list(range(PARTITIONS))}]}
        answer = self.client.call("OffsetFetch", 8, groups=[asked], requireStable=False).groups[0]
        return [p.committedOffset for p in sorted(answer.topics[0].partitions, key=lambda p: p.partitionIndex)]

    def test_life_of_a_group(self):
        for protocol in PROTOCOL_SETTINGS:
            self.client.create_usable(protocol, PARTITIONS)
        self.start()
        self.start()
        self.produce_until_each_has_read()
        self.wait("all is read by both", self.all_is_read)
        for protocol, both in self.consumers.items():
            read = [record for consumer in both for record in consumer.read()]
            self.assertEqual(len(read), len(set(read)), f"{protocol}: twice, though nobody has died")

        for both in self.consumers.values():
            both[0].kill()
        self.produce()
        self.wait("the other takes over", self.all_is_read)

        self.broker.kill()
        self.broker.start()
        self.connect()
        self.produce()
        self.wait("it goes on after the broker has died", self.all_is_read)

        for protocol, (_, survivor) in self.consumers.items():
            survivor.end()
            self.assertEqual(self.stored(protocol), self.ends, protocol)

        self.produce()
        self.start("--max-messages", PARTITIONS)
        for protocol, consumers in self.consumers.items():
            self.assertEqual(consumers[-1].process.wait(TIMEOUT_S), 0)
            expected = [(partition, end - 1) for partition, end in enumerate(self.ends)]
            self.assertEqual(sorted(consumers[-1].read()), expected, protocol)


if __name__ == "__main__":
    suite.require_kafka()
    suite.main(Broker(properties=scenario.PROPERTIES))
