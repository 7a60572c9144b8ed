"""IncrementalAlterConfigs, AlterConfigs and ListConfigResources: every kind of resource, operation and refusal."""

import unittest

import apis
import codes
from base import ConformanceTest, eventually
from client import Connection
from differences import differ

TOPIC, BROKER, LOGGER, CLIENT_METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
OF_TOPIC, OF_BROKER, OF_ALL_BROKERS, STATIC, DEFAULT, OF_LOGGER, OF_CLIENT_METRICS, OF_GROUP = range(1, 9)

ONCE = "Each resource must appear at most once."


class Altering(ConformanceTest):
    """Requests in short, and what they left behind."""

    def incremental(self, *resources, version=1, validate_only=False):
        """Resources as (type, name, [(key, operation, value)]); gives (code, message) of each."""
        sent = [{"resourceType": kind, "resourceName": name, "configs": [
            {"name": key, "configOperation": operation, "value": value} for key, operation, value in configs]}
            for kind, name, configs in resources]
        answer = self.client.call("IncrementalAlterConfigs", version, resources=sent, validateOnly=validate_only)
        self.assertEqual(answer.throttleTimeMs, 0)
        self.assertEqual([(a.resourceType, a.resourceName) for a in answer.responses],
                         [(kind, name) for kind, name, _ in resources])
        return [(a.errorCode, a.errorMessage) for a in answer.responses]

    def replace(self, *resources, version=2, validate_only=False):
        sent = [{"resourceType": kind, "resourceName": name,
                 "configs": [{"name": key, "value": value} for key, value in configs]}
                for kind, name, configs in resources]
        answer = self.client.call("AlterConfigs", version, resources=sent, validateOnly=validate_only)
        self.assertEqual([(a.resourceType, a.resourceName) for a in answer.responses],
                         [(kind, name) for kind, name, _ in resources])
        return [(a.errorCode, a.errorMessage) for a in answer.responses]

    def alter(self, kind, name, *configs, **fields):
        (answer,) = self.incremental((kind, name, configs), **fields)
        return answer

    def check(self, kind, name, *configs):
        """The verdict on a change that is not made; the message only where it does not depend on the code."""
        return self.alter(kind, name, *configs, validate_only=True)

    def described(self, kind, name, keys=None):
        answer = self.client.call("DescribeConfigs", 4, includeSynonyms=True, includeDocumentation=False, resources=[
            {"resourceType": kind, "resourceName": name, "configurationKeys": keys}]).results[0]
        self.assertEqual(answer.errorCode, 0, answer.errorMessage)
        return {config.name: config for config in answer.configs}

    def set_on(self, kind, name):
        """What was set on a resource itself."""
        sources = {TOPIC: OF_TOPIC, GROUP: OF_GROUP, CLIENT_METRICS: OF_CLIENT_METRICS,
                   BROKER: OF_BROKER if name else OF_ALL_BROKERS}
        return {key: config.value for key, config in self.described(kind, name).items()
                if config.configSource == sources[kind]}

    def await_set_on(self, kind, name, expected):
        """Kafka's brokers learn of changes a little later than its controller."""
        eventually(lambda: self.set_on(kind, name) == expected)
        self.assertEqual(self.set_on(kind, name), expected)

    def undone(self, kind, name, *keys):
        self.addCleanup(lambda: self.alter(kind, name, *((key, DELETE, None) for key in keys)))


class Topics(Altering):
    def test_every_version_sets_and_deletes(self):
        for version in apis.versions("IncrementalAlterConfigs"):
            name = self.new_topic()
            self.assertEqual(self.alter(TOPIC, name, ("segment.ms", SET, "5000"), ("flush.ms", SET, "7"), version=version),
                             (0, None))
            self.await_set_on(TOPIC, name, {"retention.ms": "-1", "segment.ms": "5000", "flush.ms": "7"})
            self.assertEqual(self.alter(TOPIC, name, ("segment.ms", DELETE, None), ("retention.ms", DELETE, "ignored"),
                                        ("flush.ms", SET, "8"), version=version), (0, None))
            self.await_set_on(TOPIC, name, {"flush.ms": "8"})
            self.assertEqual(self.alter(TOPIC, name, ("flush.ms", DELETE, ""), version=version), (0, None))
            self.await_set_on(TOPIC, name, {})

    def test_validate_only_changes_nothing(self):
        name = self.new_topic()
        self.assertEqual(self.check(TOPIC, name, ("segment.ms", SET, "5000"), ("retention.ms", DELETE, None)), (0, None))
        self.assertEqual(self.replace((TOPIC, name, [("segment.ms", "5")]), validate_only=True), [(0, None)])
        self.assertEqual(self.alter(TOPIC, name, ("flush.ms", SET, "1")), (0, None))
        self.await_set_on(TOPIC, name, {"retention.ms": "-1", "flush.ms": "1"})

    def test_lists_grow_and_shrink(self):
        name = self.new_topic()
        self.alter(TOPIC, name, ("retention.ms", DELETE, None))
        for operation, value, left in (
                (APPEND, "compact", "delete,compact"), (APPEND, "compact,delete", "delete,compact"),
                (SUBTRACT, "delete", "compact"), (SUBTRACT, "delete", "compact"), (SUBTRACT, "compact", ""),
                (APPEND, "delete", "delete"), (SET, "compact , delete", "compact,delete"), (SET, "delete,delete", "delete")):
            self.assertEqual(self.alter(TOPIC, name, ("cleanup.policy", operation, value)), (0, None))
            self.await_set_on(TOPIC, name, {"cleanup.policy": left})
        self.alter(TOPIC, name, ("cleanup.policy", DELETE, None))
        self.alter(TOPIC, name, ("cleanup.policy", SUBTRACT, "delete"))
        self.await_set_on(TOPIC, name, {"cleanup.policy": ""})
        replicas = "leader.replication.throttled.replicas"
        self.alter(TOPIC, name, ("cleanup.policy", DELETE, None), (replicas, APPEND, "0:1,1:1"))
        self.alter(TOPIC, name, (replicas, APPEND, "0:1,2:1"))
        self.alter(TOPIC, name, (replicas, SUBTRACT, "1:1,9:9"))
        self.await_set_on(TOPIC, name, {replicas: "0:1,2:1"})

    def test_values_are_shown_as_they_are_understood(self):
        name = self.new_topic()
        for key, given, shown in (
                ("retention.ms", " 5 ", "5"), ("retention.ms", "+5", "5"), ("retention.bytes", "007", "7"),
                ("retention.bytes", "-2", "-2"), ("preallocate", " TRUE ", "true"), ("compression.type", " gzip", "gzip"),
                ("min.cleanable.dirty.ratio", "0.50", "0.5"), ("min.cleanable.dirty.ratio", "1e-3", "0.001"),
                ("min.cleanable.dirty.ratio", "0.00001", "1.0E-5"), ("min.cleanable.dirty.ratio", "1", "1.0"),
                ("leader.replication.throttled.replicas", " 0:1 , 1:1 ", "0:1,1:1"),
                ("leader.replication.throttled.replicas", "*", "*"), ("leader.replication.throttled.replicas", "", "")):
            with self.subTest(key=key, given=given):
                self.assertEqual(self.alter(TOPIC, name, (key, SET, given)), (0, None))
                eventually(lambda: self.described(TOPIC, name, [key])[key].value == shown)
                got = self.described(TOPIC, name, [key])[key]
                self.assertEqual((got.value, got.configSource), (shown, OF_TOPIC))
                self.assertEqual((got.synonyms[0].name, got.synonyms[0].value), (key, shown))

    def test_bad_values(self):
        name = self.new_topic()
        for key, value, message in (
                ("retention.ms", "abc", "Not a number of type LONG"), ("retention.ms", "", "Not a number of type LONG"),
                ("retention.ms", "9223372036854775808", "Not a number of type LONG"),
                ("retention.ms", "5 0", "Not a number of type LONG"), ("retention.ms", "-2", "Value must be at least -1"),
                ("segment.bytes", "1048575", "Value must be at least 1048576"),
                ("segment.bytes", "0x100000", "Not a number of type INT"),
                ("segment.bytes", "3000000000", "Not a number of type INT"),
                ("min.insync.replicas", "0", "Value must be at least 1"),
                ("compression.gzip.level", "0", "Value must be between 1 and 9 or equal to -1"),
                ("compression.lz4.level", "18", "Value must be no more than 17"),
                ("compression.zstd.level", "-131073", "Value must be at least -131072"),
                ("compression.type", "GZIP", "String must be one of: uncompressed, zstd, lz4, snappy, gzip, producer"),
                ("message.timestamp.type", "", "String must be one of: CreateTime, LogAppendTime"),
                ("min.cleanable.dirty.ratio", "1.1", "Value must be no more than 1"),
                ("min.cleanable.dirty.ratio", "", "Not a number of type DOUBLE"),
                ("preallocate", "yes", "Expected value to be either true or false"),
                ("cleanup.policy", "shred", "String must be one of: compact, delete")):
            with self.subTest(key=key, value=value):
                expected = (codes.INVALID_CONFIG, f"Invalid value {value} for configuration {key}: {message}")
                self.assertEqual(self.check(TOPIC, name, (key, SET, value)), expected)
                self.assertEqual(self.replace((TOPIC, name, [(key, value)]), validate_only=True), [expected])
                made = self.client.create(self.new_name(), 1, {key: value})
                self.assertEqual((made.errorCode, made.errorMessage), expected)

    def test_bad_lists(self):
        name = self.new_topic()
        for key, operation, value, message in (
                ("cleanup.policy", SET, "compact,,delete", "Configuration 'cleanup.policy' values must not be empty."),
                ("cleanup.policy", APPEND, "", "Configuration 'cleanup.policy' values must not be empty."),
                ("cleanup.policy", APPEND, "x",
                 "Invalid value x for configuration cleanup.policy: String must be one of: compact, delete"),
                ("retention.ms", APPEND, "1", "Can't APPEND to key retention.ms because its type is not LIST."),
                ("retention.ms", SUBTRACT, "1", "Can't SUBTRACT to key retention.ms because its type is not LIST."),
                ("nope", APPEND, "1", "Can't APPEND to key nope because its type is not LIST.")):
            with self.subTest(key=key, value=value):
                self.assertEqual(self.check(TOPIC, name, (key, operation, value)), (codes.INVALID_CONFIG, message))
        for value in ("0:1,*", "-1:2", "a:b", "0", "0:1:2", ":"):
            code, message = self.check(TOPIC, name, ("follower.replication.throttled.replicas", SET, value))
            self.assertEqual(code, codes.INVALID_CONFIG)
            self.assertIn("must be the literal '*' or a list of replicas", message)

    def test_unknown_keys(self):
        name = self.new_topic()
        for key in ("nope", "", "retention", "log.retention.ms", "Retention.ms", "message.format.version"):
            self.assertEqual(self.check(TOPIC, name, ("retention.ms", SET, "bad"), (key, SET, "1")),
                             (codes.INVALID_CONFIG, f"Unknown topic config name: {key}"))
            self.assertEqual(self.check(TOPIC, name, (key, DELETE, None)), (0, None))

    def test_settings_that_contradict_each_other(self):
        name = self.new_topic(min_compaction_lag_ms="10")
        message = "conflict topic config setting min.compaction.lag.ms (10) > max.compaction.lag.ms (5)"
        self.assertEqual(self.check(TOPIC, name, ("max.compaction.lag.ms", SET, "5")), (codes.INVALID_CONFIG, message))
        self.assertEqual(self.check(TOPIC, name, ("max.compaction.lag.ms", SET, "10")), (0, None))
        self.assertEqual(self.check(TOPIC, name, ("remote.storage.enable", SET, "true"))[0], codes.INVALID_CONFIG)
        self.assertEqual(self.check(TOPIC, name, ("remote.storage.enable", SET, "false")), (0, None))

    def test_null_values_and_doubled_keys_are_bad_requests(self):
        name = self.new_topic()
        for operation in (SET, APPEND, SUBTRACT):
            self.assertEqual(self.check(TOPIC, name, ("flush.ms", operation, None), ("segment.ms", operation, None)),
                             (codes.INVALID_REQUEST, "Null value not supported for : flush.ms, segment.ms"))
        for operation in (SET, DELETE):
            self.assertEqual(self.check(TOPIC, name, ("flush.ms", SET, None), ("flush.ms", operation, "1")),
                             (codes.INVALID_REQUEST, "Error due to duplicate config keys"))
        self.assertEqual(self.replace((TOPIC, name, [("flush.ms", None)])),
                         [(codes.INVALID_REQUEST, "Null value not supported for : flush.ms")])
        self.assertEqual(self.replace((TOPIC, name, [("flush.ms", "1"), ("flush.ms", "1")])),
                         [(codes.INVALID_REQUEST, "Error due to duplicate config keys")])

    def test_unknown_operations(self):
        name = self.new_topic()
        first, other = differ("unknown-config-operation")
        for operation in (4, 9, -1):
            got = self.incremental((TOPIC, name, [("flush.ms", operation, "1")]), (TOPIC, self.new_topic(), []),
                                   validate_only=True)
            self.assertEqual([code for code, _ in got], [first, other])

    def test_topics_that_are_not_there(self):
        for configs in ([], [("flush.ms", "1")]):
            for name, code, message in (
                    ("not-there", codes.UNKNOWN_TOPIC_OR_PARTITION, "The topic 'not-there' does not exist."),
                    ("__cluster_metadata", codes.UNKNOWN_TOPIC_OR_PARTITION,
                     "The topic '__cluster_metadata' does not exist."),
                    ("", codes.INVALID_REQUEST, "Default topic resources are not allowed."),
                    ("..", codes.INVALID_TOPIC, "Topic name is invalid: '..' is not allowed"),
                    ("a b", codes.INVALID_TOPIC, "Topic name is invalid: 'a b' contains one or more characters other than "
                                                 "ASCII alphanumerics, '.', '_' and '-'")):
                self.assertEqual(self.check(TOPIC, name, *((key, SET, value) for key, value in configs)), (code, message))
                self.assertEqual(self.replace((TOPIC, name, configs)), [(code, message)])
        self.assertEqual(self.check(TOPIC, "not-there", ("flush.ms", SET, "x"))[0], codes.INVALID_CONFIG)

    def test_resources_are_judged_one_by_one(self):
        good, bad, twice = self.new_topic(), self.new_topic(), self.new_topic()
        for order in (1, -1):
            got = self.incremental(*[
                (TOPIC, twice, [("flush.ms", SET, "1")]), (TOPIC, good, [("flush.ms", SET, "11")]),
                (TOPIC, "not-there", []), (TOPIC, bad, [("flush.ms", SET, "1"), ("segment.ms", SET, "x")]),
                (99, "x", []), (TOPIC, twice, [("flush.ms", SET, "1")])][::order])
            self.assertEqual([code for code, _ in got][::order],
                             [codes.INVALID_REQUEST, 0, codes.UNKNOWN_TOPIC_OR_PARTITION, codes.INVALID_CONFIG,
                              codes.INVALID_REQUEST, codes.INVALID_REQUEST])
            self.assertEqual([message for _, message in got][::order][::5], [ONCE, ONCE])
            self.await_set_on(TOPIC, good, {"retention.ms": "-1", "flush.ms": "11"})
            self.await_set_on(TOPIC, bad, {"retention.ms": "-1"})
            self.await_set_on(TOPIC, twice, {"retention.ms": "-1"})
        self.assertEqual(self.incremental(), [])
        self.assertEqual(self.replace(), [])

    def test_replacing_resets_what_is_not_named(self):
        for version in apis.versions("AlterConfigs"):
            name = self.new_topic(segment_ms="1000", flush_ms="5")
            self.assertEqual(self.replace((TOPIC, name, [("retention.bytes", "9"), ("flush.ms", "5")]), version=version),
                             [(0, None)])
            self.await_set_on(TOPIC, name, {"retention.bytes": "9", "flush.ms": "5"})
            self.assertEqual(self.replace((TOPIC, name, []), version=version), [(0, None)])
            self.await_set_on(TOPIC, name, {})

    def test_replacing_the_same_resource_twice(self):
        name, expected = self.new_topic(), differ("alter-configs-of-one-resource-twice")
        if expected is None:
            with Connection(self.address) as connection:
                connection.send("AlterConfigs", 2, validateOnly=True, resources=[
                    {"resourceType": TOPIC, "resourceName": name, "configs": []}] * 2)
                self.assertFalse(connection.has_input(2))
        else:
            self.assertEqual(self.replace((TOPIC, name, []), (TOPIC, name, [])), [(expected, ONCE)] * 2)

    def test_internal_settings_are_shown_to_those_who_set_them(self):
        name = self.new_topic()
        self.assertEqual(self.alter(TOPIC, name, ("internal.segment.bytes", SET, "20000")), (0, None))
        self.await_set_on(TOPIC, name, {"retention.ms": "-1", "internal.segment.bytes": "20000"})
        self.assertEqual(self.check(TOPIC, name, ("internal.segment.bytes", SET, "x"))[0], codes.INVALID_CONFIG)
        self.alter(TOPIC, name, ("internal.segment.bytes", DELETE, None))
        self.await_set_on(TOPIC, name, {"retention.ms": "-1"})

    def test_a_topic_made_anew_has_none_of_the_old_ones_settings(self):
        name = self.new_topic(flush_ms="5")
        self.client.delete(name)
        made = eventually(lambda: self.client.create(name).errorCode == 0)
        self.assertTrue(made)
        self.client.await_usable(name)
        self.assertEqual(self.set_on(TOPIC, name), {})

    def test_other_resource_types(self):
        for kind in (0, 1, 3, 7, 64, -1, 127):
            expected = (codes.INVALID_REQUEST, f"Unknown resource type {kind}")
            self.assertEqual(self.check(kind, "x", ("a", SET, "b")), expected)
            self.assertEqual(self.replace((kind, "x", [("a", "b")])), [expected])
        self.assertEqual(self.replace((LOGGER, "1", [])), [(codes.INVALID_REQUEST, "Unknown resource type 8")])


class Brokers(Altering):
    def test_settings_of_all_brokers_and_of_one(self):
        key, topic = "log.index.interval.bytes", self.new_topic()
        self.undone(BROKER, "", key)
        self.undone(BROKER, "1", key)

        def shown(name, kind, setting):
            config = self.described(kind, name, [setting]).get(setting)
            return config and (config.value, config.configSource)

        for change, all_brokers, own, of_topic in (
                (("", SET, "5000"), ("5000", 3), ("5000", 3), ("5000", 3)),
                (("1", SET, "6000"), ("5000", 3), ("6000", 2), ("6000", 2)),
                (("", DELETE, None), None, ("6000", 2), ("6000", 2)),
                (("1", DELETE, None), None, ("4096", DEFAULT), ("4096", DEFAULT))):
            name, operation, value = change
            self.assertEqual(self.alter(BROKER, name, (key, operation, value)), (0, None))
            expected = (all_brokers, own, of_topic)

            def got():
                return (shown("", BROKER, key), shown("1", BROKER, key), shown(topic, TOPIC, "index.interval.bytes"))

            eventually(lambda: got() == expected)
            self.assertEqual(got(), expected)

    def test_synonyms_in_order(self):
        key, topic = "log.flush.interval.messages", self.new_topic(flush_messages="9")
        self.undone(BROKER, "", key)
        self.undone(BROKER, "1", key)
        self.alter(BROKER, "", (key, SET, "1000"))
        self.alter(BROKER, "1", (key, SET, "2000"))
        rest = [(key, "2000", OF_BROKER), (key, "1000", OF_ALL_BROKERS), (key, str(2**63 - 1), DEFAULT)]

        def synonyms(kind, name, setting):
            return [(s.name, s.value, s.source) for s in self.described(kind, name, [setting])[setting].synonyms]

        eventually(lambda: len(synonyms(BROKER, "1", key)) == 3)
        self.assertEqual(synonyms(BROKER, "1", key), rest)
        self.assertEqual(synonyms(TOPIC, topic, "flush.messages"), [("flush.messages", "9", OF_TOPIC), *rest])

    def test_static_settings(self):
        for name in ("", "1"):
            for key in ("node.id", "log.dirs", "num.partitions", "log.retention.hours", "broker.id"):
                self.assertEqual(self.check(BROKER, name, (key, SET, "5")),
                                 (codes.INVALID_REQUEST, f"Cannot update these configs dynamically: [{key}]"))
            self.assertEqual(self.check(BROKER, name, ("node.id", DELETE, None)), (0, None))
            self.assertEqual(self.replace((BROKER, name, [("node.id", "1")]), validate_only=True)[0][0],
                             codes.INVALID_REQUEST)

    def test_settings_of_one_broker_only(self):
        for key, value in (("listener.name.plaintext.ssl.keystore.location", "/x"), ("cordoned.log.dirs", "*"),
                           ("listener.security.protocol.map", "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT")):
            code, message = self.check(BROKER, "", (key, SET, value))
            self.assertEqual((code, message), (codes.INVALID_REQUEST, "Cannot update these configs at default cluster "
                                                                      f"level, broker id must be specified: [{key}]"))
        for name in ("", "1"):
            code, message = self.check(BROKER, name, ("ssl.keystore.location", SET, "/x"))
            self.assertEqual(code, codes.INVALID_REQUEST)
            self.assertIn("only per-listener using the listener prefix: [ssl.keystore.location]", message)
        self.assertEqual(self.check(BROKER, "", ("listener.name.plaintext.max.connections", SET, "10")), (0, None))
        self.assertEqual(self.check(BROKER, "", ("listener.name.plaintext.max.connections", SET, "x"))[0],
                         codes.INVALID_REQUEST)

    def test_values(self):
        for key, value, code in (
                ("log.cleaner.threads", "2", 0), ("log.cleaner.threads", "3", 42), ("log.cleaner.threads", "0", 42),
                ("log.cleaner.threads", "x", 42), ("num.io.threads", "16", 0), ("num.io.threads", "17", 42),
                ("num.io.threads", "3", 42), ("background.threads", "50", 42), ("num.replica.fetchers", "2", 0),
                ("num.recovery.threads.per.data.dir", "5", 42), ("num.recovery.threads.per.data.dir", "4", 0),
                ("message.max.bytes", "-1", 42), ("message.max.bytes", "0", 0), ("log.segment.bytes", "1", 42),
                ("log.retention.ms", "0", 42), ("log.retention.ms", "1", 0), ("log.retention.ms", "-5", 0),
                ("log.cleanup.policy", "foo", 42), ("log.cleanup.policy", "compact,compact", 42),
                ("log.cleanup.policy", "compact,delete", 0), ("compression.type", "foo", 42),
                ("unclean.leader.election.enable", "x", 42), ("max.connections", "-1", 42), ("max.connections", "5", 0),
                ("max.connections.per.ip", "0", 42), ("max.connections.per.ip.overrides", "127.0.0.9:5", 0),
                ("max.connections.per.ip.overrides", "127.0.0.1", 42), ("max.connections.per.ip.overrides", "h:x", 42),
                ("max.connections.per.ip.overrides", "", 0), ("log.local.retention.ms", "-1", 42),
                ("log.local.retention.ms", "999999999999", 42), ("producer.id.expiration.ms", "0", 42),
                ("log.cleaner.dedupe.buffer.size", "1", 42), ("leader.replication.throttled.rate", "x", 42),
                ("leader.replication.throttled.rate", "100", 0), ("principal.builder.class", "x", 42),
                ("metric.reporters", "x.y", 42), ("a.plugins.own.setting", "x", 0), ("", "x", 0)):
            with self.subTest(key=key, value=value):
                name = "1" if key == "principal.builder.class" else ""
                self.assertEqual(self.check(BROKER, name, (key, SET, value))[0], code)
        self.assertEqual(self.check(BROKER, "", ("max.connections.per.ip", SET, "0"),
                                    ("max.connections.per.ip.overrides", SET, "127.0.0.9:5")), (0, None))

    def test_operations(self):
        self.assertEqual(self.check(BROKER, "", ("log.cleaner.threads", 7, "2")),
                         (codes.INVALID_REQUEST, "Unknown operations type 7"))
        for operation, verb in ((APPEND, "append"), (SUBTRACT, "subtract")):
            self.assertEqual(self.check(BROKER, "", ("log.cleaner.threads", operation, "2")), (
                codes.INVALID_CONFIG, f"Config value {verb} is not allowed for config key: log.cleaner.threads"))
            self.assertEqual(self.check(BROKER, "", ("nope", operation, "2")),
                             (codes.INVALID_CONFIG, "Unknown config name: nope"))
        self.undone(BROKER, "", "log.cleanup.policy")
        self.assertEqual(self.alter(BROKER, "", ("log.cleanup.policy", APPEND, "compact")), (0, None))
        key = "log.cleanup.policy"
        eventually(lambda: self.described(BROKER, "1", [key])[key].value == "delete,compact")
        self.assertEqual(self.described(BROKER, "1", [key])[key].value, "delete,compact")

    def test_names_of_brokers(self):
        for name, message in (("2", "Unexpected broker id, expected 1, but received 2"),
                              ("-1", "Unexpected broker id, expected 1, but received -1"),
                              ("x", "Node id must be an integer, but it is: x"),
                              (" 1", "Node id must be an integer, but it is:  1")):
            self.assertEqual(self.check(BROKER, name, ("log.cleaner.threads", SET, "2")), (codes.INVALID_REQUEST, message))
            self.assertEqual(self.replace((BROKER, name, []), validate_only=True), [(codes.INVALID_REQUEST, message)])
        for name in ("01", "+1"):
            self.assertEqual(self.check(BROKER, name, ("log.cleaner.threads", SET, "2")), (0, None))
        key = "log.roll.jitter.ms"
        self.undone(BROKER, "01", key)
        self.assertEqual(self.alter(BROKER, "01", (key, SET, "77")), (0, None))
        same = differ("other-spellings-of-a-broker-id")
        self.assertEqual(self.described(BROKER, "1", [key])[key].value, "77" if same else None)

    def test_replacing_resets_what_is_not_named(self):
        self.undone(BROKER, "1", "log.roll.ms", "log.roll.jitter.ms")
        self.assertEqual(self.replace((BROKER, "1", [("log.roll.ms", "70000000")])), [(0, None)])
        self.await_set_on(BROKER, "1", {"log.roll.ms": "70000000"})
        self.assertEqual(self.replace((BROKER, "1", [("log.roll.jitter.ms", "5")])), [(0, None)])
        self.await_set_on(BROKER, "1", {"log.roll.jitter.ms": "5"})
        self.assertEqual(self.replace((BROKER, "1", [])), [(0, None)])
        self.await_set_on(BROKER, "1", {})

    def test_min_insync_replicas_belongs_to_the_cluster(self):
        key = "min.insync.replicas"
        self.addCleanup(lambda: self.alter(BROKER, "", (key, SET, "1")))
        for operation in (SET, DELETE):
            self.assertEqual(self.check(BROKER, "1", (key, operation, "2")), (
                codes.INVALID_CONFIG, "Broker-level min.insync.replicas cannot be altered while ELR is enabled."))
        removal = (codes.INVALID_CONFIG, "Cluster-level min.insync.replicas cannot be removed while ELR is enabled.")
        self.assertEqual(self.check(BROKER, "", (key, DELETE, None)), removal)
        self.assertEqual(self.replace((BROKER, "", []), validate_only=True), [removal])
        self.assertEqual(self.alter(BROKER, "", (key, SET, "2")), (0, None))
        topic = self.new_topic()
        eventually(lambda: self.described(TOPIC, topic, [key])[key].value == "2")
        got = self.described(TOPIC, topic, [key])[key]
        self.assertEqual((got.value, got.configSource), ("2", OF_ALL_BROKERS))

    def test_secrets_and_settings_of_plugins_are_not_shown(self):
        keys = ("listener.name.plaintext.ssl.key.password", "a.plugins.own.setting")
        self.undone(BROKER, "1", *keys)
        self.assertEqual(self.alter(BROKER, "1", *((key, SET, "secret") for key in keys)), (0, None))
        eventually(lambda: len(self.described(BROKER, "1", list(keys))) == 2)
        got = self.described(BROKER, "1", list(keys))
        self.assertEqual({key: (c.value, c.isSensitive, c.readOnly, c.configSource, c.configType)
                          for key, c in got.items()},
                         {keys[0]: (None, True, True, OF_BROKER, 9), keys[1]: (None, True, True, OF_BROKER, 0)})
        self.assertEqual([(s.name, s.value, s.source) for s in got[keys[1]].synonyms], [(keys[1], None, OF_BROKER)])


class Loggers(Altering):
    def setUp(self):
        super().setUp()
        self.logger = next(name for name in sorted(self.described(LOGGER, "1")) if name != "root")
        self.undone(LOGGER, "1", self.logger)

    def level(self, name):
        (config,) = self.described(LOGGER, "1", [name]).values()
        self.assertEqual((config.configSource, config.configType, config.readOnly, config.isSensitive, config.synonyms),
                         (OF_LOGGER, 0, False, False, []))
        return config.value

    def test_levels_change_at_once_and_go_back_to_the_roots(self):
        self.addCleanup(lambda: self.alter(LOGGER, "1", ("root", SET, "INFO")))
        self.assertEqual(self.alter(LOGGER, "1", ("root", SET, "INFO")), (0, None))
        for level in ("TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"):
            self.assertEqual(self.alter(LOGGER, "1", (self.logger, SET, level)), (0, None))
            self.assertEqual(self.level(self.logger), level)
            self.assertEqual(self.level("root"), "INFO")
        self.assertEqual(self.alter(LOGGER, "1", (self.logger, DELETE, None)), (0, None))
        self.assertEqual(self.level(self.logger), "INFO")
        self.assertEqual(self.alter(LOGGER, "1", ("root", SET, "WARN")), (0, None))
        self.assertEqual((self.level(self.logger), self.level("root")), ("WARN", "WARN"))

    def test_refusals(self):
        bad, request = codes.INVALID_CONFIG, codes.INVALID_REQUEST
        levels = "as it is not a supported log level. Valid log levels are DEBUG, ERROR, FATAL, INFO, TRACE, WARN"
        one = self.logger
        for configs, expected in (
                ([(one, SET, "debug")], (bad, f"Cannot set the log level of {one} to debug {levels}")),
                ([(one, SET, "OFF")], (bad, f"Cannot set the log level of {one} to OFF {levels}")),
                ([(one, SET, "")], (bad, f"Cannot set the log level of {one} to  {levels}")),
                ([("no.such", SET, "INFO")], (bad, "Logger no.such does not exist!")),
                ([("ROOT", SET, "INFO")], (bad, "Logger ROOT does not exist!")),
                ([("", SET, "INFO")], (bad, "Logger  does not exist!")),
                ([("no.such", DELETE, None)], (bad, "Logger no.such does not exist!")),
                ([("root", DELETE, None)], (request, "Removing the log level of the root logger is not allowed")),
                ([(one, APPEND, "INFO")], (request, "APPEND operation is not allowed for the BROKER_LOGGER resource")),
                ([(one, SUBTRACT, "INFO")],
                 (request, "SUBTRACT operation is not allowed for the BROKER_LOGGER resource")),
                ([(one, 9, "INFO")],
                 (request, "Unknown operation type 9 is not allowed for the BROKER_LOGGER resource")),
                ([(one, SET, None)], (request, f"Null value not supported for : {one}")),
                ([(one, SET, "INFO"), (one, SET, "INFO")], (request, "Error due to duplicate config keys"))):
            self.assertEqual(self.check(LOGGER, "1", *configs), expected)
        for name, message in (("", "Node id must be an integer, but it is: "),
                              ("x", "Node id must be an integer, but it is: x"),
                              ("2", "Unexpected node id. Expected 1, but received 2")):
            self.assertEqual(self.check(LOGGER, name, (one, SET, "INFO")), (request, message))

    def test_all_of_a_resource_or_nothing(self):
        before = self.level(self.logger)
        got = self.alter(LOGGER, "1", (self.logger, SET, "ERROR"), ("no.such", SET, "ERROR"))
        self.assertEqual(got[0], codes.INVALID_CONFIG)
        self.assertEqual(self.check(LOGGER, "1", (self.logger, SET, "ERROR")), (0, None))
        self.assertEqual(self.level(self.logger), before)


class Groups(Altering):
    def test_set_shown_and_deleted(self):
        name = self.new_name()
        self.assertEqual(self.alter(GROUP, name, ("consumer.session.timeout.ms", SET, "50000")), (0, None))
        self.await_set_on(GROUP, name, {"consumer.session.timeout.ms": "50000"})
        key = "consumer.session.timeout.ms"
        self.assertEqual([(s.name, s.value, s.source) for s in self.described(GROUP, name, [key])[key].synonyms],
                         [(key, "50000", OF_GROUP), ("group." + key, "45000", DEFAULT)])
        self.assertEqual(self.replace((GROUP, name, [("share.isolation.level", "read_committed")])), [(0, None)])
        self.await_set_on(GROUP, name, {"share.isolation.level": "read_committed"})
        self.assertEqual(self.alter(GROUP, name, ("share.isolation.level", DELETE, None)), (0, None))
        self.await_set_on(GROUP, name, {})

    def test_values(self):
        name = self.new_name()
        for key, good, bad in (
                ("consumer.session.timeout.ms", ("45000", "60000"), ("44999", "60001", "0", "x", "")),
                ("consumer.heartbeat.interval.ms", ("5000", "15000"), ("4999", "15001")),
                ("consumer.assignment.interval.ms", ("0", "15000"), ("-1", "15001")),
                ("share.session.timeout.ms", ("45000", "60000"), ("44999", "60001")),
                ("share.heartbeat.interval.ms", ("5000", "15000"), ("4999", "15001")),
                ("share.record.lock.duration.ms", ("15000", "60000"), ("999", "14999", "60001")),
                ("share.delivery.count.limit", ("2", "10"), ("1", "11")),
                ("share.partition.max.record.locks", ("100", "4000"), ("99", "4001")),
                ("share.auto.offset.reset", ("latest", "earliest", "by_duration:PT1H"), ("none", "LATEST", "by_duration:x")),
                ("share.isolation.level", ("read_committed", "read_uncommitted"), ("READ_COMMITTED",)),
                ("share.renew.acknowledge.enable", ("TRUE", "false"), ("yes",)),
                ("streams.session.timeout.ms", ("45000", "60000"), ("44999", "60001")),
                ("streams.heartbeat.interval.ms", ("5000", "15000"), ("4999", "15001")),
                ("streams.num.standby.replicas", ("0", "2"), ("-1", "3")),
                ("streams.num.warmup.replicas", ("20",), ("21",)),
                ("streams.initial.rebalance.delay.ms", ("0",), ("-1",)),
                ("streams.task.offset.interval.ms", ("15000",), ("0", "14999")),
                ("streams.assignor.name", ("sticky",), ("x", "")),
                ("streams.rack.aware.assignment.tags", ("a,b", ""), ("a,a", "a,,b")),
                ("errors.deadletterqueue.topic.name", ("dlq.a", ""), ("__x",))):
            for value in good:
                self.assertEqual(self.check(GROUP, name, (key, SET, value)), (0, None), (key, value))
            for value in bad:
                self.assertEqual(self.check(GROUP, name, (key, SET, value))[0], codes.INVALID_CONFIG, (key, value))
        self.assertEqual(self.check(GROUP, name, ("consumer.session.timeout.ms", SET, "1"))[1],
                         "consumer.session.timeout.ms must be in the range 45000 to 60000 inclusive.")
        self.assertEqual(self.check(GROUP, name, ("nope", SET, "1")),
                         (codes.INVALID_CONFIG, "Unknown group config name: nope"))
        self.assertEqual(self.check(GROUP, name, ("streams.rack.aware.assignment.tags", APPEND, "a"))[0],
                         codes.INVALID_CONFIG)
        self.assertEqual(self.check(GROUP, "", ("consumer.session.timeout.ms", SET, "50000")),
                         (codes.INVALID_REQUEST, "Default group resources are not allowed."))


class ClientMetrics(Altering):
    def test_set_shown_and_deleted(self):
        name = self.new_name()
        self.assertEqual(self.alter(CLIENT_METRICS, name, ("interval.ms", SET, "1000"), ("metrics", SET, "a,b")), (0, None))
        self.await_set_on(CLIENT_METRICS, name, {"interval.ms": "1000", "metrics": "a,b"})
        got = self.described(CLIENT_METRICS, name)
        self.assertEqual({key: [(s.name, s.value, s.source) for s in c.synonyms] for key, c in got.items()}, {
            "interval.ms": [("interval.ms", "1000", OF_CLIENT_METRICS)], "match": [],
            "metrics": [("metrics", "a,b", OF_CLIENT_METRICS)]})
        self.assertEqual(self.replace((CLIENT_METRICS, name, [])), [(0, None)])
        self.await_set_on(CLIENT_METRICS, name, {})

    def test_values(self):
        name = self.new_name()
        for key, value, code in (
                ("interval.ms", "100", 0), ("interval.ms", "3600000", 0), ("interval.ms", "99", codes.INVALID_REQUEST),
                ("interval.ms", "3600001", codes.INVALID_REQUEST), ("interval.ms", "x", codes.INVALID_CONFIG),
                ("nope", "1", codes.INVALID_REQUEST), ("metrics", "", 0), ("metrics", "a,a", 0),
                ("metrics", "a,,b", codes.INVALID_CONFIG), ("match", "", 0), ("match", " client_id = a ", 0),
                ("match", "client_id=a", 0), ("match", "client_software_name=x.*,client_software_version=1", 0),
                ("match", "client_source_address=1,client_source_port=1,client_instance_id=x", 0)):
            self.assertEqual(self.check(CLIENT_METRICS, name, (key, SET, value))[0], code, (key, value))
        for pattern in ("client_id", "client_id=a=b", "foo=a", "=a", "client_id=", "CLIENT_ID=a", "client_id=[",
                        "client_id=(", "client_id=*a", "client_id=a{1", "client_id=a)", "client_id=\\"):
            self.assertEqual(self.check(CLIENT_METRICS, name, ("match", SET, pattern)),
                             (codes.INVALID_CONFIG, f"Illegal client matching pattern: {pattern}"))
        for pattern in ("(?<n>a)", "\\Qa(\\E", "a++", "[a&&b]", "\\p{Lu}", "(?i)a", "a{1}b*?", "[^]a]", "(?:a|b)$"):
            self.assertEqual(self.check(CLIENT_METRICS, name, ("match", SET, "client_id=" + pattern)), (0, None), pattern)
        self.assertEqual(self.check(CLIENT_METRICS, name, ("metrics", APPEND, "a"))[0], codes.INVALID_CONFIG)
        self.assertEqual(self.check(CLIENT_METRICS, "", ("interval.ms", SET, "1000")),
                         (codes.INVALID_REQUEST, "Subscription name can't be empty"))


class Listing(Altering):
    def listed(self, kinds, version=1):
        answer = self.client.call("ListConfigResources", version, **({"resourceTypes": kinds} if version else {}))
        self.assertEqual((answer.throttleTimeMs, answer.errorCode), (0, 0))
        return {(r.resourceType if version else CLIENT_METRICS, r.resourceName) for r in answer.configResources}

    def test_resources_by_type(self):
        topic, group, metrics = self.new_topic(), self.new_name("group"), self.new_name("metrics")
        self.alter(GROUP, group, ("consumer.session.timeout.ms", SET, "50000"))
        self.alter(CLIENT_METRICS, metrics, ("interval.ms", SET, "1000"))
        self.undone(GROUP, group, "consumer.session.timeout.ms")
        self.undone(CLIENT_METRICS, metrics, "interval.ms")
        made = {(TOPIC, topic), (GROUP, group), (CLIENT_METRICS, metrics)}
        eventually(lambda: made <= self.listed([]))
        everything = self.listed([])
        self.assertLessEqual(made | {(BROKER, "1"), (LOGGER, "1")}, everything)
        for kinds in ([TOPIC], [BROKER], [LOGGER], [CLIENT_METRICS], [GROUP], [GROUP, TOPIC], [TOPIC, TOPIC]):
            self.assertEqual(self.listed(kinds), {one for one in everything if one[0] in kinds})
        self.assertEqual(self.listed(None, version=0), {one for one in everything if one[0] == CLIENT_METRICS})

    def test_what_lost_its_last_setting_is_not_listed(self):
        metrics = self.new_name()
        self.alter(CLIENT_METRICS, metrics, ("interval.ms", SET, "1000"))
        self.assertTrue(eventually(lambda: (CLIENT_METRICS, metrics) in self.listed([CLIENT_METRICS])))
        self.alter(CLIENT_METRICS, metrics, ("interval.ms", DELETE, None))
        self.assertTrue(eventually(lambda: (CLIENT_METRICS, metrics) not in self.listed([CLIENT_METRICS])))

    def test_unknown_types(self):
        for kinds in ([99], [0], [-1], [1], [TOPIC, 3]):
            answer = self.client.call("ListConfigResources", 1, resourceTypes=kinds)
            self.assertEqual((answer.errorCode, list(answer.configResources)), (codes.UNSUPPORTED_VERSION, []))


if __name__ == "__main__":
    unittest.main()
