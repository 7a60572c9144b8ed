"""DescribeConfigs, the configs of CreateTopics, and DescribeLogDirs."""

import unittest

import apis
import codes
import wire
from base import ConformanceTest, eventually
from records import batch

TOPIC, BROKER, BROKER_LOGGER = 2, 4, 8
OF_TOPIC, OF_BROKER, OF_ALL_BROKERS, STATIC, DEFAULT = 1, 2, 3, 4, 5
TYPES = {"boolean": 1, "string": 2, "int": 3, "short": 4, "long": 5, "double": 6, "list": 7, "class": 8, "password": 9}

TOPIC_DEFAULTS = {
    "cleanup.policy": "delete", "compression.gzip.level": "-1", "compression.lz4.level": "9",
    "compression.type": "producer", "compression.zstd.level": "3", "delete.retention.ms": "86400000",
    "errors.deadletterqueue.group.enable": "false", "file.delete.delay.ms": "60000",
    "flush.messages": "9223372036854775807", "flush.ms": "9223372036854775807",
    "follower.replication.throttled.replicas": "", "index.interval.bytes": "4096",
    "leader.replication.throttled.replicas": "", "local.retention.bytes": "-2", "local.retention.ms": "-2",
    "max.compaction.lag.ms": "9223372036854775807", "max.decompressed.message.bytes": "2147483639",
    "max.message.bytes": "1048588", "message.timestamp.after.max.ms": "3600000",
    "message.timestamp.before.max.ms": "9223372036854775807", "message.timestamp.type": "CreateTime",
    "min.cleanable.dirty.ratio": "0.5", "min.compaction.lag.ms": "0", "min.insync.replicas": "1",
    "preallocate": "false", "remote.copy.lag.bytes": "-1", "remote.copy.lag.ms": "0",
    "remote.log.copy.disable": "false", "remote.log.delete.on.disable": "false", "remote.storage.enable": "false",
    "retention.bytes": "-1", "retention.ms": "604800000", "segment.bytes": "1073741824",
    "segment.index.bytes": "10485760", "segment.jitter.ms": "0", "segment.ms": "604800000",
    "unclean.leader.election.enable": "false",
}


class Describing(ConformanceTest):
    def describe(self, name, keys=None, kind=TOPIC, version=4, synonyms=False, documentation=False):
        answer = self.client.call("DescribeConfigs", version, includeSynonyms=synonyms,
                                  includeDocumentation=documentation, resources=[
                                      {"resourceType": kind, "resourceName": name, "configurationKeys": keys}])
        (got,) = answer.results
        self.assertEqual((got.resourceType, got.resourceName), (kind, name))
        return got

    def configs(self, name, keys=None, **fields):
        got = self.describe(name, keys, **fields)
        self.assertEqual(got.errorCode, 0, got.errorMessage)
        return {config.name: config for config in got.configs}

    def plain_topic(self, **configs):
        name = self.new_name()
        self.client.create_usable(name, 1, {key.replace("_", "."): value for key, value in configs.items()})
        return name

    def test_every_topic_key_with_its_default(self):
        name = self.plain_topic()
        for version in apis.versions("DescribeConfigs"):
            got = self.configs(name, version=version)
            self.assertEqual({key: config.value for key, config in got.items()}, TOPIC_DEFAULTS)
            self.assertEqual({(c.readOnly, c.isSensitive) for c in got.values()}, {(False, False)})

    def test_types(self):
        types = {config["name"]: TYPES[config["type"]] for config in wire.config_facts()["topic"]
                 if config["name"] in TOPIC_DEFAULTS}
        for version in (3, 4):
            got = self.configs(self.plain_topic(), version=version)
            self.assertEqual({key: config.configType for key, config in got.items()}, types)

    def test_only_what_was_set_on_the_topic_has_the_topics_source(self):
        for configs in ({}, {"retention_ms": "12345"}, {"retention_ms": "604800000", "cleanup_policy": "compact"}):
            name = self.plain_topic(**configs)
            for version in apis.versions("DescribeConfigs"):
                got = self.configs(name, version=version)
                self.assertEqual({key.replace(".", "_"): c.value for key, c in got.items() if c.configSource == OF_TOPIC},
                                 configs)

    def test_creation_tells_the_same_as_the_description(self):
        name = self.new_name()
        made = self.client.create(name, 1, {"retention.ms": "12345", "segment.bytes": "2000000"})
        self.client.await_usable(name)
        self.assertEqual([c.name for c in made.configs], sorted(TOPIC_DEFAULTS))
        described = self.configs(name)
        self.assertEqual({c.name: (c.value, c.configSource, c.readOnly, c.isSensitive) for c in made.configs},
                         {c.name: (c.value, c.configSource, c.readOnly, c.isSensitive) for c in described.values()})

    def test_synonyms_go_from_the_topic_to_the_default(self):
        name = self.plain_topic(max_message_bytes="2000000")
        for version in apis.versions("DescribeConfigs"):
            got = self.configs(name, version=version, synonyms=True)

            def synonyms(key, got=got):
                return [(s.name, s.value, s.source) for s in got[key].synonyms]

            self.assertEqual(synonyms("max.message.bytes"), [
                ("max.message.bytes", "2000000", OF_TOPIC), ("message.max.bytes", "1048588", DEFAULT)])
            self.assertEqual(synonyms("segment.bytes"), [("log.segment.bytes", "1073741824", DEFAULT)])
            self.assertEqual(synonyms("cleanup.policy"), [("log.cleanup.policy", "delete", DEFAULT)])
            self.assertEqual(synonyms("flush.messages"),
                             [("log.flush.interval.messages", "9223372036854775807", DEFAULT)])
            self.assertEqual(synonyms("index.interval.bytes"), [("log.index.interval.bytes", "4096", DEFAULT)])
            self.assertEqual(synonyms("min.insync.replicas")[-1], ("min.insync.replicas", "1", DEFAULT))
        without = {key for key, config in got.items() if not config.synonyms}
        self.assertEqual(without, {
            "errors.deadletterqueue.group.enable", "flush.ms", "follower.replication.throttled.replicas",
            "leader.replication.throttled.replicas", "remote.log.copy.disable", "remote.log.delete.on.disable",
            "remote.storage.enable", "retention.ms", "segment.jitter.ms", "segment.ms"})
        self.assertTrue(all(c.synonyms == [] for c in self.configs(name).values()))

    def test_chosen_keys_only_and_unknown_ones_are_left_out(self):
        name = self.plain_topic()
        for version in apis.versions("DescribeConfigs"):
            got = self.configs(name, ["segment.bytes", "no.such.key", "retention.ms", "segment.bytes"], version=version)
            self.assertEqual(set(got), {"segment.bytes", "retention.ms"})
            for all_keys in (None, []):
                self.assertEqual(len(self.configs(name, all_keys, version=version)), len(TOPIC_DEFAULTS))

    def test_documentation_only_when_asked(self):
        name = self.plain_topic()
        self.assertTrue(all(c.documentation for c in self.configs(name, documentation=True).values()))
        self.assertTrue(all(c.documentation is None for c in self.configs(name).values()))

    def test_topics_that_are_not_there(self):
        for name, code, message in (("unknown", codes.UNKNOWN_TOPIC_OR_PARTITION, ""),
                                    ("", codes.INVALID_TOPIC, "Topic name is invalid: the empty string is not allowed"),
                                    ("a b", codes.INVALID_TOPIC, None)):
            got = self.describe(name)
            self.assertEqual((got.errorCode, got.configs), (code, []))
            if message is not None:
                self.assertEqual(got.errorMessage or "", message)

    def test_resources_are_answered_in_their_order(self):
        name = self.plain_topic()
        answer = self.client.call("DescribeConfigs", 4, resources=[
            {"resourceType": kind, "resourceName": one, "configurationKeys": ["retention.ms"]}
            for kind, one in ((TOPIC, "unknown"), (TOPIC, name), (BROKER, "999"), (TOPIC, name))])
        self.assertEqual(sorted((r.resourceName, r.errorCode) for r in answer.results),
                         sorted([("unknown", 3), (name, 0), ("999", 42), (name, 0)]))
        self.assertEqual(self.client.call("DescribeConfigs", 4, resources=[]).results, [])

    def test_the_brokers_own_configs(self):
        for version in apis.versions("DescribeConfigs"):
            got = self.configs("1", kind=BROKER, version=version, synonyms=True)
            self.assertGreaterEqual(set(got), {"log.dirs", "listeners", "node.id", "message.max.bytes", "num.io.threads"})
            self.assertEqual((got["node.id"].value, got["node.id"].readOnly, got["node.id"].configSource),
                             ("1", True, STATIC))
            self.assertEqual((got["log.retention.check.interval.ms"].value,
                              got["log.retention.check.interval.ms"].configSource), ("300", STATIC))
            self.assertEqual([(s.value, s.source) for s in got["log.retention.check.interval.ms"].synonyms],
                             [("300", STATIC), ("300000", DEFAULT)])
            self.assertEqual((got["message.max.bytes"].readOnly, got["message.max.bytes"].configSource), (False, DEFAULT))
            for key in ("log.retention.ms", "log.retention.minutes", "log.roll.ms", "log.flush.interval.ms"):
                self.assertEqual((got[key].value, got[key].synonyms), (None, []))
            self.assertEqual(got["log.cleaner.io.max.bytes.per.second"].value, "1.7976931348623157E308")
            for name, config in got.items():
                if config.isSensitive:
                    self.assertIsNone(config.value, name)
            self.assertTrue(got["ssl.keystore.password"].isSensitive)

    def test_the_broker_knows_kafkas_keys_and_no_others(self):
        known = {config["name"]: config for config in wire.config_facts()["broker"]}
        got = self.configs("1", kind=BROKER)
        # Ours are shown where they are set, which the harness does with one.
        self.assertEqual([name for name in got if name not in known and name != "http.listeners"], [])
        for name, config in got.items():
            if name in known:
                self.assertEqual((config.configType, config.readOnly), (
                    TYPES[known[name]["type"]], known[name]["updateMode"] == "read-only"), name)

    def test_the_empty_name_stands_for_all_brokers_dynamic_configs(self):
        got = self.configs("", kind=BROKER)
        self.assertLessEqual(set(got), {"min.insync.replicas"})
        self.assertLessEqual({c.configSource for c in got.values()}, {OF_ALL_BROKERS})

    def test_other_brokers_and_names_that_are_no_number(self):
        for kind in (BROKER, BROKER_LOGGER):
            for name in ("999", "abc", "-1", "1.0", " 1"):
                got = self.describe(name, kind=kind)
                self.assertEqual((got.errorCode, got.configs), (codes.INVALID_REQUEST, []))
                self.assertTrue(got.errorMessage)

    def test_unknown_resource_types(self):
        for kind in (0, 1, 3, 5, 99, -1, 127):
            got = self.describe("x", kind=kind)
            self.assertEqual((got.errorCode, got.configs), (codes.INVALID_REQUEST, []))


class CreationConfigs(ConformanceTest):
    def create(self, configs, version=7):
        topic = {"name": self.new_name(), "numPartitions": 1, "replicationFactor": 1,
                 "configs": [{"name": name, "value": value} for name, value in configs]}
        (got,) = self.client.call("CreateTopics", version, topics=[topic], timeoutMs=10000, validateOnly=True).topics
        return got

    def test_bad_values_are_invalid_configs_with_a_message(self):
        def invalid(name, value, why):
            return f"Invalid value {value} for configuration {name}: {why}"

        for configs, message in (
                ([("retention.ms", "abc")], invalid("retention.ms", "abc", "Not a number of type LONG")),
                ([("segment.bytes", "abc")], invalid("segment.bytes", "abc", "Not a number of type INT")),
                ([("retention.ms", "9" * 20)], invalid("retention.ms", "9" * 20, "Not a number of type LONG")),
                ([("retention.ms", "-2")], invalid("retention.ms", "-2", "Value must be at least -1")),
                ([("segment.bytes", "1000")], invalid("segment.bytes", "1000", "Value must be at least 1048576")),
                ([("max.message.bytes", "-1")], invalid("max.message.bytes", "-1", "Value must be at least 0")),
                ([("min.insync.replicas", "0")], invalid("min.insync.replicas", "0", "Value must be at least 1")),
                ([("min.cleanable.dirty.ratio", "1.5")],
                 invalid("min.cleanable.dirty.ratio", "1.5", "Value must be no more than 1")),
                ([("preallocate", "maybe")],
                 invalid("preallocate", "maybe", "Expected value to be either true or false")),
                ([("cleanup.policy", "bad")],
                 invalid("cleanup.policy", "bad", "String must be one of: compact, delete")),
                ([("compression.type", "LZ4")], invalid(
                    "compression.type", "LZ4",
                    "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer")),
                ([("message.timestamp.type", "X")],
                 invalid("message.timestamp.type", "X", "String must be one of: CreateTime, LogAppendTime")),
                ([("compression.gzip.level", "0")],
                 invalid("compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1")),
                ([("nope", "1")], "Unknown topic config name: nope"),
                ([("", "1")], "Unknown topic config name: "),
                ([("log.retention.ms", "1")], "Unknown topic config name: log.retention.ms"),
                ([("retention.ms", "abc"), ("nope", "1")], "Unknown topic config name: nope"),
                ([("retention.ms", None)], "Null value not supported for topic configs: retention.ms"),
                ([("retention.ms", None), ("segment.ms", None)],
                 "Null value not supported for topic configs: retention.ms,segment.ms"),
                ([("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")],
                 "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"),
                ([("remote.storage.enable", "true")], None)):
            with self.subTest(configs=configs):
                for version in apis.versions("CreateTopics"):
                    got = self.create(configs, version)
                    self.assertEqual(got.errorCode, codes.INVALID_CONFIG)
                    self.assertTrue(got.errorMessage)
                    if message is not None:
                        self.assertEqual(got.errorMessage, message)

    def test_unusual_values_that_are_legal(self):
        for configs in ([("cleanup.policy", "compact,delete")], [("cleanup.policy", "")], [("preallocate", "TRUE")],
                        [("retention.ms", " 100 ")], [("retention.ms", "-1")], [("retention.bytes", "-1")],
                        [("segment.bytes", "1048576")], [("compression.gzip.level", "9")], [("min.insync.replicas", "2")],
                        [("retention.ms", "1"), ("retention.ms", "2")], [("max.message.bytes", "0")],
                        [("leader.replication.throttled.replicas", "*")], [("flush.ms", "0")],
                        [("message.timestamp.after.max.ms", "9223372036854775807")]):
            with self.subTest(configs=configs):
                got = self.create(configs)
                self.assertEqual((got.errorCode, got.errorMessage), (0, None))
                told = {c.name: c.value for c in got.configs if c.configSource == OF_TOPIC}
                self.assertEqual(told, dict(configs))


class LogDirectories(ConformanceTest):
    def describe(self, topics, version=5):
        answer = self.client.call("DescribeLogDirs", version, topics=topics)
        self.assertEqual([result.errorCode for result in answer.results], [0])
        return answer.results[0]

    def found(self, topics):
        return {(t.name, p.partitionIndex): p.partitionSize for t in self.describe(topics).topics for p in t.partitions}

    def test_null_asks_for_every_partition_and_an_empty_list_for_none(self):
        topic = self.new_topic(3)
        self.assertLessEqual({(topic, p) for p in range(3)}, set(self.found(None)))
        self.assertNotIn(("__cluster_metadata", 0), self.found(None))
        self.assertEqual(self.found([]), {})

    def test_unknown_topics_and_partitions_are_left_out(self):
        topic = self.new_topic()
        self.assertEqual(self.found([{"topic": "unknown", "partitions": [0]}]), {})
        self.assertEqual(self.found([{"topic": topic, "partitions": [0, 1, -1]}]), {(topic, 0): 0})
        self.assertEqual(self.found([{"topic": topic, "partitions": []}]), {})

    def test_sizes_are_those_of_the_log(self):
        topic = self.new_topic()
        sent = [batch(bytes(1000)), batch(b"x")]
        for content in sent:
            self.client.produce(topic, content)
        asked = [{"topic": topic, "partitions": [0]}]
        self.assertEqual(self.found(asked), {(topic, 0): sum(map(len, sent))})

    def test_details_in_each_version(self):
        topic = self.new_topic()
        for version in apis.versions("DescribeLogDirs"):
            got = self.describe([{"topic": topic, "partitions": [0]}], version)
            self.assertTrue(got.logDir.startswith("/"))
            self.assertEqual(got.topics[0].partitions[0], {
                "partitionIndex": 0, "partitionSize": 0, "offsetLag": 0, "isFutureKey": False})
            if version >= 4:
                self.assertTrue(0 < got.usableBytes < got.totalBytes)
            self.assertFalse(got.get("isCordoned", False))

    def test_a_deleted_topic_leaves_the_directory(self):
        topic = self.new_topic()
        self.client.delete(topic)
        self.assertTrue(eventually(lambda: self.found([{"topic": topic, "partitions": [0]}]) == {}))


if __name__ == "__main__":
    unittest.main()
