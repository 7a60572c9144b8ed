#!/usr/bin/env python3
"""The newest librdkafka, through confluent-kafka for Python: producer, assigned consumer, groups, and its admin client.

Run by any Python 3.11, it makes a virtual environment with the versions of requirements.txt under build/compat and
goes on in there.
"""

import functools
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

import python_environment  # noqa: E402
import suite  # noqa: E402
from broker import Broker  # noqa: E402

TIMEOUT_S = 30

python_environment.enter("confluent-kafka", __file__)

import confluent_kafka  # noqa: E402
from confluent_kafka import (  # noqa: E402
    Consumer, ConsumerGroupState, ConsumerGroupTopicPartitions, ConsumerGroupType, KafkaError, KafkaException, Producer,
    TopicPartition,
)
from confluent_kafka.admin import (  # noqa: E402
    AdminClient, ConfigResource, NewPartitions, NewTopic, OffsetSpec,
)


class ClientTest(suite.BrokerTest):
    def settings(self, **more):
        """librdkafka's settings, with `_` for `.` in their names; it says on stderr only what is critical."""
        named = {name.replace("_", "."): value for name, value in more.items()}
        return {"bootstrap.servers": self.broker.bootstrap, "log_level": 2, **named}

    @functools.cached_property
    def admin(self):
        """Lives as long as the case, since a call's future fails when its client goes."""
        return AdminClient(self.settings())

    def create_topic(self, partitions=1, config=None):
        name = self.topic()
        topic = NewTopic(name, partitions, 1, config=config or {})
        self.admin.create_topics([topic])[name].result(TIMEOUT_S)
        return name

    def produce(self, topic, values, partition=0, **settings):
        """Send the values and wait; the delivered messages, in order."""
        delivered = []

        def on_delivery(error, message):
            self.assertIsNone(error)
            delivered.append(message)

        producer = Producer(self.settings(**settings))
        for i, value in enumerate(values):
            producer.produce(topic, value, f"key-{i}", partition, on_delivery, headers=[("n", str(i))])
        self.assertEqual(producer.flush(TIMEOUT_S), 0)
        return delivered

    def consumer(self, **settings):
        """librdkafka wants a group's name, but with assign() and offsets given it needs no group."""
        consumer = Consumer(self.settings(group_id="unused", enable_auto_commit=False, **settings))
        self.addCleanup(consumer.close)
        return consumer

    def read(self, consumer, count):
        messages = []
        deadline = time.monotonic() + TIMEOUT_S
        while len(messages) < count and time.monotonic() < deadline:
            message = consumer.poll(0.1)
            if message is None:
                continue
            if message.error() is None:
                messages.append(message)
            elif message.topic() is not None:
                raise KafkaException(message.error())  # of the partition; others speak of the unused group
        self.assertEqual(len(messages), count)
        return messages

    def read_from(self, topic, offset, count, partition=0):
        consumer = self.consumer()
        consumer.assign([TopicPartition(topic, partition, offset)])
        return self.read(consumer, count)


class Produce(ClientTest):
    def test_idempotent_producer_in_order(self):
        topic = self.create_topic(partitions=2)
        values = [b"value-%d" % i for i in range(5000)]
        for partition in (0, 1):
            delivered = self.produce(topic, values, partition, enable_idempotence=True)
            self.assertEqual([m.offset() for m in delivered], list(range(5000)))
            self.assertEqual([m.value() for m in self.read_from(topic, 0, 5000, partition)], values)

    def test_each_compression(self):
        values = [b"a value that repeats, number %d" % i for i in range(1000)]
        for compression in ("none", "gzip", "snappy", "lz4", "zstd"):
            with self.subTest(compression=compression):
                topic = f"{self.topic()}-{compression}"
                self.produce(topic, values, compression_type=compression, acks="all")
                self.assertEqual([m.value() for m in self.read_from(topic, 0, 1000)], values)

    def test_keys_headers_timestamps_and_nulls(self):
        topic = self.create_topic()
        producer = Producer(self.settings())
        headers = [("a", b"1"), ("a", b"2"), ("null", None), ("empty", b"")]
        producer.produce(topic, None, b"key", 0, timestamp=1_700_000_000_000, headers=headers)
        producer.produce(topic, b"", None, 0)
        producer.flush(TIMEOUT_S)
        first, second = self.read_from(topic, 0, 2)
        self.assertEqual((first.key(), first.value(), first.headers()), (b"key", None, headers))
        self.assertEqual(first.timestamp(), (confluent_kafka.TIMESTAMP_CREATE_TIME, 1_700_000_000_000))
        self.assertEqual((second.key(), second.value(), second.headers()), (None, b"", None))

    def test_log_append_time(self):
        topic = self.create_topic(config={"message.timestamp.type": "LogAppendTime"})
        before = time.time() * 1000
        producer = Producer(self.settings())
        producer.produce(topic, b"v", None, 0, timestamp=1_000_000)
        producer.flush(TIMEOUT_S)
        kind, timestamp = self.read_from(topic, 0, 1)[0].timestamp()
        self.assertEqual(kind, confluent_kafka.TIMESTAMP_LOG_APPEND_TIME)
        self.assertAlmostEqual(timestamp, before, delta=TIMEOUT_S * 1000)


class Consume(ClientTest):
    def test_assign_several_partitions_at_offsets(self):
        topic = self.create_topic(partitions=3)
        for partition in range(3):
            self.produce(topic, [b"%d/%d" % (partition, i) for i in range(20)], partition)
        consumer = self.consumer()
        consumer.assign([TopicPartition(topic, 0, 18), TopicPartition(topic, 1, 0), TopicPartition(topic, 2, 19)])
        found = {p: [] for p in range(3)}
        for message in self.read(consumer, 2 + 20 + 1):
            found[message.partition()].append(message.offset())
        self.assertEqual(found, {0: [18, 19], 1: list(range(20)), 2: [19]})

    def test_seek_pause_and_resume(self):
        topic = self.create_topic()
        self.produce(topic, [b"%d" % i for i in range(50)])
        consumer = self.consumer()
        partition = TopicPartition(topic, 0, 0)
        consumer.assign([partition])
        self.assertEqual(self.read(consumer, 1)[0].offset(), 0)
        consumer.seek(TopicPartition(topic, 0, 40))
        self.assertEqual(self.read(consumer, 1)[0].offset(), 40)
        consumer.pause([partition])
        self.assertIsNone(consumer.poll(0.3))
        consumer.resume([partition])
        self.assertEqual(self.read(consumer, 1)[0].offset(), 41)

    def test_read_committed_sees_plain_records(self):
        topic = self.create_topic()
        self.produce(topic, [b"1", b"2"])
        consumer = self.consumer(isolation_level="read_committed")
        consumer.assign([TopicPartition(topic, 0, 0)])
        self.assertEqual([m.value() for m in self.read(consumer, 2)], [b"1", b"2"])

    def test_watermarks_and_offsets_for_times(self):
        topic = self.create_topic()
        delivered = self.produce(topic, [b"%d" % i for i in range(10)])
        consumer = self.consumer()
        self.assertEqual(consumer.get_watermark_offsets(TopicPartition(topic, 0), TIMEOUT_S), (0, 10))
        last_time = delivered[-1].timestamp()[1]
        (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, last_time + 1)], TIMEOUT_S)
        self.assertEqual(found.offset, confluent_kafka.OFFSET_END)
        (found,) = consumer.offsets_for_times([TopicPartition(topic, 0, 1)], TIMEOUT_S)
        self.assertEqual(found.offset, 0)

    def test_offset_out_of_range(self):
        topic = self.create_topic()
        self.produce(topic, [b"only"])
        consumer = self.consumer(auto_offset_reset="error")
        consumer.assign([TopicPartition(topic, 0, 1000)])
        with self.assertRaises(KafkaException) as raised:
            self.read(consumer, 1)
        self.assertEqual(raised.exception.args[0].code(), KafkaError._AUTO_OFFSET_RESET)


class Admin(ClientTest):
    def failure(self, future):
        """The error code with which an admin call ends."""
        with self.assertRaises(KafkaException) as raised:
            future.result(TIMEOUT_S)
        return raised.exception.args[0].code()

    def partitions(self, topic):
        """From the list of all topics, since asking for one by name may create it."""
        topics = self.admin.list_topics(timeout=TIMEOUT_S).topics
        return sorted(topics[topic].partitions) if topic in topics else []

    def await_partitions(self, topic, expected):
        """Metadata may trail the change for a moment."""
        deadline = time.monotonic() + TIMEOUT_S
        while (found := self.partitions(topic)) != expected and time.monotonic() < deadline:
            time.sleep(0.02)
        self.assertEqual(found, expected)

    def test_create_and_delete_topic(self):
        topic = self.create_topic(partitions=3)
        self.await_partitions(topic, [0, 1, 2])
        again = self.admin.create_topics([NewTopic(topic, 1, 1)])[topic]
        self.assertEqual(self.failure(again), KafkaError.TOPIC_ALREADY_EXISTS)
        self.admin.delete_topics([topic])[topic].result(TIMEOUT_S)
        self.await_partitions(topic, [])
        self.assertEqual(self.failure(self.admin.delete_topics([topic])[topic]), KafkaError.UNKNOWN_TOPIC_OR_PART)

    def test_refused_topics(self):
        refused = {
            "replicated": (NewTopic(self.topic(), 1, 3), KafkaError.INVALID_REPLICATION_FACTOR),
            "no partitions": (NewTopic(self.topic(), 0, 1), KafkaError.INVALID_PARTITIONS),
            "bad name": (NewTopic("not/a/name", 1, 1), KafkaError.TOPIC_EXCEPTION),
            "bad setting": (
                NewTopic(self.topic(), 1, 1, config={"cleanup.policy": "burn"}), KafkaError.INVALID_CONFIG),
            "unknown setting": (
                NewTopic(self.topic(), 1, 1, config={"no.such.setting": "1"}), KafkaError.INVALID_CONFIG),
        }
        for case, (topic, expected) in refused.items():
            with self.subTest(case):
                self.assertEqual(self.failure(self.admin.create_topics([topic])[topic.topic]), expected)

    def test_validate_only_creates_nothing(self):
        topic = self.topic()
        self.admin.create_topics([NewTopic(topic, 1, 1)], validate_only=True)[topic].result(TIMEOUT_S)
        self.assertNotIn(topic, self.admin.list_topics(timeout=TIMEOUT_S).topics)

    def test_create_partitions(self):
        topic = self.create_topic(partitions=2)
        self.admin.create_partitions([NewPartitions(topic, 4)])[topic].result(TIMEOUT_S)
        self.await_partitions(topic, [0, 1, 2, 3])
        self.produce(topic, [b"in the new one"], partition=3)
        self.assertEqual(self.read_from(topic, 0, 1, partition=3)[0].value(), b"in the new one")
        fewer = self.admin.create_partitions([NewPartitions(topic, 2)])[topic]
        self.assertEqual(self.failure(fewer), KafkaError.INVALID_PARTITIONS)

    def test_describe_topic_config(self):
        topic = self.create_topic(config={"retention.ms": "1234567"})
        resource = ConfigResource(ConfigResource.Type.TOPIC, topic)
        config = self.admin.describe_configs([resource])[resource].result(TIMEOUT_S)
        self.assertEqual(config["retention.ms"].value, "1234567")
        self.assertFalse(config["retention.ms"].is_default)
        self.assertEqual(config["cleanup.policy"].value, "delete")
        self.assertTrue(config["cleanup.policy"].is_default)

    def test_describe_broker_config(self):
        (node,) = map(str, self.admin.list_topics(timeout=TIMEOUT_S).brokers)
        resource = ConfigResource(ConfigResource.Type.BROKER, node)
        config = self.admin.describe_configs([resource])[resource].result(TIMEOUT_S)
        self.assertEqual(config["node.id"].value, node)
        self.assertTrue(config["node.id"].is_read_only)

    def test_list_offsets(self):
        topic = self.create_topic()
        delivered = self.produce(topic, [b"%d" % i for i in range(30)])
        partition = TopicPartition(topic, 0)
        for spec, expected in [
            (OffsetSpec.earliest(), 0),
            (OffsetSpec.latest(), 30),
            (OffsetSpec.for_timestamp(delivered[-1].timestamp()[1] + 1), -1),
            (OffsetSpec.for_timestamp(0), 0),
        ]:
            result = self.admin.list_offsets({partition: spec})[partition].result(TIMEOUT_S)
            self.assertEqual(result.offset, expected)
        result = self.admin.list_offsets({partition: OffsetSpec.max_timestamp()})[partition].result(TIMEOUT_S)
        self.assertEqual(result.timestamp, max(m.timestamp()[1] for m in delivered))

    def test_delete_records(self):
        topic = self.create_topic()
        self.produce(topic, [b"%d" % i for i in range(30)])
        before = TopicPartition(topic, 0, 12)
        result = self.admin.delete_records([before])[before].result(TIMEOUT_S)
        self.assertEqual(result.low_watermark, 12)
        self.assertEqual(self.consumer().get_watermark_offsets(TopicPartition(topic, 0), TIMEOUT_S), (12, 30))
        self.assertEqual(self.read_from(topic, confluent_kafka.OFFSET_BEGINNING, 1)[0].offset(), 12)

    def test_describe_cluster(self):
        cluster = self.admin.describe_cluster().result(TIMEOUT_S)
        self.assertEqual([f"{node.host}:{node.port}" for node in cluster.nodes], [self.broker.bootstrap])
        self.assertEqual(cluster.controller.id, cluster.nodes[0].id)
        self.assertEqual(len(cluster.cluster_id), 22)

    def test_describe_topics(self):
        topic = self.create_topic(partitions=2)
        collection = confluent_kafka.TopicCollection([topic])
        described = self.admin.describe_topics(collection)[topic].result(TIMEOUT_S)
        self.assertEqual([p.id for p in described.partitions], [0, 1])
        self.assertFalse(described.is_internal)


class Groups(ClientTest):
    """What groups/ does not have: patterns, the broker's assignors, and the admin client's requests about groups."""

    def create(self, *names, partitions=2):
        made = self.admin.create_topics([NewTopic(name, partitions, 1) for name in names])
        for name in names:
            made[name].result(TIMEOUT_S)

    def subscribed(self, topics, group=None, **settings):
        consumer = Consumer(self.settings(
            group_id=group or self.topic(), auto_offset_reset="earliest", enable_auto_commit=False,
            topic_metadata_refresh_interval_ms=500, **settings))
        consumer.subscribe(topics)
        return consumer

    def await_assignment(self, *consumers, wanted):
        """`wanted`: of each consumer, a set of (topic, partition)."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            for consumer in consumers:
                consumer.poll(0.05)
            found = [{(p.topic, p.partition) for p in consumer.assignment()} for consumer in consumers]
            if found == wanted:
                return
            self.assertLess(time.monotonic(), deadline, found)

    def test_patterns_in_both_protocols(self):
        name = self.topic()
        self.create(f"{name}-a", f"{name}-b", f"other-{name}-c")
        first = {(f"{name}-{letter}", partition) for letter in "ab" for partition in range(2)}
        consumers = [self.subscribed([f"^{name}-[a-z]"], group=f"{name}-{protocol}", group_protocol=protocol)
                     for protocol in ("consumer", "classic")]
        try:
            self.await_assignment(*consumers, wanted=[first, first])
            self.create(f"{name}-d")
            grown = first | {(f"{name}-d", 0), (f"{name}-d", 1)}
            self.await_assignment(*consumers, wanted=[grown, grown])
        finally:
            for consumer in consumers:
                consumer.close()

    def test_an_assignor_of_the_broker(self):
        """By range the first member has the first partition of each topic; members are ordered by instance."""
        name = self.topic()
        topics = [f"{name}-a", f"{name}-b"]
        self.create(*topics)
        members = [self.subscribed(topics, group_protocol="consumer", group_remote_assignor="range",
                                   group_instance_id=instance) for instance in ("i-1", "i-2")]
        try:
            self.await_assignment(*members, wanted=[{(topic, index) for topic in topics} for index in range(2)])
        finally:
            for member in members:
                member.close()

    def test_what_admins_ask_and_change(self):
        group = topic = self.create_topic(partitions=2)
        self.produce(topic, [b"x"] * 5)
        consumer = self.subscribed([topic], group_protocol="consumer")
        self.await_assignment(consumer, wanted=[{(topic, 0), (topic, 1)}])
        consumer.commit(offsets=[TopicPartition(topic, 0, 3)], asynchronous=False)
        listed = {each.group_id: each for each in self.admin.list_consumer_groups().result(TIMEOUT_S).valid}
        self.assertEqual((listed[group].state, listed[group].type, listed[group].is_simple_consumer_group),
                         (ConsumerGroupState.STABLE, ConsumerGroupType.CONSUMER, False))
        described = self.admin.describe_consumer_groups([group])[group].result(TIMEOUT_S)
        (member,) = described.members
        self.assertEqual((described.state, described.type, described.partition_assignor),
                         (ConsumerGroupState.STABLE, ConsumerGroupType.CONSUMER, "uniform"))
        self.assertEqual([(p.topic, p.partition) for p in member.assignment.topic_partitions], [(topic, 0), (topic, 1)])
        with self.assertRaises(KafkaException) as refused:
            self.admin.delete_consumer_groups([group])[group].result(TIMEOUT_S)
        self.assertEqual(refused.exception.args[0].code(), KafkaError.NON_EMPTY_GROUP)
        consumer.close()

        altered = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, 0, 1), TopicPartition(topic, 1, 0)])
        self.admin.alter_consumer_group_offsets([altered])[group].result(TIMEOUT_S)
        stored = self.admin.list_consumer_group_offsets([ConsumerGroupTopicPartitions(group)])[group].result(TIMEOUT_S)
        self.assertEqual([(p.partition, p.offset) for p in stored.topic_partitions], [(0, 1), (1, 0)])
        self.admin.delete_consumer_groups([group])[group].result(TIMEOUT_S)
        listed = self.admin.list_consumer_groups().result(TIMEOUT_S).valid
        self.assertNotIn(group, [each.group_id for each in listed])


if __name__ == "__main__":
    print(f"confluent-kafka {confluent_kafka.version()}, librdkafka {confluent_kafka.libversion()[0]}")
    suite.main(Broker(properties=suite.KEEP_OLD_RECORDS | {"group.initial.rebalance.delay.ms": "0"}))
