#!/usr/bin/env python3
"""docs/security.md, run as it stands: its commands in order in one directory, and its clients' programs."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import client_programs  # noqa: E402
import python_environment  # noqa: E402
import suite  # noqa: E402
from broker import KAFKA_PEER, PROJECT, barnabas_binary, broker_environment, free_ports  # noqa: E402

PAGE = PROJECT / "docs" / "security.md"
PORT = "9093"  # on the page
START = "barnabas server.properties\n"
READY = "Kafka Server started"
TIMEOUT_S = 120
RECORDS = 5  # one of each client


def blocks():
    """(language, text) of each fenced block, in order."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE)


def make_commands(directory):
    """barnabas, and Kafka's scripts under the names that its distribution gives them."""
    directory.mkdir()
    (directory / "barnabas").symlink_to(barnabas_binary())
    for name in ("configs", "acls", "console-producer", "console-consumer"):
        script = directory / f"kafka-{name}.sh"
        script.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{KAFKA_PEER}" tool {name} "$@"\n')
        script.chmod(0o755)


class Page:
    def __init__(self, directory):
        self.work = directory / "work"
        self.work.mkdir()
        make_commands(directory / "bin")
        self.port = str(free_ports(1)[0])
        self.environment = broker_environment() | {"PATH": f"{directory / 'bin'}:{os.environ['PATH']}"}
        self.broker = None
        self.log = directory / "log"

    def run(self, language, text):
        text = text.replace(PORT, self.port)
        if text == START:
            self.start()
        elif language == "bash":
            return self.call(["bash", "-euo", "pipefail", "-c", text])
        else:
            return getattr(self, language)(text)

    def start(self):
        with open(self.log, "wb") as log:
            self.broker = subprocess.Popen(["barnabas", "server.properties"], cwd=self.work, env=self.environment,
                                           stdout=log, stderr=subprocess.STDOUT, executable=barnabas_binary())
        deadline = time.monotonic() + TIMEOUT_S
        while READY not in self.log.read_text():
            if self.broker.poll() is not None or time.monotonic() > deadline:
                sys.exit("FAILED: no start:\n" + self.log.read_text())
            time.sleep(0.01)

    def call(self, command, home=None):
        done = subprocess.run([*map(str, command)], cwd=home or self.work, env=self.environment, text=True,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, timeout=TIMEOUT_S)
        if done.returncode != 0:
            sys.exit(f"FAILED: {command[-1]}\n{done.stdout}\n--- the broker:\n{self.log.read_text()}")
        return done.stdout

    def python(self, text):
        program = self.work / "client.py"
        program.write_text(text)
        return self.call([python_environment.python("confluent-kafka"), "-B", program])

    def go(self, text):
        source = client_programs.CLIENTS / "franz-go"
        suite.require_go(source)
        home = self.work.parent / "go"
        home.mkdir()
        for name in ("go.mod", "go.sum"):
            shutil.copy(source / name, home)
        (home / "main.go").write_text(text)
        self.call(["go", "build", "-o", self.work / "client", "."], home)
        return self.call([self.work / "client"])

    def javascript(self, text):
        _node, program = client_programs.node("kafkajs", "secured")
        modules = pathlib.Path(program).parent / "node_modules"
        (self.work / "client.js").write_text(text)
        self.environment["NODE_PATH"] = str(modules)
        return self.call(["node", "client.js"])

    def close(self):
        if self.broker is not None:
            self.broker.terminate()
            self.broker.wait(TIMEOUT_S)


def main():
    suite.require_tools("kcat", "openssl")
    suite.require_kafka()
    with tempfile.TemporaryDirectory(prefix="barnabas-steps-") as directory:
        page = Page(pathlib.Path(directory))
        try:
            for language, text in blocks():
                print(f"--- {language}\n{text}", flush=True)
                print(page.run(language, text) or "", flush=True)
            kcat = "kcat -F kcat.conf -b localhost:9093 -t orders -C -e -q"
            read = page.run("bash", kcat).splitlines()
            if read != ["hello"] * RECORDS:
                sys.exit(f"FAILED: {read} is not a record of each of {RECORDS} clients")
            # Nobody else may: the super user's password with alice's name, and a topic that is not hers.
            page.run("bash", "! kcat -F kcat.conf -b localhost:9093 -X sasl.password=admin-secret -L -m 5")
            page.run("bash", "! kcat -F kcat.conf -b localhost:9093 -t others -C -e -q")
        finally:
            page.close()


if __name__ == "__main__":
    main()
