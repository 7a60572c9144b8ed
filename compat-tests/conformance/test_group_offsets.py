"""OffsetCommit, OffsetFetch, OffsetDelete, and what becomes of committed offsets."""

import os
import struct
import time
import unittest

import apis
import codes
from base import eventually
from groups import GroupTest, OwnBrokerTest, subscription
from records import records_of

NO_ID = bytes(16)
SOME_ID = bytes(range(16))
NOTHING = (-1, -1, "", codes.NONE)


def asked(topic, *partitions, version=9):
    """A topic of a commit; partitions as (index, offset), (index, offset, epoch) or (index, offset, epoch, metadata)."""
    out = []
    for index, offset, *more in partitions:
        epoch, metadata = (*more, *(-1, "")[len(more):])
        out.append({"partitionIndex": index, "committedOffset": offset, "committedMetadata": metadata})
        if version >= 6:
            out[-1]["committedLeaderEpoch"] = epoch
    return {"topicId" if version >= 10 else "name": topic, "partitions": out}


class OffsetTest(GroupTest):
    def commit(self, group, *topics, version=9, generation=-1, member="", instance=None, retention=-1):
        """[(topic, [(partition, error), …]), …] in the order of the answer."""
        fields = {"groupId": group, "generationIdOrMemberEpoch": generation, "memberId": member, "topics": topics}
        if version >= 7:
            fields["groupInstanceId"] = instance
        if version <= 4:
            fields["retentionTimeMs"] = retention
        return self.errors(self.client.call("OffsetCommit", version, **fields))

    def commit_one(self, group, topic, offset, partition=0, **fields):
        """The error code."""
        return self.commit(group, asked(topic, (partition, offset), version=fields.get("version", 9)),
                           **fields)[0][1][0][1]

    @staticmethod
    def errors(answer):
        return [(topic.get("topicId") or topic.name, [(one.partitionIndex, one.errorCode) for one in topic.partitions])
                for topic in answer.topics]

    def fetch(self, group, wanted=None, version=9, **fields):
        """The group's part of the answer. `wanted`: partitions by topic; all if not given."""
        key = "topicId" if version >= 10 else "name"
        topics = wanted and [{key: topic, "partitionIndexes": list(partitions)} for topic, partitions in wanted.items()]
        if version < 8:
            return self.client.call("OffsetFetch", version, groupId=group, topics=topics, **fields)
        of_group = {name: fields.pop(name) for name in ("memberId", "memberEpoch") if name in fields}
        got = self.client.call("OffsetFetch", version, groups=[{"groupId": group, "topics": topics, **of_group}],
                               **{"requireStable": False, **fields})
        self.assertEqual([one.groupId for one in got.groups], [group])
        return got.groups[0]

    @staticmethod
    def told(answer):
        """{topic: {partition: (offset, epoch, metadata, error)}}"""
        return {topic.get("topicId") or topic.name: {
            one.partitionIndex: (one.committedOffset, one.get("committedLeaderEpoch"), one.metadata, one.errorCode)
            for one in topic.partitions} for topic in answer.topics}

    def offsets(self, group, **fields):
        """{(topic, partition): offset} of all."""
        got = self.fetch(group, **fields)
        self.assertEqual(got.errorCode, codes.NONE)
        return {(topic, index): one[0] for topic, partitions in self.told(got).items()
                for index, one in partitions.items()}


class Commit(OffsetTest):
    def test_every_version(self):
        topic, topic_id = self.new_topic_with_id(3)
        for version in apis.versions("OffsetCommit"):
            with self.subTest(version=version):
                group = self.new_group()
                name = topic_id if version >= 10 else topic
                got = self.commit(group, asked(name, (2, 100 + version, 5, "note"), (0, 7), version=version),
                                  version=version)
                self.assertEqual(got, [(name, [(2, codes.NONE), (0, codes.NONE)])])
                epoch = 5 if version >= 6 else -1
                self.assertEqual(self.told(self.fetch(group)), {
                    topic: {0: (7, -1, "", codes.NONE), 2: (100 + version, epoch, "note", codes.NONE)}})

    def test_the_order_of_the_answer(self):
        topics = [self.new_topic() for _ in range(3)]
        topics = [topics[2], topics[0], topics[1]]
        for version in (7, 9):
            got = self.commit(self.new_group(), *(asked(topic, (0, 1)) for topic in topics), version=version)
            self.assertEqual(got, [(topic, [(0, codes.NONE)]) for topic in topics])

    def test_what_does_not_exist_comes_first(self):
        one, two = self.new_topic(2), self.new_topic(2)
        got = self.commit(self.new_group(), asked(one, (0, 1)), asked("nope", (3, 1), (0, 1)),
                          asked(two, (0, 1), (7, 1), (-1, 1), (1, 1)), asked(one, (1, 1)))
        self.assertEqual(got, [("nope", [(3, 3), (0, 3)]), (two, [(7, 3), (-1, 3), (0, 0), (1, 0)]),
                               (one, [(0, 0), (1, 0)])])

    def test_a_topic_twice_without_any_failure(self):
        topic = self.new_topic(2)
        group = self.new_group()
        got = self.commit(group, asked(topic, (0, 1), (0, 2)), asked(topic, (1, 4)), asked(topic, (0, 3)))
        self.assertEqual(got, [(topic, [(0, 0), (0, 0)]), (topic, [(1, 0)]), (topic, [(0, 0)])])
        self.assertEqual(self.offsets(group), {(topic, 0): 3, (topic, 1): 4})

    def test_nothing_asked_makes_no_group(self):
        topic, group = self.new_topic(), self.new_group()
        self.assertEqual(self.commit(group), [])
        self.assertEqual(self.commit(group, asked(topic)), [])
        self.assertEqual(self.commit(group, asked("nope", (0, 1))), [("nope", [(0, 3)])])
        self.assertEqual(self.commit(group, asked("nope")), [("nope", [])])
        self.assertEqual(self.listed(), {})

    def test_topic_ids(self):
        topic, topic_id = self.new_topic_with_id(2)
        group = self.new_group()
        got = self.commit(group, asked(topic_id, (0, 1), (9, 1), version=10), asked(SOME_ID, (0, 1), (1, 1), version=10),
                          asked(NO_ID, (0, 1), version=10), asked(SOME_ID, (3, 1), version=10), version=10)
        self.assertEqual(got, [(topic_id, [(9, 3), (0, 0)]), (SOME_ID, [(0, 100), (1, 100), (3, 100)]),
                               (NO_ID, [(0, 100)])])
        self.assertEqual(self.offsets(group), {(topic, 0): 1})
        self.assertEqual(self.offsets(group, version=10), {(topic_id, 0): 1})

    def test_back_and_below_zero(self):
        topic, group = self.new_topic(), self.new_group()
        for offset in (10, 3, 0, -1, -5, 2**63 - 1):
            self.assertEqual(self.commit_one(group, topic, offset), codes.NONE)
            self.assertEqual(self.offsets(group), {(topic, 0): offset})

    def test_metadata(self):
        topic, group = self.new_topic(2), self.new_group()
        for text, error in (("x" * 4096, 0), ("x" * 4097, 12), ("é" * 4096, 0), ("\U0001f600" * 2048, 0),
                            ("\U0001f600" * 2049, 12), (None, 0), ("", 0)):
            got = self.commit(group, asked(topic, (0, 1, -1, text), (1, 1)))
            self.assertEqual(got, [(topic, [(0, error), (1, 0)])])
            if not error:
                self.assertEqual(self.told(self.fetch(group))[topic][0][2], text or "")

    def test_without_membership(self):
        topic = self.new_topic()
        for fields in ({}, {"member": "m"}, {"generation": -2}, {"instance": "i"}):
            with self.subTest(**fields):
                group = self.new_group()
                self.assertEqual(self.commit_one(group, topic, 5, **fields), codes.NONE)
                self.assertEqual(self.commit_one(group, topic, 6, **fields), codes.NONE)
                self.assertEqual(self.listed()[group], ("Empty", "classic"))
                self.assertEqual(self.describe(group).protocolType, "")

    def test_generations_that_nobody_began(self):
        topic = self.new_topic()
        for version, error in ((2, 22), (8, 22), (9, 69)):
            got = self.commit_one(self.new_group(), topic, 5, version=version, generation=0, member="m")
            self.assertEqual(got, error)
        group = self.new_group()
        self.commit_one(group, topic, 5)
        for fields in ({"member": ""}, {"member": "m"}, {"member": "", "instance": "i"}):
            self.assertEqual(self.commit_one(group, topic, 6, generation=0, **fields), 25)
        self.assertEqual(self.offsets(group), {(topic, 0): 5})

    def test_a_groups_error_beside_what_does_not_exist(self):
        one, two = self.new_topic(), self.new_topic()
        got = self.commit(self.new_group(), asked(one, (0, 1)), asked("nope", (0, 1)), asked(two, (9, 1), (0, 1)),
                          generation=3, member="m")
        self.assertEqual(got, [("nope", [(0, 3)]), (two, [(9, 3), (0, 69)]), (one, [(0, 69)])])

    def test_members_of_a_classic_group(self):
        topic, group = self.new_topic(), self.new_group()
        leader, follower = self.settle(group)
        of_leader = {"generation": leader.generation, "member": leader.id}
        for version in range(2, 10):
            self.assertEqual(self.commit_one(group, topic, version, version=version, **of_leader), codes.NONE)
        for fields, error in (({"generation": leader.generation + 1}, 22), ({"generation": -1}, 22),
                              ({"member": "who"}, 25), ({"member": ""}, 25), ({"instance": "i"}, 25)):
            self.assertEqual(self.commit_one(group, topic, 77, **of_leader | fields), error, fields)
        self.assertEqual(self.commit_one(group, topic, 77), 25)
        self.assertEqual(self.offsets(group), {(topic, 0): 9})
        # While members are joining the generation before may still commit; while the assignment is awaited not.
        follower.send_join(protocols=[{"name": "range", "metadata": b"other"}])
        self.await_state(group, "PreparingRebalance")
        self.assertEqual(self.commit_one(group, topic, 20, **of_leader), codes.NONE)
        leader.send_join()
        self.receive_joins(leader, follower)
        self.assertEqual(self.commit_one(group, topic, 21, **of_leader), 22)
        self.assertEqual(self.commit_one(group, topic, 21, generation=leader.generation, member=leader.id), 27)
        self.assertEqual(self.offsets(group), {(topic, 0): 20})

    def test_static_members(self):
        topic, group = self.new_topic(), self.new_group()
        old = self.member(group, instance="i")
        old.join()
        self.assign(old)
        new = self.member(group, instance="i")
        new.join()
        fields = {"generation": new.generation, "instance": "i"}
        self.assertEqual(self.commit_one(group, topic, 1, member=new.id, **fields), codes.NONE)
        self.assertEqual(self.commit_one(group, topic, 2, member=old.id, **fields), codes.FENCED_INSTANCE_ID)
        self.assertEqual(self.offsets(group), {(topic, 0): 1})

    def test_members_of_a_consumer_group(self):
        topic, group = self.new_topic(), self.new_group()
        member = self.consumer(group, "m-1", [topic])
        self.assertEqual(member.join().errorCode, codes.NONE)
        for version, epoch, who, error in ((9, member.epoch, "m-1", 0), (8, member.epoch, "m-1", 35),
                                           (9, member.epoch + 1, "m-1", 113), (9, member.epoch, "m-2", 25),
                                           (9, -1, "", 25), (9, 0, "m-1", 113)):
            with self.subTest(version=version, epoch=epoch, member=who):
                got = self.commit_one(group, topic, 1, version=version, generation=epoch, member=who)
                self.assertEqual(got, error)
        for epoch, who, error in ((member.epoch, "m-1", 0), (member.epoch + 1, "m-1", 113), (member.epoch - 1, "m-1", 113),
                                  (member.epoch, "m-2", 25), (-1, "", 25), (-1, None, 0)):
            with self.subTest(fetched=epoch, member=who):
                got = self.fetch(group, {topic: [0]}, memberId=who, memberEpoch=epoch)
                self.assertEqual((got.errorCode, len(got.topics)), (error, 0 if error else 1))

    def test_what_is_written(self):
        topic, topic_id = self.new_topic_with_id()
        group = self.new_group()
        before = time.time() * 1000
        self.commit(group, asked(topic, (0, 5, 3, "note")))
        self.commit_one(group, topic, 6, version=3, retention=86_400_000)
        after = time.time() * 1000
        key = b"\0\1" + b"".join(struct.pack(">h", len(text)) + text for text in (group.encode(), topic.encode())) + bytes(4)
        written = [value for _, _, at, value, _ in records_of(self.client.read("__consumer_offsets")) if at == key]
        self.assertEqual([value[:2] for value in written], [b"\0\4", b"\0\1"])
        offset, epoch, metadata, committed, tags, tag, size = struct.unpack(">qi5sqBBB", written[0][2:-16])
        self.assertEqual((offset, epoch, metadata, tags, tag, size), (5, 3, b"\5note", 1, 0, 16))
        self.assertEqual(written[0][-16:], topic_id)
        self.assertTrue(before - 1 <= committed <= after)
        offset, metadata, committed, expires = struct.unpack(">qhqq", written[1][2:])
        self.assertEqual((offset, metadata, expires), (6, 0, committed + 86_400_000))


class Fetch(OffsetTest):
    def test_every_version(self):
        topic, topic_id = self.new_topic_with_id(3)
        group = self.new_group()
        self.commit(group, asked(topic, (2, 12, 4, "m"), (0, 10)))
        for version in apis.versions("OffsetFetch"):
            with self.subTest(version=version):
                name = topic_id if version >= 10 else topic
                none = None if version < 5 else -1
                got = self.fetch(group, {name: [2, 1, 0]}, version)
                self.assertEqual(self.told(got), {name: {
                    2: (12, None if version < 5 else 4, "m", 0), 1: (-1, none, "", 0), 0: (10, none, "", 0)}})
                self.assertEqual([one.partitionIndex for one in got.topics[0].partitions], [2, 1, 0])
                if version >= 2:
                    self.assertEqual(got.errorCode, codes.NONE)
                    self.assertEqual(self.offsets(group, version=version), {(name, 0): 10, (name, 2): 12})

    def test_unknown_groups_topics_and_partitions(self):
        topic, group = self.new_topic(), self.new_group()
        for version in (1, 5, 9):
            unknown = NOTHING if version >= 5 else (-1, None, "", 0)
            self.assertEqual(self.told(self.fetch(group, {topic: [0], "nope": [1]}, version)),
                             {topic: {0: unknown}, "nope": {1: unknown}})
        self.assertEqual(self.fetch(group).topics, [])
        self.commit_one(group, topic, 1)
        self.assertEqual(self.told(self.fetch(group, {topic: [9, -1], "nope": [0]})),
                         {topic: {9: NOTHING, -1: NOTHING}, "nope": {0: NOTHING}})
        self.assertEqual(self.fetch(group, {}).topics, [])

    def test_topic_ids_that_nobody_knows_come_last(self):
        topic, topic_id = self.new_topic_with_id()
        group = self.new_group()
        self.commit_one(group, topic, 3)
        got = self.fetch(group, {NO_ID: [0], SOME_ID: [0, 3], topic_id: [0]}, 10)
        self.assertEqual([one.topicId for one in got.topics], [topic_id, NO_ID, SOME_ID])
        self.assertEqual(got.errorCode, codes.NONE)
        bad = (-1, -1, "", codes.UNKNOWN_TOPIC_ID)
        self.assertEqual(self.told(got), {topic_id: {0: (3, -1, "", 0)}, NO_ID: {0: bad}, SOME_ID: {0: bad, 3: bad}})

    def test_many_groups_in_the_order_of_the_request(self):
        topic = self.new_topic()
        groups = [self.new_group() for _ in range(5)]
        for index, group in enumerate(groups):
            self.commit_one(group, topic, index)
        wanted = [groups[3], "nope", groups[0], groups[4], groups[0], ""]
        for version in (8, 9):
            got = self.client.call("OffsetFetch", version, requireStable=True, groups=[
                {"groupId": group, "topics": [{"name": topic, "partitionIndexes": [0]}]} for group in wanted])
            self.assertEqual([one.groupId for one in got.groups], wanted)
            self.assertEqual([self.told(one)[topic][0][0] for one in got.groups][:5], [3, -1, 0, 4, 0])
        self.assertEqual(self.client.call("OffsetFetch", 9, groups=[], requireStable=False).groups, [])

    def test_an_error_of_one_group_leaves_the_others_alone(self):
        topic, good, bad = self.new_topic(), self.new_group(), self.new_group()
        self.commit_one(good, topic, 5)
        self.consumer(bad, "m", [topic]).join()
        got = self.client.call("OffsetFetch", 9, requireStable=False, groups=[
            {"groupId": bad, "memberId": "m", "memberEpoch": 77, "topics": None},
            {"groupId": good, "memberId": "m", "memberEpoch": 77, "topics": None}])
        self.assertEqual([(one.errorCode, len(one.topics)) for one in got.groups], [(113, 0), (0, 1)])


class Delete(OffsetTest):
    def delete(self, group, *topics):
        """(error, [(topic, [(partition, error), …]), …])"""
        got = self.client.call("OffsetDelete", 0, groupId=group, topics=[
            {"name": name, "partitions": [{"partitionIndex": index} for index in partitions]}
            for name, partitions in topics])
        return got.errorCode, self.errors(got)

    def test_partitions(self):
        one, two, three = (self.new_topic(3) for _ in range(3))
        group = self.new_group()
        self.commit(group, *(asked(topic, (0, 1), (1, 1), (2, 1)) for topic in (one, two, three)))
        self.assertEqual(self.delete(group, (three, [0, 1]), ("nope", [0]), (two, [2, 9, 2]), (two, [0]), (one, [])),
                         (0, [("nope", [(0, 3)]), (two, [(9, 3), (2, 0), (2, 0), (0, 0)]), (three, [(0, 0), (1, 0)])]))
        self.assertEqual(sorted(self.offsets(group)),
                         sorted([(one, 0), (one, 1), (one, 2), (two, 1), (three, 2)]))
        self.assertEqual(self.delete(group, (three, [0]), (three, [0])), (0, [(three, [(0, 0)]), (three, [(0, 0)])]))
        self.assertEqual(self.delete(group), (0, []))

    def test_groups_that_are_not_there(self):
        topic, group = self.new_topic(), self.new_group()
        self.assertEqual(self.delete(group, (topic, [0])), (69, []))
        self.assertEqual(self.delete(group, ("nope", [0])), (69, []))
        self.assertEqual(self.delete("", (topic, [0])), (24, []))

    def test_topics_that_members_are_subscribed_to(self):
        mine, other, group = self.new_topic(), self.new_topic(), self.new_group()
        self.commit(group, asked(mine, (0, 1)), asked(other, (0, 1)))
        member = self.member(group, protocols=(("range", subscription(mine)),))
        member.join()
        self.assign(member)
        self.assertEqual(self.delete(group, (mine, [0]), (other, [0])), (0, [(mine, [(0, 86)]), (other, [(0, 0)])]))
        self.assertEqual(self.offsets(group), {(mine, 0): 1})
        member.leave()
        self.await_state(group, "Empty")
        self.assertEqual(self.delete(group, (mine, [0])), (0, [(mine, [(0, 0)])]))

    def test_members_of_the_consumer_protocol(self):
        mine, other, group = self.new_topic(), self.new_topic(), self.new_group()
        self.commit(group, asked(mine, (0, 1)), asked(other, (0, 1)))
        self.consumer(group, "m", [mine]).join()
        self.assertEqual(self.delete(group, (other, [0]), (mine, [0])), (0, [(other, [(0, 0)]), (mine, [(0, 86)])]))

    def test_members_that_cannot_say(self):
        topic, group = self.new_topic(), self.new_group()
        self.settle(group, protocol_type="connect")
        self.assertEqual(self.delete(group, (topic, [0])), (68, []))

    def test_a_deleted_group_has_no_offsets(self):
        topic, group = self.new_topic(), self.new_group()
        self.commit_one(group, topic, 1)
        got = self.client.call("DeleteGroups", 2, groupsNames=[group, group])
        self.assertEqual([(one.groupId, one.errorCode) for one in got.results], [(group, 0)])
        self.assertEqual(self.offsets(group), {})
        self.assertEqual(self.listed(), {})


class Topics(OffsetTest):
    def test_a_deleted_topic_takes_its_offsets_along(self):
        topic, other, group = self.new_topic(), self.new_topic(), self.new_group()
        self.commit(group, asked(topic, (0, 5)), asked(other, (0, 6)))
        self.client.delete(topic)
        self.assertTrue(eventually(lambda: self.offsets(group) == {(other, 0): 6}), self.offsets(group))
        self.client.create_usable(topic)
        self.assertEqual(self.offsets(group), {(other, 0): 6})
        self.assertEqual(self.commit_one(group, topic, 1), codes.NONE)
        self.assertEqual(self.offsets(group), {(other, 0): 6, (topic, 0): 1})

    def test_the_last_offset_of_a_group_may_go_so(self):
        topic, group = self.new_topic(), self.new_group()
        self.commit_one(group, topic, 5)
        self.client.delete(topic)
        self.assertTrue(eventually(lambda: self.offsets(group) == {}))


class Expiry(OwnBrokerTest, OffsetTest):
    properties = {"offsets.retention.check.interval.ms": "300", "group.initial.rebalance.delay.ms": "0"}

    def test_an_offset_goes_when_the_client_said(self):
        topic, group = self.new_topic(2), self.new_group()
        self.commit_one(group, topic, 1, partition=0, version=2, retention=1000)
        self.commit_one(group, topic, 1, partition=1, version=4, retention=3_600_000)
        self.assertEqual(len(self.offsets(group)), 2)
        self.assertTrue(eventually(lambda: self.offsets(group) == {(topic, 1): 1}))
        self.commit_one(group, topic, 2, partition=1, version=4, retention=1000)
        self.assertTrue(eventually(lambda: group not in self.listed()))
        self.assertEqual(self.offsets(group), {})

    def test_not_while_members_are_subscribed(self):
        mine, other, group = self.new_topic(), self.new_topic(), self.new_group()
        member = self.member(group, protocols=(("range", subscription(mine)),))
        member.join()
        self.assign(member)
        for topic in (mine, other):
            self.assertEqual(self.commit_one(group, topic, 1, version=4, retention=500, generation=member.generation,
                                             member=member.id), codes.NONE)
        self.assertTrue(eventually(lambda: self.offsets(group) == {(mine, 0): 1}))
        member.leave()
        self.assertTrue(eventually(lambda: group not in self.listed()))

    def test_a_group_without_offsets_and_members_is_not_kept(self):
        group = self.new_group()
        member = self.member(group)
        member.join()
        self.assign(member)
        member.leave()
        self.assertTrue(eventually(lambda: group not in self.listed()))


class Retention(OwnBrokerTest, OffsetTest):
    """offsets.retention.minutes has no shorter unit: one case for all."""

    properties = {"offsets.retention.minutes": "1", "offsets.retention.check.interval.ms": "500",
                  "group.initial.rebalance.delay.ms": "0"}

    @unittest.skipUnless(os.environ.get("CI"), "takes a minute: for full sizes")
    def test_a_minute(self):
        mine, other = self.new_topic(), self.new_topic()
        simple, lively, left, committed_late = (self.new_group() for _ in range(4))
        member, gone = (self.member(group, protocols=(("range", subscription(mine)),)) for group in (lively, left))
        began = time.monotonic()
        for group, each in ((lively, member), (left, gone)):
            each.join()
            self.assign(each)
            for topic in (mine, other):
                self.assertEqual(self.commit_one(group, topic, 1, generation=each.generation, member=each.id), 0)
        for group in (simple, committed_late):
            self.commit_one(group, mine, 1)
            self.commit_one(group, other, 1)

        def heartbeats(until):
            self.assertTrue(eventually(lambda: member.heartbeat() or time.monotonic() > began + until, 70, 1.0))

        heartbeats(30)
        gone.leave()
        self.commit_one(committed_late, mine, 2)
        heartbeats(55)
        for group in (simple, lively, left, committed_late):
            self.assertEqual(len(self.offsets(group)), 2)
        heartbeats(66)
        # Without members each offset counts from its commit, else all from the moment when the last member left.
        self.assertEqual(self.offsets(simple), {})
        self.assertNotIn(simple, self.listed())
        self.assertEqual(self.offsets(committed_late), {(mine, 0): 2})
        self.assertEqual(self.offsets(lively), {(mine, 0): 1})
        self.assertEqual(len(self.offsets(left)), 2)
        heartbeats(96)
        self.assertEqual(self.offsets(left), {})
        self.assertEqual(set(self.listed()), {lively})


class Restart(OwnBrokerTest, OffsetTest):
    def test_offsets_and_deletions_survive_a_kill(self):
        topic, gone = self.new_topic(2), self.new_topic()
        kept, deleted, emptied = (self.new_group() for _ in range(3))
        for group in (kept, deleted, emptied):
            self.commit(group, asked(topic, (0, 1), (1, 2, 3, "note")))
        self.commit_one(kept, gone, 9)
        self.commit_one(kept, topic, 7)
        self.client.call("DeleteGroups", 2, groupsNames=[deleted])
        self.client.call("OffsetDelete", 0, groupId=emptied,
                         topics=[{"name": topic, "partitions": [{"partitionIndex": 0}, {"partitionIndex": 1}]}])
        self.client.delete(gone)
        self.assertTrue(eventually(lambda: len(self.offsets(kept)) == 2))
        for stop in ("kill", "stop"):
            with self.subTest(stop):
                getattr(self.broker, stop)()
                self.broker.start()
                self.client = self.new_client()
                self.await_coordinator()
                self.assertEqual(self.told(self.fetch(kept)), {topic: {0: (7, -1, "", 0), 1: (2, 3, "note", 0)}})
                self.assertEqual(self.offsets(emptied), {})
                self.assertEqual(self.offsets(deleted), {})
                self.assertNotIn(deleted, self.listed())


if __name__ == "__main__":
    unittest.main()
