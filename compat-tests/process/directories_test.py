#!/usr/bin/env python3
"""Directories that are not what they should be: `barnabas check` finds it, and the broker refuses to start, or starts and
loses nothing. Every case begins with a copy of one good directory."""

import pathlib
import shutil
import struct
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
sys.path.insert(0, str(HERE.parent / "conformance"))

import suite  # noqa: E402
from broker import Broker, BrokerError, barnabas_binary  # noqa: E402
from records import crc32c  # noqa: E402

TIMEOUT_S = 60
TOPIC = "kept"
RECORDS = 30_000
METADATA = "__cluster_metadata-0"


def run_binary(*arguments):
    return subprocess.run([str(barnabas_binary()), *map(str, arguments)], capture_output=True, text=True,
                          timeout=TIMEOUT_S)


def kcat(broker, *arguments, stdin=""):
    done = subprocess.run(["kcat", "-b", broker.bootstrap, *map(str, arguments)], input=stdin, capture_output=True,
                          text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise AssertionError(done.stderr)
    return done.stdout


def first_segment(partition):
    return sorted(partition.glob("*.log"))[0]


def last_segment(partition):
    return sorted(partition.glob("*.log"))[-1]


def flip(path, position):
    content = bytearray(path.read_bytes())
    content[position] ^= 0x10
    path.write_bytes(content)


def patch_batch(path, old, new):
    """Replace bytes inside of a batch and make its checksum right again, as if it had been written so."""
    content = bytearray(path.read_bytes())
    at = 0
    while at < len(content):
        length, = struct.unpack_from(">i", content, at + 8)
        end = at + 12 + length
        found = content.find(old, at, end)
        if found >= 0:
            content[found:found + len(old)] = new
            struct.pack_into(">I", content, at + 17, crc32c(bytes(content[at + 21:end])))
            path.write_bytes(content)
            return
        at = end
    raise AssertionError(f"{old!r} is not in {path}")


class DirectoryTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.template = pathlib.Path(tempfile.mkdtemp(prefix="barnabas-test-template-"))
        cls.addClassCleanup(shutil.rmtree, cls.template, ignore_errors=True)
        cls.lines = [f"line {i} {'x' * 80}" for i in range(RECORDS)]
        broker = Broker(target="barnabas", properties=cls.properties(cls.template))
        with broker:
            kcat(broker, "-P", "-t", TOPIC, "-X", "acks=all", "-X", "batch.num.messages=100", stdin="\n".join(cls.lines) + "\n")
            kcat(broker, "-P", "-t", "other", stdin="1\n")
            broker.stop()

    @staticmethod
    def properties(home):
        return {"log.dirs": f"{home}/one,{home}/two", "log.segment.bytes": "1048576"}

    def setUp(self):
        self.broker = Broker(target="barnabas")
        self.addCleanup(self.broker.clean)
        self.home = self.broker.home / "node"
        shutil.copytree(self.template, self.home)
        self.broker.properties = self.properties(self.home)
        self.directories = [self.home / "one", self.home / "two"]
        self.partition = next(path for path in self.home.glob(f"*/{TOPIC}-0"))
        self.of_partition = self.partition.parent
        self.metadata = self.home / "one" / METADATA

    def crash(self):
        """As if the last run had not ended cleanly."""
        for directory in self.directories:
            (directory / ".kafka_cleanshutdown").unlink()

    def check(self, *arguments):
        return run_binary("check", *(arguments or self.directories))

    def assert_good(self):
        done = self.check()
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def assert_problem(self, *parts):
        done = self.check()
        self.assertEqual(done.returncode, 1, done.stdout + done.stderr)
        self.assertTrue(any(all(str(part) in line for part in parts) for line in done.stdout.splitlines()
                            if not line.startswith("note: ")), f"{parts} expected in:\n{done.stdout}")

    def assert_refused(self, *parts):
        with self.assertRaises(BrokerError):
            self.broker.start()
        self.assertEqual(self.broker.exit_code, 1, self.broker.log_tail())
        log = self.broker.log_path.read_text().splitlines()[-1]
        for part in parts:
            self.assertIn(str(part), log)

    def assert_all_records(self):
        self.broker.start()
        self.assertEqual(kcat(self.broker, "-C", "-q", "-e", "-t", TOPIC).splitlines(), self.lines)
        middle = kcat(self.broker, "-C", "-q", "-e", "-t", TOPIC, "-o", RECORDS // 2, "-c", 1).splitlines()
        self.assertEqual(middle, self.lines[RECORDS // 2:RECORDS // 2 + 1])


class Good(DirectoryTest):
    def test_after_a_clean_stop(self):
        self.assert_good()
        self.assertEqual(self.check("--quick", *self.directories).returncode, 0)

    def test_after_sigkill(self):
        self.broker.start()
        kcat(self.broker, "-P", "-t", TOPIC, stdin="more\n" * 1000)
        self.broker.kill()
        self.assert_good()

    def test_running_broker_is_left_alone(self):
        self.broker.start()
        done = self.check()
        self.assertEqual(done.returncode, 1)
        self.assertIn("in use", done.stderr)

    def test_check_writes_nothing(self):
        self.crash()
        before = {path: path.stat().st_mtime_ns for path in self.home.rglob("*")}
        self.check()
        self.assertEqual(before, {path: path.stat().st_mtime_ns for path in self.home.rglob("*")})

    def test_every_file_can_be_dumped(self):
        files = [path for path in self.home.rglob("*") if path.is_file() and path.name != ".lock"]
        self.assertGreater(len(files), 20)
        done = run_binary("dump", "--batches-only", *files)
        self.assertEqual(done.returncode, 0, done.stderr)


class Owner(DirectoryTest):
    def rewrite(self, key, value, directory=1):
        path = self.directories[directory] / "meta.properties"
        lines = [f"{key}={value}" if line.startswith(key + "=") else line for line in path.read_text().splitlines()]
        path.write_text("\n".join(lines) + "\n")

    def value_of(self, key, directory=0):
        text = (self.directories[directory] / "meta.properties").read_text()
        return next(line.split("=", 1)[1] for line in text.splitlines() if line.startswith(key + "="))

    def test_other_cluster(self):
        self.rewrite("cluster.id", "AAAAAAAAAAAAAAAAAAAAAA")
        parts = self.directories[1] / "meta.properties", "AAAAAAAAAAAAAAAAAAAAAA", self.value_of("cluster.id")
        self.assert_problem(*parts)
        self.assert_refused(*parts)

    def test_other_node(self):
        self.rewrite("node.id", "7")
        parts = self.directories[1] / "meta.properties", "node.id=7", "1 expected"
        self.assert_problem(*parts)
        self.assert_refused(*parts)

    def test_copied_directory(self):
        self.rewrite("directory.id", self.value_of("directory.id"))
        parts = self.directories[0], self.directories[1], self.value_of("directory.id"), "copy"
        self.assert_problem(*parts)
        self.assert_refused(*parts)

    def test_other_directory_than_the_voter_has(self):
        self.rewrite("directory.id", "AAAAAAAAAAAAAAAAAAAAMg", directory=0)
        self.assert_problem(METADATA, "voter", "AAAAAAAAAAAAAAAAAAAAMg")
        self.assert_refused(METADATA, "voter", "AAAAAAAAAAAAAAAAAAAAMg")

    def test_lost_meta_properties(self):
        (self.directories[1] / "meta.properties").unlink()
        self.assert_problem(self.directories[1] / "meta.properties", "not there")
        self.assert_refused(self.directories[1] / "meta.properties", "not there")

    def test_damaged_meta_properties_of_the_only_directory(self):
        self.broker.properties["log.dirs"] = str(self.directories[0])
        (self.directories[0] / "meta.properties").write_bytes(b"\0" * 90)
        self.assert_refused(self.directories[0])

    def test_a_new_directory_beside_old_ones_is_taken(self):
        self.broker.properties["log.dirs"] += f",{self.home}/three"
        self.assert_all_records()


class Metadata(DirectoryTest):
    def test_lost(self):
        shutil.rmtree(self.metadata)
        self.assert_refused(self.metadata, "not there")

    def test_in_another_directory(self):
        shutil.move(self.metadata, self.directories[1] / METADATA)
        self.assert_refused(self.directories[1], "metadata.log.dir")

    def test_newer_than_this_version(self):
        log = first_segment(self.metadata)
        patch_batch(log, b"\x11metadata.version\x00\x21", b"\x11metadata.version\x00\x22")
        parts = METADATA, "metadata.version 34", "33"
        self.assert_problem(*parts)
        self.assert_refused(*parts)

    def test_feature_level_above_what_is_supported(self):
        patch_batch(first_segment(self.metadata), b"\x0egroup.version\x00\x01", b"\x0egroup.version\x00\x07")
        self.assert_refused("group.version", "7")

    def test_flipped_bit(self):
        log = first_segment(self.metadata)
        flip(log, log.stat().st_size // 2)
        self.assert_problem(log)
        self.assert_refused(METADATA)

    def test_damaged_quorum_state_is_no_loss(self):
        (self.metadata / "quorum-state").write_text("{")
        self.assert_problem("quorum-state")
        self.assert_all_records()


class Partition(DirectoryTest):
    def test_flipped_bit(self):
        segment = first_segment(self.partition)
        flip(segment, segment.stat().st_size // 2)
        self.assert_problem(segment, "crc")

    def test_torn_tail(self):
        segment = last_segment(self.partition)
        with open(segment, "ab") as file:
            file.write(b"\0" * 100)
        self.assert_problem(segment)
        self.crash()
        self.assert_good()
        self.assert_all_records()

    def test_lost_tail_is_said(self):
        last_segment(self.partition).unlink()
        self.assert_problem(self.partition, "recovery point")
        self.broker.start()
        log = self.broker.log_path.read_text()
        self.assertTrue(any("records lost" in line and f"{TOPIC}-0" in line for line in log.splitlines()), log)

    def test_lost_segment(self):
        segments = sorted(self.partition.glob("*.log"))
        segments[1].unlink()
        self.assert_problem(segments[2], "missing")

    def test_lost_indexes_are_made_again(self):
        for path in [*self.partition.glob("*.index"), *self.partition.glob("*.timeindex")]:
            path.unlink()
        self.assert_good()
        self.assert_all_records()

    def test_damaged_index_misleads_nobody(self):
        index = sorted(self.partition.glob("*.index"))[0]
        for position in range(3, index.stat().st_size, 16):
            flip(index, position)
        self.assert_problem(index)
        self.assert_all_records()

    def test_damaged_checkpoint_is_no_loss(self):
        for name in ("recovery-point-offset-checkpoint", "leader-epoch-checkpoint"):
            for path in self.home.rglob(name):
                path.write_text("0\nmany\n")
        self.assert_problem("recovery-point-offset-checkpoint")
        self.assert_all_records()

    def test_other_topic_id(self):
        (self.partition / "partition.metadata").write_text("version: 0\ntopic_id: AAAAAAAAAAAAAAAAAAAAMg\n")
        self.assert_problem(self.partition / "partition.metadata", "AAAAAAAAAAAAAAAAAAAAMg")

    def test_twice_is_a_choice_by_the_metadata_and_the_other_one_is_set_aside(self):
        other = next(directory for directory in self.directories if directory != self.of_partition)
        shutil.copytree(self.partition, other / self.partition.name)
        self.assert_problem(f"{TOPIC}-0", self.directories[0], self.directories[1])
        self.assert_all_records()
        self.assertTrue(self.partition.is_dir())
        self.assertEqual(len(list(other.glob(f"{TOPIC}-0.*-stray"))), 1)

    def test_not_there_after_a_clean_stop(self):
        shutil.rmtree(self.partition)
        self.assert_problem(self.partition, "not there")


if __name__ == "__main__":
    suite.require_tools("kcat")
    unittest.main(verbosity=2)
