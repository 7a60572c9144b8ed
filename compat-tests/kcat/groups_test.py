#!/usr/bin/env python3
"""kcat as a member of groups (`kcat -G`). It commits by itself and does not tell of it, so it cannot live the life of
groups/scenario.py: here members come, leave and die, and what one had goes on with another."""

import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance"))
sys.path.insert(0, str(HERE.parent / "harness"))

import results  # noqa: E402
import scenarios  # noqa: E402
import suite  # noqa: E402
from base import Client, eventually  # noqa: E402
from broker import HOST, Broker  # noqa: E402
from records import batch  # noqa: E402

TIMEOUT_S = 60
SESSION_MS = 6000
PARTITIONS = 4
RECORDS_A_ROUND = 5
# How it tells of a rebalance, and of one in which a member of a cooperative group gets or gives up some partitions.
REBALANCED = r"rebalanced.*?: (assigned|revoked|incremental assignment|incremental revoke)\b.*?: (.*)"

COOPERATIVE = {"partition.assignment.strategy": "cooperative-sticky"}


def content(file):
    """Without a move of the position, at which the process that shares it writes."""
    return os.pread(file.fileno(), os.fstat(file.fileno()).st_size, 0)


class Member:
    """A running kcat. What it prints goes to files, so that it never waits for a reader."""

    def __init__(self, bootstrap, topic, settings):
        self.out, self.said = tempfile.TemporaryFile(), tempfile.TemporaryFile()
        settings = {"session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": SESSION_MS // 12,
                    "auto.offset.reset": "earliest", "auto.commit.interval.ms": 100} | settings
        command = ["kcat", "-b", bootstrap, "-G", topic, "-u", "-f", "%p %o\n",
                   *(f"-X{name}={value}" for name, value in settings.items()), topic]
        self.process = subprocess.Popen(command, stdout=self.out, stderr=self.said)

    def told(self):
        """What it has told of rebalances, with the partitions of each."""
        return [(what, {int(number) for number in re.findall(r"\[(\d+)\]", partitions)})
                for what, partitions in re.findall(REBALANCED, content(self.said).decode())]

    def assigned(self):
        """The partitions that it has now."""
        out = set()
        for what, numbers in self.told():
            out = out | numbers if "assign" in what else out - numbers
        return out

    def read(self):
        """Partitions and offsets, in the order of reading."""
        whole = content(self.out).rpartition(b"\n")[0]
        return [tuple(map(int, line.split())) for line in whole.splitlines()]

    def end(self, how):
        self.process.send_signal(how)
        self.process.wait(TIMEOUT_S)

    def forget(self):
        self.process.kill()
        self.process.wait()
        self.out.close()
        self.said.close()


class Groups(suite.BrokerTest):
    def setUp(self):
        self.client = Client((HOST, self.broker.port))
        self.client.create_usable(self.topic(), PARTITIONS)
        self.produced = 0
        self.members = []
        self.settings = {}

    def tearDown(self):
        for member in self.members:
            member.forget()
        self.client.close()

    def start(self):
        self.members.append(Member(self.broker.bootstrap, self.topic(), self.settings))
        return self.members[-1]

    def produce(self):
        """A round of records to each partition."""
        for partition in range(PARTITIONS):
            self.client.produce(self.topic(), batch(*[b"value"] * RECORDS_A_ROUND), partition=partition)
        self.produced += RECORDS_A_ROUND

    def wait(self, what, condition):
        if not eventually(condition, TIMEOUT_S):
            said = [(member.assigned(), member.read()[-4:]) for member in self.members]
            self.fail(f"{what}: not within {TIMEOUT_S} s; members have, and read last: {said}")

    def shared(self, *members):
        """They have all partitions together, and each has some."""
        shares = [member.assigned() for member in members]
        return all(shares) and sorted(number for share in shares for number in share) == list(range(PARTITIONS))

    def all_read(self):
        read = {record for member in self.members for record in member.read()}
        return read == {(partition, offset) for partition in range(PARTITIONS) for offset in range(self.produced)}

    def all_committed(self):
        asked = {"groupId": self.topic(), "topics": [{"name": self.topic(), "partitionIndexes": list(range(PARTITIONS))}]}
        group = self.client.call("OffsetFetch", 8, groups=[asked], requireStable=False).groups[0]
        return [p.committedOffset for topic in group.topics for p in topic.partitions] == [self.produced] * PARTITIONS

    def repeats(self):
        read = [record for member in self.members for record in member.read()]
        return len(read) - len(set(read))

    def live(self, how_one_ends):
        first = self.start()
        self.produce()
        self.wait("the first reads", lambda: self.shared(first) and self.all_read())
        self.wait("it commits", self.all_committed)
        second = self.start()
        self.wait("they share", lambda: self.shared(first, second))
        self.produce()
        self.wait("both read", self.all_read)
        self.wait("both commit", self.all_committed)
        first.end(how_one_ends)
        self.produce()
        self.wait("the second has all", lambda: self.shared(second))
        self.wait("the second goes on", self.all_read)
        self.wait("it commits", self.all_committed)
        second.end(signal.SIGINT)
        self.assertEqual(self.repeats(), 0)

    def test_what_one_leaves_goes_on_with_another(self):
        self.live(signal.SIGINT)

    def test_what_a_killed_one_had_goes_on_with_another(self):
        self.live(signal.SIGKILL)

    def test_what_one_leaves_goes_on_with_another_of_a_cooperative_group(self):
        self.settings = COOPERATIVE
        self.live(signal.SIGINT)

    def test_what_a_killed_one_had_goes_on_with_another_of_a_cooperative_group(self):
        self.settings = COOPERATIVE
        self.live(signal.SIGKILL)

    def test_members_of_a_cooperative_group_keep_what_they_do_not_give_up(self):
        self.settings = COOPERATIVE
        first = self.start()
        self.wait("the first has all", lambda: self.shared(first))
        second = self.start()
        self.wait("they share", lambda: self.shared(first, second))
        kept, told = first.assigned(), first.told()
        self.assertEqual(told[0], ("incremental assignment", set(range(PARTITIONS))))
        self.assertEqual([numbers for what, numbers in told[1:] if numbers], [set(range(PARTITIONS)) - kept])

    def test_a_member_that_comes_back_goes_on_at_what_was_committed(self):
        for _ in range(3):
            self.produce()
            member = self.start()
            self.wait("it reads", self.all_read)
            member.end(signal.SIGINT)
            self.assertTrue(self.all_committed())
        self.assertEqual(self.repeats(), 0)


if __name__ == "__main__":
    suite.require_tools("kcat")
    with results.noted("groups", "kcat"):
        suite.main(Broker(properties=scenarios.properties(SESSION_MS)))
