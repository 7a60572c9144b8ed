"""The verbs that only some brokers know (transactions, groups, access control, …), as raw requests over one connection."""

import hashlib
import os

from base import eventually
from records import TRANSACTIONAL, batch

# What a coordinator says while it loads or is being made: ask again.
_NOT_YET = {14, 15, 16, 51}
GROUP, TRANSACTION = 0, 1
TOPIC, BROKER, CLIENT_METRICS, GROUP_CONFIG = 2, 4, 16, 32
SET, DELETE = 0, 1
PATIENCE_S = 30


def settled(ask, code=lambda answer: answer.errorCode):
    """Repeats until the coordinator is there; the answer must then be good."""
    answer = None

    def once():
        nonlocal answer
        answer = ask()
        return code(answer) not in _NOT_YET

    eventually(once, PATIENCE_S)
    assert code(answer) == 0, answer
    return answer


def find_coordinator(client, key, kind):
    settled(lambda: client.call("FindCoordinator", 4, keyType=kind, coordinatorKeys=[key]).coordinators[0])


class Producer:
    """An idempotent producer made of raw requests: it outlives its connections, as a client's producer does."""

    def __init__(self, client):
        self.id, self.epoch = client.new_producer_id(), 0
        self.sequences = {}
        self.last = {}

    def send(self, client, topic, *values, partition=0, **fields):
        """One batch, each value a record of its own; returns the base offset."""
        at = (topic, partition)
        sequence = self.sequences.get(at, 0)
        data = batch(*values, producer_id=self.id, producer_epoch=self.epoch, sequence=sequence, **fields)
        answer = client.produce(topic, data, partition)
        assert answer.errorCode == 0, (topic, partition, answer)
        self.sequences[at] = sequence + len(values)
        self.last[at] = (data, answer.baseOffset)
        return answer.baseOffset

    def repeat(self, client, topic, partition=0):
        """Sends the newest batch once more; returns (error code, base offset) and the offset that it has."""
        data, offset = self.last[topic, partition]
        answer = client.produce(topic, data, partition)
        return (answer.errorCode, answer.baseOffset), offset


class Transactional:
    """A transactional producer of the newest protocol: partitions join by being written to."""

    produce_version = 12

    def __init__(self, client, name, timeout_ms=600_000):
        self.name = name
        find_coordinator(client, name, TRANSACTION)
        made = settled(lambda: client.call(
            "InitProducerId", 5, transactionalId=name, transactionTimeoutMs=timeout_ms))
        self.id, self.epoch = made.producerId, made.producerEpoch
        self.first_id = self.id
        self.sequences = {}

    def send(self, client, topic, *values, partition=0, **fields):
        at = (topic, partition)
        sequence = self.sequences.get(at, 0)
        data = batch(*values, producer_id=self.id, producer_epoch=self.epoch, sequence=sequence,
                     attributes=TRANSACTIONAL, **fields)
        answer = settled(lambda: client.produce(topic, data, partition, self.produce_version, transactionalId=self.name))
        self.sequences[at] = sequence + len(values)
        return answer.baseOffset

    def end(self, client, commit):
        done = settled(lambda: client.call(
            "EndTxn", 5, transactionalId=self.name, producerId=self.id, producerEpoch=self.epoch, committed=commit))
        self.id, self.epoch, self.sequences = done.producerId, done.producerEpoch, {}


def commit_offsets(client, group, topic, offsets):
    """{partition: offset} of a group without members."""
    find_coordinator(client, group, GROUP)
    partitions = [{"partitionIndex": index, "committedOffset": offset, "committedMetadata": f"at {offset}"}
                  for index, offset in offsets.items()]
    settled(lambda: client.call("OffsetCommit", 8, groupId=group, memberId="", generationIdOrMemberEpoch=-1,
                                topics=[{"name": topic, "partitions": partitions}]),
            lambda answer: answer.topics[0].partitions[0].errorCode)


def committed_offsets(client, group):
    """{(topic, partition): (offset, metadata)}"""
    find_coordinator(client, group, GROUP)
    answer = settled(lambda: client.call("OffsetFetch", 8, groups=[{"groupId": group, "topics": None}]).groups[0])
    return {(topic.name, one.partitionIndex): (one.committedOffset, one.metadata)
            for topic in answer.topics for one in topic.partitions}


def groups(client):
    answer = settled(lambda: client.call("ListGroups", 4))
    return sorted((group.groupId, group.protocolType) for group in answer.groups)


def alter_configs(client, kind, name, values):
    """Incrementally; a value of None deletes."""
    configs = [{"name": key, "configOperation": DELETE if value is None else SET, "value": value}
               for key, value in values.items()]
    answer = client.call("IncrementalAlterConfigs", 1, validateOnly=False,
                         resources=[{"resourceType": kind, "resourceName": name, "configs": configs}])
    assert answer.responses[0].errorCode == 0, answer


def create_partitions(client, topic, count):
    answer = client.call("CreatePartitions", 3, timeoutMs=10000, validateOnly=False,
                         topics=[{"name": topic, "count": count, "assignments": None}])
    assert answer.results[0].errorCode == 0, answer
    client.await_usable(topic, count)


def create_acl(client, principal, topic, operation=3, permission=3):
    answer = client.call("CreateAcls", 3, creations=[{
        "resourceType": 2, "resourceName": topic, "resourcePatternType": 3, "principal": principal, "host": "*",
        "operation": operation, "permissionType": permission}])
    assert answer.results[0].errorCode == 0, answer


def acls(client):
    """Asks for all of them; only a broker with an authorizer answers."""
    answer = client.call("DescribeAcls", 3, resourceTypeFilter=1, resourceNameFilter=None, patternTypeFilter=1,
                         principalFilter=None, hostFilter=None, operation=1, permissionType=1)
    assert answer.errorCode == 0, answer
    return sorted((one.resourceType, one.resourceName, one.patternType, acl.principal, acl.host, acl.operation,
                   acl.permissionType) for one in answer.resources for acl in one.acls)


def set_scram(client, user, password, iterations=4096):
    salt = os.urandom(16)
    salted = hashlib.pbkdf2_hmac("sha256", password.encode(), salt, iterations)
    answer = client.call("AlterUserScramCredentials", 0, deletions=[], upsertions=[{
        "name": user, "mechanism": 1, "iterations": iterations, "salt": salt, "saltedPassword": salted}])
    assert answer.results[0].errorCode == 0, answer


def scram_users(client):
    answer = client.call("DescribeUserScramCredentials", 0, users=None)
    assert answer.errorCode == 0, answer
    return sorted((one.user, info.mechanism, info.iterations) for one in answer.results for info in one.credentialInfos)


def set_quota(client, user, key, value):
    answer = client.call("AlterClientQuotas", 1, validateOnly=False, entries=[{
        "entity": [{"entityType": "user", "entityName": user}], "ops": [{"key": key, "value": value, "remove": False}]}])
    assert answer.entries[0].errorCode == 0, answer


def quotas(client):
    answer = client.call("DescribeClientQuotas", 1, components=[], strict=False)
    assert answer.errorCode == 0, answer
    return sorted((sorted((part.entityType, part.entityName or "") for part in entry.entity),
                   sorted((value.key, value.value) for value in entry["values"])) for entry in answer.entries or [])


def open_transactions(client):
    """{transactional id: state} of those that are not ended."""
    answer = settled(lambda: client.call("ListTransactions", 1, stateFilters=["Ongoing"], producerIdFilters=[]))
    return {one.transactionalId: one.transactionState for one in answer.transactionStates}


def await_true(condition, what, timeout_s=PATIENCE_S):
    assert eventually(condition, timeout_s), f"{what}: not within {timeout_s} s"
