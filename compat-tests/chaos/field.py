"""The processes of the chaos test: in each place one after the other, with a name of its own in the history."""

import pathlib
import random
import signal
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import suite  # noqa: E402

GROUP = "chaos"
PREFIX = "chaos-"
TXN_TIMEOUT_MS = 6000
SESSION_MS = 4000
REBALANCE_MS = 10000
WORK_MAX_MS = 60  # that a worker takes within a transaction
END_TIMEOUT_S = 30


def franz_go():
    source = HERE / "franz-go"
    suite.require_go(source)
    program = suite.build_directory("chaos") / "franzgo"
    if subprocess.run(["go", "build", "-o", program, "."], cwd=source).returncode != 0:
        sys.exit("FAILED: go build")
    return [program]


def java():
    classpath = suite.compile_java("chaos-java", sorted((HERE / "java").glob("*.java")), suite.require_kafka())
    command = suite.java_command(classpath, "ChaosProcess")
    command[1:1] = ["-XX:TieredStopAtLevel=1"]
    return command


def checker():
    source = HERE / "checker"
    suite.require_go(source)
    program = suite.build_directory("chaos") / "checker"
    if subprocess.run(["go", "build", "-o", program, "."], cwd=source).returncode != 0:
        sys.exit("FAILED: go build")
    return program


class Field:
    """`commands`: by client. A place is CLIENT-NUMBER."""

    def __init__(self, commands, bootstrap, directory, seed, options):
        self.commands = commands
        self.bootstrap = bootstrap
        self.directory = directory
        self.seed = seed
        self.options = options
        self.running = {}  # place → process: whoever is in charge there
        self.zombies = []  # processes that were replaced while they were paused
        self.counts = {}
        self.ids = {}
        self.complaints = open(directory / "complaints.log", "ab")

    def start(self, place, role, same_id=True, **more):
        """The next process of this place; its transactional id is that of the last one, or a new one."""
        count = self.counts[place] = self.counts.get(place, -1) + 1
        if not same_id or place not in self.ids:
            self.ids[place] = f"{place}.{count}"
        name = f"{place}.{count}"
        arguments = {
            "role": role, "name": name, "bootstrap": self.bootstrap, "history": self.directory / f"{name}.jsonl",
            "seed": random.Random(f"{self.seed} {name}").randrange(1, 1 << 31), "prefix": PREFIX, "partitions": self.options.partitions,
            "group": GROUP, "id": self.ids[place], "txn_timeout_ms": TXN_TIMEOUT_MS, "session_ms": SESSION_MS,
            "rebalance_ms": REBALANCE_MS, "abort": self.options.aborts, "rate": self.options.rate,
            "protocol": self.options.protocol,
            "work_ms": WORK_MAX_MS, "isolation": "read_committed", "batch": 30, **more,
        }
        command = self.commands[place.rpartition("-")[0].removeprefix("reader-")]
        process = subprocess.Popen(
            [*map(str, command), *(f"{key}={value}" for key, value in arguments.items())],
            stdin=subprocess.PIPE, stdout=self.complaints, stderr=self.complaints, start_new_session=True,
        )
        self.running[place] = process
        return process

    def ended_by_itself(self):
        """Places whose process has ended though nobody told it to, with the exit code."""
        return {place: process.returncode for place, process in self.running.items() if process.poll() is not None}

    def kill(self, place):
        process = self.running.pop(place, None)
        if process is not None:
            process.kill()
            process.wait()
        return process is not None

    def pause(self, place):
        """The process that does not go on until it is resumed; None where none runs."""
        process = self.running.get(place)
        if process is None or process.poll() is not None:
            return None
        process.send_signal(signal.SIGSTOP)
        return process

    def abandon(self, place):
        self.zombies.append(self.running.pop(place))

    def end(self, places):
        """Tell them to end, and wait; they are killed when they do not. Returns the places of those."""
        processes = {place: self.running.pop(place) for place in places if place in self.running}
        return [place for place, process in processes.items() if not end(process)]

    def end_zombies(self):
        for process in self.zombies:
            end(process)
        self.zombies = []

    def kill_all(self):
        for process in [*self.running.values(), *self.zombies]:
            process.kill()
            process.wait()
        self.running, self.zombies = {}, []
        self.complaints.close()


def resume(process):
    if process.poll() is None:
        process.send_signal(signal.SIGCONT)


def end(process):
    resume(process)
    process.stdin.close()
    try:
        process.wait(END_TIMEOUT_S)
        return True
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
        return False
