"""Fetch without sessions: limits, waiting, marks, leader epochs and divergence."""

import threading
import time
import unittest

import apis
import codes
from base import ConformanceTest, eventually, fetched
from differences import differ
from records import GZIP, batch, records_of, split, values_of


class Limits(ConformanceTest):
    def fetch_sizes(self, topic, partitions, version=12, **fields):
        part_fields = {key: fields.pop(key) for key in ("partition_max",) if key in fields}
        answer = self.client.fetch_all([{"topic": topic, "partitions": [
            {"partition": p, "fetchOffset": 0, "partitionMaxBytes": part_fields.get("partition_max", 1 << 24)}
            for p in range(partitions)]}], version, **fields)
        self.assertEqual([p.errorCode for p in answer.responses[0].partitions], [0] * partitions)
        return {p.partitionIndex: len(p.records) for p in answer.responses[0].partitions}

    def test_the_first_batch_comes_whole_whatever_the_limits(self):
        topic, topic_id = self.new_topic_with_id()
        sent = batch(bytes(10_000))
        self.client.produce(topic, sent)
        self.client.produce(topic, sent)
        for version in apis.versions("Fetch"):
            for request_max, partition_max in ((1, 1), (0, 0), (1, 1 << 20), (1 << 20, 1), (9_999, 9_999)):
                name = topic_id if version >= apis.FETCH_FIRST_WITH_TOPIC_ID else topic
                part = self.client.fetch_all([fetched(name, 0, max_bytes=partition_max, version=version)], version,
                                             max_bytes=request_max).responses[0].partitions[0]
                self.assertEqual(len(part.records), len(sent))

    def test_the_first_batch_is_that_of_the_first_partition_that_has_one(self):
        topic = self.new_topic(4)
        self.client.append(topic, bytes(10_000), partition=2)
        self.client.append(topic, bytes(10_000), partition=3)
        sizes = self.fetch_sizes(topic, 4, max_bytes=1, partition_max=1)
        self.assertEqual([index for index, size in sizes.items() if size > 10_000], [2])
        self.assertEqual(sizes[3], 0)

    def test_partition_limits_hold_for_each_partition_and_never_break_a_first_batch(self):
        topic = self.new_topic(2)
        for partition in (0, 1):
            for _ in range(5):
                self.client.append(topic, bytes(1000), partition=partition)
        one = len(batch(bytes(1000)))
        sizes = self.fetch_sizes(topic, 2, partition_max=2 * one)
        self.assertEqual(sizes, {0: 2 * one, 1: 2 * one})
        data = self.client.fetch_all([fetched(topic, 0, max_bytes=2 * one + one // 2)]).responses[0].partitions[0]
        self.assertLessEqual(len(data.records), 2 * one + one // 2)
        self.assertEqual(len(split(data.records)), 2)

    def test_many_partitions_share_the_request_limit_and_all_are_answered(self):
        topic = self.new_topic(100)
        content = batch(bytes(100_000))
        for partition in range(100):
            self.assertEqual(self.client.produce(topic, content, partition, acks=1).errorCode, 0)
        sizes = self.fetch_sizes(topic, 100, max_bytes=1_000_000)
        self.assertEqual(len(sizes), 100)
        self.assertLessEqual(sum(sizes.values()), 1_000_000 + len(content))
        self.assertGreaterEqual(sum(sizes.values()), 900_000)

    def test_negative_limits_are_answered(self):
        topic = self.new_topic()
        self.client.append(topic, b"a")
        for fields in ({"max_bytes": -1}, {"max_bytes": -2**31}):
            part = self.client.fetch_all([fetched(topic)], **fields).responses[0].partitions[0]
            self.assertIn(part.errorCode, (codes.UNKNOWN_SERVER_ERROR, codes.NONE))
        part = self.client.fetch_all([fetched(topic, max_bytes=-1)]).responses[0].partitions[0]
        self.assertIn(part.errorCode, (codes.UNKNOWN_SERVER_ERROR, codes.NONE))

    def test_a_fetch_from_within_a_batch_gets_the_whole_batch(self):
        topic = self.new_topic()
        for codec in (0, GZIP):
            base = self.client.append(topic, b"a", b"b", b"c", codec=codec)
            for offset in range(base, base + 3):
                (first, *_) = split(self.client.fetch(topic, offset, max_wait_ms=1000).records)
                self.assertEqual((first.base_offset, first.count), (base, 3))


class Marks(ConformanceTest):
    def test_watermark_stable_offset_and_start_are_set_on_success_and_minus_1_on_errors(self):
        topic = self.new_topic()
        self.client.append(topic, *[b"x"] * 10)
        self.client.delete_records(topic, 4)
        for version in range(5, 13):
            for isolation in (0, 1):
                for offset, code in ((4, 0), (7, 0), (10, 0), (3, 1), (11, 1), (-1, 1), (2**62, 1)):
                    part = self.client.fetch(topic, offset, version, isolationLevel=isolation)
                    self.assertEqual(
                        (part.partitionIndex, part.errorCode, part.highWatermark, part.lastStableOffset,
                         part.logStartOffset), (0, code, *((10, 10, 4) if code == 0 else (-1, -1, -1))))
                    self.assertEqual(bool(part.records), code == 0 and offset < 10)
                    self.assertEqual(part.get("preferredReadReplica", -1), -1)

    def test_aborted_transactions_are_null_for_uncommitted_and_empty_for_committed_readers(self):
        topic = self.new_topic()
        self.client.append(topic, b"a")
        for version in range(4, 13):
            self.assertIsNone(self.client.fetch(topic, 0, version, isolationLevel=0).abortedTransactions)
            self.assertEqual(self.client.fetch(topic, 0, version, isolationLevel=1).abortedTransactions, [])

    def test_only_codes_that_clients_know_are_used(self):
        topic, topic_id = self.new_topic_with_id()
        self.client.append(topic, bytes(50_000))
        known = {0, 1, 3, 5, 6, 9, 29, 56, 74, 75, 76, 100, 103, -1}
        odd = [fetched(topic, o, p, b) for o in (-2**62, -1, 0, 1, 5, 2**62) for p in (0, 1, -1) for b in (0, 1, 1 << 30)]
        odd += [fetched(name) for name in ("", "not a name", "unknown", "x" * 300, "__cluster_metadata")]
        odd += [fetched(topic, currentLeaderEpoch=e, lastFetchedEpoch=f) for e in (-1, 0, 1) for f in (-1, 0, 1, 9)]
        for request in odd:
            for part in self.client.fetch_all([request]).responses[0].partitions:
                self.assertIn(part.errorCode, known)

    def test_the_metadata_log_is_not_for_consumers(self):
        part = self.client.fetch("__cluster_metadata")
        self.assertEqual(part.errorCode, codes.UNKNOWN_TOPIC_OR_PARTITION)

    def test_a_partition_named_twice_is_answered_once_or_twice_but_never_crosses_another(self):
        topic = self.new_topic(2)
        self.client.append(topic, b"a", partition=0)
        answer = self.client.fetch_all([fetched(topic, 0, 0), fetched(topic, 0, 1), fetched(topic, 0, 0)])
        parts = [p for t in answer.responses for p in t.partitions]
        self.assertEqual({p.partitionIndex for p in parts}, {0, 1})
        for part in parts:
            self.assertEqual(bool(part.records), part.partitionIndex == 0)


class Waiting(ConformanceTest):
    def timed(self, *args, **fields):
        start = time.monotonic()
        answer = self.client.fetch_all(*args, **fields)
        return time.monotonic() - start, answer

    def test_a_fetch_at_the_end_is_answered_when_the_wait_is_over_in_every_version(self):
        topic, topic_id = self.new_topic_with_id()
        for version in (4, 7, 11, 12, 13, 15, 18):
            name = topic_id if version >= apis.FETCH_FIRST_WITH_TOPIC_ID else topic
            took, answer = self.timed([fetched(name, version=version)], version, max_wait_ms=500)
            self.assertTrue(0.45 <= took <= 2.5, (version, took))
            self.assertEqual(answer.responses[0].partitions[0].errorCode, 0)

    def test_what_need_not_wait_is_answered_at_once(self):
        topic = self.new_topic()
        self.client.append(topic, b"a")
        for name, request, fields in (
                ("min bytes 0 at the end", [fetched(topic, 1)], {"min_bytes": 0}),
                ("min bytes -1 at the end", [fetched(topic, 1)], {"min_bytes": -1}),
                ("enough data", [fetched(topic, 0)], {"min_bytes": 10}),
                ("out of range", [fetched(topic, 9)], {}),
                ("out of range beside one at its end", [fetched(topic, 9), fetched(self.new_topic(), 0)], {}),
                ("unknown topic", [fetched("unknown")], {}),
                ("unknown epoch", [fetched(topic, 1, currentLeaderEpoch=5)], {}),
                ("diverging", [fetched(topic, 1, lastFetchedEpoch=7)], {}),
                ("nothing asked", [], {})):
            with self.subTest(name):
                took, _ = self.timed(request, max_wait_ms=5000, **fields)
                self.assertLess(took, 1.0)
        took, _ = self.timed([fetched(topic, 1)], max_wait_ms=-1)
        self.assertLess(took, 1.0)

    def test_a_waiting_fetch_is_answered_as_soon_as_enough_has_come(self):
        topic = self.new_topic(2)
        producer = self.new_client()
        threading.Timer(0.3, lambda: producer.append(topic, b"a", partition=1)).start()
        took, answer = self.timed([fetched(topic, 0, 0), fetched(topic, 0, 1)], max_wait_ms=10_000)
        self.assertTrue(0.25 <= took <= 3.0, took)
        got = {p.partitionIndex: values_of(p.records) for t in answer.responses for p in t.partitions}
        self.assertEqual(got, {0: [], 1: [b"a"]})

    def test_min_bytes_are_waited_for_and_what_is_there_comes_at_the_end_of_the_wait(self):
        topic = self.new_topic()
        self.client.append(topic, b"a")
        took, answer = self.timed([fetched(topic)], max_wait_ms=600, min_bytes=1_000_000)
        self.assertTrue(0.55 <= took <= 2.5, took)
        self.assertEqual(values_of(answer.responses[0].partitions[0].records), [b"a"])

    def test_min_bytes_are_counted_over_all_partitions_and_several_appends(self):
        topic = self.new_topic(3)
        producer = self.new_client()

        def trickle():
            for partition in (0, 1, 2):
                time.sleep(0.1)
                producer.append(topic, bytes(1000), partition=partition)

        thread = threading.Thread(target=trickle)
        thread.start()
        took, answer = self.timed([fetched(topic, 0, p) for p in range(3)], max_wait_ms=10_000, min_bytes=3000)
        thread.join()
        self.assertTrue(0.25 <= took <= 3.0, took)
        self.assertEqual(sum(len(p.records) > 0 for t in answer.responses for p in t.partitions), 3)

    def test_a_waiting_fetch_ends_when_its_topic_is_deleted(self):
        for version in (12, apis.newest("Fetch")):
            topic, topic_id = self.new_topic_with_id()
            named = topic if version < apis.FETCH_FIRST_WITH_TOPIC_ID else topic_id
            killer = threading.Timer(0.3, self.new_client().delete, [topic])
            killer.start()
            took, answer = self.timed([fetched(named, version=version)], version, max_wait_ms=4000)
            killer.join()
            self.assertTrue(0.2 < took < 3.9, took)
            self.assertIn(answer.responses[0].partitions[0].errorCode,
                          (codes.UNKNOWN_TOPIC_OR_PARTITION, codes.NOT_LEADER_OR_FOLLOWER))

    def test_a_consumer_that_goes_away_while_it_waits_harms_nobody(self):
        topic = self.new_topic()
        for _ in range(50):
            connection = self.new_connection()
            connection.send("Fetch", 12, maxWaitMs=60_000, minBytes=1, topics=[fetched(topic)], sessionEpoch=-1)
            connection.close()
        self.client.append(topic, b"a")
        self.assert_still_served()


class Epochs(ConformanceTest):
    def setUp(self):
        super().setUp()
        self.topic, self.topic_id = self.new_topic_with_id()
        self.client.append(self.topic, *[b"x"] * 20)

    def part(self, version=12, offset=0, **fields):
        name = self.topic_id if version >= apis.FETCH_FIRST_WITH_TOPIC_ID else self.topic
        return self.client.fetch_all([fetched(name, offset, version=version, **fields)],
                                     version).responses[0].partitions[0]

    def test_a_newer_leader_epoch_is_unknown(self):
        for version in range(9, apis.newest("Fetch") + 1):
            self.assertEqual(self.part(version, currentLeaderEpoch=0).errorCode, 0)
            self.assertEqual(self.part(version, currentLeaderEpoch=-1).errorCode, 0)
            for epoch in (1, 2**31 - 1):
                self.assertEqual(self.part(version, currentLeaderEpoch=epoch).errorCode, codes.UNKNOWN_LEADER_EPOCH)
        self.assertEqual(self.part(8, currentLeaderEpoch=5).errorCode, 0)  # not on the wire

    def test_the_epoch_is_the_same_wherever_it_is_told(self):
        metadata = self.client.metadata(self.topic).topics[0].partitions[0].leaderEpoch
        (stored, *_) = split(self.client.fetch(self.topic, max_wait_ms=1000).records)
        listed = self.client.list_offset(self.topic, -1).leaderEpoch
        asked = self.client.call("OffsetForLeaderEpoch", 4, replicaId=-1, topics=[
            {"topic": self.topic, "partitions": [{"partition": 0, "leaderEpoch": metadata}]}]).topics[0].partitions[0]
        self.assertGreaterEqual(metadata, 0)
        self.assertEqual({metadata, stored.leader_epoch, listed, asked.leaderEpoch}, {metadata})
        self.assertEqual(asked.endOffset, 20)

    def test_divergence_is_told_instead_of_records(self):
        for version in range(12, apis.newest("Fetch") + 1):
            agreeing = self.part(version, 5, lastFetchedEpoch=0)
            self.assertEqual((agreeing.errorCode, bool(agreeing.records), agreeing.divergingEpoch.endOffset),
                             (0, True, -1))
            beyond = self.part(version, 25, lastFetchedEpoch=0)
            self.assertEqual((beyond.errorCode, beyond.records), (0, b""))
            self.assertEqual(beyond.divergingEpoch, {"epoch": 0, "endOffset": 20})
            self.assertEqual(self.part(version, 5, lastFetchedEpoch=3).errorCode, codes.OFFSET_OUT_OF_RANGE)


class Reading(ConformanceTest):
    def test_the_latest_offset_is_never_ahead_of_what_can_be_fetched(self):
        topic = self.new_topic()
        producer, stop = self.new_client(), threading.Event()

        def produce():
            while not stop.is_set():
                producer.produce(topic, batch(b"a", b"b"), acks=1)

        thread = threading.Thread(target=produce)
        thread.start()
        try:
            self.assertTrue(eventually(lambda: self.client.end_offset(topic) > 0))
            for _ in range(100):
                latest = self.client.end_offset(topic)
                part = self.client.fetch(topic, latest - 1, max_bytes=1)
                self.assertEqual(part.errorCode, 0)
                self.assertTrue(any(o == latest - 1 for o, *_ in records_of(split(part.records))))
        finally:
            stop.set()
            thread.join()

    def test_an_old_topic_id_is_unknown_after_the_topic_was_made_again(self):
        name, old = self.new_topic_with_id()
        self.assertEqual(self.client.delete(name).errorCode, 0)
        new = self.client.create_usable(name)
        self.assertNotEqual(old, new)
        for version in range(13, apis.newest("Fetch") + 1):
            def code(topic_id, version=version):
                return self.client.fetch(topic_id, 0, version).errorCode
            self.assertEqual((code(old), code(new)), (codes.UNKNOWN_TOPIC_ID, 0))
        produced = self.client.produce("", batch(b"a"), 0, 13, -1, old)
        self.assertEqual(produced.errorCode, codes.UNKNOWN_TOPIC_ID)

    def test_a_foreign_replica_is_not_served(self):
        topic = self.new_topic()
        self.client.append(topic, b"a")
        part = self.client.fetch_all([fetched(topic)], 12, replicaId=1).responses[0].partitions[0]
        self.assertIn(part.errorCode, differ("fetch-as-own-replica"))


if __name__ == "__main__":
    unittest.main()
