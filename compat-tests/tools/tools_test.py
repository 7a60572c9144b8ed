#!/usr/bin/env python3
"""Apache Kafka's command-line tools say the same of Barnabas as of Apache Kafka in the same state.

Both are brought there by the same steps. `tools_test.py [Topics.test_NAME] [-v]`; what each case normalises, it says.
"""

import json
import re
import sys
import tempfile

import sides
from acl_cases import AccessControl  # noqa: F401
from group_cases import GroupOffsetsReset, GroupsDeleted, GroupsListedAndDescribed  # noqa: F401
from group_change_cases import GroupsAfterChanges  # noqa: F401
from group_file_cases import GroupFiles  # noqa: F401
from quota_cases import Quotas  # noqa: F401
from records import batch
from sides import TARGETS, SideBySideTest
from transaction_cases import TransactionFiles, TransactionsAborted, TransactionsDescribed  # noqa: F401
import user_cases
from user_cases import DelegationTokens, ScramUsers  # noqa: F401

PROPERTIES = {
    # Entries can be made, and are about others.
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
    "allow.everyone.if.no.acl.found": "true",
    "num.partitions": "1",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
    # So that a transaction can hang: a partition has it, and its coordinator has not.
    "transaction.partition.verification.enable": "false",
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "log.retention.ms": "-1",
    "log.initial.task.delay.ms": "500",
    # So that both have written a snapshot of the metadata when the files are looked at.
    "metadata.log.max.record.bytes.between.snapshots": "1000",
}
TIME = 1_700_000_000_000

# APIs that Apache Kafka 4.4's broker listener serves and Barnabas does not yet. What lands must go from here.
MISSING_APIS = {
    "UnregisterController",
    "ShareGroupHeartbeat", "ShareGroupDescribe", "ShareFetch", "ShareAcknowledge", "InitializeShareGroupState",
    "ReadShareGroupState", "WriteShareGroupState", "DeleteShareGroupState", "ReadShareGroupStateSummary",
    "StreamsGroupHeartbeat", "StreamsGroupDescribe", "StreamsGroupTopologyDescriptionUpdate", "DescribeShareGroupOffsets", "AlterShareGroupOffsets",
    "DeleteShareGroupOffsets", "AddRaftVoter", "RemoveRaftVoter",
}


def text_file(case, content):
    file = tempfile.NamedTemporaryFile("w")
    case.addCleanup(file.close)
    file.write(content)
    file.flush()
    return file.name


def json_file(case, content):
    return text_file(case, json.dumps(content))


def made(case, name, partitions=1, configs=None):
    """The topic on both sides, usable."""
    for side in case.sides.values():
        side.client.create_usable(name, partitions, configs)
    return name


def filled(case, name, partitions=1, configs=None, batches=3):
    """The topic on both sides with the same records, of known times."""
    made(case, name, partitions, configs)
    for side in case.sides.values():
        for partition in range(partitions):
            for number in range(batches):
                side.client.append(name, b"a", b"bb", b"ccc", partition=partition,
                                   timestamps=[TIME + 1000 * number] * 3)
    return name


def without_numbers(text):
    return re.sub(r"\d+", "N", text)


class Topics(SideBySideTest):
    def test_from_creation_to_deletion(self):
        name = "life.of_a-topic"
        self.once("topics", "--create", "--topic", name, "--partitions", 3, "--replication-factor", 1,
                  "--config", "retention.ms=86400000", "--config", "cleanup.policy=compact,delete")
        self.once("topics", "--create", "--topic", name, exit_code=1)
        self.once("topics", "--create", "--topic", name, "--if-not-exists", exit_code=None)
        self.same("topics", "--describe", "--topic", name, normal=sorted_configs)
        self.once("topics", "--alter", "--topic", name, "--partitions", 5)
        self.same("topics", "--describe", "--topic", name, normal=sorted_configs)
        self.once("topics", "--alter", "--topic", name, "--partitions", 4, exit_code=1)
        self.once("topics", "--alter", "--topic", name, "--partitions", 5, exit_code=1)
        self.once("topics", "--delete", "--topic", name)
        self.same("topics", "--list")
        self.same("topics", "--describe", "--topic", name, exit_code=1)
        self.once("topics", "--delete", "--topic", name, exit_code=1)
        self.once("topics", "--delete", "--topic", name, "--if-exists")

    def test_what_cannot_be_created(self):
        for arguments in (["--topic", "a b"], ["--topic", "."], ["--topic", "x" * 250],
                          ["--topic", "bad", "--replication-factor", 3], ["--topic", "bad", "--partitions", 0],
                          ["--topic", "bad", "--replica-assignment", "1,2"],
                          ["--topic", "bad", "--replica-assignment", "1:1,1:1"],
                          ["--topic", "bad", "--config", "nope=1"], ["--topic", "bad", "--config", "retention.ms=x"],
                          ["--topic", "bad", "--partitions", 20000]):
            with self.subTest(arguments=arguments):
                self.once("topics", "--create", *arguments, exit_code=1)
        self.once("topics", "--create", "--topic", "assigned", "--replica-assignment", "1,1,1")
        self.same("topics", "--describe", "--topic", "assigned")

    def test_listing_and_describing(self):
        made(self, "filter-a", 2)
        made(self, "filter-b", 1, {"segment.bytes": "1048576"})
        self.same("topics", "--list")
        self.same("topics", "--list", "--exclude-internal")
        for more in ([], ["--topic", "filter-.*"], ["--topics-with-overrides"], ["--unavailable-partitions"],
                     ["--under-replicated-partitions"], ["--under-min-isr-partitions"], ["--at-min-isr-partitions"],
                     ["--exclude-internal"], ["--topic", "nope", "--if-exists"]):
            with self.subTest(more=more):
                self.same("topics", "--describe", *more, normal=sorted_configs)
        self.same("topics", "--describe", "--topic-id", "AAAAAAAAAAAAAAAAAAAABB", exit_code=1)
        self.same("topics", "--describe", "--topic", "nope", exit_code=1)
        self.once("topics", "--alter", "--topic", "nope", "--partitions", 2, exit_code=1)


class Records(SideBySideTest):
    def test_offsets(self):
        name = filled(self, "offsets", 2)
        for more in ([], ["--time", -1], ["--time", "latest"], ["--time", -2], ["--time", "earliest"], ["--time", -3],
                     ["--time", "max-timestamp"], ["--time", -4], ["--time", "earliest-local"], ["--time", -5],
                     ["--time", "latest-tiered"], ["--time", -6], ["--time", "earliest-pending-upload"],
                     ["--time", 0], ["--time", TIME], ["--time", TIME + 1], ["--time", TIME + 2000],
                     ["--time", TIME + 2001], ["--partitions", "1"], ["--topic-partitions", f"{name}:0"]):
            with self.subTest(more=more):
                topic = [] if "--topic-partitions" in more else ["--topic", name]
                self.same("get-offsets", *topic, *more, exit_code=None)
        self.same("get-offsets", "--topic", "nope", exit_code=1)

    def test_deleting_records(self):
        name = filled(self, "deleting", 3)
        wanted = [{"topic": name, "partition": p, "offset": offset} for p, offset in ((0, 4), (1, -1), (2, 0))]
        # Of what does not exist the client alone tells, after a minute of asking for metadata.
        for content in (wanted, wanted[:1], [{"topic": name, "partition": 0, "offset": 100}],
                        [{"topic": name, "partition": 0, "offset": -5}], wanted[:1] * 2):
            with self.subTest(content=content):
                path = json_file(self, {"version": 1, "partitions": content})
                self.once("delete-records", "--offset-json-file", path, exit_code=None)
        self.same("get-offsets", "--topic", name, "--time", "earliest")

    def test_log_dirs(self):
        filled(self, "log-dirs", 2)
        self.same("log-dirs", "--describe", "--topic-list", "log-dirs")
        self.same("log-dirs", "--describe", "--topic-list", "log-dirs,nope", "--broker-list", 1)
        self.same("log-dirs", "--describe", "--broker-list", "1,7", exit_code=None)


class Cluster(SideBySideTest):
    def test_features(self):
        def levels(text):
            # The epoch is an offset of the metadata log, which Apache Kafka fills with records that do nothing.
            return re.sub(r"Epoch: \d+", "Epoch: N", text)

        self.same("features", "describe", normal=levels)
        for arguments in (["upgrade", "--dry-run", "--metadata", "4.4-IV2"],
                          ["upgrade", "--dry-run", "--feature", "group.version=1"],
                          ["upgrade", "--dry-run", "--feature", "group.version=9"],
                          ["upgrade", "--dry-run", "--feature", "nope.version=1"],
                          ["downgrade", "--dry-run", "--feature", "transaction.version=1"],
                          ["downgrade", "--dry-run", "--metadata", "4.0-IV3"],
                          ["downgrade", "--dry-run", "--unsafe", "--metadata", "3.7-IV4"],
                          ["disable", "--dry-run", "--feature", "group.version"],
                          ["disable", "--dry-run", "--unsafe", "--feature", "kraft.version"],
                          ["upgrade", "--dry-run", "--release-version", "4.4"],
                          ["version-mapping", "--release-version", "4.3-IV0"],
                          ["feature-dependencies", "--feature", "eligible.leader.replicas.version=1"]):
            with self.subTest(arguments=arguments):
                self.same("features", *arguments, exit_code=None)
        self.once("features", "downgrade", "--feature", "share.version=1")
        self.same("features", "describe", normal=levels)
        self.once("features", "upgrade", "--feature", "share.version=2")
        self.same("features", "describe", normal=levels)

    def test_metadata_quorum(self):
        # Apache Kafka's log grows twice a second with records that do nothing, a leader's epoch depends on how often
        # it started, and the controller's listener has a port of its own.
        numbers = without_numbers
        self.same("metadata-quorum", "describe", "--status", normal=numbers)
        self.same("metadata-quorum", "describe", "--replication", normal=numbers)
        self.same("metadata-quorum", "describe", "--replication", "--human-readable",
                  normal=lambda text: re.sub(r"ms ago", "", numbers(text)))

    def test_cluster(self):
        self.same("cluster", "cluster-id")
        self.same("cluster", "list-endpoints")
        self.same("cluster", "list-endpoints", "--include-fenced-brokers")
        self.once("cluster", "unregister", "--id", 17, exit_code=None)

    def test_api_versions(self):
        answers = {target: self.ask(target, "broker-api-versions", raw=True) for target in TARGETS}
        self.assertEqual([code for code, _, _ in answers.values()], [0, 0])
        kafka, barnabas = (self.apis(out) for _, out, _ in answers.values())
        missing = {name for name, versions in barnabas.items() if versions == "UNSUPPORTED"
                   and kafka[name] != "UNSUPPORTED"}
        self.assertEqual(missing, MISSING_APIS)
        # Apache Kafka has these only with a reporter that takes what clients push.
        telemetry = {"GetTelemetrySubscriptions", "PushTelemetry"}
        self.assertEqual({kafka.get(name, "UNSUPPORTED") for name in telemetry}, {"UNSUPPORTED"})
        for name, versions in barnabas.items():
            if name not in missing | telemetry:
                self.assertEqual(versions, kafka.get(name), name)
        self.assertEqual(set(barnabas) - set(kafka), set())

    @staticmethod
    def apis(out):
        return {match[1]: match[2] for match in re.finditer(r"(\w+)\(\d+\): (.*?),?$", out, re.MULTILINE)}

    def test_leader_election(self):
        name = made(self, "election", 2)
        self.once("leader-election", "--election-type", "preferred", "--topic", name, "--partition", 0)
        self.once("leader-election", "--election-type", "unclean", "--topic", name, "--partition", 1)
        self.once("leader-election", "--election-type", "preferred", "--all-topic-partitions")
        self.once("leader-election", "--election-type", "preferred", "--topic", "nope", "--partition", 0, exit_code=1)
        path = json_file(self, {"partitions": [{"topic": name, "partition": 0}, {"topic": name, "partition": 7}]})
        self.once("leader-election", "--election-type", "preferred", "--path-to-json-file", path, exit_code=1)

    def test_reassigning_partitions(self):
        name = made(self, "reassign", 2)

        def plan(replicas, topic=name):
            return json_file(self, {"version": 1, "partitions": [
                {"topic": topic, "partition": p, "replicas": replicas} for p in (0, 1)]})

        topics = json_file(self, {"version": 1, "topics": [{"topic": name}]})
        self.same("reassign-partitions", "--list")
        self.same("reassign-partitions", "--generate", "--topics-to-move-json-file", topics, "--broker-list", "1")
        self.same("reassign-partitions", "--generate", "--topics-to-move-json-file", topics, "--broker-list", "1,2",
                  exit_code=None)
        # Of a topic or a broker that does not exist the client alone tells, after it has looked for it so long.
        impatient = ["--command-config", text_file(self, "request.timeout.ms=1000\ndefault.api.timeout.ms=2000\n")]
        for path in (plan([1]), plan([2])):
            with self.subTest(path=path):
                plan_of = ["--reassignment-json-file", path, *impatient]
                self.once("reassign-partitions", "--execute", *plan_of, exit_code=None)
                self.same("reassign-partitions", "--verify", *plan_of, exit_code=None)
                self.once("reassign-partitions", "--cancel", *plan_of, exit_code=None)
        self.same("reassign-partitions", "--list")


class Configs(SideBySideTest):
    def test_of_topics(self):
        name = made(self, "configured", 1, {"retention.ms": "1000000"})
        of_topic = ["--entity-type", "topics", "--entity-name", name]
        self.same("configs", "--describe", *of_topic)
        self.same("configs", "--describe", "--all", *of_topic, normal=sorted_lines)
        self.once("configs", "--alter", *of_topic, "--add-config",
                  "cleanup.policy=[compact,delete],segment.bytes=2000000,max.message.bytes=5000")
        self.once("configs", "--alter", *of_topic, "--delete-config", "retention.ms")
        self.same("configs", "--describe", *of_topic, normal=sorted_lines)
        self.same("topics", "--describe", "--topic", name, normal=sorted_configs)
        for bad in ("nope=1", "retention.ms=x", "segment.bytes=1", "min.insync.replicas=0"):
            with self.subTest(bad=bad):
                self.once("configs", "--alter", *of_topic, "--add-config", bad, exit_code=1)
        self.once("configs", "--alter", *of_topic, "--delete-config", "segment.ms", exit_code=None)
        self.once("configs", "--alter", "--entity-type", "topics", "--entity-name", "nope", "--add-config",
                  "retention.ms=1", exit_code=1)

    def test_of_brokers(self):
        one, every = ["--entity-type", "brokers", "--entity-name", 1], ["--entity-type", "brokers", "--entity-default"]
        self.same("configs", "--describe", *one)
        self.same("configs", "--describe", *every)
        self.once("configs", "--alter", *one, "--add-config", "log.cleaner.backoff.ms=20000")
        self.once("configs", "--alter", *every, "--add-config", "log.cleaner.backoff.ms=30000,message.max.bytes=2000000")
        self.same("configs", "--describe", *one, normal=sorted_lines)
        self.same("configs", "--describe", *every, normal=sorted_lines)
        self.once("configs", "--alter", *every, "--delete-config", "log.cleaner.backoff.ms,message.max.bytes")
        self.once("configs", "--alter", *one, "--delete-config", "log.cleaner.backoff.ms")
        self.same("configs", "--describe", *one)
        for bad in ("node.id=7", "nope=1", "log.cleaner.threads=x"):
            with self.subTest(bad=bad):
                self.once("configs", "--alter", *one, "--add-config", bad, exit_code=None)
        self.same("configs", "--describe", "--entity-type", "brokers", "--entity-name", 9, exit_code=None)

    def test_of_groups_and_client_metrics(self):
        for kind, setting in (("groups", "consumer.session.timeout.ms=50000"), ("client-metrics", "interval.ms=60000")):
            entity = ["--entity-type", kind, "--entity-name", "some"]
            self.once("configs", "--alter", *entity, "--add-config", setting)
            self.same("configs", "--describe", *entity)
            self.same("configs", "--describe", "--all", *entity, normal=sorted_lines)
            self.same("configs", "--describe", "--entity-type", kind, normal=sorted_lines)
            self.once("configs", "--alter", *entity, "--delete-config", setting.partition("=")[0])
            self.once("configs", "--alter", *entity, "--add-config", "nope=1", exit_code=1)


class WhatIsOnDisk(SideBySideTest):
    """The nodes' directories, after both were stopped: the last of the cases."""

    @classmethod
    def setUpClass(cls):
        # Made once: gzip notes the time.
        compressed = [batch(b"x" * 100, b"y" * 100, keys=(b"k", b"l"), timestamps=[TIME + 900] * 2, codec=codec)
                      for codec in (1, 2)]
        for side in cls.sides.values():
            cls.write(side.client, compressed)
            side.broker.stop()
            side.client.close()

    @staticmethod
    def write(client, compressed):
        client.create_usable("dumped", 1, {"segment.bytes": "1048576", "index.interval.bytes": "4096"})
        producer = client.new_producer_id()
        for number in range(300):
            fields = {"producer_id": producer, "producer_epoch": 0, "sequence": number} if number < 5 else {}
            client.append("dumped", b"v" * 5000, timestamps=[TIME + number], **fields)
        for content in compressed:
            client.produce("dumped", content)

    def files(self, pattern):
        """Names below the data directory that match, which must be the same on both."""
        found = {target: sorted(str(path.relative_to(side.broker.data_dir))
                                for path in side.broker.data_dir.glob(pattern))
                 for target, side in self.sides.items()}
        self.assertEqual(found["kafka"], found["barnabas"])
        self.assertTrue(found["kafka"], pattern)
        return found["kafka"]

    def dump(self, name, *options):
        def path(side):
            return side.broker.data_dir / name

        return self.once("dump-log", *options, "--files", path, bootstrap=False)

    def test_records(self):
        for name in self.files("dumped-0/*.log"):
            self.dump(name, "--deep-iteration")
            self.assertIn("lastOffset", self.dump(name))
        self.assertIn("payload: vvv", self.dump("dumped-0/00000000000000000000.log", "--print-data-log"))

    def test_indexes(self):
        for name in self.files("dumped-0/*.index") + self.files("dumped-0/*.timeindex"):
            printed = self.dump(name)
            self.dump(name, "--verify-index-only")
            self.dump(name, "--index-sanity-check")
            if "/00000000000000000000." in name:
                self.assertGreater(len(printed.splitlines()), 50)

    def test_producer_snapshots(self):
        for name in self.files("dumped-0/*.snapshot"):
            self.assertIn("producerId: ", self.dump(name))

    def test_transaction_indexes(self):
        """Only where transactions were aborted, of records or of offsets; what is in them TransactionFiles compares."""
        written = {target: sorted(path.parent.name for path in side.broker.data_dir.glob("*/*.txnindex") if path.stat().st_size)
                   for target, side in self.sides.items()}
        self.assertEqual(written["kafka"], written["barnabas"])
        topics = {name.rpartition("-")[0] for name in written["kafka"]}
        self.assertLessEqual(topics, {"tools-transactions", "__consumer_offsets"})

    def check_metadata(self, found):
        """No kind of record, version or field that Apache Kafka has not written in the same state. It writes more: records
        that do nothing, empty lists where none would do as well, and its newest snapshot is of another moment."""
        kafka, barnabas = (found[target] for target in TARGETS)
        self.assertEqual(set(barnabas) - set(kafka), set())
        for kind, fields in barnabas.items():
            self.assertEqual(fields - kafka[kind], set(), kind)
        for kind in ("FEATURE_LEVEL", "REGISTER_BROKER", "TOPIC", "PARTITION", "CONFIG", "REGISTER_CONTROLLER"):
            versions = [{version for name, version in side if name == kind + "_RECORD"} for side in (kafka, barnabas)]
            self.assertTrue(versions[1], kind)
            self.assertEqual(*versions, kind)

    def test_metadata_log(self):
        self.check_metadata({
            target: self.kinds(target, *sorted(path.name for path in
                                               side.broker.data_dir.glob("__cluster_metadata-0/*.log")))
            for target, side in self.sides.items()})

    def test_metadata_snapshots(self):
        found = {}
        for target, side in self.sides.items():
            newest = max(path.name for path in side.broker.data_dir.glob("__cluster_metadata-0/*.checkpoint"))
            self.assertNotEqual(int(newest.partition("-")[0]), 0, f"{target} has written no snapshot")
            found[target] = self.kinds(target, newest)
        self.check_metadata(found)

    def kinds(self, target, *names):
        """(type, version) of metadata files' records → the names of their fields."""
        directory = self.sides[target].broker.data_dir / "__cluster_metadata-0"
        paths = ",".join(str(directory / name) for name in names)
        # The tool complains of every file that does not begin with offset 0.
        code, out, _ = self.ask(target, "dump-log", "--cluster-metadata-decoder", "--files", paths, bootstrap=False,
                                raw=True)
        self.assertEqual(code, 0)
        self.assertNotIn("isvalid: false", out)
        found = {}
        for line in out.splitlines():
            record = re.search(r"headerKeys: \[\] (?:payload: )?(?:(\w+):? )?(\{.*\})$", line)
            if line.startswith("| offset:"):
                self.assertTrue(record, line)
                content = json.loads(record[2])
                kind, fields = (record[1], content) if record[1] else (content["type"], content["data"])
                found.setdefault((kind, content["version"]), set()).update(fields)
        return found

    def test_storage_tool(self):
        kafka_settings = (self.sides["kafka"].broker.home / "node-1" / "server.properties").read_text()

        def settings(side):
            """Those of Apache Kafka, with the other directory in them."""
            file = tempfile.NamedTemporaryFile("w", suffix=".properties")
            self.addCleanup(file.close)
            file.write(kafka_settings.replace(str(self.sides["kafka"].broker.data_dir), str(side.broker.data_dir)))
            file.flush()
            return file.name

        def without_order(text):
            # A hash table's.
            return re.sub(r"\{(.*)\}", lambda match: "{" + ", ".join(sorted(match[1].split(", "))) + "}", text)

        self.once("storage", "info", "--config", settings, bootstrap=False, normal=without_order)
        printed = self.once("storage", "format", "--cluster-id", "AAAAAAAAAAAAAAAAAAAABB", "--config", settings,
                            bootstrap=False, exit_code=1)
        self.assertNotIn("Formatting", printed)


def sorted_configs(text):
    """As sorted_lines, for the one line that topics are described with."""
    return re.sub(r"(Configs: )(\S*)", lambda match: match[1] + ",".join(sorted(match[2].split(","))), text)


def sorted_lines(text):
    """Apache Kafka lists settings in the order of a hash table."""
    return "\n".join(sorted(text.splitlines()))


if __name__ == "__main__":
    sys.exit(sides.main(PROPERTIES | user_cases.PROPERTIES, {user_cases.LISTENER: "SASL_PLAINTEXT"}))
