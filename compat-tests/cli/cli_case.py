"""What the tests of the command line share: how the binary is called, and how its answers are looked at."""

import json
import pathlib
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "harness"), str(HERE.parent / "security")]

import suite  # noqa: E402
from broker import barnabas_binary, broker_environment  # noqa: E402

TIMEOUT_S = 60


def environment():
    kept = {name: value for name, value in broker_environment().items() if not name.startswith("BARNABAS_")}
    return kept | {"TERM": "xterm"}


def command(*arguments):
    return [str(barnabas_binary()), *map(str, arguments)]


class Case(suite.BrokerTest):
    authority = None

    def where(self):
        return ["-b", self.broker.bootstrap]

    def call(self, *arguments, stdin=b"", env=None):
        return subprocess.run(command(*arguments, *self.where()), input=stdin, capture_output=True,
                              timeout=TIMEOUT_S, env=environment() | (env or {}))

    def run_ok(self, *arguments, **more):
        done = self.call(*arguments, **more)
        self.assertEqual((done.returncode, done.stderr.decode()), (0, ""), f"{arguments}: {done.stdout[:500]}")
        return done.stdout.decode()

    def json(self, *arguments, **more):
        return json.loads(self.run_ok(*arguments, "--output", "json", **more))

    def json_until(self, holds, *arguments):
        """What a broker says once it has heard of a change; the last answer when that takes too long."""
        deadline = time.monotonic() + TIMEOUT_S
        while True:
            answer = self.json(*arguments)
            if holds(answer) or time.monotonic() > deadline:
                return answer
            time.sleep(0.05)

    def fails(self, code, words, *arguments, **more):
        done = self.call(*arguments, **more)
        said = done.stderr.decode()
        self.assertEqual(done.returncode, code, said + done.stdout.decode())
        self.assertIn(words, said)
        if code == 1:
            self.assertTrue(all(line.startswith("barnabas: ") for line in said.splitlines()), said)
        return said

    def make_topic(self, *arguments):
        topic = self.topic()
        self.run_ok("topic", "create", topic, *arguments)
        self.json_until(lambda rows: topic in [row["topic"] for row in rows], "topic", "list")
        return topic
