#!/usr/bin/env python3
"""What operators do to a broker, and what disks do: stops under load, failed starts, full and read-only directories."""

import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "harness"), str(TESTS / "conformance")]

from broker import HOST, Broker, BrokerError  # noqa: E402
from client import Connection, ConnectionClosed  # noqa: E402
from records import batch  # noqa: E402

TIMEOUT_S = 60
PROMPT_S = 10  # for what takes no time, on a busy machine
NOT_COORDINATOR = 16
LOADING = "error 14"
KAFKA_STORAGE_ERROR = 56
MEGABYTE = 1 << 20
LARGE = batch(b"x" * 1_000_000)  # made once: checksums take Python a while


class OperationsTest(unittest.TestCase):
    def broker(self, **options):
        broker = Broker(target="barnabas", **options)
        self.addCleanup(broker.clean)
        return broker

    def start(self, **options):
        return self.broker(**options).start()

    def refused(self, broker):
        with self.assertRaises(BrokerError):
            broker.start()
        self.assertEqual(broker.exit_code, 1, broker.log_tail())
        return broker.log_tail()

    def directory(self):
        made = tempfile.TemporaryDirectory()
        self.addCleanup(made.cleanup)
        return made.name

    def connect(self, broker, **options):
        connection = Connection((HOST, broker.port), **options)
        self.addCleanup(connection.close)
        return connection

    def create_topic(self, connection, name, partitions=1):
        answer = connection.call("CreateTopics", 7, timeoutMs=5000, topics=[
            {"name": name, "numPartitions": partitions, "replicationFactor": 1}])
        self.assertEqual(answer.topics[0].errorCode, 0)

    def produce(self, connection, topic, records, partition=0):
        """The error code of the answer."""
        answer = connection.call("Produce", 9, acks=-1, timeoutMs=10_000, topicData=[
            {"name": topic, "partitionData": [{"index": partition, "records": records}]}])
        return answer.responses[0].partitionResponses[0].errorCode

    def end_offset(self, connection, topic, partition=0):
        """(error code, log end offset)."""
        answer = connection.call("ListOffsets", 5, replicaId=-1, topics=[
            {"name": topic, "partitions": [{"partitionIndex": partition, "timestamp": -1}]}])
        return answer.topics[0].partitions[0].errorCode, answer.topics[0].partitions[0].offset

    def fetch(self, topic, partition=0, offset=0, **fields):
        return {"minBytes": 1, "maxBytes": 50 * MEGABYTE, "sessionEpoch": -1, "topics": [
            {"topic": topic, "partitions": [{"partition": partition, "fetchOffset": offset, "currentLeaderEpoch": -1,
                                             "lastFetchedEpoch": -1, "partitionMaxBytes": 50 * MEGABYTE}]}], **fields}


class Stop(OperationsTest):
    def test_members_who_wait_for_their_group_are_told_to_look_elsewhere(self):
        broker = self.start(properties={"group.initial.rebalance.delay.ms": "600000"})
        self.assertEqual(self.connect(broker).call(
            "FindCoordinator", 3, key="group", keyType=0).errorCode, 0)
        members = [self.connect(broker) for _ in range(100)]
        for member in members:
            member.send("JoinGroup", 3, groupId="group", memberId="", sessionTimeoutMs=60_000,
                        rebalanceTimeoutMs=600_000, protocolType="consumer",
                        protocols=[{"name": "range", "metadata": b""}])
        self.assertFalse(members[-1].has_input(0.5))
        started = time.monotonic()
        self.assertEqual(broker.stop(), 0)
        self.assertLess(time.monotonic() - started, PROMPT_S)
        self.assertEqual({member.receive().errorCode for member in members}, {NOT_COORDINATOR})

    def test_a_thousand_long_polls_are_answered(self):
        broker = self.start()
        first = self.connect(broker)
        self.create_topic(first, "quiet")
        polls = [self.connect(broker) for _ in range(1000)]
        for poll in polls:
            poll.send("Fetch", 12, **self.fetch("quiet", maxWaitMs=300_000))
        time.sleep(0.5)
        started = time.monotonic()
        self.assertEqual(broker.stop(), 0)
        self.assertLess(time.monotonic() - started, PROMPT_S)
        for poll in polls:
            self.assertEqual(poll.receive().responses[0].partitions[0].errorCode, 0)

    def test_a_second_signal_does_not_wait_for_peers_that_do_not_read(self):
        broker = self.start()
        first = self.connect(broker)
        self.create_topic(first, "large")
        for _ in range(40):
            self.assertEqual(self.produce(first, "large", LARGE), 0)
        lazy = self.connect(broker, receive_buffer=8192)
        lazy.send("Fetch", 12, **self.fetch("large", maxWaitMs=0))
        time.sleep(0.5)
        broker.signal(signal.SIGTERM)
        time.sleep(1.5)
        self.assertIsNotNone(broker.pid, "the first signal waits until the answer is read")
        started = time.monotonic()
        broker.signal(signal.SIGTERM)
        self.assertEqual(broker.wait(), 0)
        self.assertLess(time.monotonic() - started, PROMPT_S)
        self.assertTrue((broker.data_dir / ".kafka_cleanshutdown").exists())

    def test_signals_of_a_closing_terminal_do_not_confuse_it(self):
        broker = self.start()
        for _ in range(2):
            broker.signal(signal.SIGINT)
        self.assertIn(broker.wait(), (0, 128 + signal.SIGINT))


class Start(OperationsTest):
    def test_one_that_fails_leaves_the_data_clean(self):
        broker = self.start()
        connection = self.connect(broker)
        self.create_topic(connection, "t")
        self.assertEqual(self.produce(connection, "t", batch(b"1")), 0)
        broker.stop()
        with socket.create_server((HOST, broker.port)):
            self.assertIn(str(broker.port), self.refused(broker))
        self.assertTrue((broker.data_dir / ".kafka_cleanshutdown").exists())
        broker.start()
        self.assertNotIn("recovered after an unclean stop", broker.log_tail())
        self.assertEqual(self.end_offset(self.connect(broker), "t"), (0, 1))

    def test_settings_that_cannot_be_read(self):
        broker = self.broker()
        broker._command = lambda command=broker._command: [command()[0], self.directory()]
        self.assertRegex(self.refused(broker), r"barnabas: .*cannot be read")

    def test_data_where_nothing_can_be_written(self):
        broker = self.broker(properties={"log.dirs": "/proc/nowhere"})
        self.assertIn("/proc/nowhere", self.refused(broker))

    def test_a_new_first_directory_does_not_hide_the_topics(self):
        broker = self.start()
        self.create_topic(self.connect(broker), "t")
        broker.stop()
        data = str(broker.data_dir)
        broker.properties["log.dirs"] = f"{self.directory()},{data}"
        self.assertIn(f"set metadata.log.dir={data}", self.refused(broker))
        broker.properties["metadata.log.dir"] = data
        broker.start()
        self.assertEqual(self.end_offset(self.connect(broker), "t"), (0, 0))

    def test_a_log_of_no_topic_is_set_aside_with_a_line(self):
        broker = self.start()
        self.create_topic(self.connect(broker), "t")
        broker.stop()
        (broker.data_dir / "t-0").rename(broker.data_dir / "unknown-0")
        broker.start()
        self.assertIn("unknown-0", broker.log_tail())
        self.assertEqual([path.name.split(".")[0] for path in broker.data_dir.glob("unknown*-stray")], ["unknown-0"])
        self.assertEqual(self.end_offset(self.connect(broker), "t"), (0, 0))

    def test_partitions_are_not_put_where_only_metadata_belong(self):
        metadata = self.directory()
        broker = self.start(properties={"metadata.log.dir": metadata})
        self.create_topic(self.connect(broker), "t", partitions=4)
        self.assertTrue((pathlib.Path(metadata) / "__cluster_metadata-0").exists())
        self.assertEqual(list(pathlib.Path(metadata).glob("t-*")), [])
        self.assertEqual(len(list(broker.data_dir.glob("t-*"))), 4)


def mount(*arguments):
    return subprocess.run(["mount", *arguments], capture_output=True, text=True).returncode == 0


class FailingDirectory(OperationsTest):
    def lose(self, directory):
        """As a disk that is gone: what is opened from now on fails. Returns how to undo it."""
        directory = pathlib.Path(directory)
        away = directory.with_name(directory.name + ".away")
        directory.rename(away)
        directory.touch()

        def bring_back():
            if away.exists():
                directory.unlink()
                away.rename(directory)
        self.addCleanup(bring_back)
        return bring_back

    def test_a_full_directory_refuses_records_and_gives_those_it_has(self):
        data = self.directory()
        if os.geteuid() != 0 or not mount("-t", "tmpfs", "-o", "size=24m", "none", data):
            self.skipTest("mounting is not allowed here")
        self.addCleanup(subprocess.run, ["umount", "-l", data])
        broker = self.start(properties={"log.dirs": data, "metadata.log.dir": self.directory(),
                                        "log.segment.bytes": str(4 * MEGABYTE)})
        connection = self.connect(broker)
        self.create_topic(connection, "t")
        stored = 0
        while (error := self.produce(connection, "t", LARGE)) == 0:
            stored += 1
            self.assertLess(stored, 40, "more than the directory can hold")
        self.assertEqual(error, KAFKA_STORAGE_ERROR)
        self.assertGreater(stored, 10)
        answer = connection.call("Fetch", 12, **self.fetch("t", maxWaitMs=0))
        self.assertEqual(answer.responses[0].partitions[0].errorCode, 0)
        self.assertEqual(self.end_offset(connection, "t"), (0, stored))
        self.assertTrue(mount("-o", "remount,size=64m", data))
        self.assertEqual(self.produce(connection, "t", batch(b"room again")), 0)
        broker.restart()
        self.assertEqual(self.end_offset(self.connect(broker), "t"), (0, stored + 1))

    def test_a_lost_directory_takes_its_partitions_and_no_others(self):
        failing = self.directory()
        broker = self.broker(properties={"metadata.log.dir": self.directory()})
        broker.properties["log.dirs"] = f"{failing},{broker.data_dir}"
        broker.start()
        connection = self.connect(broker)
        self.create_topic(connection, "t", partitions=2)
        lost, kept = (0, 1) if pathlib.Path(failing, "t-0").exists() else (1, 0)
        for partition in (0, 1):
            self.assertEqual(self.produce(connection, "t", batch(b"1"), partition), 0)
        bring_back = self.lose(failing)
        self.create_topic(connection, "new", partitions=2)
        self.assertEqual(self.produce(connection, "t", batch(b"2"), lost), KAFKA_STORAGE_ERROR)
        self.assertEqual(self.produce(connection, "t", batch(b"2"), kept), 0)
        self.assertRegex(broker.log_tail(), re.escape(f"log directory offline path={failing}"))
        broker.stop()
        bring_back()
        broker.start()
        connection = self.connect(broker)
        self.assertEqual(self.end_offset(connection, "t", lost), (0, 1))
        self.assertEqual(self.end_offset(connection, "t", kept), (0, 2))

    def commit(self, connection, group, offset):
        """The error code."""
        answer = connection.call("OffsetCommit", 8, groupId=group, generationIdOrMemberEpoch=-1, memberId="",
                                 groupInstanceId=None, topics=[{"name": "t", "partitions": [
                                     {"partitionIndex": 0, "committedOffset": offset, "committedLeaderEpoch": -1,
                                      "committedMetadata": ""}]}])
        return answer.topics[0].partitions[0].errorCode

    def committed(self, connection, groups):
        """By group: the offset, or the error code as a text."""
        answer = connection.call("OffsetFetch", 8, requireStable=False,
                                 groups=[{"groupId": group, "topics": None} for group in groups])
        return {group.groupId: f"error {group.errorCode}" if group.errorCode else
                group.topics[0].partitions[0].committedOffset for group in answer.groups}

    def test_a_lost_directory_takes_its_groups_and_no_others(self):
        failing = self.directory()
        broker = self.broker(properties={"metadata.log.dir": self.directory(), "offsets.topic.num.partitions": "2"})
        broker.properties["log.dirs"] = f"{failing},{broker.data_dir}"
        broker.start()
        connection = self.connect(broker)
        self.create_topic(connection, "t")
        groups = [f"group-{i}" for i in range(8)]
        self.assertEqual(connection.call("FindCoordinator", 3, key="group", keyType=0).errorCode, 0)
        for group in groups:
            self.assertEqual(self.commit(connection, group, 1), 0)
        bring_back = self.lose(failing)
        self.create_topic(connection, "new", partitions=2)  # by this it is noticed
        after = {group: self.commit(connection, group, 2) for group in groups}
        self.assertEqual(set(after.values()), {0, NOT_COORDINATOR})
        self.assertEqual(self.committed(connection, groups), {
            group: f"error {code}" if code else 2 for group, code in after.items()})
        broker.stop()
        bring_back()
        broker.start()
        connection = self.connect(broker)
        deadline = time.monotonic() + PROMPT_S
        while LOADING in (came_back := self.committed(connection, groups)).values():
            self.assertLess(time.monotonic(), deadline)
        self.assertEqual(came_back, {group: 1 if code else 2 for group, code in after.items()})

    def test_without_any_directory_it_ends(self):
        failing = self.directory()
        broker = self.start(properties={"metadata.log.dir": self.directory(), "log.dirs": failing})
        self.lose(failing)
        try:
            self.create_topic(self.connect(broker), "t")
        except ConnectionClosed:
            pass
        self.assertEqual(broker.wait(), 1)
        self.assertIn("every log directory is offline", broker.log_tail())


if __name__ == "__main__":
    unittest.main(verbosity=2)
