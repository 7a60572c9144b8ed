"""Transactions that take too long, and transactional ids that nobody uses."""

import codes
from base import eventually
from transactions import (COMPLETE_ABORT, EMPTY, NOBODY, ONGOING, PREPARE_ABORT, OwnBrokerTransactionTest)

SHORT_MS = 200
TWO = {"clientTransactionVersion": 2}


class Timeouts(OwnBrokerTransactionTest):
    properties = {"transaction.abort.timed.out.transaction.cleanup.interval.ms": "100"}

    def timed_out(self, version, topic=None):
        one = self.producer(version, timeout_ms=SHORT_MS)
        if topic:
            self.begin(one, topic)
        else:
            one.add({})
        self.assertTrue(eventually(lambda: one.state() == "CompleteAbort"), one.state())
        return one

    def test_they_are_aborted_and_the_producer_is_fenced(self):
        for version in (1, 2):
            with self.subTest(version=version):
                topic = self.new_topic()
                one = self.timed_out(version, topic)
                client = {"clientTransactionVersion": 2 if version == 2 else 0}
                self.assert_written(one.name, (EMPTY, one.id, 0, None, {}), (ONGOING, one.id, 0, {topic: [0]}, client),
                                    (PREPARE_ABORT, one.id, 1, {topic: [0]}, TWO), (COMPLETE_ABORT, one.id, 1, {}, TWO))
                self.assertEqual(self.controls(topic), [(False, one.id, 1)])
                self.assertEqual(one.send(topic), (codes.INVALID_PRODUCER_EPOCH, -1))
                self.assertEqual(one.add({topic: [0]}), {(topic, 0): codes.PRODUCER_FENCED})
                self.assertEqual(one.add_offsets("group"), codes.PRODUCER_FENCED)
                for committed in (True, False):
                    self.assertEqual(one.end(committed, version=4), codes.PRODUCER_FENCED)

    def test_an_outcome_that_came_too_late(self):
        one = self.timed_out(2, self.new_topic())
        self.assertEqual(one.end(True), (codes.INVALID_TXN_STATE, *NOBODY))
        self.assertEqual(one.end(False), (codes.NONE, one.id, 1))

    def test_the_producer_comes_back(self):
        for version in (1, 2):
            one = self.timed_out(version, self.new_topic())
            identity = one.identity
            self.assertEqual(one.init(identity), (codes.NONE, identity[0], 1))
            self.assertEqual(one.init((identity[0], 1)), (codes.NONE, identity[0], 2))

    def test_one_without_partitions(self):
        one = self.timed_out(1)
        self.assert_written(one.name, (ONGOING, one.id, 0, {}, {}), (PREPARE_ABORT, one.id, 1, {}, TWO),
                            (COMPLETE_ABORT, one.id, 1, {}, TWO))

    def test_offsets(self):
        one, topic, group = self.producer(timeout_ms=SHORT_MS), self.new_topic(), self.new_name("group")
        self.assertEqual(one.commit_offsets(group, {topic: {0: 5}}), {(topic, 0): codes.NONE})
        self.assertTrue(eventually(lambda: one.state() == "CompleteAbort"))
        self.assertEqual(self.fetch_offsets(group, topic, 0, stable=True), {0: (-1, 0)})
        self.assertEqual(one.commit_offsets(group, {topic: {0: 6}}), {(topic, 0): codes.INVALID_PRODUCER_EPOCH})

    def test_others_go_on(self):
        one, topic = self.producer(), self.new_topic()
        self.begin(one, topic)
        self.timed_out(1, topic)
        self.assertEqual(one.state(), "Ongoing")
        self.completed(one)
        self.assertEqual(self.controls(topic)[-1], (True, one.id, 1))


class Expiry(OwnBrokerTransactionTest):
    properties = {"transactional.id.expiration.ms": "1000",
                  "transaction.remove.expired.transaction.cleanup.interval.ms": "200"}

    def test_ids_that_are_done_are_forgotten(self):
        topic = self.new_topic()
        empty, committed, aborted, ongoing = self.producer(), self.producer(1), self.producer(), self.producer()
        self.begin(ongoing, topic)
        for one, outcome in ((committed, True), (aborted, False)):
            self.begin(one, topic)
            one.follow(one.end(outcome))
        done = (empty, committed, aborted)
        gone = codes.TRANSACTIONAL_ID_NOT_FOUND
        self.assertTrue(eventually(lambda: all(one.describe().errorCode == gone for one in done)))
        self.assertEqual(ongoing.state(), "Ongoing")
        for one in done:
            self.assertIsNone(self.written(one.name)[-1])
            old = one.identity
            self.assertEqual(one.end(version=4), codes.INVALID_PRODUCER_ID_MAPPING)
            error, producer, epoch = one.init(old)
            self.assertEqual((error, epoch), (codes.NONE, 0))
            self.assertNotEqual(producer, old[0])
        self.completed(ongoing)

    def test_ids_that_are_used_stay(self):
        one, topic = self.producer(1), self.new_topic()
        other = self.producer()
        while other.describe().errorCode == codes.NONE:
            self.begin(one, topic)
            self.completed(one)
        self.assertEqual((one.describe().errorCode, one.describe().producerId), (codes.NONE, one.id))
