"""Verbs for cases about quotas."""

import time

import codes
from client import Connection


def entity(**parts):
    """entity(user="u", client_id=None): None is the default of the type."""
    return [{"entityType": kind.replace("_", "-"), "entityName": name} for kind, name in parts.items()]


def alteration(parts, *ops):
    """`ops` are pairs; a value of None removes."""
    return {"entity": parts, "ops": [{"key": key, "value": float(value or 0), "remove": value is None}
                                     for key, value in ops]}


def altered(client, *entries, version=1, validate_only=False):
    """The answer's entries as (code, message, [(type, name)]), in the order of the entities' names."""
    got = client.call("AlterClientQuotas", version, entries=list(entries), validateOnly=validate_only)
    assert got.throttleTimeMs == 0, got
    return sorted(((one.errorCode, one.errorMessage, [(part.entityType, part.entityName) for part in one.entity])
                   for one in got.entries), key=lambda one: str(one[2]))


def set_quotas(client, parts, **values):
    done = altered(client, alteration(parts, *values.items()))
    assert [one[0] for one in done] == [codes.NONE], done


def described(client, *components, strict=False, version=1):
    """{(("client-id", name), ("user", name)): {key: value}}, or (code, message)."""
    got = client.call("DescribeClientQuotas", version, strict=strict, components=[
        {"entityType": kind, "matchType": match, "match": name} for kind, match, name in components])
    assert got.throttleTimeMs == 0, got
    if got.errorCode:
        assert got.entries is None, got
        return got.errorCode, got.errorMessage
    return {tuple((part.entityType, part.entityName) for part in one.entity):
            {value.key: value.value for value in one["values"]} for one in got.entries}


class Throttled:
    """A connection of one client id that measures how long its requests take."""

    def __init__(self, address, client_id):
        self.connection = Connection(address, client_id=client_id)
        self.took = 0.0

    def close(self):
        self.connection.close()

    def call(self, api, version, **fields):
        began = time.monotonic()
        answer = self.connection.call(api, version, **fields)
        self.took = time.monotonic() - began
        return answer

    def produce(self, topic, records, version=9, acks=-1, partition=0):
        """The throttle time."""
        data = {"name": topic, "partitionData": [{"index": partition, "records": records}]}
        fields = {"acks": acks, "timeoutMs": 10000, "topicData": [data]}
        if acks == 0:
            return self.connection.send_without_answer("Produce", version, **fields)
        answer = self.call("Produce", version, **fields)
        part = answer.responses[0].partitionResponses[0]
        assert part.errorCode == codes.NONE, part
        return answer.throttleTimeMs

    def fetch(self, topic, version=12, max_bytes=1 << 24, session=(0, -1), offset=0, max_wait_ms=0, topics=True):
        asked = [{"topic": topic, "partitions": [
            {"partition": 0, "fetchOffset": offset, "partitionMaxBytes": 1 << 24}]}] if topics else []
        return self.call("Fetch", version, replicaId=-1, maxWaitMs=max_wait_ms, minBytes=1, maxBytes=max_bytes,
                         sessionId=session[0], sessionEpoch=session[1], topics=asked)

    def ask(self):
        """How long a request takes that costs nothing."""
        began = time.monotonic()
        self.connection.call("ApiVersions", 3, clientSoftwareName="t", clientSoftwareVersion="1")
        return time.monotonic() - began
