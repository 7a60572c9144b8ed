"""AddPartitionsToTxn of clients and of brokers, AddOffsetsToTxn."""

import apis
import codes
from differences import differ
from transactions import ONGOING, OFFSETS, STATES, TransactionTest

NOT_TRIED, UNKNOWN = codes.OPERATION_NOT_ATTEMPTED, codes.UNKNOWN_TOPIC_OR_PARTITION
WRONG_ID = codes.INVALID_PRODUCER_ID_MAPPING
FAR = 100_000


def fenced(version):
    return codes.INVALID_PRODUCER_EPOCH if version < 2 else codes.PRODUCER_FENCED


class OfClients(TransactionTest):
    def test_every_version(self):
        for version in range(4):
            with self.subTest(version=version):
                one, topic, other = self.producer(1), self.new_topic(3), self.new_topic()
                got = one.add({topic: [2, 0], other: [0]}, version)
                self.assertEqual(got, {(topic, 2): 0, (topic, 0): 0, (other, 0): 0})
                self.assertEqual(one.add({topic: [1, 1]}, version), {(topic, 1): 0})
                started = one.describe()
                self.assertEqual(started.transactionState, STATES[ONGOING])
                self.assertEqual({each.topic: each.partitions for each in started.topics},
                                 {topic: started.topics[[t.topic for t in started.topics].index(topic)].partitions, other: [0]})
                self.assert_written(one.name, (ONGOING, one.id, 0, {topic: [0, 2], other: [0]}, {}),
                                    (ONGOING, one.id, 0, {topic: [0, 1, 2], other: [0]}, {}))
                starts = {value.transactionStartTimestampMs for _, value in self.written(one.name)[-2:]}
                self.assertEqual(starts, {started.transactionStartTimeMs})

    def test_what_is_there_already_is_not_written_again(self):
        one, topic = self.producer(1), self.new_topic(2)
        one.add({topic: [0, 1]})
        before = len(self.written(one.name))
        self.assertEqual(one.add({topic: [1]}), {(topic, 1): 0})
        self.assertEqual(len(self.written(one.name)), before)

    def test_one_that_does_not_exist_fails_all(self):
        one, topic = self.producer(1), self.new_topic()
        for version in range(4):
            self.assertEqual(one.add({topic: [0, 9], "nope": [0]}, version),
                             {(topic, 0): NOT_TRIED, (topic, 9): UNKNOWN, ("nope", 0): UNKNOWN})
            # Before anything else is looked at.
            self.assertEqual(one.add({topic: [0], "nope": [0]}, version, identity=(one.id, 7)),
                             {(topic, 0): NOT_TRIED, ("nope", 0): UNKNOWN})
        self.assertEqual(one.state(), "Empty")

    def test_internal_topics_are_not_the_clients(self):
        one, topic = self.producer(1), self.new_topic()
        one.add_offsets("group")
        got = one.add({topic: [0], OFFSETS: [0], "__transaction_state": [0]})
        denied = codes.TOPIC_AUTHORIZATION_FAILED
        self.assertEqual(got, {(topic, 0): NOT_TRIED, (OFFSETS, 0): denied, ("__transaction_state", 0): denied})

    def test_wrong_producers(self):
        topic = self.new_topic()
        for version in range(4):
            one = self.producer(1)
            for begun in (False, True):
                with self.subTest(version=version, begun=begun):
                    for fields, error in (
                            ({"name": ""}, codes.INVALID_REQUEST), ({"name": "nobody"}, WRONG_ID),
                            ({"identity": (one.id + FAR, 0)}, WRONG_ID), ({"identity": (one.id, -1)}, fenced(version)),
                            ({"identity": (one.id, 1)}, fenced(version)), ({"identity": (one.id + FAR, 1)}, WRONG_ID)):
                        self.assertEqual(one.add({topic: [0]}, version, **fields), {(topic, 0): error}, fields)
                one.add({topic: [0]})

    def test_nothing_begins_a_transaction_too(self):
        for asked in ({}, {self.new_topic(): []}):
            one = self.producer(1)
            self.assertEqual(one.add(asked), {})
            self.assert_written(one.name, (ONGOING, one.id, 0, {}, {}))
            self.completed(one)

    def test_while_an_outcome_is_carried_out(self):
        one, topic = self.producer(1), self.new_topic(2)
        self.begin(one, topic, 0, 1)
        self.assertEqual(one.end_once(), codes.NONE)
        self.assertEqual(one.add({topic: [1]}), {(topic, 1): codes.NONE})
        self.assertEqual(one.describe().topics[0].partitions, [1])


class OfBrokers(TransactionTest):
    def test_to_add(self):
        for version in (4, 5):
            one, topic = self.producer(), self.new_topic(2)
            self.assertEqual(one.ask({topic: [0]}, verify=False, version=version), {(topic, 0): 0})
            self.assert_written(one.name, (ONGOING, one.id, 0, {topic: [0]}, {"clientTransactionVersion": 2}))

    def test_to_verify(self):
        topic = self.new_topic(2)
        for version in (4, 5):
            for one in self.both():
                self.assertEqual(one.ask({topic: [0]}, version=version), {(topic, 0): codes.TRANSACTION_ABORTABLE})
                self.assertEqual(one.ask({}, version=version), {})
                one.add({topic: [0]})
                self.assertEqual(one.ask({topic: [0, 1]}, version=version),
                                 {(topic, 0): 0, (topic, 1): codes.TRANSACTION_ABORTABLE})
                self.assertEqual(len(self.written(one.name)), 2)

    def test_wrong_input(self):
        topic = self.new_topic()
        for version in (4, 5):
            for verify in (True, False):
                one = self.producer()
                one.ask({topic: [0]}, verify=False)
                for fields, error in (({"name": ""}, codes.INVALID_REQUEST), ({"name": "nobody"}, WRONG_ID),
                                      ({"identity": (one.id + FAR, 0)}, WRONG_ID),
                                      ({"identity": (one.id, -1)}, codes.PRODUCER_FENCED),
                                      ({"identity": (one.id, 1)}, codes.PRODUCER_FENCED)):
                    with self.subTest(version=version, verify=verify, **fields):
                        got = one.ask({topic: [0]}, verify, version, **fields)
                        self.assertEqual(got, {(topic, 0): error})
                self.assertEqual(one.ask({topic: [0], "nope": [3]}, verify, version),
                                 {(topic, 0): NOT_TRIED, ("nope", 3): UNKNOWN})

    def test_epochs_after_a_transaction(self):
        one, topic = self.producer(), self.new_topic()
        self.begin(one, topic)
        old = one.identity
        self.completed(one)
        for verify in (True, False):
            self.assertEqual(one.ask({topic: [0]}, verify, identity=old), {(topic, 0): codes.PRODUCER_FENCED})
        self.assertEqual(one.ask({topic: [0]}), {(topic, 0): codes.TRANSACTION_ABORTABLE})
        self.assertEqual(one.ask({topic: [0]}, verify=False), {(topic, 0): codes.NONE})

    def test_many_at_once(self):
        one, two, three, topic = self.producer(), self.producer(), self.producer(), self.new_topic(2)
        self.begin(one, topic)
        got = self.client.call("AddPartitionsToTxn", 5, transactions=[
            one.asked({topic: [0]}), two.asked({topic: [0]}), one.asked({topic: [1]}, name="nobody"),
            three.asked({topic: [1]}, verify=False)])
        self.assertEqual(got.errorCode, codes.NONE)
        told = sorted((each.transactionalId, each.topicResults[0].resultsByPartition[0].partitionIndex,
                       each.topicResults[0].resultsByPartition[0].partitionErrorCode) for each in got.resultsByTransaction)
        self.assertEqual(told, sorted([(one.name, 0, 0), (two.name, 0, codes.TRANSACTION_ABORTABLE), ("nobody", 1, WRONG_ID),
                                       (three.name, 1, 0)]))

    def test_no_transaction_at_all(self):
        if differ("transactions-unanswered"):
            self.assertEqual(self.client.call("AddPartitionsToTxn", 5, transactions=[]).resultsByTransaction, [])


class Offsets(TransactionTest):
    def test_every_version(self):
        for version in apis.versions("AddOffsetsToTxn"):
            one = self.producer(1)
            self.assertEqual(one.add_offsets("group", version), codes.NONE)
            self.assertEqual(one.add_offsets("group", version), codes.NONE)
            self.assert_written(one.name, (ONGOING, one.id, 0, {OFFSETS: [0]}, {}))
            self.assertEqual(len(self.written(one.name)), 2)

    def test_wrong_input(self):
        for version in apis.versions("AddOffsetsToTxn"):
            one = self.producer(1)
            for fields, error in (({"name": ""}, codes.INVALID_REQUEST), ({"name": "nobody"}, WRONG_ID),
                                  ({"identity": (one.id + FAR, 0)}, WRONG_ID), ({"identity": (one.id, -1)}, fenced(version)),
                                  ({"identity": (one.id, 1)}, fenced(version))):
                with self.subTest(version=version, **fields):
                    self.assertEqual(one.add_offsets("group", version, **fields), error)
            self.assertEqual(one.add_offsets("", version), codes.NONE)

    def test_while_an_outcome_is_carried_out(self):
        one = self.producer(1)
        one.add_offsets("group")
        one.end_once()
        self.assertEqual(one.add_offsets("group"), codes.NONE)
