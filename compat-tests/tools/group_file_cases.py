"""Cases of tools_test.py: what Apache Kafka's dump-log says of the coordinators' log of groups."""

import itertools
import json
import re

import codes
from base import eventually
from group_cases import FIRST, PARTITIONS, SECOND, SESSION_MS, GroupCase, without_uuids
from groups import ClassicMember, ConsumerMember, assignment, subscription
from transactions import OFFSETS, Producer

LOG = f"{OFFSETS}-0/00000000000000000000.log"
# Moments, and what depends on ids of topics and on how much was written of them.
UNLIKE = ("commitTimestamp", "expireTimestamp", "currentStateTimestamp", "assignmentTimestamp", "timestamp", "version",
          "metadataHash")


class GroupFiles(GroupCase):
    """Each case leads a life of groups whose names begin with `prefix`, and compares what was written of them, in order."""

    def address(self, side):
        return side.client.connection.socket.getpeername()

    def records(self, target, prefix):
        """(key, value) of each record of the groups, as the tool decodes them."""
        code, out, err = self.ask(target, "dump-log", "--offsets-decoder", "--files",
                                  lambda side: side.broker.data_dir / LOG, bootstrap=False)
        self.assertEqual((code, err), (0, ""))
        self.assertNotIn("isvalid: false", out)
        found = [re.fullmatch(r"\| offset: \d+ .*? key: (\{.*?\}) payload: (.*)", line)
                 for line in without_uuids(out).splitlines() if f'"{prefix}' in line]
        self.assertNotIn(None, found)
        return in_order([(one[1], plain(one[2])) for one in found])

    def assert_written_alike(self, prefix, least):
        """Apache Kafka writes some of it a moment later."""
        def alike():
            kafka, barnabas = (self.records(target, prefix) for target in self.sides)
            return kafka == barnabas and len(kafka) >= least

        if not eventually(alike, 8, 0.5):
            kafka, barnabas = (self.records(target, prefix) for target in self.sides)
            self.assertEqual("\n".join(map(str, kafka)), "\n".join(map(str, barnabas)), "(kafka first)")
            self.assertGreaterEqual(len(kafka), least)

    def test_offsets(self):
        prefix = "file-offsets"
        self.commit(prefix, p0=3, p1=6)
        self.commit(prefix, SECOND, p0=2)

        def change(side):
            for version, fields in ((2, {"retentionTimeMs": 3_600_000}), (5, {}), (10, {})):
                topic = {"name": FIRST} if version < 10 else {"topicId": topic_id(side.client, FIRST)}
                partition = {"partitionIndex": 0, "committedOffset": version, "committedMetadata": f"of {version}"}
                side.client.call("OffsetCommit", version, groupId=prefix, memberId="", generationIdOrMemberEpoch=-1,
                                 topics=[{**topic, "partitions": [partition]}], **fields)
            side.client.call("OffsetDelete", 0, groupId=prefix, topics=[
                {"name": SECOND, "partitions": [{"partitionIndex": 0}]}])
            side.client.call("DeleteGroups", 2, groupsNames=[prefix])

        self.on_each(change)
        self.assert_written_alike(prefix, 9)

    def test_offsets_of_transactions(self):
        prefix = "file-transactions"

        def change(side):
            side.client.call("FindCoordinator", 4, keyType=1, coordinatorKeys=["x"])
            one = Producer(self.address(side), prefix)
            self.addCleanup(one.close)
            self.assertTrue(eventually(lambda: one.init()[0] == codes.NONE, 30), "no coordinator")
            for offset, committed in ((1, True), (2, False), (3, True)):
                self.assertEqual(one.commit_offsets(prefix, {FIRST: {0: offset}}), {(FIRST, 0): codes.NONE})
                self.assertEqual(one.follow(one.end(committed))[0], codes.NONE)
                one.settle()

        self.on_each(change)
        self.assert_written_alike(prefix, 3)

    def test_classic_groups(self):
        prefix = "file-classic"
        self.classic(prefix, topics=(FIRST, SECOND))
        self.classic(f"{prefix}-static", instance="the-instance")
        self.classic(f"{prefix}-connect", protocol_type="connect")

        def change(side):
            first = ClassicMember(self.address(side), f"{prefix}-left", session_ms=SESSION_MS, client_id="c",
                                  protocols=[("range", subscription(FIRST))])
            self.addCleanup(first.close)
            first.join()
            first.sync({first.id: assignment({FIRST: range(2)})})
            first.leave()

        self.on_each(change)
        self.assert_written_alike(prefix, 8)

    def test_consumer_groups(self):
        prefix = "file-consumer"
        self.consumer(prefix, "member-a", rack="r1")
        self.consumer(f"{prefix}-range", "member-a", assignor="range", instance="the-instance")

        def change(side):
            members = []
            for member_id in ("member-a", "member-b"):
                member = ConsumerMember(self.address(side), f"{prefix}-handed", member_id, [FIRST], client_id="c")
                self.addCleanup(member.close)
                self.assertEqual(member.join().errorCode, codes.NONE)
                members.append(member)

            first, second = members
            self.assertTrue(eventually(lambda: first.beat().errorCode == codes.NONE and first.acknowledge() and
                                       second.beat() and sum(map(len, second.assigned.values())) == 1))
            second.acknowledge()
            first.leave()
            second.beat()
            second.acknowledge()
            second.leave()

        self.on_each(change)
        self.assert_written_alike(prefix, 20)

    def test_a_classic_group_that_is_taken_over_and_goes_back(self):
        prefix = "file-changed"
        self.classic(prefix, topics=(SECOND,))

        def change(side):
            other = ConsumerMember(self.address(side), prefix, "member-b", [SECOND], client_id="c")
            self.addCleanup(other.close)
            self.assertEqual(other.join().errorCode, codes.NONE)
            other.leave()

        self.on_each(change)
        self.assert_written_alike(prefix, 8)

    def test_a_regular_expression(self):
        prefix = "file-regex"

        def change(side):
            member = ConsumerMember(self.address(side), prefix, "member-a", regex="tools-(first|second)", client_id="c")
            self.addCleanup(member.close)
            self.assertEqual(member.join().errorCode, codes.NONE)
            wanted = PARTITIONS[FIRST] + PARTITIONS[SECOND]
            self.assertTrue(eventually(lambda: member.beat() and sum(map(len, member.assigned.values())) == wanted))
            member.acknowledge()
            member.leave()

        self.on_each(change)
        self.assert_written_alike(prefix, 8)


def topic_id(client, name):
    return client.metadata(name).topics[0].topicId


def in_order(records):
    """Records of one kind for several members, one behind the other, come in the order of a hash table."""
    return [one for _, alike in itertools.groupby(records, lambda one: (json.loads(one[0])["type"], one[1] == "<DELETE>"))
            for one in sorted(alike)]


def plain(text):
    """A value without moments; arrays that come from hash tables are sorted."""
    if not text.startswith("{"):
        return text

    def go(value, name=""):
        if isinstance(value, dict):
            return {key: go(each, key) for key, each in value.items()}
        if isinstance(value, list):
            return sorted((go(each) for each in value), key=str)
        return f"some {name}" if name in UNLIKE and isinstance(value, int) and value != 0 else value

    return json.dumps(go(json.loads(text)))
