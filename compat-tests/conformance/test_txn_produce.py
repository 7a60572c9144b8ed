"""Produce as a part of a transaction, and what is fetched meanwhile and afterwards."""

import apis
import codes
from base import fetched
from differences import differ
from records import CONTROL, TRANSACTIONAL, batch, split
from transactions import ONGOING, TransactionTest

FAR = 100_000
NOT_STORED = -1
READ_UNCOMMITTED, READ_COMMITTED = 0, 1
WRONG_EPOCH, WRONG_ID, WRONG_SEQUENCE = codes.INVALID_PRODUCER_EPOCH, codes.INVALID_PRODUCER_ID_MAPPING, 45


class ProduceTest(TransactionTest):
    """Versions of transactions are chosen by that of the request."""

    def setUp(self):
        super().setUp()
        self.topic, self.topic_id = self.new_topic_with_id(3)

    def name(self, version):
        return self.topic_id if version >= apis.PRODUCE_FIRST_WITH_TOPIC_ID else self.topic

    def begun(self, version, *partitions):
        """A producer whose transaction has these partitions, if its version must say so."""
        one = self.producer(2 if version >= apis.PRODUCE_FIRST_THAT_ADDS else 1)
        if one.version == 1:
            one.add({self.topic: partitions or (0,)})
        return one

    def put(self, one, version, *args, **fields):
        return one.send(self.name(version), *args, version=version, **fields)


class Verification(ProduceTest):
    def test_every_version(self):
        for version in apis.versions("Produce"):
            with self.subTest(version=version):
                one, end = self.begun(version), self.client.end_offset(self.topic)
                for index in range(3):
                    self.assertEqual(self.put(one, version), (codes.NONE, end + index))
                self.completed(one)
                self.assertEqual(self.client.end_offset(self.topic), end + 4)

    def test_a_partition_that_was_not_added(self):
        for version in range(apis.PRODUCE_FIRST_SERVED, apis.PRODUCE_FIRST_THAT_ADDS):
            error = codes.INVALID_TXN_STATE if version < 11 else codes.TRANSACTION_ABORTABLE
            one = self.producer(1)
            self.assertEqual(self.put(one, version), (error, NOT_STORED))
            one.add({self.topic: [0]})
            self.assertEqual(self.put(one, version, 1), (error, NOT_STORED))
            self.assertEqual(self.put(one, version)[0], codes.NONE)
            self.completed(one)
            self.assertEqual(self.put(one, version), (error, NOT_STORED))
        self.assertEqual(self.client.end_offset(self.topic, 1), 0)

    def test_what_is_said_of_a_partition_that_was_not_added(self):
        one = self.producer(1)
        for version, said in ((8, True), (11, False)):
            content = batch(b"v", producer_id=one.id, producer_epoch=0, sequence=0, attributes=TRANSACTIONAL)
            got = self.client.produce(self.topic, content, version=version, transactionalId=one.name)
            self.assertEqual((bool(got.errorMessage), got.baseOffset, got.logAppendTimeMs), (said, -1, -1))

    def test_from_version_12_on_partitions_are_added(self):
        for version in (12, 13):
            one = self.producer()
            self.assertEqual(self.put(one, version)[0], codes.NONE)
            self.assertEqual(self.put(one, version, 2)[0], codes.NONE)
            two = {"clientTransactionVersion": 2}
            self.assert_written(one.name, (ONGOING, one.id, 0, {self.topic: [0]}, two),
                                (ONGOING, one.id, 0, {self.topic: [0, 2]}, two))
            self.completed(one)

    def test_each_partition_for_itself(self):
        for version in (8, 11):
            one = self.begun(version, 0, 1)
            content = batch(b"v", producer_id=one.id, producer_epoch=0, sequence=0, attributes=TRANSACTIONAL)
            got = self.client.call("Produce", version, transactionalId=one.name, acks=-1, timeoutMs=10000, topicData=[
                {"name": self.topic, "partitionData": [{"index": index, "records": content} for index in range(3)]}])
            told = {each.index: each.errorCode for each in got.responses[0].partitionResponses}
            self.assertEqual(told, {0: 0, 1: 0, 2: codes.INVALID_TXN_STATE if version < 11 else codes.TRANSACTION_ABORTABLE})

    def test_wrong_producers(self):
        for version in (3, 8, 11, 12, 13):
            for begun in (False, True):
                one = self.begun(version)
                if begun:
                    self.assertEqual(self.put(one, version)[0], codes.NONE)
                for fields, error in (({"identity": (one.id + FAR, 0)}, WRONG_ID), ({"identity": (one.id, -1)}, WRONG_EPOCH)):
                    with self.subTest(version=version, begun=begun, **fields):
                        self.assertEqual(self.put(one, version, sequence=0, **fields), (error, NOT_STORED))
                for name, error in ((None, codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED),) if begun else (
                        (None, codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED), ("", codes.INVALID_REQUEST), ("nobody", WRONG_ID)):
                    with self.subTest(version=version, begun=begun, name=name):
                        self.assertEqual(one.send(self.name(version), sequence=0, version=version, name=name)
                                         if name != "" else self.unnamed(one, version), (error, NOT_STORED))
                self.assertEqual(self.put(one, version)[0], codes.NONE)

    def unnamed(self, one, version):
        content = batch(b"v", producer_id=one.id, producer_epoch=0, sequence=0, attributes=TRANSACTIONAL)
        got = self.client.produce(self.topic, content, version=version, transactionalId="", topic_id=self.topic_id)
        return got.errorCode, got.baseOffset

    def test_an_open_transaction_is_not_verified_again(self):
        for version in (11, 12):
            one = self.begun(version)
            self.assertEqual(self.put(one, version)[0], codes.NONE)
            self.assertEqual(self.put(one, version, name="nobody")[0], codes.NONE)

    def test_an_epoch_to_come(self):
        for version in (8, 11, 12):
            one = self.begun(version, 0, 1)
            self.assertEqual(self.put(one, version)[0], codes.NONE)
            for partition in (0, 1):
                got = self.put(one, version, partition, sequence=0, identity=(one.id, 1))
                self.assertEqual(got, (WRONG_EPOCH, NOT_STORED))
            self.assertEqual(self.put(one, version)[0], differ("after-an-epoch-to-come"))

    def test_batches_of_two_producers_in_a_request(self):
        one, two = self.begun(12), self.begun(12)
        got = self.client.call("Produce", 12, transactionalId=one.name, acks=-1, timeoutMs=10000, topicData=[
            {"name": self.topic, "partitionData": [{"index": index, "records": batch(
                b"v", producer_id=each.id, producer_epoch=0, sequence=0, attributes=TRANSACTIONAL)}
                for index, each in enumerate((one, two))]}])
        self.assertEqual([each.errorCode for each in got.responses[0].partitionResponses], [WRONG_ID] * 2)
        self.assertEqual(one.state(), "Empty")

    def test_what_is_no_part_of_it(self):
        for version in (11, 12):
            one = self.begun(version)
            self.assertEqual(self.put(one, version)[0], codes.NONE)
            # While its transaction is open in the partition the producer may not write outside.
            self.assertEqual(self.put(one, version, sequence=1, attributes=0), (codes.INVALID_TXN_STATE, NOT_STORED))
            self.assertEqual(self.put(one, version, sequence=1, attributes=TRANSACTIONAL | CONTROL)[0], codes.INVALID_RECORD)
            # Nobody's batch is nobody's business.
            self.assertEqual(self.put(one, version, sequence=-1, attributes=0, identity=(-1, -1))[0], codes.NONE)
            self.assertEqual(self.put(one, version)[0], codes.NONE)

    def test_outside_of_a_transaction(self):
        one = self.producer()
        self.assertEqual(self.put(one, 12, attributes=0)[0], codes.NONE)
        self.assertEqual(one.state(), "Empty")
        self.assertEqual(self.put(one, 12)[0], codes.NONE)
        self.assertEqual(one.state(), "Ongoing")


class Sequences(ProduceTest):
    def test_repeats_and_gaps(self):
        for version in (8, 11, 12, 13):
            one = self.begun(version)
            _, offset = self.put(one, version)
            self.assertEqual(self.put(one, version, sequence=0), (codes.NONE, offset))
            self.assertEqual(self.put(one, version, sequence=5), (WRONG_SEQUENCE, NOT_STORED))
            self.assertEqual(self.put(one, version, sequence=1), (codes.NONE, offset + 1))
            self.completed(one)

    def test_the_first_of_a_producer_in_a_partition(self):
        for version, error in ((8, 0), (11, 0), (12, WRONG_SEQUENCE), (13, WRONG_SEQUENCE)):
            one = self.begun(version, 1)
            self.assertEqual(self.put(one, version, 1, sequence=7)[0], error)

    def test_they_go_on_after_a_transaction_of_version_1(self):
        one = self.begun(11)
        for committed in (True, False, True):
            self.assertEqual(self.put(one, 11)[0], codes.NONE)
            self.completed(one, committed)
            one.add({self.topic: [0]})
        self.assertEqual(self.put(one, 11, sequence=9)[0], WRONG_SEQUENCE)
        self.assertEqual(self.put(one, 11, sequence=3)[0], codes.NONE)

    def test_they_begin_anew_after_a_transaction_of_version_2(self):
        for version in (12, 13):
            one = self.producer()
            for committed in (True, False, True):
                self.assertEqual(self.put(one, version)[0], codes.NONE)
                old = one.identity
                self.completed(one, committed)
                self.assertEqual(self.put(one, version, sequence=1, identity=old), (WRONG_EPOCH, NOT_STORED))
                self.assertEqual(self.put(one, version, sequence=1), (WRONG_SEQUENCE, NOT_STORED))


class Isolation(ProduceTest):
    def read(self, isolation, offset=0, version=12, max_bytes=1 << 24):
        """(base offsets, last stable offset, aborted as (producer, first offset))"""
        got = self.client.fetch_all([fetched(self.topic, offset, max_bytes=max_bytes)], version,
                                    isolationLevel=isolation).responses[0].partitions[0]
        self.assertEqual(got.errorCode, codes.NONE)
        aborted = got.abortedTransactions
        return ([each.base_offset for each in split(got.records or b"")], got.lastStableOffset,
                aborted and sorted((each.producerId, each.firstOffset) for each in aborted) if aborted else aborted)

    def look_up(self, timestamp, isolation):
        got = self.client.list_offset(self.topic, timestamp, isolation=isolation)
        return got.errorCode, got.offset

    def test_what_readers_see(self):
        one, two = self.producer(), self.producer()
        self.begin(one, self.topic)
        self.begin(two, self.topic)
        self.client.append(self.topic, b"plain")
        self.assertEqual(self.read(READ_UNCOMMITTED), ([0, 1, 2], 0, None))
        self.assertEqual(self.read(READ_COMMITTED), ([], 0, []))
        self.assertEqual([self.look_up(-1, isolation) for isolation in (0, 1)], [(0, 3), (0, 0)])
        aborted = (one.id, 0)
        self.completed(one, False)
        self.assertEqual(self.read(READ_UNCOMMITTED), ([0, 1, 2, 3], 1, None))
        self.assertEqual(self.read(READ_COMMITTED), ([0], 1, [aborted]))
        self.assertEqual(self.look_up(-1, 1), (0, 1))
        self.completed(two)
        self.assertEqual(self.read(READ_COMMITTED), ([0, 1, 2, 3, 4], 5, [aborted]))
        for offset, listed in ((1, [aborted]), (2, [aborted]), (3, [aborted]), (4, []), (5, [])):
            self.assertEqual(self.read(READ_COMMITTED, offset), (list(range(offset, 5)), 5, listed))
        self.assertEqual(self.look_up(-1, 1), (0, 5))
        self.assertEqual(self.controls(self.topic), [(False, one.id, 1), (True, two.id, 1)])

    def test_every_version_of_fetch(self):
        one = self.producer()
        self.begin(one, self.topic)
        self.completed(one, False)
        for version in apis.versions("Fetch"):
            topic = self.topic_id if version >= apis.FETCH_FIRST_WITH_TOPIC_ID else self.topic
            got = self.client.fetch_all([fetched(topic, version=version)], version,
                                        isolationLevel=READ_COMMITTED).responses[0].partitions[0]
            self.assertEqual([each.firstOffset for each in got.abortedTransactions], [0])

    def test_only_those_that_were_aborted_in_what_is_fetched(self):
        producers, firsts = [self.producer() for _ in range(4)], []
        for one in producers:
            firsts.append(self.begin(one, self.topic)[0])
            self.completed(one, False)
        self.client.append(self.topic, b"plain")
        ids = [each.id for each in producers]
        self.assertEqual(self.read(READ_COMMITTED)[2], sorted(zip(ids, firsts)))
        for offset in range(9):
            self.assertEqual(self.read(READ_COMMITTED, offset)[2], sorted(zip(ids, firsts))[offset // 2:] or [])

    def test_look_up_by_time(self):
        one = self.producer()
        self.client.append(self.topic, b"a", timestamps=[1000])
        one.send(self.topic, timestamps=[2000])
        self.client.append(self.topic, b"b", timestamps=[3000])
        for timestamp, isolation, offset in ((0, 0, 0), (0, 1, 0), (1500, 0, 1), (1500, 1, -1), (-3, 0, 2), (-3, 1, -1),
                                             (-2, 1, 0), (5000, 0, -1), (5000, 1, -1)):
            with self.subTest(timestamp=timestamp, isolation=isolation):
                self.assertEqual(self.look_up(timestamp, isolation), (codes.NONE, offset))
        self.completed(one)
        self.assertEqual([self.look_up(1500, isolation) for isolation in (0, 1)], [(0, 1)] * 2)
