"""The clients that live through the scenario: how each is installed or built, its program, and its modes."""

import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
CLIENTS = HERE.parent
sys.path.append(str(CLIENTS / "harness"))

import client_programs  # noqa: E402

CLASSIC, COOPERATIVE, CONSUMER = "classic", "cooperative", "consumer"
STATIC = "-static"
READER = "reader"  # classic as well, with the other of kafka-go's two interfaces


PROGRAM = "group_member"


def python(client):
    return client_programs.python(client, PROGRAM)


def go(client):
    return client_programs.go(client, PROGRAM)


def node(client):
    return client_programs.node(client, PROGRAM)


def rust(client):
    return client_programs.rust(client, PROGRAM)


def java(_client):
    return client_programs.java("java-group", "group/GroupMember.java")


def make(client, program=None):
    """The command of this client's member; `program` is that of one that is built with Barnabas."""
    return [program] if client in BUILT_WITH_BARNABAS else INSTALLED[client][0](client)


# Its folder's name → how to make its command, and its modes. Not among them are two as static members of the new protocol:
# franz-go does not say which instance goes, so that nobody gets its place; @platformatic/kafka always leaves for good, so that
# others get what it had.
INSTALLED = {
    "confluent-kafka": (python, (CLASSIC, COOPERATIVE, CONSUMER, CLASSIC + STATIC, CONSUMER + STATIC)),
    "java": (java, (CLASSIC, COOPERATIVE, CONSUMER, CLASSIC + STATIC, CONSUMER + STATIC)),
    "franz-go": (go, (CLASSIC, COOPERATIVE, CONSUMER, CLASSIC + STATIC, COOPERATIVE + STATIC)),
    "sarama": (go, (CLASSIC, COOPERATIVE, CLASSIC + STATIC)),
    "kafka-go": (go, (CLASSIC, READER)),
    "kafkajs": (node, (CLASSIC,)),
    "platformatic-kafka": (node, (CLASSIC, COOPERATIVE, CONSUMER, CLASSIC + STATIC, COOPERATIVE + STATIC)),
    "aiokafka": (python, (CLASSIC, CLASSIC + STATIC)),
    "confluent-kafka-go": (go, (CLASSIC, COOPERATIVE, CONSUMER, CLASSIC + STATIC, CONSUMER + STATIC)),
    "rdkafka": (rust, (CLASSIC, COOPERATIVE, CONSUMER, CLASSIC + STATIC, CONSUMER + STATIC)),
    "kafka-python": (python, (CLASSIC, COOPERATIVE, CLASSIC + STATIC)),
}
BUILT_WITH_BARNABAS = {"librdkafka": (CLASSIC, COOPERATIVE, CLASSIC + STATIC)}

# Groups of several clients: by each member's name what it is, each time it is started. Not among them are kafka-go, whose
# metadata others cannot read, and KafkaJS, whose assignor is its own.
TOGETHER = {
    "mixed": {
        "ranges": {"a": [("confluent-kafka", CLASSIC)], "b": [("java", CLASSIC), ("kafka-python", CLASSIC)],
                   "c": [("sarama", CLASSIC)]},
        "others": {"a": [("aiokafka", CLASSIC)], "b": [("franz-go", CLASSIC)], "c": [("kafka-python", CLASSIC)]},
        "incremental": {"a": [("confluent-kafka", COOPERATIVE)], "b": [("java", COOPERATIVE)],
                        "c": [("franz-go", COOPERATIVE), ("sarama", COOPERATIVE)]},
        "new": {"a": [("franz-go", CONSUMER)], "b": [("java", CONSUMER)], "c": [("confluent-kafka", CONSUMER)]},
    },
    # From one protocol to the other while the group lives on: c is the first of the new kind, a the last of the old.
    "changing": {
        "upgraded": {"a": [("confluent-kafka", CLASSIC)], "b": [("franz-go", CLASSIC), ("confluent-kafka", CONSUMER)],
                     "c": [("java", CONSUMER)]},
        "downgraded": {"a": [("franz-go", CONSUMER)], "b": [("java", CONSUMER), ("franz-go", CLASSIC)],
                       "c": [("confluent-kafka", CLASSIC)]},
    },
}
