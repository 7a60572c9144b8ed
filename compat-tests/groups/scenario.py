"""One life of a group, the same for every client: members come, go and die, and so does the broker.

A client is a program `COMMAND… BOOTSTRAP GROUP TOPIC NAME MODE SESSION_MS`. It joins, consumes from the earliest
offset on, commits, and writes what happens to standard output, each line in one write:

    NAME assigned 0,2           all partitions that it has from now on; `-` where it has none
    NAME consumed 0 17          partition and offset of a record, in the order of reading
    NAME committing 0:18,2:5    before it commits: the offsets of the next records
    NAME committed 0:18,2:5     the broker has acknowledged that
    NAME refused WHY            … or has not
    NAME closed                 it has left the group; it ends with 0

It commits when 20 records are pending, when there was nothing to read for 0.3 s, and when partitions are revoked. At
the end of standard input it commits and leaves. Where MODE ends with `-static` NAME is its instance id too. All members
write to the same pipe: the lines are in the order of time.
"""

import os
import pathlib
import random
import select
import subprocess
import sys
import time

from ledger import Ledger

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "harness"))

import codes  # noqa: E402
import scenarios  # noqa: E402
from base import Client  # noqa: E402
from broker import HOST, BrokerError, chosen_target  # noqa: E402
from scenarios import ScenarioFailed  # noqa: E402

PARTITIONS = 6
NAMES = ("a", "b", "c", "d", "e")  # of members
SESSION_MS = 6000 if chosen_target() == "barnabas" else 20000  # Apache Kafka is away for long when it is killed
STATIC_SESSION_MS = 60000  # of members that come back before they are missed
RESTARTS = 3
BATCH_EVERY_S = 0.05  # of each topic
STEP_TIMEOUT_S = 60

PROPERTIES = scenarios.properties(SESSION_MS)


class Group:
    """One group, on a topic of its own. `programs`: by a member's name what it is, (command, mode), each time it is
    started; the last one from then on."""

    def __init__(self, name, programs):
        self.name = name
        self.programs = {member: list(each) for member, each in programs.items()}
        self.ledger = Ledger(PARTITIONS)
        self.members = {}  # name → process
        modes = {mode for each in self.programs.values() for _, mode in each}
        self.static = all(mode.endswith("-static") for mode in modes)
        self.new_protocol = all(mode.startswith("consumer") for mode in modes)

    def next_program(self, member):
        programs = self.programs[member]
        command, mode = programs.pop(0) if len(programs) > 1 else programs[0]
        return [str(part) for part in command], mode

    def settled(self):
        """Each partition has an owner that lives, and nobody has two more than another."""
        shares = self.ledger.shares(self.members)
        return sum(shares.values()) == PARTITIONS and max(shares.values()) - min(shares.values()) <= 1

    def committed_to(self, offsets):
        return all(partition.committed >= offset for partition, offset in zip(self.ledger.partitions, offsets))

    def __str__(self):
        owners = ", ".join(f"{p.owner} at {p.position}, committed {p.committed}" for p in self.ledger.partitions)
        return f"{self.name}: members {', '.join(self.members)}; {owners}"


class Scenario:
    def __init__(self, broker, groups, session_ms=SESSION_MS):
        self.broker = broker
        self.session_ms = session_ms
        self.groups = {group.name: group for group in groups}
        self.reader, self.writer = os.pipe()
        os.set_blocking(self.reader, False)
        self.complaints = scenarios.Complaints()
        self.rest = b""
        self.history = []
        self.started = time.monotonic()

    def run(self, live):
        client = Client((HOST, self.broker.port))
        for group in self.groups.values():
            client.create_usable(group.name, PARTITIONS)
        source = scenarios.Source(self.broker.port, list(self.groups), PARTITIONS, BATCH_EVERY_S)
        source.start()
        try:
            live()
            source.end()
            self.end()
        except (ScenarioFailed, BrokerError):
            self.show()
            raise
        finally:
            source.ended.set()
            self.kill_all()

    def live(self):
        """The life that every client lives through."""
        self.step("two members share", self.start, "a", "b")
        self.step("a third one joins", self.start, "c")
        self.step("one is killed", self.kill, "b")
        self.step("the broker is killed", self.crash)
        self.step("one comes back", self.start, "b")
        self.step("one leaves", self.close, "a")

    def live_static(self):
        """Of static members, whose places are kept for them."""
        self.step("three members share", self.start, "a", "b", "c")
        for name in "abc":
            self.step(f"{name} goes and comes back", self.restart, name)
        self.step("the broker is killed", self.crash)
        self.step("a goes and comes back", self.restart, "a")

    def live_at_random(self, seed, steps):
        """Another one: one member to five, and things that happen before the group has got over the one before."""
        self.step("two members share", self.start, "a", "b")
        chance = random.Random(seed)
        for _ in range(steps):
            happened = []
            self.step(happened, self.bad_luck, chance, happened)

    def bad_luck(self, chance, happened):
        for _ in range(chance.randint(1, 3)):
            alive, away = self.members(), sorted(set(NAMES) - set(self.members()))
            choices = [("dies", self.kill, alive), ("leaves", self.close, alive)] if len(alive) > 1 else []
            choices += [("joins", self.start, away)] * 2 if away else []
            what, action, names = chance.choice([*choices, ("the broker dies", self.crash, None)])
            who = [chance.choice(names)] if names else []
            happened.append(" ".join([*who, what]))
            action(*who)
            self.pause(chance.uniform(0, 1.5))

    def pause(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.pump(0.05)

    def end(self):
        """Everything was seen; the group is left, and the broker knows where it was."""
        ends = self.await_commits("everything is consumed")
        for name in self.members():
            self.close(name)
        client = Client((HOST, self.broker.port))
        for name, group in self.groups.items():
            if [partition.next for partition in group.ledger.partitions] != ends[name]:
                raise ScenarioFailed(f"{group}: the partitions end at {ends[name]}")
            stored = self.stored(client, group)
            if stored != ends[name]:
                raise ScenarioFailed(f"{group}: the broker has {stored}, the partitions end at {ends[name]}")
            print(f"  {name}: {sum(ends[name])} records, {group.ledger.repeats} of them again, "
                  f"{group.ledger.assignments} assignments, {group.ledger.refusals} commits refused", flush=True)

    # What may happen.

    def step(self, what, action, *arguments):
        """After it the partitions are shared out again and what was there is consumed and committed. `what`: words, or a
        list of them that the action fills."""
        action(*arguments)
        what = what if isinstance(what, str) else ", ".join(what)
        self.wait(f"{what}: all is shared out", lambda: all(group.settled() for group in self.groups.values()))
        self.await_commits(f"{what}: all goes on")
        print(f"  {time.monotonic() - self.started:5.1f} s  {what}", flush=True)

    def await_commits(self, what):
        """Of all that the topics hold now; returns where they end."""
        ends = {name: self.ends(group) for name, group in self.groups.items()}
        self.wait(what, lambda: all(group.committed_to(ends[name]) for name, group in self.groups.items()))
        return ends

    def members(self):
        """The names of those that live, the same in each group."""
        return sorted(next(iter(self.groups.values())).members)

    def start(self, *names):
        for group in self.groups.values():
            for name in names:
                command, mode = group.next_program(name)
                identity = [group.name, group.name, f"{group.name}.{name}"]  # of the group, its topic and the member
                group.members[name] = subprocess.Popen(
                    [*command, self.broker.bootstrap, *identity, mode, str(self.session_ms)],
                    stdin=subprocess.PIPE, stdout=self.writer, stderr=self.complaints)

    def kill(self, name, groups=None):
        """While it has consumed something that it has not committed; in all groups, if not told which."""
        for group in self.chosen(groups):
            self.wait(f"{name} has something to commit", lambda: group.ledger.has_pending(name))
            process = group.members.pop(name)
            process.kill()
            process.wait()
        self.pump(0)
        for group in self.chosen(groups):
            group.ledger.member_died(name)

    def close(self, name, groups=None):
        processes = [group.members[name] for group in self.chosen(groups)]
        for process in processes:
            process.stdin.close()
        self.wait(f"{name} leaves", lambda: all(process.poll() is not None for process in processes))
        for group in self.chosen(groups):
            code = group.members.pop(name).returncode
            if code != 0 or group.ledger.shares([name])[name]:
                raise ScenarioFailed(f"{group}: {name} ended with {code} and has {group.ledger.shares([name])}")

    def chosen(self, groups):
        return self.groups.values() if groups is None else groups

    def restart(self, name):
        """A static member; the others keep what they have. It gets some attempts: on a busy machine a client may well ask
        for a rebalance by itself."""
        for _ in range(RESTARTS):
            others = self.assigned_while_away(name)
            if not others:
                return
        raise ScenarioFailed(f"{name} came back, and others were assigned something: {others}")

    def assigned_while_away(self, name):
        told = len(self.history)
        self.kill(name, [group for group in self.groups.values() if not group.new_protocol])
        # In the new protocol nobody gets the place of one who has not said that it is away for a while.
        self.close(name, [group for group in self.groups.values() if group.new_protocol])
        self.start(name)
        self.wait(f"{name} is back", lambda: all(group.settled() for group in self.groups.values()))
        names = {f"{group.name}.{name}" for group in self.groups.values()}
        return [line for line in self.history[told:] if " assigned " in line and line.split()[1] not in names]

    def crash(self):
        self.broker.kill()
        self.pump(0)
        for group in self.groups.values():
            group.ledger.broker_died()
        self.broker.start(wait=False)
        self.broker.await_ready(self.pump)  # a member would wait for a full pipe, and miss its heartbeats

    def ends(self, group):
        client = Client((HOST, self.broker.port))
        try:
            return [client.end_offset(group.name, partition) for partition in range(PARTITIONS)]
        finally:
            client.close()

    @staticmethod
    def stored(client, group):
        asked = {"groupId": group.name, "topics": [{"name": group.name, "partitionIndexes": list(range(PARTITIONS))}]}
        answer = client.call("OffsetFetch", 8, groups=[asked], requireStable=False).groups[0]
        if answer.errorCode != codes.NONE:
            return f"error {answer.errorCode}"
        return [p.committedOffset for p in sorted(answer.topics[0].partitions, key=lambda p: p.partitionIndex)]

    # What the members say.

    def wait(self, what, condition):
        scenarios.wait_until(what, condition, lambda: self.pump(0.1), STEP_TIMEOUT_S,
                             lambda: "\n".join(map(str, self.groups.values())))
        self.pump(0)

    def pump(self, timeout_s):
        """Takes in all that the members have said, waiting for it at most so long."""
        if select.select([self.reader], [], [], timeout_s)[0]:
            while True:
                try:
                    data = os.read(self.reader, 1 << 16)
                except BlockingIOError:
                    break
                *lines, self.rest = (self.rest + data).split(b"\n")
                for line in lines:
                    self.take(line.decode())
        for group in self.groups.values():
            if group.ledger.complaints:
                raise ScenarioFailed(f"{group.name}: {'; '.join(group.ledger.complaints)}")
            for name, process in group.members.items():
                if process.poll() not in (None, 0):
                    raise ScenarioFailed(f"{group.name}: {name} ended by itself with {process.returncode}")

    def take(self, line):
        self.history.append(f"{time.monotonic() - self.started:8.3f} {line}")
        who, event, *arguments = line.split(" ")
        group, _, name = who.partition(".")
        ledger = self.groups[group].ledger
        if event == "assigned":
            ledger.assigned(name, set() if arguments == ["-"] else {int(p) for p in arguments[0].split(",")})
        elif event == "consumed":
            ledger.consumed(name, int(arguments[0]), int(arguments[1]))
        elif event in ("committing", "committed"):
            for entry in arguments[0].split(","):
                partition, _, offset = entry.partition(":")
                getattr(ledger, event)(name, int(partition), int(offset))
        elif event == "refused":
            ledger.refused(name)
        elif event != "closed":
            raise ScenarioFailed(f"a member says {line!r}")

    def show(self):
        without_records = [line for line in self.history if " consumed " not in line]
        self.complaints.show("the members", [*without_records[-60:], "--- at last:", *self.history[-20:]])

    def kill_all(self):
        for group in self.groups.values():
            for process in group.members.values():
                process.kill()
                process.wait()
        os.close(self.reader)
        os.close(self.writer)
