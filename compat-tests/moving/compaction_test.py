#!/usr/bin/env python3
"""Compaction side by side with Apache Kafka: one directory that Kafka has written, compacted once by Kafka and once by
Barnabas, keeps the same batches and records; each then reads what the other has compacted. And the last value of each key
survives SIGKILL while it is being compacted.

    compaction_test.py [Compaction.test_NAME …]
"""

import pathlib
import random
import shutil
import sys
import time
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
for room in ("compat-tests/harness", "compat-tests/conformance", "tools/peers/kafka"):
    sys.path.append(str(PROJECT / room))

import suite  # noqa: E402

import protocol_client as raw  # noqa: E402
from base import eventually  # noqa: E402
from node import Node  # noqa: E402
from records import batch, records_of, split  # noqa: E402

TOPIC = "compacted"
CONTROL = 0x20
HORIZON = 0x40
CODECS = (0, 1, 2)  # those that records.py can read
CLEANING = {
    "log.cleaner.backoff.ms": "100",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.cleaner.min.cleanable.ratio": "0",
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "300",
    "log.segment.delete.delay.ms": "100",
}
PATIENCE_S = 60


def segments(directory):
    return sorted(path for path in directory.iterdir() if path.suffix == ".log")


def batches_of(directory):
    return [one for path in segments(directory) for one in split(path.read_bytes())]


def checkpoint(node):
    """How far TOPIC was compacted."""
    path = node.log_dirs[0] / "cleaner-offset-checkpoint"
    lines = path.read_text().splitlines()[2:] if path.exists() else []
    return {line.split()[0]: int(line.split()[2]) for line in lines}.get(TOPIC, 0)


def create(client, **configs):
    client.create_usable(TOPIC, configs={"cleanup.policy": "compact", **configs})


class Compaction(unittest.TestCase):
    maxDiff = 8000

    def client(self, node):
        client = node.client()
        self.addCleanup(client.close)
        return client

    def node(self, properties):
        node = Node(properties=properties)
        self.addCleanup(node.clean)
        return node

    # --- the same input, compacted by both ---

    def write(self, client, seed):
        """Idempotent producers, transactions that end either way, tombstones, codecs; a segment every few batches, since
        the batches' own time goes on in leaps. It lies ahead of the clock: markers bear that, and a segment that one of
        them begins would otherwise never grow old."""
        dice = random.Random(seed)
        now = int(time.time() * 1000) + 600_000
        producers = [raw.Producer(client) for _ in range(2)]
        transactional = [raw.Transactional(client, f"t{i}") for i in range(2)]
        is_open = [False, False]
        for step in range(120):
            now += dice.choice((1, 1, 5_000))
            keys = tuple(f"key {dice.randrange(12)}".encode() for _ in range(dice.randint(1, 5)))
            values = [None if dice.random() < 0.2 else f"step {step}".encode() * 20 for _ in keys]
            fields = {"keys": keys, "timestamps": [now] * len(keys), "codec": dice.choice(CODECS)}
            kind = dice.randrange(6)
            if kind < 2:
                answer = client.produce(TOPIC, batch(*values, **fields))
                self.assertEqual(answer.errorCode, 0)
            elif kind < 4:
                producers[kind - 2].send(client, TOPIC, *values, **fields)
            else:
                which = kind - 4
                transactional[which].send(client, TOPIC, *values, **fields)
                is_open[which] = True
                if dice.random() < 0.6:
                    transactional[which].end(client, dice.random() < 0.5)
                    is_open[which] = False
        for which in range(2):
            if is_open[which]:
                transactional[which].end(client, True)
        # Behind this one all of it lies in segments that are closed.
        client.produce(TOPIC, batch(b"end", keys=(b"end",), timestamps=[now + 10_000]))

    def compact(self, node, target):
        node.properties |= CLEANING | {"log.cleaner.enable": "true"}
        node.start(target)
        base = int(segments(node.partition_directory(TOPIC))[-1].stem)
        done = eventually(lambda: checkpoint(node) == base, PATIENCE_S)
        self.assertTrue(done, f"{target}: compacted up to {checkpoint(node)}, not {base}")
        node.stop()

    def survivors(self, node):
        """All that must be the same: horizons differ by the time at which each began, and compressed bytes by codec."""
        out = []
        for one in batches_of(node.partition_directory(TOPIC)):
            out.append((one.base_offset, one.last_offset_delta, one.leader_epoch, one.attributes, one.max_timestamp,
                        one.producer_id, one.producer_epoch, one.sequence, one.count, tuple(
                            (offset, stamp, key, value) for offset, stamp, key, value, _ in records_of([one]))))
        return out

    def plain_bytes(self, node):
        """Of batches that are not compressed and have no horizon: these have no reason to differ."""
        return [one.raw for one in batches_of(node.partition_directory(TOPIC))
                if one.codec == 0 and not one.attributes & HORIZON]

    def assert_dump_finds_nothing(self, node):
        files = [str(path) for path in node.partition_directory(TOPIC).iterdir()
                 if path.suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")]
        done = suite.kafka_tool("dump-log", "--deep-iteration", "--verify-index-only", "--files", ",".join(files))
        self.assertEqual(done.returncode, 0, done.stderr)
        done = suite.kafka_tool("dump-log", "--deep-iteration", "--files", ",".join(files))
        self.assertEqual(done.returncode, 0, done.stderr)
        for wrong in ("Found", "Mismatches", "isvalid: false", "Exception"):
            self.assertNotIn(wrong, done.stdout)

    def test_both_keep_the_same_and_read_what_the_other_kept(self):
        origin = self.node({"log.cleaner.enable": "false"})
        origin.format("--standalone")
        origin.start("kafka")
        client = self.client(origin)
        create(client, **{"segment.ms": "1000", "min.cleanable.dirty.ratio": "0"})
        self.write(client, seed=4)
        written = len(batches_of(origin.partition_directory(TOPIC)))
        origin.stop()
        by = {}
        for target in ("kafka", "barnabas"):
            by[target] = self.node({})
            shutil.rmtree(by[target].log_dirs[0], ignore_errors=True)
            shutil.copytree(origin.log_dirs[0], by[target].log_dirs[0])
            self.compact(by[target], target)
        self.assertEqual(self.survivors(by["barnabas"]), self.survivors(by["kafka"]))
        self.assertEqual(self.plain_bytes(by["barnabas"]), self.plain_bytes(by["kafka"]))
        self.assertLess(len(self.survivors(by["barnabas"])), written // 2)
        self.assert_dump_finds_nothing(by["barnabas"])
        # And the other way round: each goes on from there, and there is nothing left to compact.
        kept = self.survivors(by["kafka"])
        for first, then in (("kafka", "barnabas"), ("barnabas", "kafka")):
            node = by[first]
            node.start(then)
            other = self.client(node)
            read = [one.raw for one in self.read_all(other)]
            self.assertEqual(len(read), len(kept))
            node.stop()
            self.assertEqual([one[9] for one in self.survivors(node)], [one[9] for one in kept])

    def read_all(self, client):
        return client.read(TOPIC)

    # --- SIGKILL ---

    def test_last_values_survive_sigkill_while_being_compacted(self):
        node = self.node(CLEANING)
        node.start("barnabas")
        client = self.client(node)
        create(client, **{"segment.ms": "1", "min.cleanable.dirty.ratio": "0", "compression.type": "producer"})
        dice = random.Random(11)
        last, stamp = {}, int(time.time() * 1000) - 10_000_000
        for life in range(6):
            until = time.monotonic() + 1.0 + dice.random()
            while time.monotonic() < until:
                stamp += 10
                keys = tuple(f"key {dice.randrange(50)}".encode() for _ in range(5))
                values = [f"{life} {stamp} {i}".encode() for i in range(5)]
                answer = client.produce(TOPIC, batch(*values, keys=keys, timestamps=[stamp] * 5,
                                                     codec=dice.choice(CODECS)), acks=-1)
                self.assertEqual(answer.errorCode, 0)
                for i, key in enumerate(keys):
                    last[key] = (answer.baseOffset + i, values[i])
            node.kill()
            node.start("barnabas")
            client = self.client(node)
            found = {key: (offset, value) for offset, _, key, value, _ in records_of(self.read_all(client))}
            self.assertEqual(found, last)
        self.assertGreater(checkpoint(node), 0)
        node.stop()
        self.assertLess(sum(one.count for one in batches_of(node.partition_directory(TOPIC))), 500)
        self.assert_dump_finds_nothing(node)
        node.start("kafka")
        found = {key: (offset, value) for offset, _, key, value, _ in records_of(self.read_all(self.client(node)))}
        self.assertEqual(found, last)
        node.stop()


if __name__ == "__main__":
    suite.require_kafka()
    unittest.main(verbosity=2)
