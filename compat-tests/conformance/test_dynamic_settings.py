"""Settings that change while the broker runs: each is in force with the next request, for the topics it touches only."""

import socket
import unittest

import codes
from base import TARGET, Broker, Client, ConformanceTest, eventually
from client import ConnectionClosed
from records import GZIP, batch, split
from transactions import OFFSETS, OwnBrokerTransactionTest

TOPIC, BROKER = 2, 4
SET, DELETE = 0, 1
OLD = 1_000_000_000_000


class Changing(ConformanceTest):
    def alter(self, kind, name, *configs):
        """(key, value) sets, (key, None) deletes."""
        answer = self.client.call("IncrementalAlterConfigs", 1, validateOnly=False, resources=[{
            "resourceType": kind, "resourceName": name, "configs": [
                {"name": key, "configOperation": DELETE if value is None else SET, "value": value}
                for key, value in configs]}]).responses[0]
        self.assertEqual(answer.errorCode, 0, answer.errorMessage)

    def described(self, kind, name, key):
        answer = self.client.call("DescribeConfigs", 4, includeSynonyms=False, includeDocumentation=False, resources=[
            {"resourceType": kind, "resourceName": name, "configurationKeys": [key]}])
        return answer.results[0].configs[0].value

    def await_effect(self, effect):
        """Barnabas has changes in force when it acknowledges them; Kafka's brokers a moment later."""
        if TARGET == "kafka":
            return eventually(effect)
        return effect()

    def code_of(self, topic, records):
        return self.client.produce(topic, records).errorCode

    def on_each_level(self, topic_key, broker_key, value, effect, before=None):
        """`effect(topic)` holds for the topic that was changed, for all once all brokers' default was, and with the default
        gone for none any more. A topic with a value of its own keeps it."""
        changed, other = self.new_topic(), self.new_topic()
        own = self.new_topic(**{topic_key.replace(".", "_"): before}) if before else None
        self.assertFalse(effect(changed))
        self.alter(TOPIC, changed, (topic_key, value))
        self.assertTrue(self.await_effect(lambda: effect(changed)))
        self.assertFalse(effect(other))
        self.alter(TOPIC, changed, (topic_key, None))
        self.assertTrue(self.await_effect(lambda: not effect(changed)))
        for broker in ("", "1"):
            self.addCleanup(lambda broker=broker: self.alter(BROKER, broker, (broker_key, None)))
            self.alter(BROKER, broker, (broker_key, value))
            self.assertTrue(self.await_effect(lambda: effect(other)))
            if own:
                self.assertFalse(effect(own))
            self.alter(BROKER, broker, (broker_key, None))
            self.assertTrue(self.await_effect(lambda: not effect(other)))


class OfTopics(Changing):
    def test_largest_batch(self):
        big = batch(b"x" * 2000)
        self.on_each_level("max.message.bytes", "message.max.bytes", "1000",
                           lambda topic: self.code_of(topic, big) == codes.MESSAGE_TOO_LARGE, before="1048588")

    def test_oldest_timestamp(self):
        old = batch(b"x", timestamps=(OLD,))
        self.on_each_level("message.timestamp.before.max.ms", "log.message.timestamp.before.max.ms", "1000",
                           lambda topic: self.code_of(topic, old) == codes.INVALID_TIMESTAMP, before=str(2**63 - 1))

    def test_newest_timestamp(self):
        late = batch(b"x", timestamps=(4_000_000_000_000,))
        self.on_each_level("message.timestamp.after.max.ms", "log.message.timestamp.after.max.ms", str(2**62),
                           lambda topic: self.code_of(topic, late) == 0, before="3600000")

    def test_clock_of_timestamps(self):
        def stamped(topic):
            return self.client.produce(topic, batch(b"x")).logAppendTimeMs != -1

        self.on_each_level("message.timestamp.type", "log.message.timestamp.type", "LogAppendTime", stamped,
                           before="CreateTime")

    def test_compression(self):
        def compressed(topic):
            offset = self.client.append(topic, b"x" * 100)
            return split(self.client.fetch(topic, offset).records)[-1].codec == GZIP

        self.on_each_level("compression.type", "compression.type", "gzip", compressed, before="producer")

    def test_keys_of_compacted_topics(self):
        without_key = batch(b"x", keys=(None,))
        self.on_each_level("cleanup.policy", "log.cleanup.policy", "compact",
                           lambda topic: self.code_of(topic, without_key) == codes.INVALID_RECORD, before="delete")

    def test_retention_by_time(self):
        topic = self.new_topic()
        self.client.append(topic, b"x", timestamps=(OLD,))

        def start():
            answer = self.client.call("ListOffsets", 5, replicaId=-1, topics=[
                {"name": topic, "partitions": [{"partitionIndex": 0, "timestamp": -2}]}])
            return answer.topics[0].partitions[0].offset

        self.assertEqual(start(), 0)
        self.alter(TOPIC, topic, ("retention.ms", "1000"))
        self.assertTrue(eventually(lambda: start() == 1, timeout_s=20))

    def test_retention_by_size_and_segment_size(self):
        topic = self.new_topic()
        self.alter(TOPIC, topic, ("internal.segment.bytes", "1000"), ("retention.bytes", "3000"))
        eventually(lambda: self.described(TOPIC, topic, "retention.bytes") == "3000")
        for _ in range(30):
            self.client.append(topic, b"x" * 500)

        def start():
            answer = self.client.call("ListOffsets", 5, replicaId=-1, topics=[
                {"name": topic, "partitions": [{"partitionIndex": 0, "timestamp": -2}]}])
            return answer.topics[0].partitions[0].offset

        self.assertTrue(eventually(lambda: 10 < start() < 30, timeout_s=20))

    def test_min_insync_replicas_counts_the_replicas_that_there_are(self):
        topic = self.new_topic()
        self.alter(TOPIC, topic, ("min.insync.replicas", "2"))
        eventually(lambda: self.described(TOPIC, topic, "min.insync.replicas") == "2")
        self.assertEqual(self.code_of(topic, batch(b"x")), 0)


class OfBrokers(Changing):
    """Each with a broker of its own, since other cases would not live with the limits."""

    def setUp(self):
        self.broker = Broker(properties={"max.connections.per.ip.overrides": "127.0.0.9:1000"})
        self.addCleanup(self.broker.clean)
        self.broker.start()
        super().setUp()

    def broker_address(self):
        return "127.0.0.1", self.broker.port

    def is_let_in(self):
        try:
            client = Client(self.address)
        except (ConnectionClosed, OSError):
            return False
        try:
            client.connection.socket.settimeout(5)
            return client.call("ApiVersions", 0).errorCode == 0
        except (ConnectionClosed, OSError, socket.timeout):
            return False
        finally:
            client.close()

    def test_connections_of_an_address(self):
        for key, tight in (("max.connections.per.ip", "1"), ("max.connections.per.ip.overrides", "127.0.0.1:1"),
                           ("max.connections.per.ip.overrides", "localhost:1")):
            with self.subTest(key=key, tight=tight):
                self.assertTrue(self.is_let_in())
                self.alter(BROKER, "", (key, tight))
                self.assertTrue(eventually(lambda: not self.is_let_in()))
                self.alter(BROKER, "", (key, None))
                self.assertTrue(eventually(self.is_let_in))

    def test_what_was_set_is_in_force_after_a_restart(self):
        topic, big = self.new_name(), batch(b"x" * 2000)
        self.client.create_usable(topic)
        self.alter(BROKER, "", ("max.connections.per.ip", "2"), ("message.max.bytes", "1000"))
        self.alter(BROKER, "1", ("listener.name.plaintext.ssl.key.password", "secret"))
        self.client.close()
        self.broker.stop()
        self.broker.start()
        self.address = self.broker_address()
        self.client = self.new_client()
        self.client.await_usable(topic)
        self.assertEqual(self.code_of(topic, big), codes.MESSAGE_TOO_LARGE)
        with_this = Client(self.address)
        self.assertTrue(eventually(lambda: not self.is_let_in()))
        with_this.close()


class OfTransactions(OwnBrokerTransactionTest, Changing):
    """`transaction.partition.verification.enable`, for partitions and for a group's offsets."""

    VERIFICATION = "transaction.partition.verification.enable"

    def setUp(self):
        super().setUp()
        self.topic, self.group = self.new_topic(3), self.new_name("group")
        self.addCleanup(lambda: self.alter(BROKER, "", (self.VERIFICATION, None)))

    def unverified(self):
        """What a producer is told that has added nothing to its transaction: of records, of offsets."""
        one = self.producer(1)
        offsets = one.commit_offsets(self.group, {self.topic: {0: 1}}, version=4)
        return one.send(self.topic, 0, version=11)[0], *offsets.values()

    def set_verification(self, value):
        self.alter(BROKER, "", (self.VERIFICATION, value))
        expected = (codes.NONE,) * 2 if value == "false" else (codes.TRANSACTION_ABORTABLE,) * 2
        self.assertTrue(self.await_effect(lambda: self.unverified() == expected), value)

    def test_it_is_in_force_at_once(self):
        self.assertEqual(self.unverified(), (codes.TRANSACTION_ABORTABLE,) * 2)
        for value in ("false", "true", "false", None):
            self.set_verification(value)

    def test_without_it_nobody_asks_the_coordinator_about_producers_of_version_1(self):
        self.set_verification("false")
        for version in (8, 11):
            one = self.producer(1)
            self.assertEqual(one.send(self.topic, 1, version=version, name="nobody")[0], codes.NONE)
            self.assertEqual(one.send(self.topic, 1, version=version, sequence=1)[0], codes.NONE)
            self.assertEqual(one.state(), "Empty")
        for version in range(5):
            one = self.producer(1)
            self.assertEqual([*one.commit_offsets(self.group, {self.topic: {1: 1}}, version=version).values()], [codes.NONE])
            self.assertEqual(one.state(), "Empty")
            # What is known in the partition is held against it all the same.
            newer = one.id, 5
            self.assertEqual([*one.commit_offsets(self.group, {self.topic: {1: 1}}, version=version,
                                                  identity=newer).values()], [codes.NONE])
            self.assertEqual([*one.commit_offsets(self.group, {self.topic: {1: 1}}, version=version).values()],
                             [codes.INVALID_PRODUCER_EPOCH])
        self.assertEqual(self.fetch_offsets(self.group, self.topic, 1, stable=True), {1: (-1, codes.UNSTABLE_OFFSET_COMMIT)})

    def test_without_it_partitions_of_version_2_are_added_all_the_same(self):
        self.set_verification("false")
        one = self.producer(2)
        self.sent(one, self.topic, 2)
        self.assertEqual([*one.commit_offsets(self.group, {self.topic: {2: 7}}).values()], [codes.NONE])
        self.assertEqual({each.topic: each.partitions for each in one.describe().topics}, {self.topic: [2], OFFSETS: [0]})
        self.assertEqual(one.send(self.topic, 0, sequence=5)[0], codes.OUT_OF_ORDER_SEQUENCE_NUMBER)
        stranger = self.producer(2)
        self.assertEqual(stranger.send(self.topic, 1, name="nobody")[0], codes.INVALID_PRODUCER_ID_MAPPING)
        self.completed(one)
        self.assertEqual(self.fetch_offsets(self.group, self.topic, 2)[2], (7, codes.NONE))

    def test_a_transaction_that_began_without_it_goes_on_with_it(self):
        self.set_verification("false")
        one, two = self.producer(1), self.producer(2)
        for each in (one, two):
            self.sent(each, self.topic, 0)
        self.set_verification("true")
        for each in (one, two):
            self.sent(each, self.topic, 0)
        self.assertEqual(one.send(self.topic, 1)[0], codes.TRANSACTION_ABORTABLE)
        self.sent(two, self.topic, 1)
        self.completed(two)


if __name__ == "__main__":
    unittest.main()
