"""What server settings change in the answers; one broker with many of them set."""

import os
import unittest

import codes
import wire
from base import HOST, IS_KAFKA, Broker, ConformanceTest, eventually, fetched
from records import GZIP, batch, split

STATIC, DEFAULT = 4, 5
SESSION_SLOTS = 16

PROPERTIES = {
    "auto.create.topics.enable": "true",
    "num.partitions": "3",
    "message.max.bytes": "50000",
    "compression.type": "gzip",
    "log.message.timestamp.type": "LogAppendTime",
    "fetch.max.bytes": "120000",
    "socket.request.max.bytes": "1000000",
    "max.request.partition.size.limit": "4",
    "max.incremental.fetch.session.cache.slots": str(SESSION_SLOTS),
    "producer.id.expiration.ms": "1000",
    "producer.id.expiration.check.interval.ms": "100",
    "log.retention.hours": "1",
    "log.roll.ms": "7200000",
}


@unittest.skipIf(os.environ.get("BARNABAS_BOOTSTRAP"), "needs a broker of its own")
class Settings(ConformanceTest):
    @classmethod
    def setUpClass(cls):
        cls.broker = Broker(properties=PROPERTIES)
        cls.addClassCleanup(cls.broker.clean)
        cls.broker.start()

    def broker_address(self):
        return HOST, self.broker.port

    def plain_topic(self, **configs):
        name = self.new_name()
        self.client.create_usable(name, 1, configs)
        return name

    def test_num_partitions_is_the_default_of_both_ways_to_create(self):
        created, automatic = self.new_name("a"), self.new_name("b")
        got = self.client.create(created, -1, replicationFactor=-1)
        self.assertEqual((got.errorCode, got.numPartitions, got.replicationFactor), (0, 3, 1))

        def made():
            (topic,) = self.client.metadata(automatic, allowAutoTopicCreation=True).topics
            return topic.errorCode == 0 and len(topic.partitions)

        self.assertEqual(eventually(made), 3)

    def test_the_message_limit_holds_where_the_topic_has_none_of_its_own(self):
        topic, roomy = self.plain_topic(), self.plain_topic(**{"max.message.bytes": "200000"})
        content = batch(os.urandom(80_000))
        self.assertEqual(self.client.produce(topic, content).errorCode, codes.MESSAGE_TOO_LARGE)
        self.assertEqual(self.client.produce(roomy, content).errorCode, 0)

    def test_codec_and_timestamp_type_come_from_the_broker(self):
        topic = self.plain_topic()
        got = self.client.produce(topic, batch(b"a" * 500, timestamps=(5,)))
        self.assertNotEqual(got.logAppendTimeMs, -1)
        (stored,) = split(self.client.fetch(topic, max_wait_ms=1000).records)
        self.assertEqual((stored.codec, stored.max_timestamp), (GZIP, got.logAppendTimeMs))

    def test_topics_tell_static_settings_as_such(self):
        topic = self.plain_topic()
        answer = self.client.call("DescribeConfigs", 4, includeSynonyms=True, resources=[
            {"resourceType": 2, "resourceName": topic}])
        got = {c.name: c for c in answer.results[0].configs}
        for name, value, synonyms in (
                ("max.message.bytes", "50000", [("message.max.bytes", "50000", STATIC),
                                                ("message.max.bytes", "1048588", DEFAULT)]),
                ("compression.type", "gzip", [("compression.type", "gzip", STATIC),
                                              ("compression.type", "producer", DEFAULT)])):
            self.assertEqual((got[name].value, got[name].configSource), (value, STATIC))
            self.assertEqual([(s.name, s.value, s.source) for s in got[name].synonyms], synonyms)
        self.assertEqual(got["retention.ms"].value, "3600000")  # from hours
        self.assertEqual(got["segment.ms"].value, "7200000")
        self.assertEqual([(s.name, s.value, s.source) for s in got["segment.ms"].synonyms],
                         [("log.roll.ms", "7200000", STATIC), ("log.roll.hours", "168", DEFAULT)])

    def test_of_several_units_those_from_the_asked_one_on_are_told(self):
        answer = self.client.call("DescribeConfigs", 4, includeSynonyms=True, resources=[
            {"resourceType": 4, "resourceName": "1"}])
        got = {c.name: (c.value, [(s.name, s.value, s.source) for s in c.synonyms]) for c in answer.results[0].configs}
        hours = [("log.retention.hours", "1", STATIC), ("log.retention.hours", "168", DEFAULT)]
        self.assertEqual(got["log.retention.ms"], (None, []))
        self.assertEqual(got["log.retention.minutes"], (None, []))
        self.assertEqual(got["log.retention.hours"], ("1", hours))
        self.assertEqual(got["log.roll.ms"], ("7200000", [("log.roll.ms", "7200000", STATIC),
                                                         ("log.roll.hours", "168", DEFAULT)]))
        self.assertEqual(got["log.roll.hours"], ("168", [("log.roll.hours", "168", DEFAULT)]))

    def test_the_brokers_fetch_limit_bounds_every_answer(self):
        topic = self.plain_topic(**{"compression.type": "producer"})
        content = batch(os.urandom(40_000))
        for _ in range(6):
            self.client.produce(topic, content)
        part = self.client.fetch_all([fetched(topic)]).responses[0].partitions[0]
        self.assertLessEqual(len(part.records), 120_000)
        self.assertGreaterEqual(len(split(part.records)), 2)

    def test_the_frame_limit_closes(self):
        for size, closed in ((1_000_001, True), (1_000_000, False)):
            connection = self.new_connection()
            connection.send_bytes(size.to_bytes(4, "big"))
            self.assertEqual(connection.outcome(5.0 if closed else 0.5), "closed" if closed else "silent")

    def test_the_page_of_topic_partitions_is_bounded(self):
        name = self.new_name()
        self.client.create_usable(name, 6)
        answer = self.client.call("DescribeTopicPartitions", 0, topics=[{"name": name}], responsePartitionLimit=2000,
                                  cursor=None)
        self.assertEqual(len(answer.topics[0].partitions), 4)
        self.assertEqual(answer.nextCursor, {"topicName": name, "partitionIndex": 4})

    def test_sessions_beyond_the_slots_are_refused_until_one_ends(self):
        """Sessions unused for two minutes make room as well; that is not waited for here."""
        topic = self.plain_topic()

        def open_many():
            """More than fit; Kafka spreads them at random over its cache."""
            answers = [self.client.fetch_all([fetched(topic)], 12, sessionEpoch=0) for _ in range(300)]
            self.assertEqual({answer.errorCode for answer in answers}, {0})
            return [answer.sessionId for answer in answers if answer.sessionId]

        def codes_of(sessions, epoch):
            return {self.client.fetch_all([], 12, sessionId=session, sessionEpoch=epoch).errorCode
                    for session in sessions}

        first = open_many()
        self.assertEqual((len(first), open_many()), (SESSION_SLOTS, []))
        self.assertEqual(codes_of(first, 1), {0})
        self.assertEqual(codes_of(first[:4], -1), {0})  # the end of four
        self.assertEqual(len(open_many()), 4)
        self.assertEqual(codes_of(first[:4], 2), {codes.FETCH_SESSION_ID_NOT_FOUND})
        self.assertEqual(codes_of(first[4:], 2), {0})

    def test_idle_producers_are_forgotten_and_may_begin_anywhere_again(self):
        topic = self.plain_topic()
        producer = self.client.new_producer_id()

        def send(sequence, epoch=2):
            return self.client.produce(topic, batch(b"a", producer_id=producer, producer_epoch=epoch,
                                                    sequence=sequence)).errorCode

        def active():
            answer = self.client.call("DescribeProducers", 0, topics=[{"name": topic, "partitionIndexes": [0]}])
            return answer.topics[0].partitions[0].activeProducers

        self.assertEqual([send(0), send(1), send(5)], [0, 0, codes.OUT_OF_ORDER_SEQUENCE_NUMBER])
        self.assertEqual(len(active()), 1)
        self.assertTrue(eventually(lambda: not active(), 15, 0.1))
        self.assertEqual(send(9, epoch=1), 0)

    @unittest.skipIf(IS_KAFKA, "Apache Kafka logs in words of its own")
    def test_a_refused_request_is_logged_with_client_address_and_what_it_sent(self):
        connection = self.new_connection()
        port = connection.socket.getsockname()[1]
        connection.send_bytes(wire.sized(wire.header_of(9999, 7, 1, "curious-client") + bytes(20)))
        self.assertTrue(connection.is_closed())

        def line():
            return [one for one in self.broker.log_tail().splitlines() if "curious-client" in one]

        self.assertTrue(eventually(line))
        (found,) = line()
        for part in (f"{HOST}:{port}", "9999", "7"):
            self.assertIn(part, found)


if __name__ == "__main__":
    unittest.main()
