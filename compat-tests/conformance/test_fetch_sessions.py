"""Incremental fetch sessions: what is sent again, what is not, and how a session ends."""

import time
import unittest

import apis
import codes
from base import Client, ConformanceTest, eventually, fetched
from differences import differ
from records import batch, split, values_of

WAIT_MS = 300


class Session:
    """A client's view of one fetch session."""

    def __init__(self, client, topics, version=11, **fields):
        self.client, self.version, self.epoch = client, version, 0
        self.id = 0
        answer = self.fetch(topics, **fields)
        assert answer.errorCode == codes.NONE, answer.errorCode
        self.id, self.first = answer.sessionId, answer

    def fetch(self, topics=(), forget=(), epoch=None, **fields):
        answer = self.client.fetch_all(
            list(topics), self.version, sessionId=self.id, sessionEpoch=self.epoch if epoch is None else epoch,
            forgottenTopicsData=list(forget), **{"max_wait_ms": WAIT_MS, **fields})
        if epoch is None and answer.errorCode == codes.NONE:
            self.epoch += 1
        return answer


def named(answer):
    """{(topic, partition): (error, values)} of what an answer holds."""
    return {(t.get("topic", t.get("topicId")), p.partitionIndex): (p.errorCode, values_of(p.records))
            for t in answer.responses for p in t.partitions}


class Incremental(ConformanceTest):
    def setUp(self):
        super().setUp()
        self.topic = self.new_topic(2)
        self.producer = self.new_client()

    def both(self):
        return [fetched(self.topic, 0, 0), fetched(self.topic, 0, 1)]

    def test_the_first_answer_names_every_partition_and_later_ones_only_changes(self):
        for version in (7, 8, 11, 12):
            topic = self.new_topic(2)
            session = Session(self.client, [fetched(topic, 0, 0), fetched(topic, 0, 1)], version)
            self.assertNotEqual(session.id, 0)
            self.assertEqual(named(session.first), {(topic, 0): (0, []), (topic, 1): (0, [])})
            self.assertEqual(session.fetch(max_wait_ms=50).responses, [])
            self.producer.append(topic, b"a", partition=1)
            self.assertEqual(named(session.fetch()), {(topic, 1): (0, [b"a"])})

    def test_nothing_new_waits_the_whole_time(self):
        session = Session(self.client, self.both())
        for _ in range(2):
            start = time.monotonic()
            answer = session.fetch(max_wait_ms=700)
            self.assertTrue(0.65 <= time.monotonic() - start <= 2.5)
            self.assertEqual((answer.errorCode, answer.sessionId, answer.responses), (0, session.id, []))

    def test_records_come_again_until_the_offset_moves(self):
        session = Session(self.client, self.both())
        self.producer.append(self.topic, b"a")
        for _ in range(2):
            self.assertEqual(named(session.fetch()), {(self.topic, 0): (0, [b"a"])})
        self.assertEqual(session.fetch([fetched(self.topic, 1)]).responses, [])

    def test_a_new_watermark_is_told_though_min_bytes_were_not_reached(self):
        session = Session(self.client, self.both())
        self.producer.append(self.topic, b"a")
        start = time.monotonic()
        answer = session.fetch(min_bytes=1 << 30, max_wait_ms=500)
        self.assertGreaterEqual(time.monotonic() - start, 0.45)
        self.assertEqual([(p.partitionIndex, p.highWatermark) for t in answer.responses for p in t.partitions], [(0, 1)])

    def test_a_new_log_start_is_told(self):
        self.producer.append(self.topic, b"a", b"b")
        session = Session(self.client, [fetched(self.topic, 2, 0), fetched(self.topic, 0, 1)])
        self.assertEqual(session.fetch(max_wait_ms=50).responses, [])
        self.producer.delete_records(self.topic, 1)
        answer = session.fetch()
        self.assertEqual([(p.partitionIndex, p.logStartOffset) for t in answer.responses for p in t.partitions],
                         [(0, 1)])
        self.assertEqual(session.fetch(max_wait_ms=50).responses, [])

    def test_a_forgotten_partition_is_never_named_again(self):
        session = Session(self.client, self.both())
        session.fetch(forget=[{"topic": self.topic, "partitions": [1]}], max_wait_ms=0)
        self.producer.append(self.topic, b"a", partition=1)
        self.producer.append(self.topic, b"b", partition=0)
        for _ in range(3):
            self.assertEqual(named(session.fetch()), {(self.topic, 0): (0, [b"b"])})

    def test_a_partition_added_again_starts_at_its_new_offset(self):
        self.producer.append(self.topic, b"a", partition=1)
        self.producer.append(self.topic, b"b", partition=1)
        session = Session(self.client, self.both())
        session.fetch(forget=[{"topic": self.topic, "partitions": [1]}], max_wait_ms=0)
        answer = session.fetch([fetched(self.topic, 1, 1)])
        self.assertEqual(named(answer), {(self.topic, 1): (0, [b"b"])})

    def test_forgetting_what_is_not_there_is_no_error(self):
        session = Session(self.client, self.both())
        answer = session.fetch(forget=[{"topic": "unknown", "partitions": [0]},
                                       {"topic": self.topic, "partitions": [7]}], max_wait_ms=50)
        self.assertEqual((answer.errorCode, answer.responses), (0, []))

    def test_a_partition_can_join_later(self):
        session = Session(self.client, [fetched(self.topic, 0, 0)])
        answer = session.fetch([fetched(self.topic, 0, 1)])
        self.assertEqual(named(answer), {(self.topic, 1): (0, [])})
        self.producer.append(self.topic, b"a", partition=1)
        self.assertEqual(named(session.fetch()), {(self.topic, 1): (0, [b"a"])})

    def test_errors_are_repeated_at_once_until_they_are_gone(self):
        session = Session(self.client, [*self.both(), fetched("unknown"), fetched(self.topic, 9, 0)])
        for _ in range(3):
            start = time.monotonic()
            answer = session.fetch(max_wait_ms=3000)
            self.assertLess(time.monotonic() - start, 1.0)
            self.assertEqual({key: code for key, (code, _) in named(answer).items()},
                             {("unknown", 0): codes.UNKNOWN_TOPIC_OR_PARTITION,
                              (self.topic, 0): codes.OFFSET_OUT_OF_RANGE})
        answer = session.fetch([fetched(self.topic, 0, 0)], forget=[{"topic": "unknown", "partitions": [0]}])
        self.assertNotIn(("unknown", 0), named(answer))
        self.assertEqual(session.fetch(max_wait_ms=50).responses, [])

    def test_partitions_take_turns_under_a_small_limit(self):
        topic = self.new_topic(4)
        for partition in range(4):
            self.client.append(topic, bytes(1000), partition=partition)
        session = Session(self.client, [fetched(topic, 0, p) for p in range(4)], max_bytes=1100)
        served = [key[1] for key, (_, values) in named(session.first).items() if values]
        for _ in range(4):
            served += [key[1] for key, (_, values) in named(session.fetch(max_bytes=1100)).items() if values]
        self.assertEqual(set(served), {0, 1, 2, 3})


class Lifetime(ConformanceTest):
    def setUp(self):
        super().setUp()
        self.topic = self.new_topic()
        self.client.append(self.topic, b"a")

    def assert_refused(self, answer, code):
        self.assertEqual((answer.errorCode, answer.sessionId, answer.responses), (code, 0, []))

    def test_an_unknown_session_is_not_found(self):
        for version in range(7, 13):
            for session_id, epoch in ((12345, 1), (12345, 7), (0, 5), (-1, 1), *differ("odd-session-ids")):
                answer = self.client.fetch_all([fetched(self.topic)], version, sessionId=session_id, sessionEpoch=epoch)
                self.assert_refused(answer, codes.FETCH_SESSION_ID_NOT_FOUND)

    def test_a_wrong_epoch_is_invalid_and_leaves_the_session_as_it_was(self):
        session = Session(self.client, [fetched(self.topic)])
        session.fetch()
        for wrong in (1, 3, 99, 2**31 - 1):
            self.assert_refused(session.fetch(epoch=wrong), codes.INVALID_FETCH_SESSION_EPOCH)
        self.assertEqual(named(session.fetch()), {(self.topic, 0): (0, [b"a"])})

    def test_an_unknown_session_is_replaced_when_a_full_fetch_is_asked(self):
        answer = self.client.fetch_all([fetched(self.topic)], 11, sessionId=12345, sessionEpoch=0)
        self.assertEqual((answer.errorCode, named(answer)), (0, {(self.topic, 0): (0, [b"a"])}))
        self.assertNotIn(answer.sessionId, (0, 12345))

    def test_the_final_epoch_ends_the_session(self):
        session = Session(self.client, [fetched(self.topic)])
        answer = session.fetch([fetched(self.topic)], epoch=-1)
        self.assertEqual((answer.errorCode, answer.sessionId), (0, 0))
        self.assertEqual(named(answer), {(self.topic, 0): (0, [b"a"])})
        self.assert_refused(session.fetch(epoch=1), codes.FETCH_SESSION_ID_NOT_FOUND)

    def test_without_session_the_id_is_0(self):
        for version in range(7, apis.FETCH_FIRST_WITH_TOPIC_ID):
            self.assertEqual(self.client.fetch_all([fetched(self.topic)], version).sessionId, 0)

    def test_a_session_outlives_its_connection(self):
        session = Session(self.client, [fetched(self.topic)])
        session.client = self.new_client()
        self.client.close()
        self.assertEqual(named(session.fetch()), {(self.topic, 0): (0, [b"a"])})

    def test_a_full_fetch_makes_a_new_session_each_time(self):
        ids = {Session(self.client, [fetched(self.topic)]).id for _ in range(5)}
        self.assertEqual(len(ids), 5)
        self.assertTrue(all(identity > 0 for identity in ids))

    def test_too_many_sessions_are_served_without_one_or_push_out_an_old_one(self):
        """The limit (max.incremental.fetch.session.cache.slots) is 1000; young sessions are not pushed out."""
        client = Client(self.address)
        self.addCleanup(client.close)
        ids = []
        for _ in range(1100):
            answer = client.fetch_all([fetched(self.topic)], 11, sessionEpoch=0)
            self.assertEqual((answer.errorCode, named(answer)), (0, {(self.topic, 0): (0, [b"a"])}))
            ids.append(answer.sessionId)
        self.assertLessEqual(len({identity for identity in ids if identity}), 1000)
        self.assertEqual(ids[-1], 0)
        for identity in [identity for identity in ids if identity]:  # make room for the other cases
            client.fetch_all([], 11, sessionId=identity, sessionEpoch=-1)
        self.assertNotEqual(client.fetch_all([fetched(self.topic)], 11, sessionEpoch=0).sessionId, 0)


class TopicIds(ConformanceTest):
    def test_a_session_by_id_works_in_every_version(self):
        for version in range(13, apis.newest("Fetch") + 1):
            topic, topic_id = self.new_topic_with_id(2)
            session = Session(self.client, [fetched(topic_id, version=version)], version)
            self.client.append(topic, b"a")
            self.assertEqual(named(session.fetch()), {(topic_id, 0): (0, [b"a"])})
            session.fetch(forget=[{"topicId": topic_id, "partitions": [0]}], max_wait_ms=0)
            self.assertEqual(session.fetch(max_wait_ms=50).responses, [])

    def test_an_unknown_id_is_an_error_of_its_partition(self):
        topic, topic_id = self.new_topic_with_id()
        unknown = b"\x77" * 16
        session = Session(self.client, [fetched(topic_id, version=13), fetched(unknown, version=13)], 13)
        self.assertEqual(named(session.first), {(topic_id, 0): (0, []), (unknown, 0): (codes.UNKNOWN_TOPIC_ID, [])})
        self.assertEqual(named(session.fetch()), {(unknown, 0): (codes.UNKNOWN_TOPIC_ID, [])})

    def test_names_and_ids_do_not_mix_in_one_session(self):
        topic, topic_id = self.new_topic_with_id()
        for first, second in ((13, 12), (12, 13)):
            names = {12: topic, 13: topic_id}
            session = Session(self.client, [fetched(names[first], version=first)], first)
            session.version = second
            answer = session.fetch([fetched(names[second], version=second)])
            self.assertEqual((answer.errorCode, answer.responses), (codes.FETCH_SESSION_TOPIC_ID_ERROR, []))

    def test_a_topic_made_again_is_inconsistent_in_an_old_session(self):
        topic, old = self.new_topic_with_id()
        session = Session(self.client, [fetched(old, version=17)], 17)
        self.client.delete(topic)
        self.client.create_usable(topic)
        for _ in range(2):
            self.assertTrue(eventually(lambda: named(session.fetch()) == {(old, 0): (codes.INCONSISTENT_TOPIC_ID, [])}))

    def test_a_deleted_topic_is_an_error_in_its_session(self):
        topic, topic_id = self.new_topic_with_id()
        session = Session(self.client, [fetched(topic_id, version=17)], 17)
        self.client.delete(topic)
        gone = {(topic_id, 0): (codes.UNKNOWN_TOPIC_OR_PARTITION, [])}
        for _ in range(2):
            self.assertTrue(eventually(lambda: named(session.fetch()) == gone))


class Pace(ConformanceTest):
    def test_many_quick_incremental_fetches_see_every_record_once_and_in_order(self):
        topic = self.new_topic(3)
        producer = self.new_client()
        session = Session(self.client, [fetched(topic, 0, p) for p in range(3)])
        seen = {0: [], 1: [], 2: []}
        offsets = {0: 0, 1: 0, 2: 0}
        for number in range(60):
            producer.produce(topic, batch(b"%d" % number), number % 3, acks=1)
            moved = [fetched(topic, offset, p) for p, offset in offsets.items() if offset]
            for one in session.fetch(moved, max_wait_ms=20).responses:
                for part in one.partitions:
                    for got in split(part.records):
                        if got.base_offset >= offsets[part.partitionIndex]:
                            seen[part.partitionIndex] += values_of(got.raw)
                            offsets[part.partitionIndex] = got.next_offset
        self.assertEqual(seen, {p: [b"%d" % n for n in range(60) if n % 3 == p] for p in range(3)})


if __name__ == "__main__":
    unittest.main()
