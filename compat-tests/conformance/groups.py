"""Members of groups, as cases drive them: one connection each, so that a request may wait while others go on."""

import os
import struct
import unittest

import codes
from base import HOST, IS_KAFKA, Broker, ConformanceTest, eventually
from client import Connection

PROTOCOLS = (("range", b"of range"),)
NOT_ASKED = -(2**31)  # authorized operations that nobody asked for
ALL_OPERATIONS = 3400  # read, delete, describe, describe and alter configs
SILENCE_S = 0.15
# In each id, so that a run against a broker that runs already finds none of an earlier one's.
GROUPS = f"group-{os.urandom(3).hex()}"


class ClassicMember:
    """One that speaks JoinGroup, SyncGroup, Heartbeat and LeaveGroup. `id` and `generation` follow what was answered."""

    def __init__(self, address, group, instance=None, protocols=PROTOCOLS, protocol_type="consumer",
                 session_ms=30_000, rebalance_ms=30_000, client_id="conformance"):
        self.connection = Connection(address, client_id=client_id)
        self.group, self.instance, self.id, self.generation = group, instance, "", -1
        self.protocols, self.protocol_type = protocols, protocol_type
        self.session_ms, self.rebalance_ms = session_ms, rebalance_ms
        self.protocol = None

    def close(self):
        self.connection.close()

    def waits(self, seconds=SILENCE_S):
        """Whether nothing has come for a moment."""
        return not self.connection.has_input(seconds)

    # JoinGroup.

    def send_join(self, version=9, **fields):
        asked = {
            "groupId": self.group, "memberId": self.id, "sessionTimeoutMs": self.session_ms,
            "rebalanceTimeoutMs": self.rebalance_ms, "protocolType": self.protocol_type,
            "protocols": [{"name": name, "metadata": metadata} for name, metadata in self.protocols], **fields}
        if version >= 5:
            asked.setdefault("groupInstanceId", self.instance)
        self.connection.send("JoinGroup", version, **asked)

    def receive_join(self):
        got = self.connection.receive()
        if got.errorCode in (codes.NONE, codes.MEMBER_ID_REQUIRED):
            self.id = got.memberId
        if got.errorCode == codes.NONE:
            self.generation, self.protocol = got.generationId, got.protocolName
        return got

    def ask_join(self, version=9, **fields):
        """One request and its answer."""
        self.send_join(version, **fields)
        return self.receive_join()

    def start_join(self, version=9, **fields):
        """As ask_join(), with an id asked for first where one is needed, and without waiting for the answer."""
        if not self.id and version >= 4 and self.instance is None:
            got = self.ask_join(version, **fields)
            assert got.errorCode == codes.MEMBER_ID_REQUIRED, got
        self.send_join(version, **fields)

    def join(self, version=9, **fields):
        self.start_join(version, **fields)
        return self.receive_join()

    # SyncGroup.

    def send_sync(self, assignments=None, version=5, **fields):
        """`assignments`: by member id, or pairs."""
        pairs = assignments.items() if isinstance(assignments, dict) else assignments or ()
        asked = {"groupId": self.group, "generationId": self.generation, "memberId": self.id, "assignments": [
            {"memberId": member, "assignment": data} for member, data in pairs]}
        if version >= 3:
            asked["groupInstanceId"] = self.instance
        if version >= 5:
            asked |= {"protocolType": self.protocol_type, "protocolName": self.protocol}
        self.connection.send("SyncGroup", version, **asked | fields)

    def receive_sync(self):
        return self.connection.receive()

    def sync(self, assignments=None, version=5, **fields):
        self.send_sync(assignments, version, **fields)
        return self.receive_sync()

    # The rest.

    def heartbeat(self, version=4, **fields):
        """The error code."""
        asked = {"groupId": self.group, "generationId": self.generation, "memberId": self.id, **fields}
        if version >= 3:
            asked.setdefault("groupInstanceId", self.instance)
        return self.connection.call("Heartbeat", version, **asked).errorCode

    def leave(self, version=5):
        """The error code."""
        if version < 3:
            return self.connection.call("LeaveGroup", version, groupId=self.group, memberId=self.id).errorCode
        who = {"memberId": self.id, "groupInstanceId": self.instance}
        got = self.connection.call("LeaveGroup", version, groupId=self.group, members=[who])
        return got.errorCode or got.members[0].errorCode


class ConsumerMember:
    """One that speaks ConsumerGroupHeartbeat. `id`, `epoch` and `assigned` follow what was answered."""

    def __init__(self, address, group, member_id, topics=None, regex=None, instance=None, rack=None, assignor=None,
                 rebalance_ms=60_000, client_id="conformance"):
        self.connection = Connection(address, client_id=client_id)
        self.group, self.id, self.epoch, self.instance, self.rack = group, member_id, 0, instance, rack
        self.topics, self.regex, self.assignor, self.rebalance_ms = topics, regex, assignor, rebalance_ms
        self.assigned = {}

    def close(self):
        self.connection.close()

    def send(self, epoch=None, version=1, **fields):
        epoch = self.epoch if epoch is None else epoch
        asked = {"groupId": self.group, "memberId": self.id, "memberEpoch": epoch, "instanceId": self.instance, **fields}
        if version < 1:
            asked.pop("subscribedTopicRegex", None)
        self.connection.send("ConsumerGroupHeartbeat", version, **asked)

    def receive(self):
        got = self.connection.receive()
        if got.errorCode == codes.NONE:
            self.id, self.epoch = got.memberId, got.memberEpoch
            if got.assignment is not None:
                self.assigned = partitions_of(got.assignment)
        return got

    def beat(self, epoch=None, version=1, **fields):
        """A heartbeat with nothing but who it is, and `fields`."""
        self.send(epoch, version, **fields)
        return self.receive()

    def join(self, version=1, **fields):
        """Epoch 0, with all fields."""
        return self.beat(0, version, **self.everything() | fields)

    def full(self, owned=None, version=1, **fields):
        """A heartbeat with all fields; `owned`: partitions by topic id, what was assigned if not given."""
        return self.beat(None, version, **self.everything(self.assigned if owned is None else owned) | fields)

    def acknowledge(self, owned=None):
        """A heartbeat that tells what it owns, what was assigned if not given."""
        return self.beat(topicPartitions=topic_partitions(self.assigned if owned is None else owned))

    def leave(self, epoch=-1, **fields):
        return self.beat(epoch, **fields)

    def everything(self, owned=None):
        return {"rebalanceTimeoutMs": self.rebalance_ms, "subscribedTopicNames": self.topics,
                "subscribedTopicRegex": self.regex, "serverAssignor": self.assignor, "rackId": self.rack,
                "topicPartitions": topic_partitions(owned or {})}


def topic_partitions(by_topic):
    return [{"topicId": topic, "partitions": list(partitions)} for topic, partitions in by_topic.items()]


def partitions_of(assignment):
    """Partitions by topic id, of an answer."""
    return {each.topicId: sorted(each.partitions) for each in assignment.topicPartitions}


class GroupTest(ConformanceTest):
    """A case with groups of its own, against the shared broker."""

    def setUp(self):
        super().setUp()
        self.await_coordinator()

    def await_coordinator(self):
        """Apache Kafka makes the topic of groups when it is first asked for, and loads it then."""
        def ready():
            found = self.client.call("FindCoordinator", 4, keyType=0, coordinatorKeys=["x"]).coordinators[0].errorCode
            return found == codes.NONE and self.client.call(
                "Heartbeat", 0, groupId="x", generationId=1, memberId="x").errorCode == codes.UNKNOWN_MEMBER_ID

        self.assertTrue(eventually(ready, 30), "no coordinator")

    def new_group(self):
        return self.new_name(GROUPS)

    def member(self, group, **fields):
        made = ClassicMember(self.address, group, **fields)
        self.addCleanup(made.close)
        return made

    def consumer(self, group, member_id, topics=None, **fields):
        made = ConsumerMember(self.address, group, member_id, topics, **fields)
        self.addCleanup(made.close)
        return made

    def gather(self, first, *others, version=9):
        """`first`, who is alone in its group or about to be, and the others come into one generation; it leads."""
        if first.generation < 0:
            self.assertEqual(first.join(version).errorCode, codes.NONE)
        if not others:
            return []
        for each in others:
            each.start_join(version)
        self.await_members(first.group, 1 + len(others))
        first.send_join(version)
        return self.receive_joins(first, *others)

    def receive_joins(self, *members):
        """All are let into the same generation."""
        got = [each.receive_join() for each in members]
        self.assertEqual([one.errorCode for one in got], [codes.NONE] * len(members))
        self.assertEqual(len({one.generationId for one in got}), 1)
        return got

    def await_members(self, group, count):
        """Requests of different connections overtake one another: until the group has heard of so many members."""
        self.assertTrue(eventually(lambda: len(self.describe(group).members) == count), self.describe(group))

    def await_state(self, group, state, timeout_s=10.0):
        self.assertTrue(eventually(lambda: self.state(group) == state, timeout_s), self.describe(group))

    def settle(self, group, count=2, version=9, **fields):
        """Members of a new stable group; the first one leads, and the assignment of the n-th is b"to n"."""
        members = [self.member(group, **fields) for _ in range(count)]
        self.gather(*members, version=version)
        self.assign(*members)
        return members

    def assign(self, leader, *followers):
        members = (leader, *followers)
        assignments = {each.id: b"to %d" % index for index, each in enumerate(members)}
        leader.send_sync(assignments)
        for each in followers:
            each.send_sync()
        for index, each in enumerate(members):
            got = each.receive_sync()
            self.assertEqual((got.errorCode, got.assignment), (codes.NONE, b"to %d" % index))

    def describe(self, group, version=6, **fields):
        got = self.client.call("DescribeGroups", version, groups=[group], **fields).groups
        self.assertEqual([one.groupId for one in got], [group])
        return got[0]

    def state(self, group):
        return self.describe(group).groupState

    def describe_consumer(self, group, version=1, **fields):
        got = self.client.call("ConsumerGroupDescribe", version, groupIds=[group], **fields).groups
        self.assertEqual([one.groupId for one in got], [group])
        return got[0]

    def epochs(self, group):
        """State, group epoch and assignment epoch."""
        got = self.describe_consumer(group)
        return got.groupState, got.groupEpoch, got.assignmentEpoch

    def listed(self, version=5, **filters):
        """(state, type) by id, of groups of this case."""
        own = self.new_group().rpartition(".")[0]
        got = self.client.call("ListGroups", version, **filters)
        self.assertEqual(got.errorCode, codes.NONE)
        ids = [one.groupId for one in got.groups]
        self.assertEqual(len(ids), len(set(ids)))
        return {one.groupId: (one.get("groupState"), one.get("groupType"))
                for one in got.groups if one.groupId.startswith(own)}

    def set_group_config(self, group, **configs):
        """Names with underscores, as in consumer_session_timeout_ms."""
        altered = [{"name": name.replace("_", "."), "configOperation": 0, "value": str(value)}
                   for name, value in configs.items()]
        got = self.client.call("IncrementalAlterConfigs", 1, validateOnly=False, resources=[
            {"resourceType": 32, "resourceName": group, "configs": altered}])
        self.assertEqual(got.responses[0].errorCode, codes.NONE, got.responses[0].errorMessage)

    def assert_error(self, answer, code, message=None):
        self.assertEqual(answer.errorCode, code, answer)
        if message is not None:
            self.assertEqual(answer.errorMessage, message)


class ConsumerGroupTest(GroupTest):
    def new_topic_with_id(self, partitions=1):
        """As always, and known to the coordinator: Apache Kafka's learns of topics a little later."""
        name, topic_id = super().new_topic_with_id(partitions)
        probe = self.consumer(self.new_group(), "probe", [name])
        self.assertTrue(eventually(lambda: probe.beat(**probe.everything() if not probe.epoch else {}).errorCode or
                                   len(probe.assigned.get(topic_id, [])) == partitions), probe.assigned)
        probe.leave()
        return name, topic_id

    def new_members(self, *names, topics=None, partitions=3, **fields):
        """Members of a new group, not joined yet, that want a new topic; self.topic and self.topic_id are its."""
        self.topic, self.topic_id = self.new_topic_with_id(partitions)
        group = self.new_group()
        return [self.consumer(group, name, [self.topic] if topics is None else topics, **fields) for name in names]

    def assigned(self, got):
        """The partitions of self.topic in an answer; None if it has no assignment."""
        return None if got.assignment is None else partitions_of(got.assignment).get(self.topic_id, [])

    def converge(self, *members, limit=20):
        """Heartbeats and acknowledgements until nothing changes any more; members' epochs and assignments."""
        for _ in range(limit):
            before = [(each.epoch, each.assigned) for each in members]
            for each in members:
                self.assertEqual(each.acknowledge().errorCode, 0)
            if before == [(each.epoch, each.assigned) for each in members]:
                break
        return before

    def of(self, member):
        return member.assigned.get(self.topic_id, [])


class OwnBrokerTest(GroupTest):
    """The cases of a class share a broker with `properties`."""

    properties = {}
    listeners = 1
    # Apache Kafka's brokers fall asleep on a busy machine; the harness's short session would then shut them out.
    patience = {"broker.heartbeat.interval.ms": "1000", "broker.session.timeout.ms": "18000"} if IS_KAFKA else {}

    @classmethod
    def setUpClass(cls):
        if os.environ.get("BARNABAS_BOOTSTRAP"):
            raise unittest.SkipTest("needs a broker of its own")
        cls.broker = Broker(listeners=cls.listeners, properties={
            "offsets.topic.num.partitions": "1", **cls.patience, **cls.properties})
        cls.addClassCleanup(cls.broker.clean)
        cls.broker.start()

    def broker_address(self):
        return HOST, self.broker.port


def protocols(*names, suffix=b""):
    """Named ones, each with metadata of its own that nobody reads."""
    return tuple((name, b"of " + name.encode() + suffix) for name in names)


# What clients of the classic protocol put into metadata and assignments (ConsumerProtocol).

def subscription(*topics, version=1, owned=None, generation=-1, rack=None):
    """`owned`: partitions by topic name."""
    out = struct.pack(">hi", version, len(topics)) + b"".join(_text(topic) for topic in topics) + b"\xff\xff\xff\xff"
    if version >= 1:
        out += _partitions(owned or {})
    if version >= 2:
        out += struct.pack(">i", generation)
    if version >= 3:
        out += b"\xff\xff" if rack is None else _text(rack)
    return out


def assignment(owned, version=1):
    return struct.pack(">h", version) + _partitions(owned) + b"\xff\xff\xff\xff"


def read_assignment(data):
    """(version, partitions by topic name)."""
    version, count = struct.unpack_from(">hi", data)
    at, owned = 6, {}
    for _ in range(count):
        (size,) = struct.unpack_from(">h", data, at)
        name = data[at + 2:at + 2 + size].decode()
        at += 2 + size
        (number,) = struct.unpack_from(">i", data, at)
        owned[name] = sorted(struct.unpack_from(f">{number}i", data, at + 4))
        at += 4 + 4 * number
    (user_data,) = struct.unpack_from(">i", data, at)
    assert at + 4 + max(user_data, 0) == len(data), data
    return version, owned


def _text(text):
    return struct.pack(">h", len(text.encode())) + text.encode()


def _partitions(by_topic):
    return struct.pack(">i", len(by_topic)) + b"".join(
        _text(topic) + struct.pack(f">i{len(partitions)}i", len(partitions), *partitions)
        for topic, partitions in by_topic.items())
