"""What the broker says once all have ended: no transaction is open anywhere, and read_committed comes to the end."""

import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "conformance"), str(HERE.parent / "harness")]

from client import Connection, ConnectionClosed  # noqa: E402
from wire import WireError  # noqa: E402

READ_UNCOMMITTED, READ_COMMITTED = 0, 1
LATEST = -1
ENDED = {"Empty", "CompleteCommit", "CompleteAbort", "Dead"}
PAUSE_S = 0.2


def ask(address, question):
    """question(connection), or None where the broker cannot be asked."""
    try:
        with Connection(address, timeout=10) as connection:
            return question(connection)
    except (OSError, ConnectionClosed, WireError):
        return None


def end_offsets(address, topics, isolation):
    """(topic, partition) → offset; None unless all partitions answer."""
    def question(connection):
        asked = [{"name": name, "partitions": [{"partitionIndex": index, "currentLeaderEpoch": -1, "timestamp": LATEST}
                                               for index in range(count)]} for name, count in topics.items()]
        answer = connection.call("ListOffsets", 7, replicaId=-1, isolationLevel=isolation, topics=asked)
        parts = [(topic.name, part) for topic in answer.topics for part in topic.partitions]
        if any(part.errorCode != 0 for _, part in parts):
            return None
        return {(name, part.partitionIndex): part.offset for name, part in parts}
    return ask(address, question)


def open_in_partitions(address, topics):
    """Of each partition with one: producers with an open transaction. None where the broker does not tell."""
    def question(connection):
        asked = [{"name": name, "partitionIndexes": list(range(count))} for name, count in topics.items()]
        answer = connection.call("DescribeProducers", 0, topics=asked)
        found = []
        for topic in answer.topics:
            for part in topic.partitions:
                if part.errorCode != 0:
                    return None
                found += [f"producer {producer.producerId} in {topic.name}-{part.partitionIndex} since offset "
                          f"{producer.currentTxnStartOffset}" for producer in part.activeProducers
                          if producer.currentTxnStartOffset >= 0]
        return found
    return ask(address, question)


def open_at_coordinator(address):
    def question(connection):
        answer = connection.call("ListTransactions", 1, stateFilters=[], producerIdFilters=[], durationFilter=-1)
        if answer.errorCode != 0:
            return None
        return [f"{state.transactionalId} is {state.transactionState}" for state in answer.transactionStates
                if state.transactionState not in ENDED]
    return ask(address, question)


def stuck_partitions(address, topics):
    """Where read_committed does not come to the end."""
    # In this order: the end moves, the last stable offset follows.
    ends = end_offsets(address, topics, READ_UNCOMMITTED)
    stable = end_offsets(address, topics, READ_COMMITTED)
    if ends is None or stable is None:
        return None
    return [f"{topic}-{index} is read to {stable[topic, index]} of {end}" for (topic, index), end in ends.items()
            if stable[topic, index] < end]


def open_transactions(address, topics, all_topics):
    """All that hangs, in words; None while the broker cannot tell."""
    answers = [stuck_partitions(address, topics), open_in_partitions(address, all_topics), open_at_coordinator(address)]
    return None if None in answers else sum(answers, [])


def await_quiet(address, topics, all_topics, timeout_s):
    """Empty, or what still hangs when time is up."""
    deadline = time.monotonic() + timeout_s
    while (hanging := open_transactions(address, topics, all_topics)) != []:
        if time.monotonic() > deadline:
            return ["the broker does not answer"] if hanging is None else hanging
        time.sleep(PAUSE_S)
    return []
