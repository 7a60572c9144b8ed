"""TxnOffsetCommit, and the offsets of groups while a transaction is open."""

import struct

import apis
import codes
from base import eventually
from groups import ClassicMember, ConsumerMember
from records import TRANSACTIONAL, records_of
from transactions import OFFSETS, ONGOING, TransactionTest

FAR = 100_000
SOME_ID = bytes(range(16))


class OffsetTest(TransactionTest):
    def new_group(self):
        return self.new_name("group")

    def ready(self, version):
        """A producer that may commit offsets in this version, and its group."""
        one, group = self.producer(1 if version < 5 else 2), self.new_group()
        if version < 5:
            self.assertEqual(one.add_offsets(group), codes.NONE)
        return one, group

    def finish(self, one, committed=True):
        self.completed(one, committed)


class Commit(OffsetTest):
    def test_every_version(self):
        topic, topic_id = self.new_topic_with_id(3)
        for version in apis.versions("TxnOffsetCommit"):
            for committed in (True, False):
                with self.subTest(version=version, committed=committed):
                    one, group = self.ready(version)
                    name = topic_id if version >= 6 else topic
                    self.assertEqual(one.commit_offsets(group, {name: {2: 7, 0: 5}}, version), {(name, 2): 0, (name, 0): 0})
                    self.assertEqual(self.fetch_offsets(group, topic, 0, 1, 2), {0: (-1, 0), 1: (-1, 0), 2: (-1, 0)})
                    unstable = (-1, codes.UNSTABLE_OFFSET_COMMIT)
                    self.assertEqual(self.fetch_offsets(group, topic, 0, 1, 2, stable=True),
                                     {0: unstable, 1: (-1, 0), 2: unstable})
                    self.finish(one, committed)
                    after = {0: (5, 0), 1: (-1, 0), 2: (7, 0)} if committed else {0: (-1, 0), 1: (-1, 0), 2: (-1, 0)}
                    self.assertEqual(self.fetch_offsets(group, topic, 0, 1, 2, stable=True), after)

    def test_not_in_the_transaction(self):
        topic = self.new_topic()
        for version in apis.versions("TxnOffsetCommit"):
            one, group = self.producer(1), self.new_group()
            name = topic if version < 6 else self.client.metadata(topic).topics[0].topicId
            error = codes.INVALID_TXN_STATE if version < 4 else codes.TRANSACTION_ABORTABLE if version < 5 else codes.NONE
            self.assertEqual(one.commit_offsets(group, {name: {0: 5}}, version), {(name, 0): error})
            if error:
                self.assertEqual(one.state(), "Empty")
            else:
                self.assert_written(one.name, (ONGOING, one.id, 0, {OFFSETS: [0]}, {"clientTransactionVersion": 2}))

    def test_what_does_not_exist(self):
        topic, topic_id = self.new_topic_with_id()
        for version in apis.versions("TxnOffsetCommit"):
            one, group = self.ready(version)
            if version < 6:
                asked, expected = {topic: {0: 1, 9: 1}, "nope": {0: 1}}, {(topic, 9): 3, (topic, 0): 0, ("nope", 0): 3}
            else:
                asked = {topic_id: {0: 1, 9: 1}, SOME_ID: {0: 1}}
                expected = {(topic_id, 9): 3, (topic_id, 0): 0, (SOME_ID, 0): codes.UNKNOWN_TOPIC_ID}
            self.assertEqual(one.commit_offsets(group, asked, version), expected)
            self.assertEqual(one.commit_offsets(group, {}, version), {})

    def test_wrong_producers(self):
        topic = self.new_topic()
        for version in range(6):
            one, group = self.ready(version)
            for fields, error in (({"name": ""}, codes.INVALID_REQUEST), ({"name": "nobody"}, 49),
                                  ({"identity": (one.id + FAR, 0)}, 49), ({"identity": (one.id, 1)}, 47),
                                  ({"identity": (one.id, -1)}, 47)):
                with self.subTest(version=version, **fields):
                    self.assertEqual(one.commit_offsets(group, {topic: {0: 5}}, version, **fields), {(topic, 0): error})
            self.assertEqual(one.commit_offsets("", {topic: {0: 5}}, version), {(topic, 0): codes.INVALID_GROUP_ID})
            # Once the transaction is open in the partition of the group's offsets, nobody asks its coordinator.
            self.assertEqual(one.commit_offsets(group, {topic: {0: 5}}, version), {(topic, 0): 0})
            self.assertEqual(one.commit_offsets(group, {topic: {0: 6}}, version, name="nobody"), {(topic, 0): 0})
            for identity, error in (((one.id + FAR, 0), 49), ((one.id, 1), 47), ((one.id, -1), 47)):
                self.assertEqual(one.commit_offsets(group, {topic: {0: 5}}, version, identity=identity), {(topic, 0): error})
            self.finish(one)
            self.assertEqual(self.fetch_offsets(group, topic, 0), {0: (6, 0)})

    def test_epochs_after_a_transaction(self):
        one, group, topic = self.producer(), self.new_group(), self.new_topic()
        one.commit_offsets(group, {topic: {0: 5}})
        old = one.identity
        self.finish(one)
        self.assertEqual(one.commit_offsets(group, {topic: {0: 6}}, identity=old), {(topic, 0): 47})
        self.assertEqual(one.commit_offsets(group, {topic: {0: 7}}), {(topic, 0): 0})
        self.assertEqual(self.fetch_offsets(group, topic, 0), {0: (5, 0)})
        self.assertEqual(self.fetch_offsets(group, topic, 0, stable=True), {0: (-1, codes.UNSTABLE_OFFSET_COMMIT)})
        self.finish(one, False)
        self.assertEqual(self.fetch_offsets(group, topic, 0, stable=True), {0: (5, 0)})

    def test_the_last_of_a_transaction_counts(self):
        one, group, topic = self.producer(), self.new_group(), self.new_topic(2)
        for offset in (5, 9, 7):
            one.commit_offsets(group, {topic: {0: offset}})
        one.commit_offsets(group, {topic: {1: 3}})
        self.finish(one)
        self.assertEqual(self.fetch_offsets(group, topic, 0, 1), {0: (7, 0), 1: (3, 0)})

    def test_a_commit_outside_meanwhile(self):
        one, group, topic = self.producer(), self.new_group(), self.new_topic()
        one.commit_offsets(group, {topic: {0: 5}})
        got = self.client.call("OffsetCommit", 8, groupId=group, generationIdOrMemberEpoch=-1, memberId="", topics=[
            {"name": topic, "partitions": [{"partitionIndex": 0, "committedOffset": 50, "committedMetadata": ""}]}])
        self.assertEqual(got.topics[0].partitions[0].errorCode, codes.NONE)
        self.assertEqual(self.fetch_offsets(group, topic, 0), {0: (50, 0)})
        self.finish(one)
        # The one that was written later stays.
        self.assertEqual(self.fetch_offsets(group, topic, 0), {0: (50, 0)})

    def test_two_producers_in_one_group(self):
        one, two, group, topic = self.producer(), self.producer(), self.new_group(), self.new_topic()
        one.commit_offsets(group, {topic: {0: 5}})
        two.commit_offsets(group, {topic: {0: 6}})
        self.finish(one)
        self.assertEqual(self.fetch_offsets(group, topic, 0), {0: (5, 0)})
        self.assertEqual(self.fetch_offsets(group, topic, 0, stable=True), {0: (-1, codes.UNSTABLE_OFFSET_COMMIT)})
        self.finish(two)
        self.assertEqual(self.fetch_offsets(group, topic, 0, stable=True), {0: (6, 0)})

    def test_what_is_written(self):
        one, group, topic = self.producer(), self.new_group(), self.new_topic()
        one.commit_offsets(group, {topic: {0: 5}})
        one.commit_offsets(group, {topic: {0: 6}})
        self.finish(one)
        key = b"\0\1" + b"".join(struct.pack(">h", len(text)) + text for text in (group.encode(), topic.encode())) + bytes(4)
        batches = [each for each in self.client.read(OFFSETS) if each.producer_id == one.id]
        self.assertEqual([(each.attributes, each.producer_epoch, each.sequence, each.count) for each in batches],
                         [(TRANSACTIONAL, 0, 0, 1), (TRANSACTIONAL, 0, 0, 1), (TRANSACTIONAL | 0x20, 1, -1, 1)])
        written = records_of(batches[:2])
        self.assertEqual([each[2] for each in written], [key, key])
        self.assertEqual([struct.unpack_from(">hq", each[3]) for each in written], [(4, 5), (4, 6)])


class Members(OffsetTest):
    """A transaction's offsets are of the generation that read the records (KIP-447)."""

    def commit(self, one, group, topic, version=None, **fields):
        return one.commit_offsets(group, {topic: {0: 5}}, version, **fields)[topic, 0]

    def test_without_a_group(self):
        topic = self.new_topic()
        for version in (3, 4, 5):
            one, group = self.ready(version)
            self.assertEqual(self.commit(one, group, topic, version, generation=0, member="m"), codes.ILLEGAL_GENERATION)
            for fields, error in (({}, 0), ({"generation": 1}, 25), ({"generation": 1, "member": "m"}, 25), ({"member": "m"}, 0),
                                  ({"instance": "i"}, 0)):
                with self.subTest(version=version, **fields):
                    self.assertEqual(self.commit(one, group, topic, version, **fields), error)
        one, group = self.ready(6)
        topic_id = self.client.metadata(topic).topics[0].topicId
        self.assertEqual(self.commit(one, group, topic_id, 6, generation=0, member="m"), codes.GROUP_ID_NOT_FOUND)

    def test_of_a_classic_group(self):
        topic = self.new_topic()
        for version in (3, 4, 5):
            one, group = self.ready(version)
            member = ClassicMember(self.address, group)
            self.addCleanup(member.close)
            self.assertEqual(member.join().errorCode, codes.NONE)
            self.assertEqual(member.sync({member.id: b""}).errorCode, codes.NONE)
            now = {"generation": member.generation, "member": member.id}
            for fields, error in ((now, 0), (now | {"generation": member.generation + 1}, codes.ILLEGAL_GENERATION),
                                  (now | {"generation": member.generation - 1}, codes.ILLEGAL_GENERATION),
                                  (now | {"member": "m"}, codes.UNKNOWN_MEMBER_ID), (now | {"member": ""}, codes.UNKNOWN_MEMBER_ID),
                                  (now | {"instance": "i"}, codes.UNKNOWN_MEMBER_ID), ({}, 0),
                                  ({"member": member.id}, codes.ILLEGAL_GENERATION)):
                with self.subTest(version=version, **fields):
                    self.assertEqual(self.commit(one, group, topic, version, **fields), error)
            self.finish(one)
            self.assertEqual(self.fetch_offsets(group, topic, 0), {0: (5, 0)})

    def test_of_a_consumer_group(self):
        topic = self.new_topic()
        topic_id = self.client.metadata(topic).topics[0].topicId
        for version in (3, 4, 5, 6):
            name = topic if version < 6 else topic_id
            one, group = self.ready(version)
            member = ConsumerMember(self.address, group, "m-1", [topic])
            self.addCleanup(member.close)
            self.assertEqual(member.join().errorCode, codes.NONE)
            stale = codes.ILLEGAL_GENERATION if version < 6 else codes.STALE_MEMBER_EPOCH
            for fields, error in (({"generation": member.epoch, "member": "m-1"}, 0),
                                  ({"generation": member.epoch + 1, "member": "m-1"}, stale),
                                  ({"generation": member.epoch - 1, "member": "m-1"}, stale),
                                  ({"generation": member.epoch, "member": "m-2"}, codes.UNKNOWN_MEMBER_ID), ({}, 0)):
                with self.subTest(version=version, **fields):
                    self.assertEqual(self.commit(one, group, name, version, **fields), error)


class Deletion(OffsetTest):
    def test_a_group_with_offsets_to_come(self):
        one, group, topic = self.producer(), self.new_group(), self.new_topic()
        one.commit_offsets(group, {topic: {0: 5}})
        listed = [each.groupId for each in self.client.call("ListGroups", 5).groups]
        deleted = self.client.call("DeleteGroups", 2, groupsNames=[group]).results[0].errorCode
        self.finish(one)
        left = self.fetch_offsets(group, topic, 0)
        self.assertEqual((group in listed, deleted, left), (True, codes.NONE, {0: (-1, 0)}))

    def test_offsets_to_come_of_a_partition(self):
        one, group, topic = self.producer(), self.new_group(), self.new_topic()
        one.commit_offsets(group, {topic: {0: 5}})
        got = self.client.call("OffsetDelete", 0, groupId=group, topics=[{"name": topic, "partitions": [{"partitionIndex": 0}]}])
        self.assertEqual((got.errorCode, got.topics[0].partitions[0].errorCode), (codes.NONE, codes.NONE))
        self.finish(one)
        self.assertEqual(self.fetch_offsets(group, topic, 0), {0: (-1, 0)})

    def test_a_topic_that_is_deleted_and_made_anew(self):
        for committed in (True, False):
            gone, kept, group = self.new_topic(), self.new_topic(), self.new_name("group")
            one = self.producer()
            self.assertEqual(one.commit_offsets(group, {gone: {0: 5}, kept: {0: 7}}),
                             {(gone, 0): codes.NONE, (kept, 0): codes.NONE})
            self.client.delete(gone)
            self.assertTrue(eventually(lambda gone=gone, group=group: self.fetch_offsets(
                group, gone, 0, stable=True) == {0: (-1, codes.NONE)}))
            self.assertEqual(self.fetch_offsets(group, kept, 0, stable=True), {0: (-1, codes.UNSTABLE_OFFSET_COMMIT)})
            self.client.create_usable(gone)
            self.completed(one, committed)
            self.assertEqual(self.fetch_offsets(group, gone, 0, stable=True), {0: (-1, codes.NONE)})
            self.assertEqual(self.fetch_offsets(group, kept, 0, stable=True), {0: (7 if committed else -1, codes.NONE)})
