#!/usr/bin/env python3
"""One client, every way into a secured broker that it has: TLS, mutual TLS, and each SASL mechanism with and without
TLS; and such as must be refused. `clients_test.py CLIENT [--program PATH]`; ways.py has the ways."""

import argparse
import pathlib
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import client_programs  # noqa: E402
import results  # noqa: E402
import suite  # noqa: E402
import ways  # noqa: E402
from broker import Broker, BrokerError  # noqa: E402
from certificates import Authority  # noqa: E402

PROGRAM = "secured"
TOKENS = "{tokens}"  # in a command: the addresses of the files with tokens

# aiokafka takes the challenge that tells of a bad token for the end, and then waits.
NOT_ASKED = {"aiokafka": {"forged-token"}}


# SASL mechanisms that a client has not, or not without a server of tokens.
LACKING = {"kafka-go": {"OAUTHBEARER"}, "kcat": {"OAUTHBEARER"}}


def java():
    command = client_programs.java("java-secured", "secured/Secured.java")
    # It reads tokens from such files only as it is told.
    command[1:1] = [f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={TOKENS}"]
    return [str(part).replace("kafka.log.level=WARN", "kafka.log.level=OFF") for part in command]


def kcat():
    suite.require_tools("kcat")
    return [sys.executable, "-B", HERE.parent / "kcat" / "secured.py"]


CLIENTS = {
    "aiokafka": lambda: client_programs.python("aiokafka", PROGRAM),
    "confluent-kafka": lambda: client_programs.python("confluent-kafka", PROGRAM),
    "confluent-kafka-go": lambda: client_programs.go("confluent-kafka-go", PROGRAM),
    "kafka-go": lambda: client_programs.go("kafka-go", PROGRAM),
    "kafka-python": lambda: client_programs.python("kafka-python", PROGRAM),
    "kcat": kcat,
    "librdkafka": None,  # it is built with Barnabas
    "rdkafka": lambda: client_programs.rust("rdkafka", PROGRAM),
    "sarama": lambda: client_programs.go("sarama", PROGRAM),
    "franz-go": lambda: client_programs.go("franz-go", PROGRAM),
    "java": java,
    "kafkajs": lambda: client_programs.node("kafkajs", PROGRAM),
    "platformatic-kafka": lambda: client_programs.node("platformatic-kafka", PROGRAM),
}


def mechanisms(client):
    """Those that it has."""
    return [mechanism for mechanism in ways.MECHANISMS if mechanism not in LACKING.get(client, ())]


def run(client, command, directory):
    secrets = ways.Secrets(directory, Authority(directory), Authority(directory, "stranger"))
    expected, wanted = {}, []
    broker = Broker(secured=ways.LISTENERS, properties=secrets.properties(),
                    format_arguments=secrets.format_arguments(), jvm_arguments=secrets.jvm_arguments())
    if broker.target == "barnabas":
        broker.format(secrets.format_arguments())
    for name, listener, asked_for, outcome in ways.all_ways(secrets):
        if name in NOT_ASKED.get(client, ()) or asked_for.get("mechanism") in LACKING.get(client, ()):
            continue
        wanted.append(ways.asked(broker, name, listener, asked_for))
        expected[name] = outcome
    tokens = ",".join(pathlib.Path(way["token_file"]).as_uri() for way in wanted if "token_file" in way)
    command = [str(part).replace(TOKENS, tokens) for part in command]
    with broker:
        told = ways.go_all(command, wanted, directory / "ways.json")
    wrong = 0
    for name, outcome in expected.items():
        got, detail = told.get(name, ("nothing", ""))
        right = got == outcome and (outcome != "values" or tuple(detail) == ways.VALUES)
        wrong += not right
        print(f"{'ok   ' if right else 'WRONG'} {client} {name}: {got} {'' if right and got == 'values' else detail}"
              + ("" if right else f", expected {outcome}"), flush=True)
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("client", choices=sorted(CLIENTS))
    parser.add_argument("--program", help="the client's program, for one that is built with Barnabas")
    options = parser.parse_args()
    client = options.client
    if not (CLIENTS[client] or options.program):
        parser.error(f"{client} needs --program")
    command = [options.program] if options.program else CLIENTS[client]()
    try:
        with tempfile.TemporaryDirectory(prefix="barnabas-secured-") as directory:
            with results.noted("security_clients", client):
                if run(client, command, pathlib.Path(directory)):
                    sys.exit(1)
    except BrokerError as error:
        sys.exit(f"FAILED: {error}")


if __name__ == "__main__":
    main()
