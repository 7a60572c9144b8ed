"""What leaders of partitions do for transactions: who may append, and what is shown to whom before and after."""

import threading
import time

import codes
from base import ConformanceTest, eventually, fetched
from records import CONTROL, TRANSACTIONAL, batch, records_of, split
from test_durability import OwnBroker

ABORTABLE, COORDINATOR_FENCED = 120, 52
CONCURRENT, OUT_OF_ORDER, BAD_EPOCH = 51, 45, 47
COMMITTED = 1  # isolation level
TV1, TV2 = 11, 12  # Produce


class Verbs:
    def producer(self, client=None):
        return Producer(client or self.client, self.new_name("id"))

    def marker(self, topic, producer_id, epoch, committed=True, coordinator_epoch=0, version=2, api_version=2):
        """Writes one as a coordinator would; returns the error."""
        marker = {"producerId": producer_id, "producerEpoch": epoch, "transactionResult": committed,
                  "coordinatorEpoch": coordinator_epoch, "topics": [{"name": topic, "partitionIndexes": [0]}]}
        if api_version >= 2:
            marker["transactionVersion"] = version
        got = self.client.call("WriteTxnMarkers", api_version, markers=[marker])
        return got.markers[0].topics[0].partitions[0].errorCode

    def active(self, topic):
        """(id, epoch, last sequence, coordinator epoch, start of the transaction) of each producer."""
        answer = self.client.call("DescribeProducers", 0, topics=[{"name": topic, "partitionIndexes": [0]}])
        return sorted((p.producerId, p.producerEpoch, p.lastSequence, p.coordinatorEpoch, p.currentTxnStartOffset)
                      for p in answer.topics[0].partitions[0].activeProducers)

    def values(self, topic, offset=0, isolation=COMMITTED):
        """What a consumer of this isolation level makes of one fetch."""
        got = self.client.fetch(topic, offset, isolationLevel=isolation)
        self.assertEqual(got.errorCode, codes.NONE)
        aborted = sorted(((a.firstOffset, a.producerId) for a in got.abortedTransactions or []), reverse=True)
        open_aborted, values = set(), []
        for found in split(got.records):
            while aborted and aborted[-1][0] <= found.base_offset:
                open_aborted.add(aborted.pop()[1])
            if found.attributes & CONTROL:
                open_aborted.discard(found.producer_id)
            elif not found.attributes & TRANSACTIONAL or found.producer_id not in open_aborted:
                values += [value for _, _, _, value, _ in records_of([found])]
        return values

    def stable(self, topic):
        return self.client.list_offset(topic, -1, isolation=COMMITTED).offset


class TransactionTest(Verbs, ConformanceTest):
    """A case against the shared broker."""


class Producer:
    """A transactional producer, of transaction version 2 unless said otherwise."""

    def __init__(self, client, transactional_id):
        self.client, self.id, self.sequences = client, transactional_id, {}
        self.begin()

    def begin(self, timeout_ms=60000, **fields):
        def ask():
            self.client.call("FindCoordinator", 4, keyType=1, coordinatorKeys=[self.id])
            got = self.client.call("InitProducerId", 5, transactionalId=self.id, transactionTimeoutMs=timeout_ms,
                                   **fields)
            return got if got.errorCode == codes.NONE else None

        got = eventually(ask, 30)
        assert got, "no producer id"
        self.producer_id, self.epoch, self.sequences = got.producerId, got.producerEpoch, {}

    def records(self, topic, *values, partition=0, **fields):
        """The next batch, without sending it."""
        sequence = self.sequences.get((topic, partition), 0)
        self.sequences[topic, partition] = sequence + max(len(values), 1)
        return batch(*values, **{"producer_id": self.producer_id, "producer_epoch": self.epoch, "sequence": sequence,
                                 "attributes": TRANSACTIONAL, **fields})

    def send(self, topic, *values, partition=0, version=TV2, acks=-1, client=None, **fields):
        return (client or self.client).produce(topic, self.records(topic, *values, partition=partition, **fields),
                                               partition, version=version, acks=acks, transactionalId=self.id)

    def add(self, *topics):
        """Transaction version 1."""
        got = eventually(lambda: self._add(topics), 30)
        assert got == {codes.NONE}, got

    def _add(self, topics):
        answer = self.client.call("AddPartitionsToTxn", 3, v3AndBelowTransactionalId=self.id,
                                  v3AndBelowProducerId=self.producer_id, v3AndBelowProducerEpoch=self.epoch,
                                  v3AndBelowTopics=[{"name": name, "partitions": [0]} for name in topics])
        got = {p.partitionErrorCode for t in answer.resultsByTopicV3AndBelow for p in t.resultsByPartition}
        return got if CONCURRENT not in got else None

    def end(self, committed=True, version=5):
        """Also waits until the outcome is told to all partitions."""
        got = eventually(lambda: self._end(committed, version), 30)
        assert got and got.errorCode == codes.NONE, got
        if version >= 5:
            self.producer_id, self.epoch, self.sequences = got.producerId, got.producerEpoch, {}
        assert eventually(self.ended, 30), "the transaction does not end"

    def _end(self, committed, version):
        got = self.client.call("EndTxn", version, transactionalId=self.id, producerId=self.producer_id,
                               producerEpoch=self.epoch, committed=committed)
        return got if got.errorCode != CONCURRENT else None

    def ended(self):
        return self.state() in ("CompleteCommit", "CompleteAbort")

    def state(self):
        got = self.client.call("DescribeTransactions", 0, transactionalIds=[self.id])
        return got.transactionStates[0].transactionState

    def partitions(self):
        """That the coordinator knows to be in the transaction."""
        got = self.client.call("DescribeTransactions", 0, transactionalIds=[self.id])
        return {(t.topic, p) for t in got.transactionStates[0].topics for p in t.partitions}


class Appending(TransactionTest):
    def test_version_12_adds_the_partition_and_older_ones_want_it_added(self):
        topic, one = self.new_topic(), self.producer()
        self.assertEqual(one.send(topic, b"a").errorCode, codes.NONE)
        self.assertEqual(one.partitions(), {(topic, 0)})
        for version, code in ((11, ABORTABLE), (10, codes.INVALID_TXN_STATE), (8, codes.INVALID_TXN_STATE),
                              (3, codes.INVALID_TXN_STATE)):
            with self.subTest(version):
                topic, one = self.new_topic(), self.producer()
                got = one.send(topic, b"a", version=version)
                self.assertEqual((got.errorCode, got.baseOffset), (code, -1))
                self.assertEqual(self.client.end_offset(topic), 0)
                one.sequences = {}
                one.add(topic)
                self.assertEqual(one.send(topic, b"a", version=version).errorCode, codes.NONE)

    def test_refusals_of_the_coordinator_have_no_log_start_and_may_have_words(self):
        topic = self.new_topic()
        for version, code, has_words in ((11, ABORTABLE, False), (10, codes.INVALID_TXN_STATE, True)):
            got = self.producer().send(topic, b"a", version=version)
            self.assertEqual((got.errorCode, got.logStartOffset, bool(got.errorMessage), got.recordErrors),
                             (code, -1, has_words, []))

    def test_an_id_is_needed_and_only_one_producer(self):
        topic, one, other = self.new_topic(2), self.producer(), self.producer()
        got = self.client.produce(topic, one.records(topic, b"a"), version=TV2)
        self.assertEqual(got.errorCode, 53)
        answer = self.client.call("Produce", TV2, acks=-1, timeoutMs=10000, transactionalId=one.id, topicData=[{
            "name": topic, "partitionData": [{"index": 0, "records": one.records(topic, b"a")},
                                             {"index": 1, "records": other.records(topic, b"b", partition=1)}]}])
        got = [p.errorCode for p in answer.responses[0].partitionResponses]
        self.assertEqual(got, [codes.INVALID_PRODUCER_ID_MAPPING] * 2)
        self.assertEqual([self.client.end_offset(topic, n) for n in (0, 1)], [0, 0])

    def test_only_the_partition_that_is_not_in_the_transaction_is_refused(self):
        topic, one = self.new_topic(3), self.producer()
        one.add(topic)
        answer = self.client.call("Produce", TV1, acks=-1, timeoutMs=10000, transactionalId=one.id, topicData=[{
            "name": topic, "partitionData": [
                {"index": 0, "records": one.records(topic, b"a")},
                {"index": 1, "records": one.records(topic, b"b", partition=1)},
                {"index": 2, "records": batch(b"plain")}]}])
        got = sorted((p.index, p.errorCode) for p in answer.responses[0].partitionResponses)
        self.assertEqual(got, [(0, 0), (1, ABORTABLE), (2, 0)])

    def test_an_unknown_producer_and_a_wrong_epoch_are_refused(self):
        topic, one = self.new_topic(), self.producer()
        one.begin()  # the next epoch
        for version in (TV1, TV2):
            for fields, code in (({"producer_id": one.producer_id + 1000}, codes.INVALID_PRODUCER_ID_MAPPING),
                                 ({"producer_epoch": one.epoch - 1}, BAD_EPOCH),
                                 ({"producer_epoch": one.epoch + 1}, BAD_EPOCH)):
                with self.subTest(version=version, **fields):
                    one.sequences = {}
                    self.assertEqual(one.send(self.new_topic(), b"a", version=version, **fields).errorCode, code)
        self.assertEqual(self.client.end_offset(topic), 0)

    def test_an_open_transaction_needs_no_further_word(self):
        topic, one = self.new_topic(), self.producer()
        self.assertEqual(one.send(topic, b"a").errorCode, codes.NONE)
        one.id = "another"  # not looked at any more
        self.assertEqual(one.send(topic, b"b").baseOffset, 1)
        repeat = self.client.produce(topic, batch(b"b", producer_id=one.producer_id, producer_epoch=one.epoch,
                                                  sequence=1, attributes=TRANSACTIONAL),
                                     version=TV2, transactionalId="another")
        self.assertEqual((repeat.errorCode, repeat.baseOffset), (codes.NONE, 1))
        self.assertEqual(self.client.end_offset(topic), 2)

    def test_plain_batches_of_the_producer_are_refused_while_its_transaction_is_open(self):
        topic, one = self.new_topic(), self.producer()
        one.send(topic, b"a")
        self.assertEqual(one.send(topic, b"b", attributes=0).errorCode, codes.INVALID_TXN_STATE)
        self.assertEqual(self.client.append(topic, b"nobody's"), 1)

    def test_sequences_of_transactions(self):
        topic, one = self.new_topic(), self.producer()
        self.assertEqual(one.send(topic, b"a", sequence=3).errorCode, OUT_OF_ORDER, "version 2 begins at 0")
        one.sequences = {}
        self.assertEqual(one.send(topic, b"a").errorCode, codes.NONE)
        self.assertEqual(one.send(topic, b"b", sequence=3).errorCode, OUT_OF_ORDER)
        one.end()
        self.assertEqual(one.send(topic, b"c", sequence=1).errorCode, OUT_OF_ORDER, "each epoch begins at 0")
        one.sequences = {}
        self.assertEqual(one.send(topic, b"c").errorCode, codes.NONE)

    def test_version_1_goes_on_with_the_sequence_in_the_next_transaction(self):
        topic, one = self.new_topic(), self.producer()
        one.add(topic)
        self.assertEqual(one.send(topic, b"a", b"b", version=TV1).errorCode, codes.NONE)
        one.end(version=4)
        got = one.send(topic, b"c", version=TV1)
        self.assertEqual(got.errorCode, ABORTABLE, "it is not added again")
        one.sequences[topic, 0] = 2
        one.add(topic)
        self.assertEqual(one.send(topic, b"c", version=TV1).errorCode, codes.NONE)
        self.assertEqual(self.active(topic)[0][:3], (one.producer_id, one.epoch, 2))

    def test_a_batch_that_comes_after_the_end_of_its_transaction_is_refused(self):
        for committed in (True, False):
            topic, one = self.new_topic(), self.producer()
            one.send(topic, b"a")
            late = one.records(topic, b"late")
            one.end(committed)
            got = self.client.produce(topic, late, version=TV2, transactionalId=one.id)
            self.assertEqual(got.errorCode, BAD_EPOCH)
            topic, one = self.new_topic(), self.producer()
            one.add(topic)
            one.send(topic, b"a", version=TV1)
            late = one.records(topic, b"late")
            one.end(committed, version=4)
            got = self.client.produce(topic, late, version=TV1, transactionalId=one.id)
            self.assertEqual(got.errorCode, ABORTABLE)
            self.assertEqual(self.stable(topic), 2, "nothing hangs")

    def test_a_zombie_is_refused_after_the_fence(self):
        topic, one = self.new_topic(), self.producer()
        one.send(topic, b"a")
        zombie = one.records(topic, b"zombie")
        one.begin()
        self.assertEqual(self.client.produce(topic, zombie, version=TV2, transactionalId=one.id).errorCode, BAD_EPOCH)
        self.assertEqual(self.values(topic), [])
        self.assertEqual(one.send(topic, b"b").errorCode, codes.NONE)

    def test_batches_in_one_write_stay_in_order_while_the_first_one_is_verified(self):
        topic, one = self.new_topic(), self.producer()
        for turn in range(3):
            connection = self.client.connection
            connection.send_bytes(b"".join(connection.frame(
                "Produce", TV2, acks=-1, timeoutMs=10000, transactionalId=one.id, topicData=[{
                    "name": topic, "partitionData": [{"index": 0, "records": one.records(topic, b"%d" % n)}]}])
                for n in range(5)))
            got = [connection.receive().responses[0].partitionResponses[0] for _ in range(5)]
            self.assertEqual([(p.errorCode, p.baseOffset) for p in got], [(0, 6 * turn + n) for n in range(5)])
            one.end()

    def test_acks_0_and_1_wait_for_the_coordinator_too(self):
        topic, one = self.new_topic(), self.producer()
        self.client.connection.send_without_answer(
            "Produce", TV2, acks=0, timeoutMs=10000, transactionalId=one.id, topicData=[{
                "name": topic, "partitionData": [{"index": 0, "records": one.records(topic, b"0")}]}])
        self.assertEqual(one.send(topic, b"1", acks=1).baseOffset, 1)
        one.end()
        self.assertEqual(self.values(topic), [b"0", b"1"])

    def test_acks_0_that_is_refused_closes_the_connection(self):
        topic, one = self.new_topic(), self.producer()
        client = self.new_client()
        client.connection.send_without_answer(
            "Produce", TV1, acks=0, timeoutMs=10000, transactionalId=one.id, topicData=[{
                "name": topic, "partitionData": [{"index": 0, "records": one.records(topic, b"a")}]}])
        self.assertTrue(client.connection.is_closed())

    def test_topics_by_id(self):
        name, topic_id = self.new_topic_with_id()
        one = self.producer()
        got = self.client.produce(name, one.records(name, b"a"), version=13, topic_id=topic_id, transactionalId=one.id)
        self.assertEqual(got.errorCode, codes.NONE)
        self.assertEqual(one.partitions(), {(name, 0)})


class Markers(TransactionTest):
    def test_a_marker_of_version_2_has_a_newer_epoch_than_its_transaction(self):
        topic, one = self.new_topic(), self.producer()
        one.send(topic, b"a")
        self.assertEqual(self.marker(topic, one.producer_id, one.epoch), BAD_EPOCH)
        self.assertEqual(self.marker(topic, one.producer_id, one.epoch + 1), codes.NONE)
        self.assertEqual(self.marker(topic, one.producer_id, one.epoch + 1), codes.NONE, "a repeat")
        self.assertEqual(self.marker(topic, one.producer_id, one.epoch), BAD_EPOCH)
        self.assertEqual(self.stable(topic), 3)

    def test_markers_of_version_1_have_the_same_epoch(self):
        for api_version, version in ((1, None), (2, 0), (2, 1)):
            topic, one = self.new_topic(), self.producer()
            one.add(topic)
            one.send(topic, b"a", version=TV1)
            got = self.marker(topic, one.producer_id, one.epoch, False, version=version, api_version=api_version)
            self.assertEqual(got, codes.NONE)
            self.assertEqual(self.active(topic), [(one.producer_id, one.epoch, 0, 0, -1)])

    def test_an_older_coordinator_is_fenced(self):
        topic, one = self.new_topic(), self.producer()
        self.assertEqual(self.marker(topic, one.producer_id, 1, coordinator_epoch=5), codes.NONE)
        self.assertEqual(self.marker(topic, one.producer_id, 2, coordinator_epoch=4), COORDINATOR_FENCED)
        self.assertEqual(self.marker(topic, one.producer_id, 2, coordinator_epoch=5), codes.NONE)
        self.assertEqual(self.active(topic), [(one.producer_id, 2, -1, 5, -1)])

    def test_a_marker_ends_only_its_producers_transaction(self):
        topic, one, other = self.new_topic(), self.producer(), self.producer()
        one.send(topic, b"a")
        other.send(topic, b"b")
        self.marker(topic, one.producer_id, one.epoch + 1)
        self.assertEqual(self.stable(topic), 1)
        self.assertEqual([p[4] for p in self.active(topic)], [-1, 1])


class Reading(TransactionTest):
    def test_the_stable_offset_is_where_the_oldest_open_transaction_begins(self):
        topic, one, other = self.new_topic(), self.producer(), self.producer()
        self.client.append(topic, b"plain")
        one.send(topic, b"a1")          # 1
        other.send(topic, b"b1")        # 2
        self.client.append(topic, b"x")  # 3
        self.assertEqual((self.stable(topic), self.client.end_offset(topic)), (1, 4))
        got = self.client.fetch(topic, isolationLevel=COMMITTED)
        self.assertEqual((got.lastStableOffset, got.highWatermark, got.abortedTransactions), (1, 4, []))
        self.assertEqual(split(got.records)[-1].next_offset, 1)
        got = self.client.fetch(topic)
        self.assertEqual((got.lastStableOffset, split(got.records)[-1].next_offset), (1, 4))
        one.end()                       # 4
        self.assertEqual(self.stable(topic), 2)
        self.assertEqual(self.values(topic), [b"plain", b"a1"])
        other.end(False)                # 5
        self.assertEqual(self.stable(topic), 6)
        self.assertEqual(self.values(topic), [b"plain", b"a1", b"x"])
        self.assertEqual(self.values(topic, isolation=0), [b"plain", b"a1", b"b1", b"x"])

    def test_only_aborts_that_touch_what_is_fetched_are_listed(self):
        topic, one = self.new_topic(), self.producer()
        for n in range(6):              # data at 2n, marker at 2n + 1
            one.send(topic, b"%d" % n)
            one.end(n % 2 == 1)
        listed = {offset: [a.firstOffset for a in self.client.fetch(
            topic, offset, isolationLevel=COMMITTED).abortedTransactions] for offset in (0, 1, 2, 5, 6, 9, 10, 12)}
        self.assertEqual(listed, {0: [0, 4, 8], 1: [0, 4, 8], 2: [4, 8], 5: [4, 8], 6: [8], 9: [8], 10: [], 12: []})
        self.assertEqual(self.values(topic), [b"1", b"3", b"5"])

    def test_a_transaction_over_many_batches_is_listed_for_each_part_of_it(self):
        topic, one = self.new_topic(), self.producer()
        for n in range(4):
            one.send(topic, b"x" * 100)
        one.end(False)
        for offset in range(5):
            got = self.client.fetch_all([fetched(topic, offset, max_bytes=1)], isolationLevel=COMMITTED)
            part = got.responses[0].partitions[0]
            self.assertEqual([(a.producerId, a.firstOffset) for a in part.abortedTransactions],
                             [(one.producer_id, 0)], offset)

    def wait_for(self, topic, offset, min_bytes=1, isolation=COMMITTED):
        """A long poll in the background; gives (seconds, answer) in the end."""
        outcome, client = [], self.new_client()
        started = threading.Event()

        def poll():
            begun = time.monotonic()
            started.set()
            got = client.fetch(topic, offset, max_wait_ms=20000, min_bytes=min_bytes, isolationLevel=isolation)
            outcome.append((time.monotonic() - begun, got))

        thread = threading.Thread(target=poll)
        thread.start()
        started.wait()

        def result():
            thread.join()
            return outcome[0]

        return result

    def test_a_waiting_reader_is_woken_by_the_marker(self):
        for min_bytes in (1, 3000):
            with self.subTest(min_bytes):
                topic, one = self.new_topic(), self.producer()
                one.send(topic, b"x" * 1000)
                waiting = self.wait_for(topic, 0, min_bytes)
                for _ in range(4):
                    one.send(topic, b"x" * 1000)
                one.end()
                seconds, got = waiting()
                self.assertLess(seconds, 15)
                self.assertEqual(split(got.records)[-1].next_offset, 6)

    def test_offsets_by_time_end_at_the_stable_offset(self):
        topic, one = self.new_topic(), self.producer()
        self.client.append(topic, b"plain", timestamps=(1000,))
        one.send(topic, b"a", timestamps=(2000,))
        ask = self.client.list_offset
        self.assertEqual([ask(topic, at).offset for at in (500, 1500, -1, -3)], [0, 1, 2, 1])
        self.assertEqual([ask(topic, at, isolation=COMMITTED).offset for at in (500, 1500, -1, -2, -3)],
                         [0, -1, 1, 0, -1])
        one.end()
        self.assertEqual([ask(topic, at, isolation=COMMITTED).offset for at in (500, 1500, -1)], [0, 1, 3])

    def test_producers_are_described_with_their_transaction(self):
        topic, one = self.new_topic(), self.producer()
        self.client.append(topic, b"plain")
        one.send(topic, b"a")
        one.send(topic, b"b")
        self.assertEqual(self.active(topic), [(one.producer_id, 0, 1, -1, 1)])
        one.end()
        ((producer, epoch, sequence, coordinator, start),) = self.active(topic)
        self.assertEqual((producer, epoch, sequence, start), (one.producer_id, 1, -1, -1))
        self.assertGreaterEqual(coordinator, 0)

    def test_records_of_an_open_transaction_can_be_deleted(self):
        topic, one = self.new_topic(), self.producer()
        one.send(topic, b"a")
        self.client.append(topic, b"plain")
        one.send(topic, b"b")
        self.assertEqual(self.client.delete_records(topic, 2).lowWatermark, 2)
        self.assertEqual((self.stable(topic), self.client.start_offset(topic)), (2, 2))
        self.assertEqual(self.values(topic, 2), [])
        one.end()
        self.assertEqual((self.stable(topic), self.values(topic, 2)), (4, [b"b"]))


class Restarting(Verbs, OwnBroker):
    PROPERTIES = {"offsets.topic.num.partitions": "1", "transaction.state.log.num.partitions": "1"}

    def new_name(self, hint=""):
        return hint + str(time.monotonic_ns())

    def test_open_transactions_go_on_after_a_restart_of_either_kind(self):
        topic = "transactions"
        self.client.create_usable(topic)
        one, other = self.producer(), self.producer()
        other.send(topic, b"aborted")  # 0
        other.end(False)               # 1
        one.send(topic, b"0")          # 2
        for turn, orderly in enumerate((False, True)):
            self.client.append(topic, b"plain")
            self.restart(orderly)
            one.client = self.client
            self.assertEqual(self.values(topic), [])
            self.assertEqual((self.stable(topic), self.client.end_offset(topic)), (2, 4 + 2 * turn))
            ((*_, start), _) = sorted(self.active(topic), key=lambda p: -p[4])
            self.assertEqual(start, 2)
            late = batch(b"late", producer_id=other.producer_id, producer_epoch=other.epoch - 1, sequence=1,
                         attributes=TRANSACTIONAL)
            got = self.client.produce(topic, late, version=TV2, transactionalId=other.id)
            self.assertEqual(got.errorCode, BAD_EPOCH)
            self.assertEqual(one.send(topic, b"%d" % (turn + 1)).errorCode, codes.NONE)
        one.end()
        self.assertEqual(self.values(topic), [b"0", b"plain", b"1", b"plain", b"2"])


if __name__ == "__main__":
    import unittest
    unittest.main()
