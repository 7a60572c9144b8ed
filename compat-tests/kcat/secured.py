"""Ways into a secured broker with kcat, on Debian's librdkafka; security/ways.py tells what is asked and what is said."""

import json
import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "security"))

import way_program  # noqa: E402

NAMES = {"ca": "ssl.ca.location", "certificate": "ssl.certificate.location", "key": "ssl.key.location",
         "mechanism": "sasl.mechanism", "username": "sasl.username", "password": "sasl.password"}
# In TLS 1.3 a client learns that its certificate is refused by the end of its connection.
REFUSED = ("Authentication failed", "SSL handshake failed", "SASL", "brokers are down", "Failed to acquire metadata")


def run(way, *arguments, stdin=None):
    settings = [f"-Xsecurity.protocol={way['protocol'].lower()}"]
    settings += [f"-X{name}={way[field]}" for field, name in NAMES.items() if field in way]
    done = subprocess.run(["kcat", "-b", way["bootstrap"], "-m", "5", *settings, *arguments], input=stdin, capture_output=True,
                          text=True, timeout=way_program.TIMEOUT_S)
    if "Topic authorization failed" in done.stderr:
        raise way_program.Denied(done.stderr)
    if done.returncode != 0 and any(words in done.stderr for words in REFUSED):
        raise way_program.Refused(done.stderr)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)
    return done.stdout


def go(way):
    # It produces for ever to a broker that it cannot reach, but a list ends.
    run(way, "-L")
    run(way, "-P", "-t", way["topic"], "-p", "0", stdin="".join(f"{value}\n" for value in way["values"]))
    return run(way, "-C", "-q", "-e", "-t", way["topic"], "-p", "0", "-o", "beginning").splitlines()


way_program.main(json.load(open(sys.argv[1])), go)
