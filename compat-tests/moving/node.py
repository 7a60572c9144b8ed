"""One node's directories and its one server.properties, run by Apache Kafka and by Barnabas in turn.

    with Node(log_dirs=2, own_metadata_dir=True) as node:
        node.format("--standalone")
        node.start("kafka")
        node.stop()
        node.start("barnabas")
"""

import subprocess
import time

import cluster as peer
from base import Client, eventually
from broker import HOST, TARGETS, BrokerError, BrokerProcess, barnabas_binary, free_ports

START_TIMEOUT_S = 120

# The flags with which a JVM that lives for seconds starts soonest.
_JVM = ["-Xmx512M", "-Xms256M", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto"]

# Kafka's own log, line by line: [2026-11-29 20:00:00,000] WARN text (class)
_COMPLAINTS = ("] WARN ", "] ERROR ", "] FATAL ")


def _serves_all(client):
    """A broker shows itself before it leads what it has."""
    metadata = client.call("Metadata", 12, topics=None, allowAutoTopicCreation=False)
    wanted = [{"name": topic.name, "partitions": [
        {"partitionIndex": one.partitionIndex, "timestamp": -1} for one in topic.partitions]} for topic in metadata.topics]
    answer = client.call("ListOffsets", 5, replicaId=-1, topics=wanted)
    return all(one.errorCode == 0 for topic in answer.topics for one in topic.partitions)


class Node(BrokerProcess):
    """`properties` come on top of what every node here has; they may be changed between starts."""

    start_timeout_s = dict.fromkeys(TARGETS, START_TIMEOUT_S)  # either starts with what the other left

    def __init__(self, log_dirs=1, own_metadata_dir=False, static_quorum=False, properties=None):
        super().__init__("moving")
        self.port, self.controller_port, self.sasl_port = free_ports(3)
        self.bootstrap = f"{HOST}:{self.port}"
        self.log_dirs = [self.home / f"data-{i}" for i in range(log_dirs)]
        self.metadata_dir = self.home / "metadata" if own_metadata_dir else self.log_dirs[0]
        voters = f"1@{HOST}:{self.controller_port}"
        self.properties = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": f"PLAINTEXT://{HOST}:{self.port},CONTROLLER://{HOST}:{self.controller_port}",
            "advertised.listeners": f"PLAINTEXT://{HOST}:{self.port}",
            "inter.broker.listener.name": "PLAINTEXT",
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map":
                "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SASL_PLAINTEXT:SASL_PLAINTEXT",
            "log.dirs": ",".join(map(str, self.log_dirs)),
            "offsets.topic.replication.factor": "1",
            "offsets.topic.num.partitions": "3",
            "transaction.state.log.replication.factor": "1",
            "transaction.state.log.min.isr": "1",
            "transaction.state.log.num.partitions": "3",
            "group.initial.rebalance.delay.ms": "0",
            # A broker that was killed is let in again only once its old session has run out.
            "broker.heartbeat.interval.ms": "500",
            "broker.session.timeout.ms": "3000",
            **({"metadata.log.dir": str(self.metadata_dir)} if own_metadata_dir else {}),
            **({"controller.quorum.voters": voters} if static_quorum else
               {"controller.quorum.bootstrap.servers": f"{HOST}:{self.controller_port}"}),
            **(properties or {}),
        }
        self.runs = 0
        self.target = None
        self.log_path = self.home / "log"  # of the newest run, once there is one

    # The directories.

    def format(self, *arguments):
        """As kafka-storage does it."""
        cluster_id = peer.kafka_uuid()
        command = peer.java_command(
            "kafka.tools.StorageTool",
            ["format", "--config", str(self.write_properties()), "--cluster-id", cluster_id, *arguments], _JVM, "WARN")
        done = subprocess.run(command, capture_output=True, text=True, timeout=START_TIMEOUT_S)
        if done.returncode != 0:
            raise BrokerError(done.stdout + done.stderr)
        return cluster_id

    def write_properties(self, file="server.properties", **more):
        """Settings of `more` win; their names may need `**{…}`."""
        path = self.home / file
        settings = self.properties | more
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return path

    def partition_directory(self, topic, partition=0):
        found = [path for root in self.log_dirs if (path := root / f"{topic}-{partition}").is_dir()]
        if len(found) != 1:
            raise BrokerError(f"{topic}-{partition} is in {len(found)} log directories")
        return found[0]

    def files(self):
        """{path: content} of everything but the locks."""
        return {path: path.read_bytes() for root in {*self.log_dirs, self.metadata_dir}
                for path in root.rglob("*") if path.is_file() and path.name != ".lock"}

    @property
    def metadata_log(self):
        return self.metadata_dir / "__cluster_metadata-0"

    def drop_superfluous_metadata(self):
        """Removes what Apache Kafka removes once a minute: segments and snapshots that the newest snapshot replaces."""
        newest = max(self.metadata_log.glob("*.checkpoint"))
        end = int(newest.name.split("-")[0])
        bases = sorted(int(path.stem) for path in self.metadata_log.glob("*.log"))
        gone = {base for base, following in zip(bases, bases[1:]) if following <= end}
        for path in self.metadata_log.iterdir():
            if path.suffix == ".checkpoint" and path != newest or path.stem.isdigit() and int(path.stem) in gone:
                path.unlink()
        return min(set(bases) - gone)

    # The process.

    def start(self, target, arguments=(), properties_path=None):
        self.launch(target, arguments, properties_path)
        self._await_start()

    def launch(self, target, arguments=(), properties_path=None):
        """Does not wait for it."""
        self.runs += 1
        self.target = target
        self.log_path = self.home / f"log-{self.runs}-{target}"
        path = str(properties_path or self.write_properties())
        if target == "kafka":
            command = peer.java_command("kafka.Kafka", [path, *arguments], _JVM, "INFO")
        else:
            command = [str(barnabas_binary()), path, *arguments]
        self._launch(command)

    def await_ready(self, wait=time.sleep):
        super().await_ready(wait)
        client = self.client()
        try:
            if not eventually(lambda: _serves_all(client), START_TIMEOUT_S):
                raise self._error("does not serve all partitions")
        finally:
            client.close()

    def stop(self):
        """SIGTERM; the exit code has to be that of a clean end."""
        code = super().stop()
        if code != {"kafka": 143, "barnabas": 0}[self.target]:
            raise self._error(f"ended with exit code {code}")

    def client(self):
        return Client((HOST, self.port))

    # What it said.

    def log(self):
        return self.log_path.read_text(errors="replace")

    def kafka_complaints(self):
        """What the newest run's log says of level WARN or worse, up to the moment when Kafka was told to stop, each with
        the line behind it: an exception has its text there."""
        lines = self.log().partition("Terminating process due to signal")[0].splitlines()
        return [f"{line}\n{following}" for line, following in zip(lines, [*lines[1:], ""])
                if any(level in line for level in _COMPLAINTS)]

    def __enter__(self):
        return self
