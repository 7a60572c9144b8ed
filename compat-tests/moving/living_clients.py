"""A producer and a consumer of librdkafka that go on while the broker behind them stops, dies and becomes another one."""

import threading
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Producer, TopicPartition

DRAIN_S = 60

# What a client may hear while its broker is away; librdkafka deals with them itself.
_HARMLESS = {KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN, KafkaError._RESOLVE, KafkaError._TIMED_OUT,
             KafkaError.LEADER_NOT_AVAILABLE, KafkaError.NOT_LEADER_FOR_PARTITION, KafkaError.REQUEST_TIMED_OUT,
             KafkaError.FENCED_LEADER_EPOCH}
# The consumer assigns its partitions, but librdkafka looks for its group's coordinator all the same.
_OF_THE_GROUP = {KafkaError._UNSUPPORTED_FEATURE, KafkaError.COORDINATOR_NOT_AVAILABLE}


class LivingClients:
    """Each partition gets the values 0, 1, 2, …: what was acknowledged must be read once and in order.

    Over a restart Apache Kafka remembers the newest batch of each producer only, and refuses the repeat of an older one:
    with more than one request in flight, a producer can be lost when Kafka comes up after a crash. Barnabas remembers five.
    """

    def __init__(self, bootstrap, topic, partitions, in_flight):
        self.topic, self.partitions = topic, partitions
        self.sent = [0] * partitions
        self.acknowledged = [0] * partitions
        self.read = [[] for _ in range(partitions)]
        self.problems = []
        self.stopping = threading.Event()
        common = {"bootstrap.servers": bootstrap, "log_level": 2, "reconnect.backoff.ms": 20,
                  "reconnect.backoff.max.ms": 200, "error_cb": self._on_error}
        self.producer = Producer(common | {
            "enable.idempotence": True, "max.in.flight": in_flight, "linger.ms": 2, "retry.backoff.ms": 20, "message.timeout.ms": 120_000,
            "queue.buffering.max.messages": 5000})
        self.consumer = Consumer(common | {
            "group.id": "unused", "enable.auto.commit": False, "fetch.wait.max.ms": 100, "auto.offset.reset": "error",
            "isolation.level": "read_committed", "check.crcs": True})
        self.consumer.assign([TopicPartition(topic, i, OFFSET_BEGINNING) for i in range(partitions)])
        self.threads = [threading.Thread(target=self._produce), threading.Thread(target=self._consume)]
        for thread in self.threads:
            thread.start()

    def _on_error(self, error):
        if error.fatal() or error.code() not in _HARMLESS | _OF_THE_GROUP:
            self.problems.append(f"client: {error}")

    def _on_delivery(self, error, message):
        if error is not None:
            self.problems.append(f"not delivered: {error}")
        else:
            self.acknowledged[message.partition()] += 1

    def _produce(self):
        while not self.stopping.is_set():
            for partition in range(self.partitions):
                try:
                    self.producer.produce(self.topic, b"%d" % self.sent[partition], None, partition, self._on_delivery)
                    self.sent[partition] += 1
                except BufferError:
                    pass  # the queue is full while the broker is away
            self.producer.poll(0.001)

    def _consume(self):
        while not self.stopping.is_set() or (self._is_behind() and time.monotonic() < self.deadline):
            message = self.consumer.poll(0.05)
            if message is None:
                continue
            if message.error() is None:
                self.read[message.partition()].append((message.offset(), int(message.value())))
            elif message.error().code() not in _HARMLESS | _OF_THE_GROUP:
                self.problems.append(f"consumer: {message.error()}")

    def _is_behind(self):
        return any(len(got) < sent for got, sent in zip(self.read, self.sent))

    def await_progress(self, records=200, timeout_s=DRAIN_S):
        """Until so many more were acknowledged and read in each partition."""
        targets = [count + records for count in self.acknowledged]
        read_targets = [len(got) + records for got in self.read]
        deadline = time.monotonic() + timeout_s
        while any(a < b for a, b in zip(self.acknowledged, targets)) or any(
                len(a) < b for a, b in zip(self.read, read_targets)):
            assert not self.problems, self.problems[:5]
            assert time.monotonic() < deadline, (
                f"no progress: acknowledged {self.acknowledged}, read {[len(got) for got in self.read]}, "
                f"wanted {targets}, {read_targets}")
            time.sleep(0.01)

    def finish(self):
        """Sends nothing more and reads to the end; returns how many records each partition has got."""
        self.deadline = time.monotonic() + DRAIN_S
        self.stopping.set()
        self.threads[0].join()
        left = self.producer.flush(DRAIN_S)
        self.threads[1].join()
        self.consumer.close()
        assert not self.problems, self.problems[:5]
        assert left == 0, f"{left} records were not acknowledged"
        assert self.acknowledged == self.sent, (self.acknowledged, self.sent)
        for partition, got in enumerate(self.read):
            values = [value for _, value in got]
            wrong = next((i for i, value in enumerate(values) if i != value), None)
            assert wrong is None, f"partition {partition}: {got[max(0, wrong - 2):wrong + 3]}"
            assert len(values) == self.sent[partition], (partition, len(values), self.sent)
            offsets = [offset for offset, _ in got]
            assert offsets == list(range(len(offsets))), f"partition {partition}: offsets have gaps"
        return list(self.sent)

    def abandon(self):
        """After a failure elsewhere."""
        self.deadline = 0
        self.stopping.set()
        for thread in self.threads:
            thread.join()
        self.consumer.close()
