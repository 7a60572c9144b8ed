"""What the programs written in Python share: the lines of scenario.py, and what a reader has seen."""

import os
import sys
import threading
import time

SEEN_TIMEOUT_S = 20
ISOLATIONS = ("read_committed", "read_uncommitted")
QUIET_S = 0.1  # after this long without a record there are no more
COPY_AT_MOST = 10  # records in one transaction
COPIER_TIMEOUT_MS = 15000
ABORT_EVERY = 4  # of the copier's transactions one is aborted and done again

# How clients are set where their defaults are for wide networks.
RECONNECT_MS = 200


def say(*words):
    os.write(1, f"{' '.join(map(str, words))}\n".encode())


class Reader:
    """`poll()` gives partitions and values of what has come since, and waits for it a little."""

    def __init__(self, poll):
        self.poll = poll
        self.records = []
        self.told = 0
        threading.Thread(target=self._run, daemon=True).start()

    def _run(self):
        while True:
            self.records.extend(self.poll())

    def new(self):
        known = len(self.records)
        new, self.told = self.records[self.told:known], known
        return new


def await_quiet(readers, counts):
    """Each has read so many or time is up, and no more come."""
    deadline = time.monotonic() + SEEN_TIMEOUT_S
    while any(len(r.records) < count for r, count in zip(readers, counts)) and time.monotonic() < deadline:
        time.sleep(0.005)
    known, quiet_since = None, time.monotonic()
    while time.monotonic() < quiet_since + QUIET_S:
        if known != (known := [len(r.records) for r in readers]):
            quiet_since = time.monotonic()
        time.sleep(0.005)


class Program:
    """A client implements new_producer, send, send_offsets and new_poll, and perhaps others."""

    def __init__(self, bootstrap):
        self.bootstrap = bootstrap
        self.producers = {}
        self.readers = {}

    def run(self):
        for line in sys.stdin:
            command, *arguments = line.split()
            try:
                answer = getattr(self, "on_" + command)(*arguments) or []
            except Exception as error:  # whatever the client throws is its answer
                say("error", self.error_name(error), str(error).replace("\n", " "))
            else:
                say("ok", *answer)

    def error_name(self, error):
        return type(error).__name__

    def on_producer(self, name, transactional_id, timeout_ms):
        self.producers[name] = self.new_producer(transactional_id, int(timeout_ms))

    def on_begin(self, name):
        self.producers[name].begin_transaction()

    def on_commit(self, name):
        self.producers[name].commit_transaction()

    def on_abort(self, name):
        self.producers[name].abort_transaction()

    def on_send(self, name, topic, partitions, first, count):
        numbers = range(int(first), int(first) + int(count))
        self.send(self.producers[name], topic, [(number % int(partitions), str(number)) for number in numbers])

    def on_offsets(self, name, group, topic, text):
        pairs = (entry.split(":") for entry in text.split(","))
        self.send_offsets(self.producers[name], group, topic, {int(p): int(offset) for p, offset in pairs})

    def on_close(self, name):
        self.close_producer(self.producers.pop(name))

    def close_producer(self, producer):
        producer.close()

    def on_read(self, topic, partitions):
        self.readers = {isolation: Reader(self.new_poll(topic, int(partitions), isolation)) for isolation in ISOLATIONS}

    def on_seen(self, *counts):
        await_quiet(self.readers.values(), [int(count) for count in counts])
        return [f"{isolation}:{partition}:{value}"
                for isolation, reader in self.readers.items() for partition, value in reader.new()]


class CopierLife:
    """What a copier says and when it aborts or ends."""

    def __init__(self):
        self.done = 0
        self.closing = threading.Event()
        threading.Thread(target=self._await_end, daemon=True).start()

    def _await_end(self):
        while os.read(0, 4096):
            pass
        self.closing.set()

    def wants_to_abort(self):
        self.done += 1
        return self.done % ABORT_EVERY == 0
