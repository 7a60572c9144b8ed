#!/usr/bin/env python3
"""Clients that push their metrics (KIP-714), Java's and librdkafka's: they are asked with Kafka's own tool, what comes is among
the broker's metrics, and it goes with them."""

import pathlib
import re
import subprocess
import sys
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "harness"), str(TESTS / "conformance"), str(TESTS / "metrics")]

import python_environment  # noqa: E402
import suite  # noqa: E402

python_environment.enter("confluent-kafka", __file__)

from base import Client, eventually  # noqa: E402
from broker import HOST, Broker  # noqa: E402
from confluent_kafka import Producer  # noqa: E402
from exposition import parse  # noqa: E402

PATIENCE_S = 60
INTERVAL_MS = 200
CLIENT_METRICS = 16


class Telemetry(suite.BrokerTest):
    def pushed(self, client_id):
        """Metrics that a client pushed → their values."""
        address = re.search(r"metrics and health at http://(\S+)/metrics", self.broker.log_path.read_text())[1]
        with urllib.request.urlopen(f"http://{address}/metrics", timeout=PATIENCE_S) as answer:
            samples = parse(answer.read().decode())
        own = {}
        for (name, *labels), value in samples.items():
            labels = dict(labels)
            if name.startswith("barnabas_client_telemetry") and labels.get("client_id") == client_id:
                own[labels["metric"]] = own.get(labels["metric"], 0) + value
        return own

    def ask_for(self, client_id, *metrics):
        client = Client((HOST, self.broker.port))
        self.addCleanup(client.close)
        answer = client.call("IncrementalAlterConfigs", 1, validateOnly=False, resources=[
            {"resourceType": CLIENT_METRICS, "resourceName": client_id, "configs": [
                {"name": name, "configOperation": 0, "value": value} for name, value in (
                    ("metrics", ",".join(metrics)), ("interval.ms", str(INTERVAL_MS)),
                    ("match", f"client_id={client_id}"))]}])
        self.assertEqual([one.errorCode for one in answer.responses], [0])

    def assert_pushes(self, client_id, *names):
        def all_there():
            pushed = self.pushed(client_id)
            return all(name in pushed for name in names)

        self.assertTrue(eventually(all_there, PATIENCE_S), self.pushed(client_id))

    def assert_forgotten(self, client_id):
        self.assertTrue(eventually(lambda: not self.pushed(client_id), PATIENCE_S), self.pushed(client_id))

    def test_librdkafka_pushes_what_it_is_asked_for_and_nothing_else(self):
        self.ask_for("lib", "org.apache.kafka.producer.connection.")
        producer = Producer({"bootstrap.servers": self.broker.bootstrap, "client.id": "lib", "log_level": 2})
        producer.produce("lib", b"x")
        self.assertEqual(producer.flush(PATIENCE_S), 0)
        self.assert_pushes("lib", "org.apache.kafka.producer.connection.creation.total")
        self.assertTrue(all(name.startswith("org.apache.kafka.producer.connection.") for name in self.pushed("lib")))
        del producer
        self.assert_forgotten("lib")

    def test_a_java_producer_pushes_until_it_ends(self):
        suite.require_kafka()
        asked = suite.kafka_tool("client-metrics", "--bootstrap-server", self.broker.bootstrap, "--alter", "--name", "java",
                                 "--metrics", "org.apache.kafka.producer.", "--interval", str(INTERVAL_MS), "--match",
                                 "client_id=java,client_software_name=apache-kafka-java")
        self.assertEqual(asked.returncode, 0, asked.stderr)
        producer = subprocess.Popen(
            suite.kafka_tool_command("console-producer", "--bootstrap-server", self.broker.bootstrap, "--topic", "java",
                                     "--command-property", "client.id=java"),
            stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.addCleanup(producer.wait)
        self.addCleanup(producer.kill)
        producer.stdin.write(b"x\n")
        producer.stdin.flush()
        self.assert_pushes("java", "org.apache.kafka.producer.connection.creation.total")
        self.assertGreater(self.pushed("java")["org.apache.kafka.producer.connection.creation.total"], 0)
        producer.stdin.close()
        producer.wait(PATIENCE_S)
        self.assert_forgotten("java")


if __name__ == "__main__":
    suite.main(Broker(target="barnabas", properties={"http.listeners": f"{HOST}:0"}))
