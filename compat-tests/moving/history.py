"""What clients do to Apache Kafka before its directory moves: a bit of everything that leaves a trace on disk."""

import itertools
import time

import confluent_kafka
import protocol_client as raw
from protocol_client import Producer, Transactional, await_true
from records import GZIP, NONE, SNAPPY, now_ms

EPOCH_MS = 1_700_000_000_000  # records of the past, so that segments roll where the history says
NEVER_EXPIRE = {"retention.ms": "-1"}

# Topics with settings of their own.
TOPICS = {
    "plain": (3, {}),
    "codecs": (1, {"max.message.bytes": "2000000"}),
    "rolled": (2, {"segment.ms": "60000", "retention.bytes": "-1"}),
    "appended": (1, {"message.timestamp.type": "LogAppendTime"}),
    "compacted": (1, {"cleanup.policy": "compact", "segment.ms": "60000", "min.cleanable.dirty.ratio": "0.01",
                      "delete.retention.ms": "86400000"}),
    "both": (1, {"cleanup.policy": "compact,delete", "segment.ms": "60000", "min.cleanable.dirty.ratio": "0.01"}),
    "trimmed": (2, {"segment.ms": "60000"}),
    "emptied": (1, {}),
    "idempotent": (2, {}),
    "transactions": (2, {"segment.ms": "500"}),
    "compacted-transactions": (1, {"cleanup.policy": "compact", "segment.ms": "500",
                                   "min.cleanable.dirty.ratio": "0.01"}),
    "open": (2, {}),
    "grown": (1, {}),
    "a-very.long_name-" + "x" * 200: (1, {"retention.bytes": "123456789"}),
    "with-headers": (1, {}),
    "nothing": (2, {}),
}


def make_topics(client):
    for name, (partitions, configs) in TOPICS.items():
        client.create_usable(name, partitions, NEVER_EXPIRE | configs)
    client.create_usable("deleted", 2, NEVER_EXPIRE)
    client.append("deleted", b"gone")
    assert client.delete("deleted").errorCode == 0
    # The name comes back with another topic behind it.
    client.create_usable("reborn", 1, NEVER_EXPIRE)
    client.append("reborn", b"of the first")
    assert client.delete("reborn").errorCode == 0
    await_true(lambda: client.create("reborn", 2, NEVER_EXPIRE).errorCode == 0, "creating reborn again")
    client.await_usable("reborn", 2)


def write_records(client):
    for partition in range(3):
        for i in range(5):
            client.append("plain", *(b"plain %d of %d" % (j, i) for j in range(20)), partition=partition,
                          keys=[b"key %d" % j for j in range(20)])
    for codec in (NONE, GZIP, SNAPPY):
        client.append("codecs", *(b"codec %d value %d" % (codec, i) * 20 for i in range(50)), codec=codec)
    for i in range(12):
        client.append("rolled", *(b"rolled %d %d" % (i, j) for j in range(10)), partition=i % 2,
                      timestamps=[EPOCH_MS + i * 50_000 + j for j in range(10)])
    client.append("appended", b"one", b"two", timestamps=[5, 6])
    client.append("emptied", b"one", b"two", b"three")
    client.append("grown", b"before it grew")
    client.append("reborn", b"of the second")
    for i in range(10):
        client.append("trimmed", *(b"trimmed %d" % j for j in range(10)), partition=i % 2,
                      timestamps=[EPOCH_MS + i * 50_000] * 10)


def write_keyed(client, topic, rounds, first_round=0, tombstones=()):
    """Each round overwrites half of the keys, a segment a round."""
    for number in range(first_round, first_round + rounds):
        keys = [b"key %d" % i for i in range(20) if (i + number) % 2]
        values = [None if key in tombstones else b"%s in round %d" % (key, number) for key in keys]
        client.append(topic, *values, keys=keys, timestamps=[EPOCH_MS + number * 100_000] * len(keys))


def write_transactions(client, made):
    """Committed and aborted ones, alternating and interleaved; three stay open."""
    first, second = Transactional(client, "first"), Transactional(client, "second")
    # Markers bear the time of the broker: each second batch of records begins a segment all the same.
    stamp = itertools.count(now_ms(), 1000)
    for i in range(6):
        for partition in (0, 1):
            now = [next(stamp)] * 3
            first.send(client, "transactions", *(b"first %d.%d" % (i, j) for j in range(3)), partition=partition,
                       timestamps=now)
            second.send(client, "transactions", *(b"second %d.%d" % (i, j) for j in range(3)), partition=partition,
                        timestamps=now)
        first.end(client, commit=i % 2 == 0)
        second.end(client, commit=i % 3 == 0)
    keyed = Transactional(client, "keyed")
    for i in range(6):
        keys = [b"key %d" % j for j in range(10)]
        keyed.send(client, "compacted-transactions", *(b"%s in %d" % (key, i) for key in keys), keys=keys,
                   timestamps=[next(stamp)] * 10)
        keyed.end(client, commit=i % 2 == 0)
    made.update(first=first, second=second, keyed=keyed)


def open_transactions(client, made):
    for name in ("to-commit", "to-abort", "to-fence"):
        transactional = Transactional(client, name)
        client.append("open", b"before " + name.encode(), partition=1)
        transactional.send(client, "open", b"open " + name.encode(), partition=1)
        client.append("open", b"behind " + name.encode(), partition=1)
        made[name] = transactional


def write_idempotent(client, made):
    for name in ("steady", "late"):
        producer = Producer(client)
        for i in range(7):
            producer.send(client, "idempotent", *(b"%s %d.%d" % (name.encode(), i, j) for j in range(3)))
        made[name] = producer


# What a client writes whose compression is beyond these tests' own: topic, codec.
CLIENT_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")


def write_with_a_client(node):
    for codec in CLIENT_CODECS:
        producer = confluent_kafka.Producer({"bootstrap.servers": node.bootstrap, "compression.type": codec,
                                             "linger.ms": 50, "log_level": 2})
        for i in range(200):
            producer.produce("with-headers", f"{codec} {i} " * 10, f"key {i}", 0, timestamp=EPOCH_MS + i,
                             headers=[("codec", codec), ("empty", None)])
        assert producer.flush(raw.PATIENCE_S) == 0


def check_with_a_client(case, node):
    """Decompressed by a client: every record, with offset, time, key, value and headers."""
    consumer = confluent_kafka.Consumer({"bootstrap.servers": node.bootstrap, "group.id": "unused", "log_level": 2,
                                         "enable.auto.commit": False, "check.crcs": True})
    consumer.assign([confluent_kafka.TopicPartition("with-headers", 0, 0)])
    got, deadline = [], time.monotonic() + raw.PATIENCE_S
    while len(got) < 200 * len(CLIENT_CODECS) and time.monotonic() < deadline:
        got += [one for one in consumer.consume(1000, 0.1) if one.error() is None]
    consumer.close()
    expected = [(codec, i) for codec in CLIENT_CODECS for i in range(200)]
    case.assertEqual(len(got), len(expected))
    for offset, (message, (codec, i)) in enumerate(zip(got, expected)):
        case.assertEqual(
            (message.offset(), message.timestamp()[1], message.key(), message.value(), message.headers()),
            (offset, EPOCH_MS + i, f"key {i}".encode(), (f"{codec} {i} " * 10).encode(),
             [("codec", codec.encode()), ("empty", None)]))


def trim(client):
    """Log starts within a segment, at a segment, and at the very end."""
    for topic, partition, offset in (("trimmed", 0, 13), ("trimmed", 1, 20), ("emptied", 0, 3)):
        done = client.delete_records(topic, offset, partition)
        assert (done.errorCode, done.lowWatermark) == (0, offset), done


def commit_groups(client):
    raw.commit_offsets(client, "readers", "plain", {0: 10, 1: 20, 2: 30})
    raw.commit_offsets(client, "others", "codecs", {0: 77})


def set_configs(client):
    raw.alter_configs(client, raw.TOPIC, "plain", {"retention.bytes": "987654321", "flush.messages": "1000"})
    raw.alter_configs(client, raw.TOPIC, "plain", {"flush.messages": None})
    raw.alter_configs(client, raw.BROKER, "", {"log.retention.ms": "777600000", "message.max.bytes": "1500000"})
    raw.alter_configs(client, raw.BROKER, "1", {"log.segment.bytes": "536870912"})
    raw.alter_configs(client, raw.CLIENT_METRICS, "watch", {"interval.ms": "5000"})
    raw.alter_configs(client, raw.GROUP_CONFIG, "readers", {"consumer.session.timeout.ms": "50000"})


PASSWORDS = {"alice": "wonderland", "bob": "builder"}
MORE_PASSWORDS = {"carol": "christmas"}


def protect(client):
    """Needs an authorizer."""
    raw.create_acl(client, "User:alice", "secret-")
    raw.create_acl(client, "User:bob", "secret-", permission=2)
    raw.set_scram(client, "alice", PASSWORDS["alice"])
    raw.set_scram(client, "bob", PASSWORDS["bob"], iterations=8192)
    raw.set_quota(client, "alice", "producer_byte_rate", 1e6)


def protect_more(client):
    raw.create_acl(client, "User:carol", "secret-", operation=4)
    raw.set_scram(client, "carol", MORE_PASSWORDS["carol"])
    raw.set_quota(client, "carol", "consumer_byte_rate", 2e6)


def await_compaction(node, topics):
    """Until the cleaner has been over everything but the active segment, and rests."""
    deadline = time.monotonic() + raw.PATIENCE_S
    for topic in topics:
        while not _is_compacted(node, topic):
            assert time.monotonic() < deadline, f"{topic} is not compacted"
            time.sleep(0.05)


def _is_compacted(node, topic):
    directory = node.partition_directory(topic)
    active = max(int(path.stem) for path in directory.glob("*.log"))
    checkpoint = directory.parent / "cleaner-offset-checkpoint"
    cleaned = [line.split() for line in checkpoint.read_text().splitlines()[2:]] if checkpoint.exists() else []
    return any(line[0] == topic and int(line[2]) >= active for line in cleaned)
