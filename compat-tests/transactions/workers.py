"""Processes that say what they do while clients work; and what the log says of transactions without regard to any
reader."""

import os
import subprocess

from scenario import PARTITIONS
from records import records_of  # noqa: I001

BATCH_EVERY_S = 0.02  # of what is produced meanwhile
TRANSACTIONAL, CONTROL = 16, 32  # attributes of batches
COMMIT = b"\0\1"  # a marker's type in its key


class Worker:
    """A process that says what it does in lines, until its standard input ends."""

    def __init__(self, command, complaints):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints)
        os.set_blocking(self.process.stdout.fileno(), False)
        self.rest = b""

    def new_lines(self):
        data = self.process.stdout.read() or b""
        *lines, self.rest = (self.rest + data).split(b"\n")
        return [line.decode() for line in lines]

    def kill(self):
        self.process.kill()
        self.process.wait()


def committed_records(raw, topic):
    """By partition the keys and values of all that is certain and not aborted."""
    return [committed_in(raw.read(topic, partition=p)) for p in range(PARTITIONS)]


def committed_values(raw, topic):
    return [[value for _, value in records] for records in committed_records(raw, topic)]


def committed_in(batches):
    open_of = {}  # producer id → indices of what its open transaction has in `out`
    out, dropped = [], set()
    for one in batches:
        if one.attributes & CONTROL:
            ((_, _, key, _, _),) = records_of([one])
            indices = open_of.pop(one.producer_id, [])
            if key[2:4] != COMMIT:
                dropped.update(indices)
            continue
        first = len(out)
        out += [((key or b"").decode(), value.decode()) for _, _, key, value, _ in records_of([one])]
        if one.attributes & TRANSACTIONAL:
            open_of.setdefault(one.producer_id, []).extend(range(first, len(out)))
    stable = min((indices[0] for indices in open_of.values()), default=len(out))
    return [record for index, record in enumerate(out[:stable]) if index not in dropped]
