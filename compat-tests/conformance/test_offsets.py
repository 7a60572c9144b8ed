"""ListOffsets, OffsetForLeaderEpoch and DeleteRecords."""

import threading
import unittest

import apis
import codes
from base import ConformanceTest, eventually
from differences import differ
from records import GZIP, SNAPPY, Batch, batch, now_ms

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, PENDING_UPLOAD = -1, -2, -3, -4, -5, -6
FIRST_VERSION = {LATEST: 1, EARLIEST: 1, MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, PENDING_UPLOAD: 11}
DAY_MS = 86_400_000


class Listing(ConformanceTest):
    def offset_at(self, topic, timestamp, version=10, **fields):
        got = self.client.list_offset(topic, timestamp, version=version, **fields)
        return got.errorCode, got.timestamp, got.offset

    def test_special_timestamps_in_each_version(self):
        full, empty = self.new_topic(), self.new_topic()
        self.client.append(full, *[b"x"] * 6, timestamps=(1, 5, 9, 9, 2, 3))
        self.client.delete_records(full, 1)
        wanted = {  # special: (of the full topic, of the empty one)
            LATEST: ((0, -1, 6), (0, -1, 0)), EARLIEST: ((0, -1, 1), (0, -1, 0)),
            MAX_TIMESTAMP: ((0, 9, 2), (0, -1, -1)), EARLIEST_LOCAL: ((0, -1, 1), (0, -1, 0)),
            LATEST_TIERED: ((0, -1, -1), (0, -1, -1)), PENDING_UPLOAD: ((0, -1, -1), (0, -1, -1)),
        }
        for version in apis.versions("ListOffsets"):
            for special, (of_full, of_empty) in wanted.items():
                with self.subTest(version=version, special=special):
                    if version < FIRST_VERSION[special]:
                        of_full = of_empty = (codes.UNSUPPORTED_VERSION, -1, -1)
                    self.assertEqual(self.offset_at(full, special, version), of_full)
                    self.assertEqual(self.offset_at(empty, special, version), of_empty)

    def test_other_negative_timestamps_are_an_unsupported_version(self):
        topic = self.new_topic()
        for version in apis.versions("ListOffsets"):
            for timestamp in (-7, -8, -100, -2**63):
                for name in (topic, "unknown"):  # told before anything is looked up
                    self.assertEqual(self.offset_at(name, timestamp, version), (codes.UNSUPPORTED_VERSION, -1, -1))

    def test_leader_epochs_of_the_answers(self):
        topic = self.new_topic()
        self.client.append(topic, b"a", timestamps=(5,))
        for version in range(4, apis.newest("ListOffsets") + 1):
            for timestamp, epoch in ((LATEST, 0), (EARLIEST, 0), (5, 0), (6, -1)):
                self.assertEqual(self.client.list_offset(topic, timestamp, version=version).leaderEpoch, epoch)

    def test_current_leader_epoch_is_checked(self):
        topic = self.new_topic()
        for version in range(4, apis.newest("ListOffsets") + 1):
            for epoch, code in ((-1, 0), (0, 0), (1, codes.UNKNOWN_LEADER_EPOCH), (99, codes.UNKNOWN_LEADER_EPOCH),
                                (-2, codes.FENCED_LEADER_EPOCH), (-2**31, codes.FENCED_LEADER_EPOCH)):
                got = self.client.list_offset(topic, LATEST, version=version, epoch=epoch)
                self.assertEqual((got.errorCode, got.offset), (code, -1 if code else 0))

    def test_unknown_partitions_and_names(self):
        topic = self.new_topic()
        for name, partition in (("unknown", 0), (topic, 1), (topic, -1), ("not a name", 0), ("", 0)):
            got = self.client.list_offset(name, LATEST, partition)
            self.assertEqual((got.errorCode, got.partitionIndex, got.timestamp, got.offset, got.leaderEpoch),
                             (codes.UNKNOWN_TOPIC_OR_PARTITION, partition, -1, -1, -1))

    def test_each_partition_is_answered_in_its_topic(self):
        first, second = self.new_topic(3), self.new_topic()
        self.client.append(first, b"a", partition=2)
        answer = self.client.call("ListOffsets", 6, replicaId=-1, topics=[
            {"name": name, "partitions": [{"partitionIndex": p, "timestamp": LATEST} for p in parts]}
            for name, parts in ((first, (2, 0, 9)), ("unknown", (0,)), (second, (0,)))])
        got = {(t.name, p.partitionIndex): (p.errorCode, p.offset) for t in answer.topics for p in t.partitions}
        self.assertEqual(got, {(first, 2): (0, 1), (first, 0): (0, 0), (first, 9): (3, -1), ("unknown", 0): (3, -1),
                               (second, 0): (0, 0)})

    def test_read_committed_sees_the_same_end_without_transactions(self):
        topic = self.new_topic()
        self.client.append(topic, b"a", b"b")
        for version in range(2, apis.newest("ListOffsets") + 1):
            self.assertEqual(self.offset_at(topic, LATEST, version, isolation=1), (0, -1, 2))


class ByTime(ConformanceTest):
    def assert_found(self, topic, asked, offset, timestamp, versions=(1, 4, 7, 11)):
        for version in versions:
            got = self.client.list_offset(topic, asked, version=version)
            self.assertEqual((got.errorCode, got.offset, got.timestamp), (0, offset, timestamp), (asked, version))

    def test_beyond_the_last_record_there_is_nothing(self):
        topic = self.new_topic()
        self.client.append(topic, b"a", timestamps=(1000,))
        for asked in (1001, 2**62, 2**63 - 1):
            self.assert_found(topic, asked, -1, -1, apis.versions("ListOffsets"))

    def test_between_two_records_the_later_one_is_found(self):
        for codec in (0, GZIP, SNAPPY):
            for apart in (True, False):
                topic = self.new_topic()
                stamps = (2, 4, 6, 8)
                if apart:
                    for stamp in stamps:
                        self.client.append(topic, b"x", timestamps=(stamp,), codec=codec)
                else:
                    self.client.append(topic, *[b"x"] * 4, timestamps=stamps, codec=codec)
                for asked, offset in ((0, 0), (1, 0), (2, 0), (3, 1), (4, 1), (5, 2), (7, 3), (8, 3), (9, -1)):
                    self.assert_found(topic, asked, offset, -1 if offset < 0 else stamps[offset])

    def test_times_that_go_down_are_searched_from_the_front(self):
        topic, now = self.new_topic(), now_ms()
        stamps = (now, now - 100 * DAY_MS, now - 50 * DAY_MS)
        for stamp in stamps:
            self.client.append(topic, b"x", timestamps=(stamp,))
        for asked in (0, stamps[1] - 1, stamps[1], stamps[1] + 1, stamps[2], now - 1, now):
            self.assert_found(topic, asked, 0, now)
        self.assert_found(topic, now + 1, -1, -1)

    def test_times_that_differ_by_more_than_32_bits_or_are_negative(self):
        topic, now = self.new_topic(), now_ms()
        stamps = (-5, 0, 1, now - 2**33, now)
        for stamp in stamps:
            self.client.append(topic, b"x", timestamps=(stamp,))
        for asked, offset in ((0, 1), (1, 2), (2, 3), (now - 2**33, 3), (now - 2**33 + 1, 4), (now, 4)):
            self.assert_found(topic, asked, offset, stamps[offset])

    def test_within_one_batch_whose_times_go_down(self):
        topic = self.new_topic()
        self.client.append(topic, *[b"x"] * 4, timestamps=(50, 10, 70, 60), codec=GZIP)
        self.client.append(topic, *[b"x"] * 2, timestamps=(20, 80))
        for asked, offset, stamp in ((0, 0, 50), (50, 0, 50), (51, 2, 70), (65, 2, 70), (71, 5, 80), (81, -1, -1)):
            self.assert_found(topic, asked, offset, stamp)

    def test_in_log_append_time_topics_the_first_record_of_the_batch_is_found(self):
        topic = self.new_topic(message_timestamp_type="LogAppendTime")
        first = self.client.produce(topic, batch(*[b"x"] * 5)).logAppendTimeMs
        eventually(lambda: now_ms() > first + 20)
        second = self.client.produce(topic, batch(*[b"x"] * 5, codec=GZIP)).logAppendTimeMs
        for asked, offset, stamp in ((0, 0, first), (first, 0, first), (first + 1, 5, second), (second, 5, second),
                                     (second + 1, -1, -1)):
            self.assert_found(topic, asked, offset, stamp)

    def test_across_many_segments_and_deleted_records(self):
        topic = self.new_topic(segment_bytes="1048576")
        for number in range(40):
            self.client.append(topic, bytes(100_000), timestamps=(1000 + 10 * number,))
        for number in (0, 1, 9, 10, 11, 20, 39):
            self.assert_found(topic, 1000 + 10 * number, number, 1000 + 10 * number, (7,))
            self.assert_found(topic, 1000 + 10 * number - 5, number, 1000 + 10 * number, (7,))
        self.client.delete_records(topic, 25)
        eventually(lambda: self.client.list_offset(topic, 0).offset == 25, differ("time-lookup-after-deleting-records"))
        self.assert_found(topic, 0, 25, 1250)
        self.assert_found(topic, 1290, 29, 1290)

    def test_deleted_records_of_the_same_batch_are_not_found(self):
        topic = self.new_topic()
        self.client.append(topic, *[b"x"] * 4, timestamps=(10, 20, 30, 40))
        self.client.delete_records(topic, 2)
        got = self.client.list_offset(topic, 0)
        self.assertGreaterEqual(got.offset, 2)


class LeaderEpochs(ConformanceTest):
    def end_of(self, topic, epoch, current=-1, partition=0, version=4):
        got = self.client.call("OffsetForLeaderEpoch", version, replicaId=-1, topics=[{
            "topic": topic, "partitions": [
                {"partition": partition, "leaderEpoch": epoch, "currentLeaderEpoch": current}]}]).topics[0].partitions[0]
        self.assertEqual(got.partition, partition)
        return got.errorCode, got.leaderEpoch, got.endOffset

    def test_epochs(self):
        topic, empty = self.new_topic(), self.new_topic()
        self.client.append(topic, b"a", b"b", b"c")
        undefined = (0, -1, -1)
        for version in apis.versions("OffsetForLeaderEpoch"):
            for epoch, wanted in ((0, (0, 0, 3)), (1, undefined), (9, undefined), (-1, undefined)):
                self.assertEqual(self.end_of(topic, epoch, version=version), wanted)
            self.assertEqual(self.end_of(empty, 0, version=version), (0, 0, 0))
            for current, wanted in ((0, (0, 0, 3)), (-1, (0, 0, 3)), (1, (codes.UNKNOWN_LEADER_EPOCH, -1, -1)),
                                    (-2, (codes.FENCED_LEADER_EPOCH, -1, -1))):
                self.assertEqual(self.end_of(topic, 0, current, version=version), wanted)
            for name, partition in (("unknown", 0), (topic, 7), ("not a name", 0)):
                self.assertEqual(self.end_of(name, 0, partition=partition, version=version),
                                 (codes.UNKNOWN_TOPIC_OR_PARTITION, -1, -1))

    def test_the_end_is_never_below_what_consumers_were_given(self):
        topic, producer, stop = self.new_topic(), self.new_client(), threading.Event()

        def produce():
            while not stop.is_set():
                producer.produce(topic, batch(b"a"), acks=1)

        thread = threading.Thread(target=produce)
        thread.start()
        try:
            for _ in range(100):
                given = self.client.end_offset(topic)
                self.assertGreaterEqual(self.end_of(topic, 0)[2], given)
        finally:
            stop.set()
            thread.join()


class DeletingRecords(ConformanceTest):
    def low(self, topic, offset, **fields):
        got = self.client.delete_records(topic, offset, **fields)
        return got.errorCode, got.lowWatermark

    def test_at_or_below_the_start_nothing_happens(self):
        for version in apis.versions("DeleteRecords"):
            topic = self.new_topic()
            self.client.append(topic, *[b"x"] * 10)
            for offset in (4, 4, 1, 0):
                self.assertEqual(self.low(topic, offset, version=version), (0, 4))
            self.assertEqual((self.client.start_offset(topic), self.client.end_offset(topic)), (4, 10))

    def test_minus_1_is_the_high_watermark_and_more_is_out_of_range(self):
        topic = self.new_topic()
        self.client.append(topic, *[b"x"] * 10)
        for offset in (11, -2, 2**62, -2**63):
            self.assertEqual(self.low(topic, offset), (codes.OFFSET_OUT_OF_RANGE, -1))
        self.assertEqual(self.low(topic, -1), (0, 10))
        self.assertEqual(self.low(topic, -1), (0, 10))
        self.assertEqual((self.client.start_offset(topic), self.client.end_offset(topic)), (10, 10))
        self.assertEqual(self.client.append(topic, b"next"), 10)

    def test_what_was_deleted_cannot_be_fetched_but_the_rest_can(self):
        topic = self.new_topic()
        for _ in range(5):
            self.client.append(topic, b"a", b"b")
        self.low(topic, 5)
        for offset in range(10):
            part = self.client.fetch(topic, offset)
            self.assertEqual(part.errorCode, codes.OFFSET_OUT_OF_RANGE if offset < 5 else 0)
        self.assertEqual(self.client.fetch(topic, 5).logStartOffset, 5)

    def test_only_topics_that_delete_let_records_be_deleted(self):
        for policy, code in (("compact", codes.POLICY_VIOLATION), ("compact,delete", 0), ("delete", 0)):
            topic = self.new_topic(cleanup_policy=policy)
            self.client.produce(topic, Batch(values=(b"v",) * 3, keys=(b"a", b"b", b"c")).encode())
            for offset in (1, 0, 99):
                expected = code or (codes.OFFSET_OUT_OF_RANGE if offset == 99 else 0)
                self.assertEqual(self.client.delete_records(topic, offset).errorCode, expected, (policy, offset))

    def test_the_brokers_own_topics_keep_their_records(self):
        made = self.client.create("__consumer_offsets", 50).errorCode
        self.assertIn(made, (codes.NONE, codes.TOPIC_ALREADY_EXISTS))
        self.client.await_usable("__consumer_offsets")
        for offset in (0, -1, 99):
            self.assertEqual(self.low("__consumer_offsets", offset), (codes.INVALID_TOPIC, -1))
        self.assertEqual(self.low("__consumer_offsets", 0, partition=1000), (codes.UNKNOWN_TOPIC_OR_PARTITION, -1))

    def test_unknown_partitions_are_answered_for_themselves(self):
        topic = self.new_topic()
        self.client.append(topic, b"a")
        answer = self.client.call("DeleteRecords", 2, timeoutMs=5000, topics=[
            {"name": name, "partitions": [{"partitionIndex": p, "offset": 1} for p in parts]}
            for name, parts in (("unknown", (0,)), (topic, (0, 3)), ("__cluster_metadata", (0,)))])
        got = {(t.name, p.partitionIndex): (p.errorCode, p.lowWatermark) for t in answer.topics for p in t.partitions}
        self.assertEqual(got, {("unknown", 0): (3, -1), (topic, 0): (0, 1), (topic, 3): (3, -1),
                               ("__cluster_metadata", 0): (3, -1)})

    def test_whole_segments_go_away_with_the_records(self):
        topic = self.new_topic(segment_bytes="1048576", file_delete_delay_ms="0")
        for _ in range(30):
            self.client.append(topic, bytes(100_000))

        def size():
            answer = self.client.call("DescribeLogDirs", 4, topics=[{"topic": topic, "partitions": [0]}])
            return answer.results[0].topics[0].partitions[0].partitionSize

        self.assertGreaterEqual(size(), 3_000_000)
        self.low(topic, 29)
        self.assertTrue(eventually(lambda: size() < 1_200_000, 15))


if __name__ == "__main__":
    unittest.main()
