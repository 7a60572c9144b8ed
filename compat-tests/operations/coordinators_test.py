#!/usr/bin/env python3
"""What disks do to coordinators: full directories, torn and empty files, while groups and transactions go on."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "harness"), str(TESTS / "conformance")]

import codes  # noqa: E402
from base import HOST, Broker, eventually  # noqa: E402
from groups import GroupTest, subscription  # noqa: E402
from records import batch, records_of, split  # noqa: E402
from transactions import LOG, OFFSETS, TransactionTest  # noqa: E402

MEGABYTE = 1 << 20
ROOM_S = 10.0
REFUSED = {codes.NOT_COORDINATOR, codes.COORDINATOR_NOT_AVAILABLE, codes.COORDINATOR_LOAD_IN_PROGRESS}


class CoordinatorsTest(TransactionTest, GroupTest):
    """Each case has a broker of its own with one partition of each kind of coordinator."""

    properties = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1",
                  "group.initial.rebalance.delay.ms": "0"}

    def setUp(self):
        self.broker = Broker(target="barnabas", properties={**self.properties, **self.more_properties()})
        self.addCleanup(self.broker.clean)
        self.broker.start()
        super().setUp()

    def more_properties(self):
        return {}

    def broker_address(self):
        return HOST, self.broker.port

    def directory(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return pathlib.Path(made.name)

    def come_back(self):
        """A start; whoever was connected is new."""
        self.broker.start()
        self.client.close()
        self.client = self.new_client()
        self.await_coordinators()

    def reconnect(self, producer):
        producer.close()
        producer.client = self.new_client()

    def commit(self, group, topic, offset):
        """The error code."""
        partition = {"partitionIndex": 0, "committedOffset": offset, "committedLeaderEpoch": -1, "committedMetadata": ""}
        got = self.client.call("OffsetCommit", 9, groupId=group, generationIdOrMemberEpoch=-1, memberId="",
                               groupInstanceId=None, topics=[{"name": topic, "partitions": [partition]}])
        return got.topics[0].partitions[0].errorCode

    def committed(self, group, topic):
        return self.fetch_offsets(group, topic, 0)[0]

    def stable(self, topic, partition=0):
        """The last stable offset."""
        return self.client.list_offset(topic, -1, partition, isolation=1).offset

    def until_full(self, write):
        """Room that is left behind the end of files, in pages begun already, is used up first."""
        for _ in range(1000):
            if (code := write()) != codes.NONE:
                return code
        self.fail("it never became full")


def mount(*arguments):
    return subprocess.run(["mount", *arguments], capture_output=True, text=True).returncode == 0


def fill(directory):
    """With a file, whose path is returned."""
    path = directory / "filler"
    with open(path, "ab", buffering=0) as file:
        for size in (MEGABYTE, 4096, 1):
            try:
                while file.write(bytes(size)):
                    pass
            except OSError:
                pass
    return path


class OneDirectory(CoordinatorsTest):
    """All logs are in a directory that fills up, and those of metadata in another one."""

    def more_properties(self):
        self.data = self.directory()
        if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", "size=16m", "none", str(self.data)):
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(self.data)])
        return {"log.dirs": str(self.data), "metadata.log.dir": str(self.directory())}

    def fill(self):
        self.filler = fill(self.data)

    def make_room(self):
        self.filler.unlink()


class FullDirectory(OneDirectory):
    def test_offsets_are_refused_and_those_that_are_stored_stay(self):
        topic, group = self.new_topic(), self.new_group()
        self.assertEqual(self.commit(group, topic, 1), codes.NONE)
        self.fill()
        stored = [1]

        def commit():
            code = self.commit(group, topic, stored[-1] + 1)
            if code == codes.NONE:
                stored.append(stored[-1] + 1)
            return code

        self.assertIn(self.until_full(commit), REFUSED)
        self.assertEqual(self.committed(group, topic), (stored[-1], 0))
        self.make_room()
        self.assertTrue(eventually(lambda: commit() == codes.NONE, ROOM_S))
        self.assertEqual(self.committed(group, topic), (stored[-1], 0))
        self.broker.kill()
        self.come_back()
        self.assertEqual(self.committed(group, topic), (stored[-1], 0))

    def test_members_get_their_assignments_when_there_is_room_again(self):
        topic, group = self.new_topic(), self.new_group()
        first = self.member(group, protocols=(("range", subscription(topic)),))
        self.assertEqual(first.join().errorCode, codes.NONE)
        self.assign(first)
        self.fill()
        self.until_full(lambda: self.commit("other", topic, 1))
        self.assertEqual(first.heartbeat(), codes.NONE)
        second = self.member(group, protocols=(("range", subscription(topic)),))
        second.start_join()
        self.await_state(group, "PreparingRebalance")
        self.assertEqual(first.heartbeat(), codes.REBALANCE_IN_PROGRESS)
        first.send_join()
        self.receive_joins(first, second)
        refused = first.sync({first.id: b"a", second.id: b"b"})
        self.assertIn(refused.errorCode, REFUSED | {codes.REBALANCE_IN_PROGRESS})
        self.make_room()
        first.send_join()
        second.send_join()
        self.receive_joins(first, second)
        self.assign(first, second)

    def test_a_member_of_the_new_protocol(self):
        topic, group = self.new_topic(), self.new_group()
        first = self.consumer(group, "a", [topic])
        self.assertEqual(first.join().errorCode, codes.NONE)
        self.fill()
        self.until_full(lambda: self.commit("other", topic, 1))
        second = self.consumer(group, "b", [topic])
        self.assertIn(second.join().errorCode, REFUSED)
        self.assertEqual(first.beat().errorCode, codes.NONE)
        self.assertEqual(len(self.describe_consumer(group).members), 1)
        self.make_room()
        self.assertTrue(eventually(lambda: second.join().errorCode == codes.NONE, ROOM_S))
        self.assertEqual(len(self.describe_consumer(group).members), 2)

    def test_an_outcome_is_decided_when_there_is_room_again(self):
        for committed in (True, False):
            for version in (1, 2):
                with self.subTest(committed=committed, version=version):
                    self.end_when_full(version, committed)

    def end_when_full(self, version, committed):
        topic, group = self.new_topic(), self.new_group()
        one = self.producer(version)
        self.begin(one, topic)
        if version == 1:
            self.assertEqual(one.add_offsets(group), codes.NONE)
        self.assertEqual(one.commit_offsets(group, {topic: {0: 7}}), {(topic, 0): codes.NONE})
        self.fill()
        filler = self.producer(1, begun=False)
        refused = self.until_full(lambda: filler.init_once()[0])
        self.assertIn(refused, REFUSED)
        told = one.end_once(committed)
        self.assertIn(told if version == 1 else told[0], REFUSED)
        self.assertEqual(one.state(), "Ongoing")
        self.assertEqual(self.stable(topic), 0)
        self.make_room()

        def ended():
            got = one.end(committed)
            code = got if version == 1 else got[0]
            return code == codes.NONE

        self.assertTrue(eventually(ended, ROOM_S))
        self.assertEqual(one.settle(), "CompleteCommit" if committed else "CompleteAbort")
        self.assertEqual(self.stable(topic), 2)
        self.assertEqual(self.fetch_offsets(group, topic, 0, stable=True), {0: (7, 0) if committed else (-1, 0)})


class FullFromTheStart(OneDirectory):
    """Nobody had asked for coordinators before."""

    def await_coordinators(self):
        pass

    def test_coordinators_are_there_when_there_is_room(self):
        topic, group = self.new_topic(), self.new_group()
        self.fill()
        self.until_full(lambda: self.client.produce(topic, batch(b""), 0).errorCode)
        one = self.producer(begun=False)
        for _ in range(3):
            for kind in (0, 1):
                self.client.call("FindCoordinator", 4, keyType=kind, coordinatorKeys=[group])
            self.assertIn(self.commit(group, topic, 1), REFUSED)
            self.assertIn(one.init_once()[0], REFUSED)
        self.make_room()
        self.assertTrue(eventually(lambda: self.commit(group, topic, 2) == codes.NONE, ROOM_S))
        self.assertTrue(eventually(lambda: one.init_once()[0] == codes.NONE, ROOM_S))
        self.broker.kill()
        self.come_back()
        TransactionTest.await_coordinators(self)
        self.assertEqual(self.committed(group, topic), (2, 0))


class FullPartition(CoordinatorsTest):
    """The directory that fills up has records of transactions, and another one the coordinators' logs."""

    def more_properties(self):
        self.directories = [self.directory(), self.directory()]
        for each in self.directories:
            if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", "size=16m", "none", str(each)):
                self.skipTest("mounting is not allowed here")
            self.addCleanup(subprocess.run, ["umount", "-l", str(each)])
        return {"log.dirs": ",".join(map(str, self.directories)), "metadata.log.dir": str(self.directory())}

    def test_markers_are_written_when_there_is_room_again(self):
        (full,) = (each for each in self.directories if not (each / f"{LOG}-0").exists())
        topic = self.new_topic(2)
        (there,) = (index for index in (0, 1) if (full / f"{topic}-{index}").exists())
        for stop in (None, "kill", "stop"):
            with self.subTest(stop=stop):
                self.end_without_room(full, topic, there, stop)

    def end_without_room(self, full, topic, there, stop):
        one = self.producer()
        self.begin(one, topic, 0, 1)
        filler = fill(full)
        self.until_full(lambda: self.client.produce(topic, batch(b""), there).errorCode)
        ends = [self.client.end_offset(topic, index) for index in (0, 1)]
        self.assertEqual(one.follow(one.end())[0], codes.NONE)
        self.assertEqual(one.state(), "PrepareCommit")
        if stop:
            getattr(self.broker, stop)()
            self.come_back()
            self.reconnect(one)
            self.assertEqual(one.state(), "PrepareCommit")
        self.assertTrue(eventually(lambda: self.stable(topic, 1 - there) > ends[1 - there]))
        self.assertLess(self.stable(topic, there), ends[there])
        filler.unlink()
        self.assertTrue(eventually(lambda: one.state() == "CompleteCommit", ROOM_S), one.state())
        self.assertEqual(self.stable(topic, there), ends[there] + 1)


class TornFiles(CoordinatorsTest):
    """What a crash may leave of the coordinators' logs; nothing that was acknowledged is in the part that is torn off."""

    def log(self, topic):
        return sorted(self.broker.data_dir.glob(f"{topic}-0/*.log"))[-1]

    def commit_many(self, group, topic, count):
        for offset in range(1, count + 1):
            self.assertEqual(self.commit(group, topic, offset), codes.NONE)

    def test_offsets_are_those_of_the_batches_that_are_whole(self):
        topic, group = self.new_topic(), self.new_group()
        self.commit_many(group, topic, 20)
        self.broker.kill()
        log = self.log(OFFSETS)
        for cut in (0, 1, 7, 61, 100):
            with self.subTest(cut=cut):
                content = log.read_bytes()
                log.write_bytes(content[:len(content) - cut])
                before = self.whole_batches(log)
                self.come_back()
                self.assertEqual(self.committed(group, topic), (before, 0))
                self.assertEqual(self.commit(group, topic, before + 1), codes.NONE)
                self.assertEqual(self.committed(group, topic), (before + 1, 0))
                self.broker.kill()

    def whole_batches(self, log):
        """The offset that the last of them has."""
        value = None
        for _, _, _, value, _ in records_of(whole(log.read_bytes())):
            pass
        return int.from_bytes(value[2:10], "big")

    def test_what_is_behind_the_end_is_dropped(self):
        topic, group = self.new_topic(), self.new_group()
        one = self.producer()
        self.commit_many(group, topic, 3)
        for name in (OFFSETS, LOG):
            for tail in (bytes(4096), b"\xff" * 100, bytes(8) + b"\0\0\xff\xff" + bytes(200)):
                with self.subTest(name=name, tail=tail[:12]):
                    self.broker.kill()
                    with open(self.log(name), "ab") as file:
                        file.write(tail)
                    self.come_back()
                    self.assertEqual(self.committed(group, topic), (3, 0))
                    self.assertEqual(self.client.call("DescribeTransactions", 0, transactionalIds=[one.name])
                                     .transactionStates[0].producerId, one.id)

    def test_an_empty_segment(self):
        """The next segment had just been begun."""
        topic, group = self.new_topic(), self.new_group()
        self.commit_many(group, topic, 3)
        one = self.producer()
        for name in (OFFSETS, LOG):
            end = self.client.end_offset(name)
            for stop in ("kill", "stop"):
                getattr(self.broker, stop)()
                (self.broker.data_dir / f"{name}-0" / f"{end:020}.log").touch()
                self.come_back()
                self.assertEqual(self.committed(group, topic), (3, 0))
                self.assertEqual(self.commit(group, topic, 3), codes.NONE)
                self.reconnect(one)
                self.assertEqual(one.init()[1], one.id)
                end = self.client.end_offset(name)

    def test_logs_that_are_lost_altogether(self):
        """Files of no bytes are what a file system may make of files that were not synced."""
        topic, group = self.new_topic(), self.new_group()
        for stop in ("kill", "stop"):
            with self.subTest(stop=stop):
                self.commit_many(group, topic, 3)
                one = self.producer()
                self.begin(one, topic)
                getattr(self.broker, stop)()
                for name in (OFFSETS, LOG):
                    self.log(name).write_bytes(b"")
                self.come_back()
                self.assertEqual(self.committed(group, topic), (-1, 0))
                self.assertEqual(self.client.call("DescribeTransactions", 0, transactionalIds=[one.name])
                                 .transactionStates[0].transactionState, "")
                again = self.producer(name=one.name)
                self.assertNotEqual(again.id, one.id)

    def test_an_outcome_whose_end_is_torn_off_is_carried_out_again(self):
        for version in (1, 2):
            for committed in (True, False):
                topic, group = self.new_topic(2), self.new_group()
                one = self.producer(version)
                self.begin(one, topic, 0, 1)
                if version == 1:
                    self.assertEqual(one.add_offsets(group), codes.NONE)
                one.commit_offsets(group, {topic: {0: 5}})
                self.completed(one, committed)
                self.broker.kill()
                log = self.log(LOG)
                log.write_bytes(log.read_bytes()[:-1])
                self.come_back()
                self.reconnect(one)
                self.assertEqual(one.settle(), "CompleteCommit" if committed else "CompleteAbort")
                self.assertEqual([self.stable(topic, index) == self.client.end_offset(topic, index) for index in (0, 1)],
                                 [True, True])
                self.assertEqual(self.fetch_offsets(group, topic, 0, stable=True), {0: (5, 0) if committed else (-1, 0)})


def whole(data):
    """The batches of a log up to the first one that is torn."""
    at = 0
    while at + 12 <= len(data) and at + 12 + (size := int.from_bytes(data[at + 8:at + 12], "big")) <= len(data):
        at += 12 + size
    return split(data[:at])


if __name__ == "__main__":
    unittest.main(verbosity=2)
