"""All that any client can see of a node, as plain values that can be compared: between brokers, and before and after."""

from dataclasses import dataclass, field

from base import fetched
from protocol_client import BROKER, CLIENT_METRICS, GROUP_CONFIG, TOPIC
from records import CONTROL, TRANSACTIONAL, records_of, split

EARLIEST, LATEST, MAX_TIMESTAMP = -2, -1, -3
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
DYNAMIC_SOURCES = {1: "topic", 2: "broker", 3: "cluster default", 7: "client metrics", 8: "group"}


@dataclass
class PartitionView:
    """Batches are (base offset, bytes); what the reader of committed records has to skip is (producer id, first offset)."""

    start: int
    end: int
    last_stable: int
    newest_timestamp: tuple
    batches: list = field(repr=False)
    aborted: list = field(repr=False)

    def committed(self):
        """(offset, timestamp, key, value, headers) as a reader of committed records sees them."""
        out, skipping, aborted = [], set(), sorted(self.aborted, key=lambda one: one[1])
        for one in split(b"".join(raw for _, raw in self.batches)):
            if one.base_offset >= self.last_stable:
                break
            while aborted and aborted[0][1] <= one.base_offset + one.last_offset_delta:
                skipping.add(aborted.pop(0)[0])
            if one.attributes & CONTROL:
                skipping.discard(one.producer_id)
            elif not (one.attributes & TRANSACTIONAL and one.producer_id in skipping):
                out += records_of([one])
        return out


def topics(client):
    """{name: (topic id, number of partitions, internal)}"""
    answer = client.call("Metadata", 12, topics=None, allowAutoTopicCreation=False)
    for topic in answer.topics:
        assert topic.errorCode == 0, topic
        for partition in topic.partitions:
            assert (partition.errorCode, partition.leaderId) == (0, 1), (topic.name, partition)
    return {topic.name: (topic.topicId, len(topic.partitions), topic.isInternal) for topic in answer.topics}


def partition(client, topic, index):
    start = client.list_offset(topic, EARLIEST, index).offset
    newest = client.list_offset(topic, MAX_TIMESTAMP, index)
    last_stable = client.list_offset(topic, LATEST, index, isolation=READ_COMMITTED).offset
    batches, aborted, offset = [], set(), start
    while True:
        answer = _fetch(client, topic, index, offset, READ_UNCOMMITTED)
        got = split(answer.records)
        if not got:
            break
        # Fields that a broker sets itself are compared apart from it: the leader epoch is one.
        batches += [(one.base_offset, one.raw) for one in got]
        offset = got[-1].next_offset
    offset = start
    while offset < last_stable:
        answer = _fetch(client, topic, index, offset, READ_COMMITTED)
        aborted |= {(one.producerId, one.firstOffset) for one in answer.abortedTransactions or []}
        got = [one for one in split(answer.records) if one.base_offset < last_stable]
        if not got:
            break
        offset = got[-1].next_offset
    return PartitionView(start, answer.highWatermark, last_stable, (newest.timestamp, newest.offset), batches,
                         sorted(aborted))


def _fetch(client, topic, index, offset, isolation):
    answer = client.fetch_all([fetched(topic, offset, index)], isolationLevel=isolation)
    part = answer.responses[0].partitions[0]
    assert part.errorCode == 0, (topic, index, offset, part.errorCode)
    return part


def configs(client, kind, name, dynamic_only=True):
    """{key: (value, source)}; only what was set by somebody, unless told otherwise."""
    answer = client.call("DescribeConfigs", 4, resources=[
        {"resourceType": kind, "resourceName": name, "configurationKeys": None}])
    result = answer.results[0]
    assert result.errorCode == 0, (kind, name, result.errorCode, result.errorMessage)
    return {one.name: (one.value, one.configSource) for one in result.configs
            if not dynamic_only or one.configSource in DYNAMIC_SOURCES}


def all_configs(client, topic_names):
    view = {("topic", name): configs(client, TOPIC, name, dynamic_only=False) for name in topic_names}
    view["cluster default", ""] = configs(client, BROKER, "")
    view["broker", "1"] = configs(client, BROKER, "1")
    return view


def kept_configs(client):
    return {("client metrics", "watch"): configs(client, CLIENT_METRICS, "watch"),
            ("group", "readers"): configs(client, GROUP_CONFIG, "readers")}


def epoch_end(client, topic, index, epoch):
    answer = client.call("OffsetForLeaderEpoch", 4, replicaId=-1, topics=[
        {"topic": topic, "partitions": [{"partition": index, "currentLeaderEpoch": -1, "leaderEpoch": epoch}]}])
    part = answer.topics[0].partitions[0]
    assert part.errorCode == 0, part
    return part.leaderEpoch, part.endOffset


@dataclass
class View:
    topics: dict
    partitions: dict
    configs: dict


def whole(client):
    names = topics(client)
    parts = {(name, index): partition(client, name, index) for name, (_, count, _) in names.items()
             for index in range(count)}
    return View(names, parts, all_configs(client, names))
