#!/usr/bin/env python3
"""Kafka Streams with exactly_once_v2: two instances of java/streams/WordCount.java count words, while they and the
broker are killed. Each count of a word must come once, in order, up to how often the word was there, and so often it is in
the store that is asked at the end."""

import collections
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import client_programs  # noqa: E402
import scenarios  # noqa: E402
from base import Client  # noqa: E402
from broker import HOST, Broker, BrokerError  # noqa: E402
from scenario import PARTITIONS, PROPERTIES, SESSION_MS  # noqa: E402
from scenarios import ScenarioFailed  # noqa: E402
from workers import BATCH_EVERY_S, Worker, committed_records, committed_values  # noqa: E402

APPLICATION, INPUT, OUTPUT = "word-count", "words", "word-counts"
WORDS = 20
STEP_TIMEOUT_S = 150
COUNTS_A_STEP = 30
NAMES = ("a", "b")


class WordCount:
    def __init__(self, broker, command, directory):
        self.broker = broker
        self.command = command
        self.directory = directory  # of the stores
        self.connected = None  # the broker's process, and a client of it
        self.instances = {}
        self.states = {}
        self.queried = None  # what an instance said of its store
        self.complaints = scenarios.Complaints()
        self.started = time.monotonic()

    def run(self):
        raw = self.client()
        raw.create_usable(INPUT, PARTITIONS)
        raw.create_usable(OUTPUT, PARTITIONS)
        source = scenarios.Source(self.broker.port, [INPUT], PARTITIONS, BATCH_EVERY_S,
                                  lambda number: b"word%d" % (number * number % WORDS))
        source.start()
        try:
            self.live()
            source.end()
            self.finish()
        except ScenarioFailed:
            self.complaints.show("the instances")
            raise
        finally:
            source.ended.set()
            for instance in self.instances.values():
                instance.kill()

    def live(self):
        for name in NAMES:
            self.start(name)
        self.step("two instances count")
        self.kill("a")
        self.step("one was killed, the other goes on with its words")
        self.start("a")
        self.step("it came back")
        self.broker.kill()
        self.broker.start()
        self.step("the broker was killed")
        for name in NAMES:
            self.kill(name)
        self.broker.kill()
        self.broker.start()
        shutil.rmtree(self.directory / "b", ignore_errors=True)
        self.start("b")
        self.step("all were killed, one came back without what it had stored")

    def finish(self):
        counted = collections.Counter(word for words in committed_values(self.client(), INPUT) for word in words)
        self.wait("all is counted", lambda: self.counts() >= counted.total())
        self.query(counted)
        instance = self.instances.pop("b")
        instance.process.stdin.close()
        self.wait("it ends", lambda: instance.process.poll() is not None)
        if instance.process.returncode != 0:
            raise ScenarioFailed(f"it ended with {instance.process.returncode}")
        self.judge(counted, committed_records(self.client(), OUTPUT))
        print(f"  {counted.total()} words, each counted once", flush=True)
        if shutil.which("kcat"):
            self.judge(counted, [self.read_by_kcat()])

    def query(self, counted):
        """What the store says that was made anew from its changelog."""
        stdin = self.instances["b"].process.stdin
        stdin.write(b"?\n")
        stdin.flush()
        self.wait("it answers a query", lambda: self.queried is not None)
        stored = {word: int(count) for word, _, count in (entry.partition("=") for entry in self.queried.split(","))}
        if stored != counted:
            raise ScenarioFailed(f"the store has {stored} instead of {dict(counted)}")
        print(f"  {len(stored)} counts in the store, each exact", flush=True)

    @staticmethod
    def judge(counted, partitions):
        counts = collections.defaultdict(list)
        for records in partitions:
            for word, count in records:
                counts[word].append(int(count))
        for word in sorted({*counted, *counts}):
            if counts[word] != list(range(1, counted[word] + 1)):
                wrong = [(a, b) for a, b in zip(counts[word], counts[word][1:]) if b != a + 1]
                raise ScenarioFailed(f"{word} was there {counted[word]} times and has {len(counts[word])} counts to "
                                     f"{counts[word][-1:]}, with {wrong[:5]}")

    def read_by_kcat(self):
        read = subprocess.run(
            ["kcat", "-b", self.broker.bootstrap, "-C", "-t", OUTPUT, "-o", "beginning", "-e", "-q",
             "-X", "isolation.level=read_committed", "-f", "%k %s\n"],
            capture_output=True, text=True, timeout=STEP_TIMEOUT_S)
        return [line.split() for line in read.stdout.splitlines()]

    # What may happen.

    def start(self, name):
        stores = self.directory / name
        command = [*self.command, self.broker.bootstrap, APPLICATION, str(stores), str(SESSION_MS), INPUT, OUTPUT]
        self.instances[name] = Worker(command, self.complaints)
        self.states[name] = None

    def kill(self, name):
        self.instances.pop(name).kill()

    def step(self, what):
        """All instances run, and there are new counts."""
        self.wait(f"{what}: all run", lambda: all(self.states[name] == "RUNNING" for name in self.instances))
        before = self.counts()
        self.wait(f"{what}: it goes on", lambda: self.counts() >= before + COUNTS_A_STEP)
        print(f"  {time.monotonic() - self.started:5.1f} s  {what}", flush=True)

    def wait(self, what, condition):
        scenarios.wait_until(what, condition, self.pump, STEP_TIMEOUT_S, lambda: self.states)

    def pump(self):
        select.select([instance.process.stdout for instance in self.instances.values()], [], [], 0.1)
        for name, instance in self.instances.items():
            for line in instance.new_lines():
                what, _, said = line.partition(" ")
                if what == "counts":
                    self.queried = said
                else:
                    self.states[name] = said
            if instance.process.poll() not in (None, 0):
                raise ScenarioFailed(f"{name} ended by itself with {instance.process.returncode}")

    def counts(self):
        """How many a reader with read_committed finds."""
        return sum(len(records) for records in committed_records(self.client(), OUTPUT))

    def client(self):
        """A new one for each process of the broker."""
        if self.connected and self.connected[0] == self.broker.pid:
            return self.connected[1]
        self.connected = self.broker.pid, Client((HOST, self.broker.port))
        return self.connected[1]


def main():
    command = client_programs.java("java-streams", "streams/WordCount.java")
    directory = pathlib.Path(tempfile.mkdtemp(prefix="barnabas-streams-"))
    try:
        with Broker(properties=PROPERTIES) as broker:
            WordCount(broker, command, directory).run()
    except (BrokerError, ScenarioFailed) as error:
        sys.exit(f"FAILED: {error}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
