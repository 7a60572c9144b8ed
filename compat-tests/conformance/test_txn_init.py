"""InitProducerId of transactional producers, and the fencing of those before."""

import apis
import codes
from differences import differ
from transactions import (COMPLETE_ABORT, COMPLETE_COMMIT, EMPTY, EXHAUSTED, MINUTE_MS, NOBODY, ONGOING, PREPARE_ABORT,
                          PREPARE_COMMIT, OwnBrokerTransactionTest, TransactionTest)

FENCED = (codes.PRODUCER_FENCED, *NOBODY)
MAX_TIMEOUT_MS = 900_000
FAR = 100_000


class Init(TransactionTest):
    def test_every_version(self):
        for version in apis.versions("InitProducerId"):
            with self.subTest(version=version):
                one = self.producer(begun=False)
                error, producer, epoch = one.init(version=version)
                self.assertEqual((error, epoch), (codes.NONE, 0))
                self.assertEqual(one.init(version=version), (codes.NONE, producer, 1))
                self.assert_written(one.name, (EMPTY, producer, 0, None, {}), (EMPTY, producer, 1, None, {}))
                for value in self.written(one.name):
                    self.assertEqual((value[0], value[1].transactionTimeoutMs, value[1].transactionStartTimestampMs),
                                     (1, MINUTE_MS, -1))

    def test_wrong_input(self):
        for version in apis.versions("InitProducerId"):
            for fields, error in (({"name": ""}, codes.NONE), ({"timeout_ms": 0}, 50), ({"timeout_ms": -1}, 50),
                                  ({"timeout_ms": MAX_TIMEOUT_MS + 1}, 50), ({"timeout_ms": MAX_TIMEOUT_MS}, 0),
                                  ({"timeout_ms": 1}, 0)):
                with self.subTest(version=version, **fields):
                    got = self.producer(begun=False).init(version=version, **fields)
                    self.assertEqual(got[0], error)
                    if error:
                        self.assertEqual(got[1:], NOBODY)
            empty = self.client.call("InitProducerId", version, transactionalId="", transactionTimeoutMs=1000)
            self.assertEqual((empty.errorCode, empty.producerId, empty.producerEpoch), (42, -1, -1))

    def test_an_id_without_an_epoch_or_the_other_way(self):
        for version in (3, 4, 5):
            for identity in ((-1, 0), (5, -1), (-2, -1)):
                for name in ("", None):
                    with self.subTest(version=version, identity=identity, name=name):
                        got = self.producer(begun=False).init(identity, version=version, name=name)
                        self.assertEqual(got, (codes.INVALID_REQUEST, *NOBODY))

    def test_an_unknown_transactional_id_is_new_whoever_the_producer_says_it_was(self):
        for version in (3, 5):
            for identity in ((FAR, 3), (FAR, 32767), (FAR, 32766), (FAR, -2)):
                error, producer, epoch = self.producer(begun=False).init(identity, version=version)
                self.assertEqual((error, epoch), (codes.NONE, 0))
                self.assertNotEqual(producer, FAR)

    def test_a_new_timeout(self):
        one = self.producer()
        one.init(timeout_ms=5555)
        self.assertEqual(one.describe().transactionTimeoutMs, 5555)

    def test_recovery_by_who_it_was(self):
        for version in (4, 5):
            with self.subTest(version=version):
                one = self.producer(begun=False)
                _, producer, _ = one.init(version=version)

                def recover(epoch, producer=producer):
                    return one.init((producer, epoch), version=version)

                self.assertEqual(recover(0), (codes.NONE, producer, 1))
                for _ in range(2):  # the answer was lost
                    self.assertEqual(recover(0), (codes.NONE, producer, 1))
                self.assertEqual(recover(1), (codes.NONE, producer, 2))
                for epoch in (0, 3, 11):
                    self.assertEqual(recover(epoch), FENCED)
                self.assertEqual(recover(2, producer + 100_000), FENCED)
                self.assertEqual(one.init(version=version), (codes.NONE, producer, 3))
                self.assertEqual(recover(2), FENCED)  # another instance came in between
                self.assert_written(one.name, *((EMPTY, producer, epoch, None, {}) for epoch in (0, 1, 1, 1, 2, 3)))

    def test_the_code_of_fenced_producers(self):
        one = self.producer()
        for version, error in ((3, codes.INVALID_PRODUCER_EPOCH), (4, codes.PRODUCER_FENCED), (5, codes.PRODUCER_FENCED)):
            self.assertEqual(one.init((one.id, one.epoch + 5), version=version), (error, *NOBODY))
            self.assertEqual(one.init((one.id + 100_000, one.epoch), version=version), (error, *NOBODY))


class WhileOngoing(TransactionTest):
    def test_another_instance_aborts_and_fences(self):
        for one in self.both():
            with self.subTest(version=one.version):
                topic = self.new_topic()
                self.begin(one, topic)
                producer, zombie = one.id, one.identity
                other = self.producer(one.version, begun=False, name=one.name)
                first = other.init_once()
                self.assertEqual(first[0], differ("busy-transaction"))
                if first[0] != codes.NONE:
                    self.assertEqual(first[1:], NOBODY)
                    first = other.init()
                self.assertEqual(first, (codes.NONE, producer, 2))
                client = 2 if one.version == 2 else 0
                new = {"clientTransactionVersion": 2}
                self.assert_written(
                    one.name, (EMPTY, producer, 0, None, {}),
                    (ONGOING, producer, 0, {topic: [0]}, {"clientTransactionVersion": client}),
                    (PREPARE_ABORT, producer, 1, {topic: [0]}, new), (COMPLETE_ABORT, producer, 1, {}, new),
                    (EMPTY, producer, 2, None, new))
                self.assertEqual(self.controls(topic), [(False, producer, 1)])
                self.assertEqual(one.end_once(identity=zombie, version=4), codes.PRODUCER_FENCED)
                self.assertEqual(one.end_once(identity=zombie, version=5), FENCED)
                self.assertEqual(one.send(topic, identity=zombie, sequence=1), (codes.INVALID_PRODUCER_EPOCH, -1))
                self.assertEqual(one.add({topic: [0]}, identity=zombie), {(topic, 0): codes.PRODUCER_FENCED})
                self.assertEqual(one.add_offsets("group", identity=zombie), codes.PRODUCER_FENCED)

    def test_the_producer_itself_comes_back(self):
        for one in self.both():
            with self.subTest(version=one.version):
                topic = self.new_topic()
                self.begin(one, topic)
                identity = one.identity
                self.assertEqual(one.init((one.id + 100_000, 0)), FENCED)
                first = one.init_once(identity)
                self.assertEqual(first[0], differ("busy-transaction"))
                told = first if first[0] == codes.NONE else one.init(identity)
                self.assertEqual(told, (codes.NONE, identity[0], 1))
                self.assertEqual(one.init(identity), (codes.NONE, identity[0], 1))
                self.assertEqual(self.controls(topic), [(False, identity[0], 1)])
                self.assertEqual(one.state(), "Empty")

    def test_a_wrong_epoch_of_the_right_producer_aborts_too(self):
        one, topic = self.producer(), self.new_topic()
        self.begin(one, topic)
        identity = one.identity
        self.assertEqual(one.init((one.id, one.epoch + 7)), FENCED)
        self.assertEqual(one.settle(), "CompleteAbort")
        self.assertEqual(self.controls(topic), [(False, identity[0], 1)])

    def test_after_a_transaction(self):
        for one in self.both():
            for committed in (True, False):
                with self.subTest(version=one.version, committed=committed):
                    topic = self.new_topic()
                    self.begin(one, topic)
                    before = one.epoch
                    self.completed(one, committed)
                    producer, epoch = one.identity
                    self.assertEqual(one.init(), (codes.NONE, producer, epoch + 1))
                    self.begin(one, topic)
                    before = one.epoch
                    self.completed(one, committed)
                    epoch = one.epoch
                    if one.version == 2:  # as if the answer of EndTxn had been lost
                        self.assertEqual(one.init((producer, before)), (codes.NONE, producer, epoch))
                    self.assertEqual(one.init((producer, epoch)), (codes.NONE, producer, epoch + 1))
                    self.assertEqual(self.written(one.name)[-1][1].clientTransactionVersion, 2 if one.version == 2 else 0)


class Exhaustion(OwnBrokerTransactionTest):
    """Records near the last epoch are written into the log and loaded by a restart."""

    loaded = False

    def setUp(self):
        super().setUp()
        if Exhaustion.loaded:
            return
        for index in range(3):
            for number, epoch in enumerate((EXHAUSTED - 1, EXHAUSTED, EXHAUSTED + 1)):
                self.put(f"{index}-{epoch}", producerId=10_000 + 10 * index + number, producerEpoch=epoch)
        for index in range(3, 12):
            for number, epoch in enumerate((EXHAUSTED - 1, EXHAUSTED)):
                self.put(f"{index}-{epoch}", producerId=10_000 + 10 * index + number, producerEpoch=epoch)
        self.restart()
        Exhaustion.loaded = True

    def near(self, index, epoch, version=2):
        one = self.producer(version, begun=False, name=f"{index}-{epoch}")
        one.id, one.epoch = 10_000 + 10 * index + epoch - EXHAUSTED + 1, epoch
        return one

    def assert_new(self, got, epoch=0):
        self.assertEqual((got[0], got[2]), (codes.NONE, epoch), got)
        self.assertLess(got[1], 10_000)
        return got[1]

    def test_a_new_id_follows_the_last_epoch(self):
        for one in (self.near(0, EXHAUSTED), self.near(0, EXHAUSTED + 1)):
            old = one.id
            new = self.assert_new(one.init())
            self.assertEqual(one.init(), (codes.NONE, new, 1))
            self.assert_written(one.name, (EMPTY, new, 0, None, {"previousProducerId": old}), (EMPTY, new, 1, None, {}))

    def test_up_to_the_last_epoch(self):
        one = self.near(0, EXHAUSTED - 1)
        self.assertEqual(one.init(), (codes.NONE, one.id, EXHAUSTED))
        self.assert_new(one.init())

    def test_recovery_at_the_last_epoch(self):
        one = self.near(1, EXHAUSTED)
        old = one.identity
        new = self.assert_new(one.init(old))
        self.assertEqual(one.init(old), (codes.NONE, new, 0))  # the answer was lost
        self.assertEqual(one.init(old), FENCED)
        self.assert_written(one.name, (EMPTY, new, 0, None, {"previousProducerId": old[0]}), (EMPTY, new, 0, None, {}))

    def test_recovery_before_the_last_epoch(self):
        one = self.near(1, EXHAUSTED - 1)
        before = one.identity
        self.assertEqual(one.init(before), (codes.NONE, before[0], EXHAUSTED))
        self.assertEqual(one.init(before)[0], differ("last-epoch-once-more"))

    def test_another_instance_took_the_last_epoch(self):
        one = self.near(2, EXHAUSTED)
        self.assert_new(one.init())
        self.assertEqual(one.init((10_000 + 20 + 1, EXHAUSTED)), FENCED)

    def test_a_transaction_of_the_last_epoch_gives_a_new_id(self):
        for index, committed in ((3, True), (4, False)):
            one, topic = self.near(index, EXHAUSTED), self.new_topic()
            old = one.identity
            self.begin(one, topic)
            new = self.assert_new(one.follow(one.end(committed)))
            one.settle()
            self.assertEqual(one.end(committed, identity=old), (codes.NONE, new, 0))
            self.assertEqual(one.end(not committed, identity=old), (codes.INVALID_TXN_STATE, *NOBODY))
            for epoch in (EXHAUSTED - 1, EXHAUSTED + 1):
                self.assertEqual(one.end(committed, identity=(old[0], epoch)), (codes.INVALID_PRODUCER_ID_MAPPING, *NOBODY))
            self.assertEqual(one.send(topic, identity=old, sequence=1), (codes.INVALID_PRODUCER_EPOCH, -1))
            self.begin(one, topic)
            self.assertEqual(one.end(committed, identity=old), (codes.INVALID_PRODUCER_ID_MAPPING, *NOBODY))
            self.completed(one, committed)
            prepare, complete = (PREPARE_COMMIT, COMPLETE_COMMIT) if committed else (PREPARE_ABORT, COMPLETE_ABORT)
            two = {"clientTransactionVersion": 2}
            self.assert_written(
                one.name, (ONGOING, old[0], EXHAUSTED, {topic: [0]}, two),
                (prepare, old[0], EXHAUSTED + 1, {topic: [0]}, two | {"nextProducerId": new}),
                (complete, new, 0, {}, two | {"previousProducerId": old[0]}), (ONGOING, new, 0, {topic: [0]}, two),
                (prepare, new, 1, {topic: [0]}, two), (complete, new, 1, {}, two))
            self.assertEqual(self.controls(topic), [(committed, old[0], EXHAUSTED + 1), (committed, new, 1)])

    def test_a_transaction_before_the_last_epoch_keeps_the_id(self):
        one, topic = self.near(3, EXHAUSTED - 1), self.new_topic()
        self.begin(one, topic)
        self.assertEqual(one.follow(one.end()), (codes.NONE, one.id, EXHAUSTED))
        one.settle()
        self.assertEqual(one.end(False)[::2], (codes.NONE, 0))  # of nothing: a new id as well

    def test_transactions_of_version_1_stay_at_the_last_epoch(self):
        one, topic = self.near(5, EXHAUSTED, version=1), self.new_topic()
        for committed in (True, False):
            self.begin(one, topic)
            self.completed(one, committed)
        self.assertEqual(self.controls(topic), [(True, one.id, EXHAUSTED), (False, one.id, EXHAUSTED)])
        self.assert_new(one.init(one.identity))

    def test_another_instance_fences_at_the_last_epoch(self):
        for version, index in ((1, 6), (2, 7)):
            one, topic = self.near(index, EXHAUSTED, version), self.new_topic()
            old = one.id
            self.begin(one, topic)
            new = self.assert_new(one.init(), 1)
            two = {"clientTransactionVersion": 2}
            self.assert_written(
                one.name, (PREPARE_ABORT, old, EXHAUSTED + 1, {topic: [0]}, two | {"nextProducerId": new}),
                (COMPLETE_ABORT, new, 0, {}, two | {"previousProducerId": old}), (EMPTY, new, 1, None, two))
            self.assertEqual(self.controls(topic), [(False, old, EXHAUSTED + 1)])

    def test_another_instance_fences_before_the_last_epoch(self):
        one, topic = self.near(6, EXHAUSTED - 1), self.new_topic()
        old = one.id
        self.begin(one, topic)
        new = self.assert_new(one.init())
        two = {"clientTransactionVersion": 2}
        self.assert_written(
            one.name, (PREPARE_ABORT, old, EXHAUSTED, {topic: [0]}, two), (COMPLETE_ABORT, old, EXHAUSTED, {}, two),
            (EMPTY, new, 0, None, two | {"previousProducerId": old}))

    def test_the_producer_itself_comes_back_at_the_last_epoch(self):
        one, topic = self.near(8, EXHAUSTED), self.new_topic()
        old = one.identity
        self.begin(one, topic)
        self.assert_new(one.init(old))
        self.assertEqual(one.init(old), FENCED)
        self.assertEqual(self.controls(topic), [(False, old[0], EXHAUSTED + 1)])

    def test_the_producer_itself_comes_back_before_the_last_epoch(self):
        one, topic = self.near(8, EXHAUSTED - 1), self.new_topic()
        old = one.identity
        self.begin(one, topic)
        self.assertEqual(one.init(old)[0], differ("last-epoch-once-more"))
        self.assertEqual(self.controls(topic), [(False, old[0], EXHAUSTED)])
