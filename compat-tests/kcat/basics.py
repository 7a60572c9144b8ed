"""Records with kcat; what it is told and what it says is in basics/scenario.py. kcat has no administration but the list
of topics and brokers."""

import itertools
import json
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "basics"))

from program import TIMEOUT_S, Program, told  # noqa: E402

# Lengths of key and value come first, -1 for null, so that any bytes may follow.
FORMAT = "%o %T %K %S %h\n%k%s"


class Basics(Program):
    def kcat(self, *arguments, stdin=None):
        done = subprocess.run(["kcat", "-b", self.bootstrap, "-X", "topic.message.timeout.ms=20000", *map(str, arguments)],
                              input=stdin, capture_output=True, timeout=TIMEOUT_S)
        if done.returncode != 0:
            raise RuntimeError(done.stderr.decode())
        return done.stdout

    def produce(self, topic, partition, codec, records):
        """One run for those that follow each other and have neither headers nor other bytes than a line may have, and
        one for each of the others, whose value comes from a file."""
        send = ["-P", "-t", topic, "-p", partition, "-z", codec, "-X", "acks=all", "-X", "linger.ms=50"]
        for plain, some in itertools.groupby(records, is_plain):
            if plain:
                lines = b"".join((r["key"] or b"") + b":" + (r["value"] or b"") + b"\n" for r in some)
                self.kcat(*send, "-K:", "-Z", stdin=lines)
                continue
            for record in some:
                with tempfile.NamedTemporaryFile() as file:
                    file.write(record["value"] or b"")
                    file.flush()
                    more = [f"-H{name}={value.decode()}" for name, value in record["headers"]]
                    if record["key"] is not None:
                        more += ["-k", record["key"].decode()]
                    self.kcat(*send, *more, file.name)

    def consume(self, topic, partition, count, offset=None, timestamp=None):
        start = offset if timestamp is None else f"s@{timestamp}"
        data = self.kcat("-C", "-q", "-t", topic, "-p", partition, "-o", start, "-c", count, "-e", "-f", FORMAT)
        out = []
        while data:
            line, _, data = data.partition(b"\n")
            at, timestamp, key_size, size, headers = line.decode().split(" ", 4)
            key, data = take(data, int(key_size))
            value, data = take(data, int(size))
            pairs = [pair.split("=", 1) for pair in headers.split(",") if pair]
            out.append(told(int(at), int(timestamp), key, value, [(name, text.encode()) for name, text in pairs]))
        return out

    def topics(self):
        return [topic["topic"] for topic in json.loads(self.kcat("-L", "-J"))["topics"]]

    def describe(self, topic):
        return len(json.loads(self.kcat("-L", "-J", "-t", topic))["topics"][0]["partitions"])

    def brokers(self):
        return [broker["name"] for broker in json.loads(self.kcat("-L", "-J"))["brokers"]]


def is_plain(record):
    content = (record["key"] or b"") + (record["value"] or b"")
    return not record["headers"] and len(content) < 1000 and not any(byte in content for byte in b"\n:\0")


def take(data, size):
    """A value of this size (null if negative), and what follows."""
    if size < 0:
        return None, data
    return data[:size], data[size:]


Basics(sys.argv[1]).run()
