"""Records and administration with confluent-kafka; what it is told and what it says is in basics/scenario.py."""

import pathlib
import sys
import time

from confluent_kafka import Consumer, ConsumerGroupTopicPartitions, KafkaException, Producer, TopicPartition
from confluent_kafka.admin import (
    AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewPartitions, NewTopic,
)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "basics"))

from program import TIMEOUT_S, Program, told  # noqa: E402


class Basics(Program):
    def __init__(self, bootstrap):
        super().__init__(bootstrap)
        self.settings = {"bootstrap.servers": bootstrap, "log_level": 2}
        self.admin = AdminClient(self.settings)

    def produce(self, topic, partition, codec, records):
        failures = []
        producer = Producer(self.settings | {"compression.type": codec, "acks": "all", "linger.ms": 50})
        for record in records:
            # It takes nothing for a null too where a name is given.
            producer.produce(topic, record["value"], record["key"], partition, lambda error, _: failures.append(error),
                             timestamp=record["timestamp"], headers=record["headers"])
        left = producer.flush(TIMEOUT_S)
        for error in failures:
            if error is not None:
                raise KafkaException(error)
        if left:
            raise TimeoutError(f"{left} not delivered")

    def consume(self, topic, partition, count, offset=None, timestamp=None):
        consumer = Consumer(self.settings | {"group.id": "unused", "enable.auto.commit": False})
        start = TopicPartition(topic, partition, offset if timestamp is None else timestamp)
        if timestamp is not None:
            (start,) = consumer.offsets_for_times([start], TIMEOUT_S)
        consumer.assign([start])
        out, deadline = [], time.monotonic() + TIMEOUT_S
        while len(out) < count and time.monotonic() < deadline:
            for message in consumer.consume(count - len(out), 0.1):
                if message.error() is not None:
                    raise KafkaException(message.error())
                out.append(told(message.offset(), message.timestamp()[1], message.key(), message.value(),
                                message.headers()))
        consumer.close()
        return out

    @staticmethod
    def wait(futures):
        """For the only one of them."""
        (future,) = futures.values()
        return future.result(TIMEOUT_S)

    def create(self, topic, count, config):
        self.wait(self.admin.create_topics([NewTopic(topic, count, 1, config=config)]))

    def topics(self):
        return list(self.admin.list_topics(timeout=TIMEOUT_S).topics)

    def describe(self, topic):
        return len(self.admin.list_topics(topic, TIMEOUT_S).topics[topic].partitions)

    def add_partitions(self, topic, count):
        self.wait(self.admin.create_partitions([NewPartitions(topic, count)]))

    def alter_config(self, topic, config):
        changes = [ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
                   for name, value in config.items()]
        self.wait(self.admin.incremental_alter_configs(
            [ConfigResource(ConfigResource.Type.TOPIC, topic, incremental_configs=changes)]))

    def config(self, topic):
        found = self.wait(self.admin.describe_configs([ConfigResource(ConfigResource.Type.TOPIC, topic)]))
        return {name: entry.value for name, entry in found.items()}

    def delete_records(self, topic, partition, offset):
        self.wait(self.admin.delete_records([TopicPartition(topic, partition, offset)]))

    def delete(self, topic):
        self.wait(self.admin.delete_topics([topic]))

    def groups(self):
        return [group.group_id for group in self.admin.list_consumer_groups().result(TIMEOUT_S).valid]

    def group_offsets(self, group, topic, partition):
        asked = ConsumerGroupTopicPartitions(group, [TopicPartition(topic, partition)])
        return self.wait(self.admin.list_consumer_group_offsets([asked])).topic_partitions[0].offset

    def delete_group(self, group):
        self.wait(self.admin.delete_consumer_groups([group]))

    def brokers(self):
        nodes = self.admin.describe_cluster().result(TIMEOUT_S).nodes
        return [f"{node.host}:{node.port}" for node in nodes]


Basics(sys.argv[1]).run()
