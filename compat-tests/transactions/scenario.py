"""One life of transactions, the same for every client.

A client is a program. `COMMAND… BOOTSTRAP` is told a line at a time what to do, and answers each line by one,
`ok WORD…` or `error NAME WHY` with its own name for what went wrong:

    producer NAME ID TIMEOUT_MS                  a producer with this transactional id, initialised
    begin NAME, commit NAME, abort NAME, close NAME
    send NAME TOPIC PARTITIONS FIRST COUNT       the numbers from FIRST on, n to partition n % PARTITIONS; it answers
                                                 when all are acknowledged
    offsets NAME GROUP TOPIC 0:12,1:7            into the transaction, for a group that nobody is in
    read TOPIC PARTITIONS                        two readers, with read_committed and read_uncommitted, read it from its
                                                 start on, all the time
    seen COUNT COUNT                             once these have read so many in all, or time is up, and no more come:
                                                 those not told yet, each as ISOLATION:PARTITION:VALUE

`COMMAND… BOOTSTRAP ID GROUP SOURCE TARGET MODE SESSION_MS` is a copier: as a member of the group it copies records,
each to the same partition of the other topic, some at a time in a transaction together with their offsets, aborts one
of four such and does it again, and says `committed COUNT`, `aborted COUNT` or `failed WHY`. At the end of standard
input it leaves and ends with 0. Its transactions time out after 15 s: when it is killed within one, nobody may read
its group's offsets before that.
"""

import pathlib
import select
import subprocess
import sys
import time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "conformance"))
sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "harness"))

import codes  # noqa: E402
import scenarios  # noqa: E402
from base import Client, eventually  # noqa: E402
from broker import HOST, BrokerError  # noqa: E402
from records import batch  # noqa: E402
from scenarios import ScenarioFailed  # noqa: E402

PARTITIONS = 3
ISOLATIONS = ("read_committed", "read_uncommitted")
LONG_MS, SHORT_MS = 60000, 3000  # timeouts of transactions; a first send takes librdkafka a second by itself
SESSION_MS = 3000
ANSWER_TIMEOUT_S = 60
NEVER_SEEN = 10 ** 9
MANY_OPENINGS, MANY_TRANSACTIONS = 15, 40
SAFE_DOWNGRADE = 2

PROPERTIES = scenarios.properties(
    SESSION_MS, group_min_session_timeout_ms=1000, transaction_state_log_num_partitions=4,
    transaction_abort_timed_out_transaction_cleanup_interval_ms=200)


class Refused(Exception):
    """The client's own name for it, and what it says."""

    def __init__(self, name, why):
        super().__init__(f"{name} {why}")
        self.name = name


class Transaction:
    def __init__(self):
        self.outcome = None  # then "committed" or "aborted"


WITHOUT = Transaction()
WITHOUT.outcome = "committed"


class Partition:
    """What was appended, and what readers should therefore see."""

    def __init__(self):
        self.records = []  # value and transaction

    def visible(self, isolation):
        if isolation == "read_uncommitted":
            return [value for value, _ in self.records]
        out = []
        for value, transaction in self.records:
            if transaction.outcome is None:
                break  # the last stable offset
            if transaction.outcome == "committed":
                out.append(value)
        return out

    def is_open(self):
        return any(transaction.outcome is None for _, transaction in self.records)


class Program:
    """A client's process that is told what to do."""

    def __init__(self, command, complaints):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints)

    def tell(self, *words):
        self.process.stdin.write((" ".join(map(str, words)) + "\n").encode())
        self.process.stdin.flush()

    def ask(self, *words):
        """The words of its answer; raises what the client says went wrong."""
        self.tell(*words)
        if not select.select([self.process.stdout], [], [], ANSWER_TIMEOUT_S)[0]:
            raise ScenarioFailed(f"no answer to {words} within {ANSWER_TIMEOUT_S} s")
        answer = self.process.stdout.readline().decode().split()
        if answer[:1] == ["error"]:
            raise Refused(answer[1], " ".join(answer[2:]))
        if answer[:1] != ["ok"]:
            raise ScenarioFailed(f"asked for {words} the program says {answer}")
        return answer[1:]

    def end(self):
        self.process.kill()
        self.process.wait()


class Scenario:
    def __init__(self, broker, client):
        self.broker = broker
        self.client = client  # of clients.py
        self.complaints = scenarios.Complaints()
        self.raw = Client((HOST, broker.port))
        self.topic = "scenario"
        self.partitions = [Partition() for _ in range(PARTITIONS)]
        self.read = {isolation: [[] for _ in range(PARTITIONS)] for isolation in ISOLATIONS}
        self.next = 0
        self.started = time.monotonic()
        self.program = Program([*client.command, broker.bootstrap], self.complaints)

    def run(self, chosen=()):
        """`chosen`: names of steps; without any all are done."""
        self.set_transaction_version(self.client.transaction_version)
        self.raw.create_usable(self.topic, PARTITIONS)
        try:
            self.ask("read", self.topic, PARTITIONS)
            for step in self.steps():
                if chosen and step.__name__ not in chosen:
                    continue
                step()
                self.look(step.__name__)
                self.await_end_of_transactions(step.__name__)
                print(f"  {time.monotonic() - self.started:5.1f} s  {step.__name__}", flush=True)
        except (ScenarioFailed, BrokerError, Refused):
            self.complaints.show("the program")
            raise
        finally:
            self.program.end()

    def steps(self):
        steps = [self.commits, self.aborts, self.waits_for_another, self.fences, self.times_out, self.opens_often,
                 self.commits_often, self.survives_the_broker]
        return steps + [self.commits_offsets] if self.client.sends_offsets else steps

    # The steps.

    def commits(self):
        self.ask("producer", "p", "first", LONG_MS)
        for _ in range(2):
            transaction = self.begin("p")
            self.send("p", transaction)
            self.look("open")
            self.send("p", transaction)
            self.end("p", transaction, "commit")
            self.look("committed")

    def aborts(self):
        for outcome in ("abort", "commit", "abort"):
            transaction = self.begin("p")
            self.send("p", transaction)
            self.look("open")
            self.end("p", transaction, outcome)
            self.look(outcome)
        self.end("p", self.begin("p"), "abort")
        self.end("p", self.begin("p"), "commit")

    def waits_for_another(self):
        """What is committed, and what is in no transaction, is seen only once what began earlier has ended."""
        self.ask("producer", "q", "second", LONG_MS)
        earlier, later = self.begin("q"), self.begin("p")
        self.send("q", earlier)
        self.send("p", later)
        self.send_without()
        self.send("q", earlier)
        self.end("p", later, "commit")
        self.look("later committed")
        self.end("q", earlier, "abort")

    def fences(self):
        """A second producer with the same id aborts what the first has open, and shuts it out."""
        self.ask("producer", "old", "fencing", LONG_MS)
        transaction = self.begin("old")
        self.send("old", transaction)
        self.ask("producer", "new", "fencing", LONG_MS)
        transaction.outcome = "aborted"
        self.look("taken over")
        transaction = self.begin("new")
        self.send("new", transaction)
        if self.client.fences_back:
            self.end("new", transaction, "commit")
        self.is_refused(self.client.fenced, "old")
        if not self.client.fences_back:
            self.end("new", transaction, "commit")

    def times_out(self):
        self.ask("producer", "slow", "timing-out", SHORT_MS)
        transaction = self.begin("slow")
        self.send("slow", transaction)
        self.look("open")
        transaction.outcome = "aborted"
        self.await_end_of_transactions("timed out")
        self.look("timed out")
        self.is_refused(self.client.timed_out, "slow")
        self.ask("producer", "again", "timing-out", LONG_MS)
        self.transact("again")

    def opens_often(self):
        for number in range(MANY_OPENINGS):
            self.ask("producer", "o", "opened-often", LONG_MS)
            transaction = self.begin("o")
            self.send("o", transaction)
            if number % 3:
                self.end("o", transaction, "commit")
            else:
                transaction.outcome = "aborted"  # by the next one, or at the end
            if number + 1 < MANY_OPENINGS:
                self.ask("close", "o")

    def commits_often(self):
        for number in range(MANY_TRANSACTIONS):
            self.transact("p", "commit" if number % 3 else "abort")

    def survives_the_broker(self):
        transaction = self.begin("p")
        self.send("p", transaction)
        other = self.begin("q")
        self.send("q", other)
        self.look("open")
        self.restart_broker()
        self.look("open after the broker was killed")
        self.send("p", transaction)
        self.end("p", transaction, "commit")
        self.end("q", other, "abort")
        self.look("ended after the broker was killed")
        self.restart_broker()
        self.transact("p")

    def commits_offsets(self):
        group, before = "of-offsets", [-1] * PARTITIONS
        for number, outcome in enumerate(("commit", "abort", "commit")):
            offsets = [10 * number + p for p in range(PARTITIONS)]
            transaction = self.begin("p")
            self.send("p", transaction)
            self.ask("offsets", "p", group, self.topic, ",".join(f"{p}:{offset}" for p, offset in enumerate(offsets)))
            pending = codes.NONE if self.client.keeps_offsets else codes.UNSTABLE_OFFSET_COMMIT
            self.expect_offsets(group, before, pending)
            if number == 2:
                self.restart_broker()
                self.expect_offsets(group, before, pending)
            self.end("p", transaction, outcome)
            before = offsets if outcome == "commit" else before
            assert eventually(lambda: codes.UNSTABLE_OFFSET_COMMIT not in self.offsets(group, True)[1])
            self.expect_offsets(group, before, codes.NONE)

    # What steps consist of.

    def ask(self, *words):
        return self.program.ask(*words)

    def begin(self, producer):
        self.ask("begin", producer)
        return Transaction()

    def send(self, producer, transaction, count=2 * PARTITIONS):
        self.ask("send", producer, self.topic, PARTITIONS, self.next, count)
        self.append(transaction, count)

    def send_without(self):
        for _ in range(PARTITIONS):
            done = self.raw.produce(self.topic, batch(b"%d" % self.next), partition=self.next % PARTITIONS)
            assert done.errorCode == codes.NONE, done
            self.append(WITHOUT, 1)

    def append(self, transaction, count):
        for number in range(self.next, self.next + count):
            self.partitions[number % PARTITIONS].records.append((str(number), transaction))
        self.next += count

    def end(self, producer, transaction, how):
        self.ask(how, producer)
        transaction.outcome = {"commit": "committed", "abort": "aborted"}[how]

    def transact(self, producer, how="commit"):
        transaction = self.begin(producer)
        self.send(producer, transaction, PARTITIONS)
        self.end(producer, transaction, how)

    def is_refused(self, wanted, producer):
        """It learns that its transaction is over when it goes on with it, and that in the client's own words.

        It sends one record: what a client does with those that it has accepted, but not sent yet, when the answer to
        an earlier one comes is chance (kafka-python leaves them lying, or refuses them as sent in no transaction)."""
        sending = ("send", producer, self.topic, PARTITIONS, NEVER_SEEN, 1)
        answers = []
        for command in (sending, ("commit", producer), ("abort", producer), ("begin", producer)):
            try:
                self.ask(*command)
                answers.append("ok")
            except Refused as refusal:
                answers.append(refusal.name)
        if len(wanted) != len(answers) or any(a not in words.split("|") for a, words in zip(answers, wanted)):
            raise ScenarioFailed(f"{producer}: send, commit, abort and begin are answered by {answers}, not {wanted}")

    def set_transaction_version(self, level):
        """It is 2 before."""
        if level < 2:
            done = self.raw.call("UpdateFeatures", timeoutMs=10000, validateOnly=False, featureUpdates=[
                {"feature": "transaction.version", "maxVersionLevel": level, "upgradeType": SAFE_DOWNGRADE}])
            assert done.errorCode == codes.NONE, done

    def restart_broker(self):
        self.broker.kill()
        self.broker.start()
        self.raw.close()
        self.raw = Client((HOST, self.broker.port))
        self.raw.await_usable(self.topic, PARTITIONS)

    # What is looked at.

    def look(self, when):
        """Both readers have seen what they should, in order, and no more."""
        wanted = {isolation: [p.visible(isolation) for p in self.partitions] for isolation in ISOLATIONS}
        for record in self.ask("seen", *(sum(map(len, wanted[isolation])) for isolation in ISOLATIONS)):
            isolation, partition, value = record.split(":")
            self.read[isolation][int(partition)].append(value)
        for isolation, read in self.read.items():
            if read != wanted[isolation]:
                raise ScenarioFailed(f"{when}: {isolation} reads {differences(wanted[isolation], read)}")
        ends = {isolation: self.ends(isolation) for isolation in ISOLATIONS}
        for partition, stable, end in zip(self.partitions, *(ends[isolation] for isolation in ISOLATIONS)):
            if partition.is_open() and stable >= end:
                raise ScenarioFailed(f"{when}: last stable offsets {ends}")

    def await_end_of_transactions(self, when):
        if not eventually(lambda: self.ends("read_committed") == self.ends("read_uncommitted"), 20):
            raise ScenarioFailed(f"{when}: a transaction is open")

    def ends(self, isolation):
        asked = [{"partitionIndex": p, "timestamp": -1} for p in range(PARTITIONS)]
        answer = self.raw.call("ListOffsets", 5, replicaId=-1, isolationLevel=int(isolation == "read_committed"),
                               topics=[{"name": self.topic, "partitions": asked}])
        return [partition.offset for partition in answer.topics[0].partitions]

    def offsets(self, group, stable):
        """The group's offsets, and the partitions' errors."""
        asked = {"groupId": group, "topics": [{"name": self.topic, "partitionIndexes": list(range(PARTITIONS))}]}

        def ask():  # until its coordinator is there, for which somebody has to look
            self.raw.call("FindCoordinator", 4, keyType=0, coordinatorKeys=[group])
            answer = self.raw.call("OffsetFetch", 8, groups=[asked], requireStable=stable).groups[0]
            return answer if answer.errorCode == codes.NONE else None

        answer = eventually(ask, 30)
        if answer is None:
            raise ScenarioFailed(f"{group} has no coordinator")
        found = sorted(answer.topics[0].partitions, key=lambda p: p.partitionIndex)
        return [p.committedOffset for p in found], [p.errorCode for p in found]

    def expect_offsets(self, group, offsets, error):
        """`error`: for who asks for what cannot change any more."""
        known, stable = self.offsets(group, False)[0], self.offsets(group, True)
        if known != offsets or stable[1] != [error] * PARTITIONS or (error == codes.NONE and stable[0] != offsets):
            raise ScenarioFailed(f"{group} has {known} and for sure {stable}, not {offsets}")


def differences(wanted, seen):
    out = []
    for number, (right, got) in enumerate(zip(wanted, seen)):
        same = next((i for i, (a, b) in enumerate(zip(right, got)) if a != b), min(len(right), len(got)))
        if right != got:
            out.append(f"partition {number} from record {same} on: {got[same:same + 8]} ({len(got)} in all) instead of "
                       f"{right[same:same + 8]} ({len(right)})")
    return "; ".join(out)
