"""Lay out, format, start and stop Apache Kafka nodes under one directory.

DIR/cluster.json              cluster id and controller quorum
DIR/node-ID/server.properties the node's settings
DIR/node-ID/run               script that becomes the node's process
DIR/node-ID/data              its storage
DIR/node-ID/log               what it printed
DIR/node-ID/pid               there while `start` has it running
"""

import base64
import json
import os
import pathlib
import shlex
import shutil
import signal
import subprocess
import time
import uuid
from dataclasses import dataclass, field

import probe

HOST = "127.0.0.1"
HERE = pathlib.Path(__file__).resolve().parent
LIBS = (
    pathlib.Path(os.environ.get("BARNABAS_PEERS") or pathlib.Path.home() / ".cache" / "barnabas-peers")
    / "kafka-4.4.0" / "libs"
)

START_TIMEOUT_S = 120
STOP_TIMEOUT_S = 60

# The flags of Kafka's own start script.
_JVM_FLAGS = [
    "-server",
    "-XX:+UseG1GC",
    "-XX:MaxGCPauseMillis=20",
    "-XX:InitiatingHeapOccupancyPercent=35",
    "-XX:+ExplicitGCInvokesConcurrent",
    "-XX:MaxInlineLevel=15",
    "-Djava.awt.headless=true",
]


class Failure(Exception):
    """Something the caller can read and act on."""


@dataclass
class Quorum:
    """The controllers every node of a cluster turns to."""

    cluster_id: str
    voters: list  # of {"id", "endpoint", "directory_id"}
    static: bool  # voters fixed in the settings (kraft.version 0) rather than kept in the log

    def endpoints(self):
        return ",".join(v["endpoint"] for v in self.voters)

    def settings(self):
        if self.static:
            return {"controller.quorum.voters": ",".join(f"{v['id']}@{v['endpoint']}" for v in self.voters)}
        return {"controller.quorum.bootstrap.servers": self.endpoints()}

    def format_flags(self, is_controller):
        if self.static:
            return []
        if not is_controller:
            return ["--no-initial-controllers"]
        entries = (f"{v['id']}@{v['endpoint']}:{v['directory_id']}" for v in self.voters)
        return ["--initial-controllers", ",".join(entries)]

    def save(self, directory):
        (directory / "cluster.json").write_text(json.dumps(self.__dict__, indent=2) + "\n")

    @staticmethod
    def load(directory):
        path = pathlib.Path(directory) / "cluster.json"
        return Quorum(**json.loads(path.read_text())) if path.exists() else None

    @staticmethod
    def new(ids_and_ports, static):
        voters = [
            {"id": node_id, "endpoint": f"{HOST}:{port}", "directory_id": kafka_uuid()}
            for node_id, port in ids_and_ports
        ]
        return Quorum(kafka_uuid(), voters, static)


@dataclass
class Node:
    node_id: int
    home: pathlib.Path
    broker_port: int = 0  # 0: no broker in this process
    controller_port: int = 0  # 0: no controller in this process
    extra_listeners: list = field(default_factory=list)  # of (security protocol, port)

    @property
    def data(self):
        return self.home / "data"

    @property
    def run_script(self):
        return self.home / "run"

    @property
    def pid_file(self):
        return self.home / "pid"

    def settings(self, quorum, cluster_size):
        roles, listeners = [], []
        if self.broker_port:
            roles.append("broker")
            listeners.append(f"PLAINTEXT://{HOST}:{self.broker_port}")
            listeners += [f"{protocol}://{HOST}:{port}" for protocol, port in self.extra_listeners]
        advertised = ",".join(listeners)
        if self.controller_port:
            roles.append("controller")
            listeners.append(f"CONTROLLER://{HOST}:{self.controller_port}")
        replicas = min(3, cluster_size)
        in_sync = min(2, cluster_size)
        settings = {
            "process.roles": ",".join(roles),
            "node.id": self.node_id,
            "listeners": ",".join(listeners),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,"
            "SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL",
            "log.dirs": self.data,
            **quorum.settings(),
        }
        if self.broker_port:
            settings |= {
                "advertised.listeners": advertised,
                "inter.broker.listener.name": "PLAINTEXT",
                "offsets.topic.replication.factor": replicas,
                "transaction.state.log.replication.factor": replicas,
                "transaction.state.log.min.isr": in_sync,
                "share.coordinator.state.topic.replication.factor": replicas,
                "share.coordinator.state.topic.min.isr": in_sync,
            }
        return settings

    def pid(self):
        """The running process's id, or None; never that of a stranger that got a reused id."""
        if not self.pid_file.exists():
            return None
        pid = int(self.pid_file.read_text())
        try:
            command = pathlib.Path(f"/proc/{pid}/cmdline").read_bytes()
        except OSError:
            return None
        return pid if str(self.home).encode() in command else None

    @property
    def log(self):
        return self.home / "log"

    def log_excerpt(self, since, lines=15):
        """What the log says of a failure: from the first error after byte `since`, else its last lines."""
        text = self.log.read_bytes()[since:].decode(errors="replace").splitlines()
        errors = [i for i, line in enumerate(text) if " ERROR " in line or "FATAL" in line]
        return "\n".join(text[errors[0]:errors[0] + lines] if errors else text[-lines:])


def prepare(node, quorum, cluster_size, *, heap, log_level, overrides, format_args, jvm_args=()):
    """Write the node's settings and run script; format its storage unless that was done before."""
    require_libs()
    node.home.mkdir(parents=True, exist_ok=True)
    properties = node.home / "server.properties"
    settings = node.settings(quorum, cluster_size) | overrides
    properties.write_text("".join(f"{key}={value}\n" for key, value in settings.items()))

    jvm = [f"-Xmx{heap}", f"-Xms{heap}", *_JVM_FLAGS, *jvm_args]
    command = java_command("kafka.Kafka", [str(properties)], jvm, log_level)
    node.run_script.write_text("#!/bin/sh\nexec " + shlex.join(command) + "\n")
    node.run_script.chmod(0o755)

    if not (node.data / "meta.properties").exists():
        format_command = java_command(
            "kafka.tools.StorageTool",
            ["format", "--config", str(properties), "--cluster-id", quorum.cluster_id,
             *quorum.format_flags(bool(node.controller_port)), *format_args],
            ["-Xmx256M", "-XX:TieredStopAtLevel=1"],
            "WARN",
        )
        done = subprocess.run(format_command, capture_output=True, text=True, timeout=START_TIMEOUT_S)
        if done.returncode != 0:
            raise Failure(f"formatting {node.data} failed:\n{done.stdout}{done.stderr}")


def start(nodes):
    """Start prepared nodes; returns once each broker lists all the others' brokers, or raises."""
    for node in nodes:
        if node.pid():
            raise Failure(f"node {node.node_id} under {node.home.parent} already runs (pid {node.pid()})")
        for port in filter(None, (node.broker_port, node.controller_port)):
            if probe.is_listening(HOST, port):
                raise Failure(f"port {port} is taken")
    launched = []
    try:
        for node in nodes:
            launched.append(_Launched(node))
        _await_ready(launched)
    except BaseException:
        for one in launched:
            one.process.kill()
            one.process.wait()
            one.node.pid_file.unlink(missing_ok=True)
        raise


class _Launched:
    """A node's process, and where in the node's log its own lines begin."""

    def __init__(self, node):
        self.node = node
        with open(node.log, "ab") as log:
            self.log_start = log.tell()
            self.process = subprocess.Popen(
                [node.run_script], stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
            )
        node.pid_file.write_text(f"{self.process.pid}\n")

    def log_excerpt(self):
        return self.node.log_excerpt(self.log_start)


def _await_ready(launched):
    deadline = time.monotonic() + START_TIMEOUT_S
    while waiting := _not_ready([one.node for one in launched]):
        for one in launched:
            if one.process.poll() is not None:
                raise Failure(f"node {one.node.node_id} ended at start:\n{one.log_excerpt()}")
        if time.monotonic() > deadline:
            ids = ", ".join(str(node.node_id) for node in waiting)
            raise Failure(f"no answer from node {ids} in {START_TIMEOUT_S} s:\n{launched[0].log_excerpt()}")
        time.sleep(0.1)


def _not_ready(nodes):
    """Brokers are ready once each knows them all; bare controllers once all answer and one leads."""
    brokers = [node for node in nodes if node.broker_port]
    controllers = [node for node in nodes if not node.broker_port]
    waiting = [node for node in brokers if probe.brokers_known(HOST, node.broker_port) < len(brokers)]
    states = [probe.quorum_state(HOST, node.controller_port) for node in controllers]
    if controllers and (probe.SILENT in states or probe.LEADING not in states):
        waiting += controllers
    return waiting


def nodes_under(directory, only=None):
    """The nodes laid out under DIR, or just the one with the id asked for."""
    homes = sorted(pathlib.Path(directory).resolve().glob("node-*"))
    nodes = [Node(int(home.name.removeprefix("node-")), home) for home in homes]
    if only is not None:
        nodes = [node for node in nodes if node.node_id == only]
    if not nodes:
        raise Failure(f"no such node under {directory}")
    return nodes


def stop(nodes, kill=False):
    """End exactly the processes the pid files name: SIGTERM, and SIGKILL for those that stay."""
    running = [pid for node in nodes if (pid := node.pid())]
    for pid in running:
        os.kill(pid, signal.SIGKILL if kill else signal.SIGTERM)
    deadline = time.monotonic() + STOP_TIMEOUT_S
    while running and time.monotonic() < deadline:
        time.sleep(0.05)
        running = [pid for pid in running if _is_alive(pid)]
    for pid in running:
        os.kill(pid, signal.SIGKILL)
    for node in nodes:
        node.pid_file.unlink(missing_ok=True)
    return not running


def _is_alive(pid):
    try:
        state = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def java_command(main, args, jvm_flags, log_level):
    return [
        "java", *jvm_flags,
        f"-Dlog4j2.configurationFile={HERE / 'log4j2.properties'}",
        f"-Dkafka.log.level={log_level}",
        "-cp", classpath(), main, *args,
    ]


def classpath():
    return f"{LIBS}/*"


def libs_present():
    return any(LIBS.glob("kafka_*.jar"))


def require_libs():
    if shutil.which("java") is None:
        raise Failure("no java here; install Java 17 (Debian: openjdk-17-jdk-headless)")
    if not libs_present():
        raise Failure("Apache Kafka's jars are not here yet; run: tools/peers/kafka/kafka fetch")


def kafka_uuid():
    """A random id in Kafka's spelling: 22 characters of URL-safe base64, not starting with a dash."""
    while True:
        text = base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        if not text.startswith("-"):
            return text
