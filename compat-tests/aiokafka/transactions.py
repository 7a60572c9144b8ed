"""Transactions with aiokafka; what it is told and what it says is in transactions/scenario.py."""

import asyncio
import pathlib
import sys
import threading

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, ConsumerRebalanceListener, TopicPartition
from aiokafka.errors import KafkaError

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "transactions"))

from program import COPIER_TIMEOUT_MS, COPY_AT_MOST, RECONNECT_MS, CopierLife, Program, say  # noqa: E402

TIMEOUT_S = 60


async def new_producer(bootstrap, transactional_id, timeout_ms):
    producer = AIOKafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id,
                                transaction_timeout_ms=timeout_ms, retry_backoff_ms=RECONNECT_MS)
    await producer.start()
    return producer


def consumer_settings(bootstrap, isolation):
    return {"bootstrap_servers": bootstrap, "isolation_level": isolation, "auto_offset_reset": "earliest",
            "enable_auto_commit": False, "fetch_max_wait_ms": 100, "retry_backoff_ms": RECONNECT_MS,
            "metadata_max_age_ms": 1000}


async def send(producer, topic, records):
    """Records: partition and value. Raises what became of the first that failed."""
    sent = [await producer.send(topic, value, partition=partition) for partition, value in records]
    await producer.flush()
    for acknowledged in sent:
        await acknowledged


class Transactions(Program):
    """The client lives in a loop of its own."""

    def __init__(self, bootstrap):
        super().__init__(bootstrap)
        self.loop = asyncio.new_event_loop()
        threading.Thread(target=self.loop.run_forever, daemon=True).start()

    def wait(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(TIMEOUT_S)

    def new_producer(self, transactional_id, timeout_ms):
        return self.wait(new_producer(self.bootstrap, transactional_id, timeout_ms))

    def close_producer(self, producer):
        self.wait(producer.stop())

    def on_begin(self, name):
        self.wait(self.producers[name].begin_transaction())

    def on_commit(self, name):
        self.wait(self.producers[name].commit_transaction())

    def on_abort(self, name):
        self.wait(self.producers[name].abort_transaction())

    def send(self, producer, topic, records):
        self.wait(send(producer, topic, [(partition, value.encode()) for partition, value in records]))

    def send_offsets(self, producer, group, topic, offsets):
        of_partitions = {TopicPartition(topic, p): offset for p, offset in offsets.items()}
        self.wait(producer.send_offsets_to_transaction(of_partitions, group))

    def new_poll(self, topic, partitions, isolation):
        async def start():
            consumer = AIOKafkaConsumer(**consumer_settings(self.bootstrap, isolation))
            await consumer.start()
            assigned = [TopicPartition(topic, p) for p in range(partitions)]
            consumer.assign(assigned)
            await consumer.seek_to_beginning(*assigned)
            return consumer

        consumer = self.wait(start())

        def poll():
            read = self.wait(consumer.getmany(timeout_ms=50))
            return [(m.partition, m.value.decode()) for messages in read.values() for m in messages]

        return poll


class Rebalances(ConsumerRebalanceListener):
    """They go on beside the copier, so each waits for the end of a transaction, and what was read before is dropped:
    the client tells the group's coordinator nothing by which that could refuse it."""

    def __init__(self):
        self.transaction = asyncio.Lock()
        self.count = 0

    async def on_partitions_revoked(self, revoked):
        async with self.transaction:
            self.count += 1

    async def on_partitions_assigned(self, assigned):
        pass


async def copy(bootstrap, transactional_id, group, source, target, _mode, session_ms):
    life, rebalances = CopierLife(), Rebalances()
    # In this order: the transaction that it has open from before is over when the group's offsets are read.
    producer = await new_producer(bootstrap, transactional_id, COPIER_TIMEOUT_MS)
    consumer = AIOKafkaConsumer(group_id=group, session_timeout_ms=int(session_ms), heartbeat_interval_ms=500,
                                **consumer_settings(bootstrap, "read_committed"))
    consumer.subscribe([source], listener=rebalances)
    await consumer.start()
    while not life.closing.is_set():
        before = rebalances.count
        read = await consumer.getmany(timeout_ms=100, max_records=COPY_AT_MOST)
        async with rebalances.transaction:
            if read and rebalances.count == before:
                await copy_some(life, consumer, producer, group, target, read)
    await consumer.stop()
    await producer.stop()


async def copy_some(life, consumer, producer, group, target, read):
    await producer.begin_transaction()
    try:
        await send(producer, target, [(p.partition, m.value) for p, messages in read.items() for m in messages])
        await producer.send_offsets_to_transaction({p: messages[-1].offset + 1 for p, messages in read.items()}, group)
        aborts = life.wants_to_abort()
        if not aborts:
            await producer.commit_transaction()
    except KafkaError as error:
        say("failed", type(error).__name__, error)
        aborts = True
    if aborts:
        await producer.abort_transaction()
        for partition in set(read) & consumer.assignment():
            consumer.seek(partition, read[partition][0].offset)
    say("aborted" if aborts else "committed", sum(map(len, read.values())))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        asyncio.run(copy(*sys.argv[1:]))
    else:
        Transactions(sys.argv[1]).run()
