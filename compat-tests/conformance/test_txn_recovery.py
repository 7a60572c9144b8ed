"""Coordinators that are loaded from their log, and older transaction.versions."""

import codes
from base import eventually
from differences import differ
from transactions import (COMPLETE_ABORT, COMPLETE_COMMIT, EMPTY, NOBODY, OFFSETS, ONGOING, PREPARE_ABORT, PREPARE_COMMIT, STATES,
                          OwnBrokerTransactionTest)

TWO = {"clientTransactionVersion": 2}
UNSUPPORTED = codes.UNSUPPORTED_VERSION


class Loading(OwnBrokerTransactionTest):
    def test_records_of_each_state(self):
        topic = self.new_topic()
        in_it = [{"topic": topic, "partitionIds": [0]}]
        producers = {}
        for version in (0, 1):
            for state in range(6):
                name = self.new_id()
                producers[name] = (version, state, 20_000 + 10 * version + state)
                self.put(name, version, producerId=producers[name][2], producerEpoch=5, transactionStatus=state,
                         transactionPartitions=None if state == EMPTY else in_it if state < COMPLETE_COMMIT else [],
                         transactionStartTimestampMs=-1 if state == EMPTY else 1_700_000_000_000,
                         **({"clientTransactionVersion": 2} if version else {}), transactionTimeoutMs=2**31 - 1)
        self.restart()
        after = {PREPARE_COMMIT: COMPLETE_COMMIT, PREPARE_ABORT: COMPLETE_ABORT}
        for name, (version, state, producer) in producers.items():
            with self.subTest(version=version, state=STATES[state]):
                one = self.producer(begun=False, name=name)
                wanted = STATES[after.get(state, state)]
                # Transactions of long ago are over.
                wanted = "CompleteAbort" if wanted == "Ongoing" else wanted
                self.assertTrue(eventually(lambda: one.state() == wanted or state == ONGOING), one.describe())
                if state in after:
                    self.assert_written(name, (after[state], producer, 5, {}, {"clientTransactionVersion": 2 * version}))
                if state != ONGOING:
                    self.assertEqual(one.init((producer, 4)), (codes.PRODUCER_FENCED, *NOBODY))
                    self.assertEqual(one.init(), (codes.NONE, producer, 6))
        outcomes = [(state == PREPARE_COMMIT, producer, 5) for _, state, producer in producers.values() if state in after]
        self.assertEqual(sorted(each for each in self.controls(topic) if each[2] == 5), sorted(outcomes))

    def test_transactions_go_on_after_an_orderly_stop_and_after_a_kill(self):
        for kill in (False, True):
            topic, group = self.new_topic(), self.new_name("group")
            first, second, offsets, done, undone = self.producer(1), self.producer(), self.producer(), self.producer(), self.producer()
            for one in (first, second, done, undone):
                self.begin(one, topic)
            offsets.commit_offsets(group, {topic: {0: 9}})
            told = done.end(True), undone.end(False)
            for one in (done, undone):
                one.settle()
            producers = (first, second, offsets, done, undone)
            if kill:
                self.broker.kill()
            self.restart()
            for one in producers:
                one.close()
                one.client = self.new_client()
            self.assertEqual([one.state() for one in producers],
                             ["Ongoing", "Ongoing", "Ongoing", "CompleteCommit", "CompleteAbort"])
            # The answers of EndTxn were lost.
            self.assertEqual((done.end(True), undone.end(False)), told)
            self.assertEqual(done.end(False), (codes.INVALID_TXN_STATE, *NOBODY))
            for one in (first, second):
                self.sent(one, topic)
                self.completed(one)
            self.assertEqual(self.fetch_offsets(group, topic, 0, stable=True), {0: (-1, codes.UNSTABLE_OFFSET_COMMIT)})
            self.completed(offsets)
            self.assertEqual(self.fetch_offsets(group, topic, 0, stable=True), {0: (9, 0)})
            self.assertEqual(sorted(self.controls(topic)), sorted([
                (True, first.id, 0), (True, second.id, 1), (True, done.id, 1), (False, undone.id, 1)]))


class Levels(OwnBrokerTransactionTest):
    """transaction.version 0 and 1."""

    def tearDown(self):
        self.set_level(2)
        super().tearDown()

    def test_version_1_and_another_instance(self):
        self.set_level(1)
        for one in self.both():
            topic = self.new_topic()
            self.begin(one, topic)
            producer = one.id
            self.assertEqual(one.init(), (codes.NONE, producer, 2))
            self.assert_written(one.name, (PREPARE_ABORT, producer, 1, {topic: [0]}, {}), (COMPLETE_ABORT, producer, 1, {}, {}),
                                (EMPTY, producer, 2, None, {}))
            self.assertEqual(self.controls(topic), [(False, producer, 1)])

    def test_version_1_and_the_producer_itself(self):
        self.set_level(1)
        one, topic = self.producer(1), self.new_topic()
        self.begin(one, topic)
        self.assertEqual(one.init(one.identity), (codes.PRODUCER_FENCED, *NOBODY))
        self.assertEqual(one.settle(), "CompleteAbort")

    def test_version_1_and_newer_clients(self):
        self.set_level(1)
        one, topic = self.producer(2), self.new_topic()
        self.begin(one, topic)
        self.assertEqual(one.follow(one.end()), (codes.NONE, one.id, 1))
        one.settle()
        self.assert_written(one.name, (ONGOING, one.id, 0, {topic: [0]}, TWO), (PREPARE_COMMIT, one.id, 1, {topic: [0]}, TWO),
                            (COMPLETE_COMMIT, one.id, 1, {}, TWO))

    def test_version_0_writes_older_records(self):
        self.set_level(0)
        one, topic, group = self.producer(1), self.new_topic(), self.new_name("group")
        one.add_offsets(group)
        for committed in (True, False):
            self.begin(one, topic)
            self.completed(one, committed)
        self.begin(one, topic)
        self.assertEqual(one.init(), (codes.NONE, one.id, 2))
        self.assert_written(
            one.name, (EMPTY, one.id, 0, None, {}), (ONGOING, one.id, 0, {OFFSETS: [0]}, {}),
            (ONGOING, one.id, 0, {OFFSETS: [0], topic: [0]}, {}), (PREPARE_COMMIT, one.id, 0, {OFFSETS: [0], topic: [0]}, {}),
            (COMPLETE_COMMIT, one.id, 0, {}, {}), (ONGOING, one.id, 0, {topic: [0]}, {}),
            (PREPARE_ABORT, one.id, 0, {topic: [0]}, {}), (COMPLETE_ABORT, one.id, 0, {}, {}),
            (ONGOING, one.id, 0, {topic: [0]}, {}), (PREPARE_ABORT, one.id, 1, {topic: [0]}, {}),
            (COMPLETE_ABORT, one.id, 1, {}, {}), (EMPTY, one.id, 2, None, {}))
        self.assertEqual({version for version, _ in self.written(one.name)}, {0})
        self.set_level(2)
        one.init()
        self.assertEqual([version for version, _ in self.written(one.name)][-2:], [0, 1])

    def test_version_0_and_newer_clients(self):
        self.set_level(0)
        topic, group = self.new_topic(), self.new_name("group")
        asked = ((lambda one: one.send(topic), (UNSUPPORTED, -1)),
                 (lambda one: one.commit_offsets(group, {topic: {0: 1}}), {(topic, 0): UNSUPPORTED}),
                 (lambda one: one.end(False), (UNSUPPORTED, *NOBODY)))
        for ask, answer in asked:
            one = self.producer(2)
            self.assertEqual(ask(one), answer)
            self.assertEqual(one.init_once()[0], differ("after-an-unsupported-transaction"))

    def test_version_0_and_newer_brokers(self):
        self.set_level(0)
        one, topic = self.producer(2), self.new_topic()
        got = self.client.call("AddPartitionsToTxn", 5, transactions=[one.asked({topic: [0]}, verify=False)])
        of_partitions = [each.topicResults[0].resultsByPartition[0].partitionErrorCode for each in got.resultsByTransaction]
        self.assertEqual((got.errorCode, of_partitions), differ("unsupported-addition"))
