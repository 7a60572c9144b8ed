"""What happens to groups as time goes by: sessions, rebalances and their delay, limits, and what a restart keeps."""

import time
import unittest

import codes
from base import eventually
from differences import differ
from groups import OwnBrokerTest

SHORT_MS, LONG_MS = 400, 20_000
SLACK_S = 5.0  # a busy machine is late, never early


class Sessions(OwnBrokerTest):
    """Timeouts of members, with sessions shorter than is allowed by default."""

    properties = {"group.initial.rebalance.delay.ms": "0", "group.min.session.timeout.ms": "100"}

    def assert_took(self, started, at_least_ms, what=""):
        """Since `started`, with some slack below for clocks and above for busy machines."""
        took = time.monotonic() - started
        self.assertGreaterEqual(took, at_least_ms / 1000 - 0.05, what)
        self.assertLess(took, at_least_ms / 1000 + SLACK_S, what)

    def test_a_silent_member_is_removed(self):
        member = self.member(self.new_group(), session_ms=SHORT_MS)
        member.join()
        started = time.monotonic()
        member.sync()
        self.await_state(member.group, "Empty")
        self.assert_took(started, SHORT_MS)
        self.assertEqual(member.heartbeat(), codes.UNKNOWN_MEMBER_ID)
        self.assertEqual(member.ask_join().errorCode, codes.UNKNOWN_MEMBER_ID)

    def test_heartbeats_keep_a_member(self):
        member = self.member(self.new_group(), session_ms=SHORT_MS)
        member.join()
        member.sync()
        deadline = time.monotonic() + 3 * SHORT_MS / 1000
        while time.monotonic() < deadline:
            self.assertEqual(member.heartbeat(), 0)
        self.assertEqual(self.state(member.group), "Stable")

    def test_others_rebalance_without_the_silent_one(self):
        group = self.new_group()
        first, second = self.member(group, session_ms=LONG_MS), self.member(group, session_ms=SHORT_MS)
        self.gather(first, second)
        self.assign(first, second)
        self.assertTrue(eventually(lambda: first.heartbeat() == codes.REBALANCE_IN_PROGRESS))
        got = first.ask_join()
        self.assertEqual((got.errorCode, got.generationId, len(got.members)), (0, 3, 1))

    def test_a_static_member_is_removed_by_time_too(self):
        member = self.member(self.new_group(), session_ms=SHORT_MS, instance="i")
        member.join()
        member.sync()
        self.await_state(member.group, "Empty")
        self.assertEqual(member.heartbeat(), codes.UNKNOWN_MEMBER_ID)

    def test_a_returning_static_member_has_a_whole_session_again(self):
        group = self.new_group()
        first = self.member(group, session_ms=SHORT_MS, instance="i")
        first.join()
        first.sync({first.id: b"x"})
        again = self.member(group, session_ms=SHORT_MS, instance="i")
        self.assertEqual(again.join().generationId, 1)
        started = time.monotonic()
        self.await_state(group, "Empty")
        self.assert_took(started, SHORT_MS)

    def test_a_member_whose_join_waits_is_kept(self):
        group = self.new_group()
        first = self.member(group, session_ms=LONG_MS, rebalance_ms=3 * SHORT_MS)
        second = self.member(group, session_ms=SHORT_MS, rebalance_ms=SHORT_MS)
        self.gather(first, second)
        self.assign(first, second)
        started = time.monotonic()
        second.protocols = (("range", b"anew"),)
        second.send_join()
        # The first is not heard of, and the rebalance goes on without it when the longest rebalance timeout is over.
        got = second.receive_join()
        self.assert_took(started, 3 * SHORT_MS)
        self.assertEqual((got.errorCode, got.generationId, [one.memberId for one in got.members]), (0, 3, [second.id]))
        self.assertEqual(first.heartbeat(), codes.UNKNOWN_MEMBER_ID)

    def test_heartbeats_do_not_save_who_does_not_join(self):
        group = self.new_group()
        first = self.member(group, session_ms=LONG_MS, rebalance_ms=SHORT_MS)
        second = self.member(group, session_ms=LONG_MS, rebalance_ms=SHORT_MS)
        self.gather(first, second)
        self.assign(first, second)
        second.protocols = (("range", b"anew"),)
        second.send_join()
        last = []
        self.assertTrue(eventually(lambda: last.append(first.heartbeat()) or last[-1] not in (
            0, codes.REBALANCE_IN_PROGRESS)))
        self.assertEqual(last[-1], codes.UNKNOWN_MEMBER_ID)
        self.assertEqual(second.receive_join().generationId, 3)

    def test_version_0_has_its_session_for_a_rebalance(self):
        group = self.new_group()
        first, second = self.member(group, session_ms=SHORT_MS), self.member(group, session_ms=LONG_MS)
        first.join(0)
        started = time.monotonic()
        second.send_join(0)
        self.await_members(group, 2)
        first.send_join(0)
        self.assertEqual(self.receive_joins(first, second)[0].generationId, 2)
        second.send_join(0)
        second.send_sync(version=0)
        self.assertEqual(self.describe(group).errorCode, 0)
        self.assertLess(time.monotonic() - started, SLACK_S)

    def test_a_generation_that_all_left_behind_is_replaced(self):
        # Who does not ask for its assignment in time is removed, leader or not.
        group = self.new_group()
        first = self.member(group, session_ms=LONG_MS, rebalance_ms=SHORT_MS)
        second = self.member(group, session_ms=LONG_MS, rebalance_ms=SHORT_MS)
        self.gather(first, second)
        started = time.monotonic()
        second.send_sync()
        self.assertEqual(second.receive_sync().errorCode, codes.REBALANCE_IN_PROGRESS)
        self.assert_took(started, SHORT_MS)
        self.assertEqual(first.heartbeat(), codes.UNKNOWN_MEMBER_ID)
        got = second.ask_join()
        self.assertEqual((got.errorCode, got.generationId, got.leader), (0, 3, second.id))

    def test_a_follower_that_does_not_ask_for_its_assignment(self):
        group = self.new_group()
        first = self.member(group, session_ms=LONG_MS, rebalance_ms=SHORT_MS)
        second = self.member(group, session_ms=LONG_MS, rebalance_ms=SHORT_MS)
        self.gather(first, second)
        self.assertEqual(first.sync({first.id: b"1"}).assignment, b"1")
        self.assertTrue(eventually(lambda: first.heartbeat() == codes.REBALANCE_IN_PROGRESS))
        self.assertEqual(second.heartbeat(), codes.UNKNOWN_MEMBER_ID)

    def test_a_pending_member_is_forgotten_after_its_session(self):
        group = self.new_group()
        member = self.member(group, session_ms=SHORT_MS)
        started = time.monotonic()
        self.assertEqual(member.ask_join().errorCode, codes.MEMBER_ID_REQUIRED)
        self.assertTrue(eventually(lambda: member.leave() == codes.UNKNOWN_MEMBER_ID or
                                   time.monotonic() > started + SHORT_MS / 1000))
        second = self.member(group, session_ms=SHORT_MS)
        second.ask_join()
        expired = time.monotonic() + SHORT_MS / 1000 + 0.3
        self.assertTrue(eventually(lambda: time.monotonic() > expired))
        self.assertEqual(second.ask_join().errorCode, codes.UNKNOWN_MEMBER_ID)

    def test_an_id_that_is_never_used_holds_up_others_for_its_session_only(self):
        (first,) = self.settle(self.new_group(), 1, session_ms=LONG_MS, rebalance_ms=LONG_MS)
        second = self.member(first.group, session_ms=2 * SHORT_MS, rebalance_ms=LONG_MS)
        self.assertEqual(second.ask_join().errorCode, codes.MEMBER_ID_REQUIRED)  # lost on its way
        started = time.monotonic()
        again = self.member(first.group, session_ms=LONG_MS, rebalance_ms=LONG_MS)
        again.start_join()
        self.await_members(first.group, 2)
        first.send_join()
        self.assertEqual(self.receive_joins(first, again)[0].generationId, 2)
        self.assertLess(time.monotonic() - started, 2 * SHORT_MS / 1000 + SLACK_S)
        self.assertGreater(time.monotonic() - started, SHORT_MS / 1000)

    def test_an_id_that_is_never_used_holds_up_others_for_their_rebalance_timeout_at_most(self):
        (first,) = self.settle(self.new_group(), 1, session_ms=LONG_MS, rebalance_ms=SHORT_MS)
        second = self.member(first.group, session_ms=LONG_MS)
        self.assertEqual(second.ask_join().errorCode, codes.MEMBER_ID_REQUIRED)
        started = time.monotonic()
        got = first.ask_join()
        self.assert_took(started, SHORT_MS)
        self.assertEqual((got.errorCode, got.generationId, len(got.members)), (0, 2, 1))

    def test_the_longest_rebalance_timeout_counts(self):
        group = self.new_group()
        first = self.member(group, session_ms=LONG_MS, rebalance_ms=SHORT_MS)
        second = self.member(group, session_ms=LONG_MS, rebalance_ms=3 * SHORT_MS)
        self.gather(first, second)
        self.assign(first, second)
        started = time.monotonic()
        got = first.ask_join()  # the leader's; the second does not come
        self.assert_took(started, 3 * SHORT_MS)
        self.assertEqual((got.generationId, len(got.members)), (3, 1))


class ConsumerSessions(OwnBrokerTest):
    """The same for members of the consumer protocol: here the group's settings say how long a session is."""

    SESSION_MS = 600
    properties = {"group.consumer.min.session.timeout.ms": "200", "group.consumer.session.timeout.ms": str(SESSION_MS),
                  "group.consumer.min.heartbeat.interval.ms": "50", "group.consumer.heartbeat.interval.ms": "100",
                  "group.consumer.assignment.interval.ms": "0"}

    def new_members(self, *names, **fields):
        topic, self.topic_id = self.new_topic_with_id(3)
        group = self.new_group()
        members = [self.consumer(group, name, [topic], **fields) for name in names]
        # Apache Kafka's coordinator learns of topics a little later.
        self.assertTrue(eventually(lambda: members[0].join().errorCode or members[0].assigned))
        return members

    def test_a_silent_member_is_removed(self):
        (a,) = self.new_members("a")
        started = time.monotonic()
        got = a.beat()
        self.assertEqual((got.errorCode, got.heartbeatIntervalMs), (0, 100))
        self.assertTrue(eventually(lambda: self.epochs(a.group)[0] == "Empty"))
        self.assertGreaterEqual(time.monotonic() - started, self.SESSION_MS / 1000 - 0.05)
        self.assertEqual(a.beat().errorCode, codes.UNKNOWN_MEMBER_ID)
        self.assertEqual(a.join().errorCode, 0)

    def test_heartbeats_keep_a_member(self):
        (a,) = self.new_members("a")
        deadline = time.monotonic() + 2 * self.SESSION_MS / 1000
        while time.monotonic() < deadline:
            self.assertEqual(a.beat().errorCode, 0)

    def test_what_a_silent_member_owned_goes_to_others(self):
        a, b = self.new_members("a", "b")
        b.join()
        self.assertTrue(eventually(lambda: b.acknowledge().errorCode or b.assigned.get(self.topic_id) == [0, 1, 2]))
        self.assertEqual([one.memberId for one in self.describe_consumer(a.group).members], ["b"])

    def test_a_static_member_that_is_gone_for_a_while_is_removed_in_the_end(self):
        (a,) = self.new_members("a", instance="i")
        self.assertEqual(a.leave(-2).errorCode, 0)
        started = time.monotonic()
        self.assertTrue(eventually(lambda: self.epochs(a.group)[0] == "Empty"))
        self.assertGreaterEqual(time.monotonic() - started, self.SESSION_MS / 1000 - 0.1)

    def test_a_static_member_that_comes_back_in_time(self):
        (a,) = self.new_members("a", instance="i")
        before = a.epoch
        self.assertEqual(a.leave(-2).errorCode, 0)
        c = self.consumer(a.group, "c", a.topics, instance="i")
        self.assertEqual(c.join().memberEpoch, before)
        deadline = time.monotonic() + 1.5 * self.SESSION_MS / 1000
        while time.monotonic() < deadline:
            self.assertEqual(c.beat().errorCode, 0)

    def test_who_does_not_let_go_in_time_is_removed(self):
        a, b = self.new_members("a", "b", rebalance_ms=700)
        b.join()
        a.beat()
        started = time.monotonic()
        last = []

        def gone():
            self.assertEqual(b.acknowledge().errorCode, 0)
            last.append(a.beat().errorCode)
            return last[-1]

        self.assertEqual(eventually(gone), codes.UNKNOWN_MEMBER_ID)
        self.assertGreaterEqual(time.monotonic() - started, 0.6)
        self.assertTrue(eventually(lambda: b.acknowledge().errorCode or b.assigned.get(self.topic_id) == [0, 1, 2]))

    def test_who_lets_go_in_time_is_kept(self):
        a, b = self.new_members("a", "b", rebalance_ms=700)
        b.join()
        a.beat()
        a.acknowledge()
        deadline = time.monotonic() + 1.0
        while time.monotonic() < deadline:
            self.assertEqual((a.beat().errorCode, b.beat().errorCode), (0, 0))

    def test_a_groups_own_settings_come_first(self):
        group = self.new_group()
        self.set_group_config(group, consumer_session_timeout_ms=5000, consumer_heartbeat_interval_ms=60)
        a = self.consumer(group, "a", [])
        self.assertEqual(a.join().heartbeatIntervalMs, 60)
        deadline = time.monotonic() + 1.5 * self.SESSION_MS / 1000
        self.assertTrue(eventually(lambda: time.monotonic() > deadline))
        self.assertEqual(a.beat().errorCode, 0)


class Limits(OwnBrokerTest):
    properties = {"group.initial.rebalance.delay.ms": "0", "group.max.size": "2", "group.min.session.timeout.ms": "100",
                  "group.max.session.timeout.ms": "1000", "group.consumer.max.size": "2"}

    def test_session_timeouts_as_set(self):
        for timeout, code in ((99, codes.INVALID_SESSION_TIMEOUT), (1001, codes.INVALID_SESSION_TIMEOUT),
                              (100, codes.MEMBER_ID_REQUIRED), (1000, codes.MEMBER_ID_REQUIRED)):
            self.assertEqual(self.member(self.new_group(), session_ms=timeout).ask_join().errorCode, code)

    def test_a_group_that_is_full(self):
        first, second = self.settle(self.new_group(), 2, session_ms=1000)
        for version in (0, 3, 5, 9):
            third = self.member(first.group, session_ms=1000, instance="i" if version >= 5 else None)
            got = third.ask_join(version)
            self.assertEqual((got.errorCode, got.memberId, got.generationId), (codes.GROUP_MAX_SIZE_REACHED, "", -1))
        dynamic = self.member(first.group, session_ms=1000)
        got = dynamic.ask_join(9)
        if got.errorCode == codes.MEMBER_ID_REQUIRED:
            got = dynamic.ask_join(9)
        self.assertEqual(got.errorCode, codes.GROUP_MAX_SIZE_REACHED)
        self.assertEqual((first.heartbeat(), second.heartbeat()), (0, 0))
        self.assertEqual(second.ask_join().errorCode, 0)
        self.assertEqual(second.leave(), 0)
        self.assertEqual(first.heartbeat(), codes.REBALANCE_IN_PROGRESS)

    def test_a_consumer_group_that_is_full(self):
        group = self.new_group()
        for name in "ab":
            self.assertEqual(self.consumer(group, name, []).join().errorCode, 0)
        third = self.consumer(group, "c", [])
        self.assert_error(third.join(), codes.GROUP_MAX_SIZE_REACHED,
                          "The consumer group has reached its maximum capacity of 2 members.")
        self.assertEqual(self.consumer(group, "a", []).join().errorCode, 0)


class InitialDelay(OwnBrokerTest):
    """The first rebalance of an empty group waits a little for more members."""

    DELAY_MS = 600
    properties = {"group.initial.rebalance.delay.ms": str(DELAY_MS), "group.min.session.timeout.ms": "100"}

    def test_the_first_member_waits(self):
        member = self.member(self.new_group())
        started = time.monotonic()
        self.assertEqual(member.join().generationId, 1)
        self.assertGreaterEqual(time.monotonic() - started, self.DELAY_MS / 1000 - 0.05)

    def test_who_comes_meanwhile_is_in_the_first_generation(self):
        group = self.new_group()
        first, second, third = (self.member(group) for _ in range(3))
        started = time.monotonic()
        first.start_join()
        self.await_members(group, 1)
        self.assertEqual(self.state(group), "PreparingRebalance")
        second.start_join(), third.start_join()
        got = self.receive_joins(first, second, third)
        self.assertEqual((got[0].generationId, got[0].leader, len(got[0].members)), (1, first.id, 3))
        self.assertGreaterEqual(time.monotonic() - started, self.DELAY_MS / 1000 - 0.05)

    def test_newcomers_lengthen_the_delay_up_to_the_rebalance_timeout(self):
        for rebalance_ms, least_ms, most_ms in ((100, self.DELAY_MS, 2 * self.DELAY_MS),
                                                (900, min(900, differ("first-rebalance-delays") * self.DELAY_MS),
                                                 2 * self.DELAY_MS),
                                                (20_000, differ("first-rebalance-delays") * self.DELAY_MS,
                                                 5 * self.DELAY_MS)):
            with self.subTest(rebalance_ms=rebalance_ms):
                group = self.new_group()
                first, second = self.member(group, rebalance_ms=rebalance_ms), self.member(group, rebalance_ms=rebalance_ms)
                first.ask_join(), second.ask_join()
                started = time.monotonic()
                first.send_join(), second.send_join()
                self.assertEqual(self.receive_joins(first, second)[0].generationId, 1)
                took_ms = (time.monotonic() - started) * 1000
                self.assertGreaterEqual(took_ms, least_ms - 50)
                self.assertLess(took_ms, most_ms + 1000)

    def test_later_rebalances_do_not_wait(self):
        (first,) = self.settle(self.new_group(), 1)
        started = time.monotonic()
        self.assertEqual(first.ask_join().generationId, 2)
        self.assertLess(time.monotonic() - started, self.DELAY_MS / 1000)

    def test_an_unused_id_does_not_delay_the_first_generation_beyond_the_delay(self):
        group = self.new_group()
        self.assertEqual(self.member(group).ask_join().errorCode, codes.MEMBER_ID_REQUIRED)
        started = time.monotonic()
        self.assertEqual(self.member(group).join().generationId, 1)
        self.assertLess(time.monotonic() - started, self.DELAY_MS / 1000 + SLACK_S)

    def test_one_who_leaves_during_the_delay(self):
        group = self.new_group()
        first, second = self.member(group), self.member(group)
        first.start_join()
        second.start_join()
        self.await_members(group, 2)
        self.assertEqual(self.client.call("LeaveGroup", 3, groupId=group, members=[
            {"memberId": first.id}]).members[0].errorCode, 0)
        self.assertEqual(first.receive_join().errorCode, codes.UNKNOWN_MEMBER_ID)
        got = second.receive_join()
        self.assertEqual((got.generationId, got.leader), (1, second.id))

    def test_all_leave_during_the_delay(self):
        group = self.new_group()
        first = self.member(group)
        first.start_join()
        self.await_members(group, 1)
        self.client.call("LeaveGroup", 3, groupId=group, members=[{"memberId": first.id}])
        self.assertEqual(first.receive_join().errorCode, codes.UNKNOWN_MEMBER_ID)
        self.await_state(group, "Empty")
        self.assertIn(self.member(group).join().generationId, (1, 2))


class Restart(OwnBrokerTest):
    properties = {"group.initial.rebalance.delay.ms": "0"}

    def restart(self):
        self.broker.restart()
        self.client = self.new_client()
        self.await_coordinator()

    def again(self, member):
        """The same member on a new connection."""
        made = self.member(member.group, instance=member.instance, protocols=member.protocols)
        made.id, made.generation, made.protocol = member.id, member.generation, member.protocol
        return made

    def test_groups_go_on_where_they_were(self):
        topic = self.new_topic(4)
        first, second = self.settle(self.new_group(), 2)
        static = self.settle(self.new_group(), 1, instance="i1")[0]
        pending = self.member(self.new_group())
        pending.ask_join()
        awaited = self.member(self.new_group())
        awaited.join()
        left = self.settle(self.new_group(), 1)[0]
        left.leave()
        deleted = self.settle(self.new_group(), 1)[0]
        deleted.leave()
        got = self.client.call("DeleteGroups", 2, groupsNames=[deleted.group])
        self.assertEqual(got.results[0].errorCode, 0)
        group = self.new_group()
        consumer = self.consumer(group, "a", [topic], instance="i", rack="r", assignor="range")
        self.assertEqual(consumer.join().errorCode, 0)
        before = [self.describe(each.group) for each in (first, static, left)]
        described = self.describe_consumer(group)

        self.restart()
        self.assertEqual([self.describe(each.group) for each in (first, static, left)], before)
        self.assertEqual(self.describe_consumer(group), described)
        for each in (first, second, static):
            self.assertEqual(self.again(each).heartbeat(), 0)
        self.assertEqual(self.again(second).sync().assignment, b"to 1")
        got = self.again(second).ask_join()
        self.assertEqual((got.errorCode, got.generationId, got.leader), (0, 2, first.id))
        leader = self.again(first)
        leader.send_join()
        self.await_state(first.group, "PreparingRebalance")
        follower = self.again(second)
        follower.send_join()
        self.assertEqual(self.receive_joins(leader, follower)[0].generationId, 3)
        # Groups are in the log from their first member on, but a member only once its assignment is.
        for each in (pending, awaited):
            described = self.describe(each.group)
            self.assertEqual((described.errorCode, described.groupState, described.protocolType, described.members),
                             (0, "Empty", "", []))
        self.assertEqual(self.member(awaited.group).join().generationId, 1)
        self.assertEqual(self.again(pending).ask_join().errorCode, codes.UNKNOWN_MEMBER_ID)
        self.assertEqual(self.again(awaited).heartbeat(), codes.UNKNOWN_MEMBER_ID)
        self.assertEqual(self.describe(deleted.group).errorCode, codes.GROUP_ID_NOT_FOUND)
        self.assertNotIn(deleted.group, self.listed())
        back = self.member(static.group, instance="i1")
        got = back.ask_join()
        self.assertEqual((got.errorCode, got.generationId), (0, 1))
        self.assertEqual(back.sync().assignment, b"to 0")
        self.assertEqual(self.member(left.group).join().generationId, 3)
        consumer.connection = self.new_connection()
        got = consumer.beat()
        self.assertEqual((got.errorCode, got.memberEpoch, got.assignment), (0, consumer.epoch, None))
        self.assertEqual(consumer.full().assignment.topicPartitions[0].partitions, [0, 1, 2, 3])


if __name__ == "__main__":
    unittest.main()
