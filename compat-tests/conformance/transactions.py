"""Transactional producers of cases: what they ask and are told, and what a coordinator writes down."""

import os
import struct
import time

import codes
import wire
from base import Client, ConformanceTest, eventually
from client import Connection
from groups import OwnBrokerTest
from records import CONTROL, TRANSACTIONAL, batch, records_of

LOG = "__transaction_state"
OFFSETS = "__consumer_offsets"
IDS = f"id-{os.urandom(3).hex()}"
STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort", "Dead", "PrepareEpochFence")
EMPTY, ONGOING, PREPARE_COMMIT, PREPARE_ABORT, COMPLETE_COMMIT, COMPLETE_ABORT = range(6)
FIRST_WITH_OWN_EPOCHS = 5  # EndTxn and TxnOffsetCommit of producers that know transaction version 2
EXHAUSTED = 2**15 - 2      # from this epoch on a producer gets a new id
NOBODY = (-1, -1)
MINUTE_MS = 60_000


class Producer:
    """One transactional id on a connection of its own; `id` and `epoch` follow what was answered.

    Apache Kafka tells those who meet an outcome that is being carried out to come again. Methods do so, unless they
    are called `..._once`.
    """

    def __init__(self, address, name, version=2, timeout_ms=MINUTE_MS):
        self.client = Client(address)
        self.name, self.timeout_ms = name, timeout_ms
        self.version = version  # of transactions, 1 or 2
        self.id, self.epoch = NOBODY
        self.sequences = {}

    def close(self):
        self.client.close()

    @property
    def identity(self):
        return self.id, self.epoch

    def call(self, api, version, **fields):
        return self.client.call(api, version, **fields)

    # InitProducerId.

    def init_once(self, identity=NOBODY, version=None, timeout_ms=None, name=""):
        """(error, producer id, epoch)"""
        version = (5 if self.version == 2 else 4) if version is None else version
        fields = {} if version < 3 else {"producerId": identity[0], "producerEpoch": identity[1]}
        got = self.call("InitProducerId", version, transactionalId=self.name if name == "" else name,
                        transactionTimeoutMs=self.timeout_ms if timeout_ms is None else timeout_ms, **fields)
        return got.errorCode, got.producerId, got.producerEpoch

    def init(self, identity=NOBODY, **fields):
        got = again(lambda: self.init_once(identity, **fields), lambda one: one[0])
        if got[0] == codes.NONE:
            self.id, self.epoch = got[1:]
            self.sequences = {}
        return got

    # Partitions.

    def add(self, partitions, version=3, **fields):
        """{(topic, partition): error}, as clients ask; partitions by topic."""
        return again(lambda: self.add_once(partitions, version, **fields), first_of)

    def add_once(self, partitions, version=3, name=None, identity=None):
        producer, epoch = identity or self.identity
        got = self.call("AddPartitionsToTxn", version, v3AndBelowTransactionalId=self.name if name is None else name,
                        v3AndBelowProducerId=producer, v3AndBelowProducerEpoch=epoch, v3AndBelowTopics=[
                            {"name": topic, "partitions": list(indexes)} for topic, indexes in partitions.items()])
        return results(got.resultsByTopicV3AndBelow)

    def asked(self, partitions, verify=True, name=None, identity=None):
        """What a broker asks in versions 4 and 5, for `ask`."""
        producer, epoch = identity or self.identity
        return {"transactionalId": self.name if name is None else name, "producerId": producer, "producerEpoch": epoch,
                "verifyOnly": verify, "topics": [{"name": topic, "partitions": list(indexes)}
                                                 for topic, indexes in partitions.items()]}

    def ask(self, partitions, verify=True, version=5, **fields):
        """{(topic, partition): error}"""
        def once():
            got = self.call("AddPartitionsToTxn", version, transactions=[self.asked(partitions, verify, **fields)])
            assert got.errorCode == codes.NONE and len(got.resultsByTransaction) == 1, got
            return results(got.resultsByTransaction[0].topicResults)

        return again(once, first_of)

    def add_offsets(self, group, version=4, name=None, identity=None):
        producer, epoch = identity or self.identity
        return again(lambda: self.call(
            "AddOffsetsToTxn", version, transactionalId=self.name if name is None else name, producerId=producer,
            producerEpoch=epoch, groupId=group).errorCode)

    # Records and offsets.

    def send(self, topic, partition=0, sequence=None, version=None, values=(b"v",), attributes=TRANSACTIONAL, name="",
             identity=None, **fields):
        """Produces one batch: (error, base offset). The next sequence number follows those that were stored."""
        producer, epoch = identity or self.identity
        version = (12 if self.version == 2 else 11) if version is None else version
        first = self.sequences.get((topic, partition), 0) if sequence is None else sequence
        content = batch(*values, producer_id=producer, producer_epoch=epoch, sequence=first, attributes=attributes, **fields)
        got = again(lambda: self.client.produce(
            topic, content, partition, version, topic_id=topic if version >= 13 else None,
            transactionalId=self.name if name == "" else name), lambda one: one.errorCode)
        if got.errorCode == codes.NONE and sequence is None:
            self.sequences[topic, partition] = first + len(values)
        return got.errorCode, got.baseOffset

    def commit_offsets(self, group, offsets, version=None, generation=-1, member="", instance=None, name=None,
                       identity=None):
        """TxnOffsetCommit: {(topic, partition): error}; offsets by partition by topic."""
        producer, epoch = identity or self.identity
        version = (5 if self.version == 2 else 4) if version is None else version
        fields = {"generationIdOrMemberEpoch": generation, "memberId": member, "groupInstanceId": instance}
        key = "topicId" if version >= 6 else "name"

        def once():
            got = self.call(
                "TxnOffsetCommit", version, transactionalId=self.name if name is None else name, groupId=group,
                producerId=producer, producerEpoch=epoch, **(fields if version >= 3 else {}), topics=[
                    {key: topic, "partitions": [
                        {"partitionIndex": index, "committedOffset": offset, "committedMetadata": ""}
                        for index, offset in by_partition.items()]} for topic, by_partition in offsets.items()])
            return {(one.get("topicId") or one.name, each.partitionIndex): each.errorCode
                    for one in got.topics for each in one.partitions}

        return again(once, first_of)

    # EndTxn.

    def end_once(self, committed=True, version=None, name=None, identity=None):
        """The error code before version 5; then (error, producer id, epoch)."""
        producer, epoch = identity or self.identity
        version = (5 if self.version == 2 else 4) if version is None else version
        got = self.call("EndTxn", version, transactionalId=self.name if name is None else name, producerId=producer,
                        producerEpoch=epoch, committed=committed)
        return got.errorCode if version < FIRST_WITH_OWN_EPOCHS else (got.errorCode, got.producerId, got.producerEpoch)

    def end(self, committed=True, **fields):
        """The same. Who this producer is stays as it was: see `follow`."""
        return again(lambda: self.end_once(committed, **fields), lambda one: one[0] if isinstance(one, tuple) else one)

    def follow(self, told):
        """Goes on as the answer of EndTxn says."""
        if isinstance(told, tuple) and told[0] == codes.NONE:
            self.id, self.epoch = told[1:]
            self.sequences = {}
        return told

    def commit(self):
        return self.follow(self.end(True))

    def abort(self):
        return self.follow(self.end(False))

    # Questions.

    def describe(self, name=None):
        return self.call("DescribeTransactions", 0,
                         transactionalIds=[self.name if name is None else name]).transactionStates[0]

    def state(self):
        return self.describe().transactionState

    def settle(self):
        """Until no outcome is being carried out: the state."""
        eventually(lambda: not self.state().startswith("Prepare"))
        return self.state()


def again(once, error_of=lambda one: one):
    """The first answer that is not CONCURRENT_TRANSACTIONS."""
    kept = []

    def ask():
        kept[:] = [once()]
        return error_of(kept[0]) != codes.CONCURRENT_TRANSACTIONS

    eventually(ask)
    return kept[0]


def first_of(answers):
    return next(iter(answers.values()), codes.NONE)


def results(topics):
    return {(topic.name, one.partitionIndex): one.partitionErrorCode
            for topic in topics for one in topic.resultsByPartition}


# What is written down.

def log_value(data):
    """(version, fields) of a value in __transaction_state; None for a tombstone."""
    if data is None:
        return None
    (version,) = struct.unpack_from(">h", data)
    reader = wire.Reader(data[2:])
    value = wire.codec("TransactionLogValue", version).read(reader)
    reader.expect_end("the value")
    return version, value


def log_key(name):
    return struct.pack(">hh", 0, len(name.encode())) + name.encode()


def make_value(version, **fields):
    now = int(time.time() * 1000)
    given = {"producerEpoch": 0, "transactionTimeoutMs": MINUTE_MS, "transactionStatus": EMPTY,
             "transactionPartitions": None, "transactionLastUpdateTimestampMs": now, "transactionStartTimestampMs": -1}
    if version >= 1:
        given["previousProducerId"] = fields["producerId"]
    return struct.pack(">h", version) + wire.codec("TransactionLogValue", version).write(given | fields)


class TransactionTest(ConformanceTest):
    """A case with transactional ids of its own."""

    def setUp(self):
        super().setUp()
        self.await_coordinators()

    def await_coordinators(self):
        """Apache Kafka makes the topics of coordinators when it is first asked for them, and loads them then."""
        def ready():
            found = [self.client.call("FindCoordinator", 4, keyType=kind, coordinatorKeys=["x"]).coordinators[0].errorCode
                     for kind in (0, 1)]
            return found == [codes.NONE] * 2 and self.client.call(
                "EndTxn", 0, transactionalId="x", producerId=1, producerEpoch=1,
                committed=True).errorCode == codes.INVALID_PRODUCER_ID_MAPPING and self.client.call(
                    "Heartbeat", 0, groupId="x", generationId=1, memberId="x").errorCode == codes.UNKNOWN_MEMBER_ID

        self.assertTrue(eventually(ready, 30), "no coordinator")
        self.client.new_producer_id()

    def new_id(self):
        return self.new_name(IDS)

    def producer(self, version=2, begun=True, name=None, **fields):
        made = Producer(self.address, name or self.new_id(), version, **fields)
        self.addCleanup(made.close)
        if begun:
            self.assertEqual(made.init()[0], codes.NONE)
        return made

    def both(self):
        """A producer of each transaction version."""
        return (self.producer(1), self.producer(2))

    def begin(self, producer, topic, *partitions):
        """A record in each partition, added first where the producer's version wants it so."""
        partitions = partitions or (0,)
        if producer.version == 1:
            got = producer.add({topic: partitions})
            self.assertEqual(got, {(topic, index): codes.NONE for index in partitions})
        return [self.sent(producer, topic, index) for index in partitions]

    def sent(self, producer, topic, partition=0, **fields):
        """The offset."""
        error, offset = producer.send(topic, partition, **fields)
        self.assertEqual(error, codes.NONE)
        return offset

    def completed(self, producer, committed=True):
        got = producer.follow(producer.end(committed))
        self.assertEqual(got if producer.version == 1 else got[0], codes.NONE)
        self.assertEqual(producer.settle(), STATES[COMPLETE_COMMIT if committed else COMPLETE_ABORT])

    def written(self, name):
        """What was written down for the id: (version, fields) each, None for a tombstone."""
        key = log_key(name)
        return [log_value(value) for _, _, at, value, _ in records_of(self.client.read(LOG)) if at == key]

    def assert_written(self, name, *expected):
        """(state, producer id, epoch, partitions) and more fields by name, of the last records, in order."""
        got = self.written(name)[-len(expected):]
        for (version, value), (state, producer, epoch, partitions, more) in zip(got, expected, strict=True):
            told = value.transactionPartitions
            told = told and {one.topic: sorted(one.partitionIds) for one in told}
            self.assertEqual((STATES[value.transactionStatus], value.producerId, value.producerEpoch),
                             (STATES[state], producer, epoch), got)
            self.assertEqual(told or None, partitions or None, got)
            # No array before the first transaction, an empty one after any.
            self.assertEqual(value.transactionPartitions is None, state == EMPTY, got)
            if version:
                wanted = {"previousProducerId": producer, "nextProducerId": -1, "nextProducerEpoch": -1,
                          "clientTransactionVersion": 0} | more
                self.assertEqual({key: value[key] for key in wanted}, wanted, got)

    def controls(self, topic, partition=0, offset=0):
        """(committed, producer id, epoch) of each marker."""
        out = []
        for one in self.client.read(topic, offset, partition):
            if one.attributes & CONTROL:
                self.assertEqual((one.attributes, one.sequence, one.count), (TRANSACTIONAL | CONTROL, -1, 1))
                ((_, _, key, value, _),) = records_of([one])
                self.assertEqual((key[:3], value[:2], len(key), len(value)), (bytes(3), bytes(2), 4, 6))
                out.append((bool(key[3]), one.producer_id, one.producer_epoch))
        return out

    def fetch_offsets(self, group, topic, *partitions, stable=False):
        """{partition: (offset, error)}"""
        got = self.client.call("OffsetFetch", 9, requireStable=stable, groups=[
            {"groupId": group, "topics": [{"name": topic, "partitionIndexes": list(partitions)}]}]).groups[0]
        self.assertEqual(got.errorCode, codes.NONE)
        return {one.partitionIndex: (one.committedOffset, one.errorCode) for one in got.topics[0].partitions}

    def write_markers(self, *markers, version=2):
        """(producer id, epoch, committed, partitions by topic, coordinator epoch, transaction version) each; what is
        answered: {(producer id, topic, partition): error}"""
        got = self.client.call("WriteTxnMarkers", version, markers=[
            {"producerId": producer, "producerEpoch": epoch, "transactionResult": committed, "coordinatorEpoch": coordinator,
             "topics": [{"name": topic, "partitionIndexes": list(indexes)} for topic, indexes in partitions.items()],
             **({"transactionVersion": level} if version >= 2 else {})}
            for producer, epoch, committed, partitions, coordinator, level in markers]).markers
        return {(one.producerId, topic.name, each.partitionIndex): each.errorCode
                for one in got for topic in one.topics for each in topic.partitions}


class OwnBrokerTransactionTest(TransactionTest, OwnBrokerTest):
    """The cases of a class share a broker with `properties`."""

    @classmethod
    def setUpClass(cls):
        cls.properties = {"transaction.state.log.num.partitions": "1", **cls.properties}
        super().setUpClass()

    def put(self, name, version=1, **fields):
        """Writes a record into the coordinator's log as an admin's client may; it counts after `restart`."""
        connection = Connection(self.address, client_id="__admin_client")
        self.addCleanup(connection.close)
        got = connection.call("Produce", 11, transactionalId=None, acks=-1, timeoutMs=10000, topicData=[
            {"name": LOG, "partitionData": [{"index": 0, "records": batch(
                make_value(version, **fields), keys=(log_key(name),))}]}])
        self.assertEqual(got.responses[0].partitionResponses[0].errorCode, codes.NONE)

    def restart(self):
        self.broker.restart()
        self.client = self.new_client()
        self.await_coordinators()

    def set_level(self, level):
        """Finalizes transaction.version."""
        found = self.client.call("ApiVersions", 4, clientSoftwareName="a", clientSoftwareVersion="1").finalizedFeatures
        current = {one.name: one.maxVersionLevel for one in found}.get("transaction.version", 0)
        if level != current:
            got = self.client.call("UpdateFeatures", 2, timeoutMs=10000, validateOnly=False, featureUpdates=[
                {"feature": "transaction.version", "maxVersionLevel": level, "upgradeType": 1 if level > current else 2}])
            self.assertEqual(got.errorCode, codes.NONE, got.errorMessage)

        def known():
            now = self.client.call("ApiVersions", 4, clientSoftwareName="a", clientSoftwareVersion="1").finalizedFeatures
            return {one.name: one.maxVersionLevel for one in now}.get("transaction.version", 0) == level

        self.assertTrue(eventually(known))
