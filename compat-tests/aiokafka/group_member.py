"""A member of a group in aiokafka; the lines are those of groups/scenario.py."""

import asyncio
import logging
import pathlib
import sys

from aiokafka import AIOKafkaConsumer, ConsumerRebalanceListener, TopicPartition
from aiokafka.coordinator.assignors.range import RangePartitionAssignor
from aiokafka.errors import KafkaError

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "groups"))

from member import Member  # noqa: E402

POLL_MS = 300


class Consumer(ConsumerRebalanceListener):
    """Rebalances happen in a task of aiokafka's own, so a commit holds a lock."""

    def __init__(self, member):
        self.member = member
        self.lock = asyncio.Lock()
        self.consumer = AIOKafkaConsumer(
            bootstrap_servers=member.bootstrap, group_id=member.group, auto_offset_reset="earliest",
            enable_auto_commit=False, session_timeout_ms=member.session_ms,
            heartbeat_interval_ms=member.heartbeat_ms, partition_assignment_strategy=(RangePartitionAssignor,),
            group_instance_id=member.instance)
        self.consumer.subscribe([member.topic], listener=self)

    async def on_partitions_revoked(self, revoked):
        async with self.lock:
            await self.commit()
            self.member.assigned([])

    async def on_partitions_assigned(self, assigned):
        self.member.assigned(p.partition for p in assigned)

    async def commit(self):
        if not self.member.pending:
            return
        try:
            await self.consumer.commit({TopicPartition(self.member.topic, p): offset
                                        for p, offset in self.member.committing().items()})
            self.member.committed()
        except KafkaError as error:
            self.member.refused(repr(error))

    async def run(self):
        await self.consumer.start()
        while not self.member.closing.is_set():
            batches = await self.consumer.getmany(timeout_ms=POLL_MS)
            async with self.lock:
                for partition, messages in batches.items():
                    # They may have been read just before the partition was given up.
                    if partition.partition in self.member.partitions:
                        for message in messages:
                            self.member.consumed(message.partition, message.offset)
                if self.member.wants_to_commit(was_idle=not batches):
                    await self.commit()
        async with self.lock:
            await self.commit()
            self.member.assigned([])
        await self.consumer.stop()
        self.member.say("closed")


async def main():
    await Consumer(Member(sys.argv[1:])).run()


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    asyncio.run(main())
