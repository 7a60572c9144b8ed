"""Apache Kafka and Barnabas side by side, and Apache Kafka's tools run against either from one JVM."""

import json
import os
import pathlib
import re
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
sys.path.insert(0, str(HERE.parent / "conformance"))
sys.path.insert(0, str(HERE.parents[1] / "tools" / "peers" / "kafka"))

import suite  # noqa: E402
from base import Client  # noqa: E402
from broker import HOST, Broker  # noqa: E402
from tools import MAIN_CLASSES  # noqa: E402

TARGETS = ("kafka", "barnabas")
SAME_WITHIN_S = 8.0


class Runner:
    """The JVM of ToolRunner.java."""

    def __init__(self):
        classpath = suite.compile_java("tools", [HERE / "ToolRunner.java"], suite.require_kafka())
        command = suite.java_command(classpath, "ToolRunner")
        command[1:1] = ["-XX:TieredStopAtLevel=1"]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL, text=True)

    def run(self, tool, arguments):
        """(exit code, what was printed, what was complained)."""
        request = {"main": MAIN_CLASSES[tool], "args": [str(argument) for argument in arguments]}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            if line.startswith("ANSWER "):
                answer = json.loads(line.removeprefix("ANSWER "))
                return answer["exit"], answer["out"], answer["err"]
        raise AssertionError("the tools' JVM has ended")

    def close(self):
        self.process.stdin.close()
        self.process.wait(30)


class Side:
    """One of the two brokers, with its raw client."""

    def __init__(self, target, properties, secured):
        self.target = target
        self.broker = Broker(target=target, properties=properties, secured=secured)

    def start(self):
        self.broker.start()
        self.client = Client((HOST, self.broker.port))

    def clean(self):
        self.broker.clean()

    def normal(self, text):
        """What the tool said, without what no two brokers can have in common."""
        for pattern, replacement in (
            # Each broker has ports and a directory of its own.
            (re.escape(str(self.broker.data_dir)), "DATA"),
            (rf"{re.escape(HOST)}:{self.broker.port}\b", "BROKER"),
            (rf"\b{self.broker.port}\b", "PORT"),
            *((rf"\b{re.escape(self.broker.address(name))}\b", name) for name in self.broker.secured),
            # Topics, directories, clusters and incarnations get random ids.
            # Before ids: between its signs there may be 22 letters that look like one.
            (r"[A-Za-z0-9+/]{86}==", "HMAC"),
            (r"(?<![\w-])(?=[\w-]*[A-Z])(?=[\w-]*[a-z])[\w-]{22}(?![\w-])", "ID"),
            # Where the tool was in its own code.
            (r"^\s+(at |\.\.\. \d+ more|Suppressed).*\n", ""),
        ):
            text = re.sub(pattern, replacement, text, flags=re.MULTILINE)
        return text


class SideBySideTest(suite.unittest.TestCase):
    """Cases that run a tool against both and compare."""

    maxDiff = 6000
    runner = None
    sides = {}

    def ask(self, target, tool, *arguments, bootstrap=True, raw=False):
        side = self.sides[target]
        given = [argument(side) if callable(argument) else argument for argument in arguments]
        if bootstrap:
            at = 0 if tool in ("features", "metadata-quorum", "transactions") else len(given)  # before or behind the command
            given[at:at] = ["--bootstrap-server", side.broker.bootstrap]
        started = time.monotonic()
        code, out, err = self.runner.run(tool, given)
        if os.environ.get("BARNABAS_TEST_TIMES"):
            print(f"{time.monotonic() - started:6.2f} s  {target} {tool} {given}", file=sys.stderr)
        return (code, out, err) if raw else (code, side.normal(out), side.normal(err))

    def once(self, tool, *arguments, exit_code=0, normal=None, **options):
        """For what changes something: run on each, and the same must be said. Returns what was printed."""
        return self.compare([self.ask(target, tool, *arguments, **options) for target in TARGETS],
                            tool, arguments, exit_code, normal)

    def same(self, tool, *arguments, exit_code=0, normal=None, **options):
        """For what only asks. Apache Kafka's broker learns of changes a moment later, so it may be asked again."""
        deadline = time.monotonic() + SAME_WITHIN_S
        while True:
            answers = [self.ask(target, tool, *arguments, **options) for target in TARGETS]
            if normal:
                answers = [(code, normal(out), err) for code, out, err in answers]
            if answers[0] == answers[1] or time.monotonic() > deadline:
                return self.compare(answers, tool, arguments, exit_code, None)
            time.sleep(0.2)

    def compare(self, answers, tool, arguments, exit_code, normal):
        if normal:
            answers = [(code, normal(out), err) for code, out, err in answers]
        kafka, barnabas = answers
        what = f"{tool} {' '.join(str(a) for a in arguments)}"
        self.assertEqual(self.lines(kafka), self.lines(barnabas), f"(kafka first) {what}")
        if exit_code is not None:
            self.assertEqual(kafka[0], exit_code, f"{what}: {kafka}")
        return kafka[1]

    @staticmethod
    def lines(answer):
        code, out, err = answer
        return [f"exit code {code}", *out.splitlines(), "--- complained:", *err.splitlines()]


def main(properties, secured=None):
    """Runs the calling program's cases; the exit code for ctest."""
    runner = SideBySideTest.runner = Runner()
    SideBySideTest.sides = {target: Side(target, properties, secured) for target in TARGETS}
    try:
        for side in SideBySideTest.sides.values():
            side.start()
        result = suite.unittest.main(module="__main__", exit=False, verbosity=2).result
        return 0 if result.wasSuccessful() else 1
    finally:
        for side in SideBySideTest.sides.values():
            side.clean()
        runner.close()
