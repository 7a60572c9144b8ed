"""A member of a group in confluent-kafka; the lines are those of groups/scenario.py."""

import pathlib
import sys

from confluent_kafka import Consumer, KafkaException, TopicPartition

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "groups"))

from member import Member  # noqa: E402

POLL_S = 0.3


def settings(member):
    """librdkafka's; it says on stderr only what is critical."""
    shared = {
        "bootstrap.servers": member.bootstrap, "group.id": member.group, "auto.offset.reset": "earliest",
        "enable.auto.commit": False, "reconnect.backoff.max.ms": 500, "log_level": 3,
    }
    if member.instance:
        shared["group.instance.id"] = member.instance
    if member.mode == "consumer":  # the broker says how long a session lasts
        return shared | {"group.protocol": "consumer"}
    strategy = {"classic": "range", "cooperative": "cooperative-sticky"}[member.mode]
    return shared | {"partition.assignment.strategy": strategy, "session.timeout.ms": member.session_ms,
                     "heartbeat.interval.ms": member.heartbeat_ms}


def commit(consumer, member):
    offsets = [TopicPartition(member.topic, p, offset) for p, offset in member.committing().items()]
    try:
        errors = [p.error for p in consumer.commit(offsets=offsets, asynchronous=False) if p.error]
    except KafkaException as error:
        errors = [error]
    if errors:
        member.refused(errors[0])
    else:
        member.committed()


def main():
    member = Member(sys.argv[1:])
    incremental = member.mode != "classic"

    def assigned(consumer, partitions):
        numbers = [p.partition for p in partitions]
        (member.gained if incremental else member.assigned)(numbers)

    def revoked(consumer, partitions):
        if member.pending:
            commit(consumer, member)
        member.lost(p.partition for p in partitions)

    def lost(consumer, partitions):
        member.lost(p.partition for p in partitions)

    consumer = Consumer(settings(member))
    consumer.subscribe([member.topic], on_assign=assigned, on_revoke=revoked, on_lost=lost)
    while not member.closing.is_set():
        messages = consumer.consume(20, POLL_S)
        for message in messages:
            if message.error() is None:
                member.consumed(message.partition(), message.offset())
        if member.wants_to_commit(was_idle=not messages):
            commit(consumer, member)
    consumer.close()
    member.say("closed")


if __name__ == "__main__":
    main()
