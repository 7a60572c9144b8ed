"""What the Python test programs share: skipping, tools, build directories, and the run of a unittest suite."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

from broker import KAFKA_PEER, PROJECT, SKIPPED, BrokerError

_PEER_TIMEOUT_S = 120
_FETCH_TIMEOUT_S = 300

# For brokers whose tests send records with times of the past: by default those may be deleted at any moment.
KEEP_OLD_RECORDS = {"log.retention.ms": "-1"}


def skip(reason):
    """End the program as skipped, or as failed where BARNABAS_TEST_NO_SKIP is set (CI has every toolchain)."""
    if os.environ.get("BARNABAS_TEST_NO_SKIP"):
        sys.exit(f"FAILED: {reason}, and BARNABAS_TEST_NO_SKIP is set")
    print(f"SKIPPED: {reason}", flush=True)
    sys.exit(SKIPPED)


def require_tools(*names):
    for name in names:
        if shutil.which(name) is None:
            skip(f"no {name} here")


def require_go(module):
    """The Go that the go.mod in this folder asks for, since Debian's is often too old and gives a puzzling error."""
    require_tools("go")
    wanted = re.search(r"^go (\d+)\.(\d+)", (module / "go.mod").read_text(), re.MULTILINE)
    printed = subprocess.run(["go", "version"], capture_output=True, text=True, cwd=module.parent).stdout
    found = re.search(r"go(\d+)\.(\d+)", printed)
    if found is None or tuple(map(int, found.groups())) < tuple(map(int, wanted.groups())):
        skip(f"go {wanted[1]}.{wanted[2]} or newer is needed, here is: {printed.strip()}")


def require_kafka():
    """A JDK and Apache Kafka's jars, which are fetched where Maven is there; returns the class path."""
    require_tools("java", "javac")
    done = _kafka_peer("classpath")
    if done.returncode != 0 and shutil.which("mvn"):
        print("fetching Apache Kafka's jars", flush=True)
        _kafka_peer("fetch")
        done = _kafka_peer("classpath")
    if done.returncode != 0:
        skip(done.stderr.strip())
    return done.stdout.strip()


def _kafka_peer(command):
    return subprocess.run(
        [sys.executable, str(KAFKA_PEER), command], capture_output=True, text=True, timeout=_FETCH_TIMEOUT_S
    )


def kafka_tool_command(name, *arguments):
    return [sys.executable, str(KAFKA_PEER), "tool", name, *map(str, arguments)]


def kafka_tool(name, *arguments, stdin=None, timeout=_PEER_TIMEOUT_S):
    """Run one of Apache Kafka's command-line tools to its end; the caller looks at the exit code."""
    return subprocess.run(
        kafka_tool_command(name, *arguments), input=stdin, capture_output=True, text=True, timeout=timeout
    )


def build_directory(name):
    """Where a client's test keeps what it installs and compiles; survives from run to run."""
    directory = PROJECT / "build" / "compat" / name
    directory.mkdir(parents=True, exist_ok=True)
    return directory


def compile_java(name, sources, classpath):
    """Compile into the build directory `name`; returns the class path to run with."""
    classes = build_directory(name) / "classes"
    shutil.rmtree(classes, ignore_errors=True)
    done = subprocess.run(
        ["javac", "-Xlint:all,-processing,-classfile", "-Werror", "--release", "17", "-d", str(classes),
         "-cp", classpath, *map(str, sources)]
    )
    if done.returncode != 0:
        sys.exit("FAILED: javac")
    return f"{classes}{os.pathsep}{classpath}"


def java_command(classpath, main, *arguments):
    log4j = pathlib.Path(KAFKA_PEER).parent / "log4j2.properties"
    return ["java", "-Xmx256M", "-XX:+UseSerialGC", f"-Dlog4j2.configurationFile={log4j}",
            "-Dkafka.log.level=WARN", "-cp", classpath, main, *map(str, arguments)]


class BrokerTest(unittest.TestCase):
    """A suite whose cases share one broker: the program sets `broker` before it runs them."""

    broker = None
    maxDiff = 2000

    def topic(self):
        """A topic name of the case's own."""
        return self.id().rpartition(".")[2].replace("_", "-")


def main(broker):
    """Run the calling program's cases against this broker; the process ends with ctest's exit code."""
    try:
        with broker:
            BrokerTest.broker = broker
            result = unittest.main(exit=False, verbosity=2).result
            if not result.wasSuccessful():
                print(f"--- {broker.target} said at the end:\n{broker.log_tail()}", file=sys.stderr)
    except BrokerError as error:
        sys.exit(f"FAILED: {error}")
    sys.exit(0 if result.wasSuccessful() else 1)
