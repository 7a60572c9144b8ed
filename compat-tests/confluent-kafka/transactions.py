"""Transactions with confluent-kafka; what it is told and what it says is in transactions/scenario.py."""

import pathlib
import sys

from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "transactions"))

from program import COPIER_TIMEOUT_MS, COPY_AT_MOST, RECONNECT_MS, CopierLife, Program, say  # noqa: E402

TIMEOUT_S = 60


def settings(bootstrap):
    return {"bootstrap.servers": bootstrap, "reconnect.backoff.max.ms": RECONNECT_MS, "log_level": 2}


def new_producer(bootstrap, transactional_id, timeout_ms):
    producer = Producer(settings(bootstrap) | {
        "transactional.id": transactional_id, "transaction.timeout.ms": timeout_ms, "linger.ms": 0})
    producer.init_transactions(TIMEOUT_S)
    return producer


def new_consumer(bootstrap, group, isolation, **more):
    """`more`: settings with underscores for dots."""
    return Consumer(settings(bootstrap) | {
        "group.id": group, "isolation.level": isolation, "auto.offset.reset": "earliest", "enable.auto.commit": False,
        "fetch.wait.max.ms": 100, **{name.replace("_", "."): value for name, value in more.items()}})


def send(producer, topic, records):
    """Records: partition and value. Raises what became of the first that failed."""
    errors = []
    for partition, value in records:
        producer.produce(topic, value, partition=partition, on_delivery=lambda error, _: errors.append(error))
    if producer.flush(TIMEOUT_S):
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
    for error in errors:
        if error is not None:
            raise KafkaException(error)


class Transactions(Program):
    def error_name(self, error):
        return error.args[0].name() if isinstance(error, KafkaException) else type(error).__name__

    def new_producer(self, transactional_id, timeout_ms):
        return new_producer(self.bootstrap, transactional_id, timeout_ms)

    def close_producer(self, producer):
        pass  # it goes with the last reference to it

    def send(self, producer, topic, records):
        send(producer, topic, records)

    def send_offsets(self, producer, group, topic, offsets):
        consumer = new_consumer(self.bootstrap, group, "read_committed")
        producer.send_offsets_to_transaction(
            [TopicPartition(topic, p, offset) for p, offset in offsets.items()], consumer.consumer_group_metadata())
        consumer.close()

    def new_poll(self, topic, partitions, isolation):
        consumer = new_consumer(self.bootstrap, "unused", isolation)
        consumer.assign([TopicPartition(topic, p, 0) for p in range(partitions)])
        return lambda: [(m.partition(), m.value().decode()) for m in consumer.consume(100, 0.05) if m.error() is None]


def copy(bootstrap, transactional_id, group, source, target, mode, session_ms):
    life = CopierLife()
    member = {"group_protocol": "consumer"} if mode == "consumer" else {"session_timeout_ms": int(session_ms)}
    consumer = new_consumer(bootstrap, group, "read_committed", **member)
    producer = new_producer(bootstrap, transactional_id, COPIER_TIMEOUT_MS)
    # With callbacks a rebalance waits for consume(), so that what is copied is of the generation that is told.
    consumer.subscribe([source], on_assign=lambda *_: None, on_revoke=lambda *_: None)
    while not life.closing.is_set():
        messages = [m for m in consumer.consume(COPY_AT_MOST, 0.1) if m.error() is None]
        if not messages:
            continue
        first, following = {}, {}
        for message in messages:
            first.setdefault(message.partition(), message.offset())
            following[message.partition()] = message.offset() + 1
        producer.begin_transaction()
        try:
            send(producer, target, [(m.partition(), m.value()) for m in messages])
            producer.send_offsets_to_transaction(
                [TopicPartition(source, p, offset) for p, offset in following.items()],
                consumer.consumer_group_metadata(), TIMEOUT_S)
            aborts = life.wants_to_abort()
            if not aborts:
                producer.commit_transaction(TIMEOUT_S)
        except KafkaException as error:
            say("failed", error)
            if error.args[0].fatal():
                raise
            aborts = True
        if aborts:
            producer.abort_transaction(TIMEOUT_S)
            seek_back(consumer, source, first)
        say("aborted" if aborts else "committed", len(messages))
    consumer.close()


def seek_back(consumer, topic, offsets):
    """Only what it still has can be read again by it."""
    mine = {p.partition for p in consumer.assignment()}
    for partition, offset in offsets.items():
        if partition in mine:
            consumer.seek(TopicPartition(topic, partition, offset))


if __name__ == "__main__":
    if len(sys.argv) > 2:
        copy(*sys.argv[1:])
    else:
        Transactions(sys.argv[1]).run()
