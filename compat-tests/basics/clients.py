"""The clients that are asked for records and administration, and what each of them has."""

import dataclasses
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import client_programs  # noqa: E402
import suite  # noqa: E402

PROGRAM = "basics"
ALL_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
VERBS = ("create", "topics", "describe", "add_partitions", "alter_config", "config", "delete_records", "delete", "groups",
         "group_offsets", "delete_group", "brokers")


@dataclasses.dataclass
class Client:
    """What is not so by default is the client's own limit."""

    make: callable  # its command, unless it is built with Barnabas
    codecs: tuple = ALL_CODECS
    headers: bool = True
    binary_headers: bool = True
    repeated_headers: bool = True
    null_headers: bool = True
    null_values: bool = True
    binary_keys: bool = True
    timestamps: bool = True  # can be set
    from_timestamp: bool = True
    tells_null_from_empty: bool = True
    alters_all: bool = False  # a change of a setting loses the others
    hears_of_bad_settings: bool = True
    lacks: tuple = ()  # of VERBS
    command: list = None


def go(client):
    return lambda: client_programs.go(client, PROGRAM)


def python(client):
    return lambda: client_programs.python(client, PROGRAM)


def node(client):
    return lambda: client_programs.node(client, PROGRAM)


def kcat():
    suite.require_tools("kcat")
    return [sys.executable, "-B", HERE.parent / "kcat" / "basics.py"]


CLIENTS = {
    "java": Client(lambda: client_programs.java("java-basics", "basics/Basics.java")),
    "confluent-kafka": Client(python("confluent-kafka")),
    "librdkafka": Client(None, alters_all=True),
    "franz-go": Client(go("franz-go")),
    "sarama": Client(go("sarama")),
    "kafka-go": Client(go("kafka-go"), tells_null_from_empty=False, lacks=("delete_records",)),
    "confluent-kafka-go": Client(go("confluent-kafka-go")),
    "kafkajs": Client(node("kafkajs"), codecs=("none", "gzip", "snappy"), repeated_headers=False, null_headers=False,
                      alters_all=True),
    "platformatic-kafka": Client(node("platformatic-kafka"), repeated_headers=False),
    "kafka-python": Client(python("kafka-python"), null_headers=False),
    "aiokafka": Client(python("aiokafka"), alters_all=True, lacks=("delete_group",)),
    "rdkafka": Client(lambda: client_programs.rust("rdkafka", PROGRAM), alters_all=True,
                      hears_of_bad_settings=False),
    "kcat": Client(kcat, binary_headers=False, null_headers=False, binary_keys=False, timestamps=False,
                   tells_null_from_empty=False, lacks=tuple(set(VERBS) - {"topics", "describe", "brokers"})),
}
