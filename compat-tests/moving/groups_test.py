#!/usr/bin/env python3
"""Groups and committed offsets move from Apache Kafka to Barnabas and back, with members that go on as if nothing had been.

    groups_test.py [Groups.test_NAME …]
"""

import pathlib
import sys
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
for room in ("compat-tests/harness", "compat-tests/conformance", "tools/peers/kafka"):
    sys.path.append(str(PROJECT / room))

import suite  # noqa: E402

import protocol_client as raw  # noqa: E402
from base import HOST, eventually  # noqa: E402
from groups import ClassicMember, ConsumerMember, subscription  # noqa: E402
from moving_case import MovingCase  # noqa: E402

TOPICS = {"one": 3, "two": 2, "gone": 1, "reborn": 1}
HOUR_MS = 3_600_000
# Members outlive the slow start of a JVM.
PATIENT = {"group.consumer.session.timeout.ms": "300000", "group.consumer.max.session.timeout.ms": "600000"}


def commit(client, group, topic, partition, offset, epoch=-1, metadata="", generation=-1, member="", instance=None):
    """The error code."""
    answer = client.call("OffsetCommit", 9, groupId=group, generationIdOrMemberEpoch=generation, memberId=member,
                         groupInstanceId=instance, topics=[{"name": topic, "partitions": [{
                             "partitionIndex": partition, "committedOffset": offset, "committedLeaderEpoch": epoch,
                             "committedMetadata": metadata}]}])
    return answer.topics[0].partitions[0].errorCode


def offsets(client, group, require_stable=False):
    """{(topic, partition): (offset, epoch, metadata, error)} of all."""
    asked = [{"groupId": group, "topics": None}]
    answer = raw.settled(lambda: client.call("OffsetFetch", 9, groups=asked, requireStable=require_stable).groups[0])
    return {(topic.name, one.partitionIndex):
            (one.committedOffset, one.committedLeaderEpoch, one.metadata, one.errorCode)
            for topic in answer.topics for one in topic.partitions}


def state(client):
    """All that clients and administrators can see of groups."""
    for group in ("classic", "modern", "simple"):
        raw.find_coordinator(client, group, raw.GROUP)
        offsets(client, group)
    listed = raw.settled(lambda: client.call("ListGroups", 5, statesFilter=[], typesFilter=[])).groups
    seen = {}
    for one in listed:
        what = {"listed": dict(one), "offsets": offsets(client, one.groupId)}
        if one.groupType == "consumer":
            got = client.call("ConsumerGroupDescribe", 1, groupIds=[one.groupId], includeAuthorizedOperations=False)
            what["described"] = ordered(got.groups[0])
        else:
            got = client.call("DescribeGroups", 6, groups=[one.groupId], includeAuthorizedOperations=False)
            what["described"] = ordered(got.groups[0])
        seen[one.groupId] = what
    return seen


def ordered(value):
    """Without the order of members, topics and partitions, which is Kafka's chance."""
    if isinstance(value, dict):
        return {key: ordered(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return sorted((ordered(inner) for inner in value), key=repr)
    return value


class Groups(MovingCase):
    def make(self, node, client):
        """Groups of every kind, through all that leaves a trace in the log."""
        for topic, partitions in TOPICS.items():
            client.create_usable(topic, partitions)
        raw.find_coordinator(client, "simple", raw.GROUP)
        offsets(client, "simple")
        for group in ("simple", "deleted", "emptied"):
            for topic, partitions in TOPICS.items():
                for partition in range(partitions):
                    self.assertEqual(commit(client, group, topic, partition, 5 + partition, 1, "früh"), 0)
        self.assertEqual(commit(client, "simple", "one", 0, 42, 3, "note"), 0)
        client.call("OffsetCommit", 3, groupId="simple", generationIdOrMemberEpoch=-1, memberId="", retentionTimeMs=HOUR_MS,
                    topics=[{"name": "two", "partitions": [
                        {"partitionIndex": 1, "committedOffset": 7, "committedMetadata": None}]}])
        client.call("DeleteGroups", 2, groupsNames=["deleted"])
        client.call("OffsetDelete", 0, groupId="emptied", topics=[
            {"name": name, "partitions": [{"partitionIndex": index} for index in range(count)]}
            for name, count in TOPICS.items()])
        self.make_members(node)
        for each in self.classic:
            self.assertEqual(self.commit_as(client, each, "classic", "one", 3), 0)
        self.assertEqual(commit(client, "left", "two", 0, 9), 0)
        for name in ("gone", "reborn"):
            self.assertEqual(client.delete(name).errorCode, 0)
        client.create_usable("reborn", 1)
        raw.await_true(lambda: ("gone", 0) not in offsets(client, "simple"), "the end of a deleted topic's offsets")
        raw.await_true(lambda: ("reborn", 0) not in offsets(client, "simple"), "the end of a deleted topic's offsets")

    def make_members(self, node):
        address = (HOST, node.port)
        said = (("range", subscription("one")), ("roundrobin", subscription("one")))
        self.classic = [ClassicMember(address, "classic", instance, said, session_ms=1_200_000) for instance in ("i1", "i2")]
        for each in self.classic:
            self.addCleanup(each.close)
        first, second = self.classic
        first.join()
        first.sync({first.id: b"all"})
        second.start_join()
        eventually(lambda: first.heartbeat() == 27)
        first.send_join()
        self.assertEqual([first.receive_join().errorCode, second.receive_join().errorCode], [0, 0])
        first.send_sync({first.id: b"to first", second.id: b"to second"})
        self.assertEqual(second.sync().assignment, b"to second")
        self.assertEqual(first.receive_sync().assignment, b"to first")
        left = ClassicMember(address, "left", None, said)
        left.join()
        left.sync({left.id: b"all"})
        self.assertEqual(left.leave(), 0)
        left.close()
        self.modern = [ConsumerMember(address, "modern", "m-1", ["one", "two"], instance="s1"),
                       ConsumerMember(address, "modern", "m-2", ["one"], assignor="range", rack="r")]
        for each in self.modern:
            self.addCleanup(each.close)
            self.assertEqual(each.join().errorCode, 0)
        raw.await_true(self.is_settled, "members with all that is theirs")

    def is_settled(self):
        for each in self.modern:
            each.acknowledge()
        return sum(len(partitions) for each in self.modern for partitions in each.assigned.values()) == 5 \
            and len({each.epoch for each in self.modern}) == 1 and all(each.assigned for each in self.modern)

    @staticmethod
    def commit_as(client, member, group, topic, offset):
        epoch = member.generation if isinstance(member, ClassicMember) else member.epoch
        instance = member.instance if isinstance(member, ClassicMember) else None
        return commit(client, group, topic, 0, offset, generation=epoch, member=member.id, instance=instance)

    def go_on(self, node, client, round_number):
        """The members do not notice that another broker answers: no rebalance, and their commits count."""
        address = (HOST, node.port)
        for each in (*self.classic, *self.modern):
            each.close()
            each.connection = type(each.connection)(address)
        for each in self.classic:
            self.assertEqual(each.heartbeat(), 0)
            self.assertEqual(self.commit_as(client, each, "classic", "one", 100 + round_number), 0)
        for each in self.modern:
            epoch, assigned = each.epoch, each.assigned
            got = each.beat()
            self.assertEqual((got.errorCode, got.memberEpoch, got.assignment), (0, epoch, None))
            self.assertEqual(each.full().errorCode, 0)
            self.assertEqual(each.assigned, assigned)
            self.assertEqual(self.commit_as(client, each, "modern", "one", 200 + round_number), 0)
        self.assertEqual(commit(client, "simple", "one", 1, 300 + round_number, round_number, f"round {round_number}"), 0)
        self.assertEqual(commit(client, f"made in {round_number}", "two", 1, round_number), 0)
        client.call("DeleteGroups", 2, groupsNames=[f"made in {round_number - 2}"])

    def described_by_the_tool(self, node):
        """What Apache Kafka's own tool says, as sets of lines."""
        out = {}
        for arguments in (("--all-groups",), ("--all-groups", "--members", "--verbose"), ("--all-groups", "--state")):
            done = suite.kafka_tool("consumer-groups", "--bootstrap-server", node.bootstrap, "--describe", *arguments)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            out[arguments] = sorted(" ".join(line.split()) for line in done.stdout.splitlines() if line.strip())
        return out

    def assert_our_log_is_read_by_the_tool(self, node):
        for directory in sorted(node.home.glob("data-0/__consumer_offsets-*")):
            for segment in sorted(directory.glob("*.log")):
                done = suite.kafka_tool("dump-log", "--offsets-decoder", "--files", segment)
                self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
                self.assertNotIn("isvalid: false", done.stdout)
                records = [line for line in done.stdout.splitlines() if line.startswith("| offset:")]
                self.assertEqual([line for line in records if "payload: {" not in line and "<DELETE>" not in line
                                  and "endTxnMarker" not in line], [])

    def move(self, first, second):
        """Four moves; every other broker dies by SIGKILL."""
        node = self.formatted_node(properties=PATIENT)
        client = self.start(node, first)
        self.make(node, client)
        before, told = state(client), self.described_by_the_tool(node)
        self.assertEqual(set(before), {"simple", "emptied", "classic", "left", "modern"})
        self.end(node, cleanly=True)
        for round_number, (target, cleanly) in enumerate(((second, False), (first, False), (second, True), (first, True))):
            with self.subTest(target=target, round=round_number):
                client = self.start(node, target)
                self.assertEqual(before, state(client))
                if round_number == 0:
                    self.assertEqual(told, self.described_by_the_tool(node))
                self.go_on(node, client, round_number)
                before = state(client)
                self.end(node, cleanly)
            if target == "barnabas":
                self.assert_our_log_is_read_by_the_tool(node)

    def test_from_kafka_and_back(self):
        self.move("kafka", "barnabas")

    def test_from_barnabas_and_back(self):
        self.move("barnabas", "kafka")

    def test_offsets_of_transactions(self):
        """Committed and aborted ones are known; those of a transaction that is open stay unstable, whoever leads."""
        node = self.formatted_node(properties=PATIENT)
        client = self.start(node, "kafka")
        client.create_usable("one", 3)
        self.assertEqual(raw.settled(lambda: client.call("FindCoordinator", 4, keyType=0, coordinatorKeys=["g"]).coordinators[0])
                         .errorCode, 0)
        offsets(client, "g")
        for partition in range(3):
            self.assertEqual(commit(client, "g", "one", partition, 1), 0)
        made = [raw.Transactional(client, name) for name in ("to commit", "to abort", "open")]
        for partition, producer in enumerate(made):
            producer.send(client, "one", b"x", partition=partition)
            answer = raw.settled(lambda: client.call(
                "TxnOffsetCommit", 5, transactionalId=producer.name, groupId="g", producerId=producer.id,
                producerEpoch=producer.epoch, topics=[{"name": "one", "partitions": [
                    {"partitionIndex": partition, "committedOffset": 10, "committedMetadata": ""}]}]),
                lambda got: got.topics[0].partitions[0].errorCode)
            self.assertEqual(answer.topics[0].partitions[0].errorCode, 0)
        made[0].end(client, commit=True)
        made[1].end(client, commit=False)
        nothing, unstable = (1, -1, "", 0), (-1, -1, "", 88)
        wanted = {("one", 0): (10, -1, "", 0), ("one", 1): nothing, ("one", 2): unstable}
        raw.await_true(lambda: offsets(client, "g", require_stable=True) == wanted, "the ends of transactions")
        for target, cleanly in (("barnabas", True), ("barnabas", False), ("kafka", True)):
            self.end(node, cleanly)
            client = self.start(node, target)
            self.assertEqual(offsets(client, "g", require_stable=True), wanted)
            self.assertEqual(offsets(client, "g"), wanted | {("one", 2): nothing})
        made[2].end(client, commit=True)
        wanted["one", 2] = (10, -1, "", 0)
        raw.await_true(lambda: offsets(client, "g", require_stable=True) == wanted, "the end of the transaction")
        self.end(node, True)
        client = self.start(node, "barnabas")
        self.assertEqual(offsets(client, "g", require_stable=True), wanted)
        self.end(node, True)


if __name__ == "__main__":
    suite.require_kafka()
    unittest.main()
