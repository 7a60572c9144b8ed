"""What every client is asked for first: records there and back, and the administration that it has.

A client is a program `COMMAND… BOOTSTRAP`. It is told what to do by lines of JSON on standard input, and answers each
by one, `{"ok": …}` or `{"error": "WHY"}`. Keys, values and headers' values are base64, or null:

    produce {topic, partition, codec, records}        with acks=all, in this order; codec: none, gzip, snappy, lz4, zstd;
                                                      a record: key, value, headers ([{name, value}]), timestamp (0: now)
    consume {topic, partition, offset, count}         → the records: also with their offset and timestamp
    consume {topic, partition, timestamp, count}      … from the first one that is not older
    create {topic, count, config}                     count: of partitions
    topics                                            → their names
    describe {topic}                                  → how many partitions it has
    add_partitions {topic, count}                     so that it has so many
    alter_config {topic, config}                      and leaves other settings alone
    config {topic}                                    → name → value
    delete_records {topic, partition, offset}         what is before that offset
    delete {topic}
    groups                                            → their names
    group_offsets {group, topic, partition}           → where it has committed to
    delete_group {group}
    brokers                                           → their addresses

What the client says is compared with what raw requests find.
"""

import base64
import json
import pathlib
import select
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "conformance"))
sys.path.append(str(HERE.parent / "harness"))

import codes  # noqa: E402
import scenarios  # noqa: E402
from base import Client, eventually  # noqa: E402
from broker import HOST  # noqa: E402
from codecs_of_records import CODECS, records_of  # noqa: E402
from scenarios import ScenarioFailed  # noqa: E402

ANSWER_TIMEOUT_S = 60
SECOND = 1000  # of timestamps
LONG_AGO = 1_700_000_000_000
MANY, LARGE = 1000, 400_000

PROPERTIES = {"log.retention.ms": "-1", "offsets.topic.num.partitions": "1", "group.initial.rebalance.delay.ms": "0"}


def encoded(content):
    return None if content is None else base64.b64encode(content).decode()


def decoded(text):
    return None if text is None else base64.b64decode(text)


class Program:
    """A client's process that is told what to do."""

    def __init__(self, command, complaints):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=complaints)

    def ask(self, do, **more):
        """What it answers; raises where it fails."""
        self.process.stdin.write((json.dumps({"do": do, **more}) + "\n").encode())
        self.process.stdin.flush()
        if not select.select([self.process.stdout], [], [], ANSWER_TIMEOUT_S)[0]:
            raise ScenarioFailed(f"no answer to {do} within {ANSWER_TIMEOUT_S} s")
        line = self.process.stdout.readline()
        answer = json.loads(line) if line else {"error": "the program ended"}
        if "error" in answer:
            raise ScenarioFailed(f"{do} {shortened(more)}: {answer['error']}")
        return answer["ok"]

    def end(self):
        self.process.kill()
        self.process.wait()


class Scenario:
    def __init__(self, broker, client):
        self.client = client  # of clients.py
        self.complaints = scenarios.Complaints()
        self.address = HOST, broker.port
        self.raw = Client(self.address)
        self.bootstrap = broker.bootstrap
        self.started = time.monotonic()
        self.program = Program([*map(str, client.command), broker.bootstrap], self.complaints)

    def run(self):
        try:
            for step in (self.records, self.admin):
                step()
                print(f"  {time.monotonic() - self.started:5.1f} s  {step.__name__}", flush=True)
        except ScenarioFailed:
            self.complaints.show("the program")
            raise
        finally:
            self.program.end()

    # Records.

    def records(self):
        for codec in self.client.codecs:
            self.goes_and_comes_back(codec)
        self.begins_at_a_time()

    def goes_and_comes_back(self, codec):
        topic = f"records-{codec}"
        self.raw.create_usable(topic, 2)
        sent = self.all_kinds() + [
            {"key": b"key-%d" % i, "value": b"a value that repeats, number %d" % i, "headers": [], "timestamp": 0}
            for i in range(MANY)]
        self.produce(topic, 1, codec, sent)
        appended = self.raw.read(topic, partition=1)
        used = {CODECS[one.codec] for one in appended}
        if codec not in used or not used <= {codec, "none"}:
            raise ScenarioFailed(f"sent with {codec}, and the batches have {used}")
        kept = records_of(appended)
        self.compare(f"{topic}, as it is kept", sent, kept)
        self.compare(f"{topic}, as it is read", kept, self.consume(topic, 1, offset=0, count=len(sent)))
        middle = len(sent) - 7
        self.compare(f"{topic} from {middle} on", kept[middle:], self.consume(topic, 1, offset=middle, count=7))
        if self.raw.end_offset(topic, 0):
            raise ScenarioFailed(f"{topic}: there is something in the partition that nothing was sent to")

    def all_kinds(self):
        every_byte = bytes(range(256))
        kinds = [
            {"key": b"key", "value": b"value"}, {"key": None, "value": b"without a key"},
            {"key": b"without a value", "value": None}, {"key": b"", "value": b""},
            {"key": every_byte if self.client.binary_keys else b"key", "value": every_byte},
            {"key": "ключ".encode(), "value": "значение €".encode()},
            {"key": b"large", "value": (every_byte * (LARGE // 256 + 1))[:LARGE]},
        ]
        if self.client.headers:
            kinds += [{"key": b"h", "value": b"v", "headers": [
                {"name": "one", "value": b"1"}, {"name": "two", "value": b"second"}, {"name": "empty", "value": b""}]}]
        if self.client.headers and self.client.binary_headers:
            kinds += [{"key": b"h", "value": b"v", "headers": [
                {"name": "bytes", "value": every_byte}, {"name": "заголовок", "value": b"x"}]}]
        if self.client.repeated_headers:
            kinds += [{"key": b"h", "value": b"v", "headers": [
                {"name": "same", "value": b"1"}, {"name": "other", "value": b"2"}, {"name": "same", "value": b"3"}]}]
        if self.client.null_headers:
            kinds += [{"key": b"h", "value": b"v", "headers": [{"name": "null", "value": None}]}]
        out = []
        for number, kind in enumerate(kinds):
            if kind["value"] is None and not self.client.null_values:
                continue
            timestamp = LONG_AGO + number if self.client.timestamps else 0
            out.append({"headers": [], "timestamp": timestamp, **kind})
        return out

    def begins_at_a_time(self):
        if not self.client.from_timestamp:
            return
        topic = "times"
        self.raw.create_usable(topic)
        for number in range(5):
            self.raw.append(topic, b"%d" % number, timestamps=[LONG_AGO + number * SECOND])
        kept = records_of(self.raw.read(topic))
        for timestamp, first in ((LONG_AGO + 2 * SECOND, 2), (LONG_AGO + 2 * SECOND + 1, 3), (0, 0)):
            got = self.consume(topic, 0, timestamp=timestamp, count=5 - first)
            self.compare(f"{topic} from {timestamp} on", kept[first:], got)

    def produce(self, topic, partition, codec, sent):
        told = [{**record, "key": encoded(record["key"]), "value": encoded(record["value"]),
                 "headers": [{**header, "value": encoded(header["value"])} for header in record["headers"]]}
                for record in sent]
        self.program.ask("produce", topic=topic, partition=partition, codec=codec, records=told)

    def consume(self, topic, partition, **more):
        return [{**record, "key": decoded(record["key"]), "value": decoded(record["value"]),
                 "headers": [{**header, "value": decoded(header["value"])} for header in record["headers"] or []]}
                for record in self.program.ask("consume", topic=topic, partition=partition, **more)]

    def compare(self, what, wanted, got):
        if len(wanted) != len(got):
            raise ScenarioFailed(f"{what}: {len(got)} records instead of {len(wanted)}")
        for number, (right, found) in enumerate(zip(wanted, got)):
            names = [name for name in ("offset", "timestamp", "key", "value", "headers")
                     if name in right and not (name == "timestamp" and not right[name])]
            for name in names:
                if not self.same(name, right[name], found[name]):
                    raise ScenarioFailed(f"{what}: {name} of record {number} is {shortened(found[name])} instead of "
                                         f"{shortened(right[name])}")

    def same(self, name, right, found):
        """Some clients cannot tell null from nothing."""
        if not self.client.tells_null_from_empty and name in ("key", "value"):
            return (right or b"") == (found or b"")
        if not self.client.tells_null_from_empty and name == "headers":
            return [(h["name"], h["value"] or b"") for h in right] == [(h["name"], h["value"] or b"") for h in found]
        return right == found

    # Administration.

    def admin(self):
        for step in (self.creates, self.lists_brokers, self.adds_partitions, self.alters_config, self.deletes_records,
                     self.deletes, self.sees_groups):
            step()

    def has(self, *verbs):
        return not set(verbs) & set(self.client.lacks)

    def creates(self):
        if not self.has("create"):
            return
        config = {"retention.ms": "86400000", "cleanup.policy": "compact"}
        self.ask("create", topic="made", count=3, config=config)
        self.raw.await_usable("made", 3)
        self.expect("its partitions", 3, lambda: self.partitions("made"))
        found = self.config("made")
        self.expect("its settings", config, lambda: {name: found[name] for name in config})
        if self.has("topics"):
            self.expect("the client's list has it", True, lambda: "made" in self.ask("topics"))
        if self.has("describe"):
            self.expect("the client counts its partitions", 3, lambda: self.ask("describe", topic="made"))
        self.refuses("create", topic="made", count=1, config={})
        self.refuses("create", topic="no/such name", count=1, config={})

    def lists_brokers(self):
        if self.has("brokers"):
            self.expect("the brokers", [self.bootstrap], lambda: self.ask("brokers"))

    def adds_partitions(self):
        if self.has("add_partitions"):
            self.raw.create_usable("growing", 2)
            self.ask("add_partitions", topic="growing", count=5)
            self.expect("its partitions", 5, lambda: self.partitions("growing"))
            self.refuses("add_partitions", topic="growing", count=3)

    def alters_config(self):
        self.raw.create_usable("altered", 1, {"retention.ms": "1000000", "segment.bytes": "2000000"})
        if self.has("alter_config"):
            changed = {"retention.ms": "2000000", "max.message.bytes": "3000000"}
            # The old request forgets what it is not told.
            kept = {} if self.client.alters_all else {"segment.bytes": "2000000"}
            self.ask("alter_config", topic="altered", config=changed)
            self.expect("its settings", changed | kept,
                        lambda: {name: self.config("altered")[name] for name in changed | kept})
            if self.client.hears_of_bad_settings:
                self.refuses("alter_config", topic="altered", config={"retention.ms": "some"})
        if self.has("config"):
            known = self.config("altered")
            told = self.ask("config", topic="altered")
            names = ("retention.ms", "max.message.bytes", "segment.bytes", "cleanup.policy")
            self.expect("the client's settings", {name: known[name] for name in names},
                        lambda: {name: told.get(name) for name in names})

    def deletes_records(self):
        if self.has("delete_records"):
            self.raw.create_usable("shortened")
            self.raw.append("shortened", *[b"%d" % i for i in range(10)])
            self.ask("delete_records", topic="shortened", partition=0, offset=4)
            self.expect("where it starts", 4, lambda: self.raw.start_offset("shortened"))

    def deletes(self):
        if self.has("delete"):
            self.raw.create_usable("gone", 2)
            self.ask("delete", topic="gone")
            self.expect("whether it is there", 0, lambda: self.partitions("gone"))
            self.refuses("delete", topic="never-made")

    def sees_groups(self):
        self.raw.create_usable("read-by-groups", 2)
        for group in ("first-group", "second-group"):
            self.commit(group, "read-by-groups", 1, 17)
        if self.has("groups"):
            self.expect("the groups", ["first-group", "second-group"],
                        lambda: sorted(group for group in self.ask("groups") if group.endswith("-group")))
        if self.has("group_offsets"):
            self.expect("what it has committed", 17, lambda: self.ask(
                "group_offsets", group="first-group", topic="read-by-groups", partition=1))
        if self.has("delete_group"):
            self.ask("delete_group", group="first-group")
            listed = self.raw.call("ListGroups", 4, statesFilter=[]).groups
            self.expect("the groups left", ["second-group"],
                        lambda: [one.groupId for one in listed if one.groupId.endswith("-group")])

    def ask(self, do, **more):
        return self.program.ask(do, **more)

    def refuses(self, do, **more):
        try:
            self.program.ask(do, **more)
        except ScenarioFailed:
            return
        raise ScenarioFailed(f"{do} {more} should have failed")

    def expect(self, what, wanted, ask):
        """Metadata may trail for a moment."""
        got = []

        def same():
            got[:] = [ask()]
            return got[0] == wanted

        if not eventually(same):
            raise ScenarioFailed(f"{what}: {shortened(got[0])} instead of {shortened(wanted)}")

    def partitions(self, topic):
        found = self.raw.metadata(topic).topics[0]
        return 0 if found.errorCode == codes.UNKNOWN_TOPIC_OR_PARTITION else len(found.partitions)

    def config(self, topic):
        asked = [{"resourceType": 2, "resourceName": topic, "configurationKeys": None}]
        answer = self.raw.call("DescribeConfigs", 4, resources=asked, includeSynonyms=False, includeDocumentation=False)
        return {one.name: one.value for one in answer.results[0].configs}

    def commit(self, group, topic, partition, offset):
        def done():
            self.raw.call("FindCoordinator", 4, keyType=0, coordinatorKeys=[group])
            answer = self.raw.call("OffsetCommit", 8, groupId=group, generationIdOrMemberEpoch=-1, memberId="",
                                   groupInstanceId=None, topics=[{"name": topic, "partitions": [{
                                       "partitionIndex": partition, "committedOffset": offset,
                                       "committedLeaderEpoch": -1, "committedMetadata": ""}]}])
            return answer.topics[0].partitions[0].errorCode == codes.NONE

        if not eventually(done):
            raise ScenarioFailed(f"{group} cannot commit")


def shortened(value):
    text = str(value)
    return text if len(text) < 300 else text[:300] + "…"
