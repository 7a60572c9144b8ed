"""AlterReplicaLogDirs and DescribeLogDirs: where partitions lie, and how they get elsewhere (KIP-113, KIP-858)."""

import os
import pathlib
import unittest

import apis
import codes
from base import IS_KAFKA, Broker, Client, HOST, eventually
from records import batch

SLOW_PROPERTIES = {"replica.alter.log.dirs.io.max.bytes.per.second": "100000"}
KAFKA_PROPERTIES = {"broker.heartbeat.interval.ms": "1000", "broker.session.timeout.ms": "18000"}


class ThreeDirectories(unittest.TestCase):
    """A broker of its own with three log directories."""

    properties = {}

    @classmethod
    def setUpClass(cls):
        if os.environ.get("BARNABAS_BOOTSTRAP"):
            raise unittest.SkipTest("needs a broker of its own")
        cls.broker = Broker()
        cls.addClassCleanup(cls.broker.clean)
        cls.dirs = [str(cls.broker.data_dir.parent / f"disk{index}") for index in (1, 2, 3)]
        properties = {"log.dirs": ",".join(cls.dirs), "log.segment.delete.delay.ms": "60000", **cls.properties}
        cls.broker.properties.update(properties | (KAFKA_PROPERTIES if IS_KAFKA else {}))
        cls.broker.start()
        cls._topics = 0

    def setUp(self):
        self.client = Client((HOST, self.broker.port))
        self.addCleanup(self.client.close)

    def new_topic(self, partitions=1):
        type(self)._topics += 1
        name = f"{self.id().rpartition('.')[2].removeprefix('test_').replace('_', '-')}.{self._topics}"
        self.client.create_usable(name, partitions, {"retention.ms": "-1"})
        return name

    def alter(self, *moves, version=2):
        """moves: (path, topic, partitions …); {(topic, partition): error code}."""
        answer = self.client.call("AlterReplicaLogDirs", version, dirs=[
            {"path": path, "topics": [{"name": topic, "partitions": list(partitions)}]}
            for path, topic, *partitions in moves])
        found = [((result.topicName, each.partitionIndex), each.errorCode)
                 for result in answer.results for each in result.partitions]
        self.assertEqual(len(found), len(dict(found)), "each partition is answered once")
        return dict(found)

    def places(self, topic, version=5):
        """{(partition, is future): (directory, size, lag)}."""
        answer = self.client.call("DescribeLogDirs", version, topics=None)
        return {(each.partitionIndex, each.isFutureKey): (result.logDir, each.partitionSize, each.offsetLag)
                for result in answer.results for named in result.topics if named.name == topic
                for each in named.partitions}

    def place(self, topic, partition=0):
        found = self.places(topic).get((partition, False))
        return found[0] if found else None

    def elsewhere(self, topic):
        """The other directories."""
        return [path for path in self.dirs if path != self.place(topic)]

    def assert_arrives(self, topic, path, partition=0):
        self.assertTrue(eventually(lambda: self.place(topic, partition) == path and
                                   (partition, True) not in self.places(topic), 30), self.places(topic))

    def names(self, path, topic):
        return sorted(name for name in os.listdir(path) if name.startswith(f"{topic}-"))


class Moves(ThreeDirectories):
    def test_a_move_in_every_version(self):
        topic = self.new_topic()
        for version in apis.versions("AlterReplicaLogDirs"):
            for value in (b"a", b"b" * 1000):
                self.client.append(topic, value)
            before, size = self.places(topic)[0, False][:2]
            target = self.elsewhere(topic)[0]
            self.assertEqual(self.alter((target, topic, 0), version=version), {(topic, 0): codes.NONE})
            self.assert_arrives(topic, target)
            self.assertEqual(self.places(topic)[0, False], (target, size, 0))
            # The directories get their names once it serves from the new one.
            self.assertTrue(eventually(lambda: f"{topic}-0" in self.names(target, topic)), self.names(target, topic))
            self.assertFalse([name for name in self.names(target, topic) if name.endswith("-future")])
            self.assertTrue(eventually(lambda: f"{topic}-0" not in self.names(before, topic)))
            self.assertTrue(all(name.endswith("-delete") for name in self.names(before, topic)))
        self.assertEqual(len(self.client.read(topic)), 4)
        self.assertEqual(self.client.append(topic, b"c"), 4)

    def test_many_at_once(self):
        topic = self.new_topic(6)
        for partition in range(6):
            self.client.append(topic, b"x", partition=partition)
        self.assertEqual(self.alter((self.dirs[0], topic, 0, 1), (self.dirs[1], topic, 2, 3), (self.dirs[2], topic, 4, 5)),
                         {(topic, partition): codes.NONE for partition in range(6)})
        for partition in range(6):
            self.assert_arrives(topic, self.dirs[partition // 2], partition)

    def test_empty_requests(self):
        for version in apis.versions("AlterReplicaLogDirs"):
            self.assertEqual(self.alter(version=version), {})
            self.assertEqual(self.alter((self.dirs[0], "t"), version=version), {})

    def test_paths_are_compared_letter_by_letter(self):
        topic = self.new_topic()
        path = pathlib.Path(self.dirs[1])
        for other in ("/nope", path.name, f"{path}/", f"{path.parent}/./{path.name}", ""):
            self.assertEqual(self.alter((other, topic, 0)), {(topic, 0): codes.LOG_DIR_NOT_FOUND}, other)

    def test_partitions_that_are_not_there(self):
        topic = self.new_topic()
        unknown = codes.UNKNOWN_TOPIC_OR_PARTITION
        self.assertEqual(self.alter((self.dirs[0], topic, -1, 7)), {(topic, -1): unknown, (topic, 7): unknown})
        self.assertEqual(self.alter((self.dirs[0], "nobody", 0)), {("nobody", 0): unknown})
        self.assertEqual(self.alter((self.dirs[0], "no body", 0)), {("no body", 0): unknown})
        self.assertEqual(self.alter((self.dirs[0], "", 0)), {("", 0): unknown})
        self.assertEqual(self.alter((self.dirs[0], "__cluster_metadata", 0)), {("__cluster_metadata", 0): unknown})
        self.assertEqual(self.alter(("/nope", "nobody", 0)), {("nobody", 0): codes.LOG_DIR_NOT_FOUND})

    def test_a_name_that_has_no_room_for_the_mark(self):
        fits, too_long = "n" * 211, "n" * 214
        self.assertEqual(self.alter((self.dirs[0], fits, 0)), {(fits, 0): codes.UNKNOWN_TOPIC_OR_PARTITION})
        self.assertEqual(self.alter(("/nope", too_long, 0)), {(too_long, 0): codes.INVALID_TOPIC})

    def test_where_it_is_already(self):
        topic = self.new_topic()
        path = self.place(topic)
        self.assertEqual(self.alter((path, topic, 0)), {(topic, 0): codes.NONE})
        self.assertEqual(self.places(topic), {(0, False): (path, 0, 0)})

    def test_of_a_partition_named_twice_the_last_directory_counts(self):
        topic = self.new_topic()
        first, last = self.elsewhere(topic)
        self.assertEqual(self.alter((first, topic, 0, 0), (last, topic, 0)), {(topic, 0): codes.NONE})
        self.assert_arrives(topic, last)

    def test_one_that_is_made_later_goes_where_it_was_wished_once(self):
        topic = self.new_topic()
        name = f"{topic}.later"
        wished = {self.dirs[2]}
        self.assertEqual(self.alter((self.dirs[2], name, 0, 1, 2, 3)),
                         {(name, index): codes.UNKNOWN_TOPIC_OR_PARTITION for index in range(4)})
        self.client.create_usable(name, 4)
        self.assertEqual({self.place(name, index) for index in range(4)}, wished)
        self.client.delete(name)
        eventually(lambda: not self.places(name))
        self.client.create_usable(name, 4)
        self.assertNotEqual({self.place(name, index) for index in range(4)}, wished)

    def test_producers_stay_known(self):
        topic = self.new_topic()
        producer = self.client.new_producer_id()
        for sequence in range(6):
            self.client.append(topic, b"x", producer_id=producer, producer_epoch=0, sequence=sequence)
        target = self.elsewhere(topic)[0]
        self.alter((target, topic, 0))
        self.assert_arrives(topic, target)
        again = self.client.produce(topic, batch(b"x", producer_id=producer, producer_epoch=0, sequence=3))
        self.assertEqual((again.errorCode, again.baseOffset), (codes.NONE, 3))
        gap = self.client.produce(topic, batch(b"x", producer_id=producer, producer_epoch=0, sequence=8))
        self.assertEqual(gap.errorCode, codes.OUT_OF_ORDER_SEQUENCE_NUMBER)

    def test_deleted_records_stay_deleted(self):
        topic = self.new_topic()
        for _ in range(3):
            self.client.append(topic, b"1", b"2", b"3", b"4")
        self.assertEqual(self.client.delete_records(topic, 6).lowWatermark, 6)
        target = self.elsewhere(topic)[0]
        self.alter((target, topic, 0))
        self.assert_arrives(topic, target)
        self.assertEqual((self.client.start_offset(topic), self.client.end_offset(topic)), (6, 12))


class SlowMoves(ThreeDirectories):
    """With a rate at which a move takes a while."""

    properties = SLOW_PROPERTIES

    def large_topic(self):
        topic = self.new_topic()
        for _ in range(30):
            self.client.append(topic, b"x" * 100_000)
        return topic

    def test_a_replica_on_its_way_is_shown(self):
        topic = self.large_topic()
        present, target = self.place(topic), self.elsewhere(topic)[0]
        self.alter((target, topic, 0))
        self.assertTrue(eventually(lambda: (0, True) in self.places(topic)))
        for version in apis.versions("DescribeLogDirs"):
            places = self.places(topic, version)
            self.assertEqual(places[0, False][0], present)
            self.assertEqual(places[0, True][0], target)
            self.assertGreater(places[0, True][2], 0)
            self.assertEqual(places[0, False][2], 0)
        (name,) = self.names(target, topic)
        self.assertRegex(name, r"-0\.[0-9a-f]{32}-future$")
        # The same once more changes nothing.
        self.assertEqual(self.alter((target, topic, 0)), {(topic, 0): codes.NONE})
        self.assertEqual(self.names(target, topic), [name])
        self.alter((present, topic, 0))

    def test_another_directory_and_back(self):
        topic = self.large_topic()
        present = self.place(topic)
        first, second = self.elsewhere(topic)
        self.alter((first, topic, 0))
        self.assertTrue(eventually(lambda: (0, True) in self.places(topic)))
        self.assertEqual(self.alter((second, topic, 0)), {(topic, 0): codes.NONE})
        self.assertTrue(eventually(lambda: self.places(topic).get((0, True), [""])[0] == second))
        self.assertTrue(all(name.endswith("-delete") for name in self.names(first, topic)))
        self.assertEqual(self.alter((present, topic, 0)), {(topic, 0): codes.NONE})
        self.assertTrue(eventually(lambda: (0, True) not in self.places(topic)))
        self.assertEqual(self.place(topic), present)
        self.assertTrue(all(name.endswith("-delete") for name in self.names(second, topic)))

    def test_a_topic_that_is_deleted_on_its_way(self):
        topic = self.large_topic()
        self.alter((self.elsewhere(topic)[0], topic, 0))
        self.assertTrue(eventually(lambda: (0, True) in self.places(topic)))
        self.assertEqual(self.client.delete(topic).errorCode, codes.NONE)
        self.assertTrue(eventually(lambda: not self.places(topic)))
        for path in self.dirs:
            self.assertTrue(eventually(lambda: all(name.endswith("-delete") for name in self.names(path, topic))), path)


if __name__ == "__main__":
    unittest.main()
