#!/usr/bin/env python3
"""Lets the same random producers do the same in transactions of Apache Kafka and of Barnabas, and prints differences.

    compare_transactions.py [--seed N] [--sequences N] [--length N] [--trace] [--restarts] [--level 0|1|2]

A tool for those who write coordinators; nothing fails by itself. A sequence is a few transactional ids with two producers
each, which begin, write, commit and ask, rightly and wrongly, with requests of all versions mixed; it ends with its first
difference. Producer ids are those of each broker and go by symbols here. At the end what both coordinators wrote down is
compared as well. Kafka's clients are to come again after CONCURRENT_TRANSACTIONS; so does this one.
"""

import argparse
import collections
import pathlib
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import apis  # noqa: E402
import codes  # noqa: E402
from base import HOST, SHARED_PROPERTIES, Broker, Client, eventually, fetched  # noqa: E402
from client import ConnectionClosed  # noqa: E402
from compare_groups import PATIENT, differing  # noqa: E402
from records import CONTROL, TRANSACTIONAL, batch, records_of, split  # noqa: E402
from transactions import LOG, OFFSETS, STATES, again, log_key, log_value  # noqa: E402
from wire import WireError  # noqa: E402

PARTITIONS = 2
IGNORED = {"throttleTimeMs", "errorMessage", "lastTimestamp", "logAppendTimeMs", "nodeEndpoints", "currentLeader", "timestamp",
           "records", "preferredReadReplica", "sessionId", "divergingEpoch", "snapshotId", "leaderEpoch"}
NOBODY = ("none", -1)


class Side:
    def __init__(self, target, level):
        self.target = target
        self.broker = Broker(target, properties=SHARED_PROPERTIES | PATIENT).start()
        self.client = Client((HOST, self.broker.port))
        self.warm_up()
        if level != 2:
            self.client.call("UpdateFeatures", 2, timeoutMs=10000, validateOnly=False, featureUpdates=[
                {"feature": "transaction.version", "maxVersionLevel": level, "upgradeType": 2}])
        self.ids, self.symbols = {}, {}  # real id by symbol, symbol by real id

    def warm_up(self):
        def ready():
            for kind in (0, 1):
                self.client.call("FindCoordinator", 4, keyType=kind, coordinatorKeys=["x"])
            return self.client.call("EndTxn", 0, transactionalId="x", producerId=1, producerEpoch=1).errorCode == 49 and \
                self.client.call("Heartbeat", 0, groupId="x", generationId=1, memberId="x").errorCode == 25

        assert eventually(ready, 60)
        self.client.new_producer_id()

    def restart(self):
        self.broker.restart()
        self.client = Client((HOST, self.broker.port))
        self.warm_up()

    def begin(self, topic):
        self.topic, self.topic_id = topic, self.client.create_usable(topic, PARTITIONS)

    def real(self, symbol):
        return {"none": -1, "stranger": 777_777}.get(symbol, self.ids.get(symbol, 888_888))

    def learn(self, real, symbol):
        self.ids[symbol], self.symbols[real] = real, symbol

    def symbol(self, real):
        return self.symbols.get(real, "none" if real == -1 else "zero" if real == 0 else "?")

    def neutral(self, value, name=""):
        if isinstance(value, dict):
            return {key: self.neutral(inner, key) for key, inner in value.items() if key not in IGNORED}
        if isinstance(value, list):
            return sorted((self.neutral(inner, name) for inner in value), key=repr)
        if name == "producerId":
            return self.symbol(value)
        if name == "transactionStartTimeMs":
            return value > 0
        if name == "coordinatorEpoch":
            return value >= 0
        if name == "topicId":
            return "topic" if value == self.topic_id else value
        return value

    def ask(self, make):
        """The answer, and what was fetched; in neutral words only later, once both sides' ids are known."""
        try:
            return make(self)
        except ConnectionClosed:
            self.client = Client((HOST, self.broker.port))
            return "closed"
        except WireError as error:
            return f"not readable: {error}"

    def written(self, names):
        out = collections.defaultdict(list)
        keys = {log_key(name): name for name in names}
        for _, _, key, value, _ in records_of(self.client.read(LOG)):
            if key not in keys:
                continue
            version, told = log_value(value)
            parts = told.transactionPartitions
            out[keys[key]].append((
                version, STATES[told.transactionStatus], self.symbol(told.producerId), told.producerEpoch,
                told.transactionTimeoutMs, told.get("clientTransactionVersion"),
                told.get("previousProducerId") and self.symbol(told.previousProducerId),
                told.get("nextProducerId") and self.symbol(told.nextProducerId),
                parts and sorted((one.topic, sorted(one.partitionIds)) for one in parts),
                told.transactionStartTimestampMs > 0))
        return out


class Instance:
    """What a producer knows of itself, after Kafka's answers."""

    def __init__(self, name):
        self.name, self.symbol, self.epoch = name, "none", -1
        self.sequences = collections.Counter()


class Sequence:
    def __init__(self, chance, sides, number):
        self.chance, self.sides = chance, sides
        self.topic, self.group = f"topic-{number}", f"group-{number}"
        self.names = [f"id-{number}-{index}" for index in range(2)]
        self.instances = [Instance(name) for name in self.names for _ in range(2)]
        self.fresh, self.trace = 0, []
        for side in sides.values():
            side.begin(self.topic)

    def pick(self, *pairs):
        values, weights = zip(*pairs)
        return self.chance.choices(values, weights)[0]

    def identity(self, one):
        """(symbol, epoch), mostly its own."""
        other = self.chance.choice(self.instances)
        return self.pick(((one.symbol, one.epoch), 88), ((one.symbol, one.epoch - 1), 3), ((one.symbol, one.epoch + 1), 3),
                         ((other.symbol, other.epoch), 4), (("stranger", 0), 2))

    def name_of(self, one):
        return self.pick((one.name, 96), ("", 1), ("nobody", 1), (self.chance.choice(self.names), 2))

    def partitions(self):
        return self.pick(([0], 50), ([1], 25), ([0, 1], 22), ([0, 7], 3))

    # Requests: a text for the trace, and what to do at a side.

    def init(self, one):
        version = self.pick((5, 50), (4, 30), (3, 10), (0, 5), (2, 5))
        symbol, epoch = self.pick((NOBODY, 50), (self.identity(one), 48), (("stranger", -1), 1), (("none", 3), 1))
        name = self.pick((one.name, 98), ("", 2))
        timeout = self.pick((60_000, 90), (70_000, 7), (0, 3))
        fields = {} if version < 3 else {"producerEpoch": epoch}

        def make(side):
            more = {} if version < 3 else {"producerId": side.real(symbol)}
            return again(lambda: side.client.call("InitProducerId", version, transactionalId=name, transactionTimeoutMs=timeout,
                                                  **fields, **more), error_code)

        return f"InitProducerId v{version} {name!r} {symbol}/{epoch} {timeout}", make, self.follow_init

    def follow_init(self, one, answers):
        self.follow(one, answers)

    def follow(self, one, answers):
        kafka, barnabas = answers["kafka"], answers["barnabas"]
        if isinstance(kafka, str) or isinstance(barnabas, str):
            return
        if kafka.errorCode == barnabas.errorCode == 0 and kafka.get("producerId", -1) >= 0:
            if kafka.producerId not in self.sides["kafka"].symbols:
                self.fresh += 1
                for target, side in self.sides.items():
                    side.learn(answers[target].producerId, f"P{self.fresh}")
            symbol = self.sides["kafka"].symbols[kafka.producerId]
            if (symbol, kafka.producerEpoch) != (one.symbol, one.epoch):
                one.sequences.clear()
            one.symbol, one.epoch = symbol, kafka.producerEpoch

    def add(self, one):
        version, name, (symbol, epoch) = self.chance.randrange(4), self.name_of(one), self.identity(one)
        topics = {self.topic: self.partitions()} | self.pick(({}, 97), ({"nope": [0]}, 3))

        def make(side):
            return again(lambda: side.client.call(
                "AddPartitionsToTxn", version, v3AndBelowTransactionalId=name, v3AndBelowProducerId=side.real(symbol),
                v3AndBelowProducerEpoch=epoch,
                v3AndBelowTopics=[{"name": topic, "partitions": parts} for topic, parts in topics.items()]), partition_code)

        return f"AddPartitionsToTxn v{version} {name!r} {symbol}/{epoch} {topics}", make, None

    def ask(self, one):
        version, name, (symbol, epoch) = self.pick((4, 40), (5, 60)), self.name_of(one), self.identity(one)
        topics, verify = {self.topic: self.partitions()}, self.pick((True, 70), (False, 30))

        def make(side):
            return again(lambda: side.client.call("AddPartitionsToTxn", version, transactions=[{
                "transactionalId": name, "producerId": side.real(symbol), "producerEpoch": epoch, "verifyOnly": verify,
                "topics": [{"name": topic, "partitions": parts} for topic, parts in topics.items()]}]), partition_code)

        return f"AddPartitionsToTxn v{version} {name!r} {symbol}/{epoch} {topics} verify {verify}", make, None

    def add_offsets(self, one):
        version, name, (symbol, epoch) = self.chance.choice(apis.versions("AddOffsetsToTxn")), self.name_of(one), self.identity(one)

        def make(side):
            return again(lambda: side.client.call("AddOffsetsToTxn", version, transactionalId=name, producerId=side.real(symbol),
                                                  producerEpoch=epoch, groupId=self.group), error_code)

        return f"AddOffsetsToTxn v{version} {name!r} {symbol}/{epoch}", make, None

    def produce(self, one):
        version = self.pick((12, 50), (11, 30), (8, 10), (13, 10))
        name, (symbol, epoch) = self.pick((one.name, 97), (None, 1), ("nobody", 2)), self.identity(one)
        partition = self.chance.randrange(PARTITIONS)
        attributes = self.pick((TRANSACTIONAL, 95), (0, 5))
        sequence = one.sequences[partition]
        sequence = self.pick((sequence, 92), (max(sequence - 1, 0), 4), (sequence + 1, 4))

        def make(side):
            content = batch(b"v", producer_id=side.real(symbol), producer_epoch=epoch, sequence=sequence, attributes=attributes)
            data = {"topicId" if version >= 13 else "name": side.topic_id if version >= 13 else self.topic,
                    "partitionData": [{"index": partition, "records": content}]}
            return again(lambda: side.client.call("Produce", version, transactionalId=name, acks=-1, timeoutMs=10000,
                                                  topicData=[data]),
                         lambda got: got.responses[0].partitionResponses[0].errorCode)

        def follow(one, answers):
            if not isinstance(answers["kafka"], str) and answers["kafka"].responses[0].partitionResponses[0].errorCode == 0:
                if (symbol, epoch) == (one.symbol, one.epoch):
                    one.sequences[partition] = max(one.sequences[partition], sequence + 1)

        return f"Produce v{version} {name!r} {symbol}/{epoch} p{partition} seq {sequence} attributes {attributes}", make, follow

    def commit_offsets(self, one):
        version = self.chance.choice(apis.versions("TxnOffsetCommit"))
        name, (symbol, epoch) = self.name_of(one), self.identity(one)
        partition, offset = self.pick((0, 60), (1, 37), (7, 3)), self.chance.randrange(100)
        generation, member = self.pick(((-1, ""), 90), ((-1, "m"), 3), ((0, "m"), 4), ((3, ""), 3))
        group = self.pick((self.group, 98), ("", 2))

        def make(side):
            topic = {"topicId": side.topic_id} if version >= 6 else {"name": self.topic}
            more = {"generationIdOrMemberEpoch": generation, "memberId": member} if version >= 3 else {}
            return again(lambda: side.client.call(
                "TxnOffsetCommit", version, transactionalId=name, groupId=group, producerId=side.real(symbol),
                producerEpoch=epoch, **more, topics=[{**topic, "partitions": [
                    {"partitionIndex": partition, "committedOffset": offset, "committedMetadata": ""}]}]),
                lambda got: got.topics[0].partitions[0].errorCode)

        return (f"TxnOffsetCommit v{version} {name!r} {symbol}/{epoch} {group!r} p{partition}={offset} {generation}/{member!r}",
                make, None)

    def end(self, one):
        version = self.pick((5, 60), (4, 20), (3, 10), (1, 5), (0, 5))
        name, (symbol, epoch), committed = self.name_of(one), self.identity(one), self.chance.random() < 0.6

        def make(side):
            got = again(lambda: side.client.call("EndTxn", version, transactionalId=name, producerId=side.real(symbol),
                                                 producerEpoch=epoch, committed=committed), error_code)
            self.settle(side)
            return got

        return f"EndTxn v{version} {name!r} {symbol}/{epoch} {'commit' if committed else 'abort'}", make, self.follow

    def settle(self, side):
        def settled():
            got = side.client.call("DescribeTransactions", 0, transactionalIds=self.names).transactionStates
            return not any(each.transactionState.startswith("Prepare") for each in got)

        if self.settling:
            eventually(settled, 5)

    def marker(self, one):
        # Not of an epoch to come: the coordinator's own marker would be refused then.
        version, symbol, epoch = self.pick((1, 50), (2, 50)), one.symbol, self.pick((one.epoch, 70), (one.epoch - 1, 30))
        partition, committed, level = self.chance.randrange(PARTITIONS), self.chance.random() < 0.5, self.pick((0, 30), (1, 20), (2, 50))
        epoch = max(epoch, 0)

        def make(side):
            return side.client.call("WriteTxnMarkers", version, markers=[{
                "producerId": max(side.real(symbol), 0), "producerEpoch": epoch, "transactionResult": committed,
                "coordinatorEpoch": 0, **({"transactionVersion": level} if version >= 2 else {}),
                "topics": [{"name": self.topic, "partitionIndexes": [partition]}]}])

        return f"WriteTxnMarkers v{version} {symbol}/{epoch} p{partition} {committed} level {level}", make, None

    def look(self, _one):
        """One of many questions."""
        partition, isolation = self.chance.randrange(PARTITIONS), self.chance.randrange(2)
        kind = self.chance.choice(("describe", "list", "producers", "fetch", "offsets", "list offsets"))
        states = self.pick(([], 60), (["Ongoing"], 20), (["Empty", "nope"], 20))
        offset, stable = self.chance.randrange(4), self.chance.random() < 0.6

        def make(side):
            self.settle(side)
            client = side.client
            if kind == "describe":
                return client.call("DescribeTransactions", 0, transactionalIds=self.names)
            if kind == "list":
                return client.call("ListTransactions", 2, stateFilters=states, producerIdFilters=[],
                                   transactionalIdPattern=self.names[0][:-1] + ".")
            if kind == "producers":
                return client.call("DescribeProducers", 0, topics=[{"name": self.topic, "partitionIndexes": [partition]}])
            if kind == "list offsets":
                return client.call("ListOffsets", 7, replicaId=-1, isolationLevel=isolation, topics=[
                    {"name": self.topic, "partitions": [{"partitionIndex": partition, "timestamp": -1}]}])
            if kind == "offsets":
                return client.call("OffsetFetch", 9, requireStable=stable, groups=[{"groupId": self.group, "topics": [
                    {"name": self.topic, "partitionIndexes": [0, 1]}]}])
            got = client.fetch_all([fetched(self.topic, offset, partition)], 12, isolationLevel=isolation)
            batches = split(got.responses[0].partitions[0].records or b"")
            got["batches"] = [{"at": each.base_offset, "attributes": each.attributes, "producerId": each.producer_id,
                               "epoch": each.producer_epoch, "sequence": each.sequence,
                               "key": records_of([each])[0][2] if each.attributes & CONTROL else None} for each in batches]
            return got

        return f"{kind} p{partition} isolation {isolation} from {offset} stable {stable} {states}", make, None

    def step(self, markers):
        """One random request, compared; None, or the difference."""
        one = self.chance.choice(self.instances)
        make_request = self.pick((self.init, 14 if one.epoch >= 0 else 150), (self.add, 10), (self.ask, 6), (self.add_offsets, 5),
                                 (self.produce, 30), (self.commit_offsets, 8), (self.end, 18), (self.look, 12),
                                 (self.marker, 2 if markers else 0))
        self.settling = self.chance.random() < 0.8
        text, make, follow = make_request(one)
        self.trace.append(f"{self.instances.index(one)}: {text}")
        answers = {target: side.ask(make) for target, side in self.sides.items()}
        if follow:
            follow(one, answers)
        kafka, barnabas = (self.sides[target].neutral(answers[target]) for target in ("kafka", "barnabas"))
        self.trace.append(f"   → {short(kafka)}")
        if kafka == barnabas:
            return None
        path, *values = differing(kafka, barnabas)
        return "chance" if self.is_kafkas(text, path, values) else (text.split()[0], path, *values)

    @staticmethod
    def is_kafkas(text, path, values):
        """See README.md: repeats that are none, and what a refused batch leaves behind in a partition."""
        kafka, barnabas = values
        if kafka == codes.CONCURRENT_TRANSACTIONS:  # after all the time that `again` took
            return True
        if text.startswith("InitProducerId"):
            return kafka == codes.UNKNOWN_SERVER_ERROR
        if text.startswith("EndTxn"):
            return barnabas == codes.PRODUCER_FENCED and kafka in (codes.NONE, codes.INVALID_TXN_STATE)
        return text.startswith("Produce") and path.endswith("errorCode") and \
            sorted(values) in ([codes.NONE, codes.OUT_OF_ORDER_SEQUENCE_NUMBER],) or \
            text.startswith("Produce") and kafka == codes.OUT_OF_ORDER_SEQUENCE_NUMBER

    def compare_logs(self):
        """Until both are done; or the difference."""
        self.settling = True
        for side in self.sides.values():
            self.settle(side)
        kafka, barnabas = (self.sides[target].written(self.names) for target in ("kafka", "barnabas"))
        for name in self.names:
            for index in range(max(len(kafka[name]), len(barnabas[name]))):
                pair = [each[name][index] if index < len(each[name]) else None for each in (kafka, barnabas)]
                if pair[0] != pair[1]:
                    return "log", f"{name} #{index}", *pair
        return None


def error_code(got):
    return got.errorCode


def partition_code(got):
    for key in ("resultsByTopicV3AndBelow", "topicResults"):
        topics = got.get(key) or (got.get("resultsByTransaction") or [{}])[0].get(key) or []
        for topic in topics:
            for one in topic.resultsByPartition:
                return one.partitionErrorCode
    return codes.NONE


def short(value):
    text = repr(value)
    return text if len(text) < 400 else text[:400] + " …"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--sequences", type=int, default=100)
    parser.add_argument("--length", type=int, default=40)
    parser.add_argument("--level", type=int, default=2, help="of transaction.version")
    parser.add_argument("--trace", action="store_true", help="the whole sequence before each difference")
    parser.add_argument("--restarts", action="store_true", help="stop and start both brokers once in each sequence")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    sides = {target: Side(target, options.level) for target in ("kafka", "barnabas")}
    seen, requests, by_chance = collections.Counter(), 0, 0
    try:
        for count in range(options.sequences):
            chance = random.Random(options.seed + count)
            sequence = Sequence(chance, sides, options.seed + count)
            restart_at = chance.randrange(options.length) if options.restarts else None
            for step in range(options.length):
                if step == restart_at:
                    sequence.trace.append("--- restart")
                    for side in sides.values():
                        side.restart()
                found = sequence.step(markers=not options.restarts)
                requests += 1
                if found:
                    break
            found = found or sequence.compare_logs()
            if found == "chance":
                by_chance += 1
            elif found:
                what, path, kafka, barnabas = found
                key = (what, path.rpartition(".")[2] if what != "log" else "", str(kafka)[:30], str(barnabas)[:30])
                seen[key] += 1
                if seen[key] == 1:
                    print(f"\n--- seed {options.seed + count}: {what} {path}\n  kafka    {kafka}\n  barnabas {barnabas}")
                    print("\n".join("  " + line for line in (sequence.trace if options.trace else sequence.trace[-20:])),
                          flush=True)
    finally:
        for side in sides.values():
            side.broker.clean()
    print(f"\n{len(seen)} kinds of difference ({sum(seen.values())} sequences, {by_chance} ended by Kafka's ways) "
          f"in {requests} requests")
    for key, times in seen.most_common():
        print(times, *key)


if __name__ == "__main__":
    main()
