"""Records and administration with aiokafka; what it is told and what it says is in basics/scenario.py."""

import asyncio
import pathlib
import sys
import time

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.admin import AIOKafkaAdminClient, NewPartitions, NewTopic, RecordsToDelete
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.errors import for_code

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "basics"))

from program import TIMEOUT_S, Program, told  # noqa: E402



def check(code):
    if code:
        raise for_code(code)


class Basics(Program):
    def produce(self, topic, partition, codec, records):
        async def send():
            producer = AIOKafkaProducer(
                bootstrap_servers=self.bootstrap, acks="all", compression_type=None if codec == "none" else codec)
            await producer.start()
            try:
                sent = [await producer.send(topic, record["value"], record["key"], partition,
                                            record["timestamp"] or None, record["headers"]) for record in records]
                await asyncio.gather(*sent)
            finally:
                await producer.stop()

        asyncio.run(asyncio.wait_for(send(), TIMEOUT_S))

    def consume(self, topic, partition, count, offset=None, timestamp=None):
        async def read():
            consumer = AIOKafkaConsumer(bootstrap_servers=self.bootstrap)
            await consumer.start()
            try:
                where = TopicPartition(topic, partition)
                consumer.assign([where])
                if timestamp is None:
                    start = offset
                else:
                    start = (await consumer.offsets_for_times({where: timestamp}))[where].offset
                consumer.seek(where, start)
                out, deadline = [], time.monotonic() + TIMEOUT_S
                while len(out) < count and time.monotonic() < deadline:
                    for messages in (await consumer.getmany(timeout_ms=100)).values():
                        out += [told(m.offset, m.timestamp, m.key, m.value, m.headers) for m in messages]
                return out
            finally:
                await consumer.stop()

        return asyncio.run(read())

    def administer(self, do):
        async def ask():
            admin = AIOKafkaAdminClient(bootstrap_servers=self.bootstrap)
            await admin.start()
            try:
                return await do(admin)
            finally:
                await admin.close()

        return asyncio.run(asyncio.wait_for(ask(), TIMEOUT_S))

    def create(self, topic, count, config):
        done = self.administer(lambda admin: admin.create_topics([NewTopic(topic, count, 1, topic_configs=config)]))
        check(done.topic_errors[0][1])

    def topics(self):
        return self.administer(lambda admin: admin.list_topics())

    def describe(self, topic):
        return len(self.administer(lambda admin: admin.describe_topics([topic]))[0]["partitions"])

    def add_partitions(self, topic, count):
        done = self.administer(lambda admin: admin.create_partitions({topic: NewPartitions(count)}))
        check(done.topic_errors[0][1])

    def alter_config(self, topic, config):
        (done,) = self.administer(
            lambda admin: admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, topic, config)]))
        check(done.resources[0][0])

    def config(self, topic):
        (found,) = self.administer(
            lambda admin: admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)]))
        return {entry[0]: entry[1] for entry in found.resources[0][4]}

    def delete_records(self, topic, partition, offset):
        where = {TopicPartition(topic, partition): RecordsToDelete(before_offset=offset)}
        self.administer(lambda admin: admin.delete_records(where))

    def delete(self, topic):
        check(self.administer(lambda admin: admin.delete_topics([topic])).topic_error_codes[0][1])

    def groups(self):
        return [group for group, _ in self.administer(lambda admin: admin.list_consumer_groups())]

    def group_offsets(self, group, topic, partition):
        where = TopicPartition(topic, partition)
        return self.administer(lambda admin: admin.list_consumer_group_offsets(group, partitions=[where]))[where].offset

    def brokers(self):
        found = self.administer(lambda admin: admin.describe_cluster())
        return [f"{broker['host']}:{broker['port']}" for broker in found["brokers"]]


Basics(sys.argv[1]).run()
