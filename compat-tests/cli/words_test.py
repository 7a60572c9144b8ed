#!/usr/bin/env python3
"""The command line of the binary where no broker is running: mistyped commands, help, arguments that make no sense, and
output that cannot be written; and rules where a broker has no authorizer. `words_test.py [Words.test_NAME]`.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "harness")]

from broker import Broker, barnabas_binary, broker_environment  # noqa: E402

TIMEOUT_S = 60
NOBODY = "127.0.0.1:1"  # where nothing listens

# What a program must not take for "it could not be done", with a word of what is said about it.
SENSELESS = [
    ("config set topic orders retention.ms", "expected name=value"),
    ("config get broker first", "is no broker's id"),
    ("topic create a -c foo", "expected name=value"),
    ("topic create a -p 0", "--partitions: expected 1 or more, not 0"),
    ("topic create a -p -1", "--partitions: expected 1 or more, not -1"),
    ("topic create a -r 0", "--replicas: expected 1 or more, not 0"),
    ("topic add-partitions a", "how many?"),
    ("topic add-partitions a --by 0", "--by: expected 1 or more, not 0"),
    ("topic add-partitions a --to 0", "--to: expected 1 or more, not 0"),
    ("topic offsets a --at banana", "is no time"),
    ("consume a -n 0", "--count: expected 1 or more, not 0"),
    ("log level network", "expected name=value"),
    ("log levels --broker first", "is no broker's id"),
    ("quota set producer_byte_rate=1", "for whom?"),
    ("quota set --name foo=a producer_byte_rate=1", "expected user, client-id or ip"),
    ("quota set --name user=a producer_byte_rate=abc", "expected a number"),
    ("quota set --name user=a producer_byte_rate", "expected name=value"),
    ("quota delete producer_byte_rate", "for whom?"),
    ("quota list --name foo=a", "expected user, client-id or ip"),
    ("acl create --allow User:a --operation FLY --topic x", "is no operation"),
    ("acl create --operation READ --topic x", "for whom?"),
    ("acl create --allow User:a --operation READ", "on what?"),
    ("acl list --operation FLY", "is no operation"),
    ("acl delete", "which ones?"),
    ("acl delete --operation FLY", "is no operation"),
    ("group seek g --to banana", "expected start, end, an offset, +N (after the start), -N (before the end) or a time"),
    ("group list --state Bogus", "Stable"),
    ("user create alice", "no password"),
]


def run(*arguments, cwd=None, env=None, stdout=subprocess.PIPE):
    kept = {name: value for name, value in broker_environment().items() if not name.startswith(("BARNABAS_", "KAFKA_"))}
    return subprocess.run([str(barnabas_binary()), *map(str, arguments)], stdin=subprocess.DEVNULL, stdout=stdout,
                          stderr=subprocess.PIPE, text=True, timeout=TIMEOUT_S, cwd=cwd, env=kept | (env or {}))


class Case(unittest.TestCase):
    def setUp(self):
        held = tempfile.TemporaryDirectory(prefix="barnabas-words-")
        self.addCleanup(held.cleanup)
        self.directory = pathlib.Path(held.name)

    def fails(self, code, words, *arguments, **more):
        done = run(*arguments, cwd=self.directory, **more)
        self.assertEqual((done.returncode, done.stdout), (code, ""), done.stderr)
        self.assertIn(words, done.stderr)
        return done.stderr


class Words(Case):
    def test_a_mistyped_command_is_told_what_it_may_have_been(self):
        for line, words in (("topics", "no command topics; did you mean topic?"),
                            ("consum f1", "no command consum; did you mean consume?"),
                            ("topic crate x", "no command topic crate; did you mean create?"),
                            ("topic --list", "no command topic --list; did you mean list?"),
                            ("group lst", "no command group lst; did you mean list?"),
                            ("help topics", "no command topics; did you mean topic?"),
                            ("frobnicate", "no command frobnicate; barnabas help shows those that there are"),
                            ("topic", "topic: expected one of list, describe, create, ")):
            with self.subTest(line=line):
                said = self.fails(2, words, *line.split())
                self.assertEqual(len(said.splitlines()), 1, said)

    def test_help_is_a_command_too(self):
        for words in ([], ["topic"], ["topic", "create"], ["dump"]):
            asked, called = run(*words, "--help"), run("help", *words)
            self.assertEqual((asked.returncode, called.returncode, called.stderr), (0, 0, ""))
            self.assertTrue(asked.stdout)
            self.assertEqual(called.stdout, asked.stdout)

    def test_a_settings_file_that_cannot_be_read_is_told_with_its_cause(self):
        (self.directory / "etc").mkdir()
        for path, words in (("nowhere.properties", "No such file or directory"), ("./topics", "No such file or directory"),
                            ("etc", "Is a directory")):
            for command in ([], ["doctor"], ["format", "-c"]):
                with self.subTest(path=path, command=command):
                    self.fails(1, f"{path}: cannot be read: {words}", *command, path)

    def test_a_file_of_any_name_is_a_settings_file(self):
        (self.directory / "topics").write_text("nobody.knows.it=1\n")
        self.fails(1, "topics:1", "topics")

    def test_what_makes_no_sense_ends_with_2_before_anything_connects(self):
        for line, words in SENSELESS:
            with self.subTest(line=line):
                said = self.fails(2, words, *line.split(), "-b", NOBODY)
                self.assertLess(len(said), 400)
        self.fails(1, "connection refused", "topic", "list", "-b", NOBODY)

    def test_a_health_check_tells_senseless_addresses_from_sick_brokers(self):
        self.fails(2, "--url: expected http://", "healthcheck", "--url", "https://127.0.0.1:1")
        self.fails(2, "--address", "healthcheck", "--address", "nonsense")
        self.fails(1, "unhealthy", "healthcheck", "--address", NOBODY)

    def test_output_that_cannot_be_written_is_an_error(self):
        settings = self.formatted()
        data = self.directory / "data"
        for arguments in (["--help"], ["--version"], ["help"], ["topic", "--help"], ["manual"], ["completion", "bash"],
                          ["completion", "zsh"], ["completion", "fish"], ["random-uuid"], ["check", data],
                          ["dump", data / "meta.properties"], ["dump", *[data / "meta.properties"] * 200],
                          ["doctor", settings]):
            with self.subTest(arguments=arguments[:2]), open("/dev/full", "wb") as full:
                done = run(*arguments, stdout=full)
                self.assertEqual(done.returncode, 1, done.stderr)
                self.assertIn("barnabas: the output cannot be written: ", done.stderr)

    def test_what_dump_is_given_is_looked_for_first(self):
        self.fails(1, "No such file or directory", "dump", "/nonexistent")
        (self.directory / "notes").write_text("hello")
        self.fails(1, "not a file name of a data directory", "dump", "notes")

    def settings(self, **more):
        path = self.directory / "server.properties"
        lines = {"node.id": "1", "listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": str(self.directory / "data"), **more}
        path.write_text("".join(f"{name}={value}\n" for name, value in lines.items()))
        return path

    def formatted(self):
        path = self.settings()
        self.assertEqual(run("format", "-c", path).returncode, 0)
        return path


class Formats(Case):
    LEVELS = ["metadata.version=33", "eligible.leader.replicas.version=1", "group.version=1", "share.version=2",
              "streams.version=1", "transaction.version=2"]

    def settings(self, *lines):
        path = self.directory / "server.properties"
        path.write_text("".join(line + "\n" for line in ("node.id=1", f"log.dirs={self.directory}/data", *lines)))
        return path

    def test_levels_that_are_made_anyway_may_be_named(self):
        path = self.settings()
        features = [word for level in [*self.LEVELS, "kraft.version=1"] for word in ("--feature", level)]
        for more in (["-r", "4.4-IV2"], ["--release-version", "4.4"], features, ["-r", "4.4-IV2", "-f", "group.version=1"]):
            with self.subTest(more=more):
                done = run("format", "-g", "-t", "AAAAAAAAAAAAAAAAAAAABB", "-c", path, *more)
                self.assertEqual((done.returncode, done.stderr), (0, ""))

    def test_any_other_level_is_refused_with_those_that_are_made(self):
        path = self.settings()
        for more, words in ((["-r", "4.0-IV0"], "Unsupported metadata.version '4.0-IV0'"),
                            (["-f", "nope=1"], "Unsupported feature: nope"),
                            (["-f", "group.version"], "Can't parse feature=level string group.version"),
                            (["-f", "group.version=0"], "Unsupported feature level: group.version=0"),
                            (["-f", "kraft.version=0"], "Unsupported feature level: kraft.version=0")):
            with self.subTest(more=more):
                said = self.fails(2, words, "format", "-c", path, *more)
                self.assertEqual(len(said.splitlines()), 1, said)
                for level in [*self.LEVELS, "(4.4-IV2)", "kraft.version=1"]:
                    self.assertIn(level, said)
        self.assertFalse((self.directory / "data").exists())

    def test_a_quorum_of_the_settings_has_the_older_kraft_version(self):
        path = self.settings("controller.quorum.voters=1@127.0.0.1:9093", "process.roles=broker,controller",
                             "listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
                             "controller.listener.names=CONTROLLER")
        self.fails(2, "kraft.version=0", "format", "-c", path, "-f", "kraft.version=1")
        done = run("format", "-c", path, "-f", "kraft.version=0")
        self.assertEqual((done.returncode, done.stderr), (0, ""))


class WithoutAuthorizer(Case):
    def test_it_is_said_once_however_many_rules_are_wanted(self):
        with Broker() as broker:
            wanted = ["--operation", "READ,WRITE,DESCRIBE", "--topic", "x", "--topic", "y", "-b", broker.bootstrap]
            for action in (["create", "--allow", "User:anna"], ["delete"], ["list"]):
                with self.subTest(action=action):
                    said = self.fails(1, "SECURITY_DISABLED", "acl", *action, *wanted)
                    self.assertEqual(len(said.splitlines()), 1, said)


if __name__ == "__main__":
    unittest.main()
