"""Both protocols in one group: members of the classic protocol among those of the consumer protocol, and the ways there and
back."""

import unittest

import apis
import codes
from base import eventually
from differences import differ
from groups import ConsumerGroupTest, OwnBrokerTest, assignment, partitions_of, read_assignment, subscription


class MigrationTest(ConsumerGroupTest):
    def classic(self, group, owned=None, generation=-1, **fields):
        return self.member(group, protocols=(("range", subscription(self.topic, owned=owned)),), **fields)

    def stable_classic(self, partitions=3, **fields):
        self.topic, self.topic_id = self.new_topic_with_id(partitions)
        member = self.classic(self.new_group(), **fields)
        member.join()
        member.sync({member.id: assignment({self.topic: range(partitions)})})
        return member

    def target(self, member):
        """The partitions of self.topic that a member of a group of the consumer protocol is to have."""
        (one,) = [one for one in self.describe_consumer(member.group).members if one.memberId == member.id]
        return partitions_of(one.targetAssignment).get(self.topic_id, [])


class BothProtocols(MigrationTest):
    def test_a_classic_group_is_taken_over(self):
        classic = self.stable_classic()
        consumer = self.consumer(classic.group, "c", [self.topic])
        got = consumer.join()
        self.assertEqual((got.errorCode, got.memberEpoch, self.assigned(got)), (0, 2, []))
        self.assertEqual(self.epochs(classic.group), ("Reconciling", 2, 2))
        described = {one.memberId: one for one in self.describe_consumer(classic.group).members}
        old = described[classic.id]
        self.assertEqual((old.memberEpoch, old.memberType, old.subscribedTopicNames), (1, 0, [self.topic]))
        self.assertEqual(old.assignment.topicPartitions[0].partitions, [0, 1, 2])
        self.assertEqual(described["c"].memberType, 1)
        self.assertEqual(self.listed()[classic.group], ("Reconciling", "consumer"))
        self.assert_error(self.describe(classic.group), codes.GROUP_ID_NOT_FOUND,
                          f"Group {classic.group} is not a classic group.")

    def test_the_classic_member_lets_go_and_both_go_on(self):
        classic = self.stable_classic()
        consumer = self.consumer(classic.group, "c", [self.topic])
        consumer.join()
        self.assertEqual(classic.heartbeat(), codes.REBALANCE_IN_PROGRESS)
        self.assertEqual(classic.heartbeat(generationId=2), codes.ILLEGAL_GENERATION)
        keeps = self.target(classic)
        classic.protocols = (("range", subscription(self.topic, owned={self.topic: keeps})),)
        got = classic.ask_join()
        self.assertEqual((got.errorCode, got.generationId, got.protocolType, got.protocolName, got.leader, got.members,
                          got.skipAssignment), (0, 2, "consumer", "range", "", [], False))
        got = classic.sync()
        self.assertEqual((got.errorCode, got.protocolType, got.protocolName), (0, "consumer", "range"))
        self.assertEqual(read_assignment(got.assignment), (1, {self.topic: keeps}))
        self.assertEqual(classic.heartbeat(), 0)
        self.assertEqual(sorted(keeps + self.assigned(consumer.beat())), [0, 1, 2])
        self.assertEqual(self.epochs(classic.group), ("Stable", 2, 2))

    def test_in_the_middle_of_a_cooperative_rebalance(self):
        """The classic member had everything and is given two of three, but has not heard of it yet."""
        classic = self.stable_classic()
        classic.protocols = (("range", subscription(self.topic, owned={self.topic: [0, 1, 2]})),)
        self.assertEqual(classic.ask_join().generationId, 2)
        classic.sync({classic.id: assignment({self.topic: [0, 1]})})
        consumer = self.consumer(classic.group, "c", [self.topic])
        self.assertEqual(self.assigned(consumer.join()), differ("given-up-before-it-is-said"))
        self.assertEqual(classic.heartbeat(), codes.REBALANCE_IN_PROGRESS)
        classic.protocols = (("range", subscription(self.topic, owned={self.topic: [0, 1]})),)
        self.assertEqual(classic.ask_join().errorCode, 0)
        self.assertEqual(read_assignment(classic.sync().assignment), (1, {self.topic: [0, 1]}))
        self.assertEqual(consumer.full().errorCode, 0)
        self.assertEqual(self.of(consumer), [2])

    def test_errors_of_classic_members(self):
        classic = self.stable_classic()
        consumer = self.consumer(classic.group, "c", [self.topic])
        consumer.join()
        unknown, refused = codes.UNKNOWN_MEMBER_ID, codes.INCONSISTENT_GROUP_PROTOCOL
        for version in apis.versions("Heartbeat"):
            self.assertEqual(classic.heartbeat(version, memberId="unknown"), unknown)
            self.assertEqual(classic.heartbeat(version, memberId="c", generationId=2), unknown)
            self.assertEqual(classic.heartbeat(version, memberId=""), unknown)
        for version in range(5):
            self.assertEqual(classic.sync(version=version, memberId="unknown").errorCode, unknown)
            self.assertEqual(classic.sync(version=version, memberId="c", generationId=2).errorCode, unknown)
            self.assertEqual(classic.sync(version=version, generationId=9).errorCode, codes.ILLEGAL_GENERATION)
        self.assertEqual(classic.sync(protocolType="connect").errorCode, refused)
        self.assertEqual(classic.sync(protocolName="other").errorCode, refused)
        for version in apis.versions("JoinGroup"):
            for fields in ({"protocolType": "connect"}, {"protocols": []}, {"memberId": "unknown", "protocolType": ""},
                           {"protocols": [{"name": "other", "metadata": subscription(self.topic)}]}):
                self.assertEqual(self.classic(classic.group).ask_join(version, **{"memberId": "x"} | fields).errorCode, refused)
        self.assertEqual(consumer.beat().errorCode, 0)

    def test_session_timeouts_of_classic_members(self):
        (consumer,) = self.new_members("c")
        consumer.join()
        for version in apis.versions("JoinGroup"):
            for timeout in (5999, 1_800_001):
                got = self.classic(consumer.group, session_ms=timeout).ask_join(version, memberId="x")
                self.assertEqual((got.errorCode, got.memberId), (codes.INVALID_SESSION_TIMEOUT, "x"))

    def test_a_classic_member_joins_a_consumer_group(self):
        for version in (0, 3, 4, 9):
            with self.subTest(version=version):
                (consumer,) = self.new_members("c")
                consumer.join()
                classic = self.classic(consumer.group)
                got = classic.ask_join(version)
                if version >= 4:
                    self.assertEqual((got.errorCode, got.generationId), (codes.MEMBER_ID_REQUIRED, -1))
                    self.assertRegex(got.memberId, "^[-_A-Za-z0-9]{22}$")
                    got = classic.ask_join(version)
                self.assertEqual((got.errorCode, got.generationId, got.leader, got.members), (0, 3, "", []))
                self.assertEqual(read_assignment(classic.sync(version=4).assignment), (1, {}))
                self.assertEqual(self.assigned(consumer.beat()), [0, 1])
                consumer.acknowledge()
                self.assertEqual(classic.heartbeat(), codes.REBALANCE_IN_PROGRESS)
                self.assertEqual(classic.ask_join(version).generationId, 3)
                self.assertEqual(read_assignment(classic.sync(version=4).assignment), (1, {self.topic: [2]}))
                self.assertEqual(classic.heartbeat(), 0)

    def test_metadata_that_is_none(self):
        (consumer,) = self.new_members("c")
        consumer.join()
        for metadata in (b"", b"x", b"\0\1\xff\xff\xff\xff", b"\0\0\x7f\xff\xff\xff", subscription(self.topic)[:-1]):
            with self.subTest(metadata=metadata):
                got = self.member(consumer.group, protocols=(("range", metadata),)).ask_join(0)
                self.assertEqual((got.errorCode, got.memberId), (codes.INCONSISTENT_GROUP_PROTOCOL, ""))
        self.assertEqual(consumer.beat().errorCode, 0)

    def test_any_id_is_welcome(self):
        (consumer,) = self.new_members("c")
        consumer.join()
        for version in apis.versions("JoinGroup"):
            got = self.classic(consumer.group).ask_join(version, memberId=f"id{version}")
            self.assertEqual((got.errorCode, got.memberId), (0, f"id{version}"))
        self.assertEqual(len(self.describe_consumer(consumer.group).members), 11)

    def test_an_unknown_id_that_claims_partitions(self):
        (consumer,) = self.new_members("c")
        consumer.join()
        self.assertEqual(self.of(consumer), [0, 1, 2])
        for version in apis.versions("JoinGroup"):
            stale = self.classic(consumer.group, owned={self.topic: [0]})
            self.assertEqual(stale.ask_join(version, memberId=f"m{version}").errorCode, differ("put-out-with-partitions"))

    def test_the_first_protocol_counts(self):
        (consumer,) = self.new_members("c")
        consumer.join()
        other, _ = self.new_topic_with_id()
        classic = self.member(consumer.group, protocols=(("b", subscription(other)), ("a", subscription(self.topic))))
        self.assertEqual(classic.join().protocolName, "b")
        described = {one.memberId: one.subscribedTopicNames for one in self.describe_consumer(consumer.group).members}
        self.assertEqual(described[classic.id], [other])

    def test_another_protocol_type_is_refused(self):
        (consumer,) = self.new_members("c")
        consumer.join()
        for version in apis.versions("JoinGroup"):
            got = self.classic(consumer.group, protocol_type="connect").ask_join(version)
            self.assertEqual((got.errorCode, got.memberId), (codes.INCONSISTENT_GROUP_PROTOCOL, ""))

    def test_assignments_in_the_version_of_the_subscription(self):
        for version in range(4):
            (consumer,) = self.new_members("c")
            classic = self.member(consumer.group, protocols=(("range", subscription(self.topic, version=version)),))
            consumer.join()
            classic.join()
            self.assertEqual(read_assignment(classic.sync().assignment)[0], version)

    def test_the_last_consumer_leaves(self):
        classic = self.stable_classic()
        consumer = self.consumer(classic.group, "c", [self.topic])
        consumer.join()
        target = self.target(classic)
        self.assertEqual(consumer.leave().errorCode, 0)
        described = self.describe(classic.group)
        self.assertEqual((described.errorCode, described.groupState, described.protocolType, len(described.members)),
                         (0, "PreparingRebalance", "consumer", 1))
        self.assertEqual(read_assignment(described.members[0].memberAssignment)[1], {self.topic: target})
        self.assertEqual(self.listed()[classic.group], ("PreparingRebalance", "classic"))
        # Its generation is the group's epoch.
        self.assertEqual(classic.heartbeat(generationId=1), codes.ILLEGAL_GENERATION)
        self.assertEqual(classic.heartbeat(generationId=2), codes.REBALANCE_IN_PROGRESS)
        got = classic.ask_join()
        self.assertEqual((got.errorCode, got.generationId, got.leader, len(got.members)), (0, 3, classic.id, 1))
        self.assertEqual(classic.sync({classic.id: b"x"}).assignment, b"x")

    def test_a_consumer_member_is_sent_away_by_leave_group(self):
        a, b = self.new_members("a", "b")
        a.join(), b.join()
        got = self.client.call("LeaveGroup", 5, groupId=a.group, members=[{"memberId": "a"}, {"memberId": "x"}])
        self.assertEqual([one.errorCode for one in got.members], [0, codes.UNKNOWN_MEMBER_ID])
        self.assertEqual(a.beat(2).errorCode, codes.UNKNOWN_MEMBER_ID)
        self.assertEqual(len(self.describe_consumer(a.group).members), 1)

    def test_a_classic_member_leaves_a_consumer_group(self):
        classic = self.stable_classic()
        consumer = self.consumer(classic.group, "c", [self.topic])
        consumer.join()
        self.assertEqual(classic.leave(), 0)
        got = consumer.beat()
        self.assertEqual((got.errorCode, self.assigned(got)), (0, [0, 1, 2]))
        self.assertEqual(classic.leave(), codes.UNKNOWN_MEMBER_ID)

    def test_a_static_member_changes_its_protocol(self):
        classic = self.stable_classic(instance="i1")
        consumer = self.consumer(classic.group, "c", [self.topic], instance="i1")
        got = consumer.join()
        self.assertEqual((got.errorCode, got.memberEpoch, self.assigned(got)), (0, 1, [0, 1, 2]))
        self.assertEqual(self.epochs(classic.group), ("Stable", 1, 1))
        self.assertEqual([(one.memberId, one.instanceId, one.memberType)
                          for one in self.describe_consumer(classic.group).members], [("c", "i1", 1)])
        fenced, unknown = codes.FENCED_INSTANCE_ID, codes.UNKNOWN_MEMBER_ID
        self.assertEqual(classic.heartbeat(), fenced)
        self.assertEqual(classic.heartbeat(groupInstanceId=None), unknown)
        self.assertEqual(classic.sync(version=4).errorCode, fenced)
        got = classic.ask_join()
        self.assertEqual((got.errorCode, got.memberId), (fenced, ""))
        self.assertEqual(classic.leave(), fenced)

        # And back, as an instance that nobody needs to have released.
        again = self.classic(classic.group, instance="i1")
        got = again.ask_join()
        self.assertEqual((got.errorCode, got.generationId), (0, 1))
        self.assertEqual(consumer.beat().errorCode, codes.GROUP_ID_NOT_FOUND)
        described = self.describe(classic.group)
        self.assertEqual((described.groupState, described.members[0].groupInstanceId), ("Stable", "i1"))
        self.assertEqual(read_assignment(again.sync(version=4).assignment)[1], {self.topic: [0, 1, 2]})

    def test_a_group_that_went_back_remembers_all_protocols(self):
        (consumer,) = self.new_members("c", instance="i1")
        consumer.join()
        wanted = subscription(self.topic)
        classic = self.member(consumer.group, instance="i1", protocols=(("b", wanted), ("a", wanted)))
        self.assertEqual(classic.ask_join().protocolName, "b")
        self.assertEqual(self.state(consumer.group), "Stable")
        other = self.member(consumer.group, instance="i2", protocols=(("a", wanted),))
        other.send_join()
        self.await_state(consumer.group, "PreparingRebalance")
        classic.send_join()
        self.assertEqual([one.protocolName for one in self.receive_joins(classic, other)], ["a", "a"])

    def test_another_static_member_joins(self):
        classic = self.stable_classic(instance="i1")
        other = self.consumer(classic.group, "d", [self.topic], instance="i2")
        self.assertEqual(other.join().errorCode, 0)
        self.assertEqual({one.memberId: one.instanceId for one in self.describe_consumer(classic.group).members},
                         {classic.id: "i1", "d": "i2"})

    def test_a_heartbeat_of_no_member_does_not_take_a_classic_group_over(self):
        classic = self.stable_classic()
        for epoch in (1, 5, -1):
            self.assert_error(self.consumer(classic.group, "c", [self.topic]).beat(epoch), codes.GROUP_ID_NOT_FOUND,
                              f"Group {classic.group} is not a consumer group.")
        self.assertEqual((classic.heartbeat(), self.state(classic.group)), (0, "Stable"))

    def test_groups_of_other_types_are_not_taken_over(self):
        (member,) = self.settle(self.new_group(), 1, protocol_type="connect")
        got = self.consumer(member.group, "c", []).join()
        self.assertEqual(got.errorCode, codes.GROUP_ID_NOT_FOUND)
        self.assertEqual((member.heartbeat(), self.state(member.group)), (0, "Stable"))

    def test_an_empty_group_changes_its_protocol(self):
        self.topic, self.topic_id = self.new_topic_with_id(3)
        classic = self.classic(self.new_group())
        classic.join()
        self.assertEqual(classic.leave(), 0)
        consumer = self.consumer(classic.group, "c", [self.topic])
        got = consumer.join()
        self.assertEqual((got.errorCode, self.assigned(got)), (0, [0, 1, 2]))
        self.assertEqual(consumer.leave().errorCode, 0)
        again = self.classic(classic.group)
        self.assertEqual(again.join().errorCode, 0)
        self.assertEqual(self.listed()[classic.group], ("CompletingRebalance", "classic"))


class NoWayBack(OwnBrokerTest, MigrationTest):
    """Members of the classic protocol stay in a group of the consumer protocol when the others have left."""

    properties = {"group.consumer.migration.policy": "upgrade", "group.consumer.assignment.interval.ms": "0"}

    def alone(self):
        """A classic member that has two of three partitions, and has just been left alone."""
        classic = self.stable_classic()
        consumer = self.consumer(classic.group, "c", [self.topic])
        consumer.join()
        self.assertEqual(classic.heartbeat(), codes.REBALANCE_IN_PROGRESS)
        self.join_and_sync(classic, self.target(classic))
        self.assertEqual(classic.heartbeat(), 0)
        self.assertEqual(consumer.leave().errorCode, 0)
        return classic

    def join_and_sync(self, classic, owned):
        """What it is given."""
        classic.protocols = (("range", subscription(self.topic, owned={self.topic: owned})),)
        self.assertEqual(classic.ask_join().errorCode, 0)
        return read_assignment(classic.sync().assignment)[1]

    def test_what_the_last_one_leaves_behind(self):
        classic = self.alone()
        self.assertEqual(self.listed()[classic.group][1], "consumer")
        self.assertEqual(classic.heartbeat(), differ("left-alone-in-a-consumer-group"))
        self.assertEqual(self.join_and_sync(classic, self.target(classic)), {self.topic: [0, 1, 2]})
        self.assertEqual(classic.heartbeat(), 0)

    def test_a_topic_that_grows(self):
        classic = self.alone()
        self.join_and_sync(classic, self.target(classic))
        got = self.client.call("CreatePartitions", 3, timeoutMs=10000, validateOnly=False,
                               topics=[{"name": self.topic, "count": 4, "assignments": None}])
        self.assertEqual(got.results[0].errorCode, 0)
        told = differ("left-alone-in-a-consumer-group")
        self.assertTrue(eventually(lambda: classic.heartbeat() == told))
        # Apache Kafka's coordinator learns of it a little later.
        self.assertTrue(eventually(
            lambda: self.join_and_sync(classic, [0, 1, 2]) == {self.topic: [0, 1, 2, 3]}, pause_s=0.1))


if __name__ == "__main__":
    unittest.main()
