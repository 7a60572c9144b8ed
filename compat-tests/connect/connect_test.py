#!/usr/bin/env python3
"""Kafka Connect in distributed mode: a file goes line by line into a topic and from there into another file, while the
worker is killed and starts again. The source is exactly once: each line is in the topic once, in order. The sink is at
least once: after a kill it may write some lines again."""

import json
import pathlib
import shutil
import sys
import tempfile
import threading
import time
import urllib.error
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
sys.path.extend(str(HERE.parent / folder) for folder in ("harness", "conformance", "transactions"))

from base import Client  # noqa: E402
from broker import HOST, Broker, BrokerError, free_ports  # noqa: E402
from scenarios import ScenarioFailed, properties, wait_until  # noqa: E402
from worker import Worker  # noqa: E402
from workers import committed_in  # noqa: E402

TIMEOUT_S = 120
SESSION_MS = 6000
TRANSACTION_MS = 5000
LINES_AT_ONCE, EVERY_S = 5, 0.02
LINES_A_STEP = 200
TOPIC = "lines"
INTERNAL = {"connect-configs": 1, "connect-offsets": 3, "connect-status": 2}
CONNECTORS = {
    "source": {"connector.class": "FileStreamSource", "tasks.max": "1", "topic": TOPIC, "exactly.once.support": "required",
               "transaction.boundary": "poll",
               # A worker that starts reads its offsets only once what another one left open has timed out.
               "producer.override.transaction.timeout.ms": TRANSACTION_MS},
    "sink": {"connector.class": "FileStreamSink", "tasks.max": "1", "topics": TOPIC,
             "consumer.override.isolation.level": "read_committed",
             "consumer.override.session.timeout.ms": SESSION_MS, "consumer.override.heartbeat.interval.ms": SESSION_MS // 6},
}


class Connect:
    def __init__(self, broker, directory):
        self.broker = broker
        self.files = {"source": directory / "from", "sink": directory / "to"}
        (port,) = free_ports(1)
        self.url = f"http://{HOST}:{port}"
        self.worker = Worker("org.apache.kafka.connect.cli.ConnectDistributed", directory, {
            "bootstrap.servers": broker.bootstrap, "group.id": "connect", "listeners": self.url,
            "key.converter": "org.apache.kafka.connect.storage.StringConverter",
            "value.converter": "org.apache.kafka.connect.storage.StringConverter",
            "config.storage.topic": "connect-configs", "config.storage.replication.factor": "1",
            "offset.storage.topic": "connect-offsets", "offset.storage.replication.factor": "1",
            "offset.storage.partitions": INTERNAL["connect-offsets"],
            "status.storage.topic": "connect-status", "status.storage.replication.factor": "1",
            "status.storage.partitions": INTERNAL["connect-status"],
            "exactly.once.source.support": "enabled", "offset.flush.interval.ms": "300",
            "plugin.discovery": "service_load", "connector.client.config.override.policy": "All",
            "session.timeout.ms": SESSION_MS, "heartbeat.interval.ms": SESSION_MS // 6,
            "scheduled.rebalance.max.delay.ms": "0",
        })
        self.written = 0
        self.ended = threading.Event()
        self.writer = threading.Thread(target=self.write, daemon=True)
        self.started = time.monotonic()

    def run(self):
        try:
            self.worker.start()
            self.wait("the worker answers", lambda: self.ask("/connectors") == [])
            self.writer.start()
            for name, config in CONNECTORS.items():
                self.ask("/connectors", {"name": name, "config": config | {"file": str(self.files[name])}})
            self.goes_on("lines are copied")
            self.worker.kill()
            self.worker.start()
            self.goes_on("the worker was killed")
            self.worker.kill()
            self.broker.kill()
            self.broker.start()
            self.worker.start()
            self.goes_on("worker and broker were killed")
            self.end_writing()
            self.wait("all is copied", lambda: len(set(self.sunk())) >= self.written)
            self.judge()
        except ScenarioFailed:
            print(self.worker.log_tail(), file=sys.stderr)
            raise
        finally:
            self.end_writing()
            self.worker.kill()

    def write(self):
        with open(self.files["source"], "w", buffering=1) as file:
            while not self.ended.wait(EVERY_S):
                for _ in range(LINES_AT_ONCE):
                    file.write(f"line {self.written}\n")
                    self.written += 1

    def end_writing(self):
        self.ended.set()
        if self.writer.is_alive():
            self.writer.join()

    def goes_on(self, what):
        wanted = self.written + LINES_A_STEP
        self.wait(what, lambda: len(set(self.sunk())) >= wanted)
        print(f"  {time.monotonic() - self.started:5.1f} s  {what}", flush=True)

    def lines(self):
        return [f"line {number}" for number in range(self.written)]

    def sunk(self):
        return self.files["sink"].read_text().splitlines() if self.files["sink"].exists() else []

    def judge(self):
        raw = Client((HOST, self.broker.port))
        found = [value for _, value in committed_in(raw.read(TOPIC))]
        if found != self.lines():
            raise ScenarioFailed(f"the topic has {len(found)} lines ({len(set(found))} different ones) of {self.written}")
        repeats = len(self.sunk()) - len(set(self.sunk()))
        if set(self.sunk()) != set(found):
            raise ScenarioFailed("the sink has lines that nobody wrote")
        for topic, partitions in INTERNAL.items():
            kept = len(raw.metadata(topic).topics[0].partitions)
            asked = [{"resourceType": 2, "resourceName": topic, "configurationKeys": ["cleanup.policy"]}]
            policy = raw.call("DescribeConfigs", 4, resources=asked, includeSynonyms=False,
                              includeDocumentation=False).results[0].configs[0].value
            if (kept, policy) != (partitions, "compact"):
                raise ScenarioFailed(f"{topic} has {kept} partitions and is cleaned by {policy}")
        print(f"  {self.written} lines, each once in the topic; the sink wrote {repeats} of them again", flush=True)

    def ask(self, path, content=None):
        """The worker's answer, or None while it has none."""
        data = None if content is None else json.dumps(content).encode()
        request = urllib.request.Request(self.url + path, data, {"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=TIMEOUT_S) as answer:
                return json.load(answer)
        except urllib.error.HTTPError as error:
            if error.code in (404, 409) or error.code >= 500:  # it starts, or joins its group
                return None
            raise ScenarioFailed(f"{path}: {error.code} {error.read().decode()}") from error
        except OSError:
            return None

    def wait(self, what, condition):
        def pump():
            self.worker.check()
            time.sleep(0.1)

        wait_until(what, condition, pump, TIMEOUT_S, self.state)

    def state(self):
        raw = Client((HOST, self.broker.port))
        batches = raw.read(TOPIC)
        ends = [raw.list_offset(TOPIC, -1, isolation=level).offset for level in (0, 1)]
        return (f"{len(self.sunk())} lines of {self.written} are in the sink, {len(committed_in(batches))} are committed in "
                f"the topic, which ends at {ends}")


def main():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="barnabas-connect-"))
    try:
        with Broker(properties=properties(SESSION_MS, transaction_state_log_num_partitions=4,
                                          transaction_abort_timed_out_transaction_cleanup_interval_ms=200)) as broker:
            Connect(broker, directory).run()
    except (BrokerError, ScenarioFailed) as error:
        sys.exit(f"FAILED: {error}")
    finally:
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    main()
