"""What scenarios share in which the programs of clients live through something: how their broker is set, what is
produced meanwhile, how something is waited for, and what is told when it does not come."""

import pathlib
import sys
import tempfile
import threading
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))

from base import Client  # noqa: E402
from broker import HOST, chosen_target  # noqa: E402
from client import ConnectionClosed  # noqa: E402
from records import batch  # noqa: E402
from wire import WireError  # noqa: E402

RECORDS_A_BATCH = 3


class ScenarioFailed(Exception):
    """The client or the broker did what it should not."""


def properties(session_ms, **more):
    """Of a broker whose groups are quick. `more`: names with underscores."""
    wanted = {
        "offsets.topic.num.partitions": "4",
        "group.initial.rebalance.delay.ms": "0",
        "group.consumer.min.session.timeout.ms": "1000",
        "group.consumer.session.timeout.ms": str(session_ms),
        "group.consumer.min.heartbeat.interval.ms": "100",
        "group.consumer.heartbeat.interval.ms": "500",
        "log.retention.ms": "-1",
    } | {name.replace("_", "."): str(value) for name, value in more.items()}
    if chosen_target() == "kafka":
        # Its broker falls asleep on a busy machine; the harness's short session would then shut it out.
        wanted |= {"broker.heartbeat.interval.ms": "500", "broker.session.timeout.ms": "9000"}
    return wanted


class Source(threading.Thread):
    """Produces all the time: batches to the partitions of these topics in turn, `value(number)` for each number. Waits for
    a broker that is away; what was on its way then may be there twice."""

    def __init__(self, port, topics, partitions, every_s, value=lambda number: b"%d" % number):
        super().__init__(daemon=True)
        self.port, self.topics, self.partitions = port, topics, partitions
        self.every_s, self.value = every_s, value
        self.ended = threading.Event()

    def run(self):
        client, number = None, 0
        while not self.ended.wait(self.every_s):
            try:
                client = client or Client((HOST, self.port))
                values = [self.value(i) for i in range(number, number + RECORDS_A_BATCH)]
                for topic in self.topics:
                    client.produce(topic, batch(*values), partition=number // RECORDS_A_BATCH % self.partitions)
                number += RECORDS_A_BATCH
            except (OSError, ConnectionClosed, WireError):
                client = None

    def end(self):
        self.ended.set()
        self.join()


class Complaints:
    """What programs write to standard error; one may be given as that."""

    def __init__(self):
        self.file = tempfile.TemporaryFile("w+")

    def fileno(self):
        return self.file.fileno()

    def show(self, whose, said=()):
        """The end of it, and lines that these programs said."""
        self.file.seek(0)
        print(f"--- {whose} complained:\n{self.file.read()[-4000:]}", file=sys.stderr)
        if said:
            print("--- and said:", *said, sep="\n", file=sys.stderr)


def wait_until(what, condition, pump, timeout_s, state=str):
    """Calls `pump` until the condition holds; `state()` is told if it does not in time."""
    deadline = time.monotonic() + timeout_s
    while not condition():
        if time.monotonic() > deadline:
            raise ScenarioFailed(f"{what}: not within {timeout_s} s; {state()}")
        pump()
