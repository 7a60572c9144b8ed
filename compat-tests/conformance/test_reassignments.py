"""ElectLeaders, AlterPartitionReassignments and ListPartitionReassignments, where there is one broker to choose from."""

import unittest

import apis
import codes
from base import ConformanceTest

NOT_NEEDED = (codes.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition.")
PREFERRED, UNCLEAN = 0, 1


def named(topic, *partitions):
    return {"topic": topic, "partitions": list(partitions)}


class Elections(ConformanceTest):
    def elect(self, topics, version=2, kind=PREFERRED, timeout_ms=10000):
        return self.client.call("ElectLeaders", version, electionType=kind, topicPartitions=topics,
                                timeoutMs=timeout_ms)

    def kinds(self, version):
        return (PREFERRED, UNCLEAN) if version else (PREFERRED,)

    def flat(self, got):
        return [(topic.topic, p.partitionId, p.errorCode, p.errorMessage)
                for topic in got.replicaElectionResults for p in topic.partitionResult]

    def test_the_one_broker_leads_already(self):
        name = self.new_topic(3)
        for version in apis.versions("ElectLeaders"):
            for kind in self.kinds(version):
                got = self.elect([named(name, 0, 2, 1, 0)], version, kind)
                self.assertEqual(got.get("errorCode", 0), 0)
                self.assertEqual(self.flat(got), [(name, p, *NOT_NEEDED) for p in (0, 2, 1, 0)])

    def test_unknown_topics_and_partitions(self):
        name = self.new_topic(2)
        unknown = codes.UNKNOWN_TOPIC_OR_PARTITION
        for version in apis.versions("ElectLeaders"):
            for kind in self.kinds(version):
                got = self.elect([named(name, 0, 2, -1), named("nope", 0), named(""), named("", 7), named("a b", 0),
                                  named("__cluster_metadata", 0), named(name, 1)], version, kind)
                self.assertEqual(got.get("errorCode", 0), 0)
                self.assertEqual([t.topic for t in got.replicaElectionResults],
                                 [name, "nope", "", "", "a b", "__cluster_metadata", name])
                self.assertEqual(self.flat(got), [
                    (name, 0, *NOT_NEEDED),
                    (name, 2, unknown, f"No such partition as {name}-2"),
                    (name, -1, unknown, f"No such partition as {name}--1"),
                    ("nope", 0, unknown, "No such topic as nope"),
                    ("", 7, unknown, "No such topic as "),
                    ("a b", 0, unknown, "No such topic as a b"),
                    ("__cluster_metadata", 0, unknown, "No such topic as __cluster_metadata"),
                    (name, 1, *NOT_NEEDED)])

    def test_all_partitions_names_topics_where_nothing_was_to_be_done(self):
        name = self.new_topic(2)
        for version in apis.versions("ElectLeaders"):
            for kind in self.kinds(version):
                got = self.elect(None, version, kind)
                self.assertEqual(got.get("errorCode", 0), 0)
                self.assertIn(name, [topic.topic for topic in got.replicaElectionResults])
                self.assertEqual(self.flat(got), [])

    def test_nothing_asked_is_nothing_answered(self):
        for version in apis.versions("ElectLeaders"):
            for timeout_ms in (10000, 0):
                got = self.elect([], version, timeout_ms=timeout_ms)
                self.assertEqual((got.get("errorCode", 0), got.replicaElectionResults), (0, []))

    def test_unknown_kinds_of_election(self):
        name = self.new_topic()
        for version in (1, 2):
            for kind in (2, -1, 127):
                got = self.elect([named(name, 0, 9), named("nope", 0)], version, kind)
                why = (codes.INVALID_REQUEST, f"Unknown election type {kind}")
                self.assertEqual(got.errorCode, codes.INVALID_REQUEST)
                self.assertEqual(self.flat(got), [(name, 0, *why), (name, 9, *why), ("nope", 0, *why)])
                got = self.elect(None, version, kind)
                self.assertEqual((got.errorCode, got.replicaElectionResults), (codes.INVALID_REQUEST, []))

    def test_no_time_at_all(self):
        name = self.new_topic()
        for version in apis.versions("ElectLeaders"):
            for timeout_ms in (0, -1):
                got = self.elect([named(name, 0), named("nope", 3)], version, timeout_ms=timeout_ms)
                if version:
                    self.assertEqual(got.errorCode, codes.REQUEST_TIMED_OUT)
                self.assertEqual(self.flat(got), [(name, 0, codes.REQUEST_TIMED_OUT, None),
                                                  ("nope", 3, codes.REQUEST_TIMED_OUT, None)])


def wanted(topic, *partitions):
    return {"name": topic, "partitions": [{"partitionIndex": p, "replicas": replicas} for p, replicas in partitions]}


class Reassignments(ConformanceTest):
    def alter(self, topics, version=1, timeout_ms=10000, **fields):
        return self.client.call("AlterPartitionReassignments", version, topics=topics, timeoutMs=timeout_ms, **fields)

    def answers(self, got):
        self.assertEqual((got.errorCode, got.errorMessage), (0, None))
        return [(topic.name, p.partitionIndex, p.errorCode, p.errorMessage)
                for topic in got.responses for p in topic.partitions]

    def check(self, name, replicas, code, message, partition=0):
        for version in apis.versions("AlterPartitionReassignments"):
            for fields in ({},) if version == 0 else ({}, {"allowReplicationFactorChange": False}):
                got = self.alter([wanted(name, (partition, replicas))], version, **fields)
                self.assertEqual(self.answers(got), [(name, partition, code, message)])
                if version:
                    self.assertEqual(got.allowReplicationFactorChange, not fields)

    def test_to_where_it_is(self):
        name = self.new_topic(2)
        before = self.client.metadata(name).topics[0].partitions
        self.check(name, [1], 0, None)
        self.assertEqual(self.client.metadata(name).topics[0].partitions, before)

    def test_there_is_nothing_to_cancel(self):
        self.check(self.new_topic(), None, codes.NO_REASSIGNMENT_IN_PROGRESS, None)

    def test_assignments_that_cannot_be(self):
        name = self.new_topic()
        start, code = "The manual partition assignment includes ", codes.INVALID_REPLICA_ASSIGNMENT
        for replicas, why in (([], "an empty replica list."),
                              ([2], "broker 2, but no such broker is registered."),
                              ([1, 2], "broker 2, but no such broker is registered."),
                              ([3, 2], "broker 2, but no such broker is registered."),
                              ([-1], "broker -1, but no such broker is registered."),
                              ([1, -7], "broker -7, but no such broker is registered."),
                              ([1, 1], "the broker 1 more than once.")):
            self.check(name, replicas, code, start + why)

    def test_unknown_topics_and_partitions(self):
        name, unknown = self.new_topic(2), codes.UNKNOWN_TOPIC_OR_PARTITION
        for replicas in ([1], [9], [], None):
            for topic in ("nope", "", "a b"):
                self.check(topic, replicas, unknown, f"Unable to find a topic named {topic}.")
            for partition in (2, -1, 2**31 - 1):
                self.check(name, replicas, unknown, f"Unable to find partition {name}:{partition}.", partition)

    def test_each_partition_is_answered_for_itself(self):
        a, b = self.new_topic(2), self.new_name("unknown")
        got = self.alter([wanted(a, (1, [1]), (0, [2]), (7, [1])), wanted(b), wanted(b, (0, [1])), wanted(a, (0, [1]))])
        self.assertEqual([topic.name for topic in got.responses], [a, b, b, a])
        self.assertEqual([(name, partition, code) for name, partition, code, _ in self.answers(got)], [
            (a, 1, 0), (a, 0, codes.INVALID_REPLICA_ASSIGNMENT), (a, 7, codes.UNKNOWN_TOPIC_OR_PARTITION),
            (b, 0, codes.UNKNOWN_TOPIC_OR_PARTITION), (a, 0, 0)])

    def test_nothing_asked_is_nothing_answered(self):
        for version in apis.versions("AlterPartitionReassignments"):
            for timeout_ms in (10000, 0, -1):
                got = self.alter([], version, timeout_ms)
                self.assertEqual((got.errorCode, got.errorMessage, got.responses), (0, "", []))

    def test_no_time_at_all(self):
        name = self.new_topic()
        for version in apis.versions("AlterPartitionReassignments"):
            for timeout_ms in (0, -1):
                got = self.alter([wanted(name, (0, [1]), (4, None))], version, timeout_ms)
                self.assertEqual((got.errorCode, got.errorMessage), (codes.REQUEST_TIMED_OUT, None))
                self.assertEqual([(p.partitionIndex, p.errorCode, p.errorMessage) for p in got.responses[0].partitions],
                                 [(0, codes.REQUEST_TIMED_OUT, None), (4, codes.REQUEST_TIMED_OUT, None)])

    def test_nothing_is_under_way(self):
        name = self.new_topic(2)
        self.alter([wanted(name, (0, [1]))])
        for topics in (None, [], [{"name": name, "partitionIndexes": [0, 1, 7, -1]}],
                       [{"name": "nope", "partitionIndexes": [0]}, {"name": name, "partitionIndexes": []}]):
            for timeout_ms in (10000, 0):
                got = self.client.call("ListPartitionReassignments", 0, topics=topics, timeoutMs=timeout_ms)
                self.assertEqual((got.errorCode, got.errorMessage, got.topics), (0, None, []))


if __name__ == "__main__":
    unittest.main()
