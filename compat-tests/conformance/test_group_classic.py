"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: the classic protocol of groups, its states, errors and their order."""

import re
import unittest

import apis
import codes
import wire
from differences import differ
from groups import GroupTest, protocols

ID = re.compile(r"conformance-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
FIRST_TWO_STEPS = 4  # the first version of JoinGroup that needs an id to be asked for
WORST = 2**31 - 1


class FirstJoin(GroupTest):
    def test_alone_in_every_version(self):
        for version in apis.versions("JoinGroup"):
            with self.subTest(version=version):
                member = self.member(self.new_group())
                if version >= FIRST_TWO_STEPS:
                    got = member.ask_join(version)
                    self.assert_refused(got, version, codes.MEMBER_ID_REQUIRED, member.id)
                    self.assertRegex(member.id, ID)
                got = member.ask_join(version)
                self.assertEqual((got.errorCode, got.generationId, got.protocolName), (0, 1, "range"))
                self.assertRegex(got.memberId, ID)
                self.assertEqual(got.leader, got.memberId)
                self.assertEqual(got.memberId, member.id)
                self.assertEqual([(one.memberId, one.metadata, one.get("groupInstanceId")) for one in got.members],
                                 [(member.id, b"of range", None)])
                self.assertEqual(got.get("throttleTimeMs", 0), 0)
                self.assertEqual(got.get("protocolType"), "consumer" if version >= 7 else None)
                self.assertFalse(got.get("skipAssignment", False))

    def assert_refused(self, got, version, code, member_id=""):
        self.assertEqual((got.errorCode, got.generationId, got.leader, got.members), (code, -1, "", []))
        self.assertEqual(got.protocolName, None if version >= 7 else "")
        self.assertIsNone(got.get("protocolType"))
        self.assertFalse(got.get("skipAssignment", False))
        self.assertEqual(got.memberId, member_id)

    def test_refusals_in_every_version(self):
        member = self.member(self.new_group())
        for version in apis.versions("JoinGroup"):
            for code, fields in (
                    (codes.INVALID_GROUP_ID, {"groupId": ""}),
                    (codes.INVALID_GROUP_ID, {"groupId": "", "sessionTimeoutMs": 1, "protocols": []}),
                    (codes.INVALID_SESSION_TIMEOUT, {"sessionTimeoutMs": 5999}),
                    (codes.INVALID_SESSION_TIMEOUT, {"sessionTimeoutMs": 1_800_001}),
                    (codes.INVALID_SESSION_TIMEOUT, {"sessionTimeoutMs": 0}),
                    (codes.INVALID_SESSION_TIMEOUT, {"sessionTimeoutMs": -1}),
                    (codes.INVALID_SESSION_TIMEOUT, {"sessionTimeoutMs": WORST, "memberId": "unknown"}),
                    (codes.INVALID_SESSION_TIMEOUT, {"sessionTimeoutMs": 1, "protocols": [], "protocolType": ""}),
                    (codes.INCONSISTENT_GROUP_PROTOCOL, {"protocols": []}),
                    (codes.INCONSISTENT_GROUP_PROTOCOL, {"protocolType": ""}),
                    (codes.INCONSISTENT_GROUP_PROTOCOL, {"protocols": [], "memberId": "unknown"}),
                    (codes.INCONSISTENT_GROUP_PROTOCOL, {"protocolType": "", "memberId": "unknown"}),
                    (codes.UNKNOWN_MEMBER_ID, {"memberId": "unknown"})):
                with self.subTest(version=version, **fields):
                    self.assert_refused(member.ask_join(version, **fields), version, code, fields.get("memberId", ""))

    def test_session_timeouts_at_their_limits(self):
        for timeout in (6000, 1_800_000):
            self.assertEqual(self.member(self.new_group(), session_ms=timeout).join().errorCode, 0)

    def test_an_unknown_member_makes_no_group(self):
        group = self.new_group()
        member = self.member(group)
        for version in apis.versions("JoinGroup"):
            self.assertEqual(member.ask_join(version, memberId="unknown").errorCode, codes.UNKNOWN_MEMBER_ID)
        self.assertEqual(self.describe(group).errorCode, codes.GROUP_ID_NOT_FOUND)
        self.assertNotIn(group, self.listed())

    def test_an_unknown_member_of_a_group_that_is_there(self):
        (member,) = self.settle(self.new_group(), 1)
        for version in apis.versions("JoinGroup"):
            got = member.ask_join(version, memberId="unknown")
            self.assertEqual((got.errorCode, got.memberId), (codes.UNKNOWN_MEMBER_ID, "unknown"))

    def test_ids_begin_with_the_client_id(self):
        for client_id in ("a", "ä-b", "", "x" * 200, "a b\n"):
            with self.subTest(client_id=client_id[:5]):
                member = self.member(self.new_group(), client_id=client_id)
                member.join()
                self.assertEqual(member.id[:-37], client_id)
                self.assertEqual(self.describe(member.group).members[0].clientId, client_id)

    def test_ids_are_new_each_time(self):
        group, member = self.new_group(), self.member(self.new_group())
        seen = {member.ask_join(groupId=group, memberId="").memberId for _ in range(20)}
        self.assertEqual(len(seen), 20)

    def test_any_text_is_a_group_id(self):
        for name in (" ", "a b", "ü", ".", "..", "/", "x" * 300, "a\0b", "*"):
            with self.subTest(name=name[:5]):
                group = name + "." + self.new_group()
                member = self.member(group)
                self.assertEqual(member.join().errorCode, 0)
                self.assertEqual(self.state(group), "CompletingRebalance")
                self.assertEqual(member.leave(), 0)

    def test_any_protocol_type_name_and_metadata(self):
        for kind, offered in (("connect", (("compatible", b""),)), ("x", (("y", b"\0"),)), (" ", (("ü", b"x" * 100_000),))):
            with self.subTest(type=kind):
                member = self.member(self.new_group(), protocol_type=kind, protocols=offered)
                got = member.join()
                self.assertEqual((got.errorCode, got.protocolType, got.protocolName), (0, kind, offered[0][0]))
                self.assertEqual(got.members[0].metadata, offered[0][1])
                self.assertEqual(member.sync({member.id: b"x"}).assignment, b"x")
                described = self.describe(member.group)
                self.assertEqual((described.protocolType, described.protocolData), (kind, offered[0][0]))
                self.assertEqual(described.members[0].memberMetadata, offered[0][1])

    def test_many_protocols(self):
        offered = protocols(*(f"p{index}" for index in range(300)))
        got = self.member(self.new_group(), protocols=offered).join()
        self.assertEqual((got.errorCode, got.protocolName), (0, "p0"))


class Protocols(GroupTest):
    def join_all(self, *offers):
        """One member for each; the chosen protocol, and the metadata of each that the leader is shown."""
        group = self.new_group()
        members = [self.member(group, protocols=offer) for offer in offers]
        got = self.gather(*members)[0]
        shown = {one.memberId: one.metadata for one in got.members}
        return got.protocolName, [shown[each.id] for each in members]

    def test_the_only_common_one(self):
        self.assertEqual(self.join_all(protocols("a", "b"), protocols("c", "b")), ("b", [b"of b", b"of b"]))
        self.assertEqual(self.join_all(protocols("a", "b", "c"), protocols("b", "a"), protocols("d", "a"))[0], "a")

    def test_most_votes_for_the_first_of_each_that_is_common(self):
        self.assertEqual(self.join_all(protocols("a", "b"), protocols("b", "a"), protocols("b", "a"))[0], "b")
        # z is nobody's but one's; its owner's vote goes to the next.
        self.assertEqual(self.join_all(protocols("a", "b"), protocols("z", "b", "a"), protocols("b", "a"))[0], "b")

    def test_metadata_is_that_of_the_chosen_one(self):
        first, second = (("a", b"a1"), ("b", b"b1")), (("c", b"c2"), ("b", b"b2"))
        self.assertEqual(self.join_all(first, second), ("b", [b"b1", b"b2"]))

    def test_nothing_in_common_is_refused_and_changes_nothing(self):
        (member,) = self.settle(self.new_group(), 1, protocols=protocols("a", "b"))
        for version in apis.versions("JoinGroup"):
            for fields in ({"protocols": protocols("c")}, {"protocols": protocols("A", "")}, {"protocol_type": "connect"}):
                with self.subTest(version=version, **fields):
                    got = self.member(member.group, **fields).ask_join(version)
                    self.assertEqual((got.errorCode, got.memberId), (codes.INCONSISTENT_GROUP_PROTOCOL, ""))
        self.assertEqual((member.heartbeat(), self.state(member.group)), (0, "Stable"))

    def test_common_with_some_but_not_with_all_is_refused(self):
        group = self.new_group()
        first, second = self.settle(group, 2, protocols=protocols("a", "b"))
        second.protocols = protocols("b")
        second.send_join()
        first.send_join()
        self.receive_joins(first, second)
        got = self.member(group, protocols=protocols("a")).ask_join()
        self.assertEqual(got.errorCode, codes.INCONSISTENT_GROUP_PROTOCOL)
        self.assertEqual(self.member(group, protocols=protocols("x", "b")).ask_join().errorCode, codes.MEMBER_ID_REQUIRED)

    def test_a_member_cannot_change_to_what_others_lack(self):
        first, second = self.settle(self.new_group(), 2, protocols=protocols("a", "b"))
        for fields in ({"protocols": [{"name": "c", "metadata": b""}]}, {"protocolType": "connect"}, {"protocols": []}):
            got = first.ask_join(**fields)
            self.assertEqual((got.errorCode, got.memberId), (codes.INCONSISTENT_GROUP_PROTOCOL, first.id))
        self.assertEqual((first.heartbeat(), second.heartbeat()), (0, 0))

    def test_a_member_alone_can_change_neither_type_nor_protocol(self):
        (member,) = self.settle(self.new_group(), 1)
        for fields in ({"protocols": [{"name": "c", "metadata": b""}]}, {"protocolType": "connect"}):
            self.assertEqual(member.ask_join(**fields).errorCode, codes.INCONSISTENT_GROUP_PROTOCOL)

    def test_an_unknown_member_with_unfit_protocols(self):
        (member,) = self.settle(self.new_group(), 1)
        got = self.member(member.group, protocols=protocols("z")).ask_join(memberId="unknown")
        self.assertEqual(got.errorCode, codes.INCONSISTENT_GROUP_PROTOCOL)

    def test_a_group_that_became_empty_takes_another_type(self):
        (member,) = self.settle(self.new_group(), 1)
        self.assertEqual(member.leave(), 0)
        described = self.describe(member.group)
        self.assertEqual((described.groupState, described.protocolType), ("Empty", "consumer"))
        got = self.member(member.group, protocol_type="connect", protocols=protocols("z")).join()
        self.assertEqual((got.errorCode, got.generationId, got.protocolType), (0, 3, "connect"))


class Pending(GroupTest):
    """A member id was asked for, and nothing more."""

    def pending(self):
        member = self.member(self.new_group())
        self.assertEqual(member.ask_join().errorCode, codes.MEMBER_ID_REQUIRED)
        return member

    def test_it_is_no_member_yet(self):
        member = self.pending()
        for version in apis.versions("Heartbeat"):
            for generation in (-1, 0, 1):
                self.assertEqual(member.heartbeat(version, generationId=generation), codes.UNKNOWN_MEMBER_ID)
        for version in range(5):
            self.assertEqual(member.sync(version=version).errorCode, codes.UNKNOWN_MEMBER_ID)
        described = self.describe(member.group)
        self.assertEqual((described.errorCode, described.groupState, described.protocolType, described.members),
                         (0, "Empty", "", []))

    def test_its_group_is_listed(self):
        group = self.pending().group
        self.assertEqual(self.listed()[group], ("Empty", "classic"))

    def test_it_joins_in_any_version(self):
        for version in apis.versions("JoinGroup"):
            member = self.pending()
            got = member.ask_join(version)
            self.assertEqual((got.errorCode, got.generationId, got.memberId), (0, 1, member.id))

    def test_another_group_does_not_know_the_id(self):
        member = self.pending()
        self.assertEqual(member.ask_join(groupId=self.new_group()).errorCode, codes.UNKNOWN_MEMBER_ID)

    def test_it_cannot_become_a_static_member(self):
        member = self.pending()
        self.assertEqual(member.ask_join(groupInstanceId="i").errorCode, differ("pending-id-with-instance"))

    def test_it_leaves(self):
        for version in apis.versions("LeaveGroup"):
            member = self.pending()
            self.assertEqual(member.leave(version), 0)
            self.assertEqual(member.leave(version), codes.UNKNOWN_MEMBER_ID)
            self.assertEqual(member.ask_join().errorCode, codes.UNKNOWN_MEMBER_ID)

    def test_it_holds_up_others_until_it_leaves(self):
        (first,) = self.settle(self.new_group(), 1)
        second, third = self.member(first.group), self.member(first.group)
        second.start_join()
        self.await_members(first.group, 2)
        self.assertEqual(third.ask_join().errorCode, codes.MEMBER_ID_REQUIRED)
        first.send_join()
        self.assertTrue(first.waits() and second.waits())
        self.assertEqual(third.leave(), 0)
        self.assertEqual([first.receive_join().generationId, second.receive_join().generationId], [2, 2])

    def test_it_holds_up_others_until_it_joins(self):
        (first,) = self.settle(self.new_group(), 1)
        second, third = self.member(first.group), self.member(first.group)
        second.start_join()
        self.await_members(first.group, 2)
        third.ask_join()
        first.send_join()
        self.assertTrue(first.waits())
        third.send_join()
        self.assertEqual([each.receive_join().generationId for each in (first, second, third)], [2, 2, 2])


class Rebalance(GroupTest):
    def test_two_in_every_version(self):
        for version in apis.versions("JoinGroup"):
            with self.subTest(version=version):
                group = self.new_group()
                first, second = self.member(group), self.member(group)
                self.assertEqual(first.join(version).generationId, 1)
                led, followed = self.gather(first, second, version=version)
                for got in (led, followed):
                    self.assertEqual((got.errorCode, got.generationId, got.protocolName, got.leader),
                                     (0, 2, "range", first.id))
                    self.assertEqual(got.get("protocolType"), "consumer" if version >= 7 else None)
                self.assertEqual({one.memberId: one.metadata for one in led.members},
                                 {first.id: b"of range", second.id: b"of range"})
                self.assertEqual(followed.members, [])
                self.assertNotEqual(first.id, second.id)

    def test_members_of_different_versions(self):
        group = self.new_group()
        members = [self.member(group) for _ in apis.versions("JoinGroup")]
        members[0].join(0)
        for version, each in enumerate(members[1:], 1):
            each.start_join(version)
        self.await_members(group, len(members))
        members[0].send_join(0)
        self.assertEqual({each.receive_join().generationId for each in members}, {2})
        self.assign(*members)

    def test_states_and_what_is_described(self):
        first, second = self.settle(self.new_group(), 2)
        stable = self.describe(first.group)
        self.assertEqual((stable.groupState, stable.protocolType, stable.protocolData), ("Stable", "consumer", "range"))
        self.assertEqual({one.memberId: (one.memberMetadata, one.memberAssignment) for one in stable.members},
                         {first.id: (b"of range", b"to 0"), second.id: (b"of range", b"to 1")})
        first.send_join()  # the leader's join always means a rebalance
        self.assertTrue(first.waits())
        preparing = self.describe(first.group)
        self.assertEqual((preparing.groupState, preparing.protocolType, preparing.protocolData),
                         ("PreparingRebalance", "consumer", ""))
        self.assertEqual({one.memberId: (one.memberMetadata, one.memberAssignment) for one in preparing.members},
                         {first.id: (b"", b"to 0"), second.id: (b"", b"to 1")})
        second.send_join()
        self.assertEqual([first.receive_join().generationId, second.receive_join().generationId], [3, 3])
        self.assertEqual(self.state(first.group), "CompletingRebalance")
        self.assign(first, second)
        self.assertEqual(first.leave(), 0)
        self.assertEqual(self.state(first.group), "PreparingRebalance")
        self.assertEqual(second.leave(), 0)
        empty = self.describe(first.group)
        self.assertEqual((empty.groupState, empty.protocolType, empty.protocolData, empty.members),
                         ("Empty", "consumer", "", []))

    def test_heartbeats_tell_of_a_rebalance(self):
        first, second = self.settle(self.new_group(), 2)
        third = self.member(first.group)
        third.start_join()
        self.await_state(first.group, "PreparingRebalance")
        for version in apis.versions("Heartbeat"):
            for each in (first, second):
                self.assertEqual(each.heartbeat(version), codes.REBALANCE_IN_PROGRESS)
                self.assertEqual(each.heartbeat(version, generationId=1), codes.ILLEGAL_GENERATION)
                self.assertEqual(each.heartbeat(version, generationId=3), codes.ILLEGAL_GENERATION)
                self.assertEqual(each.heartbeat(version, memberId="unknown"), codes.UNKNOWN_MEMBER_ID)
        for version in range(5):
            self.assertEqual(first.sync(version=version).errorCode, codes.REBALANCE_IN_PROGRESS)
            self.assertEqual(first.sync(version=version, generationId=3).errorCode, codes.ILLEGAL_GENERATION)

    def test_a_follower_that_joins_again_unchanged_is_told_of_the_generation(self):
        first, second = self.settle(self.new_group(), 2)
        for version in apis.versions("JoinGroup"):
            got = second.ask_join(version)
            self.assertEqual((got.errorCode, got.generationId, got.leader, got.members), (0, 2, first.id, []))
        self.assertEqual(self.state(first.group), "Stable")
        self.assertEqual(second.sync().assignment, b"to 1")

    def test_a_follower_that_changes_its_metadata_means_a_rebalance(self):
        first, second = self.settle(self.new_group(), 2)
        second.protocols = protocols("range", suffix=b" anew")
        second.send_join()
        self.assertTrue(second.waits())
        self.assertEqual(first.heartbeat(), codes.REBALANCE_IN_PROGRESS)
        first.send_join()
        got = first.receive_join()
        self.assertEqual({one.memberId: one.metadata for one in got.members},
                         {first.id: b"of range", second.id: b"of range anew"})
        self.assertEqual(second.receive_join().generationId, 3)

    def test_more_or_fewer_protocols_are_a_change(self):
        first, second = self.settle(self.new_group(), 2, protocols=protocols("a", "b"))
        for offered in (protocols("b", "a"), protocols("a")):
            second.protocols = offered
            second.send_join()
            self.await_state(first.group, "PreparingRebalance")
            first.send_join()
            self.receive_joins(first, second)
            self.assign(first, second)

    def test_joining_again_while_assignments_are_awaited(self):
        group = self.new_group()
        first, second = self.member(group), self.member(group)
        self.gather(first, second)
        for _ in range(2):
            got = first.ask_join()
            self.assertEqual((got.errorCode, got.generationId, len(got.members)), (0, 2, 2))
            got = second.ask_join()
            self.assertEqual((got.errorCode, got.generationId, got.members), (0, 2, []))
        second.protocols = protocols("range", suffix=b" anew")
        second.send_join()
        self.assertTrue(second.waits())
        first.send_join()
        self.assertEqual([first.receive_join().generationId, second.receive_join().generationId], [3, 3])

    def test_the_last_of_two_joins_of_a_member_counts(self):
        first, second = self.settle(self.new_group(), 2)
        second.protocols = protocols("range", suffix=b" anew")
        second.send_join()
        self.assertTrue(second.waits())
        again = self.member(first.group, protocols=protocols("range", suffix=b" again"))
        again.id = second.id
        again.send_join()
        self.assertTrue(again.waits())
        first.send_join()
        got = first.receive_join()
        self.assertIn((second.id, b"of range again"), [(one.memberId, one.metadata) for one in got.members])
        self.assertEqual(again.receive_join().generationId, 3)

    def test_a_new_member_while_assignments_are_awaited(self):
        group = self.new_group()
        first, second, third = self.member(group), self.member(group), self.member(group)
        self.gather(first, second)
        second.send_sync()
        self.assertTrue(second.waits())
        third.start_join()
        self.assertEqual(second.receive_sync().errorCode, codes.REBALANCE_IN_PROGRESS)
        self.assertEqual(first.sync().errorCode, codes.REBALANCE_IN_PROGRESS)
        first.send_join()
        second.send_join()
        self.assertEqual([each.receive_join().generationId for each in (first, second, third)], [3, 3, 3])

    def test_the_leader_goes_while_assignments_are_awaited(self):
        group = self.new_group()
        first, second, third = self.member(group), self.member(group), self.member(group)
        self.gather(first, second, third)
        second.send_sync()
        self.assertTrue(second.waits())
        self.assertEqual(first.leave(), 0)
        self.assertEqual(second.receive_sync().errorCode, codes.REBALANCE_IN_PROGRESS)
        second.send_join()
        third.send_join()
        got = [second.receive_join(), third.receive_join()]
        self.assertEqual([one.generationId for one in got], [3, 3])
        self.assertIn(got[0].leader, (second.id, third.id))
        self.assertEqual(got[0].leader, got[1].leader)
        leads, follows = (got[0], got[1]) if got[0].leader == second.id else (got[1], got[0])
        self.assertEqual({one.memberId for one in leads.members}, {second.id, third.id})
        self.assertEqual(follows.members, [])

    def test_a_member_that_leaves_lets_the_others_go_on(self):
        first, second = self.settle(self.new_group(), 2)
        first.send_join()
        self.assertTrue(first.waits())
        self.assertEqual(second.leave(), 0)
        got = first.receive_join()
        self.assertEqual((got.errorCode, got.generationId, len(got.members)), (0, 3, 1))

    def test_a_closed_connection_is_no_leave(self):
        first, second = self.settle(self.new_group(), 2)
        second.close()
        self.assertEqual(first.heartbeat(), 0)
        self.assertEqual(len(self.describe(first.group).members), 2)
        again = self.member(first.group)
        again.id, again.generation = second.id, 2
        self.assertEqual(again.heartbeat(), 0)

    def test_a_connection_that_closes_while_its_join_waits(self):
        first, second = self.settle(self.new_group(), 2)
        first.send_join()
        self.assertTrue(first.waits())
        first.close()
        second.send_join()
        again = self.member(first.group)
        again.id = first.id
        self.assertEqual(second.receive_join().generationId, 3)
        got = again.ask_join()
        self.assertEqual((got.errorCode, got.generationId, len(got.members)), (0, 3, 2))

    def test_many_members(self):
        members = self.settle(self.new_group(), 30)
        self.assertEqual({each.generation for each in members}, {2})
        self.assertEqual(len(self.describe(members[0].group).members), 30)

    def test_generations_count_on_through_emptiness(self):
        group = self.new_group()
        for generation in (1, 3, 5):
            member = self.member(group)
            self.assertEqual(member.join().generationId, generation)
            self.assertEqual(member.leave(), 0)


class Sync(GroupTest):
    def test_in_every_version(self):
        for version in apis.versions("SyncGroup"):
            with self.subTest(version=version):
                member = self.member(self.new_group())
                member.join()
                got = member.sync({member.id: b"x\0y"}, version)
                self.assertEqual((got.errorCode, got.assignment, got.get("throttleTimeMs", 0)), (0, b"x\0y", 0))
                self.assertEqual((got.get("protocolType"), got.get("protocolName")),
                                 ("consumer", "range") if version >= 5 else (None, None))

    def test_no_assignment_is_empty_bytes(self):
        for version in apis.versions("SyncGroup"):
            for assignments in ({}, {"stranger": b"x"}):
                member = self.member(self.new_group())
                member.join()
                got = member.sync(assignments, version)
                self.assertEqual((got.errorCode, got.assignment), (0, b""))
                self.assertEqual(self.state(member.group), "Stable")

    def test_errors_in_their_order(self):
        (member,) = self.settle(self.new_group(), 1)
        for version in apis.versions("SyncGroup"):
            for code, fields in (
                    (codes.INVALID_GROUP_ID, {"groupId": ""}),
                    (codes.UNKNOWN_MEMBER_ID, {"groupId": self.new_group()}),
                    (codes.UNKNOWN_MEMBER_ID, {"memberId": "unknown"}),
                    (codes.UNKNOWN_MEMBER_ID, {"memberId": ""}),
                    (codes.UNKNOWN_MEMBER_ID, {"memberId": "unknown", "generationId": 7}),
                    (codes.ILLEGAL_GENERATION, {"generationId": 2}),
                    (codes.ILLEGAL_GENERATION, {"generationId": 0}),
                    (codes.ILLEGAL_GENERATION, {"generationId": -1})):
                with self.subTest(version=version, **fields):
                    got = member.sync({member.id: b"other"}, version, **fields)
                    self.assertEqual((got.errorCode, got.assignment), (code, b""))
                    self.assertEqual((got.get("protocolType"), got.get("protocolName")), (None, None))

    def test_version_5_must_name_type_and_protocol(self):
        (member,) = self.settle(self.new_group(), 1)
        refused = codes.INCONSISTENT_GROUP_PROTOCOL
        for code, fields in (
                (refused, {"protocolType": None}), (refused, {"protocolName": None}), (refused, {"protocolType": ""}),
                (refused, {"protocolType": "connect"}), (refused, {"protocolName": "roundrobin"}),
                (refused, {"protocolType": None, "groupId": ""}),
                (refused, {"protocolName": None, "memberId": "unknown"}),
                (codes.ILLEGAL_GENERATION, {"protocolType": "x", "generationId": 5}),
                (codes.UNKNOWN_MEMBER_ID, {"protocolType": "x", "memberId": "unknown"}), (0, {})):
            with self.subTest(**fields):
                self.assertEqual(member.sync(**fields).errorCode, code)
                # Older versions do not have the fields.
                older = {key: value for key, value in fields.items() if not key.startswith("protocol")}
                wanted = 0 if code == refused else code
                if "groupId" not in older and "memberId" not in older:
                    self.assertEqual(member.sync(version=4, **older).errorCode, wanted)

    def test_followers_wait_for_the_leader_and_only_its_assignments_count(self):
        group = self.new_group()
        first, second, third = self.member(group), self.member(group), self.member(group)
        self.gather(first, second, third)
        second.send_sync({first.id: b"wrong", second.id: b"wrong", third.id: b"wrong"})
        self.assertTrue(second.waits())
        self.assertEqual([each.heartbeat() for each in (first, third)], [0, 0])
        got = first.sync({first.id: b"1", second.id: b"2"})
        self.assertEqual((got.errorCode, got.assignment), (0, b"1"))
        self.assertEqual(second.receive_sync().assignment, b"2")
        self.assertEqual(self.state(group), "Stable")
        self.assertEqual(third.sync().assignment, b"")

    def test_the_last_assignment_of_a_member_counts(self):
        member = self.member(self.new_group())
        member.join()
        given = [(member.id, b"one"), (member.id, b"two")]
        self.assertEqual(member.sync(given).assignment, b"two")

    def test_a_stable_group_gives_the_assignment_again(self):
        members = self.settle(self.new_group(), 2)
        for version in apis.versions("SyncGroup"):
            for index, each in enumerate(members):
                self.assertEqual(each.sync({each.id: b"other"}, version).assignment, b"to %d" % index)

    def test_a_large_assignment(self):
        member = self.member(self.new_group())
        member.join()
        self.assertEqual(member.sync({member.id: b"x" * 700_000}).assignment, b"x" * 700_000)

    def test_a_second_sync_of_a_member_that_waits(self):
        group = self.new_group()
        first, second = self.member(group), self.member(group)
        self.gather(first, second)
        second.send_sync()
        self.assertTrue(second.waits())
        again = self.member(group)
        again.id, again.generation, again.protocol = second.id, second.generation, second.protocol
        again.send_sync()
        self.assertTrue(again.waits())
        first.sync({second.id: b"2"})
        self.assertEqual(again.receive_sync().assignment, b"2")


class Heartbeat(GroupTest):
    def test_errors_in_their_order(self):
        (member,) = self.settle(self.new_group(), 1)
        for version in apis.versions("Heartbeat"):
            for code, fields in (
                    (0, {}),
                    (codes.INVALID_GROUP_ID, {"groupId": ""}),
                    (codes.UNKNOWN_MEMBER_ID, {"groupId": self.new_group()}),
                    (codes.UNKNOWN_MEMBER_ID, {"memberId": "unknown"}),
                    (codes.UNKNOWN_MEMBER_ID, {"memberId": ""}),
                    (codes.UNKNOWN_MEMBER_ID, {"memberId": "unknown", "generationId": 7}),
                    (codes.ILLEGAL_GENERATION, {"generationId": 2}),
                    (codes.ILLEGAL_GENERATION, {"generationId": 0}),
                    (codes.ILLEGAL_GENERATION, {"generationId": -1}),
                    (codes.ILLEGAL_GENERATION, {"generationId": WORST})):
                with self.subTest(version=version, **fields):
                    self.assertEqual(member.heartbeat(version, **fields), code)

    def test_while_assignments_are_awaited(self):
        member = self.member(self.new_group())
        member.join()
        for version in apis.versions("Heartbeat"):
            self.assertEqual(member.heartbeat(version), 0)

    def test_of_a_group_that_became_empty(self):
        (member,) = self.settle(self.new_group(), 1)
        self.assertEqual(member.leave(), 0)
        self.assertEqual(member.heartbeat(), codes.UNKNOWN_MEMBER_ID)


class Leave(GroupTest):
    def ask(self, group, *members, version=5):
        """Members are ids or (id, instance id); the code, and what is said of each."""
        asked = [one if isinstance(one, tuple) else (one, None) for one in members]
        got = self.client.call("LeaveGroup", version, groupId=group, members=[
            {"memberId": member, "groupInstanceId": instance} for member, instance in asked])
        self.assertEqual([(one.memberId, one.groupInstanceId) for one in got.members],
                         asked if got.errorCode == 0 else [])
        return got.errorCode, [one.errorCode for one in got.members]

    def test_in_every_version(self):
        for version in apis.versions("LeaveGroup"):
            (member,) = self.settle(self.new_group(), 1)
            self.assertEqual(member.leave(version), 0)
            self.assertEqual(self.state(member.group), "Empty")
            self.assertEqual(member.leave(version), codes.UNKNOWN_MEMBER_ID)
            self.assertEqual(member.heartbeat(), codes.UNKNOWN_MEMBER_ID)
            self.assertEqual(member.ask_join().errorCode, codes.UNKNOWN_MEMBER_ID)

    def test_errors_of_versions_that_name_one_member(self):
        (member,) = self.settle(self.new_group(), 1)
        for version in range(3):
            for code, group, name in ((codes.INVALID_GROUP_ID, "", member.id),
                                      (codes.UNKNOWN_MEMBER_ID, self.new_group(), member.id),
                                      (codes.UNKNOWN_MEMBER_ID, member.group, "unknown"),
                                      (codes.UNKNOWN_MEMBER_ID, member.group, "")):
                got = self.client.call("LeaveGroup", version, groupId=group, memberId=name)
                self.assertEqual(got.errorCode, code)
        self.assertEqual(member.heartbeat(), 0)

    def test_batches_are_answered_one_by_one(self):
        unknown = codes.UNKNOWN_MEMBER_ID
        for version in (3, 4, 5):
            first, second, third = self.settle(self.new_group(), 3)
            self.assertEqual(self.ask(first.group, "x", first.id, first.id, "", version=version),
                             (0, [unknown, 0, unknown, unknown]))
            self.assertEqual(self.ask(first.group, version=version), (0, []))
            self.assertEqual(self.state(first.group), "PreparingRebalance")
            self.assertEqual(self.ask(first.group, second.id, third.id, version=version), (0, [0, 0]))
            self.assertEqual(self.state(first.group), "Empty")

    def test_of_no_group(self):
        for version in (3, 4, 5):
            self.assertEqual(self.ask("", "x", version=version), (codes.INVALID_GROUP_ID, []))
            self.assertEqual(self.ask(self.new_group(), "x", ("", "i"), ("y", "i"), version=version),
                             (0, [codes.UNKNOWN_MEMBER_ID] * 3))

    def test_static_members_by_instance(self):
        unknown, fenced = codes.UNKNOWN_MEMBER_ID, codes.FENCED_INSTANCE_ID
        group = self.new_group()
        first, second = self.member(group, instance="i1"), self.member(group, instance="i2")
        self.gather(first, second)
        self.assertEqual(self.ask(group, ("", "i3"), ("x", "i3"), ("x", "i1"), (second.id, "i1"), (first.id, None)),
                         (0, [unknown, unknown, fenced, fenced, 0]))
        self.assertEqual(self.ask(group, ("", "i1"), ("", "i2"), ("", "i2")), (0, [unknown, 0, unknown]))
        self.assertEqual(self.state(group), "Empty")

    def test_reasons_are_welcome(self):
        (member,) = self.settle(self.new_group(), 1)
        for reason in (None, "", "x" * 1000):
            got = self.client.call("LeaveGroup", 5, groupId=member.group, members=[
                {"memberId": "unknown", "reason": reason}])
            self.assertEqual(got.members[0].errorCode, codes.UNKNOWN_MEMBER_ID)

    def test_a_waiting_join_of_the_one_who_leaves(self):
        first, second = self.settle(self.new_group(), 2)
        first.send_join()
        self.assertTrue(first.waits())
        self.assertEqual(self.ask(first.group, first.id), (0, [0]))
        got = first.receive_join()
        self.assertEqual((got.errorCode, got.generationId), (codes.UNKNOWN_MEMBER_ID, -1))
        self.assertEqual(second.heartbeat(), codes.REBALANCE_IN_PROGRESS)


class Wire(GroupTest):
    def test_requests_in_a_row_on_one_connection(self):
        member = self.member(self.new_group())
        member.join()
        connection = member.connection
        fields = {"groupId": member.group, "generationId": 1, "memberId": member.id}
        for _ in range(50):
            connection.send("Heartbeat", 4, **fields)
        self.assertEqual({connection.receive().errorCode for _ in range(50)}, {0})

    def test_answers_behind_a_waiting_join_keep_their_order(self):
        first, second = self.settle(self.new_group(), 2)
        second.protocols = protocols("range", suffix=b" anew")
        second.send_join()
        second.connection.send("Heartbeat", 4, groupId=first.group, generationId=2, memberId=second.id)
        self.assertTrue(second.waits())
        first.send_join()
        self.assertEqual(first.receive_join().generationId, 3)
        self.assertEqual(second.receive_join().generationId, 3)
        self.assertIn(second.connection.receive().errorCode, (codes.ILLEGAL_GENERATION, codes.REBALANCE_IN_PROGRESS))

    def test_lengths_that_lie(self):
        for api, version, body in (
                ("JoinGroup", 0, b"\0\1g" + b"\0\0\x75\x30" + b"\0\0" + b"\0\1x" + b"\x7f\xff\xff\xff"),
                ("SyncGroup", 0, b"\0\1g" + b"\0\0\0\1" + b"\0\1m" + b"\x7f\xff\xff\xff"),
                ("LeaveGroup", 3, b"\0\1g" + b"\x7f\xff\xff\xff"),
                ("JoinGroup", 0, b"\x7f\xffg"), ("Heartbeat", 0, b"\xff\xff")):
            with self.subTest(api=api, version=version):
                connection = self.new_connection()
                header = wire.header_of(apis.GROUPS[api][0], version, 1, "c")
                connection.send_bytes(wire.sized(header + body))
                self.assertTrue(connection.is_closed())
        self.assert_still_served()


if __name__ == "__main__":
    unittest.main()
