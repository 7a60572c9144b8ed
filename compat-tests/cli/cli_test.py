#!/usr/bin/env python3
"""The command line of the binary against a running broker: every command, with what it prints for people and for
programs, its exit codes and its behaviour in pipes; on a plain listener and on SASL_SSL. `cli_test.py [Topics.test_NAME]`.
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "harness"), str(HERE.parent / "security")]

import suite  # noqa: E402
from broker import Broker, barnabas_binary  # noqa: E402
from certificates import Authority  # noqa: E402
from cli_case import TIMEOUT_S, Case, command, environment  # noqa: E402

SECURE = "SECURE"


class Topics(Case):
    def test_a_topic_from_making_to_deleting(self):
        topic = self.topic()
        made = self.json("topic", "create", topic, "-p", 2, "-r", 1, "-c", "retention.ms=86400000")
        self.assertEqual(made, [{"topic": topic, "partitions": 2, "replicas": 1, "status": "OK"}])
        listed = {"topic": topic, "partitions": 2, "replicas": 1}
        self.assertIn(listed, self.json_until(lambda rows: listed in rows, "topic", "list"))
        self.assertEqual(self.json("topic", "add-partitions", topic, "--by", 1)[0]["partitions"], 3)
        (described,) = self.json_until(lambda answer: len(answer[0]["partitions"]) == 3, "topic", "describe", topic)
        self.assertEqual([p["partition"] for p in described["partitions"]], [0, 1, 2])
        self.assertEqual({(p["leader"], tuple(p["in_sync"]), p["end"]) for p in described["partitions"]}, {(1, (1,), 0)})
        self.assertEqual(self.json("topic", "delete", topic), [{"topic": topic, "status": "OK"}])
        gone = self.json_until(lambda rows: topic not in [row["topic"] for row in rows], "topic", "list")
        self.assertNotIn(topic, [row["topic"] for row in gone])

    def test_text_is_a_table_without_colours_in_a_pipe(self):
        topic = self.make_topic("-p", 1)
        lines = self.run_ok("topic", "list").splitlines()
        self.assertEqual(lines[0].split(), ["TOPIC", "PARTITIONS", "REPLICAS"])
        self.assertIn([topic, "1", "1"], [line.split() for line in lines])
        self.assertNotIn("\x1b", "".join(lines))

    def test_colours_are_for_terminals_that_want_them(self):
        self.make_topic("-p", 1)
        for more, coloured in (({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)):
            ours, its = os.openpty()
            try:
                done = subprocess.run(command("topic", "list", *self.where()), stdin=subprocess.DEVNULL, stdout=its,
                                      stderr=subprocess.PIPE, timeout=TIMEOUT_S, env=environment() | more)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
                shown = os.read(ours, 10000)
            finally:
                os.close(ours)
                os.close(its)
            self.assertEqual(b"\x1b[1mTOPIC" in shown, coloured, shown)
            self.assertEqual(b"\x1b" in shown, coloured, shown)

    def test_what_fails_is_told_item_by_item(self):
        topic = self.make_topic()
        self.fails(1, f"topic {topic}: TOPIC_ALREADY_EXISTS", "topic", "create", topic)
        self.run_ok("topic", "create", topic, "--if-not-exists")
        done = self.call("topic", "delete", topic, "nobody-knows-it", "--output", "json")
        self.assertEqual(done.returncode, 1)
        rows = {row["topic"]: row["status"] for row in json.loads(done.stdout)}
        self.assertEqual(rows, {topic: "OK", "nobody-knows-it": "UNKNOWN_TOPIC_OR_PARTITION"})

    def test_a_dry_run_changes_nothing(self):
        self.run_ok("topic", "create", self.topic(), "--dry-run")
        self.fails(1, "UNKNOWN_TOPIC_OR_PARTITION", "topic", "describe", self.topic())

    def test_offsets_of_times(self):
        topic = self.make_topic("-p", 1)
        self.run_ok("produce", topic, stdin=b"a\nb\n")
        (row,) = self.json("topic", "offsets", topic)
        self.assertEqual((row["start"], row["end"]), (0, 2))
        (row,) = self.json("topic", "offsets", topic, "--at", "-1h")
        self.assertEqual(row["offset"], 0)
        (row,) = self.json("topic", "offsets", topic, "--at", "2100-01-01")
        self.assertIsNone(row["offset"])


class Records(Case):
    def consume(self, *arguments):
        return self.run_ok("consume", self.topic(), "-e", *arguments)

    def test_lines_come_back_as_they_went_in(self):
        self.make_topic("-p", 1)
        lines = b"".join(b"line %d\n" % i for i in range(3000))
        for compression in ("none", "gzip", "snappy", "lz4", "zstd"):
            self.run_ok("produce", self.topic(), "-z", compression, stdin=lines)
        self.assertEqual(self.consume(), lines.decode() * 5)

    def test_keys_headers_nulls_and_format(self):
        self.make_topic("-p", 2)
        self.run_ok("produce", self.topic(), "-p", 1, "-K", ":", "-Z", "-H", "who=me", stdin=b"k1:v1\nk2:\nno key\n")
        printed = self.consume("-f", "%t/%p:%o %k=%v [%h] %K,%V\\n", "--null", "NULL")
        topic = self.topic()
        self.assertEqual(printed.splitlines(), [f"{topic}/1:0 k1=v1 [who=me] 2,2", f"{topic}/1:1 k2=NULL [who=me] 2,-1",
                                                f"{topic}/1:2 NULL=no key [who=me] -1,6"])
        rows = [json.loads(line) for line in self.consume("--output", "json").splitlines()]
        self.assertEqual([(r["key"], r["value"]) for r in rows], [("k1", "v1"), ("k2", None), (None, "no key")])
        self.assertEqual(rows[0]["headers"], [{"name": "who", "value": "me"}])

    def test_records_of_a_format_and_their_places(self):
        self.make_topic("-p", 1)
        told = self.run_ok("produce", self.topic(), "-f", "%k\\t%h\\t%v\\0", "--output", "json",
                           stdin=b"a\tx=1,y=2\tline 1\nline 2\0b\t\tlast")
        self.assertEqual([json.loads(line)["offset"] for line in told.splitlines()], [0, 1])
        self.assertEqual(self.consume("-f", "%k|%h|%v;"), "a|x=1,y=2|line 1\nline 2;b||last;")

    def test_places_to_begin_and_numbers_to_end(self):
        self.make_topic("-p", 1)
        self.run_ok("produce", self.topic(), stdin=b"".join(b"%d\n" % i for i in range(100)))
        for arguments, first, last in ((("-o", "start"), 0, 99), (("-o", "+95"), 95, 99), (("-o", "-3"), 97, 99),
                                       (("-o", "42", "-n", "3"), 42, 44), (("-n", "2"), 0, 1),
                                       (("-o", "@-1h", "-n", "1"), 0, 0)):
            with self.subTest(arguments=arguments):
                values = self.consume(*arguments).split()
                self.assertEqual((values[0], values[-1], len(values)), (str(first), str(last), last - first + 1))
        for arguments in (("-o", "end"), ("-o", "@2100-01-01")):
            self.assertEqual(self.consume(*arguments), "")

    def test_what_cannot_be_written_is_an_error(self):
        topic = self.make_topic("-c", "max.message.bytes=1000")
        self.fails(1, "records were not written", "produce", topic, stdin=b"x" * 5000 + b"\n")
        self.fails(1, "record 2: no \":\"", "produce", topic, "-f", "%k:%v\\n", stdin=b"a:b\nc\n")
        self.fails(2, "only %k, %v (%s) and %h", "produce", topic, "-f", "%o\\n")
        self.fails(2, "an unknown field", "consume", topic, "-f", "%x")
        self.fails(2, "no place", "consume", topic, "-o", "somewhere")
        self.fails(1, "UNKNOWN_TOPIC_OR_PARTITION", "consume", "nobody-knows-it", "-e")

    def test_a_reader_that_goes_away_ends_it_without_a_word(self):
        self.make_topic("-p", 1)
        self.run_ok("produce", self.topic(), stdin=b"a line of text that fills the pipe\n" * 20000)
        consumer = subprocess.Popen(command("consume", self.topic(), "-o", "start", *self.where()),
                                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        self.assertEqual(consumer.stdout.readline(), b"a line of text that fills the pipe\n")
        consumer.stdout.close()
        self.assertEqual((consumer.wait(TIMEOUT_S), consumer.stderr.read()), (0, b""))
        consumer.stderr.close()
        with open("/dev/full", "wb") as full:
            done = subprocess.run(command("topic", "list", *self.where()), stdout=full, stderr=subprocess.PIPE,
                                  timeout=TIMEOUT_S, env=environment())
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"No space left", done.stderr)


class Groups(Case):
    def setUp(self):
        self.group = self.topic() + "-group"

    def read(self, *arguments):
        return self.run_ok("consume", self.topic(), "--group", self.group, "-o", "start", *arguments).split()

    def test_a_group_from_reading_to_deleting(self):
        topic = self.make_topic("-p", 1)
        self.run_ok("produce", topic, stdin=b"".join(b"%d\n" % i for i in range(10)))
        self.assertEqual(self.read("-n", 4), ["0", "1", "2", "3"])
        (described,) = self.json("group", "describe", self.group)
        self.assertEqual((described["lag"], described["members"]), (6, []))
        self.assertEqual([(p["committed"], p["end"], p["lag"]) for p in described["partitions"]], [(4, 10, 6)])
        self.assertIn(self.group, [row["group"] for row in self.json("group", "list")])
        (row,) = self.json("group", "seek", self.group, "--to", "start", "--dry-run")
        self.assertEqual((row["before"], row["after"]), (4, 0))
        self.assertEqual(self.read("-n", 1), ["4"])
        self.json("group", "seek", self.group, "--to", "8")
        self.assertEqual(self.read("-e"), ["8", "9"])
        for where, offset in (("end", 10), ("@-1h", 0), ("start", 0)):
            self.assertEqual(self.json("group", "seek", self.group, "--to", where, "--topic", topic)[0]["after"], offset)
        self.assertEqual(self.json("group", "delete-offsets", self.group, "--topic", topic)[0]["status"], "OK")
        self.fails(1, "nothing is committed", "group", "seek", self.group, "--to", "end")
        self.json("group", "seek", self.group, "--to", "end", "--topic", topic)
        self.assertEqual(self.json("group", "delete", self.group)[0]["status"], "OK")
        self.fails(1, f"group {self.group}: ", "group", "describe", self.group)

    def test_seek_takes_places_as_consume_does_and_tells_what_is_outside(self):
        topic = self.make_topic("-p", 1)
        self.run_ok("produce", topic, stdin=b"".join(b"%d\n" % i for i in range(10)))
        for where, offset in (("+3", 3), ("-3", 7), ("start", 0), ("end", 10), ("5", 5), ("-1h", 0)):
            (row,) = self.json("group", "seek", self.group, "--topic", topic, "--to", where)
            self.assertEqual(row["after"], offset, where)
        for where, offset in (("999999999", 10), ("+11", 10), ("-11", 0)):
            done = self.call("group", "seek", self.group, "--topic", topic, "--to", where, "--output", "json")
            self.assertEqual((done.returncode, json.loads(done.stdout)[0]["after"]), (0, offset))
            self.assertEqual(done.stderr.decode(), f"barnabas: warning: {topic}-0: {where} is outside of what is there, "
                                                   f"0 to 10; it became {offset}\n")

    def test_a_group_that_has_not_committed_has_no_lag_yet(self):
        topic = self.make_topic("-p", 1)
        member = subprocess.Popen(command("consume", topic, "--group", self.group, *self.where()),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        try:
            self.await_member()
            (described,) = self.json_until(lambda groups: groups[0]["partitions"], "group", "describe", self.group)
            self.assertEqual((described["lag"], described["partitions"][0]["lag"]), (None, None))
            self.assertIn("members 1, lag -\n", self.run_ok("group", "describe", self.group))
            self.fails(1, "has members", "group", "seek", self.group, "--to", "start")
        finally:
            member.send_signal(signal.SIGINT)
            member.communicate(timeout=TIMEOUT_S)
        self.fails(1, "nothing is committed", "group", "seek", self.group, "--to", "start")

    def await_member(self):
        """Until the group is there with what its member was given."""
        stable = [self.group]
        self.assertEqual(stable, [row["group"] for row in self.json_until(
            lambda rows: self.group in [row["group"] for row in rows], "group", "list", "--state", "stable")
            if row["group"] == self.group])

    def test_ctrl_c_commits_what_was_printed(self):
        topic = self.make_topic("-p", 1)
        self.run_ok("produce", topic, stdin=b"a\nb\n")
        member = subprocess.Popen(command("consume", topic, "--group", self.group, "-o", "start", *self.where()),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment())
        self.assertEqual([member.stdout.readline(), member.stdout.readline()], [b"a\n", b"b\n"])
        (described,) = self.json("group", "describe", self.group)
        self.assertEqual([m["assigned"] for m in described["members"]], [[f"{topic}-0"]])
        self.fails(1, "has members", "group", "seek", self.group, "--to", "start", "--topic", topic)
        member.send_signal(signal.SIGINT)
        rest, said = member.communicate(timeout=TIMEOUT_S)
        self.assertEqual((member.returncode, rest, said), (0, b"", b""))
        (described,) = self.json("group", "describe", self.group)
        self.assertEqual((described["partitions"][0]["committed"], described["state"]), (2, "Empty"))


class Administration(Case):
    def test_settings(self):
        topic = self.make_topic()
        self.json("config", "set", "topic", topic, "segment.bytes=2000000", "cleanup.policy=compact,delete")
        rows = {row["name"]: row for row in self.json_until(
            lambda rows: "segment.bytes" in [row["name"] for row in rows], "config", "get", "topic", topic)}
        self.assertEqual((rows["segment.bytes"]["value"], rows["segment.bytes"]["source"]), ("2000000", "topic"))
        self.assertGreater(len(self.json("config", "get", "topic", topic, "--all")), 20)
        self.json("config", "delete", "topic", topic, "segment.bytes")
        (row,) = self.json_until(lambda rows: rows[0]["source"] == "default", "config", "get", "topic", topic,
                                 "segment.bytes")
        self.assertEqual((row["value"], row["source"]), ("1073741824", "default"))
        self.fails(1, "INVALID_CONFIG", "config", "set", "topic", topic, "retention.ms=soon")
        self.fails(1, "no such setting", "config", "get", "topic", topic, "nobody.knows.it")
        self.json("config", "set", "broker", "default", "log.cleaner.threads=2")
        (row,) = self.json_until(lambda rows: rows[0]["value"] == "2", "config", "get", "broker", "1",
                                 "log.cleaner.threads")
        self.assertEqual((row["value"], row["source"]), ("2", "cluster"))
        self.json("config", "delete", "broker", "default", "log.cleaner.threads")
        self.fails(1, "no broker has the id 77", "config", "get", "broker", "77")

    def test_rules(self):
        name = self.topic()
        made = self.json("acl", "create", "--allow", "User:anna", "--operation", "read,DESCRIBE", "--topic", name,
                         "--prefixed")
        self.assertEqual({row["operation"] for row in made}, {"READ", "DESCRIBE"})
        self.json("acl", "create", "--deny", "User:otto", "--operation", "ALL", "--group", name, "--host", "10.0.0.1")
        (row,) = self.json_until(bool, "acl", "list", "--principal", "User:otto")
        self.assertEqual([row[key] for key in ("resource", "name", "pattern", "host", "operation", "permission")],
                         ["GROUP", name, "LITERAL", "10.0.0.1", "ALL", "DENY"])
        self.assertEqual(len(self.json("acl", "list", "--topic", name + "-longer", "--matching")), 2)
        self.assertEqual(self.json("acl", "list", "--topic", name + "-longer"), [])
        self.fails(2, "which ones?", "acl", "delete")
        self.assertEqual(len(self.json("acl", "delete", "--principal", "User:anna", "--dry-run")), 2)
        self.assertEqual(len(self.json("acl", "delete", "--principal", "User:anna")), 2)
        self.assertEqual(len(self.json("acl", "delete", "--group", name)), 1)
        self.assertEqual(self.json_until(lambda rows: not rows, "acl", "list", "--principal", "User:anna"), [])

    def test_quotas(self):
        who = ("--name", "user=quota-user", "--name", "client-id=app")
        self.json("quota", "set", *who, "producer_byte_rate=1048576", "request_percentage=12.5")
        (row,) = self.json_until(bool, "quota", "list", *who)
        self.assertEqual(row, {"entity": {"user": "quota-user", "client-id": "app"} | row["entity"],
                               "quotas": {"producer_byte_rate": 1048576.0, "request_percentage": 12.5} | row["quotas"]})
        self.json("quota", "set", "--default", "user", "consumer_byte_rate=2000000")
        self.assertEqual(self.json_until(bool, "quota", "list", "--default", "user")[0]["entity"],
                         {"user": None})
        self.json("quota", "delete", "--default", "user", "consumer_byte_rate")
        self.json("quota", "delete", *who, "producer_byte_rate", "request_percentage")
        self.assertEqual(self.json_until(lambda rows: not rows, "quota", "list", *who), [])
        self.fails(1, "INVALID_REQUEST", "quota", "set", *who, "nonsense=1")
        self.fails(2, "for whom?", "quota", "set", "producer_byte_rate=1")

    def test_the_cluster_and_its_directories(self):
        described = self.json("cluster", "describe", "--apis")
        self.assertEqual([broker["broker"] for broker in described["brokers"]], [1])
        self.assertTrue(described["cluster_id"])
        self.assertIn("metadata.version", [feature["feature"] for feature in described["features"]])
        self.assertEqual(described["quorum"]["leader"], 1)
        self.assertIn("Produce", [api["api"] for api in described["apis"]])
        topic = self.make_topic("-p", 1)
        self.run_ok("produce", topic, stdin=b"x\n")
        (row,) = self.json("log", "dirs")
        self.assertTrue(row["online"] and row["bytes"] > 0 and row["free_bytes"] > 0, row)
        sizes = {row["topic"]: row["bytes"] for row in self.json("log", "dirs", "--partitions")}
        self.assertGreater(sizes[topic], 0)

    def test_levels_of_the_brokers_log(self):
        before = {row["logger"]: row["level"] for row in self.json("log", "levels")}
        logger = "network" if "network" in before else sorted(before)[-1]
        self.assertEqual(self.json("log", "level", f"{logger}=DEBUG")[0]["status"], "OK")
        self.assertEqual({row["logger"]: row["level"] for row in self.json("log", "levels")}[logger], "DEBUG")
        self.json("log", "level", f"{logger}=", "--broker", 1)
        self.fails(1, "INVALID", "log", "level", f"{logger}=LOUD")

    def test_help_has_an_example_everywhere(self):
        nouns = {"topic": "create", "group": "seek", "config": "set", "acl": "create", "user": "create", "quota": "set",
                 "cluster": "describe", "log": "dirs", "produce": None, "consume": None, "doctor": None}
        for noun, verb in nouns.items():
            for words in ([noun], [noun, verb] if verb else [noun]):
                done = subprocess.run(command(*words, "--help"), capture_output=True, text=True, timeout=TIMEOUT_S)
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                self.assertRegex(done.stdout, rf"Examples?:\s+.*barnabas {noun}")


    def test_the_page_names_every_command(self):
        page = (HERE.parents[1] / "docs" / "command_line.md").read_text()
        rows = {line.split("`")[1].split()[0]: line for line in page.splitlines() if line.startswith("| `")}
        for noun in ("topic", "group", "config", "acl", "user", "quota", "cluster", "log"):
            helped = subprocess.run(command(noun, "--help"), capture_output=True, text=True, timeout=TIMEOUT_S).stdout
            verbs = re.findall(r"^  ([a-z][a-z-]+) ", helped.partition("Subcommands:")[2].partition("\n\n")[0].partition("Examples:")[0], re.MULTILINE)
            self.assertTrue(verbs, helped)
            for verb in verbs:
                self.assertRegex(rows[noun], rf"`(\w+ )?{verb}`")


class Connections(Case):
    """Secured listeners, and what people get wrong."""

    def secure(self, user="admin", password="admin-secret", mechanism="SCRAM-SHA-256"):
        return ["-b", self.broker.address(SECURE), "--tls-ca", self.authority.certificate, "--user", user,
                "--password", password, "--sasl-mechanism", mechanism]

    def call_secured(self, options, *arguments, stdin=b"", env=None):
        return subprocess.run(command(*arguments, *options), input=stdin, capture_output=True, timeout=TIMEOUT_S,
                              env=environment() | (env or {}))

    def make_user(self, name, password, mechanism):
        self.json("user", "create", name, "--password-stdin", "--mechanism", mechanism, stdin=password.encode())
        self.json_until(lambda rows: mechanism in [row["mechanism"] for row in rows], "user", "list")

    def test_users_log_in_by_each_mechanism_and_options(self):
        topic = self.make_topic("-p", 1)
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            self.make_user("carl", "carl's, \"secret\"=", mechanism)
        rows = self.json_until(lambda rows: len(rows) == 2, "user", "list", "carl")
        self.assertEqual({(row["mechanism"], row["iterations"]) for row in rows},
                         {("SCRAM-SHA-256", 8192), ("SCRAM-SHA-512", 8192)})
        for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
            options = self.secure("carl", "carl's, \"secret\"=", mechanism)
            done = self.call_secured(options, "topic", "list")
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            self.assertIn(topic.encode(), done.stdout)
        done = self.call_secured(options, "produce", topic, stdin=b"secret\n")
        if self.broker.target == "kafka":  # which does not let Debian's librdkafka in
            self.assertEqual(done.returncode, 1)
            self.assertIn(b"librdkafka before 2.6.1 cannot log in by SCRAM", done.stderr)
        else:
            self.assertEqual((done.returncode, done.stderr), (0, b""))
            done = self.call_secured(options, "consume", topic, "-e")
            self.assertEqual((done.returncode, done.stdout, done.stderr), (0, b"secret\n", b""))
        self.assertEqual({row["status"] for row in self.json("user", "delete", "carl")}, {"OK"})
        self.fails(1, "user carl", "user", "delete", "carl")

    def test_a_java_clients_properties_file(self):
        self.make_user("fred", "fred-secret", "SCRAM-SHA-512")
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "client.properties"
            lines = [f"bootstrap.servers={self.broker.address(SECURE)}", "security.protocol=SASL_SSL",
                     "sasl.mechanism=SCRAM-SHA-512", "acks=all",
                     "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required \\",
                     '  username="fred" password="fred-secret";', "ssl.truststore.type=PEM",
                     f"ssl.truststore.location={self.authority.certificate}"]
            path.write_text("\n".join(lines))
            topic = self.make_topic("-p", 1)
            produce = [] if self.broker.target == "kafka" else [(("produce", topic), b"x\n")]
            for arguments, stdin in [(("cluster", "describe"), b""), *produce]:
                done = self.call_secured(["--command-config", path], *arguments, stdin=stdin)
                self.assertEqual((done.returncode, done.stderr), (0, b""))
            path.write_text("\n".join([*lines, "sasl.kerberos.service.name=kafka"]))
            done = self.call_secured(["--command-config", path], "topic", "list")
            self.assertEqual(done.returncode, 2)
            self.assertRegex(done.stderr, rb"client.properties:9: sasl.kerberos.service.name has no meaning")

    def test_what_goes_wrong_is_one_line_with_a_remedy(self):
        plain, tls = ["-b", self.broker.bootstrap], ["-b", self.broker.address(SECURE)]
        trusted = [*tls, "--tls-ca", self.authority.certificate]
        self.make_user("gus", "gus-secret", "SCRAM-SHA-256")
        for options, code, words in (
            (["-b", "127.0.0.1:1"], 1, "connection refused"),
            (["-b", "no-such-host.invalid:9092"], 1, "the name has no address"),
            (["-b", "127.0.0.1:port"], 2, "is no address"),
            ([*tls, "--tls"], 1, "not trusted"),
            (tls, 1, "--tls"),
            ([*plain, "--tls-ca", str(self.authority.certificate)], 1, "TLS"),
            (trusted, 1, "the listener may want a login"),
            ([*trusted, "--user", "gus", "--password", "wrong"], 1, "the login of \"gus\" by SCRAM-SHA-256 failed"),
            ([*trusted, "--user", "gus", "--password", "x", "--sasl-mechanism", "PLAIN"], 1, "does not take PLAIN"),
            ([*trusted, "--user", "gus", "--sasl-mechanism", "GSSAPI"], 2, "is not served"),
            ([*plain, "-X", "linger.ms=5"], 2, "only produce and consume"),
            ([*plain, "--command-config", "/nowhere"], 2, "/nowhere: cannot be read"),
        ):
            with self.subTest(options=options):
                done = self.call_secured(options, "topic", "list", "--timeout", "20")
                said = done.stderr.decode()
                self.assertEqual((done.returncode, done.stdout), (code, b""), said)
                self.assertIn(words, said)
                self.assertEqual(len(said.splitlines()), 1, said)
                self.assertNotIn("gus-secret", said)
        other_name = [part.replace("localhost", "127.0.0.2") for part in map(str, trusted)]
        done = self.call_secured(other_name, "topic", "list")
        self.assertEqual(done.returncode, 1)

    def test_the_environment_has_the_options(self):
        self.make_user("hugo", "hugo-secret", "SCRAM-SHA-256")
        done = self.call_secured([], "topic", "list", env={
            "BARNABAS_BROKERS": self.broker.address(SECURE), "BARNABAS_USER": "hugo", "BARNABAS_PASSWORD": "hugo-secret",
            "BARNABAS_TLS_CA": str(self.authority.certificate)})
        self.assertEqual((done.returncode, done.stderr), (0, b""))

    def test_only_those_who_need_librdkafka_load_it(self):
        linked = subprocess.run(["ldd", str(barnabas_binary())], capture_output=True, text=True).stdout
        self.assertNotIn("rdkafka", linked)


class Doctor(Case):
    def examine(self, settings, code, *arguments):
        """The findings about a settings file with these lines, with its exit code."""
        with tempfile.TemporaryDirectory() as directory:
            path = pathlib.Path(directory) / "server.properties"
            path.write_text("".join(f"{name}={value}\n" for name, value in settings.items())
                            + ("" if "log.dirs" in settings else f"log.dirs={directory}/data\n"))
            done = subprocess.run(command("doctor", path, "--output", "json", *arguments), capture_output=True,
                                  text=True, timeout=TIMEOUT_S, env=environment())
        self.assertEqual((done.returncode, done.stderr), (code, ""), done.stdout)
        answer = json.loads(done.stdout)
        self.assertEqual(answer["healthy"], code == 0)
        for finding in answer["findings"]:
            self.assertTrue(finding["what"] and finding["why"], finding)
            self.assertTrue(finding["remedy"] or finding["level"] == "note", finding)
        return answer["findings"]

    def problems(self, findings):
        return [(finding["area"], finding["what"]) for finding in findings if finding["level"] == "problem"]

    def test_a_broker_that_runs_is_healthy(self):
        if self.broker.target == "kafka":
            self.skipTest("its settings are of another broker")
        done = subprocess.run(command("doctor", self.broker.home / "server.properties"), capture_output=True, text=True,
                              timeout=TIMEOUT_S, env=environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        self.assertIn("a broker is running on it", done.stdout)
        self.assertIn("0 problems", done.stdout)

    def test_what_would_keep_it_from_starting_is_told_at_once(self):
        with tempfile.TemporaryDirectory() as directory:
            authority = Authority(directory)
            authority.server("old", hosts=["other.example"], days=-1)
            findings = self.examine({
                "node.id": "1", "nobody.knows.it": "1", "num.partitions": "many",
                "listeners": f"PLAINTEXT://127.0.0.1:{self.broker.port},TLS://127.0.0.1:1",
                "advertised.listeners": f"PLAINTEXT://no-such-host.example:{self.broker.port},TLS://localhost:1",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,TLS:SSL",
                "listener.name.tls.ssl.keystore.type": "PEM",
                "listener.name.tls.ssl.keystore.location": f"{directory}/old.pem",
            }, 1)
        problems = "\n".join(f"{area}: {what}" for area, what in self.problems(findings))
        for words in ("settings: .*nobody.knows.it", "settings: .*num.partitions", "ports: .*the port is in use",
                      "addresses: .*no-such-host.example.*no address", "certificates: .*expired on",
                      "certificates: .*advertised name localhost"):
            self.assertRegex(problems, words)

    def test_another_nodes_directory_and_settings_without_effect_are_told(self):
        with tempfile.TemporaryDirectory() as directory:
            (pathlib.Path(directory) / "meta.properties").write_text(
                "version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=7\n")
            findings = self.examine({"node.id": "1", "listeners": "PLAINTEXT://127.0.0.1:0", "log.dirs": directory,
                                     "metric.reporters": "org.example.Reporter"}, 1)
        self.assertRegex(str(self.problems(findings)), "belongs to node 7")
        self.assertRegex(str([f["what"] for f in findings if f["level"] == "warning"]), "metric.reporters")

    def test_a_file_that_is_not_there_is_said_in_one_line(self):
        done = subprocess.run(command("doctor", "/nowhere/server.properties"), capture_output=True, text=True,
                              timeout=TIMEOUT_S, env=environment())
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stderr, "^barnabas: /nowhere/server.properties: cannot be read.*\n$")


def main():
    with tempfile.TemporaryDirectory(prefix="barnabas-cli-") as directory:
        authority = Authority(directory)
        Case.authority = authority
        authority.server(hosts=["localhost", "127.0.0.1"])
        prefix = f"listener.name.{SECURE.lower()}"
        properties = {
            **suite.KEEP_OLD_RECORDS,
            "num.partitions": "1",
            "group.initial.rebalance.delay.ms": "0",
            "offsets.topic.replication.factor": "1",
            "sasl.enabled.mechanisms": "SCRAM-SHA-256,SCRAM-SHA-512",
            f"{prefix}.ssl.keystore.type": "PEM",
            f"{prefix}.ssl.keystore.location": str(pathlib.Path(directory) / "server.pem"),
            "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
            "super.users": "User:ANONYMOUS;User:carl;User:fred;User:gus;User:hugo",
        }
        for mechanism in ("scram-sha-256", "scram-sha-512"):
            properties[f"{prefix}.{mechanism}.sasl.jaas.config"] = (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;")
        suite.main(Broker(properties=properties, secured={SECURE: "SASL_SSL"}))


if __name__ == "__main__":
    main()
