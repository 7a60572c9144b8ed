#!/usr/bin/env python3
"""kcat in transactions: one run of its producer is one, which it commits at the end of its input."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "conformance"))
sys.path.insert(0, str(HERE.parent / "harness"))

import codes  # noqa: E402
import results  # noqa: E402
import suite  # noqa: E402
from base import Client, eventually  # noqa: E402
from broker import HOST, Broker  # noqa: E402

TIMEOUT_S = 60
# More than kcat keeps back in its buffer of input.
MANY = [b"%06d" % number for number in range(20000)]


class Transactions(suite.BrokerTest):
    def setUp(self):
        """kcat waits for a coordinator not long enough for a busy machine."""
        client = Client((HOST, self.broker.port))
        try:
            client.create_usable(self.topic(), 1)
            self.assertTrue(eventually(lambda: self.has_coordinator(client), TIMEOUT_S))
        finally:
            client.close()

    def has_coordinator(self, client):
        found = client.call("FindCoordinator", 4, keyType=1, coordinatorKeys=[self.topic()])
        return found.coordinators[0].errorCode == codes.NONE

    def command(self, *arguments):
        return ["kcat", "-b", self.broker.bootstrap, "-t", self.topic(), "-p", "0", *arguments]

    def producing(self, *more):
        return self.command("-P", "-X", f"transactional.id={self.topic()}", *more)

    def produce(self, *values):
        done = subprocess.run(self.producing(), input=b"".join(value + b"\n" for value in values), capture_output=True,
                              timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn(b"Transaction successfully committed", done.stderr)

    def read(self, isolation):
        done = subprocess.run(self.command("-C", "-q", "-e", "-X", f"isolation.level={isolation}"), capture_output=True,
                              timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout.split()

    def abandon(self, *more):
        """A run that is killed when many of its records are there."""
        before = len(self.read("read_uncommitted"))
        process = subprocess.Popen(self.producing(*more), stdin=subprocess.PIPE, stderr=subprocess.DEVNULL)
        try:
            process.stdin.write(b"".join(value + b"\n" for value in MANY))
            process.stdin.flush()
            there = eventually(lambda: len(self.read("read_uncommitted")) > before + 1000, TIMEOUT_S)
            self.assertTrue(there, "nothing of the transaction is there")
        finally:
            process.kill()
            process.communicate()

    def test_what_a_run_sends_is_committed_at_its_end(self):
        self.produce(b"one", b"two")
        self.produce(b"three")
        self.assertEqual(self.read("read_committed"), [b"one", b"two", b"three"])

    def test_the_next_run_aborts_what_a_killed_one_has_left(self):
        self.produce(b"first")
        self.abandon()
        self.assertEqual(self.read("read_committed"), [b"first"])
        self.produce(b"last")
        every = self.read("read_uncommitted")
        self.assertEqual(every, [b"first", *MANY[:len(every) - 2], b"last"])
        self.assertEqual(self.read("read_committed"), [b"first", b"last"])

    def test_the_broker_aborts_what_a_killed_one_has_left(self):
        self.produce(b"first")
        # Not shorter than librdkafka's own timeout for a transaction's requests may be.
        self.abandon("-X", "transaction.timeout.ms=8000", "-X", "message.timeout.ms=8000")
        subprocess.run(self.command("-P"), input=b"without\n", check=True, timeout=TIMEOUT_S)
        ended = eventually(lambda: self.read("read_committed")[1:] == [b"without"], TIMEOUT_S)
        self.assertTrue(ended, self.read("read_committed")[:8])


if __name__ == "__main__":
    suite.require_tools("kcat")
    with results.noted("transactions", "kcat"):
        suite.main(Broker(properties={"transaction.state.log.num.partitions": "4",
                                      "transaction.abort.timed.out.transaction.cleanup.interval.ms": "200"}))
