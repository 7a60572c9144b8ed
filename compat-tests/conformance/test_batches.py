"""Every golden record batch, good and bad, produced to a topic of its own."""

import struct
import zlib

import codes
from base import IS_KAFKA, KEEP_FOR_EVER, ConformanceTest, eventually
from differences import differ
from records import GZIP, Batch, crc32c, split
from wire import varint, vectors

CRC, LEADER_EPOCH, LOG_APPEND_MAX_TIME = slice(17, 21), slice(12, 16), slice(35, 43)
BIG = 100_000
# What is refused before the log is asked; the log's own refusals tell its start.
MALFORMED = ("truncated-", "no-bytes", "magic-", "length-", "two-batches")
END_TRANSACTION = 26
CODECS = {"gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
MEGABYTE = 1 << 20


class BadBatches(ConformanceTest):
    """What a broker makes of damaged, forbidden or merely odd batches."""

    def test_each_vector_gets_its_code_and_stores_what_it_should(self):
        cases = [case for case in vectors("record_batches_bad.jsonl") if "transactionalId" not in case]
        self.assertGreater(len(cases), 100)
        allowed = differ("bad-batches")
        self.create_topics(cases)
        for case in cases:
            with self.subTest(case["name"]):
                self.check(case, allowed.get(case["name"], (case["produce"]["errorCode"],)))

    def create_topics(self, cases):
        self.names = {case["name"]: f"bad.{case['name']}" for case in cases}
        answer = self.client.call("CreateTopics", 7, timeoutMs=30000, topics=[
            {"name": self.names[case["name"]], "numPartitions": 1, "replicationFactor": 1, "configs": [
                {"name": key, "value": value} for key, value in (KEEP_FOR_EVER | case.get("topicConfig", {})).items()]}
            for case in cases])
        self.assertEqual([topic.errorCode for topic in answer.topics if topic.errorCode], [])
        for name in self.names.values():
            self.client.await_usable(name)

    def check(self, case, codes_allowed):
        expected, topic = case["produce"], self.names[case["name"]]
        records = bytes.fromhex(case["hex"])
        if case["name"] == "idempotent-sent-twice":
            self.assertEqual(self.client.produce(topic, records, version=expected["version"]).errorCode, 0)
        got = self.client.produce(topic, records, version=expected["version"])
        self.assertIn(got.errorCode, codes_allowed, got.errorMessage if "errorMessage" in got else None)
        if got.errorCode != codes.NONE:
            self.assertEqual((got.baseOffset, got.logAppendTimeMs), (-1, -1))
            if expected["version"] >= 5 and expected["errorCode"] in (codes.UNKNOWN_SERVER_ERROR, codes.INVALID_RECORD):
                malformed = case["name"].startswith(MALFORMED)
                self.assertEqual(got.logStartOffset, -1 if malformed else 0)
            self.assertEqual(self.client.end_offset(topic), 0, "something was stored")
            if got.errorCode == expected["errorCode"] and expected["version"] >= 8:
                self.assertEqual([error.batchIndex for error in got.recordErrors], expected["recordErrors"])
                self.assertTrue(all(error.batchIndexErrorMessage for error in got.recordErrors))
            return
        self.assertEqual((got.baseOffset, got.logAppendTimeMs != -1), (0, expected["logAppendTimeSet"]))
        self.assertEqual(got.get("recordErrors", []), [])
        self.assert_stored(case, topic)

    def assert_stored(self, case, topic):
        stored = self.client.fetch(topic, max_wait_ms=1000).records
        if "compression.type" in case.get("topicConfig", {}):  # compressed again, by another library than Kafka's
            (got,) = split(stored)
            wanted = CODECS[case["topicConfig"]["compression.type"]]
            self.assertEqual((got.codec, got.base_offset), (wanted, 0))
        elif "storedHex" in case:
            wanted = bytearray.fromhex(case["storedHex"])
            if case.get("topicConfig", {}).get("message.timestamp.type") == "LogAppendTime":
                for part in (CRC, LOG_APPEND_MAX_TIME):  # the broker's clock stands in there
                    wanted[part] = stored[part]
                self.assertEqual(len(split(stored)), 1)  # its checksum is right
            self.assertEqual(stored.hex(), wanted.hex())
        elif len(stored) < BIG:
            sent = bytearray.fromhex(case["hex"])
            sent[LEADER_EPOCH] = bytes(4)
            self.assertEqual(stored.hex(), sent.hex())


class Transactional(ConformanceTest):
    """Batches that name a transactional id; only where transactions are served."""

    def test_each_transactional_vector_gets_its_code(self):
        if END_TRANSACTION not in [api.apiKey for api in self.client.call("ApiVersions", 0).apiKeys]:
            self.skipTest("this broker has no transaction coordinator yet")
        cases = [case for case in vectors("record_batches_bad.jsonl") if "transactionalId" in case]
        self.assertGreater(len(cases), 10)
        for case in cases:
            with self.subTest(case["name"]):
                transactional_id = self.new_name()
                owned = self.own(transactional_id)
                records = self.with_producer(bytearray.fromhex(case["hex"]), owned)
                got = self.client.produce(self.new_topic(), records, version=case["produce"]["version"],
                                          transactionalId=transactional_id)
                self.assertEqual(got.errorCode, case["produce"]["errorCode"])

    def own(self, transactional_id):
        """A producer id that belongs to the transactional id, in epoch 0."""
        def ask():
            self.client.call("FindCoordinator", 4, keyType=1, coordinatorKeys=[transactional_id])
            got = self.client.call("InitProducerId", 4, transactionalId=transactional_id, transactionTimeoutMs=60000)
            return got if got.errorCode == codes.NONE else None

        got = eventually(ask, 30)
        self.assertEqual(got.producerEpoch, 0)
        return got.producerId

    @staticmethod
    def with_producer(batch, producer_id):
        """The vectors were made by a producer with id 0."""
        if struct.unpack_from(">q", batch, 43)[0] == 0:
            struct.pack_into(">q", batch, 43, producer_id)
            batch[CRC] = struct.pack(">I", crc32c(batch[21:]))
        return bytes(batch)


class GoodBatches(ConformanceTest):
    def test_each_plain_batch_is_stored_and_read_back_as_sent(self):
        used = 0
        for case in vectors("record_batches.jsonl"):
            (first, *others) = case["batches"]
            if others or first["magic"] != 2 or first["isTransactional"] or first["isControl"] or not first["count"]:
                continue
            used += 1
            with self.subTest(case["name"]):
                self.check(case, first)
        self.assertGreater(used, 20)

    def check(self, case, header):
        topic = self.new_topic(max_message_bytes="10000000")
        sent = bytearray.fromhex(case["hex"])
        dense = header["lastOffset"] - header["baseOffset"] + 1 == header["count"]
        got = self.client.produce(topic, bytes(sent))
        if header["baseOffset"] != 0 or not dense:  # only a broker writes these
            self.assertEqual(got.errorCode, codes.INVALID_RECORD)
            return
        self.assertEqual((got.errorCode, got.baseOffset), (0, 0), got.errorMessage)
        stored = self.client.fetch(topic, max_wait_ms=1000).records
        sent[LEADER_EPOCH] = bytes(4)
        if header["timestampType"] == "LogAppendTime":  # the bit is the broker's to set
            (attributes,) = struct.unpack_from(">h", sent, 21)
            struct.pack_into(">h", sent, 21, attributes & ~0x08)
            sent[CRC] = stored[CRC]
            sent[LOG_APPEND_MAX_TIME] = stored[LOG_APPEND_MAX_TIME]
        self.assertEqual(stored.hex(), sent.hex())
        self.assertEqual(split(stored)[0].count, header["count"])


class Bombs(ConformanceTest):
    """Batches that expand beyond all measure must not take the broker's memory."""

    def test_memory_stays_bounded_while_bombs_are_validated(self):
        if IS_KAFKA:
            self.skipTest("Java's heap says nothing of this")
        bombs = [case for case in vectors("record_batches_bad.jsonl") if case["name"].startswith("bomb-")]
        topic = self.new_topic()
        before = self.resident_bytes()
        for case in bombs:
            for _ in range(3):
                self.client.produce(topic, bytes.fromhex(case["hex"]))
        self.assert_grew_less(before, 32 * MEGABYTE)

    def test_a_gzip_batch_of_a_quarter_gigabyte_is_streamed(self):
        if IS_KAFKA:
            self.skipTest("Java's heap says nothing of this")
        topic = self.new_topic(max_message_bytes="10000000")
        size = 256 * MEGABYTE
        front = bytes([0]) + varint(0) + varint(0) + varint(-1) + varint(size)
        packer = zlib.compressobj(9, wbits=31)
        body = packer.compress(varint(len(front) + size + 1) + front)
        body += b"".join(packer.compress(bytes(MEGABYTE)) for _ in range(256)) + packer.compress(b"\0") + packer.flush()
        before = self.resident_bytes()
        got = self.client.produce(topic, Batch(codec=GZIP, body=body).encode())
        self.assertIn(got.errorCode, (codes.NONE, codes.INVALID_RECORD, codes.MESSAGE_TOO_LARGE))
        self.assert_grew_less(before, 32 * MEGABYTE)
        self.assertEqual(self.client.list_offset(topic, 0).errorCode, codes.NONE)  # looks into the batch as well
        self.assert_grew_less(before, 32 * MEGABYTE)
