"""Static members in groups of the classic protocol: whoever has an instance id gets its place back."""

import unittest

import apis
import codes
from groups import GroupTest, protocols, subscription

FIRST_STATIC = 5  # the first version of JoinGroup that knows of instances


class Static(GroupTest):
    """Members with an instance id (KIP-345)."""

    def test_it_joins_in_one_step_in_every_version(self):
        for version in range(FIRST_STATIC, apis.newest("JoinGroup") + 1):
            member = self.member(self.new_group(), instance="i1")
            got = member.ask_join(version)
            self.assertEqual((got.errorCode, got.generationId, got.leader), (0, 1, member.id))
            self.assertRegex(member.id, "^i1-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
            self.assertEqual([(one.memberId, one.groupInstanceId) for one in got.members], [(member.id, "i1")])
            self.assertEqual(self.describe(member.group).members[0].groupInstanceId, "i1")

    def test_any_text_is_an_instance_id(self):
        for name in ("", " ", "ü", "x" * 300):
            member = self.member(self.new_group(), instance=name)
            self.assertEqual(member.ask_join().errorCode, 0)
            self.assertEqual(member.id[:-37], name)

    def test_a_restart_keeps_generation_and_assignment(self):
        for version in range(FIRST_STATIC, apis.newest("JoinGroup") + 1):
            with self.subTest(version=version):
                (member,) = self.settle(self.new_group(), 1, instance="i1")
                old = member.id
                again = self.member(member.group, instance="i1")
                got = again.ask_join(version)
                self.assertEqual((got.errorCode, got.generationId), (0, 1))
                self.assertNotIn(again.id, (old, ""))
                if version >= 9:
                    # It leads on, but is not to assign anew.
                    self.assertEqual((got.leader, got.skipAssignment, [one.memberId for one in got.members]),
                                     (again.id, True, [again.id]))
                else:
                    self.assertEqual((got.leader, got.members), (old, []))
                self.assertEqual(again.sync(protocolName="range").assignment, b"to 0")
                self.assertEqual(self.state(member.group), "Stable")

    def test_a_follower_that_restarts(self):
        group = self.new_group()
        first, second = self.member(group, instance="i1"), self.member(group, instance="i2")
        self.gather(first, second)
        self.assign(first, second)
        again = self.member(group, instance="i2")
        got = again.ask_join()
        self.assertEqual((got.errorCode, got.generationId, got.leader, got.members, got.skipAssignment),
                         (0, 2, first.id, [], False))
        self.assertEqual(again.sync().assignment, b"to 1")
        self.assertEqual(first.heartbeat(), 0)

    def test_a_restart_with_other_metadata_but_the_same_protocol(self):
        (member,) = self.settle(self.new_group(), 1, instance="i1")
        again = self.member(member.group, instance="i1", protocols=protocols("range", suffix=b" anew"))
        got = again.ask_join()
        self.assertEqual((got.errorCode, got.generationId, got.skipAssignment), (0, 1, True))
        self.assertEqual(got.members[0].metadata, b"of range anew")
        described = self.describe(member.group)
        self.assertEqual((described.groupState, described.members[0].memberMetadata, described.members[0].memberAssignment),
                         ("Stable", b"of range anew", b"to 0"))

    def test_a_restart_that_changes_the_chosen_protocol_is_a_rebalance(self):
        (member,) = self.settle(self.new_group(), 1, instance="i1", protocols=protocols("a", "b"))
        again = self.member(member.group, instance="i1", protocols=protocols("b"))
        got = again.ask_join()
        self.assertEqual((got.errorCode, got.generationId, got.protocolName, got.skipAssignment), (0, 2, "b", False))

    def test_the_old_id_is_fenced_with_the_instance_and_unknown_without(self):
        (member,) = self.settle(self.new_group(), 1, instance="i1")
        again = self.member(member.group, instance="i1")
        again.ask_join()
        fenced, unknown = codes.FENCED_INSTANCE_ID, codes.UNKNOWN_MEMBER_ID
        for generation in (1, 5):
            self.assertEqual(member.heartbeat(generationId=generation), fenced)
            self.assertEqual(member.heartbeat(generationId=generation, groupInstanceId=None), unknown)
            self.assertEqual(member.sync(generationId=generation).errorCode, fenced)
            self.assertEqual(member.sync(generationId=generation, groupInstanceId=None).errorCode, unknown)
        got = member.ask_join()
        self.assertEqual((got.errorCode, got.memberId, got.generationId), (fenced, member.id, -1))
        self.assertEqual(member.ask_join(groupInstanceId=None).errorCode, unknown)
        self.assertEqual(member.leave(), fenced)
        self.assertEqual(again.heartbeat(), 0)

    def test_an_instance_that_nobody_has(self):
        (member,) = self.settle(self.new_group(), 1)
        unknown = codes.UNKNOWN_MEMBER_ID
        self.assertEqual(member.heartbeat(groupInstanceId="i9"), unknown)
        self.assertEqual(member.sync(groupInstanceId="i9").errorCode, unknown)
        self.assertEqual(member.ask_join(groupInstanceId="i9").errorCode, unknown)
        self.assertEqual(member.heartbeat(), 0)

    def test_the_instance_need_not_be_named(self):
        (member,) = self.settle(self.new_group(), 1, instance="i1")
        self.assertEqual(member.heartbeat(groupInstanceId=None), 0)
        self.assertEqual(member.heartbeat(0), 0)
        self.assertEqual(member.sync(version=0).assignment, b"to 0")

    def test_another_members_instance(self):
        group = self.new_group()
        first, second = self.member(group, instance="i1"), self.member(group, instance="i2")
        self.gather(first, second)
        self.assertEqual(first.heartbeat(groupInstanceId="i2"), codes.FENCED_INSTANCE_ID)
        self.assertEqual(first.ask_join(groupInstanceId="i2").errorCode, codes.FENCED_INSTANCE_ID)

    def test_a_leader_that_joins_again_with_its_id_means_a_rebalance(self):
        (member,) = self.settle(self.new_group(), 1, instance="i1")
        got = member.ask_join()
        self.assertEqual((got.errorCode, got.generationId, got.memberId, got.skipAssignment), (0, 2, member.id, False))

    def test_replaced_while_its_join_waits(self):
        first, second = self.settle(self.new_group(), 2)
        third = self.member(first.group, instance="i3")
        third.send_join()
        self.await_members(first.group, 3)
        again = self.member(first.group, instance="i3")
        again.send_join()
        got = third.connection.receive()
        self.assertEqual((got.errorCode, got.generationId), (codes.FENCED_INSTANCE_ID, -1))
        self.assertRegex(got.memberId, "^i3-")
        first.send_join(), second.send_join()
        self.assertEqual({each.receive_join().generationId for each in (first, second, again)}, {3})
        self.assertNotEqual(again.id, got.memberId)

    def test_replaced_while_its_sync_waits(self):
        group = self.new_group()
        first, second = self.member(group, instance="i1"), self.member(group, instance="i2")
        self.gather(first, second)
        second.send_sync()
        self.assertTrue(second.waits())
        again = self.member(group, instance="i2")
        again.send_join()
        self.assertEqual(second.receive_sync().errorCode, codes.FENCED_INSTANCE_ID)
        self.assertTrue(again.waits())
        self.assertEqual(self.state(group), "PreparingRebalance")
        first.send_join()
        self.assertEqual([first.receive_join().generationId, again.receive_join().generationId], [3, 3])

    def test_back_while_members_are_awaited_counts_as_joining(self):
        group = self.new_group()
        first, second = self.member(group, instance="i1"), self.member(group, instance="i2")
        self.gather(first, second)
        self.assign(first, second)
        first.send_join()
        self.assertTrue(first.waits())
        again = self.member(group, instance="i2")
        got = again.ask_join()
        self.assertEqual((got.errorCode, got.generationId), (0, 3))
        self.assertEqual({one.groupInstanceId: one.memberId for one in first.receive_join().members},
                         {"i1": first.id, "i2": again.id})

    def test_what_the_generation_subscribes_to_stays(self):
        first, second = self.new_topic(), self.new_topic()
        member = self.member(self.new_group(), instance="i1", protocols=(("range", subscription(first)),))
        member.join()
        member.sync({member.id: b"share"})
        again = self.member(member.group, instance="i1", protocols=(("range", subscription(second)),))
        self.assertEqual(again.join().generationId, 1)
        got = self.client.call("OffsetDelete", 0, groupId=member.group, topics=[
            {"name": name, "partitions": [{"partitionIndex": 0}]} for name in (first, second)])
        self.assertEqual({topic.name: topic.partitions[0].errorCode for topic in got.topics},
                         {first: codes.GROUP_SUBSCRIBED_TO_TOPIC, second: codes.NONE})


if __name__ == "__main__":
    unittest.main()
