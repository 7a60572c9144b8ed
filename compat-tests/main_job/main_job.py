#!/usr/bin/env python3
"""The main job on real input: librdkafka produces the machine's own text with acks=all and each compression, the
Java client reads it back, and every byte and the order must be equal. Once more with the broker killed meanwhile.

    main_job.py --producer BUILD/compat-tests/main_job/main_job_producer [--megabytes 100]
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))

import suite  # noqa: E402
from broker import Broker, BrokerError  # noqa: E402

# What a Debian machine has: package lists, scripts, documentation, sources; text and packed files.
ROOTS = [
    "/var/lib/dpkg/info", "/usr/share/doc", "/usr/share/perl", "/var/lib/apt/lists", "/usr/share/common-licenses",
    "/usr/include", "/usr/share/man", "/usr/lib/python3",
]
COMPRESSIONS = ("none", "gzip", "snappy", "lz4", "zstd")
PARTITIONS = 4
KILL_AT = (0.3, 0.6)  # of the input's bytes acknowledged

QUICK_MEGABYTES = 20
FULL_MEGABYTES = 100
PRODUCER_MEMORY_MAX = 256 << 20
CONSUME_TIMEOUT_S = 600


class Failed(Exception):
    pass


def pick_files(wanted):
    """Files of about `wanted` bytes in all: an equal share from each root in the order of their names, and what a
    small root leaves goes to those after it. The same machine gives the same files."""
    chosen, total = [], 0
    for i, root in enumerate(ROOTS):
        share = (wanted - total) // (len(ROOTS) - i)
        for path in sorted(pathlib.Path(root).rglob("*")):
            if share <= 0:
                break
            if path.is_symlink() or not path.is_file() or not os.access(path, os.R_OK) or "\n" in str(path):
                continue
            size = path.stat().st_size
            if size <= share:
                chosen.append(path)
                total += size
                share -= size
    if total < wanted // 2:
        print(f"only {total >> 20} MiB of input on this machine")
    return chosen, total


class Job:
    def __init__(self, broker, producer, directory, megabytes):
        self.broker = broker
        self.producer = producer
        self.expected = directory / "expected"
        self.expected.mkdir()
        self.file_list = directory / "files"
        files, self.input_bytes = pick_files(megabytes << 20)
        self.file_list.write_text("".join(f"{path}\n" for path in files))
        print(f"{len(files)} files, {self.input_bytes} bytes", flush=True)

    def produce(self, topic, compression, *settings, kill_at=()):
        """Runs the producer to its end; at each of the fractions of the input the broker is killed and restarted."""
        started = time.monotonic()
        command = [self.producer, topic, str(PARTITIONS), compression, self.file_list, self.expected, *settings]
        kills = [fraction * self.input_bytes for fraction in kill_at]
        # librdkafka tells stderr of every lost connection.
        stderr = subprocess.DEVNULL if kills else None
        process = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=stderr, text=True,
            env=os.environ | {"BARNABAS_BOOTSTRAP": self.broker.bootstrap},
        )
        try:
            for line in process.stdout:
                if kills and int(line.split()[1]) >= kills[0]:
                    kills.pop(0)
                    self.broker.kill()
                    self.broker.start()
            _pid, status, usage = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
        finally:
            process.kill()
        if process.returncode != 0:
            raise Failed(f"the producer of {topic} ended with {process.returncode}")
        if kills:
            raise Failed(f"the producer of {topic} was done before the broker was killed")
        memory = usage.ru_maxrss * 1024
        print(f"{topic}: produced in {time.monotonic() - started:.1f} s with {memory >> 20} MiB of memory", flush=True)
        if memory > PRODUCER_MEMORY_MAX:
            raise Failed("the producer's memory must not grow with the input")

    def consume(self, classpath, topics):
        started = time.monotonic()
        command = suite.java_command(
            classpath, "MainJobConsumer", self.broker.bootstrap, self.expected, PARTITIONS, *topics)
        if subprocess.run(command, timeout=CONSUME_TIMEOUT_S).returncode != 0:
            raise Failed("what came back is not what was sent")
        print(f"consumed in {time.monotonic() - started:.1f} s", flush=True)


def run(broker, producer, classpath, directory, megabytes):
    job = Job(broker, producer, directory, megabytes)
    topics = []
    for compression in COMPRESSIONS:
        topics.append(f"main-{compression}")
        job.produce(topics[-1], compression)
    topics.append("main-killed")
    job.produce(topics[-1], "lz4", "enable.idempotence=true", kill_at=KILL_AT)
    job.consume(classpath, topics)
    print(f"the broker's memory: {broker.rss() >> 20} MiB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--producer", type=pathlib.Path, required=True, help="the built main_job_producer")
    parser.add_argument("--megabytes", type=int,
                        default=FULL_MEGABYTES if os.environ.get("CI") else QUICK_MEGABYTES,
                        help=f"size of the input (%(default)s; {FULL_MEGABYTES} where CI is set)")
    options = parser.parse_args()
    classpath = suite.compile_java("main_job", sorted(HERE.glob("*.java")), suite.require_kafka())
    directory = pathlib.Path(tempfile.mkdtemp(prefix="barnabas-main-job-"))
    try:
        with Broker() as broker:
            run(broker, options.producer.absolute(), classpath, directory, options.megabytes)
    except (Failed, BrokerError) as error:
        sys.exit(f"FAILED: {error}")
    finally:
        shutil.rmtree(directory)
    print("passed")


if __name__ == "__main__":
    main()
