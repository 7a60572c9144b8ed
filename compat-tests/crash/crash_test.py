#!/usr/bin/env python3
"""Kill the broker again and again under load; nothing acknowledged may be lost, doubled or out of order.

    crash_test.py --client BUILD/compat-tests/crash/crash_client [--kills 20] [--seed N]

crash_client produces with acks=all and idempotence at full speed. Meanwhile the broker gets SIGKILL at random
moments, some of them while it is still starting. At the end the client checks every record; then the broker is
stopped in order, and Apache Kafka's dump-log must find nothing wrong with any segment, index or snapshot.
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
sys.path.insert(0, str(HERE.parent / "harness"))

import suite  # noqa: E402
from broker import Broker, BrokerError  # noqa: E402

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
    files = sorted(broker.data_dir.glob(f"{prefix}-*/*"))
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


def run_round(broker, program, rng, kills, prefix):
    client = Client(program, broker, prefix, rng.randrange(1 << 32))
    try:
        if client.first_line != "producing":
            raise Failed(f"the client did not begin: {client.first_line}")
        kill_and_restart(broker, rng, kills)
        if client.finish() != 0:
            raise Failed("the log is not what was acknowledged")
    finally:
        client.end()
    code = broker.stop()
    if broker.target == "barnabas" and code != 0:
        raise Failed(f"the broker's exit code after SIGTERM is {code}")
    check_files(broker, prefix)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--client", type=pathlib.Path, required=True, help="the built crash_client")
    parser.add_argument("--kills", type=int, default=20, help="in all (%(default)s)")
    parser.add_argument("--round", type=int, default=20, help="kills of one round (%(default)s)")
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1 << 32),
                        help="of the moments and of what is sent; a random one if not given")
    options = parser.parse_args()
    suite.require_kafka()
    print(f"seed {options.seed}: again with --seed {options.seed}", flush=True)
    rng = random.Random(options.seed)
    try:
        with Broker() as broker:
            for first in range(0, options.kills, options.round):
                if first > 0:
                    broker.start()
                kills = min(options.round, options.kills - first)
                run_round(broker, options.client.absolute(), rng, kills, f"crash-{first // options.round}")
    except (Failed, BrokerError) as error:
        sys.exit(f"FAILED (seed {options.seed}): {error}")
    print(f"passed: {options.kills} kills")


if __name__ == "__main__":
    main()
