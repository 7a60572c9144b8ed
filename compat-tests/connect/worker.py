"""A process of Kafka Connect or MirrorMaker 2, with its settings in a file and its log beside it."""

import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import client_programs  # noqa: E402
import suite  # noqa: E402
from scenarios import ScenarioFailed  # noqa: E402


class Worker:
    def __init__(self, main, directory, settings, arguments=()):
        connectors = client_programs.maven_classpath("connectors", HERE / "connectors.xml")
        file = directory / f"{main.rpartition('.')[2]}.properties"
        file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self.command = suite.java_command(connectors, main, file, *arguments)
        self.command[1:1] = ["-XX:TieredStopAtLevel=1"]
        self.log = directory / "log"
        self.process = None

    def start(self):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(list(map(str, self.command)), stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.wait()

    def check(self):
        if self.process and self.process.poll() is not None:
            raise ScenarioFailed(f"it ended with {self.process.returncode}")

    def log_tail(self):
        return self.log.read_text(errors="replace")[-6000:] if self.log.exists() else ""
