#!/usr/bin/env python3
"""The tables of docs/clients.md, made from what the tests say that they run: a committed table that differs fails, and so
does a cell without a test. With BARNABAS_UPDATE_README set it is written. `--all-passed` asks that the last run of each of
them has passed here, too."""

import argparse
import dataclasses
import importlib.util
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
PROJECT = HERE.parent
PAGE = PROJECT / "docs" / "clients.md"
sys.path.append(str(HERE / "harness"))
sys.path.append(str(PROJECT / "tools" / "peers" / "kafka"))

import results  # noqa: E402
import suite  # noqa: E402
import tools  # noqa: E402


def loaded(path):
    """A scenario's list of clients; several modules have the same name."""
    sys.path.insert(0, str(path.parent))
    spec = importlib.util.spec_from_file_location(f"{path.parent.name}_{path.stem}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    sys.path.pop(0)
    return module


def pinned(file, pattern):
    return re.search(pattern, (HERE / file).read_text(), re.MULTILINE)[1]




@dataclasses.dataclass
class Row:
    client: str  # its name in the tests
    title: str
    version: str
    note: str = ""


def rows():
    return [
        Row("java", "Java: kafka-clients", pinned("../tools/peers/kafka/pom.xml", r"<kafka.version>(.*)</")),
        Row("librdkafka", "librdkafka, its C and C++ interfaces", "2.0.2", "Debian's"),
        Row("confluent-kafka", "confluent-kafka for Python, on the newest librdkafka",
            pinned("confluent-kafka/requirements.txt", r"^confluent-kafka==(.*)")),
        Row("confluent-kafka-go", "confluent-kafka-go, on the librdkafka that it brings",
            pinned("confluent-kafka-go/basics/go.mod", r"confluent-kafka-go/v2 v(\S+)")),
        Row("rdkafka", "rdkafka for Rust, on the newest librdkafka",
            pinned("rdkafka/Cargo.toml", r'^rdkafka = .*version = "=([\d.]+)"')),
        Row("franz-go", "franz-go", pinned("franz-go/basics/go.mod", r"twmb/franz-go v(\S+)")),
        Row("sarama", "Sarama", pinned("sarama/basics/go.mod", r"sarama v(\S+)")),
        Row("kafka-go", "kafka-go", pinned("kafka-go/basics/go.mod", r"kafka-go v(\S+)")),
        Row("kafkajs", "KafkaJS", pinned("kafkajs/package.json", r'"kafkajs": "(.*)"')),
        Row("platformatic-kafka", "@platformatic/kafka",
            pinned("platformatic-kafka/package.json", r'"@platformatic/kafka": "(.*)"')),
        Row("kafka-python", "kafka-python", pinned("kafka-python/requirements.txt", r"^kafka-python==(.*)")),
        Row("aiokafka", "aiokafka", pinned("aiokafka/requirements.txt", r"^aiokafka==(.*)")),
        Row("kcat", "kcat", "1.7.1", "Debian's"),
    ]


# What has one test of its own: title, the client behind it, its version, the test, and what it shows.
APPLICATIONS = [
    ("Kafka Streams", "../tools/peers/kafka/pom.xml", "compat.transactions.streams",
     "`exactly_once_v2`: each word counted once while instances and the broker are killed; interactive queries exact after that"),
    ("Kafka Connect, distributed", "connect/connectors.xml", "compat.connect",
     "file to topic exactly once, topic to file at least once, while the worker and the broker are killed"),
    ("MirrorMaker 2", "connect/connectors.xml", "compat.mirror",
     "Apache Kafka to Barnabas and back at once, records and groups' offsets, while it is killed"),
]

# What a client has only in part, shown by a test of its own instead of the life that the others live.
GROUPS_IN_PART = {"kcat": "classic, cooperative; commits by itself"}
TRANSACTIONS_IN_PART = {"kcat": "one a run"}

# Why some tools are not run.
TOOLS_NOT_RUN = {
    "not yet: it needs share groups": {"console-share-consumer", "share-consumer-perf-test", "verifiable-share-consumer"},
    "it asks a JVM": {"jmx"},
    "it asks no broker": {"connect-plugin-path", "oauth-compatibility"},
    "the same worker as `connect-distributed`, without its topics": {"connect-standalone"},
    "of Kafka's own system tests": {"client-compatibility-test", "log-compaction-test", "transactional-message-copier"},
}
LISTED_ONLY = {"share-groups", "streams-groups"}  # run, and find no such group


def tools_run():
    """By name the folders whose tests run it: those of tools/ name it alone, since all that they run is tools."""
    calls = {folder: r"tool\w*\(\s*['\"]{name}['\"]" for folder in ("java", "moving", "security")}
    calls |= {"tools": r"['\"]{name}['\"]", "connect": r"{main}['\"]"}
    texts = {folder: "".join(path.read_text() for path in (HERE / folder).glob("*.py")) for folder in calls}
    out = {}
    for name, main_class in sorted(tools.MAIN_CLASSES.items()):
        names = {"name": re.escape(name), "main": re.escape(main_class)}
        out[name] = sorted(folder for folder, call in calls.items() if re.search(call.format(**names), texts[folder]))
    return out


class Matrix:
    def __init__(self):
        self.basics = loaded(HERE / "basics" / "clients.py")
        self.groups = loaded(HERE / "groups" / "clients.py")
        self.transactions = loaded(HERE / "transactions" / "clients.py")
        self.security = loaded(HERE / "security" / "clients_test.py")
        self.cells = []  # scenario and client

    def records(self, client):
        has = self.basics.CLIENTS.get(client)
        if not has:
            return "–"
        self.cells.append(("basics", client))
        return "all codecs" if has.codecs == self.basics.ALL_CODECS else ", ".join(has.codecs[1:])

    def admin(self, client):
        has = self.basics.CLIENTS.get(client)
        number = len(self.basics.VERBS) - len(has.lacks) if has else 0
        return f"{number} of {len(self.basics.VERBS)}" if number else "–"

    def groups_of(self, client):
        if client in GROUPS_IN_PART:
            self.cells.append(("groups", client))
            return GROUPS_IN_PART[client]
        modes = {**{name: modes for name, (_, modes) in self.groups.INSTALLED.items()}, **self.groups.BUILT_WITH_BARNABAS}
        if client not in modes:
            return "–"
        self.cells.append(("groups", client))
        names = {"classic": "classic", "cooperative": "cooperative", "consumer": "consumer"}
        return ", ".join(names[mode] for mode in modes[client] if mode in names)

    def transactions_of(self, client):
        if client not in self.transactions.CLIENTS and client not in TRANSACTIONS_IN_PART:
            return "–"
        self.cells.append(("transactions", client))
        return TRANSACTIONS_IN_PART.get(client, "yes")

    def security_of(self, client):
        if client not in self.security.CLIENTS:
            return "–"
        self.cells.append(("security_clients", client))
        return "TLS, " + ", ".join(self.security.mechanisms(client))

    def tables(self):
        lines = ["| Client | Version | Records | Administration | Groups | Transactions | Security |",
                 "|---|---|---|---|---|---|---|"]
        for row in rows():
            version = f"{row.version} ({row.note})" if row.note else row.version
            lines.append(f"| {row.title} | {version} | {self.records(row.client)} | {self.admin(row.client)} | "
                         f"{self.groups_of(row.client)} | {self.transactions_of(row.client)} | {self.security_of(row.client)} |")
        lines += ["", "| Application | Version | Shown |", "|---|---|---|"]
        for title, pom, _test, what in APPLICATIONS:
            lines.append(f"| {title} | {pinned(pom, r'<kafka.version>(.*)</')} | {what} |")
        return "\n".join(lines)

    def tool_table(self):
        lines = ["| Tool | Run by |", "|---|---|"]
        for name, folders in tools_run().items():
            why = next((why for why, names in TOOLS_NOT_RUN.items() if name in names), None)
            if why and folders:
                sys.exit(f"FAILED: {name} is run by {folders}, and clients_table.py has it among those that are not")
            if not why and not folders:
                sys.exit(f"FAILED: no test runs {name}")
            if why:
                lines.append(f"| `{name}` | {why} |")
            else:
                more = "; it finds no such group" if name in LISTED_ONLY else ""
                lines.append(f"| `{name}` | {', '.join(f'compat-tests/{folder}' for folder in folders)}{more} |")
        return "\n".join(lines)


def with_tables(text, tables):
    for name, table in tables.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        head, found, rest = text.partition(begin)
        _, closed, tail = rest.partition(end)
        if not (found and closed):
            sys.exit(f"FAILED: {PAGE} has no {begin.strip()} … {end}")
        text = f"{head}{begin}{table}\n{end}{tail}"
    return text


def check_tests(build, cells):
    """Each cell is a test of this build."""
    if not shutil.which("ctest"):
        suite.skip("no ctest here")
    listed = json.loads(subprocess.run(["ctest", "--test-dir", build, "--show-only=json-v1"], capture_output=True,
                                       text=True, check=True).stdout)
    known = {test["name"] for test in listed["tests"]}
    missing = [name for name in cells if name not in known]
    if missing:
        sys.exit(f"FAILED: there is no test {', '.join(missing)}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", help="the directory whose tests are asked about")
    parser.add_argument("--all-passed", action="store_true")
    options = parser.parse_args()
    matrix = Matrix()
    tables = {"clients": matrix.tables(), "tools": matrix.tool_table()}
    wanted = with_tables(PAGE.read_text(), tables)
    if os.environ.get("BARNABAS_UPDATE_README"):
        PAGE.write_text(wanted)
    elif wanted != PAGE.read_text():
        sys.exit(f"FAILED: {PAGE} differs from what the tests run; BARNABAS_UPDATE_README=1 writes it")
    if options.build:
        check_tests(options.build, [f"compat.{scenario}.{client}" for scenario, client in matrix.cells]
                    + [test for _, _, test, _ in APPLICATIONS])
    if options.all_passed:
        failed = [f"{scenario} {client}" for scenario, client in matrix.cells if not results.path(scenario, client).exists()]
        if failed:
            sys.exit(f"FAILED: in docs/clients.md, and not passed here: {', '.join(failed)}")


if __name__ == "__main__":
    main()
