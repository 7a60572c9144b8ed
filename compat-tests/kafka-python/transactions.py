"""Transactions with kafka-python; what it is told and what it says is in transactions/scenario.py."""

import pathlib
import sys

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaError
from kafka.structs import OffsetAndMetadata

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "transactions"))

from program import COPIER_TIMEOUT_MS, COPY_AT_MOST, RECONNECT_MS, CopierLife, Program, say  # noqa: E402

# A poll that ends while kafka-python joins makes it join once more; on a busy machine it then falls silent for good.
JOIN_MS = 2000
TIMEOUT_S = 10  # since records that were on their way to a broker that died are sometimes never heard of


def new_producer(bootstrap, transactional_id, timeout_ms):
    producer = KafkaProducer(bootstrap_servers=bootstrap, transactional_id=transactional_id,
                             transaction_timeout_ms=timeout_ms, reconnect_backoff_max_ms=RECONNECT_MS)
    producer.init_transactions()
    return producer


def new_consumer(bootstrap, isolation, *topics, **more):
    return KafkaConsumer(*topics, bootstrap_servers=bootstrap, isolation_level=isolation, auto_offset_reset="earliest",
                         enable_auto_commit=False, fetch_max_wait_ms=100, reconnect_backoff_max_ms=RECONNECT_MS, **more)


def send(producer, topic, records):
    """Records: partition and value. Raises what became of the first that failed."""
    sent = [producer.send(topic, value, partition=partition) for partition, value in records]
    producer.flush(TIMEOUT_S)
    for acknowledged in sent:
        acknowledged.get(TIMEOUT_S)


class Transactions(Program):
    def new_producer(self, transactional_id, timeout_ms):
        return new_producer(self.bootstrap, transactional_id, timeout_ms)

    def send(self, producer, topic, records):
        send(producer, topic, [(partition, value.encode()) for partition, value in records])

    def send_offsets(self, producer, group, topic, offsets):
        producer.send_offsets_to_transaction(
            {TopicPartition(topic, p): OffsetAndMetadata(offset, "", -1) for p, offset in offsets.items()}, group)

    def new_poll(self, topic, partitions, isolation):
        consumer = new_consumer(self.bootstrap, isolation)
        consumer.assign([TopicPartition(topic, p) for p in range(partitions)])
        return lambda: [(m.partition, m.value.decode()) for messages in consumer.poll(50).values() for m in messages]


def copy(bootstrap, transactional_id, group, source, target, _mode, session_ms):
    life = CopierLife()
    producer = new_producer(bootstrap, transactional_id, COPIER_TIMEOUT_MS)
    consumer = new_consumer(bootstrap, "read_committed", source, group_id=group, session_timeout_ms=int(session_ms),
                            heartbeat_interval_ms=500, max_poll_records=COPY_AT_MOST)
    while not life.closing.is_set():
        read = consumer.poll(100 if consumer.assignment() else JOIN_MS)
        if not read:
            continue
        producer.begin_transaction()
        try:
            send(producer, target, [(p.partition, m.value) for p, messages in read.items() for m in messages])
            producer.send_offsets_to_transaction(
                {p: OffsetAndMetadata(messages[-1].offset + 1, "", -1) for p, messages in read.items()},
                consumer.group_metadata())
            aborts = life.wants_to_abort()
            if not aborts:
                producer.commit_transaction()
        except KafkaError as error:
            say("failed", type(error).__name__, error)
            aborts = True
        if aborts:
            producer.abort_transaction()
            for partition in set(read) & set(consumer.assignment()):
                consumer.seek(partition, read[partition][0].offset)
        say("aborted" if aborts else "committed", sum(map(len, read.values())))
    consumer.close()
    producer.close()


if __name__ == "__main__":
    if len(sys.argv) > 2:
        copy(*sys.argv[1:])
    else:
        Transactions(sys.argv[1]).run()
