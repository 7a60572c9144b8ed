#!/usr/bin/env python3
"""MirrorMaker 2 between Apache Kafka and Barnabas, in both directions at once, while it is killed and starts again: each
record comes over at least once, in order, with its key; and a group's offset comes over too."""

import pathlib
import shutil
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.extend(str(HERE.parent / folder) for folder in ("harness", "conformance"))

import codes  # noqa: E402
from base import Client  # noqa: E402
from broker import HOST, Broker, BrokerError  # noqa: E402
from records import batch, records_of  # noqa: E402
from scenarios import ScenarioFailed, wait_until  # noqa: E402
from worker import Worker  # noqa: E402

TIMEOUT_S = 150
PARTITIONS = 2
RECORDS_A_STEP = 100  # of each partition
GROUP = "followed"
CONTENT = {"offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0", "log.retention.ms": "-1"}


class Cluster:
    def __init__(self, name, broker):
        self.name = name
        self.bootstrap = broker.bootstrap
        self.client = Client((HOST, broker.port))
        self.topic = f"of-{name}"  # what is made here
        self.sent = [[] for _ in range(PARTITIONS)]
        self.client.create_usable(self.topic, PARTITIONS)

    def produce(self):
        for partition, sent in enumerate(self.sent):
            new = [b"%d" % number for number in range(len(sent), len(sent) + RECORDS_A_STEP)]
            keys = [b"key of " + value for value in new]
            done = self.client.produce(self.topic, batch(*new, keys=keys), partition)
            if done.errorCode != codes.NONE:
                raise ScenarioFailed(f"{self.name}: produce gives {done.errorCode}")
            sent += zip(keys, new)

    def commit(self, offset):
        self.client.call("FindCoordinator", 4, keyType=0, coordinatorKeys=[GROUP])
        told = {"partitionIndex": 0, "committedOffset": offset, "committedLeaderEpoch": -1, "committedMetadata": ""}
        answer = self.client.call(
            "OffsetCommit", 8, groupId=GROUP, generationIdOrMemberEpoch=-1, memberId="", groupInstanceId=None,
            topics=[{"name": self.topic, "partitions": [told]}])
        return answer.topics[0].partitions[0].errorCode == codes.NONE

    def committed(self, topic):
        asked = {"groupId": GROUP, "topics": [{"name": topic, "partitionIndexes": [0]}]}
        answer = self.client.call("OffsetFetch", 8, groups=[asked], requireStable=False).groups[0]
        return answer.topics[0].partitions[0].committedOffset if answer.topics else -1

    def copies(self, topic):
        """What has come of another cluster's topic; nothing while it is not there."""
        if self.client.metadata(topic).topics[0].errorCode != codes.NONE:
            return [[] for _ in range(PARTITIONS)]
        return [[(key, value) for _, _, key, value, _ in records_of(self.client.read(topic, partition=p))]
                for p in range(PARTITIONS)]


def each_in_order(sent, copied):
    """A repetition begins anew at something that has come already; without it they are the same."""
    following, repeats = 0, 0
    positions = {record: position for position, record in enumerate(sent)}
    for record in copied:
        position = positions[record]
        if position > following:
            raise ScenarioFailed(f"{record} came where {sent[following]} should have")
        repeats += position < following
        following = max(following, position + 1)
    if following != len(sent):
        raise ScenarioFailed(f"{following} of {len(sent)} have come")
    return repeats


class Mirror:
    def __init__(self, kafka, barnabas, directory):
        self.clusters = {"kafka": kafka, "barnabas": barnabas}
        self.pairs = [(kafka, barnabas), (barnabas, kafka)]
        settings = {
            "clusters": ",".join(self.clusters), "topics": "of-.*", "groups": GROUP, "replication.factor": "1",
            "checkpoints.topic.replication.factor": "1", "heartbeats.topic.replication.factor": "1",
            "offset-syncs.topic.replication.factor": "1", "config.storage.replication.factor": "1",
            "offset.storage.replication.factor": "1", "status.storage.replication.factor": "1",
            "offset.storage.partitions": "1", "status.storage.partitions": "1", "tasks.max": "1",
            "offset.flush.interval.ms": "500", "refresh.topics.interval.seconds": "1",
            "refresh.groups.interval.seconds": "1", "emit.checkpoints.interval.seconds": "1",
            "sync.group.offsets.enabled": "true", "sync.group.offsets.interval.seconds": "1",
            "offset.lag.max": "0", "emit.heartbeats.enabled": "false", "sync.topic.acls.enabled": "false",
            "session.timeout.ms": "6000", "heartbeat.interval.ms": "1000", "scheduled.rebalance.max.delay.ms": "0",
            "plugin.discovery": "service_load",
        }
        settings |= {f"{name}.bootstrap.servers": one.bootstrap for name, one in self.clusters.items()}
        for source, target in self.pairs:
            settings[f"{source.name}->{target.name}.enabled"] = "true"
        self.worker = Worker("org.apache.kafka.connect.mirror.MirrorMaker", directory, settings)
        self.started = time.monotonic()

    def run(self):
        try:
            for cluster in self.clusters.values():
                self.wait("a commit", lambda cluster=cluster: cluster.commit(0))
            self.worker.start()
            self.goes_on("records are copied")
            self.worker.kill()
            for cluster in self.clusters.values():
                cluster.produce()
            self.worker.start()
            self.goes_on("it was killed and came back")
            for source, target in self.pairs:
                self.follows(source, target)
                print(f"  {time.monotonic() - self.started:5.1f} s  offsets come over from {source.name}", flush=True)
            self.judge()
        except ScenarioFailed:
            print(self.worker.log_tail(), file=sys.stderr)
            raise
        finally:
            self.worker.kill()

    def goes_on(self, what):
        for cluster in self.clusters.values():
            cluster.produce()
        for source, target in self.pairs:
            copied = self.copied_name(source)
            self.wait(f"{what}: from {source.name}", lambda: all(
                set(sent) <= set(come) for sent, come in zip(source.sent, target.copies(copied))))
        print(f"  {time.monotonic() - self.started:5.1f} s  {what}", flush=True)

    def follows(self, source, target):
        """A commit at the end becomes one at the end of the copy."""
        copied = self.copied_name(source)
        self.wait("a commit", lambda: source.commit(len(source.sent[0])))
        self.wait(f"the group of {source.name} is known to {target.name}",
                  lambda: target.committed(copied) == target.client.end_offset(copied, 0))

    def judge(self):
        for source, target in self.pairs:
            copies = target.copies(self.copied_name(source))
            repeats = sum(each_in_order(sent, come) for sent, come in zip(source.sent, copies))
            print(f"  {sum(map(len, source.sent))} records from {source.name}, {repeats} of them again", flush=True)

    @staticmethod
    def copied_name(source):
        return f"{source.name}.{source.topic}"

    def wait(self, what, condition):
        def pump():
            self.worker.check()
            time.sleep(0.2)

        wait_until(what, condition, pump, TIMEOUT_S, lambda: ", ".join(
            f"{target.name} has {[len(some) for some in target.copies(self.copied_name(source))]} and committed "
            f"{target.committed(self.copied_name(source))}" for source, target in self.pairs))


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="barnabas-mirror-"))
    try:
        with Broker("kafka", properties=CONTENT) as kafka, Broker("barnabas", properties=CONTENT) as barnabas:
            Mirror(Cluster("kafka", kafka), Cluster("barnabas", barnabas), directory).run()
    except (BrokerError, ScenarioFailed) as error:
        sys.exit(f"FAILED: {error}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
