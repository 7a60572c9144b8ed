"""DescribeQuorum, UpdateFeatures and UnregisterBroker: the cluster as one broker is it."""

import time
import unittest

import apis
import codes
from base import IS_KAFKA, Broker, Client, ConformanceTest, HOST, SHARED_PROPERTIES, eventually
from differences import differ

NO_ID = bytes(16)
LOG = "__cluster_metadata"
FAILED = "The update failed for all features since the following feature had an error: "
LEVELS = {"eligible.leader.replicas.version": 1, "group.version": 1, "kraft.version": 1, "metadata.version": 33,
          "share.version": 2, "streams.version": 1, "transaction.version": 2}
UPGRADE, SAFE, UNSAFE = 1, 2, 3


def partitions_of(name, *indexes):
    return {"topicName": name, "partitions": [{"partitionIndex": index} for index in indexes]}


class Quorum(ConformanceTest):
    def describe(self, *topics, version=2):
        return self.client.call("DescribeQuorum", version, topics=list(topics))

    def test_the_one_voter_leads_and_is_caught_up(self):
        for version in apis.versions("DescribeQuorum"):
            before = time.time() * 1000
            got = self.describe(partitions_of(LOG, 0), version=version)
            self.assertEqual(got.errorCode, 0)
            self.assertEqual(got.get("errorMessage", ""), "")
            ((topic,), ) = (got.topics,)
            (partition,) = topic.partitions
            self.assertEqual((topic.topicName, partition.partitionIndex, partition.errorCode), (LOG, 0, 0))
            self.assertEqual(partition.get("errorMessage", ""), "")
            self.assertEqual(partition.leaderId, 1)
            self.assertGreaterEqual(partition.leaderEpoch, 1)
            self.assertGreater(partition.highWatermark, 10)
            (voter,) = partition.currentVoters
            self.assertEqual((voter.replicaId, voter.logEndOffset, partition.observers),
                             (1, partition.highWatermark, []))
            if version >= 1:
                for at in (voter.lastFetchTimestamp, voter.lastCaughtUpTimestamp):
                    self.assertLess(abs(at - before), 10_000)
            if version >= 2:
                self.assertNotEqual(voter.replicaDirectoryId, NO_ID)
                (node,) = got.nodes
                (listener,) = node.listeners
                self.assertEqual((node.nodeId, listener.name), (1, "CONTROLLER"))
                self.assertGreater(listener.port, 0)

    def test_the_high_watermark_follows_changes(self):
        before = self.describe(partitions_of(LOG, 0)).topics[0].partitions[0].highWatermark
        self.new_topic()
        after = self.describe(partitions_of(LOG, 0)).topics[0].partitions[0].highWatermark
        self.assertGreaterEqual(after, before + 2)

    def test_anything_else_is_unknown_and_takes_the_log_with_it(self):
        for version in apis.versions("DescribeQuorum"):
            for topics in ([partitions_of(LOG, 1)], [partitions_of(LOG, 0, 1)], [partitions_of(LOG, 0, 0)],
                           [partitions_of(LOG)], [partitions_of("nope", 0, 5)], [partitions_of("", -1)],
                           [partitions_of(LOG, 0), partitions_of("nope", 0)],
                           [partitions_of(LOG, 0), partitions_of(LOG, 0)], []):
                got = self.describe(*topics, version=version)
                self.assertEqual((got.errorCode, got.get("nodes", [])), (0, []))
                self.assertEqual([t.topicName for t in got.topics], [t["topicName"] for t in topics])
                for topic, asked in zip(got.topics, topics):
                    self.assertEqual([p.partitionIndex for p in topic.partitions],
                                     [p["partitionIndex"] for p in asked["partitions"]])
                    for p in topic.partitions:
                        self.assertEqual((p.errorCode, p.leaderId, p.leaderEpoch, p.highWatermark, p.currentVoters),
                                         (codes.UNKNOWN_TOPIC_OR_PARTITION, 0, 0, 0, []))
                        if version >= 2:
                            self.assertEqual(p.errorMessage, "This server does not host this topic-partition.")


class Features(ConformanceTest):
    def update(self, *updates, version=2, **fields):
        """Each update is (feature, level, type)."""
        wanted = [{"feature": name, "maxVersionLevel": level, "upgradeType": kind} for name, level, kind in updates]
        if version == 0:
            wanted = [{"feature": name, "maxVersionLevel": level, "allowDowngrade": kind != UPGRADE}
                      for name, level, kind in updates]
        return self.client.call("UpdateFeatures", version, timeoutMs=10000, featureUpdates=wanted, **fields)

    def finalized(self):
        got = self.client.call("ApiVersions", 4, clientSoftwareName="test", clientSoftwareVersion="1")
        return {feature.name: feature.maxVersionLevel for feature in got.finalizedFeatures}

    def refused(self, message, *updates, versions=(1, 2)):
        for version in versions:
            for validate_only in (True, False) if version else (False,):
                got = self.update(*updates, version=version, validateOnly=validate_only)
                self.assertEqual((got.errorCode, got.errorMessage), (codes.INVALID_UPDATE_VERSION, FAILED + message))
                self.assertEqual(got.get("results", []), [])
        self.assertEqual(self.finalized(), LEVELS)

    def invalid(self, name, level, kind, why, versions=(1, 2)):
        self.refused(f"Invalid update version {level} for feature {name}. {why}", (name, level, kind),
                     versions=versions)

    def test_levels_that_this_version_does_not_know(self):
        every = apis.versions("UpdateFeatures")
        for name, level, known in (("metadata.version", 34, "7-33"), ("metadata.version", 6, "7-33"),
                                   ("metadata.version", 0, "7-33"), ("metadata.version", 32767, "7-33"),
                                   ("group.version", 2, "0-1"), ("transaction.version", 3, "0-2"),
                                   ("kraft.version", 2, "0-1"), ("share.version", 3, "0-2"),
                                   ("streams.version", 2, "0-1"), ("eligible.leader.replicas.version", 2, "0-1")):
            self.invalid(name, level, UPGRADE, f"Local controller 1 only supports versions {known}", every)
        for name in ("nope.version", "", "Metadata.Version"):
            self.invalid(name, 1, UPGRADE, "Local controller 1 does not support this feature.", every)
            self.invalid(name, 0, UPGRADE, f"Feature {name} not found.", every)
        self.invalid("group.version", -3, UPGRADE, "A feature version cannot be less than 0.", every)

    def test_types_of_upgrade(self):
        for name, level in (("metadata.version", 32), ("metadata.version", 33), ("group.version", -3), ("nope", 1)):
            for kind in (0, 4, -1, 127):
                self.invalid(name, level, kind, "The controller does not support the given upgrade type.")
        for name, level in (("metadata.version", 32), ("metadata.version", 7), ("group.version", 0),
                            ("kraft.version", 0), ("transaction.version", 1)):
            self.invalid(name, level, UPGRADE, "Can't downgrade the version of this feature without setting the upgrade "
                                               "type to either safe or unsafe downgrade.", (0, 1, 2))

    def test_a_downgrade_that_would_lose_records(self):
        for level in (32, 25, 7):
            start = f"Unsupported metadata.version downgrade from 33 to {level}. "
            self.refused(start + "Refusing to perform the requested downgrade because it might delete metadata "
                                 "information.", ("metadata.version", level, SAFE))
            self.refused(start + "Unsafe metadata downgrade is not supported in this version.",
                         ("metadata.version", level, UNSAFE))
        for kind in (SAFE, UNSAFE):
            self.invalid("kraft.version", 0, kind, "Can't downgrade the version of this feature.")

    def test_one_bad_feature_fails_all(self):
        for updates in ((("group.version", 0, SAFE), ("nope.version", 1, UPGRADE)),
                        (("nope.version", 1, UPGRADE), ("group.version", 0, SAFE))):
            self.refused("Invalid update version 1 for feature nope.version. Local controller 1 does not support this "
                         "feature.", *updates)

    def test_what_is_so_already_is_no_error(self):
        for version in apis.versions("UpdateFeatures"):
            for kind in (UPGRADE, SAFE, UNSAFE) if version else (UPGRADE,):
                for name, level in LEVELS.items():
                    got = self.update((name, level, kind), version=version)
                    self.assertEqual((got.errorCode, got.errorMessage), (0, None))
                    if version < 2:
                        self.assertEqual([(r.feature, r.errorCode, r.errorMessage) for r in got.results],
                                         [(name, 0, "NONE")])
            got = self.update(version=version)
            self.assertEqual((got.errorCode, got.errorMessage, got.get("results", [])), (0, None, []))

    def test_validation_alone_changes_nothing(self):
        for version in (1, 2):
            for name, level in (("group.version", 0), ("transaction.version", 1), ("share.version", 1),
                                ("eligible.leader.replicas.version", 0), ("streams.version", 0)):
                got = self.update((name, level, SAFE), version=version, validateOnly=True)
                self.assertEqual((got.errorCode, got.errorMessage), (0, None))
        self.assertEqual(self.finalized(), LEVELS)

    def test_results_follow_the_request(self):
        got = self.update(("share.version", 2, UPGRADE), ("group.version", 1, UPGRADE), ("share.version", 2, UPGRADE),
                          version=1)
        self.assertEqual([r.feature for r in got.results], ["share.version", "group.version", "share.version"])

    def test_no_time_is_time_enough(self):
        for timeout_ms in (0, -1):
            got = self.client.call("UpdateFeatures", 2, timeoutMs=timeout_ms, validateOnly=True, featureUpdates=[
                {"feature": "group.version", "maxVersionLevel": 1}])
            self.assertEqual(got.errorCode, 0)


class OwnBroker(unittest.TestCase):
    """Changes that other cases must not see."""

    def setUp(self):
        self.broker = Broker(properties=SHARED_PROPERTIES).start()
        self.addCleanup(self.broker.clean)
        self.connect()

    def connect(self):
        self.client = Client((HOST, self.broker.port))
        self.addCleanup(self.client.close)

    finalized = Features.finalized
    update = Features.update

    def becomes(self, levels):
        self.assertTrue(eventually(lambda: self.finalized() == levels), self.finalized())

    def test_levels_go_down_and_up_and_survive_a_restart(self):
        lower = {**LEVELS, "transaction.version": 1, "share.version": 1}
        del lower["group.version"]  # level 0 is no level
        del lower["eligible.leader.replicas.version"]
        updates = (("group.version", 0, SAFE), ("transaction.version", 1, UNSAFE), ("share.version", 1, SAFE),
                   ("eligible.leader.replicas.version", 0, SAFE))
        self.assertEqual(self.update(*updates).errorCode, 0)
        self.becomes(lower)
        # Lowering to what is there does nothing; raising by a downgrade is refused.
        self.assertEqual(self.update(("group.version", 0, SAFE)).errorCode, 0)
        got = self.update(("group.version", 1, SAFE))
        self.assertEqual((got.errorCode, got.errorMessage), (codes.INVALID_UPDATE_VERSION, FAILED +
                         "Invalid update version 1 for feature group.version. Can't downgrade to a newer version."))
        self.client.create_usable("made-at-lower-levels", 2)
        self.broker.restart()
        self.connect()
        self.becomes(lower)
        self.client.await_usable("made-at-lower-levels", 2)
        self.assertEqual(self.update(*((name, level, UPGRADE) for name, level in LEVELS.items())).errorCode, 0)
        self.becomes(LEVELS)
        self.broker.kill()
        self.broker.start()
        self.connect()
        self.becomes(LEVELS)
        self.client.await_usable("made-at-lower-levels", 2)

    def test_of_a_feature_named_twice_the_last_counts(self):
        self.assertEqual(self.update(("group.version", 1, UPGRADE), ("group.version", 0, SAFE)).errorCode, 0)
        without = {name: level for name, level in LEVELS.items() if name != "group.version"}
        self.becomes(without)
        self.assertEqual(self.update(("group.version", 0, SAFE), ("group.version", 1, UPGRADE)).errorCode, 0)
        self.becomes(LEVELS)

    def test_the_running_broker_is_not_unregistered(self):
        if IS_KAFKA:
            self.skipTest("Kafka does it, and then serves nobody until it is started again")
        self.client.create_usable("served", 1)
        got = self.client.call("UnregisterBroker", 0, brokerId=1)
        self.assertEqual(got.errorCode, differ("unregister-running-broker"))
        self.assertTrue(got.errorMessage)
        self.assertEqual([b.nodeId for b in self.client.metadata("served").brokers], [1])
        self.assertEqual(self.client.append("served", b"still"), 0)


class Unregistering(ConformanceTest):
    def test_brokers_that_never_were(self):
        for broker in (2, 0, -1, 999, 2**31 - 1, -2**31):
            got = self.client.call("UnregisterBroker", 0, brokerId=broker)
            self.assertEqual((got.errorCode, got.errorMessage), (codes.BROKER_ID_NOT_REGISTERED,
                             f"Broker ID {broker} is not currently registered"))


if __name__ == "__main__":
    unittest.main()
