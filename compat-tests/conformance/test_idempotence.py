"""Sequence numbers and epochs of idempotent producers, on one partition at a time."""

import unittest

import apis
import codes
from base import ConformanceTest
from records import batch, now_ms, values_of

LAST_SEQUENCE = 2**31 - 1
OUT_OF_ORDER, BAD_EPOCH = codes.OUT_OF_ORDER_SEQUENCE_NUMBER, codes.INVALID_PRODUCER_EPOCH


class Sequences(ConformanceTest):
    def setUp(self):
        super().setUp()
        self.topic, self.topic_id = self.new_topic_with_id()
        self.producer_id = self.client.new_producer_id()

    def send(self, sequence, count=1, epoch=0, producer_id=None, version=12):
        content = batch(*[b"%d+%d" % (sequence, i) for i in range(count)], sequence=sequence, producer_epoch=epoch,
                        producer_id=self.producer_id if producer_id is None else producer_id)
        got = self.client.produce(self.topic, content, version=version, topic_id=self.topic_id)
        return got.errorCode, got.baseOffset

    def assert_stored(self, sequence, offset, count=1, **fields):
        """Also for repeats: they are answered with the old offset."""
        self.assertEqual(self.send(sequence, count, **fields), (codes.NONE, offset))

    def assert_refused(self, code, sequence, count=1, **fields):
        end = self.client.end_offset(self.topic)
        self.assertEqual(self.send(sequence, count, **fields), (code, -1))
        self.assertEqual(self.client.end_offset(self.topic), end)

    def test_a_repeat_is_answered_with_its_old_offset_and_stored_once(self):
        for version in apis.versions("Produce"):
            producer = self.client.new_producer_id()
            base = self.client.end_offset(self.topic)
            for _ in range(3):
                self.assert_stored(0, base, 2, producer_id=producer, version=version)
            self.assertEqual(self.client.end_offset(self.topic), base + 2)

    def test_each_of_the_last_five_batches_may_be_repeated_and_the_sixth_last_not(self):
        counts, offset, sent = (1, 3, 1, 2, 1, 4, 1), 0, []
        for count in counts:
            self.assert_stored(offset, offset, count)
            sent.append((offset, count))
            offset += count
        for first, count in sent[-5:] + list(reversed(sent[-5:])):
            self.assert_stored(first, first, count)
        for first, count in sent[:-5]:
            self.assert_refused(OUT_OF_ORDER, first, count)
        self.assertEqual(self.client.end_offset(self.topic), offset)
        self.assert_stored(offset, offset)

    def test_a_repeat_must_match_from_first_to_last(self):
        self.assert_stored(0, 0, 3)
        self.assert_stored(3, 3, 3)
        for first, count in ((0, 2), (1, 2), (2, 1), (0, 6), (3, 2), (4, 2), (5, 1), (5, 2), (2, 3)):
            self.assert_refused(OUT_OF_ORDER, first, count)

    def test_gaps_are_out_of_order(self):
        self.assert_stored(0, 0)
        for sequence in (2, 3, 1000, LAST_SEQUENCE):
            self.assert_refused(OUT_OF_ORDER, sequence)
        self.assert_stored(1, 1)

    def test_an_unknown_producer_may_begin_anywhere(self):
        for number, (sequence, epoch) in enumerate(((0, 0), (7, 0), (5, 3), (LAST_SEQUENCE, 0), (0, 32767))):
            producer = self.client.new_producer_id()
            self.assert_stored(sequence, number, epoch=epoch, producer_id=producer)
        self.assert_refused(OUT_OF_ORDER, 2, epoch=32767, producer_id=producer)

    def test_sequences_wrap_around(self):
        self.assert_stored(LAST_SEQUENCE - 1, 0)
        self.assert_stored(LAST_SEQUENCE, 1)
        self.assert_stored(0, 2)
        self.assert_stored(LAST_SEQUENCE, 1)  # a repeat from before
        self.assert_refused(OUT_OF_ORDER, 2)
        self.assert_stored(1, 3)

    def test_one_batch_may_reach_over_the_wrap(self):
        for first, count in ((LAST_SEQUENCE - 1, 4), (LAST_SEQUENCE, 2), (LAST_SEQUENCE - 9, 10)):
            producer, base = self.client.new_producer_id(), self.client.end_offset(self.topic)
            after = (first + count) % 2**31
            self.assert_stored(first, base, count, producer_id=producer)
            self.assert_refused(OUT_OF_ORDER, after + 1, producer_id=producer)
            self.assert_stored(after, base + count, producer_id=producer)
            self.assert_stored(first, base, count, producer_id=producer)

    def test_a_wrap_to_anything_but_0_is_out_of_order(self):
        self.assert_stored(LAST_SEQUENCE, 0)
        self.assert_refused(OUT_OF_ORDER, 1)
        self.assert_stored(0, 1)

    def test_an_older_epoch_is_invalid_in_every_version(self):
        for version in apis.versions("Produce"):
            producer, base = self.client.new_producer_id(), self.client.end_offset(self.topic)
            self.assert_stored(0, base, epoch=3, producer_id=producer, version=version)
            for epoch, sequence in ((2, 0), (2, 1), (0, 1), (0, 0)):
                self.assert_refused(BAD_EPOCH, sequence, epoch=epoch, producer_id=producer, version=version)
            self.assert_stored(1, base + 1, epoch=3, producer_id=producer, version=version)

    def test_a_new_epoch_begins_at_0_and_forgets_the_batches_of_the_old_one(self):
        self.assert_stored(0, 0)
        self.assert_stored(1, 1)
        for sequence in (1, 2, 5, LAST_SEQUENCE):
            self.assert_refused(OUT_OF_ORDER, sequence, epoch=1)
        self.assert_stored(0, 2, epoch=1)
        self.assert_stored(0, 2, epoch=1)
        self.assert_refused(BAD_EPOCH, 1)
        self.assert_stored(0, 3, epoch=9)
        self.assert_refused(BAD_EPOCH, 1, epoch=8)

    def test_a_refused_new_epoch_leaves_the_old_one_in_force(self):
        self.assert_stored(0, 0)
        self.assert_refused(OUT_OF_ORDER, 4, epoch=1)
        self.assert_stored(1, 1)

    def test_producers_do_not_disturb_each_other(self):
        others = [self.client.new_producer_id() for _ in range(10)]
        for sequence in range(8):
            for index, producer in enumerate(others):
                self.assert_stored(sequence, sequence * 10 + index, producer_id=producer)
        for index, producer in enumerate(others):
            self.assert_stored(7, 70 + index, producer_id=producer)

    def test_partitions_have_sequences_of_their_own(self):
        topic = self.new_topic(3)
        for partition in (0, 1, 2):
            for sequence in (0, 1):
                content = batch(b"a", producer_id=self.producer_id, producer_epoch=0, sequence=sequence)
                self.assertEqual(self.client.produce(topic, content, partition).baseOffset, sequence)

    def test_illegal_sequences_and_epochs(self):
        for sequence in (-1, -5, -2**31):
            self.assert_refused(codes.INVALID_RECORD, sequence)
        self.assert_stored(0, 0)
        self.assert_refused(BAD_EPOCH, 1, epoch=-3)

    def test_records_without_producer_are_never_repeats(self):
        for offset in range(3):
            self.assert_stored(0, offset, producer_id=-1, epoch=-1)

    def test_five_batches_in_one_write_are_taken_in_order_and_each_once(self):
        for _ in range(2):  # the second time as repeats
            connection = self.client.connection
            frames = b"".join(connection.frame("Produce", 9, acks=-1, timeoutMs=10000, topicData=[{
                "name": self.topic, "partitionData": [{"index": 0, "records": batch(
                    b"x", producer_id=self.producer_id, producer_epoch=0, sequence=n)}]}]) for n in range(5))
            connection.send_bytes(frames)
            got = [connection.receive().responses[0].partitionResponses[0] for _ in range(5)]
            self.assertEqual([(p.errorCode, p.baseOffset) for p in got], [(0, n) for n in range(5)])
        self.assertEqual(self.client.end_offset(self.topic), 5)

    def test_a_gap_among_pipelined_batches_refuses_only_what_follows_it(self):
        connection = self.client.connection
        order = (0, 1, 3, 2, 3)
        connection.send_bytes(b"".join(connection.frame("Produce", 9, acks=-1, timeoutMs=10000, topicData=[{
            "name": self.topic, "partitionData": [{"index": 0, "records": batch(
                b"%d" % n, producer_id=self.producer_id, producer_epoch=0, sequence=n)}]}]) for n in order))
        got = [connection.receive().responses[0].partitionResponses[0].errorCode for _ in order]
        self.assertEqual(got, [0, 0, OUT_OF_ORDER, 0, 0])
        values = values_of(self.client.fetch(self.topic, max_wait_ms=1000).records)
        self.assertEqual(values, [b"0", b"1", b"2", b"3"])

    def test_state_outlives_the_records(self):
        for sequence in range(3):
            self.assert_stored(sequence, sequence)
        self.assertEqual(self.client.delete_records(self.topic, -1).lowWatermark, 3)
        self.assert_refused(OUT_OF_ORDER, 9)
        self.assert_stored(2, 2)
        self.assert_stored(3, 3)

    def test_a_repeat_tells_the_time_of_the_stored_batch(self):
        stamp = now_ms() - 5000
        content = batch(b"a", timestamps=(stamp,), producer_id=self.producer_id, producer_epoch=0, sequence=0)
        self.assertEqual(self.client.produce(self.topic, content).logAppendTimeMs, -1)
        repeat = self.client.produce(self.topic, content)
        self.assertEqual((repeat.errorCode, repeat.baseOffset, repeat.logAppendTimeMs, repeat.logStartOffset),
                         (0, 0, stamp, 0))

    def test_a_repeat_into_a_log_append_time_topic_tells_the_old_time(self):
        topic = self.new_topic(message_timestamp_type="LogAppendTime")
        content = batch(b"a", producer_id=self.producer_id, producer_epoch=0, sequence=0)
        first, repeat = (self.client.produce(topic, content) for _ in range(2))
        self.assertEqual((first.baseOffset, first.logAppendTimeMs), (repeat.baseOffset, repeat.logAppendTimeMs))

    def test_refusals_hold_the_log_start_offset_but_no_words(self):
        self.assert_stored(0, 0)
        for code, fields in ((OUT_OF_ORDER, {"sequence": 5, "producer_epoch": 0}),
                             (BAD_EPOCH, {"sequence": 5, "producer_epoch": -2})):
            got = self.client.produce(self.topic, batch(b"a", producer_id=self.producer_id, **fields))
            self.assertEqual((got.errorCode, got.logStartOffset, got.errorMessage, got.recordErrors),
                             (code, 0, None, []))


class ProducerIds(ConformanceTest):
    def test_ids_are_never_given_twice(self):
        seen = set()
        for version in list(apis.versions("InitProducerId")) * 3:
            for client in (self.client, self.new_client()):
                seen.add(client.new_producer_id(version))
        self.assertEqual(len(seen), 2 * 3 * len(apis.versions("InitProducerId")))

    def test_the_timeout_does_not_matter_without_a_transaction(self):
        self.client.new_producer_id()
        for timeout in (-1, 0, 2**31 - 1, -2**31):
            got = self.client.call("InitProducerId", 5, transactionalId=None, transactionTimeoutMs=timeout)
            self.assertEqual((got.errorCode, got.producerEpoch), (0, 0))

    def test_an_id_without_epoch_or_an_epoch_without_id_is_invalid(self):
        self.client.new_producer_id()
        for version in (3, 4, 5):
            for fields, code in (({"producerId": 5}, codes.INVALID_REQUEST), ({"producerEpoch": 5}, codes.INVALID_REQUEST),
                                 ({"producerId": 5, "producerEpoch": 1}, codes.NONE)):
                got = self.client.call("InitProducerId", version, transactionalId=None, transactionTimeoutMs=1000,
                                       **fields)
                self.assertEqual(got.errorCode, code)
                self.assertEqual((got.producerEpoch, got.producerId >= 0), (-1, False) if code else (0, True))


class Describing(ConformanceTest):
    def active(self, topic, *partitions):
        answer = self.client.call("DescribeProducers", 0, topics=[{"name": topic, "partitionIndexes": list(partitions)}])
        return {p.partitionIndex: p for p in answer.topics[0].partitions}

    def test_active_producers_are_listed_with_their_last_batch(self):
        topic = self.new_topic(2)
        first, second = self.client.new_producer_id(), self.client.new_producer_id()
        self.client.append(topic, b"a", b"b", producer_id=first, producer_epoch=2, sequence=5, timestamps=(100, 50))
        self.client.append(topic, b"a", producer_id=second, producer_epoch=0, sequence=0, timestamps=(70,))
        self.client.append(topic, b"a", producer_id=second, producer_epoch=0, sequence=1, timestamps=(60,))
        self.client.append(topic, b"no producer")
        got = self.active(topic, 0, 1)
        found = sorted((p.producerId, p.producerEpoch, p.lastSequence, p.lastTimestamp, p.coordinatorEpoch,
                        p.currentTxnStartOffset) for p in got[0].activeProducers)
        self.assertEqual(found, [(first, 2, 6, 100, -1, -1), (second, 0, 1, 60, -1, -1)])
        self.assertEqual((got[0].errorCode, got[1].errorCode, got[1].activeProducers), (0, 0, []))

    def test_unknown_partitions_and_names(self):
        topic = self.new_topic()
        answer = self.client.call("DescribeProducers", 0, topics=[
            {"name": topic, "partitionIndexes": [0, 1, -1]}, {"name": "unknown", "partitionIndexes": [0]},
            {"name": "not a name", "partitionIndexes": [0]}, {"name": topic, "partitionIndexes": []}])
        got = [(t.name, [(p.partitionIndex, p.errorCode) for p in t.partitions]) for t in answer.topics]
        self.assertEqual(got, [(topic, [(0, 0), (1, 3), (-1, 3)]), ("unknown", [(0, 3)]),
                               ("not a name", [(0, codes.INVALID_TOPIC)]), (topic, [])])
        self.assertEqual(self.client.call("DescribeProducers", 0, topics=[]).topics, [])


if __name__ == "__main__":
    unittest.main()
