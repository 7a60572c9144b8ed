"""A member of a group in kafka-python; the lines are those of groups/scenario.py."""

import logging
import pathlib
import sys

from kafka import KafkaConsumer, OffsetAndMetadata, TopicPartition
from kafka.consumer.subscription_state import AsyncConsumerRebalanceListener
from kafka.coordinator.assignors.cooperative_sticky import CooperativeStickyAssignor
from kafka.coordinator.assignors.range import RangePartitionAssignor
from kafka.errors import KafkaError

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "groups"))

from member import Member  # noqa: E402

POLL_MS = 300
JOIN_MS = 2000  # a poll that ends while kafka-python joins makes it join once more
ASSIGNORS = {"classic": RangePartitionAssignor, "cooperative": CooperativeStickyAssignor}


class Consumer(AsyncConsumerRebalanceListener):
    """Its listener runs on kafka-python's own thread, while poll() or close() waits for it."""

    def __init__(self, member):
        self.member = member
        self.consumer = KafkaConsumer(
            bootstrap_servers=member.bootstrap, group_id=member.group, auto_offset_reset="earliest",
            enable_auto_commit=False, session_timeout_ms=member.session_ms, reconnect_backoff_max_ms=500,
            heartbeat_interval_ms=member.heartbeat_ms, partition_assignment_strategy=(ASSIGNORS[member.mode],),
            group_instance_id=member.instance)
        self.consumer.subscribe([member.topic], listener=self)

    def offsets(self):
        return {TopicPartition(self.member.topic, p): OffsetAndMetadata(offset, "", -1)
                for p, offset in self.member.committing().items()}

    async def on_partitions_revoked(self, revoked):
        if self.member.pending:
            try:
                await self.consumer.commit_async(self.offsets())
                self.member.committed()
            except KafkaError as error:
                self.member.refused(repr(error))
        self.member.lost(p.partition for p in revoked)

    async def on_partitions_lost(self, lost):
        self.member.lost(p.partition for p in lost)

    async def on_partitions_assigned(self, assigned):
        self.member.gained(p.partition for p in assigned)

    def poll(self):
        """kafka-python gives up on a broker that is away for long."""
        try:
            return self.consumer.poll(timeout_ms=POLL_MS if self.member.partitions else JOIN_MS, max_records=20)
        except KafkaError as error:
            logging.warning("%s: %r", self.member.name, error)
            return {}

    def run(self):
        while not self.member.closing.is_set():
            batches = self.poll()
            for messages in batches.values():
                for message in messages:
                    self.member.consumed(message.partition, message.offset)
            if self.member.wants_to_commit(was_idle=not batches):
                try:
                    self.consumer.commit(self.offsets())
                    self.member.committed()
                except KafkaError as error:
                    self.member.refused(repr(error))
        self.consumer.close(autocommit=False)
        self.member.say("closed")


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    Consumer(Member(sys.argv[1:])).run()
