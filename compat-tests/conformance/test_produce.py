"""Produce: what is stored, what is refused, and with which words."""

import struct
import unittest
import zlib

import apis
import codes
import records
from base import IS_KAFKA, ConformanceTest
from differences import differ
from records import GZIP, LOG_APPEND_TIME, NONE, SNAPPY, ZSTD, Batch, batch, now_ms, split, values_of
from wire import vectors

DAY_MS = 86_400_000
MAX_MESSAGE_BYTES = 1_048_588


class Acknowledgement(ConformanceTest):
    def test_acks_0_is_never_answered_and_the_records_are_stored(self):
        topic, topic_id = self.new_topic_with_id()
        for count, version in enumerate(apis.versions("Produce"), 1):
            connection = self.client.connection
            data = {"name": topic, "topicId": topic_id, "partitionData": [{"index": 0, "records": batch(b"a")}]}
            connection.send_without_answer("Produce", version, acks=0, timeoutMs=1000, topicData=[data])
            self.assertEqual(connection.call("ApiVersions", 0).errorCode, 0)  # the first bytes read belong to this
            self.assertEqual(self.client.end_offset(topic), count)

    def test_acks_0_that_fails_closes_the_connection(self):
        topic = self.new_topic()
        for name, content in (("unknown", batch(b"a")), (topic, b"xx"), (topic, batch(b"a", crc=7))):
            connection = self.new_connection()
            data = {"name": name, "partitionData": [{"index": 0, "records": content}]}
            connection.send_without_answer("Produce", 9, acks=0, timeoutMs=1000, topicData=[data])
            self.assertTrue(connection.is_closed())
        self.assertEqual(self.client.end_offset(topic), 0)

    def test_acks_other_than_minus_1_to_1_are_invalid(self):
        topic, topic_id = self.new_topic_with_id()
        for version in apis.versions("Produce"):
            for acks in (2, -2, 32767, -32768):
                got = self.client.produce(topic, batch(b"a"), 0, version, acks, topic_id)
                self.assertEqual((got.errorCode, got.baseOffset), (codes.INVALID_REQUIRED_ACKS, -1))
        self.assertEqual(self.client.end_offset(topic), 0)

    def test_what_is_not_even_a_batch_is_told_before_wrong_acks(self):
        topic = self.new_topic()
        for content, code in ((b"", codes.INVALID_RECORD), (batch(b"a")[:40], codes.INVALID_RECORD),
                              (batch(b"a") * 2, codes.INVALID_RECORD), (b"\0" * 80, codes.CORRUPT_MESSAGE),
                              (batch(b"a", crc=1), codes.INVALID_REQUIRED_ACKS),
                              (batch(b"a", count=7), codes.INVALID_REQUIRED_ACKS)):
            self.assertEqual(self.client.produce(topic, content, acks=2).errorCode, code)
        self.assertEqual(self.client.produce("unknown", b"", acks=2).errorCode, codes.UNKNOWN_TOPIC_OR_PARTITION)

    def test_every_partition_of_a_request_is_answered_for_itself(self):
        first, second = self.new_topic(2), self.new_topic()
        good, bad = batch(b"a"), batch(b"a", crc=1)
        asked = {first: {0: good, 1: bad, 5: good}, "unknown": {0: good, 3: good}, second: {0: b""}}
        for version in range(3, 13):
            answer = self.client.call("Produce", version, acks=-1, timeoutMs=10000, topicData=[
                {"name": name, "partitionData": [{"index": i, "records": r} for i, r in parts.items()]}
                for name, parts in asked.items()])
            got = {(t.name, p.index): p.errorCode for t in answer.responses for p in t.partitionResponses}
            self.assertEqual(got, {(first, 0): 0, (first, 1): 2, (first, 5): 3, ("unknown", 0): 3, ("unknown", 3): 3,
                                   (second, 0): codes.INVALID_RECORD})
        self.assertEqual((self.client.end_offset(first), self.client.end_offset(second)), (10, 0))

    def test_nothing_asked_is_nothing_answered(self):
        topic = self.new_topic()
        for data in ([], [{"name": topic, "partitionData": []}]):
            answer = self.client.call("Produce", 9, acks=-1, timeoutMs=1000, topicData=data)
            self.assertEqual([p for t in answer.responses for p in t.partitionResponses], [])

    def test_illegal_names_and_partitions_are_unknown(self):
        topic = self.new_topic()
        for name, partition in (("not a name", 0), ("", 0), (topic, -1), (topic, 2**31 - 1), (topic, 1)):
            got = self.client.produce(name, batch(b"a"), partition)
            self.assertEqual((got.errorCode, got.index, got.logStartOffset, got.errorMessage),
                             (codes.UNKNOWN_TOPIC_OR_PARTITION, partition, -1, None))

    def test_produce_never_creates_topics(self):
        name = self.new_name()
        self.assertEqual(self.client.produce(name, batch(b"a")).errorCode, codes.UNKNOWN_TOPIC_OR_PARTITION)
        self.assertEqual(self.client.metadata(name).topics[0].errorCode, codes.UNKNOWN_TOPIC_OR_PARTITION)

    def test_a_topic_is_usable_as_soon_as_it_was_created(self):
        retries = 0
        for number in range(20):
            name = self.new_name(str(number))
            self.assertEqual(self.client.create(name).errorCode, 0)
            client = self.new_client()
            while (code := client.produce(name, batch(b"a")).errorCode) != codes.NONE:
                self.assertIn(code, (codes.UNKNOWN_TOPIC_OR_PARTITION, codes.LEADER_NOT_AVAILABLE,
                                     codes.NOT_LEADER_OR_FOLLOWER))
                retries += 1
        self.assertLessEqual(retries, differ("retries-after-creation"))

    def test_only_the_admin_client_writes_into_the_brokers_own_topics(self):
        topic, partition = "__consumer_offsets", 0
        self.assertIn(self.client.create(topic, 50).errorCode, (codes.NONE, codes.TOPIC_ALREADY_EXISTS))
        self.client.await_usable(topic)
        before = self.client.end_offset(topic, partition)
        keyed = Batch(keys=(b"k",)).encode()
        for acks in (1, -1):
            got = self.client.produce(topic, keyed, partition, 9, acks)
            self.assertEqual((got.errorCode, got.baseOffset, got.logStartOffset, got.errorMessage),
                             (codes.INVALID_TOPIC, -1, -1, None))
        self.assertEqual(self.client.end_offset(topic, partition), before)

    @unittest.skipIf(differ("produce-null-records") is None, "Apache Kafka never answers")
    def test_null_records_are_an_invalid_record(self):
        topic, topic_id = self.new_topic_with_id()
        for version in apis.versions("Produce"):
            got = self.client.produce(topic, None, 0, version, -1, topic_id)
            self.assertEqual((got.errorCode, got.baseOffset), (differ("produce-null-records"), -1))
        self.assertEqual(self.client.end_offset(topic), 0)

    def test_empty_records_are_an_invalid_record(self):
        topic, topic_id = self.new_topic_with_id()
        for version in apis.versions("Produce"):
            got = self.client.produce(topic, b"", 0, version, 1, topic_id)
            self.assertEqual((got.errorCode, got.baseOffset), (codes.INVALID_RECORD, -1))


class Validation(ConformanceTest):
    def assert_refused(self, topic, content, code, version=12, **fields):
        got = self.client.produce(topic, content, version=version, **fields)
        self.assertEqual((got.errorCode, got.baseOffset, got.logAppendTimeMs), (code, -1, -1))
        return got

    def test_any_flipped_bit_behind_the_checksum_is_corrupt_and_the_next_good_batch_is_stored(self):
        topic = self.new_topic()
        good = batch(b"hello", b"world", keys=(b"k", None))
        for at in range(17, len(good)):
            damaged = bytearray(good)
            damaged[at] ^= 1 << at % 8
            self.assert_refused(topic, bytes(damaged), codes.CORRUPT_MESSAGE, version=3 + at % 10)
        self.assertEqual(self.client.append(topic, b"good"), 0)

    def test_last_offset_delta_must_fit_the_count(self):
        topic = self.new_topic()
        for delta in (9, 0, 1, 3, -1, 2**31 - 1, -2**31):
            for codec in (NONE, GZIP):
                content = batch(b"a", b"b", b"c", last_offset_delta=delta, codec=codec)
                self.assert_refused(topic, content, codes.INVALID_RECORD)
        self.assertEqual(self.client.append(topic, b"a", b"b", b"c"), 0)

    def test_the_size_limit_counts_the_whole_batch(self):
        topic = self.new_topic()
        overhead = len(batch(bytes(MAX_MESSAGE_BYTES // 2))) - MAX_MESSAGE_BYTES // 2
        room = MAX_MESSAGE_BYTES - overhead
        exact, over = batch(bytes(room)), batch(bytes(room + 1))
        self.assertEqual((len(exact), len(over)), (MAX_MESSAGE_BYTES, MAX_MESSAGE_BYTES + 1))
        self.assert_refused(topic, over, codes.MESSAGE_TOO_LARGE)
        self.assert_refused(topic, over, codes.MESSAGE_TOO_LARGE, version=3)
        self.assertEqual(self.client.produce(topic, exact).errorCode, 0)
        self.assert_refused(topic, batch(bytes(1_500_000)), codes.MESSAGE_TOO_LARGE)
        self.assertEqual(self.client.end_offset(topic), 1)

    def test_the_size_limit_of_a_topic_counts_compressed_bytes(self):
        topic = self.new_topic(max_message_bytes="1000")
        self.assert_refused(topic, batch(bytes(1000)), codes.MESSAGE_TOO_LARGE)
        self.assertEqual(self.client.produce(topic, batch(bytes(100_000), codec=GZIP)).errorCode, 0)

    def test_compacted_topics_want_keys_and_say_which_records_have_none(self):
        topic = self.new_topic(cleanup_policy="compact")
        for keys in ((None, None, None), (b"k", None, b"k"), (b"k", b"k", None), (None, b"", b"k")):
            keyless = [index for index, key in enumerate(keys) if key is None]
            for codec in (NONE, GZIP):
                for version in range(3, 13):
                    got = self.assert_refused(topic, batch(b"a", b"b", b"c", keys=keys, codec=codec),
                                              codes.INVALID_RECORD, version)
                    if version >= 8:
                        self.assertEqual([error.batchIndex for error in got.recordErrors], keyless)
                        self.assertTrue(all(error.batchIndexErrorMessage for error in got.recordErrors))
                        self.assertTrue(got.errorMessage)
        self.assertEqual(self.client.append(topic, b"a", b"b", keys=(b"k", b"")), 0)

    @unittest.skipUnless(IS_KAFKA, "its words are Apache Kafka's own")
    def test_words_for_a_record_without_key(self):
        topic = self.new_topic(cleanup_policy="compact,delete")
        got = self.assert_refused(topic, batch(b"a"), codes.INVALID_RECORD)
        words = f"Compacted topic cannot accept message without key in topic partition {topic}-0"
        self.assertEqual(got.recordErrors[0].batchIndexErrorMessage, words)
        self.assertEqual(got.errorMessage, "One or more records have been rejected due to 1 record errors in total, "
                         "and only showing the first three errors at most: "
                         f"[RecordError(batchIndex=0, message='{words}')]")

    def test_timestamps_beyond_the_bounds_are_refused(self):
        hour = 3_600_000
        for configs, offset_ms, accepted in (
                ({}, DAY_MS, False), ({}, hour + 60_000, False), ({}, hour - 60_000, True), ({}, -400 * DAY_MS, True),
                ({"message_timestamp_before_max_ms": "1000"}, -60_000, False),
                ({"message_timestamp_before_max_ms": "1000"}, 0, True),
                ({"message_timestamp_after_max_ms": "1000"}, 60_000, False),
                ({"message_timestamp_type": "LogAppendTime"}, 10 * DAY_MS, True)):
            with self.subTest(configs=configs, offset_ms=offset_ms):
                topic = self.new_topic(**configs)
                stamp = now_ms() + offset_ms
                got = self.client.produce(topic, batch(b"a", b"b", timestamps=(now_ms(), stamp)))
                self.assertEqual(got.errorCode, codes.NONE if accepted else codes.INVALID_TIMESTAMP)
                if not accepted:
                    self.assertEqual((got.baseOffset, [e.batchIndex for e in got.recordErrors]), (-1, [1]))
                    self.assertIn("timestamp", got.errorMessage)
                    self.assertRegex(got.recordErrors[0].batchIndexErrorMessage,
                                     rf"^Timestamp {stamp} .*out of range.* within \[-?\d+, \d+\]$")

    def test_old_message_formats_are_refused(self):
        topic, topic_id = self.new_topic_with_id()
        stamp = struct.pack(">bbqi", 1, 0, now_ms(), -1) + struct.pack(">i", 1) + b"v"
        message_v1 = struct.pack(">qiI", 0, len(stamp) + 4, zlib.crc32(stamp)) + stamp
        for version in apis.versions("Produce"):
            got = self.client.produce(topic, message_v1, 0, version, -1, topic_id)
            self.assertEqual((got.errorCode, got.baseOffset), (codes.INVALID_RECORD, -1))
            for magic in (3, 4, 127, 255):
                unknown = bytearray(batch(b"a"))
                unknown[16] = magic
                got = self.client.produce(topic, bytes(unknown), 0, version, -1, topic_id)
                self.assertEqual((got.errorCode, got.baseOffset), (codes.CORRUPT_MESSAGE, -1))
        self.assertEqual(self.client.end_offset(topic), 0)

    def test_every_cut_of_a_batch_is_refused(self):
        topic = self.new_topic()
        good = batch(b"hello", b"world")
        for size in range(1, len(good)):
            self.assert_refused(topic, good[:size], codes.INVALID_RECORD)
        self.assertEqual(self.client.end_offset(topic), 0)

    def test_two_batches_are_refused_in_any_version(self):
        topic = self.new_topic()
        for version in range(3, 13):
            self.assert_refused(topic, batch(b"a") + batch(b"b"), codes.INVALID_RECORD, version)


class Timestamps(ConformanceTest):
    def test_log_append_time_is_told_and_stored(self):
        topic, topic_id = self.new_topic_with_id()
        self.assertEqual(self.client.produce(topic, batch(b"a")).logAppendTimeMs, -1)
        appended = self.new_topic(message_timestamp_type="LogAppendTime")
        for codec in (NONE, GZIP, SNAPPY):
            before = now_ms()
            got = self.client.produce(appended, batch(b"a", b"b", timestamps=(5, 6), codec=codec))
            self.assertTrue(before <= got.logAppendTimeMs <= now_ms(), got.logAppendTimeMs)
            (stored,) = split(self.client.fetch(appended, got.baseOffset, max_wait_ms=1000).records)
            self.assertEqual((stored.attributes & LOG_APPEND_TIME, stored.max_timestamp, stored.base_timestamp),
                             (LOG_APPEND_TIME, got.logAppendTimeMs, 5))

    def test_a_wrong_max_timestamp_is_corrected(self):
        topic = self.new_topic()
        content = batch(b"a", b"b", timestamps=(1000, 2000), max_timestamp=9_999_999)
        self.assertEqual(self.client.produce(topic, content).errorCode, 0)
        self.assertEqual(split(self.client.fetch(topic, max_wait_ms=1000).records)[0].max_timestamp, 2000)


class Compression(ConformanceTest):
    def test_zstd_needs_produce_7(self):
        topic, topic_id = self.new_topic_with_id()
        frame = next(bytes.fromhex(case["hex"]) for case in vectors("record_batches_bad.jsonl") if case["name"] == "zstd-in-produce-v7")
        stored = 0
        for version in apis.versions("Produce"):
            got = self.client.produce(topic, frame, 0, version, -1, topic_id)
            wanted = codes.UNSUPPORTED_COMPRESSION_TYPE if version < 7 else codes.NONE
            self.assertEqual(got.errorCode, wanted)
            stored += 0 if wanted else 3
            self.assertEqual(self.client.end_offset(topic), stored)
        for version in (4, 9, 10, 12):  # the bytes come in every version
            data = self.client.fetch(topic, 0, version, max_wait_ms=1000).records
            self.assertEqual(split(data)[0].codec, ZSTD)

    def test_snappy_of_many_chunks_and_raw_snappy_are_both_legal(self):
        topic = self.new_topic()
        values = tuple(bytes([65 + i]) * 1024 for i in range(80))
        plain = b"".join(records.record(i, 0, None, value) for i, value in enumerate(values))
        offset = 0
        for body in (records.xerial_snappy(plain), records.xerial_snappy(plain, 1000), records.raw_snappy(plain)):
            content = Batch(values=values, timestamps=(now_ms(),) * 80, codec=SNAPPY, body=body).encode()
            got = self.client.produce(topic, content)
            self.assertEqual((got.errorCode, got.baseOffset), (0, offset))
            data = self.client.fetch(topic, offset, max_wait_ms=1000).records
            self.assertEqual(values_of(data), list(values))
            offset += 80

    def test_what_cannot_be_decompressed_is_not_stored(self):
        topic = self.new_topic()
        noise = bytes((i * 37 + 11) % 256 for i in range(60))
        good = records.compress(GZIP, records.record())
        bodies = [(codec, noise) for codec in (GZIP, SNAPPY, records.LZ4, ZSTD)] + [
            (codec, b"") for codec in (GZIP, SNAPPY, records.LZ4, ZSTD)] + [
            (GZIP, good[:n]) for n in range(1, len(good), 5)] + [
            (SNAPPY, records.XERIAL_HEADER + struct.pack(">i", 2**31 - 1)), (SNAPPY, b"\xff\xff\xff\xff\x0f")]
        for codec, body in bodies:
            with self.subTest(codec=codec, body=body[:8]):
                got = self.client.produce(topic, Batch(codec=codec, body=body).encode())
                self.assertIn(got.errorCode, differ("undecodable"))
                self.assertEqual(got.baseOffset, -1)
        self.assertEqual(self.client.end_offset(topic), 0)

    def test_the_topic_chooses_the_codec(self):
        for name, codec in (("gzip", GZIP), ("snappy", SNAPPY), ("lz4", records.LZ4), ("zstd", ZSTD),
                            ("uncompressed", NONE)):
            topic = self.new_topic(compression_type=name)
            for sent in (NONE, GZIP):
                base = self.client.append(topic, b"a" * 500, b"b" * 500, codec=sent)
                (stored,) = split(self.client.fetch(topic, base, max_wait_ms=1000).records)
                self.assertEqual((stored.codec, stored.count), (codec, 2))
                if codec in (NONE, GZIP, SNAPPY):
                    self.assertEqual(values_of(stored.raw), [b"a" * 500, b"b" * 500])

    def test_snappy_made_by_the_broker_is_framed_big_endian(self):
        topic = self.new_topic(compression_type="snappy")
        self.client.append(topic, b"x" * 100)
        (stored,) = split(self.client.fetch(topic, max_wait_ms=1000).records)
        self.assertEqual(stored.body[:16], b"\x82SNAPPY\0\0\0\0\1\0\0\0\1")
        (length,) = struct.unpack_from(">i", stored.body, 16)
        self.assertEqual(length, len(stored.body) - 20)


if __name__ == "__main__":
    unittest.main()
