#!/usr/bin/env python3
"""The broker as a process: how it starts, what it refuses to start with, how it ends, and what it has kept."""

import contextlib
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "harness"))

import suite  # noqa: E402
from broker import HOST, Broker, BrokerError, barnabas_binary, broker_environment, chosen_target, free_ports  # noqa: E402

TIMEOUT_S = 60
PROMPT_S = 10  # for what takes no time, on a busy machine

only_barnabas = unittest.skipIf(chosen_target() != "barnabas", "about Barnabas's own command line")


class ProcessTest(unittest.TestCase):
    def start(self, **options):
        broker = Broker(**options)
        self.addCleanup(broker.clean)
        return broker.start()

    def refused(self, **options):
        """What a broker says that does not start: its log."""
        broker = Broker(**options)
        self.addCleanup(broker.clean)
        with self.assertRaises(BrokerError):
            broker.start()
        self.assertEqual(broker.exit_code, 1, broker.log_tail())
        return broker.log_tail()

    def kcat(self, broker, *arguments, stdin=b""):
        command = ["kcat", "-b", broker.bootstrap, *map(str, arguments)]
        done = subprocess.run(command, input=stdin, capture_output=True, timeout=TIMEOUT_S)
        self.assertEqual(done.returncode, 0, done.stderr.decode(errors="replace"))
        return done.stdout

    def produce(self, broker, topic, lines):
        self.kcat(broker, "-P", "-t", topic, "-p", "0", "-X", "acks=all", stdin="".join(lines).encode())

    def consume(self, broker, topic):
        read = self.kcat(broker, "-C", "-q", "-e", "-t", topic, "-p", "0", "-o", "beginning")
        return read.decode().splitlines(keepends=True)


LINES = [f"line {i}\n" for i in range(1000)]


class Restart(ProcessTest):
    def test_records_outlive_an_orderly_stop(self):
        broker = self.start()
        self.produce(broker, "kept", LINES)
        broker.restart()
        self.assertEqual(self.consume(broker, "kept"), LINES)
        self.produce(broker, "kept", LINES)
        self.assertEqual(self.consume(broker, "kept"), LINES * 2)

    def test_acknowledged_records_outlive_sigkill(self):
        broker = self.start()
        for _ in range(3):
            self.produce(broker, "kept", LINES)
            broker.kill()
            broker.start()
        self.assertEqual(self.consume(broker, "kept"), LINES * 3)

    def test_cluster_id_and_topic_ids_stay(self):
        broker = self.start()
        self.produce(broker, "kept", ["1\n"])
        kept = {path: path.read_bytes() for path in broker.data_dir.rglob("*")
                if path.name in ("meta.properties", "partition.metadata")}
        self.assertGreaterEqual(len(kept), 2)
        broker.restart()
        for path, content in kept.items():
            self.assertEqual(path.read_bytes(), content, path)


class Stop(ProcessTest):
    @only_barnabas
    def test_exit_code_is_zero_and_the_marker_says_clean(self):
        broker = self.start()
        self.produce(broker, "t", LINES)
        self.assertEqual(broker.stop(), 0)
        self.assertTrue((broker.data_dir / ".kafka_cleanshutdown").exists())
        broker.start()
        self.assertFalse((broker.data_dir / ".kafka_cleanshutdown").exists())

    def test_waiting_and_idle_clients_do_not_hold_it_up(self):
        broker = self.start()
        self.produce(broker, "t", ["1\n"])
        waiting = subprocess.Popen(
            ["kcat", "-b", broker.bootstrap, "-C", "-q", "-u", "-t", "t", "-X", "fetch.wait.max.ms=30000"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(waiting.stdout.close)
        self.addCleanup(waiting.wait)
        self.addCleanup(waiting.kill)
        self.assertEqual(waiting.stdout.readline(), b"1\n")
        with socket.create_connection((HOST, broker.port)), socket.create_connection((HOST, broker.port)) as half:
            half.sendall(b"\0\0")  # a frame that never ends
            started = time.monotonic()
            broker.stop()
            self.assertLess(time.monotonic() - started, PROMPT_S)

    @only_barnabas
    def test_interrupt_stops_it_as_well(self):
        broker = self.start()
        broker.signal(signal.SIGINT)
        self.assertEqual(broker.wait(), 0)

    def test_port_is_free_at_once(self):
        broker = self.start()
        with socket.create_connection((HOST, broker.port)):
            broker.kill()
            broker.start()
        self.produce(broker, "t", ["1\n"])


@only_barnabas
class Refusal(ProcessTest):
    """What cannot work ends with exit code 1 and a line that says what and where."""

    def test_setting_that_nobody_knows(self):
        log = self.refused(properties={"no.such.setting": "1"})
        for part in ("server.properties:", "no.such.setting"):
            self.assertIn(part, log)

    def test_value_that_is_not_allowed(self):
        for name, value in (("num.partitions", "many"), ("num.partitions", "0"), ("log.cleanup.policy", "burn"),
                            ("log.retention.ms", "99999999999999999999"), ("auto.create.topics.enable", "maybe")):
            with self.subTest(f"{name}={value}"):
                log = self.refused(properties={name: value})
                for part in ("server.properties:", name, value):
                    self.assertIn(part, log)

    def test_name_that_is_nearly_one(self):
        self.assertIn("num.partitons (value \"3\"); did you mean num.partitions?",
                      self.refused(properties={"num.partitons": "3"}))

    def test_name_that_kafka_has_taken_away(self):
        for name in ("zookeeper.connect", "inter.broker.protocol.version", "port"):
            self.assertIn(f"{name} was removed in Kafka 4.0 or before; take it out", self.refused(properties={name: "1"}))

    def test_directory_that_cannot_be_used(self):
        with tempfile.NamedTemporaryFile() as file:
            for path, remedy in ((file.name, "set log.dirs to a directory"), (f"{file.name}/data", "set log.dirs to a directory"),
                                 ("/proc/barnabas", "set log.dirs to a directory that this user can make")):
                log = self.refused(properties={"log.dirs": path})
                self.assertEqual(len(log.splitlines()), 1, log)
                self.assertIn("no log directory can be used", log)
                self.assertIn(path, log)
                self.assertIn(remedy, log)

    def test_directory_whose_owner_cannot_be_read(self):
        with tempfile.TemporaryDirectory() as directory:
            (pathlib.Path(directory) / "meta.properties").touch()
            log = self.refused(properties={"log.dirs": directory})
        self.assertEqual(len(log.splitlines()), 1, log)
        self.assertIn('no line "version=…" found. Put the file back as it was', log)

    def test_variable_that_stands_for_no_setting_is_a_warning(self):
        broker = self.start(environment={"KAFKA_NUM_PARTITONS": "3"})
        self.assertIn("KAFKA_NUM_PARTITONS: unknown setting num.partitons", broker.log_path.read_text())

    def test_bad_override_and_bad_variable(self):
        self.assertIn("no.such.setting", self.refused(arguments=["--override", "no.such.setting=1"]))
        self.assertIn("KAFKA_NUM_PARTITIONS", self.refused(environment={"KAFKA_NUM_PARTITIONS": "many"}))

    def test_port_that_is_taken(self):
        with socket.create_server((HOST, 0)) as other:
            port = other.getsockname()[1]
            log = self.refused(properties={"listeners": f"PLAINTEXT://{HOST}:{port}"})
            self.assertEqual(len(log.splitlines()), 1, log)
            for part in (f"{HOST}:{port}", "another process has this port", "choose another one in listeners"):
                self.assertIn(part, log)

    def test_address_that_this_machine_has_not(self):
        # Of the range for documentation.
        log = self.refused(properties={"listeners": "PLAINTEXT://192.0.2.7:9092"})
        for part in ("192.0.2.7:9092", "this machine has no such address", "advertised.listeners"):
            self.assertIn(part, log)

    def test_advertised_address_that_nobody_can_connect_to(self):
        for host in ("0.0.0.0", "255.255.255.255", "broker.invalid"):
            log = self.refused(properties={
                "listeners": f"PLAINTEXT://{HOST}:0", "advertised.listeners": f"PLAINTEXT://{host}:9092"})
            self.assertEqual(len(log.splitlines()), 1, log)
            for part in ("advertised.listeners", f"PLAINTEXT://{host}", "by which clients reach this machine, such as"):
                self.assertIn(part, log)

    def test_wrong_password_of_a_key_store(self):
        with tempfile.TemporaryDirectory() as home:
            key, certificate, store = (pathlib.Path(home, name) for name in ("key.pem", "certificate.pem", "store.p12"))
            for command in (("req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-keyout", key, "-out",
                             certificate),
                            ("pkcs12", "-export", "-in", certificate, "-inkey", key, "-passout", "pass:right", "-out", store)):
                subprocess.run(["openssl", *map(str, command)], check=True, capture_output=True)
            log = self.refused(secured={"TLS": "SSL"}, properties={
                "ssl.keystore.location": str(store), "ssl.keystore.type": "PKCS12", "ssl.keystore.password": "wrong"})
            self.assertEqual(len(log.splitlines()), 1, log)
            for part in (str(store), "the password is wrong", "ssl.keystore.password"):
                self.assertIn(part, log)

    def test_directory_of_a_running_broker(self):
        running = self.start()
        log = self.refused(properties={"log.dirs": str(running.data_dir)})
        self.assertEqual(len(log.splitlines()), 1, log)
        for part in (str(running.data_dir), "in use", "Stop the other broker"):
            self.assertIn(part, log)
        self.produce(running, "t", ["1\n"])

    def test_directory_of_another_node(self):
        broker = self.start()
        broker.stop()
        broker.properties["node.id"] = "7"
        with self.assertRaises(BrokerError):
            broker.start()
        self.assertIn("node.id", broker.log_tail())


@only_barnabas
class Settings(ProcessTest):
    def partitions_of_a_new_topic(self, broker):
        self.produce(broker, "new", ["1\n"])
        return self.kcat(broker, "-L", "-t", "new").decode().count("    partition ")

    def test_environment_wins_over_file_and_override_over_both(self):
        broker = self.start(properties={"num.partitions": "2"})
        self.assertEqual(self.partitions_of_a_new_topic(broker), 2)
        broker = self.start(properties={"num.partitions": "2"}, environment={"KAFKA_NUM_PARTITIONS": "3"})
        self.assertEqual(self.partitions_of_a_new_topic(broker), 3)
        broker = self.start(properties={"num.partitions": "2"}, environment={"KAFKA_NUM_PARTITIONS": "3"},
                            arguments=["--override", "num.partitions=4"])
        self.assertEqual(self.partitions_of_a_new_topic(broker), 4)

    def test_setting_without_effect_is_a_warning(self):
        broker = self.start(properties={"background.threads": "3"})
        self.assertIn("background.threads", broker.log_tail())

    def test_only_directories_that_are_online_are_named(self):
        with tempfile.TemporaryDirectory() as good, tempfile.TemporaryDirectory() as bad:
            (pathlib.Path(bad) / "meta.properties").touch()
            told = self.start(properties={"log.dirs": f"{good},{bad}"}).log_path.read_text()
        self.assertIn(f"data in {good}\n", told)
        self.assertNotIn(f"data in {bad}", told)
        self.assertIn(f"log directory offline path={bad}", told)

    def test_first_steps_go_where_clients_are_told_to_go(self):
        """Only where nothing but the address is asked for, and only of a broker without a settings file."""
        with tempfile.TemporaryDirectory() as home:
            address = f"localhost:{free_ports(1)[0]}"
            told = self.first_lines(home, [f"listeners=PLAINTEXT://0.0.0.0:{address[10:]}",
                                           f"advertised.listeners=PLAINTEXT://{address}"])
            self.assertIn(f"kcat -b {address} -t greetings", told)
        with tempfile.TemporaryDirectory() as home:
            told = self.first_lines(home, [f"listeners=SASL_PLAINTEXT://{HOST}:{free_ports(1)[0]}",
                                           "sasl.enabled.mechanisms=SCRAM-SHA-512"])
            self.assertNotIn("kcat", told)

    def first_lines(self, home, settings):
        """What is told until it serves, and a little more."""
        overrides = [part for setting in [f"log.dirs={home}", *settings] for part in ("--override", setting)]
        process = subprocess.Popen([str(barnabas_binary()), *overrides], stderr=subprocess.PIPE, text=True, cwd=home,
                                   env=broker_environment())
        with process, contextlib.closing(process.stderr):
            lines = []
            for line in process.stderr:
                lines.append(line)
                if "started" in line and "KafkaServer id=" in line:
                    process.terminate()
        return "".join(lines)

    def test_only_who_is_open_to_strangers_is_warned(self):
        warning = "docs/security.md has the three steps"
        self.assertNotIn(warning, self.start().log_path.read_text())
        broker = Broker()
        self.addCleanup(broker.clean)
        everywhere = f"PLAINTEXT://0.0.0.0:{broker.port}"
        broker.properties |= {"listeners": everywhere, "advertised.listeners": f"PLAINTEXT://{broker.bootstrap}"}
        told = broker.start().log_path.read_text()
        self.assertEqual(told.count(warning), 1)
        self.assertIn(everywhere, told)

    def test_advertised_addresses_that_look_wrong_are_told_of(self):
        broker = Broker()
        self.addCleanup(broker.clean)
        broker.properties |= {"listeners": f"PLAINTEXT://0.0.0.0:{broker.port}",
                              "advertised.listeners": f"PLAINTEXT://{broker.bootstrap}"}
        broker.start()
        self.await_log(broker, f"told to connect to PLAINTEXT://{broker.bootstrap}, which is their own machine; set advertised")
        broker.stop()
        broker.properties["advertised.listeners"] = f"PLAINTEXT://no-such-host.example:{broker.port}"
        broker.start()
        self.await_log(broker, "no-such-host.example")

    def await_log(self, broker, text):
        deadline = time.monotonic() + TIMEOUT_S
        while text not in broker.log_path.read_text():
            self.assertLess(time.monotonic(), deadline, broker.log_tail())
            time.sleep(0.02)

    def test_topics_are_not_created_by_themselves_when_told_so(self):
        broker = self.start(properties={"auto.create.topics.enable": "false"})
        command = ["kcat", "-b", broker.bootstrap, "-P", "-t", "t", "-X", "message.timeout.ms=2000"]
        self.assertNotEqual(subprocess.run(command, input=b"1\n", capture_output=True, timeout=TIMEOUT_S).returncode, 0)

    def test_several_directories_share_the_partitions(self):
        with tempfile.TemporaryDirectory() as one, tempfile.TemporaryDirectory() as other:
            broker = self.start(properties={"log.dirs": f"{one},{other}", "num.partitions": "4"})
            self.produce(broker, "spread", LINES)
            for directory in (one, other):
                self.assertEqual(len(list(pathlib.Path(directory).glob("spread-*"))), 2)
                self.assertTrue((pathlib.Path(directory) / "meta.properties").exists())
            broker.restart()
            self.assertEqual(self.consume(broker, "spread"), LINES)
            broker.clean()


@only_barnabas
class CommandLine(unittest.TestCase):
    def run_binary(self, *arguments):
        return subprocess.run([barnabas_binary(), *arguments], capture_output=True, text=True, timeout=TIMEOUT_S)

    def test_version_and_help(self):
        version = self.run_binary("--version")
        self.assertEqual(version.returncode, 0)
        self.assertRegex(version.stdout, r"^barnabas \d+\.\d+\.\d+")
        usage = self.run_binary("--help")
        self.assertEqual(usage.returncode, 0)
        self.assertIn("--override", usage.stdout)

    def test_file_that_is_not_there(self):
        done = self.run_binary("/no/such/server.properties")
        self.assertEqual(done.returncode, 1)
        self.assertIn("/no/such/server.properties", done.stderr)

    def test_option_that_is_not_there(self):
        self.assertNotEqual(self.run_binary("--no-such-option").returncode, 0)


if __name__ == "__main__":
    suite.require_tools("kcat")
    unittest.main(verbosity=2)
