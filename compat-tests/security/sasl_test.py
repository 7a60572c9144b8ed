#!/usr/bin/env python3
"""Users from the beginning: `barnabas format --add-scram`, directories that Apache Kafka has formatted, and logging in
with kcat by PLAIN and SCRAM. `sasl_test.py [Format.test_NAME]`."""

import pathlib
import subprocess
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "harness"), str(HERE.parent / "conformance")]

import sasl  # noqa: E402
import suite  # noqa: E402
from broker import Broker, BrokerError  # noqa: E402

TIMEOUT_S = 60
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
ADD_ALICE = ["--add-scram", "SCRAM-SHA-256=[name=alice,password=alice-secret]",
             "--add-scram", "SCRAM-SHA-512=[name=alice,iterations=8192,password=alice-secret]"]


def secured(**fields):
    return sasl.secured_broker(target="barnabas", **fields)


class Case(unittest.TestCase):
    def new_broker(self, **fields):
        broker = secured(**fields)
        self.addCleanup(broker.clean)
        return broker

    def logs_in(self, broker, mechanism, user="alice", password="alice-secret"):
        with sasl.SaslConnection(sasl.address(broker)) as connection:
            return connection.log_in(mechanism, user, password).errorCode == 0


class Format(Case):
    def test_users_are_there_at_the_first_start_and_after_it(self):
        broker = self.new_broker()
        printed = broker.format([*ADD_ALICE, "--standalone"])
        self.assertIn(f"Formatted metadata directory {broker.data_dir}", printed)
        for _ in range(2):
            broker.start()
            for mechanism in MECHANISMS:
                self.assertTrue(self.logs_in(broker, mechanism), mechanism)
            self.assertFalse(self.logs_in(broker, "SCRAM-SHA-256", password="wrong"))
            broker.stop()
        self.assertIn("cluster.id=AAAAAAAAAAAAAAAAAAAAAA", (broker.data_dir / "meta.properties").read_text())

    def test_what_is_formatted_is_not_formatted_again(self):
        broker = self.new_broker()
        broker.format()
        with self.assertRaisesRegex(BrokerError, "is already formatted. Use --ignore-formatted"):
            broker.format()
        self.assertIn("All of the log directories are already formatted.", broker.format(["--ignore-formatted"]))
        with self.assertRaisesRegex(BrokerError, "so no user was added"):
            broker.format(["-g", *ADD_ALICE])

    def test_what_is_wrong_is_said_without_the_password(self):
        broker = self.new_broker()
        for argument, text in (("SCRAM-SHA-1=[name=a,password=hunter2]", "not supported"),
                               ("SCRAM-SHA-256=[name=a,password=hunter2,iterations=1]", "must be >= 4096")):
            with self.assertRaisesRegex(BrokerError, text) as caught:
                broker.format(["-S", argument])
            self.assertNotIn("hunter2", str(caught.exception))
        self.assertFalse((broker.data_dir / "meta.properties").exists())
        with self.assertRaisesRegex(BrokerError, "controller.quorum.voters"):
            broker.properties["controller.quorum.voters"] = "1@localhost:9093"
            broker.format(["--standalone"])

    def test_without_it_users_are_made_on_a_listener_of_loopback(self):
        broker = self.new_broker().start()
        self.assertFalse(self.logs_in(broker, "SCRAM-SHA-256"))
        with sasl.Connection(("127.0.0.1", broker.port)) as connection:
            upsertion = sasl.upsertion("alice", password="alice-secret")
            answer = connection.call("AlterUserScramCredentials", 0, deletions=[], upsertions=[upsertion])
            self.assertEqual(answer.results[0].errorCode, 0)
        self.assertTrue(self.logs_in(broker, "SCRAM-SHA-256"))

    def test_a_directory_that_kafka_has_formatted_has_its_users(self):
        suite.require_kafka()
        kafka = sasl.secured_broker(target="kafka", format_arguments=ADD_ALICE)
        self.addCleanup(kafka.clean)
        kafka._prepare_kafka()
        broker = self.new_broker(properties={"log.dirs": str(kafka.data_dir)})
        broker.start()
        for mechanism in MECHANISMS:
            self.assertTrue(self.logs_in(broker, mechanism), mechanism)


class Kcat(Case):
    def test_produces_and_consumes_by_each_mechanism(self):
        suite.require_tools("kcat")
        broker = self.new_broker()
        broker.format(ADD_ALICE)
        broker.start()
        for mechanism in MECHANISMS:
            login = ["kcat", "-b", broker.address("CLIENTS"), "-X", "security.protocol=SASL_PLAINTEXT", "-X",
                     f"sasl.mechanisms={mechanism}", "-X", "sasl.username=alice", "-X", "sasl.password=alice-secret"]
            topic = mechanism.lower()
            for arguments, stdin, printed in ((["-P", "-t", topic], b"hello\n", b""),
                                              (["-C", "-q", "-e", "-t", topic], b"", b"hello\n")):
                done = subprocess.run(login + arguments, input=stdin, capture_output=True, timeout=TIMEOUT_S)
                self.assertEqual((done.returncode, done.stdout), (0, printed), done.stderr)


class Secrets(Case):
    def test_nothing_of_them_is_in_the_log(self):
        broker = self.new_broker()
        broker.format(ADD_ALICE)
        broker.properties |= {"sasl.jaas.config": "hunter3", "listener.name.clients.plain.sasl.login.class": "hunter4"}
        broker.start()
        for mechanism in MECHANISMS:
            self.logs_in(broker, mechanism)
            self.logs_in(broker, mechanism, password="hunter2")
        broker.stop()
        log = broker.log_path.read_text()
        for secret in ("alice-secret", "hunter2", "hunter3", "a key that nobody guesses"):
            self.assertNotIn(secret, log)
        self.assertIn("authentication failed: PLAIN: Authentication failed: Invalid username or password", log)

    def test_a_start_that_is_refused_repeats_none(self):
        for setting, text in (("listener.name.clients.plain.sasl.jaas.config", 'X required user_alice="hunter2";'),
                              ("listener.name.clients.plain.sasl.jaas.config", 'PlainLoginModule required user_a="hunter2"'),
                              ("plain.sasl.jaas.config", 'PlainLoginModule required user_a="hunter2";')):
            broker = self.new_broker(properties={setting: text})
            with self.assertRaises(BrokerError) as caught:
                broker.start()
            self.assertNotIn("hunter2", str(caught.exception))
            self.assertIn(setting, str(caught.exception))


if __name__ == "__main__":
    unittest.main(verbosity=2)
