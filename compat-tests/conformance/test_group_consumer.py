"""ConsumerGroupHeartbeat and ConsumerGroupDescribe: the consumer protocol of groups (KIP-848)."""

import unittest
import uuid

import apis
import codes
from base import eventually
from differences import differ
from groups import ConsumerGroupTest, NOT_ASKED, partitions_of, topic_partitions

UNKNOWN_ID = b"\x5a" * 16
GREATER = ("The consumer group member has a greater member epoch ({}) than the one known by the group coordinator ({}). "
           "The member must abandon all its partitions and rejoin.")
SMALLER = GREATER.replace("greater", "smaller")


class Requests(ConsumerGroupTest):
    """Requests that are wrong in themselves."""

    def setUp(self):
        super().setUp()
        self.topic, self.topic_id = self.new_topic_with_id()
        self.group = self.new_group()

    def check(self, version, epoch, code, message, member="m", **fields):
        asked = {"groupId": self.group, "memberId": member, "memberEpoch": epoch, "rebalanceTimeoutMs": 1000,
                 "subscribedTopicNames": [self.topic], "topicPartitions": [], **fields}
        if version == 0:
            asked.pop("subscribedTopicRegex", None)
        with self.subTest(version=version, epoch=epoch, member=member, **fields):
            got = self.client.call("ConsumerGroupHeartbeat", version, **asked)
            self.assert_error(got, code, message)
            if code:
                self.assertEqual((got.memberId, got.memberEpoch, got.heartbeatIntervalMs, got.assignment),
                                 (None, 0, 0, None))

    def test_what_is_missing(self):
        bad = codes.INVALID_REQUEST
        owned = topic_partitions({self.topic_id: [0]})
        for version in apis.versions("ConsumerGroupHeartbeat"):
            for epoch in (0, 1, -1, -2, -3):
                for name in ("", "  "):
                    self.check(version, epoch, bad, "GroupId can't be empty.", groupId=name)
            for epoch in (1, 7, -1):
                self.check(version, epoch, bad, "MemberId can't be empty.", member="")
            for epoch in (0, 1, -1, -2):
                self.check(version, epoch, bad, "InstanceId can't be empty.", instanceId="")
            for name in ("", "  "):
                self.check(version, 0, bad, "RackId can't be empty.", rackId=name)
                self.check(version, 4, bad, "RackId can't be empty.", rackId=name)
            self.check(version, 0, bad, "RebalanceTimeoutMs must be provided in first request.", rebalanceTimeoutMs=-1)
            for value in (None, owned, topic_partitions({self.topic_id: []}), topic_partitions({UNKNOWN_ID: [5]})):
                self.check(version, 0, bad, "TopicPartitions must be empty when (re-)joining.", topicPartitions=value)
            neither = "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when (re-)joining."
            self.check(version, 0, bad, neither, subscribedTopicNames=None)
            self.check(version, -2, bad, "InstanceId can't be null.")
            for epoch in (-3, -(2**31)):
                self.check(version, epoch, bad, "MemberEpoch is invalid.")
            for name in ("", "nope", "Range", "UNIFORM"):
                self.check(version, 0, codes.UNSUPPORTED_ASSIGNOR,
                           f"ServerAssignor {name} is not supported. Supported assignors: uniform, range.",
                           serverAssignor=name)
        for epoch in (0, 1, -1, -2, -3):
            for name in ("", " "):
                self.check(1, epoch, bad, "MemberId can't be empty.", member=name)
        self.assert_no_group()

    def assert_no_group(self):
        self.assertEqual(self.describe_consumer(self.group).errorCode, codes.GROUP_ID_NOT_FOUND)
        self.assertNotIn(self.group, self.listed())

    def test_what_is_looked_at_first(self):
        bad, wrong = codes.INVALID_REQUEST, {"rackId": "", "serverAssignor": "nope"}
        for version in apis.versions("ConsumerGroupHeartbeat"):
            first = "MemberId can't be empty." if version else "GroupId can't be empty."
            self.check(version, -3, bad, first, member="", groupId="", instanceId="", **wrong)
            self.check(version, -3, bad, "InstanceId can't be empty.", instanceId="", **wrong)
            self.check(version, -3, bad, "RackId can't be empty.", **wrong)
            self.check(version, -3, bad, "MemberEpoch is invalid.", serverAssignor="nope")
            fields = {"serverAssignor": "nope", "topicPartitions": None, "subscribedTopicNames": None}
            self.check(version, 0, bad, "RebalanceTimeoutMs must be provided in first request.", rebalanceTimeoutMs=-1,
                       **fields)
            self.check(version, 0, bad, "TopicPartitions must be empty when (re-)joining.", **fields)
            self.check(version, 0, bad, None, serverAssignor="nope", subscribedTopicNames=None)
            # The group is looked for last.
            self.check(version, 5, codes.UNSUPPORTED_ASSIGNOR, None, serverAssignor="nope")

    def test_no_group(self):
        for version in apis.versions("ConsumerGroupHeartbeat"):
            for epoch in (1, 2**31 - 1):
                self.check(version, epoch, codes.GROUP_ID_NOT_FOUND, f"Consumer group {self.group} not found.")
            self.check(version, -1, codes.GROUP_ID_NOT_FOUND, f"Group {self.group} not found.")
            self.check(version, -2, codes.GROUP_ID_NOT_FOUND, f"Group {self.group} not found.", instanceId="i")
        self.assert_no_group()

    def test_no_such_member(self):
        self.assertEqual(self.consumer(self.group, "there", [self.topic]).join().errorCode, 0)
        for version in apis.versions("ConsumerGroupHeartbeat"):
            for epoch in (1, 2, 99, -1):
                self.check(version, epoch, codes.UNKNOWN_MEMBER_ID, f"Member m is not a member of group {self.group}.")
            for epoch in (1, 2, 99, -1, -2):
                self.check(version, epoch, codes.UNKNOWN_MEMBER_ID, "Instance id i is unknown.", instanceId="i")

    def test_version_0_may_leave_the_id_to_the_broker(self):
        member = self.consumer(self.group, "", [self.topic])
        got = member.join(0)
        self.assertEqual(got.errorCode, 0)
        self.assertRegex(got.memberId, "^[-_A-Za-z0-9]{22}$")
        other = self.consumer(self.group, "", [self.topic]).join(0)
        self.assertNotEqual(other.memberId, got.memberId)

    def test_any_text_is_a_member_id(self):
        for name in ("a", "ü", "x" * 300, str(uuid.uuid4())):
            got = self.consumer(self.new_group(), name, [self.topic]).join()
            self.assertEqual((got.errorCode, got.memberId), (0, name))

    def test_rebalance_timeouts(self):
        for timeout in (0, 1, -2, 2**31 - 1):
            member = self.consumer(self.new_group(), "m", [self.topic], rebalance_ms=timeout)
            self.assertEqual(member.join().errorCode, 0)

    def test_odd_subscriptions(self):
        for topics, count in (([self.topic, self.topic], 1), ([""], 0), (["not a name"], 0), (["unknown"], 0),
                              (["unknown", self.topic, ""], 1), ([], 0), (["x" * 300], 0), (["__consumer_offsets"], 1)):
            with self.subTest(topics=topics):
                got = self.consumer(self.new_group(), "m", topics).join()
                self.assertEqual((got.errorCode, len(got.assignment.topicPartitions)), (0, count))


class Join(ConsumerGroupTest):
    def test_the_first_member_in_every_version(self):
        for version in apis.versions("ConsumerGroupHeartbeat"):
            (member,) = self.new_members("a")
            got = member.join(version)
            self.assertEqual((got.errorCode, got.errorMessage, got.memberId, got.heartbeatIntervalMs, got.throttleTimeMs),
                             (0, None, "a", 5000, 0))
            self.assertEqual((got.memberEpoch, self.assigned(got)), (2, [0, 1, 2]))
            got = member.beat(version=version)
            self.assertEqual((got.memberEpoch, got.memberId, got.assignment), (2, "a", None))

    def test_epochs_of_a_group_without_topics(self):
        (member,) = self.new_members("a", topics=[])
        got = member.join()
        self.assertEqual((got.memberEpoch, got.assignment.topicPartitions), (1, []))
        self.assertEqual(self.epochs(member.group)[1], 1)
        got = member.beat(subscribedTopicNames=[self.topic])
        self.assertEqual((got.memberEpoch, self.assigned(got)), (2, [0, 1, 2]))

    def test_again_with_epoch_0(self):
        (member,) = self.new_members("a")
        for _ in range(3):
            got = member.join()
            self.assertEqual((got.errorCode, got.memberEpoch, self.assigned(got)), (0, 2, [0, 1, 2]))
        self.assertEqual(self.epochs(member.group), ("Stable", 2, 2))

    def test_again_with_epoch_0_and_other_topics(self):
        (member,) = self.new_members("a")
        member.join()
        other, other_id = self.new_topic_with_id(2)
        member.topics = [other]
        got = member.join()
        self.assertEqual((got.errorCode, got.memberEpoch, partitions_of(got.assignment)), (0, 3, {other_id: [0, 1]}))

    def test_what_is_described(self):
        (member,) = self.new_members("a", instance="i", rack="r", client_id="c")
        member.join()
        got = self.describe_consumer(member.group, includeAuthorizedOperations=True)
        self.assertEqual((got.errorCode, got.errorMessage, got.groupState, got.groupEpoch, got.assignmentEpoch,
                          got.assignorName, got.authorizedOperations), (0, None, "Stable", 2, 2, "uniform", 3400))
        (one,) = got.members
        self.assertEqual((one.memberId, one.instanceId, one.rackId, one.memberEpoch, one.clientId, one.clientHost,
                          one.subscribedTopicNames, one.subscribedTopicRegex, one.memberType),
                         ("a", "i", "r", 2, "c", "/127.0.0.1", [self.topic], "", 1))
        for given in (one.assignment, one.targetAssignment):
            self.assertEqual([(each.topicId, each.topicName, each.partitions) for each in given.topicPartitions],
                             [(self.topic_id, self.topic, [0, 1, 2])])

    def test_a_topic_that_comes_later(self):
        name = self.new_name()
        member = self.consumer(self.new_group(), "a", [name])
        self.assertEqual(member.join().assignment.topicPartitions, [])
        self.topic_id = self.client.create_usable(name, 2)
        self.assertTrue(eventually(lambda: member.beat().errorCode or member.assigned), member.assigned)
        self.assertEqual((member.assigned, member.epoch), ({self.topic_id: [0, 1]}, 3))

    def test_a_topic_that_grows(self):
        (member,) = self.new_members("a", partitions=1)
        member.join()
        got = self.client.call("CreatePartitions", 3, timeoutMs=10000, validateOnly=False,
                               topics=[{"name": self.topic, "count": 3, "assignments": None}])
        self.assertEqual(got.results[0].errorCode, 0)
        self.assertTrue(eventually(lambda: member.beat().errorCode or self.of(member) == [0, 1, 2]), member.assigned)
        self.assertEqual(member.epoch, 3)

    def test_a_topic_that_is_deleted(self):
        (member,) = self.new_members("a")
        member.join()
        self.assertEqual(self.client.delete(self.topic).errorCode, 0)
        self.assertTrue(eventually(lambda: member.acknowledge().errorCode or not member.assigned), member.assigned)

    def test_a_topic_that_is_made_anew(self):
        (member,) = self.new_members("a")
        member.join()
        self.client.delete(self.topic)
        self.assertTrue(eventually(lambda: member.acknowledge().errorCode or not member.assigned), member.assigned)
        again = self.client.create_usable(self.topic, 2)
        self.assertTrue(eventually(lambda: member.acknowledge().errorCode or again in member.assigned), member.assigned)
        self.assertEqual(member.assigned, {again: [0, 1]})

    def test_many_topics_and_members(self):
        made = [self.new_topic_with_id(2) for _ in range(10)]
        group = self.new_group()
        members = [self.consumer(group, f"m{index}", [name for name, _ in made]) for index in range(10)]
        for each in members:
            self.assertEqual(each.join().errorCode, 0)
        self.converge(*members)
        owned = [(topic, partition) for each in members for topic, parts in each.assigned.items() for partition in parts]
        self.assertEqual(sorted(owned), sorted((topic, partition) for _, topic in made for partition in (0, 1)))
        self.assertEqual({sum(map(len, each.assigned.values())) for each in members}, {2})
        self.assertEqual(self.epochs(group), ("Stable", 11, 11))


class Reconcile(ConsumerGroupTest):
    def test_a_partition_goes_over_step_by_step(self):
        a, b = self.new_members("a", "b")
        a.join()
        got = b.join()
        self.assertEqual((got.errorCode, got.memberEpoch, self.assigned(got)), (0, 3, []))
        self.assertEqual(self.epochs(a.group), ("Reconciling", 3, 3))
        got = b.beat()  # what a owns is not free yet
        self.assertEqual((got.memberEpoch, got.assignment), (3, None))
        got = a.beat()
        self.assertEqual((got.memberEpoch, self.assigned(got)), (2, [0, 1]))
        described = {one.memberId: one for one in self.describe_consumer(a.group).members}
        self.assertEqual((described["a"].memberEpoch, described["b"].memberEpoch), (2, 3))
        self.assertEqual(described["a"].assignment.topicPartitions[0].partitions, [0, 1, 2])
        self.assertEqual(described["a"].targetAssignment.topicPartitions[0].partitions, [0, 1])
        self.assertEqual(described["b"].assignment.topicPartitions, [])
        self.assertEqual(described["b"].targetAssignment.topicPartitions[0].partitions, [2])
        got = a.beat()  # told once; epoch and all stay until it says that it has let go
        self.assertEqual((got.memberEpoch, got.assignment), (2, None))
        got = a.acknowledge({self.topic_id: [0, 1, 2]})
        self.assertEqual((got.memberEpoch, got.assignment), (2, None))
        self.assertIsNone(b.beat().assignment)
        got = a.acknowledge()
        self.assertEqual((got.memberEpoch, got.assignment), (3, None))
        got = b.beat()
        self.assertEqual((got.memberEpoch, self.assigned(got)), (3, [2]))
        self.assertEqual(self.epochs(a.group), ("Stable", 3, 3))

    def test_owning_less_than_is_left_is_letting_go_too(self):
        for owned in ([0], []):
            a, b = self.new_members("a", "b")
            a.join(), b.join()
            a.beat()
            got = a.acknowledge({self.topic_id: owned})
            self.assertEqual((got.memberEpoch, got.assignment), (3, None))
            self.assertEqual(self.assigned(b.beat()), [2])

    def test_owned_partitions_that_do_not_exist(self):
        (a,) = self.new_members("a")
        a.join()
        for owned in ({UNKNOWN_ID: [0]}, {self.topic_id: [7]}, {self.topic_id: [-1]}, {self.topic_id: [0, 0]}):
            got = a.acknowledge(owned)
            self.assertEqual((got.errorCode, got.memberEpoch, got.assignment), (0, 2, None))

    def test_a_heartbeat_with_everything_is_told_everything(self):
        a, b = self.new_members("a", "b")
        a.join(), b.join()
        a.beat()
        for version in apis.versions("ConsumerGroupHeartbeat"):
            got = a.full({self.topic_id: [0, 1, 2]}, version)
            self.assertEqual((got.memberEpoch, self.assigned(got)), (2, [0, 1]))
        got = a.full()
        self.assertEqual((got.memberEpoch, self.assigned(got)), (3, [0, 1]))
        for left_out in ({"rebalanceTimeoutMs": -1}, {"subscribedTopicNames": None}, {"topicPartitions": None}):
            self.assertIsNone(a.full(**left_out).assignment, left_out)
        self.assertEqual(self.assigned(a.full({})), [0, 1])

    def test_the_epoch_before_is_taken_for_a_lost_answer(self):
        a, b = self.new_members("a", "b")
        a.join(), b.join()
        a.beat()
        a.acknowledge()
        self.assertEqual(a.epoch, 3)
        for owned in ({self.topic_id: [0, 1]}, {self.topic_id: [1]}, {}):
            got = a.beat(2, topicPartitions=topic_partitions(owned))
            self.assertEqual((got.errorCode, got.memberEpoch, got.assignment), (0, 3, None))
        for owned in ({self.topic_id: [0, 1, 2]}, {UNKNOWN_ID: [0]}):
            got = a.beat(2, topicPartitions=topic_partitions(owned))
            self.assert_error(got, codes.FENCED_MEMBER_EPOCH, SMALLER.format(2, 3))
        self.assert_error(a.beat(2), codes.FENCED_MEMBER_EPOCH, SMALLER.format(2, 3))
        self.assert_error(a.beat(1, topicPartitions=[]), codes.FENCED_MEMBER_EPOCH, SMALLER.format(1, 3))

    def test_other_epochs_are_fenced(self):
        (a,) = self.new_members("a")
        a.join()
        for version in apis.versions("ConsumerGroupHeartbeat"):
            for epoch in (3, 99, 2**31 - 1):
                self.assert_error(a.beat(epoch, version), codes.FENCED_MEMBER_EPOCH, GREATER.format(epoch, 2))
            self.assert_error(a.beat(1, version), codes.FENCED_MEMBER_EPOCH, SMALLER.format(1, 2))
        self.assertEqual(a.beat(2).errorCode, 0)

    def test_a_fenced_member_joins_again(self):
        a, b = self.new_members("a", "b")
        a.join(), b.join()
        a.beat()
        self.assertEqual(a.beat(9).errorCode, codes.FENCED_MEMBER_EPOCH)
        got = a.join()
        self.assertEqual((got.errorCode, got.memberEpoch, self.assigned(got)), (0, 3, [0, 1]))
        self.assertEqual(self.assigned(b.beat()), [2])

    def test_other_topics_while_letting_go(self):
        a, b = self.new_members("a", "b")
        a.join(), b.join()
        a.beat()
        other, other_id = self.new_topic_with_id(2)
        a.beat(subscribedTopicNames=[self.topic, other])
        self.assertEqual(self.epochs(a.group), ("Reconciling", 4, 4))
        self.converge(a, b)
        self.assertEqual((a.epoch, b.epoch, a.assigned[other_id]), (4, 4, [0, 1]))
        self.assertEqual(sorted(self.of(a) + self.of(b)), [0, 1, 2])

    def test_no_topics_any_more(self):
        a, b = self.new_members("a", "b")
        a.join(), b.join()
        self.converge(a, b)
        got = a.beat(subscribedTopicNames=[])
        self.assertEqual((got.memberEpoch, got.assignment.topicPartitions), (3, []))
        self.assertIsNone(a.beat().assignment)
        got = a.acknowledge({})
        self.assertEqual((got.memberEpoch, got.assignment), (4, None))
        got = b.beat()
        self.assertEqual((got.memberEpoch, self.assigned(got)), (4, [0, 1, 2]))

    def test_fields_left_out_stay_as_they_were(self):
        (a,) = self.new_members("a", rack="r", instance="i", assignor="range")
        a.join()
        for fields in ({}, {"rackId": "r2"}, {"rebalanceTimeoutMs": 5}, {"topicPartitions": []}):
            self.assertEqual(a.beat(**fields).errorCode, 0)
        got = self.describe_consumer(a.group)
        (one,) = got.members
        self.assertEqual((one.rackId, one.instanceId, one.subscribedTopicNames, got.assignorName),
                         ("r2", "i", [self.topic], "range"))
        self.assertEqual(got.groupEpoch, 2)

    def test_the_same_topics_in_another_order_are_no_change(self):
        other, _ = self.new_topic_with_id()
        (a,) = self.new_members("a")
        a.topics = [self.topic, other]
        a.join()
        for topics in ([other, self.topic], [self.topic, other, other]):
            self.assertEqual(a.beat(subscribedTopicNames=topics).memberEpoch, 2)
        self.assertEqual(self.epochs(a.group)[1], 2)


class Leave(ConsumerGroupTest):
    def test_for_good(self):
        for version in apis.versions("ConsumerGroupHeartbeat"):
            a, b = self.new_members("a", "b")
            a.join(), b.join()
            self.converge(a, b)
            got = a.leave(version=version)
            self.assertEqual((got.errorCode, got.memberId, got.memberEpoch, got.heartbeatIntervalMs, got.assignment),
                             (0, "a", -1, 0, None))
            self.assertEqual(self.epochs(a.group), ("Assigning", 4, 3))
            got = b.beat()
            self.assertEqual((got.memberEpoch, self.assigned(got)), (4, [0, 1, 2]))
            unknown = f"Member a is not a member of group {a.group}."
            self.assert_error(a.beat(-1), codes.UNKNOWN_MEMBER_ID, unknown)
            self.assert_error(a.beat(3), codes.UNKNOWN_MEMBER_ID, unknown)

    def test_the_last_one(self):
        (a,) = self.new_members("a")
        a.join()
        self.assertEqual(a.leave().errorCode, 0)
        self.assertEqual(self.epochs(a.group), ("Empty", 3, 3))
        self.assertEqual(self.describe_consumer(a.group).members, [])
        self.assertEqual(self.listed()[a.group], ("Empty", "consumer"))
        got = a.join()
        self.assertEqual((got.memberEpoch, self.assigned(got)), (4, [0, 1, 2]))

    def test_one_that_holds_what_another_waits_for(self):
        a, b = self.new_members("a", "b")
        a.join(), b.join()
        self.assertEqual(a.leave().errorCode, 0)
        got = b.beat()
        self.assertEqual((got.memberEpoch, self.assigned(got)), (4, [0, 1, 2]))

    def test_the_epoch_is_all_that_counts(self):
        (a,) = self.new_members("a")
        a.join()
        got = a.leave(rebalanceTimeoutMs=5, subscribedTopicNames=["x"], topicPartitions=topic_partitions({UNKNOWN_ID: [1]}))
        self.assertEqual((got.errorCode, got.memberEpoch), (0, -1))


class Static(ConsumerGroupTest):
    def two(self):
        a, b = self.new_members("a", "b")
        a.instance, b.instance = "i1", "i2"
        a.join(), b.join()
        self.converge(a, b)
        self.assertEqual((self.of(a), self.of(b)), ([0, 1], [2]))
        return a, b

    def held(self, member, owner):
        return (f"Static member {member} with instance id i1 cannot join the group because the instance id is owned by "
                f"{owner} member.")

    def fenced(self, member, instance, owner):
        return f"Static member {member} with instance id {instance} was fenced by member {owner}."

    def test_an_instance_that_is_held(self):
        a, b = self.two()
        c = self.consumer(a.group, "c", [self.topic], instance="i1")
        self.assert_error(c.join(), codes.UNRELEASED_INSTANCE_ID, self.held("c", "a"))
        for epoch in (1, 3, -1, -2):
            self.assert_error(c.beat(epoch), codes.FENCED_INSTANCE_ID, self.fenced("c", "i1", "a"))
        self.assert_error(a.beat(3, instanceId="i2"), codes.FENCED_INSTANCE_ID, self.fenced("a", "i2", "b"))
        self.assertEqual(a.beat(3, instanceId=None).errorCode, 0)

    def test_the_same_member_again(self):
        a, _ = self.two()
        got = a.join()
        self.assertEqual(got.errorCode, differ("static-member-joins-again"))
        if got.errorCode == 0:
            self.assertEqual((got.memberEpoch, self.assigned(got)), (3, [0, 1]))
        got = a.join(instanceId=None)
        self.assertEqual((got.errorCode, got.memberEpoch, self.assigned(got)), (0, 3, [0, 1]))
        self.assertEqual({one.memberId: one.instanceId for one in self.describe_consumer(a.group).members},
                         {"a": "i1", "b": "i2"})

    def test_gone_for_a_while(self):
        a, b = self.two()
        for _ in range(2):
            got = a.leave(-2)
            self.assertEqual((got.errorCode, got.memberId, got.memberEpoch, got.heartbeatIntervalMs, got.assignment),
                             (0, "a", -2, 0, None))
        self.assertEqual(self.epochs(a.group), ("Reconciling", 3, 3))
        described = {one.memberId: one for one in self.describe_consumer(a.group).members}
        self.assertEqual((described["a"].memberEpoch, described["b"].memberEpoch), (-2, 3))
        self.assertEqual(described["a"].assignment.topicPartitions[0].partitions, [0, 1])
        for fields in ({}, {"instanceId": None}):
            self.assert_error(a.beat(3, **fields), codes.FENCED_MEMBER_EPOCH, GREATER.format(3, -2))
        got = b.beat()
        self.assertEqual((got.memberEpoch, got.assignment), (3, None))

    def test_another_member_takes_the_place(self):
        a, b = self.two()
        a.leave(-2)
        c = self.consumer(a.group, "c", [self.topic], instance="i1")
        got = c.join()
        self.assertEqual((got.errorCode, got.memberEpoch, self.assigned(got)), (0, 3, [0, 1]))
        self.assertEqual(self.epochs(a.group), ("Stable", 3, 3))
        self.assertEqual({one.memberId: one.instanceId for one in self.describe_consumer(a.group).members},
                         {"c": "i1", "b": "i2"})
        self.assert_error(a.beat(3), codes.FENCED_INSTANCE_ID, self.fenced("a", "i1", "c"))
        self.assert_error(a.join(), codes.UNRELEASED_INSTANCE_ID, self.held("a", "c"))
        self.assert_error(a.beat(3, instanceId=None), codes.UNKNOWN_MEMBER_ID)
        self.assertEqual((c.beat().errorCode, b.beat().errorCode), (0, 0))

    def test_the_same_member_takes_its_place(self):
        for instance in ("i1", None):
            a, _ = self.two()
            a.leave(-2)
            got = a.join(instanceId=instance)
            self.assertEqual((got.errorCode, got.memberEpoch, self.assigned(got)), (0, 3, [0, 1]))
            self.assertEqual(self.epochs(a.group), ("Stable", 3, 3))

    def test_the_place_is_taken_with_other_topics(self):
        a, b = self.two()
        other, other_id = self.new_topic_with_id(2)
        a.leave(-2)
        c = self.consumer(a.group, "c", [self.topic, other], instance="i1")
        got = c.join()
        self.assertEqual((got.errorCode, got.memberEpoch), (0, 4))
        self.converge(c, b)
        self.assertEqual(c.assigned[other_id], [0, 1])
        self.assertEqual(sorted(self.of(c) + self.of(b)), [0, 1, 2])

    def test_gone_for_good(self):
        a, b = self.two()
        self.assertEqual(a.leave().memberEpoch, -1)
        got = b.beat()
        self.assertEqual((got.memberEpoch, self.assigned(got)), (4, [0, 1, 2]))
        c = self.consumer(a.group, "c", [self.topic], instance="i1")
        self.assertEqual(c.join().memberEpoch, 5)

    def test_a_dynamic_member_gets_no_instance_later(self):
        (a,) = self.new_members("a")
        a.join()
        self.assert_error(a.beat(2, instanceId="i"), codes.UNKNOWN_MEMBER_ID, "Instance id i is unknown.")


class Assignors(ConsumerGroupTest):
    def test_range_by_name(self):
        other, other_id = self.new_topic_with_id(3)
        members = self.new_members("a", "b", assignor="range")
        for each in members:
            each.topics = [self.topic, other]
            each.join()
        self.converge(*members)
        a, b = members
        self.assertEqual((self.of(a), a.assigned[other_id], self.of(b), b.assigned[other_id]), ([0, 1], [0, 1], [2], [2]))
        self.assertEqual(self.describe_consumer(a.group).assignorName, "range")

    def test_uniform_is_sticky(self):
        a, b, c = self.new_members("a", "b", "c", partitions=6)
        a.join(), b.join()
        self.converge(a, b)
        before = {"a": set(self.of(a)), "b": set(self.of(b))}
        self.assertEqual([len(owned) for owned in before.values()], [3, 3])
        c.join()
        self.converge(a, b, c)
        self.assertEqual([len(self.of(each)) for each in (a, b, c)], [2, 2, 2])
        self.assertLess(set(self.of(a)), before["a"])
        self.assertLess(set(self.of(b)), before["b"])
        c.leave()
        self.converge(a, b)
        self.assertEqual((len(self.of(a)), len(self.of(b))), (3, 3))

    def test_different_subscriptions(self):
        for assignor in ("uniform", "range"):
            other, other_id = self.new_topic_with_id(2)
            a, b = self.new_members("a", "b", assignor=assignor)
            b.topics = [self.topic, other]
            a.join(), b.join()
            self.converge(a, b)
            self.assertEqual(b.assigned[other_id], [0, 1])
            self.assertNotIn(other_id, a.assigned)
            self.assertEqual(sorted(self.of(a) + self.of(b)), [0, 1, 2])

    def test_more_members_than_partitions(self):
        for assignor in ("uniform", "range"):
            members = self.new_members("a", "b", "c", "d", partitions=2, assignor=assignor)
            for each in members:
                each.join()
            self.converge(*members)
            self.assertEqual(sorted(sum((self.of(each) for each in members), [])), [0, 1])

    def test_the_one_with_most_votes_is_taken(self):
        a, b, c = self.new_members("a", "b", "c")
        a.assignor = "range"
        a.join()
        self.assertEqual(self.describe_consumer(a.group).assignorName, "range")
        b.assignor = c.assignor = "uniform"
        b.join(), c.join()
        self.assertEqual(self.describe_consumer(a.group).assignorName, "uniform")
        self.assertEqual(b.leave().errorCode, 0)

    def test_a_vote_that_changes_the_assignor_is_a_new_epoch(self):
        a, b = self.new_members("a", "b")
        a.join(), b.join()
        self.converge(a, b)
        a.beat(serverAssignor="range")
        self.assertEqual(self.epochs(a.group)[1:], (4, 4))
        self.assertEqual(self.describe_consumer(a.group).assignorName, "range")
        self.converge(a, b)
        b.beat(serverAssignor="range")
        self.assertEqual(self.epochs(a.group)[1:], (4, 4))

    def test_an_unsupported_one_changes_nothing(self):
        (a,) = self.new_members("a")
        a.join()
        self.assertEqual(a.beat(serverAssignor="nope").errorCode, codes.UNSUPPORTED_ASSIGNOR)
        self.assertEqual(a.beat(99, serverAssignor="nope").errorCode, codes.UNSUPPORTED_ASSIGNOR)
        self.assertEqual(a.beat().errorCode, 0)


class Interval(ConsumerGroupTest):
    """consumer.assignment.interval.ms: how soon a new target follows the one before."""

    def test_assignments_wait_for_it(self):
        a, b = self.new_members("a", "b")
        self.set_group_config(a.group, consumer_assignment_interval_ms=800)
        self.assertEqual(a.join().memberEpoch, 2)
        got = b.join()
        self.assertEqual((got.errorCode, got.memberEpoch, self.assigned(got)), (0, 2, []))
        self.assertEqual(self.epochs(a.group), ("Assigning", 3, 2))
        got = a.beat()
        self.assertEqual((got.memberEpoch, got.assignment), (2, None))
        self.assertTrue(eventually(lambda: b.beat().memberEpoch == 3))
        self.assertEqual(self.epochs(a.group), ("Reconciling", 3, 3))
        self.assertEqual(self.assigned(a.beat()), [0, 1])


class Regex(ConsumerGroupTest):
    """Subscriptions by regular expression, from version 1 on. They are looked up beside the heartbeats."""

    def matching(self, *suffixes):
        """A prefix of the names of this case, and the ids of new topics by suffix."""
        prefix = self.new_name("rx")
        return prefix, {suffix: self.client.create_usable(f"{prefix}-{suffix}") for suffix in suffixes}

    def await_assigned(self, member, topics, timeout_s=15):
        self.assertTrue(eventually(lambda: member.acknowledge().errorCode or set(member.assigned) == set(topics), timeout_s,
                                   0.05), member.assigned)

    def test_names_that_match_as_a_whole(self):
        prefix, ids = self.matching("one", "two", "twofold")
        for pattern, suffixes in (("-.*", ("one", "two", "twofold")), ("-t.*o", ("two",)), ("-(one|two)", ("one", "two")),
                                  ("-(?i)ONE", ("one",))):
            with self.subTest(pattern=pattern):
                member = self.consumer(self.new_group(), "a", regex=prefix.replace(".", "\\.") + pattern)
                got = member.join()
                self.assertEqual((got.errorCode, got.memberEpoch, got.assignment.topicPartitions), (0, 1, []))
                self.await_assigned(member, [ids[suffix] for suffix in suffixes])
                self.assertEqual(member.epoch, 2)

    def test_internal_topics_match_too(self):
        prefix, ids = self.matching("one")
        internal = self.client.metadata("__consumer_offsets").topics[0].topicId
        member = self.consumer(self.new_group(), "a", regex=f"{prefix}-one|__consumer.*")
        member.join()
        self.await_assigned(member, [ids["one"], internal])

    def test_a_second_member_with_the_same_pattern(self):
        prefix, ids = self.matching("one", "two")
        group = self.new_group()
        a, b = (self.consumer(group, name, regex=f"{prefix}-.*") for name in "ab")
        a.join()
        self.await_assigned(a, ids.values())
        got = b.join()
        self.assertEqual((got.errorCode, got.memberEpoch), (0, 3))
        self.converge(a, b)
        self.assertEqual((len(a.assigned), len(b.assigned)), (1, 1))

    def test_names_and_a_pattern(self):
        prefix, ids = self.matching("one")
        (a,) = self.new_members("a")
        a.regex = f"{prefix}-.*"
        got = a.join()
        self.assertEqual((got.memberEpoch, self.assigned(got)), (2, [0, 1, 2]))
        self.await_assigned(a, [self.topic_id, ids["one"]])
        described = self.describe_consumer(a.group).members[0]
        self.assertEqual((described.subscribedTopicNames, described.subscribedTopicRegex), ([self.topic], a.regex))

    def test_what_is_described(self):
        prefix, ids = self.matching("one")
        member = self.consumer(self.new_group(), "a", regex=f"{prefix}-.*")
        member.join()
        self.await_assigned(member, ids.values())
        (one,) = self.describe_consumer(member.group).members
        self.assertEqual((one.subscribedTopicNames, one.subscribedTopicRegex), ([], member.regex))

    def test_an_empty_pattern_is_none(self):
        for topics in (None, []):
            got = self.consumer(self.new_group(), "a", topics, regex="").join()
            self.assertEqual((got.errorCode, got.memberEpoch, got.assignment.topicPartitions), (0, 1, []))

    def test_bad_patterns(self):
        for pattern, reason in (
                ("(", "missing closing )"), ("(?:", "missing closing )"), ("[a", "missing closing ]"),
                ("t[", "missing closing ]"), ("*", "missing argument to repetition operator"),
                ("+", "missing argument to repetition operator"), ("a**", "invalid nested repetition operator"),
                ("x*+", "invalid nested repetition operator"), ("[z-a]", "invalid character class range"),
                ("[[:foo:]]", "invalid character class range"), ("\\p{Nope}", "invalid character class range"),
                ("(?P<n", "invalid named capture"), ("x{1001}", "invalid repeat count"),
                ("x{2,1}", "invalid repeat count"), ("\\", "trailing backslash at end of expression"),
                ("(?=x)", "invalid or unsupported Perl syntax"), ("(?z)", "invalid or unsupported Perl syntax"),
                ("\\8", "invalid escape sequence"), ("(a)\\1", "invalid escape sequence")):
            with self.subTest(pattern=pattern):
                group = self.new_group()
                got = self.consumer(group, "a", regex=pattern).join()
                self.assert_error(got, codes.INVALID_REGULAR_EXPRESSION,
                                  f"SubscribedTopicRegex `{pattern}` is not a valid regular expression: {reason}.")
                self.assertEqual(self.describe_consumer(group).errorCode, codes.GROUP_ID_NOT_FOUND)

    def test_good_patterns(self):
        for pattern in ("a{,2}", "\\d", "\\Qa.b\\E", "\\pL", "\\p{Greek}", "x{1000}", "[\\d-x]", ".*ü", "^a$", "a|", "\\z"):
            with self.subTest(pattern=pattern):
                self.assertEqual(self.consumer(self.new_group(), "a", regex=pattern).join().errorCode, 0)

    def test_repetitions_that_are_large_when_written_out(self):
        group = self.new_group()
        for pattern in ("a{1000}" * 33, "(?:a{10}b{10}){50}" * 33):
            with self.subTest(pattern=pattern[:20]):
                got = self.consumer(group, pattern[:20], regex=pattern).join()
                self.assertEqual(got.errorCode, differ("repetitions-written-out"))

    def test_a_bad_pattern_later_changes_nothing(self):
        (a,) = self.new_members("a")
        a.join()
        self.assertEqual(a.beat(subscribedTopicRegex="(").errorCode, codes.INVALID_REGULAR_EXPRESSION)
        self.assertEqual(a.beat().memberEpoch, 2)
        self.assertEqual(self.describe_consumer(a.group).members[0].subscribedTopicRegex, "")


class Describe(ConsumerGroupTest):
    def test_what_is_not_there(self):
        (member,) = self.settle(self.new_group(), 1)
        unknown = self.new_group()
        for version in apis.versions("ConsumerGroupDescribe"):
            for asked in (False, True):
                for name, code, message in ((unknown, 69, f"Group {unknown} not found."), ("", 24, None),
                                            (member.group, 69, f"Group {member.group} is not a consumer group.")):
                    got = self.describe_consumer(name, version, includeAuthorizedOperations=asked)
                    self.assert_error(got, code)
                    self.assertEqual(got.errorMessage, message)
                    self.assertEqual((got.groupState, got.groupEpoch, got.assignmentEpoch, got.assignorName, got.members,
                                      got.authorizedOperations), ("", 0, 0, "", [], NOT_ASKED))

    def test_several(self):
        (a,) = self.new_members("a")
        a.join()
        for version in apis.versions("ConsumerGroupDescribe"):
            got = self.client.call("ConsumerGroupDescribe", version, groupIds=[a.group, "no-such-group", a.group]).groups
            self.assertEqual([(one.groupId, one.errorCode) for one in got],
                             [(a.group, 0), ("no-such-group", 69), (a.group, 0)])
            self.assertEqual([one.get("memberType") for one in got[0].members], [1 if version else None])
            self.assertEqual(self.client.call("ConsumerGroupDescribe", version, groupIds=[]).groups, [])

    def test_authorized_operations(self):
        (a,) = self.new_members("a")
        a.join()
        for version in apis.versions("ConsumerGroupDescribe"):
            for asked, wanted in ((False, NOT_ASKED), (True, 3400)):
                got = self.describe_consumer(a.group, version, includeAuthorizedOperations=asked)
                self.assertEqual(got.authorizedOperations, wanted)


if __name__ == "__main__":
    unittest.main()
