"""A client's copiers copy what is produced all the time, while they and the broker are killed; at the end each record
was copied once, in order."""

import select
import time

import scenarios
from base import Client
from broker import HOST
from scenario import ISOLATIONS, PARTITIONS, SESSION_MS, Program, differences
from scenarios import ScenarioFailed
from workers import BATCH_EVERY_S, Worker, committed_values

STEP_TIMEOUT_S = 60
COMMITS_A_STEP = 4
NAMES = ("a", "b")
SAID_LINES = 300


class Copying:
    def __init__(self, broker, client):
        self.broker = broker
        self.client = client
        self.names = NAMES[:client.copiers]
        self.copiers = {}
        self.commits = dict.fromkeys(self.names, 0)
        self.aborts = self.failures = self.restarts = 0
        self.source, self.target, self.group = "copied", "copies", "copiers"
        self.complaints = scenarios.Complaints()
        self.history = []
        self.started = time.monotonic()

    def run(self):
        raw = Client((HOST, self.broker.port))
        raw.create_usable(self.source, PARTITIONS)
        raw.create_usable(self.target, PARTITIONS)
        source = scenarios.Source(self.broker.port, [self.source], PARTITIONS, BATCH_EVERY_S)
        source.start()
        try:
            self.live()
            source.end()
            self.finish()
        except ScenarioFailed:
            self.complaints.show("the copiers", self.history[-SAID_LINES:])
            raise
        finally:
            source.ended.set()
            for copier in self.copiers.values():
                copier.kill()

    def live(self):
        for name in self.names:
            self.start(name)
        self.step("started", *self.names)
        self.kill("a")
        if len(self.names) > 1:
            self.step("one was killed, another goes on", "b")
        self.start("a")
        self.step("it came back", *self.names)
        self.note("the broker is killed")
        self.broker.kill()
        self.broker.start()
        self.note("the broker is back")
        for name in self.names if not self.client.reconnects else ():
            self.kill(name)
            self.start(name)
        self.step("the broker was killed", *self.names)

    def finish(self):
        raw = Client((HOST, self.broker.port))
        ends = [raw.end_offset(self.source, p) for p in range(PARTITIONS)]
        self.wait("all is copied", lambda: self.committed(raw) == ends)
        for name in self.names:
            self.close(name)
        wanted, copied = committed_values(raw, self.source), committed_values(raw, self.target)
        if wanted != copied:
            raise ScenarioFailed(f"copied were {differences(wanted, copied)}")
        if self.client.reads_back:
            read = self.read(sum(map(len, wanted)))
            if wanted != read:
                raise ScenarioFailed(f"of the copies the client reads {differences(wanted, read)}")
        print(f"  {sum(map(len, wanted))} records copied in {sum(self.commits.values())} transactions, {self.aborts} "
              f"aborted, {self.failures} failed, {self.restarts} gave up", flush=True)

    # What may happen.

    def start(self, name):
        command = [*self.client.command, self.broker.bootstrap, f"copier-{name}", self.group, self.source, self.target,
                   self.client.mode, str(SESSION_MS)]
        self.copiers[name] = Worker(command, self.complaints)
        self.note(f"{name} is started")

    def kill(self, name):
        copier = self.copiers.pop(name)
        copier.kill()
        self.take(name, copier)
        self.note(f"{name} is killed")

    def close(self, name):
        copier = self.copiers.pop(name)
        copier.process.stdin.close()
        self.wait(f"{name} ends", lambda: copier.process.poll() is not None)
        if copier.process.returncode != 0:
            raise ScenarioFailed(f"{name} ended with {copier.process.returncode}")

    def step(self, what, *names):
        """Between them these commit some times more."""
        before = sum(self.commits[name] for name in names)
        self.wait(what, lambda: sum(self.commits[name] for name in names) >= before + COMMITS_A_STEP)
        print(f"  {time.monotonic() - self.started:5.1f} s  {what}", flush=True)

    def wait(self, what, condition):
        scenarios.wait_until(what, condition, self.pump, STEP_TIMEOUT_S, lambda: f"commits {self.commits}")

    def pump(self):
        select.select([copier.process.stdout for copier in self.copiers.values()], [], [], 0.05)
        for name, copier in list(self.copiers.items()):
            self.take(name, copier)
            if copier.process.poll() not in (None, 0):
                self.restarts += 1
                if self.restarts > self.client.restarts:
                    raise ScenarioFailed(f"{name} ended by itself with {copier.process.returncode}")
                self.start(name)

    def take(self, name, copier):
        for line in copier.new_lines():
            self.note(f"{name} {line}")
            event = line.split()[0]
            self.commits[name] += event == "committed"
            self.aborts += event == "aborted"
            self.failures += event == "failed"

    def note(self, line):
        self.history.append(f"{time.monotonic() - self.started:8.3f} {line}")

    # What the broker has.

    def committed(self, raw):
        """The group's offsets."""
        asked = {"groupId": self.group, "topics": [{"name": self.source, "partitionIndexes": list(range(PARTITIONS))}]}
        answer = raw.call("OffsetFetch", 8, groups=[asked], requireStable=True).groups[0]
        return [p.committedOffset for topic in answer.topics
                for p in sorted(topic.partitions, key=lambda p: p.partitionIndex)]

    def read(self, count):
        """What the client's own reader finds to be committed."""
        program = Program([*self.client.command, self.broker.bootstrap], self.complaints)
        out = [[] for _ in range(PARTITIONS)]
        try:
            program.ask("read", self.target, PARTITIONS)
            for record in program.ask("seen", count, count):
                isolation, partition, value = record.split(":")
                if isolation == ISOLATIONS[0]:
                    out[int(partition)].append(value)
        finally:
            program.end()
        return out
