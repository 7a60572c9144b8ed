#!/usr/bin/env python3
"""Asks Apache Kafka and Barnabas the same random but plausible requests, and prints where the answers differ.

    compare.py [--seed N] [--count N] [--api NAME]…

A tool for those who write handlers; nothing fails by itself. Both brokers start empty and get the same topics, so the
same requests should leave them in the same state. What must differ (ids, ports, clocks, order without meaning) is
made equal first; messages are compared only with --messages.
"""

import argparse
import dataclasses
import json
import pathlib
import random
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import apis  # noqa: E402
import wire  # noqa: E402
from asking import ID_OF, Asker  # noqa: E402
from base import SHARED_PROPERTIES, Broker, Client, HOST, eventually  # noqa: E402
from records import GZIP, HEADER_BYTES, SNAPPY, Batch, compress  # noqa: E402

TOPICS = {"full": (1, {}), "wide": (3, {}), "compact": (1, {"cleanup.policy": "compact"}),
          "append-time": (1, {"message.timestamp.type": "LogAppendTime"}), "short": (2, {"max.message.bytes": "500"})}
# The harness's short session would shut Kafka's broker out on a busy machine.
PATIENT = {"broker.heartbeat.interval.ms": "1000", "broker.session.timeout.ms": "18000"}
STAMP = 1_700_000_000_000
UNKNOWN_ID = b"\x5a" * 16
READ_ONLY = ("Metadata", "ApiVersions", "ListOffsets", "OffsetForLeaderEpoch", "DescribeConfigs", "DescribeLogDirs",
             "DescribeCluster", "DescribeProducers", "DescribeTopicPartitions", "Fetch")

GROUPS = ["g1", "g2", "g3", "g4", "g5", "", "never"]
names = [*TOPICS, "full", "wide", "full", "unknown", "made", "not a name", "", ".", "x" * 250, "__cluster_metadata"]
VALUES = {  # by field name
    "name": names, "topic": names, "topicName": names, "topicNames": names,
    "topicId": [bytes(16), UNKNOWN_ID, *(ID_OF + topic for topic in TOPICS), ID_OF + "full", ID_OF + "wide"],
    "partition": [0, 0, 0, 1, 2, 5, -1], "partitionIndex": [0, 0, 0, 1, 2, 5, -1], "index": [0, 0, 0, 1, 2, 5, -1],
    "partitions": [0, 0, 1, 2, 5, -1], "partitionIndexes": [0, 0, 1, 2, 5, -1],
    "fetchOffset": [0, 0, 3, 10, 11, 99, -1, -2, 2**62], "offset": [0, 2, 5, 10, 11, -1, -2, 2**62],
    "timestamp": [-1, -2, -3, -4, -5, -6, -7, 0, STAMP, STAMP + 3, STAMP + 9, STAMP + 10, 2**62],
    "leaderEpoch": [0, 0, 1, -1, -2, 9], "currentLeaderEpoch": [-1, -1, 0, 1, -2], "lastFetchedEpoch": [-1, -1, 0, 1, 7],
    "replicaId": [-1], "maxWaitMs": [0, 10], "minBytes": [0, 1, 100], "maxBytes": [0, 1, 200, 1 << 20],
    "partitionMaxBytes": [0, 1, 200, 1 << 20], "isolationLevel": [0, 1], "sessionId": [0], "sessionEpoch": [-1],
    "forgottenTopicsData": [], "rackId": ["", "r"], "clusterId": [None], "replicaState": None,
    "acks": [-1, -1, -1, 1, 1, 2, -2], "timeoutMs": [10_000], "transactionalId": [None], "transactionTimeoutMs": [-1, 0, 1000],
    "producerId": [-1, -1, 5], "producerEpoch": [-1, -1, 5], "numPartitions": [-1, 1, 2, 0, -2], "count": [1, 2, 3, 4, 5, 0, -1],
    "replicationFactor": [-1, 1, 1, 0, 2, -2], "brokerIds": [1, 1, 7], "resourceType": [2, 2, 2, 4, 3, 99, 0],
    "resourceName": [*names, "1", "2", "abc", ""], "configurationKeys": ["retention.ms", "cleanup.policy", "nope", "log.dirs"],
    "value": ["1", "-1", "100", "abc", "compact", "true", "", None], "endpointType": [1, 1, 2, 0, 3],
    "clientSoftwareName": ["a", "a b", "", "a-1.0"], "clientSoftwareVersion": ["1", "-", "1.0"],
    "responsePartitionLimit": [0, 1, 2, 100, -1], "validateOnly": [True, True, False], "highWatermark": None,
    "groupId": GROUPS, "groupsNames": GROUPS, "key": GROUPS, "coordinatorKeys": GROUPS, "keyType": [0, 0, 0, 9],
    "memberId": ["", "", "", "m", None], "groupInstanceId": [None, None, None, "i"],
    "generationIdOrMemberEpoch": [-1, -1, -1, -1, 0, 1, -2], "memberEpoch": [-1, -1, 0, 3],
    "retentionTimeMs": [-1, -1, 3_600_000], "committedOffset": [0, 1, 2, 5, 99, -1, 2**62],
    "committedLeaderEpoch": [-1, 0, 3], "committedMetadata": ["", "", "m", "é" * 4096, "x" * 4097, None],
    "replicaDirectoryId": None, "validate": [True], "includeSynonyms": [True, False], "cursor": "struct or null",
}
CONFIG_NAMES = ["retention.ms", "cleanup.policy", "segment.bytes", "preallocate", "min.cleanable.dirty.ratio",
                "compression.type", "max.message.bytes", "nope", "retention.bytes", "flush.ms", "min.insync.replicas"]


# By resource type: names, and (key, plausible values); secrets and what names ports or directories are left out.
CONFIGS = {
    2: ([*TOPICS, "full", "wide", "full", "unknown", "", "a b"], {
        "retention.ms": ["1", "-1", "-2", " 5 ", "abc", ""], "cleanup.policy": ["compact", "delete", "compact,delete", "", "x"],
        "segment.bytes": ["1048576", "1048575", "2000000"], "min.insync.replicas": ["1", "2", "0"], "nope": ["1"], "": ["1"],
        "max.message.bytes": ["1000000", "-1"], "preallocate": ["true", "FALSE", "x"], "compression.type": ["gzip", "GZIP"],
        "min.compaction.lag.ms": ["0", "10"], "max.compaction.lag.ms": ["5", "100"], "flush.ms": ["1", "0", "-1"],
        "min.cleanable.dirty.ratio": ["0.25", "1", "1.5", "x"], "remote.storage.enable": ["true", "false"],
        "leader.replication.throttled.replicas": ["0:1", "0:1,1:1", "*", "x", ""], "local.retention.ms": ["-2", "5"],
        "unclean.leader.election.enable": ["true"], "compression.gzip.level": ["1", "0", "-1"], "segment.ms": ["1", "0"]}),
    4: (["", "1", "", "1", "2", "x", "-1"], {
        "log.cleaner.threads": ["1", "2", "0", "x"], "message.max.bytes": ["1048588", "2000000", "-1"],
        "log.retention.ms": ["604800000", "0", "-1"], "log.cleanup.policy": ["compact", "delete", "delete,delete", "x"],
        "log.segment.bytes": ["1073741824", "5"], "node.id": ["5"], "log.retention.hours": ["5"], "nope.plugin": ["x"],
        "max.connections": ["1000", "-1"], "max.connections.per.ip.overrides": ["127.0.0.9:5", "127.0.0.9"],
        "num.io.threads": ["8", "4", "50"], "min.insync.replicas": ["1", "2"], "compression.type": ["producer", "x"],
        "ssl.keystore.location": ["/x"], "listener.name.foo.ssl.keystore.location": ["/x"], "log.roll.ms": ["1000000", "0"],
        "unclean.leader.election.enable": ["false", "x"], "leader.replication.throttled.rate": ["100", "x"],
        "log.message.timestamp.type": ["CreateTime", "x"], "background.threads": ["10", "9", "30"]}),
    16: (["m1", "m2", ""], {"interval.ms": ["100", "99", "5000", "x"], "metrics": ["a,b", "", "*", "a,,b"],
                            "match": ["client_id=a", "client_id", "x=y", "client_id=[", ""], "nope": ["1"]}),
    32: (["g1", "g2", ""], {
        "consumer.session.timeout.ms": ["45000", "1", "60001", "x"], "consumer.heartbeat.interval.ms": ["5000", "4999"],
        "share.auto.offset.reset": ["latest", "x", "by_duration:PT1H"], "share.isolation.level": ["read_committed", "x"],
        "streams.num.standby.replicas": ["0", "3"], "share.record.lock.duration.ms": ["30000", "1"], "nope": ["1"]}),
    8: (["1", "2", "", "x"], {"root": ["INFO", "WARN", "info", ""], "no.such": ["INFO"]}),
    99: (["x"], {"a": ["b"]}),
}


class Generator:
    """Makes a request's fields from its schema."""

    def __init__(self, chance, repeats):
        self.chance, self.repeats = chance, repeats

    def request(self, api, version):
        if api in ("IncrementalAlterConfigs", "AlterConfigs") or api == "DescribeConfigs" and self.chance.random() < 0.7:
            return self.configs(api)
        if api == "ListConfigResources":
            return {"resourceTypes": [self.chance.choice((2, 4, 8, 16, 32, 99, 0)) for _ in range(self.chance.choice((0, 1, 1, 2)))]} \
                if version else {}
        codec = wire.codec(f"{api}Request", version)
        return self.struct(codec, codec.schema["fields"], api)

    def configs(self, api):
        chance, resources = self.chance, []
        for _ in range(chance.choice((0, 1, 1, 1, 1, 2, 3))):
            kind = chance.choice((2, 2, 2, 2, 4, 4, 16, 32, 8, 99))
            names_, keys = CONFIGS[kind]
            chosen = [chance.choice(list(keys)) for _ in range(chance.choice((0, 1, 1, 1, 2, 3)))]
            if chance.random() > self.repeats:
                chosen = list(dict.fromkeys(chosen))
            configs = [{"name": key, "value": None if chance.random() < 0.08 else chance.choice(keys[key]),
                        "configOperation": chance.choice((0, 0, 0, 1, 1, 2, 3))} for key in chosen]
            resource = {"resourceType": kind, "resourceName": chance.choice(names_)}
            if api == "DescribeConfigs":
                # All of a broker's or the loggers' would only show how the brokers were started.
                resource["configurationKeys"] = chosen if kind in (4, 8) and chosen else ["nope"] if kind in (4, 8) else None
            else:
                if api == "AlterConfigs":
                    configs = [{"name": one["name"], "value": one["value"]} for one in configs]
                resource["configs"] = configs
            resources.append(resource)
        resources = unlike(resources)
        if api == "DescribeConfigs":
            return {"resources": resources, "includeSynonyms": chance.random() < 0.5, "includeDocumentation": False}
        return {"resources": resources, "validateOnly": chance.random() < 0.3}

    def struct(self, codec, fields, where):
        out = {}
        for field in fields:
            if wire.in_range(field["versions"], codec.version) and VALUES.get(field["name"], 0) is not None:
                out[field["name"]] = self.field(codec, field, where)
        return out

    def field(self, codec, field, where):
        kind, array, fields, _, nullable = codec.shape(field)
        name, chance = field["name"], self.chance
        if nullable and chance.random() < 0.15 and name != "records":
            return None
        if array:
            count = chance.choice((0, 1, 1, 1, 2, 3)) if name != "configs" else chance.choice((0, 0, 1, 2))
            if name in ("assignments", "forgottenTopicsData") and chance.random() < 0.7:
                return None if nullable else []
            made = [self.struct(codec, fields, name) if fields else self.scalar(name, kind, where) for _ in range(count)]
            return made if chance.random() < self.repeats else unlike(made)
        if fields:
            return self.struct(codec, fields, name)
        return self.scalar(name, kind, where)

    def scalar(self, name, kind, where):
        if name == "records":
            return self.records()
        if name == "name" and where == "configs":
            return self.chance.choice(CONFIG_NAMES)
        if isinstance(VALUES.get(name), list) and VALUES[name]:
            return self.chance.choice(VALUES[name])
        return {"bool": self.chance.random() < 0.5, "string": "x", "uuid": bytes(16), "bytes": b""}.get(kind, 0)

    def records(self):
        chance = self.chance
        count = chance.choice((1, 1, 2, 3))
        fields = {"timestamps": tuple(STAMP + chance.choice((0, 3, 5, 9)) for _ in range(count))}
        if chance.random() < 0.3:
            fields |= {"producer_id": chance.choice((7, 8)), "producer_epoch": chance.choice((0, 0, 1, -1)),
                       "sequence": chance.choice((0, 1, 2, 3, 2**31 - 1, -1))}
        for name, values in (("codec", (GZIP,)), ("attributes", (8, 16, 32, 64)), ("base_offset", (1, -1)),
                             ("last_offset_delta", (0, 5)), ("count", (0, 1, 9)), ("crc", (0,)), ("max_timestamp", (5,))):
            if chance.random() < 0.08:
                fields[name] = chance.choice(values)
        if chance.random() < 0.5:
            fields["keys"] = tuple(chance.choice((b"k", None, b"")) for _ in range(count))
        made = Batch(values=tuple(bytes([97 + i]) * chance.choice((0, 1, 200)) for i in range(count)), **fields)
        if chance.random() < 0.3:
            made.body = self.damaged(made)
        content = bytearray(made.encode())
        if chance.random() < 0.06:
            content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
        if chance.random() < 0.04:
            content = content[:chance.randrange(len(content))]
        return bytes(content)

    def damaged(self, made):
        """Records, or what they are compressed to, with a few bytes wrong under a right checksum."""
        chance = self.chance
        plain = bytearray(dataclasses.replace(made, codec=0, body=None).encode()[HEADER_BYTES:])
        codec = made.codec = chance.choice((0, 0, GZIP, SNAPPY))
        where = plain if codec == 0 or chance.random() < 0.6 else None
        body = compress(codec, bytes(self.mangled(plain) if where is not None else plain))
        return body if where is not None else bytes(self.mangled(bytearray(body)))

    def mangled(self, content):
        chance = self.chance
        for _ in range(chance.choice((1, 1, 2))):
            at = chance.randrange(max(len(content), 1))
            what = chance.random()
            if what < 0.6 and content:
                content[at] = chance.choice((0, 1, 2, 3, 0x7F, 0x80, 0xFF, content[at] ^ 1 << chance.randrange(8)))
            elif what < 0.8:
                content[at:at] = bytes(chance.choice((1, 2, 9)))
            else:
                del content[at:at + chance.choice((1, 2, 9))]
        return content or bytearray(1)


def unlike(elements):
    """Without those that name what another one names, for there Kafka's answers are chance."""
    seen, out = set(), []
    for one in elements:
        names = [one.get(key) for key in ("name", "topic", "topicId", "partitionIndex", "partition", "index",
                                          "resourceType", "resourceName")] if isinstance(one, dict) else [one]
        if repr(names) not in seen:
            seen.add(repr(names))
            out.append(one)
    return out


class Side(Asker):
    """One of the two brokers."""

    def __init__(self, target):
        self.broker = Broker(target, properties=SHARED_PROPERTIES | PATIENT).start()
        self.address = (HOST, self.broker.port)
        client = Client(self.address)
        self.ids = {}
        for name, (partitions, configs) in TOPICS.items():
            self.ids[name] = client.create_usable(name, partitions, {"retention.ms": "-1"} | configs)
        for number in range(5):
            client.append("full", b"a", b"b", timestamps=(STAMP + number, STAMP + 2 * number))
        client.new_producer_id()
        assert eventually(lambda: self.coordinates(client), 30), "no coordinator"
        client.close()

    @staticmethod
    def coordinates(client):
        """Apache Kafka makes the topic of groups when it is first asked for a coordinator, and loads it then."""
        found = client.call("FindCoordinator", 4, keyType=0, coordinatorKeys=["g1"]).coordinators[0].errorCode
        asked = {"groupId": "g1", "topics": None}
        return not found and not client.call("OffsetFetch", 8, groups=[asked], requireStable=True).groups[0].errorCode

    def neutral(self, value, name):
        """The answer without what may differ between two brokers."""
        if isinstance(value, dict):
            return {key: self.neutral(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return merged([self.neutral(inner, name) for inner in value], name)
        if name == "topicId":
            known = {identity: topic for topic, identity in self.ids.items()}
            return known.get(value, value.hex() if value in (bytes(16), UNKNOWN_ID) else "new")
        if isinstance(value, bytes):
            return value.hex()
        if name in ("port", "clusterId", "logDir", "totalBytes", "usableBytes", "finalizedFeaturesEpoch", "throttleTimeMs"):
            return name
        if name in ("logAppendTimeMs", "lastTimestamp", "timestamp") and value > STAMP + 10**9:
            return "now"
        if name == "producerId" and value > 8:
            return "fresh"
        return value


def merged(answers, name):
    """A list without order: repeats once, topics named twice as one, topics without partitions not at all."""
    if name == "apiKeys":
        return [one for one in answers if one["apiKey"] in [key for key, _, _ in apis.ANNOUNCED.values()]]
    inner = {"responses": ("partitionResponses", "partitions"), "topics": ("partitions",)}.get(name, ())
    topics = {}
    for one in answers:
        parts = next((key for key in inner if isinstance(one, dict) and key in one), None)
        if parts is None or "isInternal" in one:
            topics[repr(one)] = one
        elif one[parts]:
            topic = topics.setdefault(repr({key: value for key, value in one.items() if key != parts}),
                                      {**one, parts: []})
            topic[parts] = merged(topic[parts] + one[parts], parts)
    return sorted(topics.values(), key=repr)


def by_identity(elements):
    """The elements of a list by what names them, and by a number among namesakes."""
    out = {}
    for one in elements:
        names = [one.get(key) for key in ("name", "topic", "topicId", "resourceType", "resourceName", "partitionIndex",
                                          "partition", "index", "apiKey")] if isinstance(one, dict) else [one]
        number = 0
        while (*names, number) in out:
            number += 1
        out[(*names, number)] = one
    return out


def differing(kafka, barnabas, path=""):
    """The paths at which two neutral answers differ."""
    if isinstance(kafka, dict) and isinstance(barnabas, dict):
        return [p for key in {*kafka, *barnabas} for p in differing(kafka.get(key), barnabas.get(key), f"{path}.{key}")]
    if isinstance(kafka, list) and isinstance(barnabas, list):
        ours, theirs = by_identity(barnabas), by_identity(kafka)
        return [p for key in sorted({*ours, *theirs}, key=repr)
                for p in differing(theirs.get(key, "absent"), ours.get(key, "absent"), path + "[]")]
    return [] if kafka == barnabas else [(path, kafka, barnabas)]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--api", action="append", choices=sorted({**apis.ANNOUNCED, **apis.GROUPS}))
    parser.add_argument("--repeats", type=float, default=0.0, help="chance that a list may name something twice")
    parser.add_argument("--messages", action="store_true", help="compare the words of errors, too")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    generator, chance = Generator(random.Random(options.seed), options.repeats), random.Random(options.seed + 1)
    sides = {target: Side(target) for target in ("kafka", "barnabas")}
    seen, ignored = {}, () if options.messages else ("errorMessage", "batchIndexErrorMessage", "documentation")
    try:
        for number in range(options.count):
            api = chance.choice(options.api or [*READ_ONLY, *apis.ANNOUNCED])
            version = chance.choice(apis.versions(api))
            fields = generator.request(api, version)
            answers = {target: side.ask(api, version, fields) for target, side in sides.items()}
            if api in ("CreateTopics", "DeleteTopics", "CreatePartitions", "AlterConfigs", "IncrementalAlterConfigs"):
                time.sleep(0.1)  # Kafka's broker learns of it a moment later
            for path, kafka, barnabas in differing(answers["kafka"], answers["barnabas"]):
                if path.rpartition(".")[2] in ignored:
                    continue
                key = (api, path, str(kafka)[:40], str(barnabas)[:40])
                seen[key] = seen.get(key, 0) + 1
                if seen[key] == 1:
                    print(f"\n#{number} {api} v{version} {path}\n  kafka    {str(kafka)[:400]}\n"
                          f"  barnabas {str(barnabas)[:400]}\n  asked    {shown(fields)}", flush=True)
    finally:
        for side in sides.values():
            side.broker.clean()
    print(f"\n{len(seen)} kinds of difference in {options.count} requests")


def shown(fields):
    return json.dumps(fields, default=lambda value: value.hex())[:700]


if __name__ == "__main__":
    main()
