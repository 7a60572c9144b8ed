"""Clients over their quotas: what they are told, and for how long their connections are left alone (KIP-219)."""

import time
import unittest

import codes
from base import ConformanceTest, eventually
from quotas import Throttled, described, entity, set_quotas
from records import batch

WINDOW_S = 10  # what a burst is spread over: all windows of a second but the one under way


class ThrottlingTest(ConformanceTest):
    def limited(self, parts=None, client_id=None, **quotas):
        """A connection of a client id of its own with these quotas, once they are in force."""
        name = client_id or self.new_name("client")
        parts = parts or entity(client_id=name)
        set_quotas(self.client, parts, **quotas)
        self.addCleanup(lambda: set_quotas(self.client, parts, **{key: None for key in quotas}))
        key = tuple((part["entityType"], part["entityName"]) for part in parts)
        self.assertTrue(eventually(lambda: quotas.items() <= described(self.client).get(key, {}).items()))
        return self.connected(name)

    def connected(self, client_id):
        connection = Throttled(self.address, client_id)
        self.addCleanup(connection.close)
        return connection

    def assert_muted_for(self, client, seconds, slack=0.4):
        took = client.ask()
        self.assertGreater(took, seconds - 0.05)
        self.assertLess(took, seconds + slack)


class Produce(ThrottlingTest):
    def test_answer_comes_at_once_and_the_next_request_later_whatever_the_version(self):
        topic = self.new_topic()
        for version in (3, 5, 6, 9, 12):
            client = self.limited(producer_byte_rate=19_000)
            throttle_ms = client.produce(topic, batch(bytes(200_000)), version=version)
            self.assertLess(client.took, 0.4)
            self.assertAlmostEqual(throttle_ms, (200_150 / WINDOW_S / 19_000 - 1) * WINDOW_S * 1000, delta=40)
            self.assert_muted_for(client, throttle_ms / 1000)
            self.assertLess(client.ask(), 0.3)

    def test_obedient_client_is_not_made_to_wait_twice(self):
        topic = self.new_topic()
        client = self.limited(producer_byte_rate=19_000)
        throttle_ms = client.produce(topic, batch(bytes(200_000)))
        self.assertGreater(throttle_ms, 300)
        time.sleep(throttle_ms / 1000 + 0.05)
        again = client.produce(topic, batch(b"x"))
        self.assertLess(client.took, 0.3)
        self.assertLess(again, 50)

    def test_producers_that_want_no_answer_are_muted_too(self):
        topic = self.new_topic()
        client = self.limited(producer_byte_rate=19_000)
        client.produce(topic, batch(bytes(200_000)), acks=0)
        self.assertGreater(client.ask(), 0.4)

    def test_within_the_quota_nobody_waits(self):
        topic = self.new_topic()
        client = self.limited(producer_byte_rate=100_000)
        for _ in range(3):
            self.assertEqual(client.produce(topic, batch(bytes(300_000))), 0)
        self.assertGreater(client.produce(topic, batch(bytes(300_000))), 0)

    def test_connections_of_a_client_share_one_bucket(self):
        topic = self.new_topic()
        first = self.limited(producer_byte_rate=19_000)
        others = [self.connected(first.connection.client_id) for _ in range(7)]
        self.assertEqual(first.produce(topic, batch(bytes(150_000))), 0)
        self.assertGreater(others[0].produce(topic, batch(bytes(60_000))), 0)
        for other in others[1:]:  # whatever loop they live on
            self.assertGreater(other.produce(topic, batch(bytes(1000))), 0)

    def test_change_counts_at_once_and_removal_too(self):
        topic = self.new_topic()
        client = self.limited(producer_byte_rate=1_000_000)
        self.assertEqual(client.produce(topic, batch(bytes(200_000))), 0)
        parts = entity(client_id=client.connection.client_id)
        set_quotas(self.client, parts, producer_byte_rate=19_000)
        self.assertTrue(eventually(lambda: client.produce(topic, batch(b"x")) > 0, 5))
        set_quotas(self.client, parts, producer_byte_rate=None)
        self.assertTrue(eventually(lambda: client.produce(topic, batch(b"x")) == 0, 20))
        self.assertEqual(client.produce(topic, batch(bytes(200_000))), 0)


class Precedence(ThrottlingTest):
    SMALL, LARGE = 1_000, 100_000_000

    def test_the_most_special_entity_wins(self):
        """From the most general one to the most special one: each takes the place of those before it."""
        topic = self.new_topic()
        name, user = self.new_name("c"), "ANONYMOUS"
        levels = [entity(client_id=name), entity(user=None), entity(client_id=None, user=None),
                  entity(client_id=name, user=None), entity(user=user), entity(client_id=None, user=user),
                  entity(client_id=name, user=user)]
        generous = True
        for parts in levels:
            client = self.limited(parts, name, producer_byte_rate=self.LARGE if generous else self.SMALL)
            throttle_ms = client.produce(topic, batch(bytes(20_000)))
            self.assertEqual(throttle_ms > 0, not generous, parts)
            generous = not generous
            client.close()

    def test_all_clients_of_a_user_share_its_quota(self):
        topic = self.new_topic()
        first = self.limited(entity(user="ANONYMOUS"), producer_byte_rate=19_000)
        self.assertEqual(first.produce(topic, batch(bytes(150_000))), 0)
        self.assertGreater(self.connected(self.new_name("other")).produce(topic, batch(bytes(60_000))), 0)

    def test_default_of_clients_binds_each_by_itself_and_nobody_without_an_id(self):
        topic = self.new_topic()
        name = self.new_name("one")
        first = self.limited(entity(client_id=None), name, producer_byte_rate=19_000)
        self.assertGreater(first.produce(topic, batch(bytes(200_000))), 0)
        self.assertEqual(self.connected(self.new_name("two")).produce(topic, batch(bytes(100_000))), 0)
        self.assertEqual(self.connected("").produce(topic, batch(bytes(400_000))), 0)


class Fetch(ThrottlingTest):
    def setUp(self):
        super().setUp()
        self.topic = self.new_topic()
        for _ in range(80):
            self.client.append(self.topic, bytes(5_000))

    def until_served(self, client, **fields):
        """The first answer with records. An answer as large as all windows hold is a little more with its head."""
        for _ in range(3):
            got = client.fetch(self.topic, **fields)
            if got.throttleTimeMs == 0:
                return got
            self.assertLess(got.throttleTimeMs, 200)
        self.fail("never served")

    def test_over_quota_nothing_is_given_and_the_connection_muted(self):
        for version in (4, 7, 8, 12):
            client = self.limited(consumer_byte_rate=20_000)
            served = self.until_served(client, version=version)
            size = len(served.responses[0].partitions[0].records)
            self.assertGreater(size, 190_000)
            self.assertLessEqual(size, 20_000 * WINDOW_S)
            got = client.fetch(self.topic, version=version, max_bytes=20_000)
            self.assertLess(client.took, 0.4)
            self.assertEqual((got.get("errorCode", 0), len(got.responses), got.get("sessionId", 0)), (0, 0, 0))
            self.assertGreater(got.throttleTimeMs, 400)
            self.assertLess(got.throttleTimeMs, 2_000)
            self.assert_muted_for(client, got.throttleTimeMs / 1000)
            self.assertEqual(client.fetch(self.topic, version=version, max_bytes=1, offset=8).throttleTimeMs, 0)

    def test_session_goes_on_after_an_empty_answer(self):
        client = self.limited(consumer_byte_rate=20_000)
        opened = self.until_served(client, session=(0, 0), max_bytes=100_000)
        self.assertNotEqual(opened.sessionId, 0)
        got = client.fetch(self.topic, session=(opened.sessionId, 1), topics=False, max_bytes=120_000)
        self.assertGreater(got.throttleTimeMs, 0)
        self.assertEqual((got.errorCode, got.sessionId, len(got.responses)), (0, opened.sessionId, 0))
        got = client.fetch(self.topic, session=(opened.sessionId, 2), topics=False, max_bytes=1)
        self.assertEqual((got.errorCode, got.sessionId), (0, opened.sessionId))
        if got.throttleTimeMs == 0:
            self.assertEqual(len(got.responses), 1)

    def test_new_session_is_not_made_with_an_empty_answer(self):
        client = self.limited(consumer_byte_rate=20_000)
        self.until_served(client)
        got = client.fetch(self.topic, session=(0, 0), max_bytes=60_000)
        self.assertGreater(got.throttleTimeMs, 0)
        self.assertEqual((got.errorCode, got.sessionId, len(got.responses)), (0, 0, 0))


class Requests(ThrottlingTest):
    def test_whoever_uses_too_much_time_waits_at_most_a_window(self):
        topic = self.new_topic()
        client = self.limited(request_percentage=1e-6)
        for _ in range(2):
            got = client.call("Metadata", 9, topics=[{"name": topic}])
            self.assertEqual(got.throttleTimeMs, 1000)
            self.assert_muted_for(client, 1.0)
        self.assertEqual(client.call("ApiVersions", 3, clientSoftwareName="t", clientSoftwareVersion="1")
                         .throttleTimeMs, 1000)
        self.assertEqual(client.produce(topic, batch(b"x")), 1000)
        got = client.fetch(topic)
        self.assertEqual((got.throttleTimeMs, len(got.responses)), (1000, 0))
        for api, version, fields in (
                ("ListOffsets", 5, {"replicaId": -1, "topics": []}), ("DescribeGroups", 5, {"groups": ["g"]}),
                ("DescribeCluster", 0, {}), ("DescribeClientQuotas", 1, {"components": [], "strict": True}),
                ("CreateTopics", 7, {"topics": [], "timeoutMs": 1000, "validateOnly": True})):
            self.assertEqual(client.call(api, version, **fields).throttleTimeMs, 1000, api)

    def test_producers_that_want_no_answer_are_exempt(self):
        topic = self.new_topic()
        client = self.limited(request_percentage=1e-6)
        for _ in range(3):
            client.produce(topic, batch(b"x"), acks=0)
        self.assertTrue(eventually(lambda: self.client.end_offset(topic) == 3, 2))

    def test_enough_for_everyone_throttles_nobody(self):
        topic = self.new_topic()
        client = self.limited(request_percentage=100_000)
        for _ in range(50):
            self.assertEqual(client.call("Metadata", 9, topics=[{"name": topic}]).throttleTimeMs, 0)


class Mutations(ThrottlingTest):
    """controller_mutation_rate (KIP-599): what eleven windows allow may be used at once, and be overdrawn once."""

    def create(self, client, version, *topics, validate_only=False):
        got = client.call("CreateTopics", version, timeoutMs=10_000, validateOnly=validate_only, topics=[
            {"name": name, "numPartitions": partitions, "replicationFactor": 1} for name, partitions in topics])
        return got.throttleTimeMs, [(one.errorCode, one.errorMessage) for one in got.topics]

    def assert_one_second_owed(self, throttle_ms, start):
        """Less what has become free again since `start`."""
        self.assertLess(throttle_ms, 1200)
        self.assertGreater(throttle_ms, 800 - 1000 * (time.monotonic() - start))

    def test_topics_beyond_the_quota_are_refused_since_version_6(self):
        a, b, c = (self.new_name(hint) for hint in "abc")
        client = self.limited(controller_mutation_rate=1)
        start = time.monotonic()
        self.assertEqual(self.create(client, 7, (a, 5), validate_only=True), (0, [(0, None)]))
        throttle_ms, got = self.create(client, 6, (a, 5), (b, 2), (c, 1))
        self.assertEqual(got, [(0, None), (0, None), (codes.THROTTLING_QUOTA_EXCEEDED, None)])
        self.assert_one_second_owed(throttle_ms, start)
        self.assert_muted_for(client, throttle_ms / 1000)
        self.assertEqual(self.create(client, 7, (a, 1))[1][0][0], codes.TOPIC_ALREADY_EXISTS)

    def test_before_version_6_it_is_done_and_the_client_has_to_wait(self):
        name = self.new_name()
        client = self.limited(controller_mutation_rate=1)
        start = time.monotonic()
        throttle_ms, got = self.create(client, 5, (name, 12))
        self.assertEqual(got, [(0, None)])
        self.assert_one_second_owed(throttle_ms, start)
        self.assert_muted_for(client, throttle_ms / 1000)

    def test_partitions_and_deletions_count_too(self):
        name = self.new_name()
        client = self.limited(controller_mutation_rate=2)
        self.assertEqual(self.create(client, 7, (name, 20)), (0, [(0, None)]))

        def widen(version, count):
            got = client.call("CreatePartitions", version, timeoutMs=10_000, validateOnly=False,
                              topics=[{"name": name, "count": count, "assignments": None}])
            return got.throttleTimeMs, [(one.errorCode, one.errorMessage) for one in got.results]

        def delete(version):
            got = client.call("DeleteTopics", version, timeoutMs=10_000, topicNames=[name])
            return got.throttleTimeMs, [one.errorCode for one in got.responses]

        self.assertEqual(widen(3, 26), (0, [(0, None)]))
        throttle_ms, got = widen(3, 27)
        self.assertEqual(got, [(codes.THROTTLING_QUOTA_EXCEEDED, None)])
        self.assertLess(throttle_ms, 2200)
        throttle_ms, got = widen(2, 27)
        self.assertEqual(got, [(0, None)])
        throttle_ms, got = delete(5)
        self.assertEqual(got, [codes.THROTTLING_QUOTA_EXCEEDED] if throttle_ms else [0])
        if throttle_ms:
            throttle_ms, got = delete(4)
            self.assertEqual(got, [0])
            self.assertGreater(throttle_ms, 8_000)


if __name__ == "__main__":
    unittest.main()
