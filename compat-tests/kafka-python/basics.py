"""Records and administration with kafka-python; what it is told and what it says is in basics/scenario.py."""

import pathlib
import sys
import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.admin import ConfigResource, ConfigResourceType, KafkaAdminClient, NewPartitions, NewTopic

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "basics"))

from program import TIMEOUT_S, Program, told  # noqa: E402


class Basics(Program):
    def __init__(self, bootstrap):
        super().__init__(bootstrap)
        self.admin = KafkaAdminClient(bootstrap_servers=bootstrap)

    def produce(self, topic, partition, codec, records):
        producer = KafkaProducer(bootstrap_servers=self.bootstrap, acks="all", linger_ms=50,
                                 compression_type=None if codec == "none" else codec)
        sent = [producer.send(topic, record["value"], record["key"], record["headers"], partition,
                              record["timestamp"] or None) for record in records]
        for future in sent:
            future.get(TIMEOUT_S)
        producer.close()

    def consume(self, topic, partition, count, offset=None, timestamp=None):
        consumer = KafkaConsumer(bootstrap_servers=self.bootstrap, enable_auto_commit=False)
        where = TopicPartition(topic, partition)
        consumer.assign([where])
        start = offset if timestamp is None else consumer.offsets_for_times({where: timestamp})[where].offset
        consumer.seek(where, start)
        out, deadline = [], time.monotonic() + TIMEOUT_S
        while len(out) < count and time.monotonic() < deadline:
            for messages in consumer.poll(100).values():
                out += [told(m.offset, m.timestamp, m.key, m.value, m.headers) for m in messages]
        consumer.close()
        return out

    def create(self, topic, count, config):
        self.admin.create_topics([NewTopic(topic, count, 1, topic_configs=config)])

    def topics(self):
        return self.admin.list_topics()

    def describe(self, topic):
        return len(self.admin.describe_topics([topic])[0]["partitions"])

    def add_partitions(self, topic, count):
        self.admin.create_partitions({topic: NewPartitions(count)})

    def alter_config(self, topic, config):
        done = self.admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, config)])
        if done["topic"][topic] != "OK":
            raise ValueError(done["topic"][topic])

    def config(self, topic):
        asked = [ConfigResource(ConfigResourceType.TOPIC, topic)]
        found = self.admin.describe_configs(asked, config_filter="all")["topic"][topic]
        return {name: entry["value"] for name, entry in found.items()}

    def delete_records(self, topic, partition, offset):
        self.admin.delete_records({TopicPartition(topic, partition): offset})

    def delete(self, topic):
        self.admin.delete_topics([topic])

    def groups(self):
        return [group["group_id"] for group in self.admin.list_groups()]

    def group_offsets(self, group, topic, partition):
        return self.admin.list_group_offsets(group)[group][TopicPartition(topic, partition)].offset

    def delete_group(self, group):
        self.admin.delete_groups([group])

    def brokers(self):
        return [f"{broker['host']}:{broker['port']}" for broker in self.admin.describe_cluster()["brokers"]]


Basics(sys.argv[1]).run()
