"""A broker with access control, and requests of every API to try what somebody may.

Everybody is User:ANONYMOUS on a plaintext listener, so rights go by the address that a connection comes from: ADMIN may
everything (the brokers of Apache Kafka talk to themselves from there), STRANGER nothing but what a test gives it.
"""

import apis
import wire
from asking import ID_OF, Asker
from base import HOST, SHARED_PROPERTIES, Broker, Client, eventually
from records import TRANSACTIONAL, batch

STRANGER = "127.0.0.3"
PRINCIPAL = "User:ANONYMOUS"
# Everything is allowed until there are entries; those of ADMIN are about every resource, and end that.
PROPERTIES = SHARED_PROPERTIES | {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    "broker.heartbeat.interval.ms": "1000", "broker.session.timeout.ms": "18000",
}

(ANY, ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE,
 CREATE_TOKENS, DESCRIBE_TOKENS) = range(1, 15)
TOPIC, GROUP, CLUSTER, TRANSACTIONAL_ID, DELEGATION_TOKEN, USER = range(2, 8)
LITERAL, PREFIXED = 3, 4
DENY, ALLOW = 2, 3
THE_CLUSTER = "kafka-cluster"

KNOWN, UNKNOWN = "known", "unknown"
UNKNOWN_ID = b"\x5a" * 16
# Logging in comes before rights; tokens are for connections that logged in.
SCRAM = {api: apis.SECURITY[api] for api in ("DescribeUserScramCredentials", "AlterUserScramCredentials")}
EVERY_API = apis.ANNOUNCED | apis.GROUPS | apis.TRANSACTIONS | apis.ACCESS_CONTROL | SCRAM


def entry(kind, name, operation, permission=ALLOW, pattern=LITERAL, host=STRANGER, principal=PRINCIPAL):
    return {"resourceType": kind, "resourceName": name, "resourcePatternType": pattern, "principal": principal,
            "host": host, "operation": operation, "permissionType": permission}


def entry_filter(**fields):
    return {"resourceTypeFilter": ANY, "resourceNameFilter": None, "patternTypeFilter": ANY, "principalFilter": None,
            "hostFilter": None, "operation": ANY, "permissionType": ANY, **fields}


class Guarded(Asker):
    """A broker on which ADMIN has made a topic with records, a group that has committed, and a transaction."""

    def __init__(self, target=None, properties=None):
        self.broker = Broker(target, properties=PROPERTIES | (properties or {})).start()
        self.address = (HOST, self.broker.port)
        self.admin = Client(self.address)
        self.ids = {}
        self.fill()
        assert not self.entries(), "entries that nobody has made"
        self.allow(*(entry(kind, THE_CLUSTER if kind == CLUSTER else "*", ALL, host=HOST) for kind in range(TOPIC, USER + 1)))

    def close(self):
        self.admin.close()
        self.broker.clean()

    def fill(self):
        admin = self.admin
        for topic in (KNOWN, "other"):
            self.ids[topic] = admin.create_usable(topic, 2)
        for kind in (0, 1):
            assert eventually(lambda: not admin.call("FindCoordinator", 4, keyType=kind, coordinatorKeys=[KNOWN])
                              .coordinators[0].errorCode, 60)
        admin.append(KNOWN, b"a", b"b")
        for group in (KNOWN, "other"):
            topics = [{"name": topic, "partitions": [{"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}]}
                      for topic in (KNOWN, "other")]
            assert eventually(lambda: not admin.call("OffsetCommit", 9, groupId=group, generationIdOrMemberEpoch=-1,
                                                     memberId="", topics=topics).topics[0].partitions[0].errorCode, 60)
        for name in (KNOWN, "other"):
            def begin():
                got = admin.call("InitProducerId", 4, transactionalId=name, transactionTimeoutMs=600000, producerId=-1,
                                 producerEpoch=-1)
                return None if got.errorCode else got
            producer = eventually(begin, 60)
            added = admin.call("AddPartitionsToTxn", 3, v3AndBelowTransactionalId=name, v3AndBelowProducerId=producer.producerId,
                               v3AndBelowProducerEpoch=producer.producerEpoch,
                               v3AndBelowTopics=[{"name": topic, "partitions": [1]} for topic in (KNOWN, "other")])
            assert not added.resultsByTopicV3AndBelow[0].resultsByPartition[0].partitionErrorCode

    def restore(self):
        """After requests that were allowed: the topic is there as it was, and nothing else."""
        admin = self.admin
        admin.call("DeleteTopics", 5, topicNames=[KNOWN, UNKNOWN], timeoutMs=10000)
        assert eventually(lambda: not any(topic.errorCode == 0 for topic in admin.metadata(KNOWN, UNKNOWN).topics), 60)
        self.ids[KNOWN] = admin.create_usable(KNOWN, 2)
        admin.append(KNOWN, b"a", b"b")
        for group in (KNOWN, UNKNOWN):
            admin.call("DeleteGroups", 2, groupsNames=[group])
        topics = [{"name": topic, "partitions": [{"partitionIndex": 0, "committedOffset": 1, "committedMetadata": ""}]}
                  for topic in (KNOWN, "other")]
        admin.call("OffsetCommit", 9, groupId=KNOWN, generationIdOrMemberEpoch=-1, memberId="", topics=topics)

    # Rights.

    def allow(self, *entries):
        made = self.admin.call("CreateAcls", 3, creations=list(entries))
        assert all(result.errorCode == 0 for result in made.results), made
        self.await_entries(lambda found: all(self.key(one) in found for one in entries))

    def forget(self, host=STRANGER):
        self.admin.call("DeleteAcls", 3, filters=[entry_filter(hostFilter=host)])
        self.await_entries(lambda found: all(key[4] != host for key in found))

    @staticmethod
    def key(one):
        return (one["resourceType"], one["resourceName"], one["resourcePatternType"], one["principal"], one["host"],
                one["operation"], one["permissionType"])

    def entries(self):
        found = self.admin.call("DescribeAcls", 3, **entry_filter())
        return {(resource.resourceType, resource.resourceName, resource.patternType, one.principal, one.host, one.operation,
                 one.permissionType) for resource in found.resources for one in resource.acls}

    def await_entries(self, condition):
        """Apache Kafka's broker learns of them a moment after the controller has answered."""
        assert eventually(lambda: condition(self.entries()), 30)

    # Requests.

    def ask(self, api, version, fields, source=STRANGER):
        return super().ask(api, version, fields, source)

    def neutral(self, value, name):
        """The answer without what differs between two brokers, and without order that means nothing."""
        if isinstance(value, dict):
            return {key: self.neutral(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return sorted((self.neutral(inner, name) for inner in value), key=repr)
        if name == "topicId":
            known = {identity: topic for topic, identity in self.ids.items()}
            return known.get(value, {bytes(16): "none", UNKNOWN_ID: "unknown"}.get(value, "new"))
        if isinstance(value, bytes):
            return value.hex()
        if name in ("port", "clusterId", "logDir", "totalBytes", "usableBytes", "throttleTimeMs", "finalizedFeaturesEpoch"):
            return name
        if name in ("errorMessage", "partitionErrorMessage") and str(value).startswith("Request Request("):
            return "Cluster authorization failed."  # Kafka tells of its own insides
        return value


# What fields say, by name; two elements of a list name what is there and what is not.
NAMES = [KNOWN, UNKNOWN]
FIELDS = {
    "name": NAMES, "topic": NAMES, "topicName": NAMES, "topicNames": NAMES, "topicId": [ID_OF + KNOWN, UNKNOWN_ID],
    "groupId": NAMES, "groupsNames": NAMES, "groupIds": NAMES, "groups": NAMES, "key": NAMES, "coordinatorKeys": NAMES,
    "transactionalId": NAMES, "transactionalIds": NAMES, "v3AndBelowTransactionalId": NAMES,
    "partition": [0], "partitionIndex": [0], "index": [0], "partitions": [0], "partitionIndexes": [0],
    "resourceType": [2], "resourceName": NAMES, "subscribedTopicNames": NAMES, "subscribedTopicRegex": [None],
    "timestamp": [-1], "replicaId": [-1], "sessionEpoch": [-1], "partitionMaxBytes": [1 << 20], "maxBytes": [1 << 20],
    "acks": [-1], "timeoutMs": [10_000], "producerId": [-1], "producerEpoch": [-1], "transactionTimeoutMs": [60_000],
    "generationIdOrMemberEpoch": [-1], "memberEpoch": [0], "rebalanceTimeoutMs": [60_000], "sessionTimeoutMs": [10_000],
    "count": [5], "numPartitions": [1], "replicationFactor": [1], "leaderEpoch": [0], "currentLeaderEpoch": [-1],
    "endpointType": [1], "keyType": [0], "configurationKeys": ["retention.ms"], "value": ["1"], "protocolType": ["consumer"],
    "protocolName": ["range"], "brokerId": [77], "resourceTypeFilter": [ANY], "patternTypeFilter": [ANY], "operation": [READ],
    "permissionType": [ALLOW], "resourcePatternType": [LITERAL], "principal": [PRINCIPAL], "host": [STRANGER],
    "durationFilter": [-1], "includeClusterAuthorizedOperations": [True], "includeTopicAuthorizedOperations": [True],
    "includeAuthorizedOperations": [True], "responsePartitionLimit": [100], "retentionTimeMs": [-1], "memberId": [""],
    "generationId": [1], "v3AndBelowProducerId": [1], "coordinatorEpoch": [0], "feature": ["group.version"],
    "maxVersionLevel": [1], "upgradeType": [1], "maxWaitMs": [0], "resourceTypes": [2], "instanceId": [None],
    "groupInstanceId": [None], "clientSoftwareName": ["a"], "clientSoftwareVersion": ["1"], "path": ["/nowhere"],
    "transactionalIdPattern": [None], "committedMetadata": [""], "entityType": ["user"],
    "entityName": [KNOWN], "match": [KNOWN], "member": [""], "electionType": [0],
}
PRODUCER = {"EndTxn", "AddOffsetsToTxn", "TxnOffsetCommit", "WriteTxnMarkers", "AddPartitionsToTxn"}
LEFT_OUT = {"cursor", "replicaState", "highWatermark", "replicaDirectoryId", "assignments", "forgottenTopicsData", "members",
            "topicPartitions", "clusterId", "rackId", "stateFilters", "statesFilter", "typesFilter", "producerIdFilters",
            "serverAssignor", "reason"}


def filled(api, version, everything=False, records=None):
    """A request of that version that names what is there and what is not, or (where that can be) everything."""
    codec = wire.codec(f"{api}Request", version)
    return _struct(codec, codec.schema["fields"], api, everything, 0, records)


def _struct(codec, fields, api, everything, nth, records):
    out = {}
    for field in fields:
        name = field["name"]
        kind, array, inner, _, nullable = codec.shape(field)
        if not wire.in_range(field["versions"], codec.version) or name in LEFT_OUT and not (array and not nullable):
            continue
        if name in LEFT_OUT:
            out[name] = []
        elif name == "records":
            out[name] = records or batch(b"x")
        elif array and everything and name in ("topics", "resourceTypes", "topicPartitions"):
            out[name] = None if nullable else []
        elif array and inner:
            out[name] = [_struct(codec, inner, api, everything, i, records) for i in range(_count(inner))]
        elif array:
            out[name] = list(FIELDS.get(name, [0 if kind.startswith("int") else "x"]))
        elif inner:
            out[name] = _struct(codec, inner, api, everything, nth, records)
        else:
            out[name] = _scalar(name, kind, api, nth)
    return out


def _count(fields):
    return 2 if any(len(FIELDS.get(field["name"], ())) == 2 and "[]" not in field["type"] for field in fields) else 1


def _scalar(name, kind, api, nth):
    if api in PRODUCER and name in ("producerId", "producerEpoch"):
        return 1
    if api == "InitProducerId" and name == "transactionalId":
        return KNOWN
    if kind == "float64":
        return 1.0
    values = FIELDS.get(name)
    if values:
        return values[nth % len(values)]
    return {"bool": False, "string": "", "uuid": bytes(16), "bytes": b""}.get(kind, 0)


def transactional_records():
    return batch(b"x", producer_id=1, producer_epoch=1, sequence=0, attributes=TRANSACTIONAL)
