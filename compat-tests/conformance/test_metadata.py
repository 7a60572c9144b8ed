"""Metadata, DescribeCluster and DescribeTopicPartitions."""

import os
import unittest

import apis
import codes
from base import HOST, Broker, Client, ConformanceTest, eventually

NO_ID = bytes(16)
NOT_ASKED = -2**31
CLUSTER_OPERATIONS, TOPIC_OPERATIONS = 8096, 3576


class Topics(ConformanceTest):
    def test_null_asks_for_all_topics_and_an_empty_list_for_none(self):
        topic = self.new_topic()
        for version in apis.versions("Metadata"):
            asked = [] if version == 0 else None
            everything = self.client.call("Metadata", version, topics=asked)
            self.assertIn(topic, [t.name for t in everything.topics])
            self.assertEqual({t.errorCode for t in everything.topics}, {0})
            self.assertNotIn("__cluster_metadata", [t.name for t in everything.topics])
            if version >= 1:
                nothing = self.client.call("Metadata", version, topics=[])
                self.assertEqual((nothing.topics, len(nothing.brokers)), ([], 1))

    def test_auto_creation_makes_the_topic_within_a_short_time(self):
        for version in apis.versions("Metadata"):
            name = self.new_name()
            seen = []

            def created(version=version, name=name, seen=seen):
                (topic,) = self.client.metadata(name, version=version, allowAutoTopicCreation=True).topics
                seen.append(topic.errorCode)
                return topic if topic.errorCode == 0 and topic.partitions[0].leaderId >= 0 else None

            topic = eventually(created, 5.0, 0.1)
            self.assertTrue(topic, seen)
            self.assertLessEqual(set(seen), {0, codes.UNKNOWN_TOPIC_OR_PARTITION, codes.LEADER_NOT_AVAILABLE})
            self.assertEqual(len(topic.partitions), 1)
            self.client.await_usable(name)

    def test_the_flag_forbids_auto_creation_from_version_4_on(self):
        for version in range(4, apis.newest("Metadata") + 1):
            name = self.new_name()
            for _ in range(3):
                (topic,) = self.client.metadata(name, version=version, allowAutoTopicCreation=False).topics
                self.assertEqual((topic.errorCode, topic.name, topic.get("topicId", NO_ID), topic.partitions),
                                 (codes.UNKNOWN_TOPIC_OR_PARTITION, name, NO_ID, []))

    def test_illegal_names_are_invalid_and_never_made(self):
        for version in apis.versions("Metadata"):
            names = ["not a name", "x" * 250, ".", "ä"]
            for flag in (True, False):
                answer = self.client.metadata(*names, version=version, allowAutoTopicCreation=flag)
                self.assertEqual({t.name: t.errorCode for t in answer.topics}, dict.fromkeys(names, codes.INVALID_TOPIC))
        everything = {t.name for t in self.client.call("Metadata", 12, topics=None).topics}
        self.assertEqual(everything & set(names), set())

    def test_an_empty_name_is_invalid(self):
        (topic,) = self.client.metadata("").topics
        self.assertEqual(topic.errorCode, codes.INVALID_TOPIC)

    def test_each_topic_is_answered_once_with_its_own_partitions(self):
        first, second = self.new_topic(3), self.new_topic(1)
        answer = self.client.metadata(first, "unknown", second, first)
        self.assertEqual(sorted((t.name, t.errorCode, len(t.partitions)) for t in answer.topics),
                         sorted([(first, 0, 3), ("unknown", 3, 0), (second, 0, 1)]))

    def test_by_topic_id(self):
        name, topic_id = self.new_topic_with_id()
        unknown = b"\x99" * 16
        for version in (12, 13):
            for flag in (True, False):
                answer = self.client.call("Metadata", version, allowAutoTopicCreation=flag, topics=[
                    {"topicId": topic_id, "name": None}, {"topicId": unknown, "name": None}])
                self.assertEqual({(t.name, t.topicId, t.errorCode, len(t.partitions)) for t in answer.topics},
                                 {(name, topic_id, 0, 1), (None, unknown, codes.UNKNOWN_TOPIC_ID, 0)})

    def test_an_unknown_id_is_answered_without_name_or_operations(self):
        answer = self.client.call("Metadata", 12, includeTopicAuthorizedOperations=True, topics=[
            {"topicId": b"\x99" * 16, "name": "unknown"}])
        self.assertEqual([(t.errorCode, t.name, t.topicAuthorizedOperations) for t in answer.topics],
                         [(codes.UNKNOWN_TOPIC_ID, None, NOT_ASKED)])

    def test_beside_an_id_names_are_overlooked(self):
        name, topic_id = self.new_topic_with_id()
        new = self.new_name()
        for version in (12, 13):
            answer = self.client.call("Metadata", version, allowAutoTopicCreation=True, topics=[
                {"name": new}, {"topicId": topic_id, "name": None}, {"name": "not a name"}])
            self.assertEqual([(t.errorCode, t.name) for t in answer.topics], [(0, name)])
        self.assertEqual(self.client.metadata(new).topics[0].errorCode, codes.UNKNOWN_TOPIC_OR_PARTITION)

    def test_ids_are_not_for_versions_10_and_11(self):
        name, topic_id = self.new_topic_with_id()
        for version in (10, 11):
            for asked in ([{"name": name, "topicId": topic_id}], [{"name": None}], [{"name": name}, {"name": None}],
                          [{"name": None, "topicId": topic_id}, {"name": "unknown"}]):
                answer = self.client.call("Metadata", version, topics=asked, includeTopicAuthorizedOperations=True,
                                          includeClusterAuthorizedOperations=True)
                self.assertEqual((answer.brokers, answer.clusterId, answer.controllerId), ([], None, -1))
                self.assertEqual(sorted((t.errorCode, t.name, t.topicId, t.topicAuthorizedOperations)
                                        for t in answer.topics),
                                 sorted((codes.INVALID_REQUEST, one["name"] or "", one.get("topicId", NO_ID), NOT_ASKED)
                                        for one in asked))

    def test_authorized_operations_only_when_asked(self):
        topic = self.new_topic()
        for version in range(8, apis.newest("Metadata") + 1):
            for asked in (False, True):
                answer = self.client.metadata(topic, version=version, includeTopicAuthorizedOperations=asked,
                                              includeClusterAuthorizedOperations=asked)
                self.assertEqual(answer.topics[0].topicAuthorizedOperations, TOPIC_OPERATIONS if asked else NOT_ASKED)
                if version <= 10:
                    self.assertEqual(answer.clusterAuthorizedOperations, CLUSTER_OPERATIONS if asked else NOT_ASKED)

    def test_the_cluster_id_is_one_everywhere_and_reads_like_a_uuid(self):
        told = {self.client.call("Metadata", version, topics=[]).clusterId for version in range(2, 14)}
        told |= {self.client.call("DescribeCluster", version).clusterId for version in range(3)}
        self.assertEqual(len(told), 1)
        self.assertRegex(told.pop(), r"^[A-Za-z0-9_-]{22}$")


class Cluster(ConformanceTest):
    def test_the_one_broker(self):
        for version in apis.versions("DescribeCluster"):
            for asked in (False, True):
                answer = self.client.call("DescribeCluster", version, includeClusterAuthorizedOperations=asked)
                (broker,) = answer.brokers
                self.assertEqual((broker.host, broker.port, broker.rack, broker.brokerId, broker.get("isFenced", False)),
                                 (HOST, self.address[1], None, answer.controllerId, False))
                self.assertEqual(answer.clusterAuthorizedOperations, CLUSTER_OPERATIONS if asked else NOT_ASKED)
                self.assertEqual(answer.get("endpointType", 1), 1)

    def test_endpoint_types(self):
        for version in (1, 2):
            for kind, code, message in (
                    (2, codes.MISMATCHED_ENDPOINT_TYPE,
                     "The request was sent to an endpoint of type BROKER, but we wanted an endpoint of type CONTROLLER"),
                    (0, codes.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 0"),
                    (3, codes.UNSUPPORTED_ENDPOINT_TYPE, "Unsupported endpoint type 3")):
                answer = self.client.call("DescribeCluster", version, endpointType=kind)
                self.assertEqual((answer.errorCode, answer.errorMessage, answer.clusterId, answer.controllerId,
                                  answer.brokers), (code, message, "", -1, []))


@unittest.skipIf(os.environ.get("BARNABAS_BOOTSTRAP"), "needs a broker of its own")
class Listeners(unittest.TestCase):
    def test_each_listener_names_its_own_advertised_address(self):
        advertised = ("first.example", 1111), ("second.example", 2222)
        with Broker(listeners=2, properties={"advertised.listeners": ",".join(
                f"PLAINTEXT{number}://{host}:{port}" for number, (host, port) in zip(("", 2), advertised))}) as broker:
            for own, address in zip(broker.ports, advertised):
                client = Client((HOST, own))
                try:
                    for version in apis.versions("Metadata"):
                        told = [(b.host, b.port) for b in client.call("Metadata", version, topics=[]).brokers]
                        self.assertEqual(told, [address])
                    for version in apis.versions("DescribeCluster"):
                        told = [(b.host, b.port) for b in client.call("DescribeCluster", version).brokers]
                        self.assertEqual(told, [address])
                finally:
                    client.close()

    def test_no_topic_is_made_where_auto_creation_is_off(self):
        with Broker(properties={"auto.create.topics.enable": "false"}) as broker:
            client = Client((HOST, broker.port))
            try:
                for version in apis.versions("Metadata"):
                    for _ in range(2):
                        (topic,) = client.metadata("t", version=version, allowAutoTopicCreation=True).topics
                        self.assertEqual(topic.errorCode, codes.UNKNOWN_TOPIC_OR_PARTITION)
            finally:
                client.close()


class Partitions(ConformanceTest):
    """DescribeTopicPartitions pages through partitions."""

    def describe(self, *names, limit=2000, cursor=None):
        return self.client.call("DescribeTopicPartitions", 0, topics=[{"name": name} for name in names],
                                responsePartitionLimit=limit,
                                cursor=cursor and {"topicName": cursor[0], "partitionIndex": cursor[1]})

    @staticmethod
    def listed(answer):
        return [(t.name, t.errorCode, [p.partitionIndex for p in t.partitions]) for t in answer.topics]

    def test_topics_come_in_order_of_their_names_each_once_with_errors_among_them(self):
        a, b = sorted((self.new_topic(2), self.new_topic(1)))
        counts = {name: len(self.client.metadata(name).topics[0].partitions) for name in (a, b)}
        answer = self.describe(b, "~", "unknown", a, b)
        self.assertEqual(self.listed(answer), sorted([
            (a, 0, list(range(counts[a]))), (b, 0, list(range(counts[b]))), ("unknown", 3, []),
            ("~", codes.INVALID_TOPIC, [])]))
        self.assertIsNone(answer.nextCursor)

    def test_details_of_a_partition(self):
        name, topic_id = self.new_topic_with_id()
        (topic,) = self.describe(name).topics
        (partition,) = topic.partitions
        self.assertEqual((topic.topicId, topic.isInternal, topic.topicAuthorizedOperations),
                         (topic_id, False, TOPIC_OPERATIONS))
        self.assertEqual(partition, {
            "errorCode": 0, "partitionIndex": 0, "leaderId": 1, "leaderEpoch": 0, "replicaNodes": [1], "isrNodes": [1],
            "eligibleLeaderReplicas": [], "lastKnownElr": [], "offlineReplicas": []})

    def test_pages_follow_each_other_without_gap_or_overlap(self):
        names = sorted(self.new_topic(count) for count in (3, 1, 4))
        for limit in (1, 2, 3, 5, 100):
            seen, cursor, pages = [], None, 0
            while True:
                answer = self.describe(*names, limit=limit, cursor=cursor)
                page = [(t.name, p.partitionIndex) for t in answer.topics for p in t.partitions]
                self.assertLessEqual(len(page), limit)
                seen += page
                pages += 1
                if answer.nextCursor is None:
                    break
                cursor = (answer.nextCursor.topicName, answer.nextCursor.partitionIndex)
            self.assertEqual((seen, len(seen)), (sorted(seen), 8))
            self.assertEqual(pages, -(-8 // limit))

    def test_limits_of_0_and_less_mean_1(self):
        topic = self.new_topic(2)
        for limit in (0, -1, -2**31):
            answer = self.describe(topic, limit=limit)
            self.assertEqual(self.listed(answer), [(topic, 0, [0])])
            self.assertEqual(answer.nextCursor, {"topicName": topic, "partitionIndex": 1})

    def test_a_topic_that_is_not_there_takes_no_room_but_may_begin_a_page(self):
        topic = self.new_topic(1)
        answer = self.describe(topic, "~", limit=1)
        self.assertEqual((self.listed(answer), answer.nextCursor),
                         ([(topic, 0, [0])], {"topicName": "~", "partitionIndex": 0}))
        answer = self.describe(topic, "~", limit=1, cursor=("~", 0))
        self.assertEqual((self.listed(answer), answer.nextCursor), ([("~", codes.INVALID_TOPIC, [])], None))
        answer = self.describe("-", topic, limit=1)
        self.assertEqual((self.listed(answer), answer.nextCursor),
                         ([("-", codes.UNKNOWN_TOPIC_OR_PARTITION, []), (topic, 0, [0])], None))

    def test_no_names_ask_for_all_topics(self):
        topic = self.new_topic()
        names, cursor = [], None
        while True:
            answer = self.describe(cursor=cursor)
            names += [t.name for t in answer.topics]
            if answer.nextCursor is None:
                break
            cursor = (answer.nextCursor.topicName, answer.nextCursor.partitionIndex)
        self.assertIn(topic, names)
        self.assertEqual(names, sorted(names))

    def test_cursors_that_fit_nothing(self):
        a, b = sorted((self.new_topic(2), self.new_topic(2)))
        for cursor in (("unknown", 0), (a, -1)):
            self.assertEqual({code for _, code, _ in self.listed(self.describe(a, b, cursor=cursor))},
                             {codes.INVALID_REQUEST})
        for cursor in (("unknown", -1), (a, -1)):  # nobody was named, so nobody is answered
            self.assertEqual(self.describe(cursor=cursor).topics, [])
        self.assertEqual(self.listed(self.describe(a, b, cursor=(b, 7))), [(b, 0, [])])
        self.assertEqual(self.listed(self.describe(a, b, cursor=(b, 1))), [(b, 0, [1])])


if __name__ == "__main__":
    unittest.main()
