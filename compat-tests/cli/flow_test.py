#!/usr/bin/env python3
"""`barnabas produce` and `consume` where things are not as they should be: how long they wait, what they ask for, and
what they say. `flow_test.py [Waiting.test_NAME]`.
"""

import json
import pathlib
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

import suite  # noqa: E402
from broker import Broker  # noqa: E402
from cli_case import TIMEOUT_S, Case, command, environment  # noqa: E402

WAIT_S = 2
NOBODY = "127.0.0.1:1"
PROPERTIES = {
    **suite.KEEP_OLD_RECORDS,
    "auto.create.topics.enable": "false",
    "num.partitions": "1",
    "offsets.topic.replication.factor": "1",
}


class Flow(Case):
    def numbers(self, count=100):
        topic = self.make_topic("-p", 1)
        self.run_ok("produce", topic, stdin=b"".join(b"%d\n" % i for i in range(count)))
        return topic


class Waiting(Flow):
    def test_a_timeout_that_is_said_ends_a_reader(self):
        topic = self.numbers()
        begun = time.monotonic()
        self.fails(1, "only 0 of 3 records came within 2 s", "consume", topic, "-n", 3, "-o", "end", "--timeout", WAIT_S)
        self.assertGreaterEqual(time.monotonic() - begun, WAIT_S)
        self.assertEqual(self.run_ok("consume", topic, "-o", "-1", "--timeout", WAIT_S), "99\n")
        done = self.call("consume", topic, "-n", 3, "-o", "-1", "--timeout", WAIT_S)
        self.assertEqual((done.returncode, done.stdout), (1, b"99\n"))

    def test_a_reader_waits_for_ever_where_no_timeout_is_said(self):
        topic = self.numbers(2)
        with tempfile.NamedTemporaryFile("w", suffix=".properties") as file:
            # That is for questions.
            file.write("request.timeout.ms=1000\n")
            file.flush()
            reader = subprocess.Popen(command("consume", topic, "-n", 3, "--command-config", file.name, *self.where()),
                                      stdout=subprocess.PIPE, env=environment())
            with reader:
                self.assertEqual([reader.stdout.readline(), reader.stdout.readline()], [b"0\n", b"1\n"])
                with self.assertRaises(subprocess.TimeoutExpired):
                    reader.wait(WAIT_S)
                self.run_ok("produce", topic, stdin=b"late\n")
                self.assertEqual((reader.stdout.read(), reader.wait(TIMEOUT_S)), (b"late\n", 0))

    def test_a_writer_says_at_once_which_advertised_address_leads_nowhere(self):
        if self.broker.target == "kafka":
            self.skipTest("it does not start without reaching itself")
        settings = PROPERTIES | {"advertised.listeners": f"PLAINTEXT://{NOBODY}"}
        with Broker(properties=settings) as broker:
            where = ["-b", broker.bootstrap]
            subprocess.run(command("topic", "create", "lost", *where), check=True, capture_output=True)
            begun = time.monotonic()
            done = subprocess.run(command("produce", "lost", "--timeout", 5, *where), input=b"x\n", capture_output=True,
                                  timeout=TIMEOUT_S, env=environment())
            self.assertLess(time.monotonic() - begun, 6)
        self.assertEqual(done.returncode, 1)
        self.assertIn(f"advertised address: {NOBODY}: connection refused", done.stderr.decode())

    def test_a_writer_gives_up_in_time_when_its_broker_goes_away(self):
        with Broker(properties=PROPERTIES) as broker:
            where = ["-b", broker.bootstrap]
            subprocess.run(command("topic", "create", "left", *where), check=True, capture_output=True)
            writer = subprocess.Popen(
                command("produce", "left", "--timeout", WAIT_S, "--output", "json", *where), stdin=subprocess.PIPE,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
            with writer:
                writer.stdin.write(b"first\n")
                writer.stdin.flush()
                self.assertEqual(json.loads(writer.stdout.readline()), {"topic": "left", "partition": 0, "offset": 0})
                broker.kill()
                begun = time.monotonic()
                _, said = writer.communicate(b"second\n", timeout=TIMEOUT_S)
                self.assertLess(time.monotonic() - begun, WAIT_S + 1)
        self.assertEqual(writer.returncode, 1)
        self.assertRegex(said.decode(), rf"1 of 2 records .* no broker has acknowledged them within 2 s .*{broker.port}")


class Reading(Flow):
    def test_a_reader_without_a_group_makes_and_asks_for_none(self):
        topic = self.numbers()
        self.assertEqual(self.run_ok("consume", topic, "-o", "98", "-e"), "98\n99\n")
        self.assertEqual(self.run_ok("consume", topic, "-n", "1", "-X", "group.id=mine"), "0\n")
        names = [row["topic"] for row in self.json("topic", "list", "--internal")]
        self.assertIn(topic, names)
        self.assertNotIn("__consumer_offsets", names)

    def test_an_offset_that_no_partition_has_is_told(self):
        topic = self.numbers()
        for where in ("99999999", "+99999999"):
            self.fails(1, f"offset {where} is out of range, the partition ends at 100", "consume", topic, "-o", where,
                       "-n", 1)
        self.assertEqual(self.run_ok("consume", topic, "-o", "100", "-e"), "")
        self.assertEqual(self.run_ok("consume", topic, "-o", "-1000", "-n", "1"), "0\n")

    def test_a_damaged_batch_is_not_printed(self):
        topic = self.make_topic("-p", 1)
        self.run_ok("produce", topic, stdin=b"this is whole\n")
        (log,) = self.broker.data_dir.rglob(f"{topic}-0/*.log")
        self.broker.stop()
        content = log.read_bytes()
        self.assertIn(b"whole", content)
        log.write_bytes(content.replace(b"whole", b"wrong"))
        self.broker.start()
        done = self.call("consume", topic, "-e", "--timeout", 20)
        self.assertEqual((done.returncode, done.stdout), (1, b""), done.stderr)
        self.assertIn(b"CRC", done.stderr)
        self.assertEqual(self.run_ok("consume", topic, "-e", "-X", "check.crcs=false"), "this is wrong\n")

    def test_json_has_a_form_of_its_own(self):
        self.fails(2, "--output json has a form of its own", "consume", "any", "--output", "json", "-f", "%k")


class Writing(Flow):
    def test_what_is_not_there_is_told_at_once(self):
        begun = time.monotonic()
        self.fails(1, "barnabas topic create nobody-knows-it makes it", "produce", "nobody-knows-it", stdin=b"x\n")
        topic = self.make_topic("-p", 2)
        self.fails(1, f"topic {topic} has no partition 99; it has 2", "produce", topic, "-p", 99, stdin=b"x\n")
        self.assertLess(time.monotonic() - begun, 20, "it is not what librdkafka waits for")

    def test_the_topic_says_how_large_a_record_may_be(self):
        topic = self.make_topic("-p", 1)
        large = b"x" * 3_000_000 + b"\n"
        self.fails(1, f"barnabas config set topic {topic} max.message.bytes=N", "produce", topic, stdin=large)
        self.run_ok("produce", topic, "-z", "zstd", stdin=large)
        self.assertEqual(self.run_ok("consume", topic, "-e"), large.decode())

    def test_delimiters_are_shown_as_they_are_written(self):
        topic = self.make_topic("-p", 1)
        self.fails(1, r'record 1: no "\t" in "only one field"', "produce", topic, "-f", "%k\\t%v\\n",
                   stdin=b"only one field\n")


class CommandLines(Case):
    def test_a_login_without_a_password_makes_no_sense(self):
        for noun in (("topic", "list"), ("produce", "any"), ("consume", "any")):
            self.fails(2, "no password for alice; set BARNABAS_PASSWORD", *noun, "--user", "alice")

    def test_addresses_of_ipv6_stand_in_brackets(self):
        for written, right in (("::1", "[::1]:9092"), ("::1:9093", "[::1]:9093"), ("fe80::2", "[fe80::2]:9092")):
            done = subprocess.run(command("topic", "list", "-b", written), capture_output=True, text=True,
                                  timeout=TIMEOUT_S, env=environment())
            self.assertEqual((done.returncode, done.stderr), (2, f'barnabas: "{written}": write {right}\n'))

    def test_a_cluster_tells_all_its_features(self):
        features = [row["feature"] for row in self.json("cluster", "describe")["features"]]
        self.assertEqual(features, sorted(["eligible.leader.replicas.version", "group.version", "kraft.version",
                                           "metadata.version", "share.version", "streams.version",
                                           "transaction.version"]))


if __name__ == "__main__":
    suite.main(Broker(properties=PROPERTIES))
