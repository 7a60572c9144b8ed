#!/usr/bin/env python3
"""Kill the broker again and again under load; nothing acknowledged may be lost, doubled or out of order.

    crash_test.py --client BUILD/compat-tests/crash/crash_client [--kills 20] [--seed N] [--moves]

crash_client produces with acks=all and idempotence at full speed. Meanwhile the broker gets SIGKILL at random
moments, some of them while it is still starting. At the end the client checks every record; then the broker is
stopped in order, and Apache Kafka's dump-log must find nothing wrong with any segment, index or snapshot.
With --moves partitions move between three log directories all the time, and in the end each is in exactly one.
More kills than --round are done in rounds, each with topics of its own, so memory and disk stay bounded.
"""

import argparse
import os
import pathlib
import random
import re
import subprocess
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "harness"), str(HERE.parent / "conformance")]

import suite  # noqa: E402
from broker import HOST, Broker, BrokerError  # noqa: E402
from client import Connection, ConnectionClosed  # noqa: E402

UP_MAX_S = 1.2  # the broker runs at most so long between its start and the next kill
DURING_START = 0.25  # share of the kills that come before the broker is ready
START_MAX_S = {"barnabas": 0.05, "kafka": 3.0}
CLIENT_TIMEOUT_S = 400
DUMP_TIMEOUT_S = 300
FILES_A_DUMP = 400

# All that dump-log says about files in good order. Of a gap it names the file first, and it takes the beginning of a
# segment that does not begin with offset 0 for one.
GAP_FILE = re.compile(r"Non-consecutive offsets in \S+/(\d+)\.log$")
GAP = re.compile(r"  (-?\d+) is followed by (\d+)$")
GOOD_LINES = re.compile(
    r"Dumping \S+$|Log starting offset: \d+$|\S+ (?:passed sanity check|is empty)\.$|offset: \d+ position: \d+$"
    r"|timestamp: -?\d+ offset: \d+$|producerId: \d+ .*|\| offset: \d+ .*|\|? ?baseOffset: \d+ .* isvalid: true$|$"
)


class Failed(Exception):
    pass


class Client:
    """crash_client, running in the background; its lines are kept."""

    def __init__(self, program, broker, prefix, seed):
        self.process = subprocess.Popen(
            [program, "--prefix", prefix, "--seed", str(seed)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=os.environ | {"BARNABAS_BOOTSTRAP": broker.bootstrap},
        )
        self.first_line = self.process.stdout.readline().strip()
        self.lines = []
        self.reader = threading.Thread(target=self._read)
        self.reader.start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.append(line.rstrip())
            print(line, end="", flush=True)

    def finish(self):
        """Tell it to stop producing, and wait for its verdict."""
        self.process.stdin.close()
        try:
            return self.process.wait(CLIENT_TIMEOUT_S)
        finally:
            self.end()

    def end(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()


MOVE_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"


class Mover:
    """Moves partitions of some topics to random log directories as long as it lives, whatever becomes of the broker."""

    PAUSE_S = 0.05
    TIMEOUT_S = 5

    def __init__(self, broker, prefix, seed):
        self.address = (HOST, broker.port)
        self.directories = log_directories(broker)
        self.prefix = prefix
        self.rng = random.Random(seed)
        self.arrived = 0
        self.targets = {}
        self.stopping = threading.Event()
        self.thread = threading.Thread(target=self._run)
        self.thread.start()

    def end(self):
        self.stopping.set()
        self.thread.join()

    def _run(self):
        while not self.stopping.wait(self.PAUSE_S):
            try:
                with Connection(self.address, timeout=self.TIMEOUT_S) as connection:
                    while not self.stopping.wait(self.PAUSE_S):
                        self._move_some(connection)
            except (OSError, ConnectionClosed):
                continue

    def _move_some(self, connection):
        present, _ = places(connection, self.prefix)
        self._count_arrived(present)
        if not present:
            return
        name = self.rng.choice(sorted(present))
        target = self.rng.choice(self.directories)
        if target != present[name]:
            self.targets[name] = target
        connection.call("AlterReplicaLogDirs", 2, dirs=[
            {"path": target, "topics": [{"name": name[0], "partitions": [name[1]]}]}])

    def _count_arrived(self, present):
        self.arrived += sum(present.get(name) == target for name, target in self.targets.items())
        self.targets = {name: target for name, target in self.targets.items() if present.get(name) != target}

    def await_quiet(self):
        """No partition is on its way any more. The rate is lifted: the client may write faster than it. What arrives
        only now counts too: a broker that never lives long may not have ended a move before."""
        deadline = time.monotonic() + DUMP_TIMEOUT_S
        with Connection(self.address) as connection:
            answer = connection.call("IncrementalAlterConfigs", 1, validateOnly=False, resources=[
                {"resourceType": 4, "resourceName": "", "configs": [
                    {"name": MOVE_RATE, "configOperation": 0, "value": str(1 << 40)}]}])
            if answer.responses[0].errorCode != 0:
                raise Failed(f"the rate of moves cannot be changed: {answer.responses[0].errorMessage}")
            while (state := places(connection, self.prefix))[1]:
                if time.monotonic() > deadline:
                    raise Failed("a move does not end")
                time.sleep(self.PAUSE_S)
            self._count_arrived(state[0])


def places(connection, prefix):
    """({(topic, partition): directory}, those on their way)."""
    present, moving = {}, []
    for directory in connection.call("DescribeLogDirs", 5, topics=None).results:
        for topic in directory.topics:
            for partition in topic.partitions:
                name = (topic.name, partition.partitionIndex)
                if not topic.name.startswith(prefix):
                    continue
                if partition.isFutureKey:
                    moving.append(name)
                else:
                    present[name] = directory.logDir
    return present, moving


def log_directories(broker):
    return broker.properties.get("log.dirs", str(broker.data_dir)).split(",")


def check_directories(broker, prefix):
    names = [path.name for directory in log_directories(broker) for path in pathlib.Path(directory).glob(f"{prefix}-*")
             if not path.name.endswith("-delete")]
    if len(names) != len(set(names)) or any(name.endswith(("-future", "-stray")) for name in names):
        raise Failed(f"not each partition is in one place: {sorted(names)}")


def kill_and_restart(broker, rng, kills):
    """Leaves the broker running and ready."""
    during_start = False
    for number in range(kills):
        moment = rng.uniform(0, START_MAX_S[broker.target] if during_start else UP_MAX_S)
        time.sleep(moment)
        if broker.pid is None:
            raise Failed(f"the broker ended by itself before kill {number + 1}:\n{broker.log_tail()}")
        broker.kill()
        during_start = rng.random() < DURING_START and number + 1 < kills
        broker.start(wait=not during_start)


def check_files(broker, prefix):
    """Apache Kafka's dump-log over every file of the round's topics."""
    files = sorted(file for directory in log_directories(broker)
                   for file in pathlib.Path(directory).glob(f"{prefix}-*/*") if "-delete/" not in str(file))
    logs = [file for file in files if file.suffix in (".log", ".snapshot")]
    indexes = [file for file in files if file.suffix in (".index", ".timeindex")]
    if not logs or not indexes:
        raise Failed(f"no files of {prefix} in {broker.data_dir}")
    dump_log(logs, "--deep-iteration")
    dump_log(indexes, "--index-sanity-check")
    dump_log(indexes, "--verify-index-only")
    print(f"{len(logs)} logs and snapshots and {len(indexes)} indexes are in good order", flush=True)


def dump_log(files, *flags):
    for start in range(0, len(files), FILES_A_DUMP):
        chunk = files[start:start + FILES_A_DUMP]
        process = subprocess.Popen(
            suite.kafka_tool_command("dump-log", *flags, "--files", ",".join(map(str, chunk))),
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        )
        timer = threading.Timer(DUMP_TIMEOUT_S, process.kill)
        timer.start()
        bad = list(bad_lines(process.stdout))
        code = process.wait()
        timer.cancel()
        if code != 0 or bad:
            raise Failed(f"dump-log {' '.join(flags)} ended with {code} and said:\n" + "\n".join(bad[:20]))


def bad_lines(lines):
    base_offset = None
    for line in map(str.rstrip, lines):
        if gap_file := GAP_FILE.match(line):
            base_offset = int(gap_file[1])
        elif gap := GAP.match(line):
            if int(gap[1]) != -1 or int(gap[2]) != base_offset:
                yield f"{base_offset}.log: {line.strip()}"
        elif not GOOD_LINES.match(line):
            yield line


def run_round(broker, program, rng, kills, prefix, moves):
    client = Client(program, broker, prefix, rng.randrange(1 << 32))
    mover = Mover(broker, prefix, rng.randrange(1 << 32)) if moves else None
    try:
        if client.first_line != "producing":
            raise Failed(f"the client did not begin: {client.first_line}")
        kill_and_restart(broker, rng, kills)
        if mover:
            mover.end()
            mover.await_quiet()
            print(f"at least {mover.arrived} moves", flush=True)
            if not mover.arrived:
                raise Failed("nothing has moved")
        if client.finish() != 0:
            raise Failed("the log is not what was acknowledged")
    finally:
        if mover:
            mover.end()
        client.end()
    code = broker.stop()
    if broker.target == "barnabas" and code != 0:
        raise Failed(f"the broker's exit code after SIGTERM is {code}")
    check_directories(broker, prefix)
    check_files(broker, prefix)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", type=pathlib.Path, required=True, help="the built crash_client")
    parser.add_argument("--kills", type=int, default=20, help="in all (%(default)s)")
    parser.add_argument("--round", type=int, default=20, help="kills of one round (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32),
                        help="of the moments and of what is sent; a random one if not given")
    parser.add_argument("--moves", action="store_true", help="move partitions between log directories meanwhile")
    options = parser.parse_args()
    suite.require_kafka()
    print(f"seed {options.seed}: again with --seed {options.seed}", flush=True)
    rng = random.Random(options.seed)
    try:
        broker = Broker()
        if options.moves:
            broker.properties["log.dirs"] = ",".join(str(broker.home / f"disk{index}") for index in range(3))
            # A move takes long enough to be killed.
            broker.properties[MOVE_RATE] = str(50_000_000)
        with broker:
            for first in range(0, options.kills, options.round):
                if first > 0:
                    broker.start()
                kills = min(options.round, options.kills - first)
                run_round(broker, options.client.absolute(), rng, kills, f"crash-{first // options.round}", options.moves)
    except (Failed, BrokerError) as error:
        sys.exit(f"FAILED (seed {options.seed}): {error}")
    print(f"passed: {options.kills} kills")


if __name__ == "__main__":
    main()
