"""DescribeTransactions, ListTransactions, DescribeProducers, WriteTxnMarkers, FindCoordinator."""

import apis
import codes
from base import eventually
from differences import differ
from transactions import MINUTE_MS, OFFSETS, TransactionTest

FAR = 100_000
UNKNOWN = {"transactionState": "", "transactionTimeoutMs": 0, "transactionStartTimeMs": 0, "producerId": 0, "producerEpoch": 0,
           "topics": []}


class Describe(TransactionTest):
    def test_each_state(self):
        empty, ongoing, committed, aborted = (self.producer(timeout_ms=MINUTE_MS + index) for index in range(4))
        topic = self.new_topic(3)
        self.begin(ongoing, topic, 2, 0)
        ongoing.commit_offsets(self.new_name("group"), {topic: {0: 1}})
        self.begin(committed, topic)
        self.completed(committed)
        self.begin(aborted, topic)
        self.completed(aborted, False)
        producers = (ongoing, empty, committed, aborted, ongoing)
        got = self.client.call("DescribeTransactions", 0, transactionalIds=[one.name for one in producers]).transactionStates
        self.assertEqual([one.transactionalId for one in got], [one.name for one in producers])
        self.assertEqual([one.transactionState for one in got],
                         ["Ongoing", "Empty", "CompleteCommit", "CompleteAbort", "Ongoing"])
        for told, one in zip(got, producers):
            self.assertEqual((told.errorCode, told.producerId, told.producerEpoch, told.transactionTimeoutMs),
                             (codes.NONE, one.id, one.epoch, one.timeout_ms))
            self.assertEqual(told.transactionStartTimeMs > 0, one is not empty)
            if one is not ongoing:
                self.assertEqual(told.topics, [])
        self.assertEqual({one.topic: sorted(one.partitions) for one in got[0].topics}, {topic: [0, 2], OFFSETS: [0]})

    def test_unknown_ids(self):
        for name, error in (("nobody", codes.TRANSACTIONAL_ID_NOT_FOUND), ("", codes.INVALID_REQUEST)):
            got = self.client.call("DescribeTransactions", 0, transactionalIds=[name]).transactionStates
            self.assertEqual(got, [{"errorCode": error, "transactionalId": name, **UNKNOWN}])
        self.assertEqual(self.client.call("DescribeTransactions", 0, transactionalIds=[]).transactionStates, [])


class List(TransactionTest):
    def setUp(self):
        super().setUp()
        self.empty, self.ongoing, self.committed = self.producer(), self.producer(), self.producer(1)
        topic = self.new_topic()
        self.begin(self.ongoing, topic)
        self.begin(self.committed, topic)
        self.completed(self.committed)
        self.all = {one.name: (one.id, state) for one, state in (
            (self.empty, "Empty"), (self.ongoing, "Ongoing"), (self.committed, "CompleteCommit"))}

    def listed(self, version=2, unknown=(), **filters):
        got = self.client.call("ListTransactions", version, **{"stateFilters": [], "producerIdFilters": [], **filters})
        self.assertEqual((got.errorCode, got.unknownStateFilters), (codes.NONE, list(unknown)))
        return {one.transactionalId: (one.producerId, one.transactionState) for one in got.transactionStates
                if one.transactionalId in self.all}

    def only(self, *producers):
        return {one.name: self.all[one.name] for one in producers}

    def test_every_version(self):
        for version in apis.versions("ListTransactions"):
            self.assertEqual(self.listed(version), self.all)

    def test_states(self):
        for names, unknown, producers in (
                (["Ongoing"], [], [self.ongoing]), (["ongoing"], ["ongoing"], []), (["Nope", "Empty"], ["Nope"], [self.empty]),
                (["Nope", "Nope"], ["Nope"], []), ([""], [""], []), (["Dead", "PrepareEpochFence"], [], []),
                (["Empty", "Ongoing", "CompleteCommit"], [], [self.empty, self.ongoing, self.committed])):
            for version in apis.versions("ListTransactions"):
                with self.subTest(names=names):
                    self.assertEqual(self.listed(version, unknown, stateFilters=names), self.only(*producers))

    def test_producers(self):
        self.assertEqual(self.listed(producerIdFilters=[self.empty.id, self.ongoing.id]), self.only(self.empty, self.ongoing))
        self.assertEqual(self.listed(producerIdFilters=[-1]), {})
        self.assertEqual(self.listed(producerIdFilters=[self.empty.id], stateFilters=["Ongoing"]), {})

    def test_durations(self):
        self.assertTrue(eventually(lambda: self.listed(durationFilter=1) == self.all))
        for version in (1, 2):
            self.assertEqual(self.listed(version, durationFilter=0), self.all)
            self.assertEqual(self.listed(version, durationFilter=-1), self.all)
            # One that never began counts from the beginning of time.
            self.assertEqual(self.listed(version, durationFilter=100_000), self.only(self.empty))

    def test_patterns(self):
        name = self.ongoing.name
        for pattern, producers in ((name, [self.ongoing]), ("test", []), (name[:-2], []), ("", [*self.all]), (None, [*self.all]),
                                   (".*" + name[-4:], [self.ongoing]), ("(?i)" + name.upper(), [self.ongoing]),
                                   ("(?<x>.*)", [*self.all]), (".+", [*self.all])):
            with self.subTest(pattern=pattern):
                expected = {each: self.all[each] for each in producers} if producers == [*self.all] else self.only(*producers)
                self.assertEqual(self.listed(transactionalIdPattern=pattern), expected)

    def test_patterns_that_are_none(self):
        for pattern in ("[", "(", "a(?=b)", r"(?<x>t)\1", "*", "(?<x>a)(?<x>b)", r"\C", "(?z)a"):
            got = self.client.call("ListTransactions", 2, stateFilters=["Nope"], producerIdFilters=[],
                                   transactionalIdPattern=pattern)
            self.assertEqual((got.errorCode, got.unknownStateFilters, got.transactionStates),
                             (codes.INVALID_REGULAR_EXPRESSION, [], []))


class Producers(TransactionTest):
    def described(self, topic, *partitions):
        got = self.client.call("DescribeProducers", 0, topics=[{"name": topic, "partitionIndexes": list(partitions)}]).topics
        self.assertEqual([one.name for one in got], [topic])
        return got[0].partitions

    def active(self, topic, one):
        """What is known of the producer in partition 0."""
        (got,) = self.described(topic, 0)
        (told,) = [each for each in got.activeProducers if each.producerId == one.id]
        self.assertGreater(told.lastTimestamp, 0)
        return told.producerEpoch, told.lastSequence, told.currentTxnStartOffset

    def test_before_during_and_after_a_transaction(self):
        for one in self.both():
            topic = self.new_topic()
            self.client.append(topic, b"plain")
            self.begin(one, topic)
            self.assertEqual(self.active(topic, one), (0, 0, 1))
            self.sent(one, topic)
            self.assertEqual(self.active(topic, one), (0, 1, 1))
            self.completed(one)
            self.assertEqual(self.active(topic, one), (1, -1, -1) if one.version == 2 else (0, 1, -1))
            self.begin(one, topic)
            self.assertEqual(self.active(topic, one), (1, 0, 4) if one.version == 2 else (0, 2, 4))

    def test_the_coordinators_epoch(self):
        one, topic = self.producer(), self.new_topic()
        self.begin(one, topic)
        self.assertEqual(self.described(topic, 0)[0].activeProducers[0].coordinatorEpoch, -1)
        self.completed(one)
        self.assertGreaterEqual(self.described(topic, 0)[0].activeProducers[0].coordinatorEpoch, 0)

    def test_wrong_partitions(self):
        topic = self.new_topic()
        (good, bad) = self.described(topic, 0, 9)
        self.assertEqual((good.errorCode, good.errorMessage, good.activeProducers), (codes.NONE, None, []))
        self.assertEqual((bad.errorCode, bad.activeProducers), (codes.UNKNOWN_TOPIC_OR_PARTITION, []))
        (unknown,) = self.described("nope", 0)
        self.assertEqual((unknown.errorCode, unknown.activeProducers), (codes.UNKNOWN_TOPIC_OR_PARTITION, []))
        self.assertEqual(self.client.call("DescribeProducers", 0, topics=[]).topics, [])
        self.assertEqual(self.described(topic), [])
        self.assertEqual([each.partitionIndex for each in self.described(topic, 0, 0)], [0, 0])


class Markers(TransactionTest):
    def test_of_an_open_transaction(self):
        for version in (1, 2):
            one, topic = self.producer(1), self.new_topic(2)
            self.begin(one, topic, 0, 1)
            got = self.write_markers((one.id, 0, False, {topic: [0, 1]}, 5, 0), version=version)
            self.assertEqual(got, {(one.id, topic, 0): 0, (one.id, topic, 1): 0})
            for partition in (0, 1):
                self.assertEqual(self.controls(topic, partition), [(False, one.id, 0)])
            # The coordinator does not know; the transaction goes on there.
            self.assertEqual(one.state(), "Ongoing")
            self.assertEqual(self.sent(one, topic), 2)

    def test_coordinators_epochs(self):
        one, topic = self.producer(1), self.new_topic()
        self.begin(one, topic)

        def write(coordinator):
            return self.write_markers((one.id, 0, False, {topic: [0]}, coordinator, 0))[one.id, topic, 0]

        self.assertEqual([write(epoch) for epoch in (5, 5, 4, -1, 6, 5)],
                         [0, 0, codes.TRANSACTION_COORDINATOR_FENCED, codes.TRANSACTION_COORDINATOR_FENCED, 0,
                          codes.TRANSACTION_COORDINATOR_FENCED])
        self.assertEqual(len(self.controls(topic)), 3)

    def test_producers_epochs(self):
        topic = self.new_topic()
        for version, level, same in ((1, 0, codes.NONE), (2, 0, codes.NONE), (2, 1, codes.NONE),
                                     (2, 2, codes.INVALID_PRODUCER_EPOCH)):
            one = self.producer(1)
            self.begin(one, topic)
            one.init()  # epoch 1 aborts it, so that there is one before
            one.init()
            one.add({topic: [0]})
            self.sent(one, topic)
            epoch = one.epoch

            def write(epoch, one=one, version=version, level=level):
                return self.write_markers((one.id, epoch, False, {topic: [0]}, 50, level), version=version)[one.id, topic, 0]

            with self.subTest(version=version, level=level):
                self.assertEqual(write(epoch - 1), codes.INVALID_PRODUCER_EPOCH)
                self.assertEqual(write(epoch), same)
                self.assertEqual(write(epoch + 1), codes.NONE)
                self.assertEqual(write(epoch + 1), codes.NONE)  # nothing is open, this is a repeat
                self.assertEqual(write(epoch), codes.INVALID_PRODUCER_EPOCH)

    def test_impossible_ones(self):
        topic = self.new_topic()
        for producer, epoch in ((5, -1), (-1, 0)):
            got = self.write_markers((producer, epoch, False, {topic: [0]}, 5, 0))
            self.assertEqual(got, {(producer, topic, 0): differ("impossible-marker")})
        self.assertEqual(self.client.end_offset(topic), 0)

    def test_of_an_unknown_producer(self):
        topic = self.new_topic()
        self.assertEqual(self.write_markers((777, 3, True, {topic: [0]}, 0, 2)), {(777, topic, 0): codes.NONE})
        self.assertEqual(self.controls(topic), [(True, 777, 3)])

    def test_partitions_that_do_not_exist(self):
        topic = self.new_topic()
        got = self.write_markers((778, 3, True, {topic: [0, 9], "nope": [0]}, 0, 2))
        self.assertEqual(got, {(778, topic, 0): 0, (778, topic, 9): 3, (778, "nope", 0): 3})

    def test_many_and_none(self):
        topic = self.new_topic(2)
        got = self.write_markers((781, 0, True, {topic: [0, 1]}, 1, 1), (782, 0, False, {topic: [1]}, 1, 1))
        self.assertEqual(got, {(781, topic, 0): 0, (781, topic, 1): 0, (782, topic, 1): 0})
        self.assertEqual(self.write_markers(), {})
        self.assertEqual(self.write_markers((783, 0, True, {}, 1, 1), (783, 0, True, {topic: []}, 1, 1)), {})

    def test_a_partition_twice(self):
        if differ("transactions-unanswered"):
            topic = self.new_topic()
            self.assertEqual(self.write_markers((784, 0, True, {topic: [0, 0]}, 1, 1)), {(784, topic, 0): codes.NONE})

    def test_one_of_an_epoch_to_come_keeps_the_coordinators_own_out(self):
        for one in self.both():
            for commits in (True, False):
                with self.subTest(version=one.version, commits=commits):
                    topic = self.new_topic(2)
                    one.init()
                    self.begin(one, topic, 0, 1)
                    to_come = one.epoch + 5
                    self.write_markers((one.id, to_come, False, {topic: [0]}, 0, 0))
                    told = one.end_once(commits)
                    self.assertEqual(told if one.version == 1 else told[0], codes.NONE)
                    state = "Commit" if commits else "Abort"
                    ended = eventually(lambda one=one, state=state: one.state() == f"Complete{state}",
                                       timeout_s=10 if differ("marker-kept-out") else 1)
                    self.assertEqual(ended, differ("marker-kept-out"))
                    self.assertEqual(self.controls(topic, 0)[-1], (False, one.id, to_come))
                    self.assertEqual(self.controls(topic, 1)[-1][:2], (commits, one.id))
                    if not ended:
                        self.assertEqual((one.state(), one.init_once()[0]),
                                         (f"Prepare{state}", codes.CONCURRENT_TRANSACTIONS))
                        return


class Coordinator(TransactionTest):
    def test_every_version(self):
        for version in apis.versions("FindCoordinator"):
            for name in ("x", "", "ä" * 100):
                if version < 4:
                    got = self.client.call("FindCoordinator", version, key=name, **({"keyType": 1} if version else {}))
                else:
                    (got,) = self.client.call("FindCoordinator", version, keyType=1, coordinatorKeys=[name]).coordinators
                    self.assertEqual(got.key, name)
                self.assertEqual((got.errorCode, got.nodeId, got.port), (codes.NONE, 1, self.address[1]))
