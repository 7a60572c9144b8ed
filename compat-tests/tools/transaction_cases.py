"""Cases of tools_test.py: Apache Kafka's tools for transactions, on transactional ids in every state."""

import re

import codes
from base import eventually
from sides import SideBySideTest
from transactions import LOG, OFFSETS, Producer

TOPIC = "tools-transactions"
MINUTE_MS = 60_000


def normal(text):
    """Without moments and durations. Apache Kafka lists ids and partitions in the order of a hash table; columns are as wide
    as what is in them."""
    text = re.sub(r"\b1\d{12}\b", "MOMENT", text)
    lines = [" ".join(line.split()) for line in text.splitlines()]
    lines = [re.sub(r"(MOMENT|None) \d+ (?=\S+-\d)|(?<=MOMENT) \d+$", r"\1 DURATION ", line) for line in lines]
    return "\n".join(sorted(re.sub(r"\S+-\d+(,\S+-\d+)+", lambda found: ",".join(sorted(found[0].split(","))), line)
                            for line in lines))


class TransactionCase(SideBySideTest):
    """Ways to bring a transactional id into a state on both sides."""

    made = {}

    @classmethod
    def setUpClass(cls):
        if not TransactionCase.made:
            for target, side in cls.sides.items():
                side.client.create_usable(TOPIC, 3)
                TransactionCase.made[target] = {}
                assert eventually(lambda side=side: cls.is_ready(side.client), 30), "no coordinator"
                side.client.new_producer_id()

    @staticmethod
    def is_ready(client):
        for kind in (0, 1):
            client.call("FindCoordinator", 4, keyType=kind, coordinatorKeys=["x"])
        return client.call("EndTxn", 0, transactionalId="x", producerId=1, producerEpoch=1).errorCode == \
            codes.INVALID_PRODUCER_ID_MAPPING and client.call(
                "Heartbeat", 0, groupId="x", generationId=1, memberId="x").errorCode == codes.UNKNOWN_MEMBER_ID

    def on_each(self, name, change, version=2):
        """`change(producer)` on both sides, with a producer of this transactional id that is kept from case to case."""
        for target, side in self.sides.items():
            made = TransactionCase.made[target]
            if name not in made:
                made[name] = Producer(side.client.connection.socket.getpeername(), name, version, timeout_ms=10 * MINUTE_MS)
                self.assertEqual(made[name].init()[0], codes.NONE)
            change(made[name])

    def empty(self, name):
        self.on_each(name, lambda one: None)

    def ongoing(self, name, *partitions, **fields):
        def change(one):
            for partition in partitions or (0,):
                if one.version == 1:
                    one.add({TOPIC: [partition]})
                self.assertEqual(one.send(TOPIC, partition)[0], codes.NONE)

        self.on_each(name, change, **fields)

    def with_offsets(self, name, group):
        self.on_each(name, lambda one: self.assertEqual(one.commit_offsets(group, {TOPIC: {0: 1}}), {(TOPIC, 0): codes.NONE}))

    def ended(self, name, committed=True, **fields):
        self.ongoing(name, **fields)

        def change(one):
            one.follow(one.end(committed))
            one.settle()

        self.on_each(name, change)

    def transactions(self, *arguments, **options):
        return self.same("transactions", *arguments, **{"exit_code": None, "normal": normal, **options})

    def change(self, *arguments, **options):
        return self.once("transactions", *arguments, **{"exit_code": None, "normal": normal, **options})


class TransactionsDescribed(TransactionCase):
    def test_lists(self):
        self.empty("list-empty")
        self.ongoing("list-ongoing")
        self.ended("list-committed")
        self.ended("list-aborted", False, version=1)
        for more in ([], ["--duration-filter", 0], ["--duration-filter", -1], ["--duration-filter", 100_000_000],
                     ["--duration-filter", "x"], ["--transactional-id-pattern", "list-.*"],
                     ["--transactional-id-pattern", "list"], ["--transactional-id-pattern", "("],
                     ["--transactional-id-pattern", "list-[ae].*", "--duration-filter", 0]):
            with self.subTest(more=more):
                self.transactions("list", *more)

    def test_descriptions(self):
        self.empty("described-empty")
        self.ongoing("described-ongoing", 0, 2)
        self.with_offsets("described-ongoing", "described-group")
        self.ongoing("described-ongoing-1", 1, version=1)
        self.ended("described-committed")
        self.ended("described-aborted", False)
        for name in ("described-empty", "described-ongoing", "described-ongoing-1", "described-committed", "described-aborted",
                     "described-nowhere"):
            with self.subTest(name=name):
                self.transactions("describe", "--transactional-id", name)

    def test_producers(self):
        self.ongoing("producers-ongoing", 0, 1)
        self.ended("producers-committed")
        self.ended("producers-old", version=1)
        for more in (["--topic", TOPIC, "--partition", 0], ["--topic", TOPIC, "--partition", 1],
                     ["--topic", TOPIC, "--partition", 0, "--broker-id", 1], ["--topic", OFFSETS, "--partition", 0],
                     ["--topic", LOG, "--partition", 0]):
            with self.subTest(more=more):
                self.transactions("describe-producers", *more)

    def test_what_makes_no_sense(self):
        for arguments in ([], ["describe"], ["describe-producers", "--topic", TOPIC], ["abort"], ["list", "--nope"], ["nope"],
                          ["find-hanging"], ["find-hanging", "--partition", 0], ["abort", "--topic", TOPIC, "--partition", 0]):
            with self.subTest(arguments=arguments):
                self.transactions(*arguments)


class TransactionsAborted(TransactionCase):
    """A transaction hangs when a partition has it and its coordinator has not."""

    def hanging(self, name):
        """Begun long ago, in partition 2."""
        def change(one):
            self.assertEqual(one.send(TOPIC, 2, timestamps=[1_700_000_000_000])[0], codes.NONE)

        self.on_each(name, change, version=1)
        self.assertGreaterEqual(self.start(name), 0)

    def start_offset(self, target, name):
        """Of the open transaction, in partition 2."""
        side, one = self.sides[target], TransactionCase.made[target][name]
        got = side.client.call("DescribeProducers", 0, topics=[{"name": TOPIC, "partitionIndexes": [2]}])
        return next(each.currentTxnStartOffset for each in got.topics[0].partitions[0].activeProducers
                    if each.producerId == one.id)

    def start(self, name):
        offsets = {self.start_offset(target, name) for target in self.sides}
        self.assertEqual(len(offsets), 1)
        return offsets.pop()

    def test_by_the_start_of_the_transaction(self):
        self.hanging("abort-by-offset")
        start = self.start("abort-by-offset")
        self.change("abort", "--topic", TOPIC, "--partition", 2, "--start-offset", start + 1000)
        self.change("abort", "--topic", TOPIC, "--partition", 2, "--start-offset", start)
        self.transactions("describe-producers", "--topic", TOPIC, "--partition", 2)
        self.transactions("describe", "--transactional-id", "abort-by-offset")
        self.assertEqual(self.start("abort-by-offset"), -1)

    def test_by_the_producer(self):
        self.hanging("abort-by-producer")
        one = TransactionCase.made["kafka"]["abort-by-producer"]
        for coordinator in (-1, 0):
            self.change("abort", "--topic", TOPIC, "--partition", 2, "--producer-id", one.id, "--producer-epoch", one.epoch,
                        "--coordinator-epoch", coordinator)
        self.transactions("describe-producers", "--topic", TOPIC, "--partition", 2)

    def test_by_force(self):
        for name, make in (("force-ongoing", self.ongoing), ("force-empty", self.empty), ("force-committed", self.ended)):
            with self.subTest(name=name):
                make(name)
                self.change("forceTerminateTransaction", "--transactionalId", name)
                self.transactions("describe", "--transactional-id", name)
        self.change("forceTerminateTransaction", "--transactionalId", "force-nowhere")

    def test_a_transaction_that_does_not_hang(self):
        self.ongoing("abort-known", 2)
        self.change("abort", "--topic", TOPIC, "--partition", 2, "--start-offset", self.start("abort-known"))
        self.transactions("describe", "--transactional-id", "abort-known")

    def test_they_are_found(self):
        self.hanging("hanging-first")
        self.hanging("hanging-second")
        self.on_each("hanging-not", lambda one: one.send(TOPIC, 1, timestamps=[1_700_000_000_000]))
        for more in (["--topic", TOPIC], ["--topic", TOPIC, "--partition", 2], ["--topic", TOPIC, "--partition", 1],
                     ["--broker-id", 1], ["--broker-id", 1, "--max-transaction-timeout", 0], ["--topic", "nope"],
                     ["--broker-id", 1, "--max-transaction-timeout", 100_000_000]):
            with self.subTest(more=more):
                self.transactions("find-hanging", *more)
        self.change("abort", "--topic", TOPIC, "--partition", 2, "--start-offset", self.start("hanging-first"))
        self.assertIn(TOPIC, self.transactions("find-hanging", "--broker-id", 1))


class TransactionFiles(TransactionCase):
    """What the log of coordinators, the index of aborted transactions and snapshots of producers are to dump-log."""

    def dump(self, name, *options):
        def path(side):
            return side.broker.data_dir / name

        return self.once("dump-log", *options, "--files", path, bootstrap=False, normal=without_moments, exit_code=0)

    def test_the_coordinators_log(self):
        self.ended("dumped-committed", version=1)
        self.ended("dumped-aborted", False)
        self.ongoing("dumped-ongoing", 0, 1)
        log = f"{LOG}-0/00000000000000000000.log"
        self.dump(log)
        self.assertIn('"transactionStatus":"PrepareAbort"', self.dump(log, "--transaction-log-decoder"))

    def test_partitions(self):
        self.ended("dumped-index", False)
        for partition in range(3):
            log = f"{TOPIC}-{partition}/00000000000000000000"
            printed = self.dump(f"{log}.log", "--print-data-log")
            self.assertTrue(partition or "endTxnMarker: ABORT" in printed, printed)
            self.dump(f"{log}.txnindex")


def without_moments(text):
    """Nor checksums of them. Partitions come in the order of a hash table."""
    text = re.sub(r"((?:TimestampMs\"|CreateTime):? ?)\d+", r"\1MOMENT", text)
    text = re.sub(r"\bcrc: \d+", "crc: N", text)
    text = re.sub(r"(?<=\"partitionIds\":\[)[\d,]+", lambda ids: ",".join(sorted(ids[0].split(","))), text)
    return re.sub(r"(?<=\"transactionPartitions\":\[)\{.*?\]\}(?=\],)",
                  lambda topics: ",".join(sorted(re.findall(r"\{.*?\]\}", topics[0]))), text)
