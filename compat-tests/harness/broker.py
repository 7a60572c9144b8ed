"""One broker process for a test, on free ports of 127.0.0.1, with its data in a temporary directory.

    with Broker(properties={"num.partitions": "4"}) as broker:
        run_client(broker.bootstrap)
        broker.kill()
        broker.restart()

BARNABAS_TEST_TARGET says which broker: `barnabas` (the default; the binary is BARNABAS_BINARY, or
build/release/barnabas) or `kafka` (Apache Kafka from tools/peers/kafka), which shows what a test ought to see.
"""

import os
import pathlib
import random
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

HOST = "127.0.0.1"
PROJECT = pathlib.Path(__file__).resolve().parents[2]
KAFKA_PEER = PROJECT / "tools" / "peers" / "kafka" / "kafka"

TARGETS = ("barnabas", "kafka")
SKIPPED = 77  # the exit code that tells ctest "not run here"

_STOP_TIMEOUT_S = 60
_PROBE_TIMEOUT_S = 2.0
_POLL_S = {"barnabas": 0.005, "kafka": 0.1}
_LOG_TAIL_LINES = 30
_LOG_LINE_WIDTH = 300

# Below the range that the kernel gives to outgoing connections: a client must not get the port of a broker
# that is just being restarted.
_PORTS = range(20000, 32000)


class BrokerError(Exception):
    """The broker did not do what was asked of it; the text holds the end of its log."""


def chosen_target():
    target = os.environ.get("BARNABAS_TEST_TARGET", "barnabas")
    if target not in TARGETS:
        sys.exit(f"BARNABAS_TEST_TARGET={target}: must be one of {', '.join(TARGETS)}")
    return target


def barnabas_binary():
    return pathlib.Path(os.environ.get("BARNABAS_BINARY") or PROJECT / "build" / "release" / "barnabas").absolute()


class BrokerProcess:
    """A broker's process and directory, however it is set. A class of this gives it `target`, `port` and `log_path`."""

    start_timeout_s = {"barnabas": 30, "kafka": 120}

    def __init__(self, name):
        self.home = pathlib.Path(tempfile.mkdtemp(prefix=f"barnabas-test-{name}-"))
        self._process = None

    @property
    def pid(self):
        """The running process's id, or None."""
        running = self._process is not None and self._process.poll() is None
        return self._process.pid if running else None

    @property
    def exit_code(self):
        """Of the process that was started last; None while it runs."""
        return self._process.poll()

    def _launch(self, command, environment=None):
        with open(self.log_path, "ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, cwd=self.home,
                env=broker_environment() | (environment or {}), start_new_session=True,
            )

    def _await_start(self):
        try:
            self.await_ready()
        except BaseException:
            self.kill()
            raise

    def await_ready(self, wait=time.sleep):
        """`wait` is called with a number of seconds in between."""
        timeout = self.start_timeout_s[self.target]
        deadline = time.monotonic() + timeout
        while not is_ready(self.port):
            if self._process.poll() is not None:
                raise self._error(f"ended at start with exit code {self._process.returncode}")
            if time.monotonic() > deadline:
                raise self._error(f"did not answer on port {self.port} within {timeout} s")
            wait(_POLL_S[self.target])

    def stop(self):
        """SIGTERM; returns the exit code (0 from Barnabas, 143 from Java), or raises if it does not end in time."""
        self._process.send_signal(signal.SIGTERM)
        try:
            return self._process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.kill()
            raise self._error(f"did not end within {_STOP_TIMEOUT_S} s of SIGTERM") from None

    def signal(self, number):
        self._process.send_signal(number)

    def wait(self, timeout_s=_STOP_TIMEOUT_S):
        """Wait for the process to end; returns its exit code."""
        return self._process.wait(timeout_s)

    def kill(self):
        """SIGKILL; returns when the process is gone. Nothing to do if it has ended already."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()

    def rss(self):
        """Resident memory in bytes."""
        for line in pathlib.Path(f"/proc/{self._process.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise self._error("no VmRSS: the process has ended")

    def log_tail(self, lines=_LOG_TAIL_LINES):
        if not self.log_path.exists():
            return "(no log)"
        tail = self.log_path.read_text(errors="replace").splitlines()[-lines:]
        return "\n".join(line[:_LOG_LINE_WIDTH] for line in tail)

    def clean(self):
        """End the process and remove the directory."""
        self.kill()
        if os.environ.get("BARNABAS_TEST_KEEP"):
            print(f"kept: {self.home}", file=sys.stderr)
        else:
            shutil.rmtree(self.home, ignore_errors=True)

    def __exit__(self, kind, error, _trace):
        if kind is not None and kind is not KeyboardInterrupt and self.log_path.exists():
            print(f"--- {self.target} said at the end ({self.log_path}):\n{self.log_tail()}", file=sys.stderr)
        self.clean()

    def _error(self, what):
        return BrokerError(f"{self.target} {what}. Its log ({self.log_path}) ends:\n{self.log_tail()}")


class Broker(BrokerProcess):
    """Not started by the constructor, but its ports and directory are chosen there.

    `properties` are server settings that come on top of the harness's own. `listeners` is the number of plaintext
    listeners (named PLAINTEXT, PLAINTEXT2, …); `ports` holds theirs, `bootstrap` names the first. `secured` names more:
    {"MUTUAL": "SSL"} is a listener MUTUAL with that security protocol, which `address("MUTUAL")` leads to; what it
    needs (`listener.name.mutual.…`) is for `properties`. `format_arguments` are for Kafka's storage formatter,
    `jvm_arguments` for its JVM. `arguments` follow the settings file on Barnabas's command line, `environment` is added
    to its environment; both as well as `properties` may be changed between starts. The directory goes with the context
    manager or `clean()`, unless BARNABAS_TEST_KEEP is set.
    """

    def __init__(self, target=None, properties=None, listeners=1, arguments=(), environment=None, secured=None,
                 format_arguments=(), jvm_arguments=()):
        self.target = target or chosen_target()
        self.properties = dict(properties or {})
        self.arguments = list(arguments)
        self.environment = dict(environment or {})
        self.secured = dict(secured or {})
        self.format_arguments = list(format_arguments)
        self.jvm_arguments = list(jvm_arguments)
        *ports, self._controller_port = free_ports(listeners + len(self.secured) + 1)
        self.ports = ports[:listeners]
        self._secured_ports = dict(zip(self.secured, ports[listeners:]))
        self.port = self.ports[0]
        self.bootstrap = f"{HOST}:{self.port}"
        super().__init__(self.target)
        node = self.home / "node-1" if self.target == "kafka" else self.home
        self.data_dir = node / "data"
        self.log_path = node / "log"

    def address(self, listener):
        """Of a secured listener, as its certificate names this machine."""
        return f"localhost:{self._secured_ports[listener]}"

    def start(self, wait=True):
        """Returns once the broker answers requests, unless told not to wait. Works again after stop() or kill()."""
        if self.pid:
            raise BrokerError(f"already running, pid {self.pid}")
        self._launch(self._command(), self.environment)
        if wait:
            self._await_start()
        return self

    def format(self, arguments=()):
        """`barnabas format` before the first start, with its arguments, such as --add-scram; returns what it prints."""
        command = [str(self._binary()), "format", "--config", str(self._write_settings()),
                   "--cluster-id", "AAAAAAAAAAAAAAAAAAAAAA", *arguments]
        done = subprocess.run(command, capture_output=True, text=True, env=broker_environment() | self.environment)
        if done.returncode != 0:
            raise BrokerError(f"format ended with {done.returncode}: {done.stderr.strip()}")
        return done.stdout

    def reload(self):
        """SIGHUP, with the settings file as `properties` are now."""
        self._write_settings()
        self.signal(signal.SIGHUP)

    def restart(self):
        """Start again on the same data and ports, after an orderly stop if it still runs."""
        if self.pid:
            self.stop()
        return self.start()

    def offered_apis(self):
        """API key → (least version, greatest version), as ApiVersions answers."""
        with socket.create_connection((HOST, self.port), timeout=_PROBE_TIMEOUT_S) as connection:
            return _api_versions(connection)

    def __enter__(self):
        try:
            return self if self.pid else self.start()
        except BaseException:
            self.clean()
            raise

    def _command(self):
        if self.target == "kafka":
            self._prepare_kafka()
            return [str(self.home / "node-1" / "run")]
        return [str(self._binary()), str(self._write_settings()), *self.arguments]

    @staticmethod
    def _binary():
        binary = barnabas_binary()
        if not os.access(binary, os.X_OK):
            raise BrokerError(f"no broker binary at {binary}; build it or set BARNABAS_BINARY")
        return binary

    def _write_settings(self):
        settings = {
            "process.roles": "broker,controller",
            "node.id": "1",
            "listeners": ",".join(self._listeners()),
            "listener.security.protocol.map": self._security_map(),
            "log.dirs": str(self.data_dir),
            "http.listeners": "",
            **self.properties,
        }
        path = self.home / "server.properties"
        path.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        return path

    def _prepare_kafka(self):
        """Writes the settings; formats the storage the first time."""
        listeners = self._listeners()
        settings = {
            "listeners": ",".join([*listeners, f"CONTROLLER://{HOST}:{self._controller_port}"]),
            "advertised.listeners": ",".join(listeners),
            "listener.security.protocol.map": f"CONTROLLER:PLAINTEXT,{self._security_map()}",
            # A broker that was killed is let in again only once its old session has run out.
            "broker.heartbeat.interval.ms": "200",
            "broker.session.timeout.ms": "1000",
            **self.properties,
        }
        command = [
            sys.executable, str(KAFKA_PEER), "prepare", "--port", str(self.port),
            "--controller-port", str(self._controller_port), "--data", str(self.home), "--heap", "512M",
        ]
        command += [f"--prop={name}={value}" for name, value in settings.items()]
        command += [f"--format-arg={argument}" for argument in self.format_arguments]
        command += [f"--jvm-arg={argument}" for argument in self.jvm_arguments]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise BrokerError(done.stderr.strip() or done.stdout.strip())

    def _listener_names(self):
        return ["PLAINTEXT" if i == 0 else f"PLAINTEXT{i + 1}" for i in range(len(self.ports))]

    def _listeners(self):
        plain = [f"{name}://{HOST}:{port}" for name, port in zip(self._listener_names(), self.ports)]
        # By the name that certificates have; clients may resolve it to IPv4 only.
        return plain + [f"{name}://localhost:{port}" for name, port in self._secured_ports.items()]

    def _security_map(self):
        plain = [f"{name}:PLAINTEXT" for name in self._listener_names()]
        return ",".join(plain + [f"{name}:{protocol}" for name, protocol in self.secured.items()])


def is_ready(port, host=HOST):
    """Whether a broker answers ApiVersions without error and lists itself in Metadata."""
    try:
        with socket.create_connection((host, port), timeout=_PROBE_TIMEOUT_S) as connection:
            if not _api_versions(connection):
                return False
            no_topics, no_auto_creation = struct.pack(">i", 0), b"\0"
            metadata = call(connection, key=3, version=4, body=no_topics + no_auto_creation)
            _throttle_ms, brokers = struct.unpack_from(">ii", metadata)
            return brokers > 0
    except (OSError, struct.error):
        return False


def _api_versions(connection):
    """The offered API keys with their least and greatest versions; none where the answer is an error."""
    body = call(connection, key=18, version=0, body=b"")
    error, count = struct.unpack_from(">hi", body)
    entries = (struct.unpack_from(">hhh", body, 6 + 6 * i) for i in range(count))
    return {} if error else {key: (least, greatest) for key, least, greatest in entries}


def call(connection, key, version, body):
    """One request with the classic header (no tagged fields) on an open connection; returns the answer's body."""
    client_id = b"harness"
    request = struct.pack(">hhih", key, version, 1, len(client_id)) + client_id + body
    connection.sendall(struct.pack(">i", len(request)) + request)
    (size,) = struct.unpack(">i", _read(connection, 4))
    return _read(connection, size)[4:]


def _read(connection, size):
    data = bytearray()
    while len(data) < size:
        part = connection.recv(size - len(data))
        if not part:
            raise ConnectionError("closed before the answer was complete")
        data += part
    return bytes(data)


def free_ports(count):
    """Distinct ports that nobody listens on now."""
    ports = set()
    while len(ports) < count:
        port = random.SystemRandom().choice(_PORTS)
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((HOST, port))
            except OSError:
                continue
        ports.add(port)
    return list(ports)


def broker_environment():
    """This process's environment, less what the broker would take for settings of its own."""
    return {name: value for name, value in os.environ.items() if not name.startswith("KAFKA_")}
