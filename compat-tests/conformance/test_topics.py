"""CreateTopics, CreatePartitions and DeleteTopics: what is made, what is refused, and with which words."""

import unittest

import apis
import codes
from base import ConformanceTest, eventually
from records import batch

NO_ID = bytes(16)


class Creation(ConformanceTest):
    def refused(self, code, message=None, name=None, version=7, **fields):
        """CreateTopics of one topic must fail so; nothing must come of it."""
        name = self.new_name() if name is None else name
        topic = {"name": name, "numPartitions": 1, "replicationFactor": 1, **fields}
        for validate_only in (True, False):
            answer = self.client.call("CreateTopics", version, topics=[topic], timeoutMs=10000,
                                      validateOnly=validate_only)
            (got,) = answer.topics
            self.assertEqual((got.name, got.errorCode), (name, code), got.errorMessage)
            self.assertTrue(got.errorMessage)
            if message is not None:
                self.assertEqual(got.errorMessage, message)
            if version >= 5:
                self.assertEqual((got.numPartitions, got.replicationFactor, got.configs), (-1, -1, []))
            if version >= 7:
                self.assertEqual(got.topicId, NO_ID)

    def test_replication_factors(self):
        for version in apis.versions("CreateTopics"):
            for factor in (3, 2, 32767):
                self.refused(codes.INVALID_REPLICATION_FACTOR, version=version, replicationFactor=factor)
            for factor in (0, -2, -32768):
                self.refused(codes.INVALID_REPLICATION_FACTOR,
                             "Replication factor must be larger than 0, or -1 to use the default value.",
                             version=version, replicationFactor=factor)

    def test_partition_counts(self):
        for version in apis.versions("CreateTopics"):
            for count in (0, -2, -2**31):
                self.refused(codes.INVALID_PARTITIONS,
                             "Number of partitions was set to an invalid non-positive value.",
                             version=version, numPartitions=count)

    def test_one_code_for_every_count_beyond_the_limit(self):
        seen = set()
        for count in (10_001, 100_000, 1_000_000, 2**31 - 1):
            got = self.client.create(self.new_name(), count)
            self.assertTrue(got.errorMessage)
            seen.add(got.errorCode)
        self.assertEqual(len(seen), 1)
        self.assertIn(seen.pop(), (codes.POLICY_VIOLATION, codes.INVALID_PARTITIONS))

    def test_minus_1_means_the_brokers_defaults(self):
        for version in range(4, 8):
            name = self.new_name()
            got = self.client.create(name, -1, version=version, replicationFactor=-1)
            self.assertEqual(got.errorCode, 0)
            self.client.await_usable(name)
            self.assertEqual(len(self.client.metadata(name).topics[0].partitions), 1)

    def test_names(self):
        for name, message in (
                ("", "Topic name is invalid: the empty string is not allowed"),
                (".", "Topic name is invalid: '.' is not allowed"),
                ("..", "Topic name is invalid: '..' is not allowed"),
                ("a b", "Topic name is invalid: 'a b' contains one or more characters other than ASCII "
                        "alphanumerics, '.', '_' and '-'"),
                ("ä", None), ("a/b", None), ("a\0b", None), ("a\n", None), ("a:b", None), ("ａ", None),
                ("x" * 250, f"Topic name is invalid: the length of '{'x' * 250}' is longer than the max allowed "
                            "length 249"),
                ("x" * 30_000, None)):
            with self.subTest(name=name[:20]):
                self.refused(codes.INVALID_TOPIC, message, name)
        for name in ("x" * 249, "-", "_", "...", "A.b-C_9", "0"):
            with self.subTest(name=name[:20]):
                self.assertEqual(self.client.create(name).errorCode, 0)
                self.client.await_usable(name)
                self.assertEqual(self.client.append(name, b"a"), 0)
                self.assertEqual(self.client.delete(name).errorCode, 0)

    def test_names_that_differ_only_in_dots_and_underscores_collide(self):
        name = self.new_topic()
        self.assertIn(".", name)
        other = name.replace(".", "_")
        self.refused(codes.INVALID_TOPIC, f"Topic '{other}' collides with existing topic: {name}", other)

    def test_an_existing_topic_is_told_before_anything_else(self):
        name = self.new_topic()
        for fields in ({}, {"replicationFactor": 9}, {"numPartitions": 0}, {"configs": [{"name": "x", "value": "y"}]}):
            self.refused(codes.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists.", name, **fields)

    def test_the_metadata_log_is_not_a_topic_to_be_made(self):
        self.refused(codes.INVALID_REQUEST, "Creation of internal topic __cluster_metadata is prohibited.",
                     "__cluster_metadata")

    def test_a_name_given_twice_is_one_error_and_the_others_are_made(self):
        twice, once = self.new_name("twice"), self.new_name("once")
        for version in apis.versions("CreateTopics"):
            answer = self.client.call("CreateTopics", version, timeoutMs=10000, validateOnly=True, topics=[
                {"name": name, "numPartitions": 1, "replicationFactor": 1} for name in (twice, once, twice)])
            self.assertEqual(sorted((t.name, t.errorCode, t.errorMessage) for t in answer.topics),
                             sorted([(once, 0, None), (twice, codes.INVALID_REQUEST, "Duplicate topic name.")]))

    def test_validation_alone_makes_nothing(self):
        name = self.new_name()
        for version in apis.versions("CreateTopics"):
            topic = {"name": name, "numPartitions": 3, "replicationFactor": 1}
            (got,) = self.client.call("CreateTopics", version, topics=[topic], timeoutMs=10000,
                                      validateOnly=True).topics
            self.assertEqual((got.errorCode, got.get("numPartitions", 3)), (0, 3))
        self.assertEqual(self.client.metadata(name).topics[0].errorCode, codes.UNKNOWN_TOPIC_OR_PARTITION)

    def test_nothing_asked_is_nothing_answered(self):
        self.assertEqual(self.client.call("CreateTopics", 7, topics=[], timeoutMs=1).topics, [])

    def test_many_topics_in_one_request(self):
        names = [self.new_name(str(number)) for number in range(50)]
        answer = self.client.call("CreateTopics", 7, timeoutMs=30000, topics=[
            {"name": name, "numPartitions": 2, "replicationFactor": 1} for name in names])
        self.assertEqual({t.name: t.errorCode for t in answer.topics}, {name: 0 for name in names})
        self.assertEqual(len({t.topicId for t in answer.topics}), 50)
        for name in names:
            self.client.await_usable(name, 2)


class Assignment(ConformanceTest):
    def create(self, assignment, version=7, **fields):
        topic = {"name": self.new_name(), "numPartitions": -1, "replicationFactor": -1, **fields,
                 "assignments": [{"partitionIndex": index, "brokerIds": ids} for index, ids in assignment]}
        (got,) = self.client.call("CreateTopics", version, topics=[topic], timeoutMs=10000).topics
        return got

    def test_a_manual_assignment_makes_its_partitions(self):
        for version in apis.versions("CreateTopics"):
            for partitions in ([0, 1], [1, 0], [0]):
                got = self.create([(partition, [1]) for partition in partitions], version)
                self.assertEqual((got.errorCode, got.get("numPartitions", len(partitions))), (0, len(partitions)))
                self.client.await_usable(got.name, len(partitions))

    def test_violations(self):
        bad = codes.INVALID_REPLICA_ASSIGNMENT
        for assignment, fields, code, message in (
                ([(0, [1]), (2, [1])], {}, bad, "partitions should be a consecutive 0-based integer sequence"),
                ([(1, [1])], {}, bad, "partitions should be a consecutive 0-based integer sequence"),
                ([(-1, [1])], {}, bad, "partitions should be a consecutive 0-based integer sequence"),
                ([(0, [1]), (0, [1])], {}, bad, "Found multiple manual partition assignments for partition 0"),
                ([(0, [])], {}, bad, "The manual partition assignment includes an empty replica list."),
                ([(0, [1]), (1, [])], {}, bad, "The manual partition assignment includes an empty replica list."),
                ([(0, [1, 1])], {}, bad, "The manual partition assignment includes the broker 1 more than once."),
                ([(0, [7])], {}, bad,
                 "The manual partition assignment includes broker 7, but no such broker is registered."),
                ([(0, [1]), (1, [1, 7])], {}, bad,
                 "The manual partition assignment includes broker 7, but no such broker is registered."),
                ([(0, [1])], {"numPartitions": 1}, codes.INVALID_REQUEST,
                 "A manual partition assignment was specified, but numPartitions was not set to -1."),
                ([(0, [1])], {"replicationFactor": 1}, codes.INVALID_REQUEST,
                 "A manual partition assignment was specified, but replication factor was not set to -1.")):
            with self.subTest(assignment=assignment, **fields):
                got = self.create(assignment, **fields)
                self.assertEqual((got.errorCode, got.errorMessage), (code, message))


class Growth(ConformanceTest):
    def grow(self, name, count, assignments=None, version=3, validate_only=False):
        answer = self.client.call("CreatePartitions", version, timeoutMs=10000, validateOnly=validate_only, topics=[
            {"name": name, "count": count,
             "assignments": None if assignments is None else [{"brokerIds": ids} for ids in assignments]}])
        (got,) = answer.results
        self.assertEqual(got.name, name)
        return got.errorCode, got.errorMessage

    def test_equal_and_lower_counts_name_the_current_one(self):
        for version in apis.versions("CreatePartitions"):
            topic = self.new_topic(2)
            self.assertEqual(self.grow(topic, 2, version=version),
                             (codes.INVALID_PARTITIONS, "Topic already has 2 partition(s)."))
            for count in (1, 0, -1, -2**31):
                self.assertEqual(self.grow(topic, count, version=version), (
                    codes.INVALID_PARTITIONS,
                    f"The topic {topic} currently has 2 partition(s); {count} would not be an increase."))
            self.assertEqual(self.grow(topic, 3, version=version, validate_only=True), (0, None))
            self.assertEqual(len(self.client.metadata(topic).topics[0].partitions), 2)
            self.assertEqual(self.grow(topic, 3, version=version), (0, None))
            self.client.await_usable(topic, 3)
            self.assertEqual(self.client.append(topic, b"a", partition=2), 0)

    def test_unknown_topics(self):
        for name in ("unknown", "not a name", "", "__cluster_metadata"):
            self.assertEqual(self.grow(name, 4)[0], codes.UNKNOWN_TOPIC_OR_PARTITION)

    def test_too_many(self):
        topic = self.new_topic()
        for count in (20_000, 2**31 - 1):
            code, message = self.grow(topic, count)
            self.assertIn(code, (codes.POLICY_VIOLATION, codes.INVALID_PARTITIONS))
            self.assertTrue(message)

    def test_assignments(self):
        topic, bad = self.new_topic(2), codes.INVALID_REPLICA_ASSIGNMENT
        for count, assignments, message in (
                (3, [], "Attempted to add 1 additional partition(s), but only 0 assignment(s) were specified."),
                (4, [[1]], "Attempted to add 2 additional partition(s), but only 1 assignment(s) were specified."),
                (3, [[7]], "The manual partition assignment includes broker 7, but no such broker is registered."),
                (3, [[]], "The manual partition assignment includes an empty replica list."),
                (3, [[1, 1]], "The manual partition assignment includes the broker 1 more than once.")):
            self.assertEqual(self.grow(topic, count, assignments), (bad, message))
        self.assertEqual(self.grow(topic, 4, [[1], [1]]), (0, None))
        self.client.await_usable(topic, 4)

    def test_a_topic_named_twice(self):
        topic = self.new_topic()
        answer = self.client.call("CreatePartitions", 3, timeoutMs=10000, topics=[
            {"name": topic, "count": count, "assignments": None} for count in (3, 4)])
        self.assertEqual([(r.name, r.errorCode, r.errorMessage) for r in answer.results],
                         [(topic, codes.INVALID_REQUEST, "Duplicate topic name.")])
        self.assertEqual(len(self.client.metadata(topic).topics[0].partitions), 1)

    def test_old_partitions_keep_their_records(self):
        topic = self.new_topic()
        self.client.append(topic, b"a", b"b")
        self.grow(topic, 5)
        self.client.await_usable(topic, 5)
        self.assertEqual([self.client.end_offset(topic, p) for p in range(5)], [2, 0, 0, 0, 0])


class Deletion(ConformanceTest):
    def answers(self, *topics):
        answer = self.client.call("DeleteTopics", 6, timeoutMs=10000, topics=[
            {"name": name, "topicId": topic_id} for name, topic_id in topics])
        return sorted((r.name or "", r.topicId, r.errorCode, r.errorMessage) for r in answer.responses)

    def is_gone(self, name):
        return self.client.metadata(name).topics[0].errorCode == codes.UNKNOWN_TOPIC_OR_PARTITION

    def test_each_name_is_answered_and_deleted_topics_vanish(self):
        for version in apis.versions("DeleteTopics"):
            name = self.new_topic()
            names = [name, "unknown", "not a name", ""]
            answer = self.client.call("DeleteTopics", version, topicNames=names, timeoutMs=10000,
                                      topics=[{"name": one} for one in names])
            unknown = codes.UNKNOWN_TOPIC_OR_PARTITION
            self.assertEqual({r.name: r.errorCode for r in answer.responses},
                             {name: 0, "unknown": unknown, "not a name": unknown, "": unknown})
            if version >= 5:
                self.assertEqual({r.errorMessage for r in answer.responses if r.errorCode},
                                 {"This server does not host this topic-partition."})
            self.assertTrue(eventually(lambda: self.is_gone(name)))
            self.assertEqual(self.client.produce(name, batch(b"a")).errorCode, unknown)

    def test_by_id(self):
        name, topic_id = self.new_topic_with_id()
        unknown = b"\x11" * 16
        self.assertEqual(self.answers((None, topic_id), (None, unknown)), sorted([
            (name, topic_id, 0, None),
            ("", unknown, codes.UNKNOWN_TOPIC_ID, "This server does not host this topic ID.")]))
        self.assertTrue(eventually(lambda: self.is_gone(name)))
        self.assertEqual(self.answers((None, topic_id))[0][2], codes.UNKNOWN_TOPIC_ID)

    def test_names_and_ids_that_contradict(self):
        name, topic_id = self.new_topic_with_id()
        invalid = codes.INVALID_REQUEST
        self.assertEqual(self.answers((name, topic_id)), [
            (name, topic_id, invalid, "You may not specify both topic name and topic id.")])
        self.assertEqual(self.answers((None, topic_id), (name, NO_ID)), [
            (name, topic_id, invalid, "The provided topic name maps to an ID that was already supplied.")])
        self.assertEqual(self.answers((None, NO_ID)), [
            ("", NO_ID, invalid, "Neither topic name nor id were specified.")])
        self.assertFalse(self.is_gone(name))

    def test_a_name_given_twice_is_not_deleted(self):
        name = self.new_topic()
        for version in range(1, 6):
            answer = self.client.call("DeleteTopics", version, topicNames=[name, name], timeoutMs=10000)
            self.assertEqual([(r.name, r.errorCode) for r in answer.responses], [(name, codes.INVALID_REQUEST)])
        self.assertFalse(self.is_gone(name))

    def test_a_topic_made_again_is_empty_and_has_a_new_id(self):
        name, old = self.new_topic_with_id()
        for _ in range(3):
            self.client.append(name, b"a", b"b")
            self.assertEqual(self.client.delete(name).errorCode, 0)
            new = self.client.create_usable(name)
            self.assertNotEqual(new, old)
            self.assertEqual((self.client.start_offset(name), self.client.end_offset(name)), (0, 0))
            self.assertEqual(self.client.fetch(name).records, b"")
            old = new

    def test_a_timeout_of_0_is_too_short_or_enough(self):
        name = self.new_topic()
        answer = self.client.call("DeleteTopics", 5, topicNames=[name], timeoutMs=0)
        (got,) = answer.responses
        self.assertIn(got.errorCode, (codes.NONE, codes.REQUEST_TIMED_OUT))
        if got.errorCode == codes.NONE:
            self.assertTrue(eventually(lambda: self.is_gone(name)))


if __name__ == "__main__":
    unittest.main()
