#!/usr/bin/env python3
"""Members of both protocols in the newest librdkafka while topics come, go and are made anew, and somebody takes their name."""

import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

import python_environment  # noqa: E402
import suite  # noqa: E402
from broker import Broker  # noqa: E402

TIMEOUT_S = 40
PROTOCOLS = ("classic", "consumer")

python_environment.enter("confluent-kafka", __file__)

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition  # noqa: E402
from confluent_kafka.admin import AdminClient, NewTopic  # noqa: E402

# librdkafka says so of a topic that it subscribed to, whatever the broker.
TOPIC_GONE = KafkaError.UNKNOWN_TOPIC_OR_PART


class GroupChanges(suite.BrokerTest):
    def setUp(self):
        self.admin = AdminClient({"bootstrap.servers": self.broker.bootstrap, "log_level": 2})

    def create(self, topic, partitions=1):
        self.admin.create_topics([NewTopic(topic, partitions, 1)])[topic].result(TIMEOUT_S)

    def delete(self, topic):
        self.admin.delete_topics([topic])[topic].result(TIMEOUT_S)

    def send(self, topic, *values, partition=0):
        producer, errors = Producer({"bootstrap.servers": self.broker.bootstrap, "log_level": 2}), []
        for value in values:
            producer.produce(topic, value, partition=partition, on_delivery=lambda error, _: errors.append(error))
        self.assertEqual(producer.flush(TIMEOUT_S), 0)
        self.assertEqual([error for error in errors if error], [])

    def member(self, protocol, group, *topics, **more):
        settings = {"bootstrap.servers": self.broker.bootstrap, "group.id": group, "auto.offset.reset": "earliest",
                    "enable.auto.commit": False, "group.protocol": protocol, "log_level": 0,
                    "topic.metadata.refresh.interval.ms": 500, **more}
        if protocol == "classic":
            settings |= {"heartbeat.interval.ms": 500}
        consumer = Consumer(settings)
        self.addCleanup(consumer.close)
        consumer.subscribe(list(topics))
        return consumer

    def poll(self, consumer, until):
        """(values, codes of errors) until the condition holds of them."""
        deadline = time.monotonic() + TIMEOUT_S
        values, errors = [], []
        while not until(values, errors):
            self.assertLess(time.monotonic(), deadline, f"{values} {errors}")
            message = consumer.poll(0.1)
            if message is None:
                continue
            if message.error():
                errors.append(message.error().code())
            else:
                values.append(message.value())
        return values, errors

    def read(self, consumer, *expected):
        """All of them, in whatever order; no error but of topics that are gone."""
        values, errors = self.poll(consumer, lambda values, errors: len(values) >= len(expected))
        self.assertEqual((sorted(values), set(errors) - {TOPIC_GONE}), (sorted(expected), set()))

    def committed(self, consumer, topic, partitions):
        told = consumer.committed([TopicPartition(topic, index) for index in range(partitions)], TIMEOUT_S)
        return [each.offset for each in told]

    def test_topics_that_match_come_and_go(self):
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                first, second = (f"matching.{protocol}.{name}" for name in ("first", "second"))
                self.create(first)
                self.send(first, b"1")
                consumer = self.member(protocol, f"matching-{protocol}", f"^matching[.]{protocol}[.].*")
                self.read(consumer, b"1")
                consumer.commit(asynchronous=False)
                self.create(second, 2)
                self.send(second, b"2")
                self.send(second, b"3", partition=1)
                self.read(consumer, b"2", b"3")
                consumer.commit(asynchronous=False)
                self.delete(first)
                _, errors = self.poll(consumer, lambda values, errors: {
                    each.topic for each in consumer.assignment()} == {second})
                self.assertLessEqual(set(errors), {TOPIC_GONE})
                self.send(second, b"4")
                self.read(consumer, b"4")
                consumer.commit(asynchronous=False)
                self.assertEqual(self.committed(consumer, second, 2), [2, 1])

    def test_a_topic_is_made_anew_while_it_is_read(self):
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                topic, group = f"made-anew-{protocol}", f"made-anew-{protocol}"
                self.create(topic, 2)
                self.send(topic, b"1", b"2", b"3")
                consumer = self.member(protocol, group, topic)
                self.read(consumer, b"1", b"2", b"3")
                consumer.commit(asynchronous=False)
                self.delete(topic)
                self.create(topic, 3)
                self.send(topic, b"4")
                self.send(topic, b"5", partition=2)
                self.read(consumer, b"4", b"5")
                consumer.commit(asynchronous=False)
                self.assertEqual(self.committed(consumer, topic, 3), [1, -1001, 1])

    def test_two_with_one_instance_id(self):
        for protocol in PROTOCOLS:
            with self.subTest(protocol):
                topic, group = f"instance-{protocol}", f"instance-{protocol}"
                self.create(topic)
                self.send(topic, b"1")
                first = self.member(protocol, group, topic, **{"group.instance.id": "the one"})
                self.read(first, b"1")
                second = self.member(protocol, group, topic, **{"group.instance.id": "the one"})
                # The newcomer takes the place in the old protocol, and is refused in the new one.
                stays, goes = (second, first) if protocol == "classic" else (first, second)
                if protocol == "classic":
                    self.read(second, b"1")
                _, errors = self.poll(goes, lambda values, errors: errors)
                self.assertEqual(errors, [KafkaError._FATAL])
                with self.assertRaises(KafkaException):
                    goes.commit(offsets=[TopicPartition(topic, 0, 7)], asynchronous=False)
                self.send(topic, b"2")
                self.read(stays, b"2")
                stays.commit(asynchronous=False)
                self.assertEqual(self.committed(stays, topic, 1), [2])

    def test_a_topic_is_deleted_within_a_transaction(self):
        kept, gone = "within-kept", "within-gone"
        self.create(kept)
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "transactional.id": "within", "log_level": 0})
        producer.init_transactions(TIMEOUT_S)
        for number, end in enumerate((producer.commit_transaction, producer.abort_transaction) * 2):
            self.create(gone)
            producer.begin_transaction()
            producer.produce(kept, b"%d" % number)
            producer.produce(gone, b"%d" % number)
            self.assertEqual(producer.flush(TIMEOUT_S), 0)
            self.delete(gone)
            end(TIMEOUT_S)
        consumer = self.member("consumer", "within", kept, **{"isolation.level": "read_committed"})
        self.read(consumer, b"0", b"2")


if __name__ == "__main__":
    suite.main(Broker(properties={
        "group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "1",
        "transaction.state.log.num.partitions": "1", "group.consumer.heartbeat.interval.ms": "500",
        "group.consumer.min.heartbeat.interval.ms": "100", "auto.create.topics.enable": "false"}))
