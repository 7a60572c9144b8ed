"""Malformed request frames: every golden one, and their neighbours."""

import random
import struct
import unittest

import codes
import wire
from base import HOST, IS_KAFKA, ConformanceTest
from wire import vectors

MEGABYTE = 1 << 20
VECTOR_CLUSTER = b"AAAAAAAAAAAAAAAAAAAAAQ"


class GoldenRequests(ConformanceTest):
    def test_each_vector_has_its_outcome(self):
        cases = vectors("requests_bad.jsonl")
        self.assertGreater(len(cases), 40)
        served = {api.apiKey for api in self.client.call("ApiVersions", 0).apiKeys}
        for case in cases:
            frame = bytes.fromhex(case["hex"])
            (key,) = struct.unpack_from(">h", frame.ljust(6, b"\0"), 4)
            with self.subTest(case["name"]):
                if case["outcome"] == "response" and key not in served:
                    continue  # asks for an API of a later day
                self.check(case, frame)
        self.assert_still_served()

    def check(self, case, frame):
        outcome = self.send(frame, 1.0 if case["outcome"].startswith("no answer") else 10.0)
        if case["outcome"] == "connection closed":
            self.assertEqual(outcome, "closed")
        elif case["outcome"] == "response":
            self.assertIsInstance(outcome, bytes)
            if "responseHex" in case:
                self.assertEqual(self.neutral(outcome), self.neutral(self.expected(case, frame)))
        else:
            self.assertEqual(outcome, "silent")

    def send(self, frame, within_s):
        connection = self.new_connection()
        connection.send_bytes(frame)
        return connection.outcome(within_s)

    def expected(self, case, frame):
        """The answers were recorded of a cluster that has had no group yet: nobody is anybody's coordinator there."""
        answer = bytes.fromhex(case["responseHex"])
        not_coordinator = struct.pack(">h", codes.NOT_COORDINATOR)
        if frame[4:6] == b"\0\x0c" and answer.endswith(not_coordinator) and self.has_groups_log():
            return answer.removesuffix(not_coordinator) + struct.pack(">h", codes.UNKNOWN_MEMBER_ID)
        return answer

    def has_groups_log(self):
        (topic,) = self.client.call("Metadata", 9, topics=[{"name": "__consumer_offsets"}],
                                    allowAutoTopicCreation=False).topics
        return topic.errorCode == codes.NONE

    @staticmethod
    def neutral(payload):
        """A Metadata v12 answer without what names one cluster: port and cluster id."""
        at = payload.find(HOST.encode())
        if at < 0:
            return payload
        after_host = at + len(HOST)
        host = payload[:after_host]
        tail = payload[after_host + 4:]
        id_at = 1 + tail.index(b"\x17")
        return host + tail[:id_at] + VECTOR_CLUSTER + tail[id_at + len(VECTOR_CLUSTER):]


class Sizes(ConformanceTest):
    def outcome_of(self, frame, within_s=10.0):
        connection = self.new_connection()
        connection.send_bytes(frame)
        return connection.outcome(within_s)

    def test_sizes_outside_the_limit_close_before_anything_is_read_or_reserved(self):
        before = self.resident_bytes()
        for size in (200_000_000, 104_857_601, 2**31 - 1, -1, -2**31, 0, 1, 7):
            with self.subTest(size=size):
                self.assertEqual(self.outcome_of(struct.pack(">i", size) + bytes(max(0, min(size, 8)))), "closed")
        self.assertLess(self.resident_bytes() - before, 64 * MEGABYTE)
        self.assert_still_served()

    def test_a_frame_at_the_limit_is_not_refused_for_its_size(self):
        connection = self.new_connection()
        connection.send_bytes(struct.pack(">i", 104_857_600))
        self.assertEqual(connection.outcome(0.5), "silent")

    @unittest.skipIf(IS_KAFKA, "Apache Kafka reserves what a frame claims and runs out of heap")
    def test_claimed_sizes_reserve_nothing_until_the_bytes_come(self):
        before = self.resident_bytes()
        connections = [self.new_connection() for _ in range(30)]
        for connection in connections:
            connection.send_bytes(struct.pack(">i", 100_000_000) + b"\0\0\0\x09")
        self.assert_still_served()
        self.assertLess(self.resident_bytes() - before, 32 * MEGABYTE)


class ClaimedCounts(ConformanceTest):
    """Arrays and strings that claim more than the frame holds."""

    BODIES = {
        "metadata v1, 2^31-1 topics": (3, 1, struct.pack(">i", 2**31 - 1)),
        "metadata v1, 2^31-1 topics and one": (3, 1, struct.pack(">ih", 2**31 - 1, 1) + b"x"),
        "metadata v1, a topic name of 32767": (3, 1, struct.pack(">ih", 1, 32767) + b"xxx"),
        "create topics v2, 2^30 topics": (19, 2, struct.pack(">i", 1 << 30)),
        "delete topics v1, 2^31-1 names": (20, 1, struct.pack(">i", 2**31 - 1)),
        "list offsets v1, 2^31-1 topics": (2, 1, struct.pack(">ii", -1, 2**31 - 1)),
        "fetch v4, 2^31-1 topics": (1, 4, struct.pack(">iiiibi", -1, 0, 0, 0, 0, 2**31 - 1)),
        "fetch v4, 2^31-1 partitions": (1, 4, struct.pack(">iiiibih", -1, 0, 0, 0, 0, 1, 1) + b"x\x7f\xff\xff\xff"),
        "produce v7, 2^31-1 topics": (0, 7, struct.pack(">hhii", -1, -1, 1000, 2**31 - 1)),
        "produce v7, 2^31-1 bytes of records":
            (0, 7, struct.pack(">hhiihs", -1, -1, 1000, 1, 1, b"x") + struct.pack(">iii", 1, 0, 2**31 - 1)),
    }

    def test_lying_counts_close_only_this_connection_and_memory_stays_flat(self):
        before = self.resident_bytes()
        for name, (key, version, body) in self.BODIES.items():
            with self.subTest(name):
                frame = wire.sized(wire.header_of(key, version, 3, "c") + body)
                connection = self.new_connection()
                connection.send_bytes(frame)
                self.assertEqual(connection.outcome(10.0), "closed")
        self.assert_still_served()
        self.assertLess(self.resident_bytes() - before, 64 * MEGABYTE)


class Truncated(ConformanceTest):
    def test_every_cut_of_a_good_request_is_answered_or_closed_and_harms_nobody(self):
        samples = (
            ("Metadata", 9, {"topics": [{"name": "x"}], "allowAutoTopicCreation": False}),
            ("Metadata", 1, {"topics": [{"name": "x"}]}),
            ("Fetch", 12, {"maxWaitMs": 0, "minBytes": 0, "topics": [
                {"topic": "x", "partitions": [{"partition": 0, "partitionMaxBytes": 1, "fetchOffset": 0}]}]}),
            ("Produce", 9, {"acks": 1, "timeoutMs": 0, "topicData": [
                {"name": "x", "partitionData": [{"index": 0, "records": b"abc"}]}]}),
            ("CreateTopics", 5, {"timeoutMs": 0, "validateOnly": True, "topics": [
                {"name": "x y", "numPartitions": 1, "replicationFactor": 1}]}),
        )
        for api, version, fields in samples:
            frame = wire.request_frame(api, version, fields)
            for cut in range(5, len(frame)):
                payload = frame[4:cut]
                connection = self.new_connection()
                connection.send_bytes(wire.sized(payload))
                outcome = connection.outcome(5.0)
                connection.close()
                self.assertTrue(outcome == "closed" or isinstance(outcome, bytes), (api, version, cut, outcome))
        self.assert_still_served()

    def test_random_bytes_as_body_of_each_api_harm_nobody(self):
        seed = random.Random(4)
        for key in (0, 1, 2, 3, 18, 19, 20, 21, 22, 23, 32, 35, 37, 60, 61, 75):
            for _ in range(12):
                version = seed.randrange(0, 14)
                body = bytes(seed.choice((0, 0, 0, 1, 2, 255, seed.randrange(256))) for _ in range(seed.randrange(60)))
                connection = self.new_connection()
                connection.send_bytes(wire.sized(wire.header_of(key, version, 1, "c") + body))
                connection.outcome(0.05)
                connection.close()
        self.assert_still_served()


if __name__ == "__main__":
    unittest.main()
