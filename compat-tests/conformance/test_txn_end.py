"""EndTxn, and what is written for an outcome."""

import apis
import codes
from differences import differ
from transactions import (COMPLETE_ABORT, COMPLETE_COMMIT, NOBODY, OFFSETS, ONGOING, PREPARE_ABORT, PREPARE_COMMIT,
                          TransactionTest)

WRONG_STATE, WRONG_ID = codes.INVALID_TXN_STATE, codes.INVALID_PRODUCER_ID_MAPPING
FAR = 100_000
TWO = {"clientTransactionVersion": 2}


def outcome(committed):
    return (PREPARE_COMMIT, COMPLETE_COMMIT) if committed else (PREPARE_ABORT, COMPLETE_ABORT)


class OfVersion1(TransactionTest):
    def test_every_version(self):
        topic = self.new_topic(2)
        for version in range(5):
            for committed in (True, False):
                with self.subTest(version=version, committed=committed):
                    one, end = self.producer(1), self.client.end_offset(topic)
                    self.begin(one, topic, 0, 1)
                    self.assertEqual(one.end(committed, version=version), codes.NONE)
                    one.settle()
                    prepare, complete = outcome(committed)
                    self.assert_written(one.name, (ONGOING, one.id, 0, {topic: [0, 1]}, {}),
                                        (prepare, one.id, 0, {topic: [0, 1]}, {}), (complete, one.id, 0, {}, {}))
                    for partition in (0, 1):
                        self.assertEqual(self.controls(topic, partition, end), [(committed, one.id, 0)])
                    self.assertEqual(one.describe().topics, [])

    def test_again(self):
        for committed in (True, False):
            one = self.producer(1)
            self.begin(one, self.new_topic())
            self.completed(one, committed)
            before = len(self.written(one.name))
            for version in range(5):
                self.assertEqual(one.end(committed, version=version), codes.NONE)
                self.assertEqual(one.end(not committed, version=version), WRONG_STATE)
            self.assertEqual(len(self.written(one.name)), before)

    def test_of_nothing(self):
        one = self.producer(1)
        for version in range(5):
            for committed in (True, False):
                self.assertEqual(one.end(committed, version=version), WRONG_STATE)

    def test_at_once_again(self):
        one = self.producer(1)
        self.begin(one, self.new_topic())
        self.assertEqual(one.end_once(), codes.NONE)
        self.assertEqual(one.end(), codes.NONE)
        self.assertEqual(one.end(False), WRONG_STATE)

    def test_transactions_in_a_row(self):
        one, topic = self.producer(1), self.new_topic()
        for committed in (True, False, True, True, False):
            self.begin(one, topic)
            self.assertEqual(one.end(committed), codes.NONE)
        one.settle()
        self.assertEqual([each[0] for each in self.controls(topic)], [True, False, True, True, False])
        self.assertEqual(self.client.end_offset(topic), 10)


class OfVersion2(TransactionTest):
    def test_the_epoch_rises_with_each(self):
        one, topic = self.producer(), self.new_topic(2)
        producer = one.id
        for epoch, committed in enumerate((True, False, False, True)):
            end = self.client.end_offset(topic)
            self.begin(one, topic, 0, 1)
            self.assertEqual(one.follow(one.end(committed)), (codes.NONE, producer, epoch + 1))
            one.settle()
            prepare, complete = outcome(committed)
            self.assert_written(one.name, (ONGOING, producer, epoch, {topic: [0]}, TWO),
                                (ONGOING, producer, epoch, {topic: [0, 1]}, TWO),
                                (prepare, producer, epoch + 1, {topic: [0, 1]}, TWO),
                                (complete, producer, epoch + 1, {}, TWO))
            for partition in (0, 1):
                self.assertEqual(self.controls(topic, partition, end), [(committed, producer, epoch + 1)])

    def test_again_with_the_epoch_before(self):
        for committed in (True, False):
            one = self.producer()
            self.begin(one, self.new_topic())
            self.completed(one, committed)
            before = len(self.written(one.name))
            old = (one.id, one.epoch - 1)
            for _ in range(2):
                self.assertEqual(one.end(committed, identity=old), (codes.NONE, *one.identity))
                self.assertEqual(one.end(not committed, identity=old), (WRONG_STATE, *NOBODY))
            for epoch in (-1, 2):
                self.assertEqual(one.end(committed, identity=(one.id, epoch)), (codes.PRODUCER_FENCED, *NOBODY))
            self.assertEqual(one.end(committed, version=4, identity=old), codes.PRODUCER_FENCED)
            self.assertEqual(len(self.written(one.name)), before)

    def test_at_once_again(self):
        one = self.producer()
        self.begin(one, self.new_topic())
        error, *now = one.end_once()
        self.assertEqual(error, codes.NONE)
        again = one.end_once()
        self.assertEqual(again[0], differ("busy-transaction") if again[0] else codes.NONE)
        self.assertEqual(one.end(), (codes.NONE, *now))

    def test_a_commit_of_nothing(self):
        one = self.producer()
        self.assertEqual(one.end(), (WRONG_STATE, *NOBODY))
        self.begin(one, self.new_topic())
        self.completed(one)
        self.assertEqual(one.end(), (WRONG_STATE, *NOBODY))

    def test_an_abort_of_nothing_raises_the_epoch(self):
        one, topic = self.producer(), self.new_topic()
        producer = one.id
        self.assertEqual(one.abort(), (codes.NONE, producer, 1))
        one.settle()
        self.assert_written(one.name, (PREPARE_ABORT, producer, 1, {}, TWO), (COMPLETE_ABORT, producer, 1, {}, TWO))
        for _, value in self.written(one.name)[-2:]:
            self.assertGreater(value.transactionStartTimestampMs, 0)
        self.assertEqual(one.abort(), (codes.NONE, producer, 2))
        one.settle()
        self.begin(one, topic)
        self.completed(one)
        self.assertEqual(one.abort(), (codes.NONE, producer, 4))
        self.assertEqual(self.controls(topic), [(True, producer, 3)])

    def test_with_offsets_alone(self):
        one, group, topic = self.producer(), self.new_name("group"), self.new_topic()
        self.assertEqual(one.commit_offsets(group, {topic: {0: 7}}), {(topic, 0): codes.NONE})
        self.completed(one)
        self.assert_written(one.name, (ONGOING, one.id, 0, {OFFSETS: [0]}, TWO), (PREPARE_COMMIT, one.id, 1, {OFFSETS: [0]}, TWO),
                            (COMPLETE_COMMIT, one.id, 1, {}, TWO))


class Mixed(TransactionTest):
    def test_the_request_says_which_version_it_is(self):
        one, topic = self.producer(1), self.new_topic()
        self.begin(one, topic)
        self.assertEqual(one.end(version=5), (codes.NONE, one.id, 1))
        one.settle()
        self.assert_written(one.name, (ONGOING, one.id, 0, {topic: [0]}, {}), (PREPARE_COMMIT, one.id, 1, {topic: [0]}, TWO),
                            (COMPLETE_COMMIT, one.id, 1, {}, TWO))
        one, topic = self.producer(2), self.new_topic()
        self.begin(one, topic)
        self.assertEqual(one.end(version=4), codes.NONE)
        one.settle()
        self.assert_written(one.name, (ONGOING, one.id, 0, {topic: [0]}, TWO), (PREPARE_COMMIT, one.id, 0, {topic: [0]}, {}),
                            (COMPLETE_COMMIT, one.id, 0, {}, {}))
        self.assertEqual(self.controls(topic), [(True, one.id, 0)])


class WrongProducers(TransactionTest):
    def test_in_every_version(self):
        topic = self.new_topic()
        for version in apis.versions("EndTxn"):
            one = self.producer(2)
            for begun in (False, True):
                fenced = codes.INVALID_PRODUCER_EPOCH if version < 2 else codes.PRODUCER_FENCED
                for fields, error in (({"name": ""}, codes.INVALID_REQUEST), ({"name": "nobody"}, WRONG_ID),
                                      ({"identity": (one.id + FAR, 0)}, WRONG_ID), ({"identity": (one.id + FAR, 5)}, WRONG_ID),
                                      ({"identity": (one.id, -1)}, fenced), ({"identity": (one.id, 1)}, fenced)):
                    with self.subTest(version=version, begun=begun, **fields):
                        got = one.end(version=version, **fields)
                        self.assertEqual(got, error if version < 5 else (error, *NOBODY))
                if not begun:
                    self.begin(one, topic)
