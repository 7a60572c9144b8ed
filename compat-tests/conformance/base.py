"""What the suites share: one broker for all cases of a process, and short ways to say what a case does."""

import atexit
import os
import pathlib
import sys
import time
import unittest

import apis
import codes
from client import Connection
from records import batch, split

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1] / "harness"))
from broker import HOST, Broker, BrokerError, chosen_target  # noqa: E402, F401

TARGET = chosen_target()
IS_KAFKA = TARGET == "kafka"

# Quick housekeeping, so that retention and deletion can be watched; nothing here changes an answer.
SHARED_PROPERTIES = {
    "log.retention.check.interval.ms": "300",
    "log.initial.task.delay.ms": "300",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
}

# Apache Kafka's brokers fall asleep on a busy machine; the harness's short session would then shut them out.
if IS_KAFKA:
    SHARED_PROPERTIES |= {"broker.heartbeat.interval.ms": "1000", "broker.session.timeout.ms": "18000"}

# Records of 1970 are many in these cases.
KEEP_FOR_EVER = {"retention.ms": "-1"}

_shared = None


def shared_broker():
    global _shared
    if _shared is None:
        broker = Broker(properties=SHARED_PROPERTIES)
        atexit.register(broker.clean)
        _shared = broker.start()
    return _shared


def shared_address():
    """BARNABAS_BOOTSTRAP (host:port) names a broker that runs already; it is then left alone."""
    configured = os.environ.get("BARNABAS_BOOTSTRAP")
    if configured:
        host, _, port = configured.rpartition(":")
        return host, int(port)
    return HOST, shared_broker().port


def eventually(condition, timeout_s=10.0, pause_s=0.02):
    """The first true value of `condition()`, or its last one when time is up."""
    deadline = time.monotonic() + timeout_s
    while True:
        value = condition()
        if value or time.monotonic() > deadline:
            return value
        time.sleep(pause_s)


class Client:
    """The verbs of a case, over one connection."""

    def __init__(self, address):
        self.connection = Connection(address)

    def close(self):
        self.connection.close()

    def call(self, api, version=None, **fields):
        return self.connection.call(api, apis.newest(api) if version is None else version, **fields)

    # Topics.

    def create(self, name, partitions=1, configs=None, version=7, **fields):
        """CreateTopics of one topic; returns its part of the answer."""
        topic = {
            "name": name, "numPartitions": partitions, "replicationFactor": 1,
            "configs": [{"name": key, "value": value} for key, value in (configs or {}).items()], **fields,
        }
        return self.call("CreateTopics", version, topics=[topic], timeoutMs=10000).topics[0]

    def create_usable(self, name, partitions=1, configs=None):
        """Creates a topic and returns its id once all partitions answer."""
        made = self.create(name, partitions, configs)
        assert made.errorCode == codes.NONE, (name, made.errorCode, made.errorMessage)
        self.await_usable(name, partitions)
        return made.topicId

    def await_usable(self, name, partitions=1):
        wanted = [{"partitionIndex": index, "timestamp": -1} for index in range(partitions)]

        def ready():
            answer = self.call("ListOffsets", 5, replicaId=-1, topics=[{"name": name, "partitions": wanted}])
            return all(partition.errorCode == codes.NONE for partition in answer.topics[0].partitions)

        assert eventually(ready), f"{name} is not served"

    def delete(self, name):
        return self.call("DeleteTopics", 5, topicNames=[name], timeoutMs=10000).responses[0]

    def new_producer_id(self, version=5):
        """An idempotent producer's id, of epoch 0. Apache Kafka has none ready in its first moments."""
        def ask():
            got = self.call("InitProducerId", version, transactionalId=None, transactionTimeoutMs=60000)
            return None if got.errorCode == codes.COORDINATOR_LOAD_IN_PROGRESS else got

        got = eventually(ask)
        assert got and (got.errorCode, got.producerEpoch) == (codes.NONE, 0), got
        return got.producerId

    # Records.

    def produce(self, topic, records, partition=0, version=12, acks=-1, topic_id=None, **fields):
        """Produce to one partition; returns its part of the answer."""
        data = {"name": topic, "partitionData": [{"index": partition, "records": records}]}
        if topic_id is not None:
            data["topicId"] = topic_id
        answer = self.call("Produce", version, acks=acks, timeoutMs=10000, topicData=[data], **fields)
        return answer.responses[0].partitionResponses[0]

    def append(self, topic, *values, partition=0, **fields):
        """Produces one good batch and returns its base offset."""
        done = self.produce(topic, batch(*values, **fields), partition)
        assert done.errorCode == codes.NONE, (done.errorCode, done.errorMessage)
        return done.baseOffset

    def fetch(self, topic, offset=0, version=12, **fields):
        """Fetch of one partition; returns its part of the answer."""
        return self.fetch_all([fetched(topic, offset, version=version)], version, **fields).responses[0].partitions[0]

    def fetch_all(self, topics, version=12, max_wait_ms=0, min_bytes=1, max_bytes=1 << 24, **fields):
        fields = {"replicaId": -1, "sessionEpoch": -1, **fields}
        return self.call("Fetch", version, maxWaitMs=max_wait_ms, minBytes=min_bytes, maxBytes=max_bytes,
                         topics=topics, **fields)

    def read(self, topic, offset=0, partition=0, verified=True):
        """All batches from an offset on. Verifying checksums of many megabytes takes a while."""
        out = []
        while True:
            got = self.fetch_all([fetched(topic, offset, partition)]).responses[0].partitions[0]
            assert got.errorCode == codes.NONE, got.errorCode
            batches = split(got.records, verified)
            if not batches:
                return out
            out += batches
            offset = batches[-1].next_offset

    # Offsets.

    def list_offset(self, topic, timestamp, partition=0, version=10, epoch=-1, isolation=0):
        asked = {"partitionIndex": partition, "timestamp": timestamp, "currentLeaderEpoch": epoch}
        return self.call("ListOffsets", version, replicaId=-1, isolationLevel=isolation,
                         topics=[{"name": topic, "partitions": [asked]}]).topics[0].partitions[0]

    def end_offset(self, topic, partition=0):
        return self.list_offset(topic, -1, partition).offset

    def start_offset(self, topic, partition=0):
        return self.list_offset(topic, -2, partition).offset

    def delete_records(self, topic, offset, partition=0, version=2):
        asked = {"partitionIndex": partition, "offset": offset}
        return self.call("DeleteRecords", version, timeoutMs=10000,
                         topics=[{"name": topic, "partitions": [asked]}]).topics[0].partitions[0]

    def metadata(self, *names, version=12, **fields):
        return self.call("Metadata", version, topics=[{"name": name} for name in names],
                         **{"allowAutoTopicCreation": False, **fields})


def fetched(topic, offset=0, partition=0, max_bytes=1 << 24, version=12, **fields):
    """A FetchTopic entry for one partition; a topic id where the version wants one."""
    key = "topicId" if version >= apis.FETCH_FIRST_WITH_TOPIC_ID else "topic"
    return {key: topic, "partitions": [
        {"partition": partition, "fetchOffset": offset, "partitionMaxBytes": max_bytes, **fields}]}


class ConformanceTest(unittest.TestCase):
    """A case against the shared broker, with a client of its own."""

    maxDiff = 4000
    _topics = 0

    def setUp(self):
        self.address = self.broker_address()
        self.client = self.new_client()

    def broker_address(self):
        return shared_address()

    def new_client(self):
        client = Client(self.address)
        self.addCleanup(client.close)
        return client

    def new_connection(self, **fields):
        connection = Connection(self.address, **fields)
        self.addCleanup(connection.close)
        return connection

    def new_name(self, hint=""):
        ConformanceTest._topics += 1
        name = self.id().rpartition(".")[2].removeprefix("test_").replace("_", "-")[:60]
        return f"{name}{'-' if hint else ''}{hint}.{ConformanceTest._topics}"

    def new_topic(self, partitions=1, **configs):
        """A usable topic with a name of its own; config names are given with underscores."""
        name = self.new_name()
        given = {key.replace("_", "."): value for key, value in configs.items()}
        self.client.create_usable(name, partitions, KEEP_FOR_EVER | given)
        return name

    def new_topic_with_id(self, partitions=1):
        name = self.new_name()
        return name, self.client.create_usable(name, partitions, KEEP_FOR_EVER)

    def resident_bytes(self):
        if os.environ.get("BARNABAS_BOOTSTRAP"):
            self.skipTest("the process of a broker that runs already is not known")
        return shared_broker().rss()

    def assert_grew_less(self, before, most_bytes):
        """Nothing can be said of a sanitizer's process, which holds back what was freed."""
        if not os.environ.get("BARNABAS_SANITIZED"):
            self.assertLess(self.resident_bytes() - before, most_bytes)

    def assert_still_served(self):
        """The broker answers others as before."""
        self.assertEqual(self.new_client().call("ApiVersions", 0).errorCode, codes.NONE)
