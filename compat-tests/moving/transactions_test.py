#!/usr/bin/env python3
"""Transactions move from Apache Kafka to Barnabas and back, in every state in which a broker can stop or die; their producers
go on as if nothing had been.

    transactions_test.py [Transactions.test_NAME …]
"""

import itertools
import pathlib
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
for room in ("compat-tests/harness", "compat-tests/conformance", "tools/peers/kafka"):
    sys.path.append(str(PROJECT / room))

import suite  # noqa: E402

import protocol_client as raw  # noqa: E402
import view  # noqa: E402
from moving_case import MovingCase  # noqa: E402

TOPIC, PARTITIONS = "topic", 4
GROUP = "group"
OFFSETS_TOPIC = "__consumer_offsets"
PRODUCER_FENCED, UNSTABLE_OFFSET_COMMIT = 90, 88
COMMIT, ABORT = True, False


class Producer(raw.Transactional):
    """A record and an offset in each transaction."""

    offsets_version = 5

    def __init__(self, client, name, partition=0):
        super().__init__(client, name)
        self.partition = partition
        self.number = 0

    def ids(self):
        return {"transactionalId": self.name, "producerId": self.id, "producerEpoch": self.epoch}

    def write(self, client):
        """The transaction stays open. Returns the record's value."""
        self.number += 1
        value = f"{self.name} {self.number}"
        self.send(client, TOPIC, value.encode(), partition=self.partition)
        offsets = [{"partitionIndex": self.partition, "committedOffset": self.number, "committedMetadata": self.name}]
        raw.settled(lambda: client.call(
            "TxnOffsetCommit", self.offsets_version, groupId=GROUP, memberId="", generationIdOrMemberEpoch=-1, **self.ids(),
            topics=[{"name": TOPIC, "partitions": offsets}]), lambda got: got.topics[0].partitions[0].errorCode)
        return value


class OldProducer(Producer):
    """Of transaction version 1: it says itself what belongs to its transaction, and keeps its epoch."""

    produce_version = 9
    offsets_version = 3

    def write(self, client):
        raw.settled(lambda: client.call(
            "AddPartitionsToTxn", 3, v3AndBelowTransactionalId=self.name, v3AndBelowProducerId=self.id,
            v3AndBelowProducerEpoch=self.epoch, v3AndBelowTopics=[{"name": TOPIC, "partitions": [self.partition]}]),
            lambda got: got.resultsByTopicV3AndBelow[0].resultsByPartition[0].partitionErrorCode)
        raw.settled(lambda: client.call("AddOffsetsToTxn", 3, groupId=GROUP, **self.ids()))
        return super().write(client)

    def end(self, client, commit):
        raw.settled(lambda: client.call("EndTxn", 4, committed=commit, **self.ids()))


def listed(client):
    """{transactional id: (producer id, state)}"""
    answer = raw.settled(lambda: client.call("ListTransactions", 1, stateFilters=[], producerIdFilters=[]))
    return {one.transactionalId: (one.producerId, one.transactionState) for one in answer.transactionStates}


def committed(client):
    """{partition: (offset, metadata)}; None while somebody's transaction may change it."""
    raw.find_coordinator(client, GROUP, raw.GROUP)
    asked = [{"groupId": GROUP, "topics": [{"name": TOPIC, "partitionIndexes": list(range(PARTITIONS))}]}]
    answer = raw.settled(lambda: client.call("OffsetFetch", 8, groups=asked, requireStable=True).groups[0])
    return {one.partitionIndex: None if one.errorCode == UNSTABLE_OFFSET_COMMIT else (one.committedOffset, one.metadata)
            for one in answer.topics[0].partitions}


def records(client):
    """{partition: what a reader of committed records sees}"""
    return {index: [value.decode() for _, _, _, value, _ in view.partition(client, TOPIC, index).committed()]
            for index in range(PARTITIONS)}


def producers(client, topic, partitions):
    """All that a partition's leader knows of them."""
    answer = client.call("DescribeProducers", 0, topics=[{"name": topic, "partitionIndexes": list(range(partitions))}])
    return {one.partitionIndex: sorted((dict(each) for each in one.activeProducers), key=lambda each: each["producerId"])
            for one in answer.topics[0].partitions}


class Transactions(MovingCase):
    def start(self, node, target):
        client = super().start(node, target)
        for name in self.made:
            raw.find_coordinator(client, name, raw.TRANSACTION)
        return client

    def state(self, client):
        described = [raw.settled(lambda: client.call("DescribeTransactions", 0, transactionalIds=[name]).transactionStates[0])
                     for name in sorted(self.made)]
        for one in described:
            for topic in one.topics:
                topic.partitions.sort()
            one.topics.sort(key=lambda topic: topic.topic)
        return {"listed": listed(client), "described": [dict(one) for one in described], "offsets": committed(client),
                "partitions": {i: view.partition(client, TOPIC, i) for i in range(PARTITIONS)},
                "producers": producers(client, TOPIC, PARTITIONS)}

    def await_nothing_pending(self, client):
        raw.await_true(lambda: not any(state.startswith("Prepare") for _, state in listed(client).values()),
                       "the ends of transactions")

    def prepare(self, client):
        client.create_usable(TOPIC, PARTITIONS)
        committed(client)  # and so there is a topic for offsets
        self.written = {index: [] for index in range(PARTITIONS)}  # (value, producer), in order
        self.outcomes = {}  # of values whose transaction has ended

    def make(self, client):
        self.prepare(client)
        self.steady = [self.producer(client, Producer, "new", 0), self.producer(client, OldProducer, "old", 1)]
        self.open = []
        self.run_steady(client)

    def producer(self, client, kind, name, partition):
        self.made.append(name)
        return kind(client, name, partition)

    def run_steady(self, client):
        """Both ends."""
        for each in self.steady:
            for outcome in (COMMIT, ABORT):
                self.write(client, each)
                self.finish(client, each, outcome)
        self.await_nothing_pending(client)

    def write(self, client, producer):
        self.written[producer.partition].append((producer.write(client), producer))

    def finish(self, client, producer, outcome):
        producer.end(client, outcome)
        self.note(producer, outcome)

    def note(self, producer, outcome):
        for value, writer in self.written[producer.partition]:
            if writer is producer:
                self.outcomes.setdefault(value, outcome)

    def expected(self):
        """What a reader of committed records sees: nothing from the first open transaction on."""
        seen = {}
        for partition, values in self.written.items():
            decided = list(itertools.takewhile(lambda one: one in self.outcomes, (value for value, _ in values)))
            seen[partition] = [value for value in decided if self.outcomes[value] == COMMIT]
        return seen

    def leave_open(self, client, round_number):
        """One for each way in which it may end on the next broker."""
        for kind in (Producer, OldProducer):
            for outcome in (COMMIT, ABORT, PRODUCER_FENCED):
                each = self.producer(client, kind, f"{kind.__name__}.{outcome}.{round_number}", 2 + (kind is OldProducer))
                self.write(client, each)
                self.open.append((each, outcome))

    def end_open(self, client):
        for each, outcome in self.open:
            if outcome == PRODUCER_FENCED:
                successor = raw.Transactional(client, each.name)
                self.assertEqual(successor.id, each.id)
                self.assertGreater(successor.epoch, each.epoch)
                told = client.call("EndTxn", 4, committed=True, **each.ids())
                self.assertEqual(told.errorCode, PRODUCER_FENCED)
                self.note(each, ABORT)
            else:
                self.write(client, each)
                self.finish(client, each, outcome)
        self.open = []
        self.await_nothing_pending(client)

    def assert_our_log_is_read_by_the_tool(self, node):
        seen = set()
        for segment in sorted(node.home.glob("data-0/__transaction_state-*/*.log")):
            done = suite.kafka_tool("dump-log", "--transaction-log-decoder", "--files", segment)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertNotIn("isvalid: false", done.stdout)
            seen |= {name for name in self.made if f"transactional_id={name}" in done.stdout
                     or f'"transactionalId":"{name}"' in done.stdout}
        self.assertEqual(seen, set(self.made))

    def move(self, first, second):
        """Four moves; every other broker dies by SIGKILL."""
        self.made = []
        node = self.formatted_node()
        client = self.start(node, first)
        self.make(client)
        for round_number, (target, cleanly) in enumerate(((second, True), (first, False), (second, False), (first, True))):
            self.leave_open(client, round_number)
            before = self.state(client)
            self.assertEqual(records(client), self.expected())
            self.end(node, cleanly)
            if node.target == "barnabas":
                self.assert_our_log_is_read_by_the_tool(node)
            client = self.start(node, target)
            self.assertEqual(before, self.state(client))
            self.end_open(client)
            self.run_steady(client)
            self.assertEqual(records(client), self.expected())
            last = {each.partition: each for each in self.steady}
            for partition, offset in committed(client).items():
                self.assertIsNotNone(offset)
                if partition in last:
                    self.assertEqual(offset, (last[partition].number - 1, last[partition].name))
        self.end(node, cleanly=True)

    def test_from_kafka_and_back(self):
        self.move("kafka", "barnabas")

    def test_from_barnabas_and_back(self):
        self.move("barnabas", "kafka")

    def test_decided_outcomes_are_carried_out_by_the_next_broker(self):
        """Killed as soon as it has promised an outcome: whoever comes next has to see to it."""
        self.made = []
        node = self.formatted_node()
        client = self.start(node, "kafka")
        self.prepare(client)
        for round_number, target in enumerate(("barnabas", "kafka", "barnabas", "barnabas")):
            ending = [(self.producer(client, kind, f"{kind.__name__}.{outcome}.{round_number}", partition), outcome)
                      for partition, (kind, outcome) in enumerate(
                          (kind, outcome) for kind in (Producer, OldProducer) for outcome in (COMMIT, ABORT))]
            for each, _ in ending:
                self.write(client, each)
            for each, outcome in ending:
                self.finish(client, each, outcome)
            node.kill()
            client = self.start(node, target)
            self.await_nothing_pending(client)
            self.assertEqual(records(client), self.expected())
            self.assertEqual(set(raw.open_transactions(client)), set())
            offsets = committed(client)
            for each, outcome in ending:
                if outcome == COMMIT:
                    self.assertEqual(offsets[each.partition], (each.number, each.name))
        self.end(node, cleanly=True)


if __name__ == "__main__":
    suite.require_kafka()
    unittest.main()
