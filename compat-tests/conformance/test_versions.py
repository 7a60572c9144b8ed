"""Version negotiation, and each API in each announced version: a success and an error, decoded to the last byte."""

import functools
import struct
import unittest

import apis
import codes
import wire
from base import ConformanceTest, fetched
from differences import differ
from records import batch

UNKNOWN_ID = b"\x5a" * 16


def every_version(api):
    """Runs the case once for each served version, each time with a new topic of two partitions."""
    def decorate(case):
        @functools.wraps(case)
        def run(self):
            for version in apis.versions(api):
                with self.subTest(version=version):
                    self.name, self.topic_id = self.new_topic_with_id(2)
                    case(self, version)
        return run
    return decorate


class Negotiation(ConformanceTest):
    UNKNOWN_VERSIONS = ((6, b"\0"), (99, b"\0\2x\0021\0"), (-1, b""), (32767, bytes(300)), (-32768, b"\xff" * 9))

    def test_announced_versions_are_those_of_kafka(self):
        for version in apis.versions("ApiVersions"):
            answer = self.client.call("ApiVersions", version, clientSoftwareName="x", clientSoftwareVersion="1")
            ranges = {api.apiKey: (api.minVersion, api.maxVersion) for api in answer.apiKeys}
            for name, (key, first, last) in (apis.ANNOUNCED | apis.GROUPS | apis.TRANSACTIONS).items():
                with self.subTest(version=version, api=name):
                    self.assertEqual(ranges.get(key), (first, last))

    def test_keys_are_in_order_and_no_others_than_kafka_has(self):
        keys = [api.apiKey for api in self.client.call("ApiVersions", 0).apiKeys]
        self.assertEqual(keys, sorted(set(keys)))
        self.assertTrue(all(0 <= key <= 94 for key in keys), keys)

    def test_unknown_api_versions_version_is_answered_in_version_0(self):
        for version, body in self.UNKNOWN_VERSIONS + differ("api-versions-any-body"):
            with self.subTest(version=version):
                connection = self.new_connection()
                connection.send_bytes(wire.sized(wire.header_of(18, version, 77, "c") + body))
                self.assertEqual(connection.receive_payload(), struct.pack(">ihihhh", 77, 35, 1, 18, 0, 5))
                self.assertEqual(
                    connection.call("ApiVersions", 3, clientSoftwareName="a", clientSoftwareVersion="1").errorCode, 0)

    def test_api_versions_answers_have_the_old_header_and_a_flexible_body_from_3_on(self):
        for version in (3, 4, 5):
            connection = self.new_connection()
            connection.send("ApiVersions", version, clientSoftwareName="a", clientSoftwareVersion="1")
            payload = connection.receive_payload()
            self.assertEqual(payload[4:6], b"\0\0")
            self.assertGreater(payload[6], 1)  # compact count

    def test_illegal_client_software_is_an_invalid_request_and_the_connection_goes_on(self):
        legal = ("try-1.0", "a", "A1", "9", "a..b", "a--b", "x" * 300)
        illegal = ("try me", "", "-a", "a-", ".a", "a.", "a_b", "ä", "a/b")
        for version in (3, 4, 5):
            for name, code in [(n, 0) for n in legal] + [(n, codes.INVALID_REQUEST) for n in illegal]:
                for fields in ({"clientSoftwareName": name, "clientSoftwareVersion": "1"},
                               {"clientSoftwareName": "n", "clientSoftwareVersion": name}):
                    with self.subTest(version=version, **fields):
                        answer = self.client.call("ApiVersions", version, **fields)
                        self.assertEqual(answer.errorCode, code)
                        self.assertEqual(bool(answer.apiKeys), code == 0)

    def test_from_version_5_a_client_may_say_whom_it_means(self):
        own = self.client.call("DescribeCluster", 0).clusterId
        both, neither, rebootstrap = codes.NONE, codes.INVALID_REQUEST, codes.REBOOTSTRAP_REQUIRED
        for cluster_id, node_id, code in (
                (None, -1, both), (own, 1, both), (None, 1, neither), (None, 0, neither), (None, -2, neither),
                (own, -1, neither), ("", -1, neither), ("x", -1, neither), (own, 2, rebootstrap), (own, 0, rebootstrap),
                ("x", 1, rebootstrap), ("", 1, rebootstrap)):
            with self.subTest(cluster_id=cluster_id, node_id=node_id):
                fields = {"clientSoftwareName": "a", "clientSoftwareVersion": "1", "clusterId": cluster_id,
                          "nodeId": node_id}
                answer = self.client.call("ApiVersions", 5, **fields)
                self.assertEqual((answer.errorCode, bool(answer.apiKeys)), (code, code == codes.NONE))
                self.assertEqual(self.client.call("ApiVersions", 4, **fields).errorCode, codes.NONE)  # not on the wire

    def test_features_of_a_new_node(self):
        answer = self.client.call("ApiVersions", 4, clientSoftwareName="a", clientSoftwareVersion="1")
        supported = {f.name: (f.minVersion, f.maxVersion) for f in answer.supportedFeatures}
        self.assertEqual(supported["metadata.version"][1], 33)
        finalized = {f.name: f.maxVersionLevel for f in answer.finalizedFeatures}
        self.assertEqual(finalized["metadata.version"], 33)
        self.assertGreaterEqual(answer.finalizedFeaturesEpoch, 0)
        for name, level in finalized.items():
            self.assertLessEqual(level, supported[name][1], name)

    def test_features_with_minimum_0_are_left_out_before_version_4(self):
        answer = self.client.call("ApiVersions", 3, clientSoftwareName="a", clientSoftwareVersion="1")
        self.assertEqual([f.name for f in answer.supportedFeatures if f.minVersion == 0], [])


class Header(ConformanceTest):
    def test_client_id_may_be_null_empty_or_long_and_correlation_ids_are_echoed(self):
        for client_id in (None, "", "c", "ü" * 300, "x" * 32767):
            for correlation_id in (0, -5, 2**31 - 1, -2**31):
                for api, version in (("Metadata", 1), ("Metadata", 12), ("ApiVersions", 3)):
                    with self.subTest(client_id=client_id and client_id[:3], correlation_id=correlation_id, api=api):
                        fields = {"topics": []} if api == "Metadata" else {
                            "clientSoftwareName": "a", "clientSoftwareVersion": "1"}
                        connection = self.client.connection
                        connection.send_bytes(wire.request_frame(api, version, fields, correlation_id, client_id))
                        wire.read_response(api, version, connection.receive_payload(), correlation_id)

    def test_unknown_tags_are_ignored_in_header_and_body(self):
        connection = self.client.connection
        tags = [(0, b""), (5, b"abc"), (1000, bytes(200))]
        fields = {"topics": [], "_tags": tags}
        connection.send_bytes(wire.request_frame("Metadata", 12, fields, 9, "c", header_tags=tags))
        wire.read_response("Metadata", 12, connection.receive_payload(), 9)


class EveryVersion(ConformanceTest):
    """Named after what is asked; the strict decoder is the larger part of each check."""

    @every_version("Produce")
    def test_produce(self, version):
        with_id = version >= apis.PRODUCE_FIRST_WITH_TOPIC_ID
        for acks in (1, -1):
            done = self.client.produce(self.name, batch(b"a"), 0, version, acks, self.topic_id)
            self.assertEqual((done.errorCode, done.logAppendTimeMs), (0, -1))
            self.assertGreaterEqual(done.baseOffset, 0)
        failed = self.client.produce("unknown", batch(b"a"), 0, version, -1, UNKNOWN_ID)
        wanted = codes.UNKNOWN_TOPIC_ID if with_id else codes.UNKNOWN_TOPIC_OR_PARTITION
        self.assertEqual((failed.errorCode, failed.baseOffset), (wanted, -1))
        failed = self.client.produce(self.name, batch(b"a"), 7, version, -1, self.topic_id)
        self.assertEqual((failed.errorCode, failed.index), (codes.UNKNOWN_TOPIC_OR_PARTITION, 7))
        failed = self.client.produce(self.name, batch(b"a", crc=1), 0, version, -1, self.topic_id)
        self.assertEqual((failed.errorCode, failed.baseOffset), (codes.CORRUPT_MESSAGE, -1))

    @every_version("Fetch")
    def test_fetch(self, version):
        self.client.append(self.name, b"a", b"b")
        with_id = version >= apis.FETCH_FIRST_WITH_TOPIC_ID
        asked = [fetched(self.topic_id if with_id else self.name, 0, version=version)]
        answer = self.client.fetch_all(asked, version)
        part = answer.responses[0].partitions[0]
        self.assertEqual(answer.responses[0].topicId if with_id else answer.responses[0].topic, asked[0][
            "topicId" if with_id else "topic"])
        self.assertEqual((part.partitionIndex, part.errorCode, part.highWatermark, part.lastStableOffset),
                         (0, 0, 2, 2))
        self.assertEqual(part.get("logStartOffset", 0), 0)
        self.assertIsNone(part.abortedTransactions)
        self.assertGreater(len(part.records), 61)
        wanted = codes.UNKNOWN_TOPIC_ID if with_id else codes.UNKNOWN_TOPIC_OR_PARTITION
        self.assert_failed_fetch(version, UNKNOWN_ID if with_id else "unknown", 0, 0, wanted)
        self.assert_failed_fetch(version, asked[0].get("topicId", self.name), 0, 99, codes.OFFSET_OUT_OF_RANGE)
        self.assert_failed_fetch(version, asked[0].get("topicId", self.name), 9, 0,
                                 codes.UNKNOWN_TOPIC_OR_PARTITION)

    def assert_failed_fetch(self, version, topic, partition, offset, code):
        part = self.client.fetch_all([fetched(topic, offset, partition, version=version)],
                                     version).responses[0].partitions[0]
        self.assertEqual((part.partitionIndex, part.errorCode, part.highWatermark, part.lastStableOffset),
                         (partition, code, -1, -1))
        self.assertFalse(part.records)

    @every_version("ListOffsets")
    def test_list_offsets(self, version):
        self.client.append(self.name, b"a", b"b", timestamps=(1000, 2000))
        for asked, wanted in ((-1, (-1, 2)), (-2, (-1, 0)), (1500, (2000, 1)), (2001, (-1, -1))):
            got = self.client.list_offset(self.name, asked, version=version)
            self.assertEqual((got.errorCode, got.timestamp, got.offset), (0, *wanted))
            if version >= 4:
                self.assertEqual(got.leaderEpoch, -1 if wanted[1] == -1 else 0)
        got = self.client.list_offset("unknown", -1, version=version)
        self.assertEqual((got.errorCode, got.timestamp, got.offset), (codes.UNKNOWN_TOPIC_OR_PARTITION, -1, -1))

    @every_version("OffsetForLeaderEpoch")
    def test_offset_for_leader_epoch(self, version):
        self.client.append(self.name, b"a", b"b")
        for topic, wanted in ((self.name, (0, 0, 2)), ("unknown", (codes.UNKNOWN_TOPIC_OR_PARTITION, -1, -1))):
            answer = self.client.call("OffsetForLeaderEpoch", version, replicaId=-1, topics=[
                {"topic": topic, "partitions": [{"partition": 0, "leaderEpoch": 0}]}])
            got = answer.topics[0].partitions[0]
            self.assertEqual((answer.topics[0].topic, got.errorCode, got.leaderEpoch, got.endOffset),
                             (topic, *wanted))

    @every_version("Metadata")
    def test_metadata(self, version):
        answer = self.client.metadata(self.name, version=version)
        self.assertEqual(answer.brokers[0].port, self.address[1])
        self.assertEqual(answer.get("controllerId", 1), answer.brokers[0].nodeId)
        (topic,) = answer.topics
        self.assertEqual((topic.errorCode, topic.name, topic.get("topicId", self.topic_id)),
                         (0, self.name, self.topic_id))
        self.assertEqual(sorted(p.partitionIndex for p in topic.partitions), [0, 1])
        for partition in topic.partitions:
            self.assertEqual((partition.errorCode, partition.leaderId, partition.get("leaderEpoch", 0)),
                             (0, answer.brokers[0].nodeId, 0))
            self.assertEqual((partition.replicaNodes, partition.isrNodes), ([partition.leaderId],) * 2)
        (topic,) = self.client.metadata("not a name", version=version).topics
        self.assertEqual((topic.errorCode, topic.name, topic.partitions), (codes.INVALID_TOPIC, "not a name", []))

    @every_version("ApiVersions")
    def test_api_versions(self, version):
        answer = self.client.call("ApiVersions", version, clientSoftwareName="a", clientSoftwareVersion="1")
        self.assertEqual((answer.errorCode, answer.get("throttleTimeMs", 0)), (0, 0))

    @every_version("CreateTopics")
    def test_create_topics(self, version):
        made = self.client.create(self.new_name(), 3, {"retention.ms": "1000"}, version)
        self.assertEqual((made.errorCode, made.errorMessage), (0, None))
        if version >= 5:
            self.assertEqual((made.numPartitions, made.replicationFactor, made.topicConfigErrorCode), (3, 1, 0))
        failed = self.client.create(self.name, 1, version=version)
        self.assertEqual(failed.errorCode, codes.TOPIC_ALREADY_EXISTS)
        self.assertTrue(failed.errorMessage)
        if version >= 5:
            self.assertEqual((failed.numPartitions, failed.replicationFactor, failed.configs), (-1, -1, []))

    @every_version("DeleteTopics")
    def test_delete_topics(self, version):
        name = self.new_name()
        self.client.create_usable(name)
        fields = {"topicNames": [name, "unknown"]} if version < 6 else {
            "topics": [{"name": name}, {"name": "unknown"}]}
        answer = self.client.call("DeleteTopics", version, timeoutMs=10000, **fields)
        self.assertEqual({r.name: r.errorCode for r in answer.responses},
                         {name: 0, "unknown": codes.UNKNOWN_TOPIC_OR_PARTITION})

    @every_version("CreatePartitions")
    def test_create_partitions(self, version):
        for name, wanted in ((self.name, 0), (self.name, codes.INVALID_PARTITIONS),
                             ("unknown", codes.UNKNOWN_TOPIC_OR_PARTITION)):
            answer = self.client.call("CreatePartitions", version, timeoutMs=10000, topics=[
                {"name": name, "count": 3, "assignments": None}])
            self.assertEqual([(r.name, r.errorCode) for r in answer.results], [(name, wanted)])

    @every_version("DeleteRecords")
    def test_delete_records(self, version):
        self.client.append(self.name, *[b"x"] * 10)
        for topic, asked, wanted in ((self.name, 4, (0, 4)), (self.name, 99, (codes.OFFSET_OUT_OF_RANGE, -1)),
                                     ("unknown", 0, (codes.UNKNOWN_TOPIC_OR_PARTITION, -1))):
            got = self.client.delete_records(topic, asked, version=version)
            self.assertEqual((got.errorCode, got.lowWatermark), wanted)

    @every_version("InitProducerId")
    def test_init_producer_id(self, version):
        first, second = (self.client.new_producer_id(version) for _ in range(2))
        self.assertNotEqual(first, second)
        got = self.client.call("InitProducerId", version, transactionalId="", transactionTimeoutMs=1000)
        self.assertEqual((got.errorCode, got.producerId, got.producerEpoch), (codes.INVALID_REQUEST, -1, -1))

    @every_version("DescribeConfigs")
    def test_describe_configs(self, version):
        for kind, name, wanted in ((2, self.name, 0), (2, "unknown", codes.UNKNOWN_TOPIC_OR_PARTITION),
                                   (4, "1", 0), (4, "999", codes.INVALID_REQUEST), (99, "x", codes.INVALID_REQUEST)):
            answer = self.client.call("DescribeConfigs", version, includeSynonyms=True, includeDocumentation=True,
                                      resources=[{"resourceType": kind, "resourceName": name}])
            (got,) = answer.results
            self.assertEqual((got.errorCode, got.resourceType, got.resourceName, len(got.configs) > 0),
                             (wanted, kind, name, wanted == 0))

    @every_version("DescribeCluster")
    def test_describe_cluster(self, version):
        answer = self.client.call("DescribeCluster", version)
        self.assertEqual((answer.errorCode, answer.errorMessage, answer.brokers[0].port),
                         (0, None, self.address[1]))
        self.assertEqual(answer.clusterAuthorizedOperations, -2**31)
        if version >= 1:
            answer = self.client.call("DescribeCluster", version, endpointType=2)
            self.assertEqual((answer.errorCode, answer.brokers), (codes.MISMATCHED_ENDPOINT_TYPE, []))

    @every_version("DescribeTopicPartitions")
    def test_describe_topic_partitions(self, version):
        answer = self.client.call("DescribeTopicPartitions", version, responsePartitionLimit=100, cursor=None,
                                  topics=[{"name": self.name}, {"name": "unknown"}])
        self.assertEqual({t.name: t.errorCode for t in answer.topics},
                         {self.name: 0, "unknown": codes.UNKNOWN_TOPIC_OR_PARTITION})

    @every_version("DescribeLogDirs")
    def test_describe_log_dirs(self, version):
        for topic, present in ((self.name, [0, 1]), ("unknown", [])):
            answer = self.client.call("DescribeLogDirs", version, topics=[
                {"topic": topic, "partitions": [0, 1, 2]}])
            self.assertEqual((answer.get("errorCode", 0), answer.results[0].errorCode), (0, 0))
            found = [p.partitionIndex for t in answer.results[0].topics for p in t.partitions]
            self.assertEqual(sorted(found), present)

    @every_version("DescribeProducers")
    def test_describe_producers(self, version):
        answer = self.client.call("DescribeProducers", version, topics=[
            {"name": self.name, "partitionIndexes": [0, 9]}, {"name": "unknown", "partitionIndexes": [0]}])
        self.assertEqual([(t.name, p.partitionIndex, p.errorCode) for t in answer.topics for p in t.partitions],
                         [(self.name, 0, 0), (self.name, 9, 3), ("unknown", 0, 3)])


if __name__ == "__main__":
    unittest.main()
