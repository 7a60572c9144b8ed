#!/usr/bin/env python3
"""A thousand members in one group, five thousand groups, twenty thousand commits a second that are on the disk before they
are answered. Bounds are on the broker's own processor time and on memory, since the machine may have other work; what
came out is printed, also of Apache Kafka (BARNABAS_TEST_TARGET=kafka), where nothing is bounded.
"""

import os
import pathlib
import sys
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "harness"), str(TESTS / "conformance")]

import codes  # noqa: E402
import wire  # noqa: E402
from broker import HOST, Broker  # noqa: E402
from client import Connection  # noqa: E402
from groups import ClassicMember, ConsumerMember  # noqa: E402

MEMBERS = 1_000
GROUPS = 5_000
COMMITTERS = 1_000
COMMITS = 60  # of each
PATIENCE_S = 120
GROUP_CONNECTIONS = 50
IDLE_S = 6


class GroupScale(unittest.TestCase):
    def start(self, **properties):
        self.broker = Broker(properties={"offsets.topic.replication.factor": "1", **properties})
        self.addCleanup(self.broker.clean)
        self.broker.start()
        self.address = (HOST, self.broker.port)
        self.await_coordinator()

    def await_coordinator(self):
        """Apache Kafka makes the topic of groups when it is first asked for; each of its partitions has to be loaded."""
        everywhere = [{"groupId": f"await-{i}", "topics": None} for i in range(500)]
        deadline = time.monotonic() + PATIENCE_S
        connection = self.connect()
        while True:
            found = connection.call("FindCoordinator", 4, keyType=0, coordinatorKeys=["x"]).coordinators[0].errorCode
            fetched = connection.call("OffsetFetch", 8, groups=everywhere, requireStable=False)
            if {found} | {group.errorCode for group in fetched.groups} == {0}:
                return
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.05)

    def connect(self):
        connection = Connection(self.address, timeout=PATIENCE_S)
        self.addCleanup(connection.close)
        return connection

    def create_topic(self, name, partitions):
        answer = self.connect().call("CreateTopics", 7, timeoutMs=60_000, topics=[
            {"name": name, "numPartitions": partitions, "replicationFactor": 1}])
        self.assertEqual(answer.topics[0].errorCode, 0)

    def cpu(self):
        """Processor seconds of the broker so far."""
        fields = pathlib.Path(f"/proc/{self.broker.pid}/stat").read_text().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def bounded(self, figure, bound):
        if self.broker.target == "barnabas":
            self.assertLess(figure, bound)

    def measured(self, what, work, cpu_max):
        """Runs `work` and says what it took; its processor time is bounded."""
        before, begun = self.cpu(), time.monotonic()
        result = work()
        took, cpu = time.monotonic() - begun, self.cpu() - before
        print(f"\n{self.broker.target}: {what}: {took:.2f} s, broker CPU {cpu:.2f} s, {self.broker.rss() >> 20} MiB",
              flush=True)
        self.bounded(cpu, cpu_max)
        return result

    # One classic group.

    def test_a_thousand_members_of_a_classic_group(self):
        self.start(**{"group.initial.rebalance.delay.ms": "1000"})
        members = [ClassicMember(self.address, "large", protocols=(("range", b"m" * 100),), rebalance_ms=60_000)
                   for _ in range(MEMBERS)]
        for member in members:
            self.addCleanup(member.close)
            member.connection.socket.settimeout(PATIENCE_S)
        self.measured(f"{MEMBERS} members join", lambda: self.rebalance(members, True), 5)
        self.measured("heartbeats of all", lambda: self.beat(members), 1)
        gone = members.pop()
        self.assertEqual(gone.leave(), 0)
        self.measured("one leaves", lambda: self.rebalance(members, False), 2)
        self.broker.kill()
        self.broker.start()
        self.await_coordinator()
        for member in members:
            member.connection.close()
            member.connection = Connection(self.address, timeout=PATIENCE_S)
        self.measured("all come back after SIGKILL, where they were", lambda: self.beat(members), 2)

    def rebalance(self, members, ask_for_ids):
        if ask_for_ids:
            for member in members:
                self.assertEqual(member.ask_join().errorCode, codes.MEMBER_ID_REQUIRED)
        for member in members:
            member.send_join()
        answers = [member.receive_join() for member in members]
        self.assertEqual({answer.errorCode for answer in answers}, {0})
        self.assertEqual(len({answer.generationId for answer in answers}), 1)
        self.assertEqual(sorted(len(answer.members) for answer in answers)[-2:], [0, len(members)])
        leader = next(member for member, answer in zip(members, answers) if answer.members)
        for member in members:
            member.send_sync({each.id: each.id.encode() * 3 for each in members} if member is leader else None)
        for member in members:
            self.assertEqual(member.receive_sync().assignment, member.id.encode() * 3)

    def beat(self, members):
        for member in members:
            member.connection.send("Heartbeat", 4, groupId=member.group, generationId=member.generation,
                                   memberId=member.id, groupInstanceId=None)
        self.assertEqual({member.connection.receive().errorCode for member in members}, {0})

    # One group of the consumer protocol.

    def test_a_thousand_members_of_a_consumer_group(self):
        self.start(**{"group.consumer.max.size": str(2 * MEMBERS)})
        self.create_topic("wide", MEMBERS)
        members = [ConsumerMember(self.address, "large", f"member-{i}", ["wide"]) for i in range(MEMBERS)]
        for member in members:
            self.addCleanup(member.close)
            member.connection.socket.settimeout(PATIENCE_S)
        self.measured(f"{MEMBERS} members of the consumer protocol join", lambda: self.settle(members, True), 30)
        gone = members.pop()
        gone.leave()
        self.measured("one leaves", lambda: self.settle(members, False), 10)

    def settle(self, members, join):
        """Heartbeats until all have what they are to have, each partition once."""
        if join:
            for member in members:
                member.send(0, **member.everything())
            self.assertEqual({member.receive().errorCode for member in members}, {0})
        deadline = time.monotonic() + PATIENCE_S
        rounds = 0
        while True:
            self.assertLess(time.monotonic(), deadline)
            rounds += 1
            for member in members:
                member.send(topicPartitions=[{"topicId": topic, "partitions": partitions}
                                             for topic, partitions in member.assigned.items()])
            self.assertEqual({member.receive().errorCode for member in members}, {0})
            owned = [sum(member.assigned.values(), []) for member in members]
            shares = {len(partitions) for partitions in owned}
            if sorted(sum(owned, [])) == list(range(MEMBERS)) and max(shares) - min(shares) <= 1:
                print(f"\n{rounds} rounds of heartbeats", flush=True)
                return
            time.sleep(0.2)

    # Many groups.

    def test_five_thousand_groups(self):
        self.start()
        self.create_topic("topic", 4)
        connections = [self.connect() for _ in range(GROUP_CONNECTIONS)]
        epochs = self.measured(f"{GROUPS} groups come to be", lambda: self.heartbeats(connections, dict.fromkeys(
            range(GROUPS), 0), rebalanceTimeoutMs=60_000, subscribedTopicNames=["topic"], topicPartitions=[]), 10)
        self.assertEqual(len(connections[0].call("ListGroups", 4, statesFilter=[]).groups), GROUPS)
        epochs = self.measured("a heartbeat each", lambda: self.heartbeats(connections, epochs), 3)
        self.bounded(self.broker.rss(), 300 << 20)
        time.sleep(IDLE_S)
        self.measured(f"{IDLE_S} s without requests", lambda: time.sleep(IDLE_S), 0.15)

        def come_back():
            self.broker.kill()
            self.broker.start()
            self.await_coordinator()

        # The processor time of the new process counts from its start.
        come_back()
        print(f"\n{self.broker.target}: loaded after SIGKILL: broker CPU {self.cpu():.2f} s", flush=True)
        self.bounded(self.cpu(), 5)
        connections = [self.connect() for _ in range(GROUP_CONNECTIONS)]
        self.measured("all go on where they were", lambda: self.heartbeats(connections, epochs), 3)

    def heartbeats(self, connections, epochs, **fields):
        """One of each group, of a single member; the new epochs by group."""
        result = {}
        numbers = sorted(epochs)
        for first in range(0, len(numbers), len(connections)):
            some = list(zip(connections, numbers[first:first + len(connections)]))
            for connection, number in some:
                connection.send("ConsumerGroupHeartbeat", 1, groupId=f"group-{number}", memberId=f"member-{number}",
                                memberEpoch=epochs[number], **fields)
            for connection, number in some:
                answer = connection.receive()
                self.assertEqual(answer.errorCode, 0, answer.errorMessage)
                result[number] = answer.memberEpoch
        return result

    # Commits.

    def test_twenty_thousand_commits_a_second(self):
        self.start()
        self.create_topic("topic", 1)
        connections = [self.connect() for _ in range(COMMITTERS)]
        frames = [[wire.request_frame("OffsetCommit", 8, {
            "groupId": f"group-{i}", "generationIdOrMemberEpoch": -1, "memberId": "", "groupInstanceId": None, "topics": [
                {"name": "topic", "partitions": [{"partitionIndex": 0, "committedOffset": offset,
                                                  "committedLeaderEpoch": -1, "committedMetadata": ""}]}]}, offset, "")
            for i in range(COMMITTERS)] for offset in range(1, COMMITS + 1)]
        sockets = [connection.socket for connection in connections]

        def commit():
            for wave in frames:
                for socket, frame in zip(sockets, wave):
                    socket.sendall(frame)
                for socket in sockets:
                    socket.recv(4096)

        begun, before = time.monotonic(), self.cpu()
        commit()
        took, cpu = time.monotonic() - begun, self.cpu() - before
        count = COMMITTERS * COMMITS
        print(f"\n{self.broker.target}: {count / took:.0f} commits/s, broker CPU {cpu / count * 1e6:.0f} µs each", flush=True)
        self.bounded(cpu / count, 100e-6)
        self.broker.kill()
        self.broker.start()
        self.await_coordinator()
        asked = [{"groupId": f"group-{i}", "topics": None} for i in range(COMMITTERS)]
        answer = self.connect().call("OffsetFetch", 8, groups=asked, requireStable=False)
        self.assertEqual([group.topics[0].partitions[0].committedOffset for group in answer.groups], [COMMITS] * COMMITTERS)


if __name__ == "__main__":
    unittest.main(verbosity=2)
