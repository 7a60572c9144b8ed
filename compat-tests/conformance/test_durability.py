"""What outlives an orderly restart, kill -9, and a full disk. Every case has a broker of its own."""

import os
import struct
import subprocess
import unittest

import codes
import records
from base import HOST, Broker, Client, eventually, fetched
from client import ConnectionClosed
from differences import differ
from records import GZIP, SNAPPY, Batch, batch, now_ms, records_of

MEGABYTE = 1 << 20


class OwnBroker(unittest.TestCase):
    PROPERTIES = {}
    maxDiff = 4000

    def setUp(self):
        if os.environ.get("BARNABAS_BOOTSTRAP"):
            self.skipTest("needs a broker of its own")
        self.broker = Broker(properties=self.PROPERTIES)
        self.addCleanup(self.broker.clean)
        self.prepare()
        self.broker.start()
        self.client = self.connect()

    def prepare(self):
        """Before the first start."""

    def connect(self):
        client = Client((HOST, self.broker.port))
        self.addCleanup(client.close)
        return client

    def restart(self, orderly):
        self.client.close()
        if orderly:
            self.broker.stop()
        else:
            self.broker.kill()
        self.broker.restart()
        self.client = self.connect()


class Restart(OwnBroker):
    """Several stories share the restarts, for those are slow with Apache Kafka."""

    def test_everything_acknowledged_is_there_after_orderly_restarts_and_after_kill(self):
        stories = [story(self) for story in (Contents, Epochs, Producers, ZeroChecksum)]
        for story in stories:
            story.tell()
        for number, orderly in enumerate((True, False, False, True)):
            self.restart(orderly)
            for story in stories:
                with self.subTest(type(story).__name__, restart=number, orderly=orderly):
                    story.check()
        self.assertEqual(self.client.create("gone").errorCode, 0)


class Story:
    """Something done before the restarts, and looked at after each."""

    def __init__(self, test):
        self.test = test

    @property
    def client(self):
        return self.test.client


class Contents(Story):
    """Topics, ids, configs, offsets, records, log start offsets, what was deleted."""

    def state(self):
        metadata = self.client.metadata("plain", "tuned")
        configs = self.client.call("DescribeConfigs", 4, resources=[{"resourceType": 2, "resourceName": "tuned"}])
        return {
            "cluster": metadata.clusterId,
            "topics": {t.name: (t.errorCode, t.topicId, sorted(p.partitionIndex for p in t.partitions))
                       for t in metadata.topics},
            "configs": {c.name: c.value for c in configs.results[0].configs if c.configSource == 1},
            "offsets": {(name, p): (self.client.start_offset(name, p), self.client.end_offset(name, p))
                        for name, p in (("plain", 0), ("tuned", 0), ("tuned", 1), ("tuned", 2))},
            "records": records_of(self.client.read("plain", 3)),
            "by time": self.client.list_offset("tuned", 1500, 1).offset,
            "gone": self.client.metadata("gone").topics[0].errorCode,
        }

    def tell(self):
        client = self.client
        client.create_usable("plain")
        client.create_usable("tuned", 2, {"retention.ms": "-1", "max.message.bytes": "2000000"})
        client.create_usable("gone")
        for number in range(20):
            client.append("plain", b"a%d" % number, b"b" * number, codec=(0, GZIP, SNAPPY)[number % 3])
        client.append("tuned", b"x", b"y", partition=1, timestamps=(1000, 2000))
        client.delete_records("plain", 3)
        client.call("CreatePartitions", 3, timeoutMs=10000, topics=[{"name": "tuned", "count": 3, "assignments": None}])
        client.await_usable("tuned", 3)
        client.append("tuned", b"z", partition=2)
        self.test.assertEqual(client.delete("gone").errorCode, 0)
        self.test.assertTrue(eventually(lambda: client.metadata("gone").topics[0].errorCode))
        self.before = self.state()
        self.test.assertEqual(self.before["offsets"], {("plain", 0): (3, 40), ("tuned", 0): (0, 0),
                                                       ("tuned", 1): (0, 2), ("tuned", 2): (0, 1)})

    def check(self):
        self.client.await_usable("plain")
        self.client.await_usable("tuned", 3)
        self.test.assertEqual(self.state(), self.before)


class Epochs(Story):
    """The leader epoch is the same wherever it is told; an older one is fenced and its end is known."""

    def tell(self):
        self.topic_id = self.client.create_usable("epochs")
        self.epoch, self.end = 0, 1
        self.client.append("epochs", b"a")

    def check(self):
        client, test, old = self.client, self.test, self.epoch
        client.await_usable("epochs")
        epoch = client.metadata("epochs").topics[0].partitions[0].leaderEpoch
        old_end, self.epoch, self.end = self.end, epoch, self.end + 1
        test.assertGreaterEqual(epoch, old)
        test.assertEqual(client.append("epochs", b"b"), old_end)
        told = {client.read("epochs")[-1].leader_epoch, client.list_offset("epochs", -1).leaderEpoch,
                self.end_of(epoch).leaderEpoch}
        test.assertEqual((told, self.end_of(epoch).endOffset), ({epoch}, self.end))
        if epoch > old:
            self.check_fenced(old, old_end, epoch)

    def end_of(self, epoch, current=-1):
        return self.client.call("OffsetForLeaderEpoch", 4, replicaId=-1, topics=[{"topic": "epochs", "partitions": [
            {"partition": 0, "leaderEpoch": epoch, "currentLeaderEpoch": current}]}]).topics[0].partitions[0]

    def check_fenced(self, old, old_end, epoch):
        client, test, fenced = self.client, self.test, codes.FENCED_LEADER_EPOCH
        asked = self.end_of(old)
        test.assertEqual((asked.errorCode, asked.leaderEpoch, asked.endOffset), (0, old, old_end))
        test.assertEqual(self.end_of(old, old).errorCode, fenced)
        test.assertEqual(client.list_offset("epochs", -1, epoch=old).errorCode, fenced)
        for version in (9, 12):
            part = client.fetch_all([fetched("epochs", currentLeaderEpoch=old)], version).responses[0].partitions[0]
            test.assertEqual((part.errorCode, part.records), (fenced, b""))
        for version in (16, 18):  # the leader is told along with the error
            answer = client.fetch_all([fetched(self.topic_id, currentLeaderEpoch=old, version=version)], version)
            part = answer.responses[0].partitions[0]
            test.assertEqual((part.errorCode, part.currentLeader), (fenced, {"leaderId": 1, "leaderEpoch": epoch}))
            test.assertEqual([(n.nodeId, n.port) for n in answer.nodeEndpoints], [(1, test.broker.port)])
        beyond = client.fetch_all([fetched("epochs", old_end + 1, lastFetchedEpoch=old)]).responses[0].partitions[0]
        test.assertEqual((beyond.errorCode, beyond.divergingEpoch), (0, {"epoch": old, "endOffset": old_end}))


class Producers(Story):
    """Sequences go on; repeats of the last batch are known, though its records may be deleted."""

    def send(self, producer_id, sequence, epoch=0, count=1):
        got = self.client.produce("producers", batch(*[b"s"] * count, producer_id=producer_id, producer_epoch=epoch,
                                                     sequence=sequence))
        return got.errorCode, got.baseOffset

    def tell(self):
        self.client.create_usable("producers")
        self.first, self.second = self.client.new_producer_id(), self.client.new_producer_id()
        self.ids = {self.first, self.second}
        self.offsets = [self.send(self.first, sequence)[1] for sequence in range(7)]
        self.test.assertEqual(self.send(self.second, 2**31 - 1, epoch=3, count=2), (0, 7))
        self.client.delete_records("producers", differ("delete-before-restart"))
        self.end, self.after_wrap = 9, 1

    def check(self):
        test, client, out_of_order = self.test, self.client, codes.OUT_OF_ORDER_SEQUENCE_NUMBER
        client.await_usable("producers")
        sequence = len(self.offsets)
        test.assertEqual(self.send(self.first, sequence - 1), (0, self.offsets[-1]))
        for older in range(sequence - 5, sequence - 1):  # a snapshot, as Kafka's, may keep only the newest batch
            test.assertIn(self.send(self.first, older), ((0, self.offsets[older]), (out_of_order, -1)))
        test.assertEqual(self.send(self.first, sequence + 1), (out_of_order, -1))
        test.assertEqual(self.send(self.second, 0, epoch=2), (codes.INVALID_PRODUCER_EPOCH, -1))
        test.assertEqual(self.send(self.first, sequence), (0, self.end))
        test.assertEqual(self.send(self.second, self.after_wrap, epoch=3), (0, self.end + 1))
        self.offsets.append(self.end)
        self.end, self.after_wrap = self.end + 2, self.after_wrap + 1
        new = client.new_producer_id()
        test.assertNotIn(new, self.ids)
        self.ids.add(new)


class ZeroChecksum(Story):
    """A batch whose checksum happens to be 0 is not taken for empty space."""

    def tell(self):
        content = batch_with_checksum_0()
        self.test.assertEqual(content[17:21], bytes(4))
        self.client.create_usable("zero")
        self.client.append("zero", b"before")
        self.test.assertEqual(self.client.produce("zero", content).errorCode, 0)
        self.client.append("zero", b"after")

    def check(self):
        self.client.await_usable("zero")
        self.test.assertEqual([one.crc == 0 for one in self.client.read("zero")], [False, True, False])


def batch_with_checksum_0():
    """One record whose last four value bytes are chosen so that the batch's CRC32C is 0."""
    stamp = now_ms()
    trial = Batch(values=(b"zero" + bytes(4),), timestamps=(stamp,)).encode()
    table = records.CRC_TABLE
    by_high_byte = {entry >> 24: index for index, entry in enumerate(table)}
    wanted = 0xFFFFFFFF  # the register when the checksum comes out as 0
    for byte in reversed(trial[-1:]):  # undo what follows the four bytes: the header count
        index = by_high_byte[wanted >> 24]
        wanted = ((wanted ^ table[index]) << 8 | index ^ byte) & 0xFFFFFFFF
    register = records.crc32c(trial[21:-5]) ^ 0xFFFFFFFF
    for _ in range(4):
        index = by_high_byte[wanted >> 24]
        wanted = (wanted ^ table[index]) << 8 & 0xFFFFFFFF | index
    patch = struct.pack("<I", register ^ wanted)
    return Batch(values=(b"zero" + patch,), timestamps=(stamp,)).encode()


class FullDisk(OwnBroker):
    """The data lies on a small tmpfs; needs root."""

    PROPERTIES = {"log.segment.bytes": str(4 * MEGABYTE), "log.index.size.max.bytes": "65536",
                  "metadata.log.segment.bytes": str(8 * MEGABYTE),
                  "log.segment.delete.delay.ms": "0"}

    def prepare(self):
        directory = self.broker.data_dir
        directory.mkdir(parents=True, exist_ok=True)
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", str(directory)], capture_output=True)
        if made.returncode:
            self.skipTest("no tmpfs can be mounted here")
        self.directory = directory
        self.addCleanup(self.unmount)

    def unmount(self):
        self.broker.kill()
        subprocess.run(["umount", str(self.directory)], check=False)

    def fill(self, topic):
        """Produces until it fails; returns how many batches were acknowledged and the failure's code."""
        content, acknowledged = batch(bytes(500_000)), 0
        while acknowledged < 1000:
            try:
                code = self.client.produce(topic, content).errorCode
            except (ConnectionClosed, OSError):
                return acknowledged, None
            if code != codes.NONE:
                return acknowledged, code
            acknowledged += 1
        self.fail("the disk never filled")

    def test_what_was_acknowledged_before_the_disk_was_full_outlives_kill(self):
        self.client.create_usable("t")
        acknowledged, _ = self.fill("t")
        self.assertGreater(acknowledged, 10)
        self.broker.kill()
        subprocess.run(["mount", "-o", "remount,size=200m", str(self.directory)], check=True)
        self.restart(False)
        self.client.await_usable("t")
        self.assertGreaterEqual(self.client.end_offset("t"), acknowledged)
        self.assertGreaterEqual(sum(one.count for one in self.client.read("t", verified=False)), acknowledged)
        self.assertGreaterEqual(self.client.append("t", b"goes on"), acknowledged)

    @unittest.skipIf(differ("full-disk-ends-the-broker"), "Apache Kafka takes the directory offline and ends")
    def test_a_full_disk_is_an_error_to_producers_while_reads_and_deletion_go_on(self):
        self.client.create_usable("keep")
        self.client.create_usable("fill")
        self.client.append("keep", b"kept")
        acknowledged, code = self.fill("fill")
        self.assertEqual(code, codes.KAFKA_STORAGE_ERROR)
        self.assertEqual([one.count for one in self.client.read("keep")], [1])
        self.assertEqual(self.client.end_offset("fill"), acknowledged)
        self.assertEqual(len(self.client.read("fill", verified=False)), acknowledged)
        self.assertEqual(self.client.delete("fill").errorCode, 0)
        self.assertTrue(eventually(
            lambda: self.client.produce("keep", batch(bytes(500_000))).errorCode == codes.NONE, 30, 0.2))
        self.restart(False)
        self.client.await_usable("keep")
        self.assertEqual(self.client.read("keep")[0].count, 1)
        self.assertEqual(self.client.end_offset("keep"), 2)


if __name__ == "__main__":
    unittest.main()
