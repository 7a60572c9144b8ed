"""The clients that live through the scenario: how each is made, and in which words it says that it is shut out."""

import dataclasses
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import client_programs  # noqa: E402

PROGRAM = "transactions"


OLD_CLIENT = HERE.parent / "java" / "transactions" / "old-client.xml"



@dataclasses.dataclass
class Client:
    """`fenced`, `timed_out`: its words for what becomes of send, commit, abort and begin, one after the other, once
    another producer has its id, and once its transaction has timed out; several with `|` where it depends on chance."""

    make: callable  # its command, unless it is built with Barnabas
    fenced: tuple
    timed_out: tuple
    transaction_version: int = 2  # of the broker, by the feature of that name
    sends_offsets: bool = True  # for a group that it is not in
    fences_back: bool = False  # once fenced it asks for a new epoch, which ends the other's transaction
    keeps_offsets: bool = False  # until it commits
    copiers: int = 2  # one where it does not tell the group's coordinator who it is
    restarts: int = 0  # how often a copier may end by itself, since it gives up where others try again
    reconnects: bool = True  # its copiers, surely, also to Apache Kafka
    reads_back: bool = True  # the copies, leaving out what was aborted, however much of it comes in one answer
    mode: str = "classic"  # of its group
    command: list = None


def java(build, classpath=None):
    return client_programs.java(build, "transactions/Transactions.java", classpath)


def old_java():
    return java("java-transactions-old", client_programs.maven_classpath("java-old-client", OLD_CLIENT))


# The client's error is fatal before it says which one: a send meets one or the other, by chance.
FENCED = ("_FENCED|_FATAL", *("_FENCED",) * 3)
GO_FENCED = ("code47|code-144|code-150", *("code-144",) * 3)
RUST_FENCED = ("InvalidProducerEpoch|Fenced|Fatal", *("Fenced",) * 3)
JAVA_FENCED = (*("InvalidProducerEpochException",) * 2, *("ProducerFencedException",) * 2)
JAVA_TIMED_OUT = (*("InvalidProducerEpochException",) * 2, *("ok",) * 2)
SARAMA_FENCED = ("code47", "code47", "code90", "ErrTransitionNotAllowed")
AIOKAFKA_FENCED = ("ProducerFenced", "ProducerFenced", "AssertionError", "AssertionError")
PYTHON_FENCED = ("InvalidProducerEpochError", *("KafkaError",) * 3)
PYTHON_TIMED_OUT = (*PYTHON_FENCED[:2], *("KafkaError|ok",) * 2)  # it gets a new epoch by itself, sooner or later
KAFKAJS_FENCED = (*("INVALID_PRODUCER_EPOCH",) * 2, *("KafkaJSNonRetriableError",) * 2)
PLATFORMATIC_FENCED = ("INVALID_PRODUCER_EPOCH", *("PRODUCER_FENCED",) * 2, "PLT_KFK_USER")

CLIENTS = {
    "librdkafka": Client(None, ("47", *FENCED[1:]), ("47", *FENCED[1:])),
    "confluent-kafka": Client(
        lambda: client_programs.python("confluent-kafka", PROGRAM), FENCED, FENCED, reconnects=False, mode="consumer"),
    "confluent-kafka-go": Client(
        lambda: client_programs.go("confluent-kafka-go", PROGRAM), GO_FENCED, GO_FENCED, reconnects=False, mode="consumer"),
    "rdkafka": Client(lambda: client_programs.rust("rdkafka", PROGRAM), RUST_FENCED, RUST_FENCED,
                      reconnects=False, mode="consumer"),
    "java": Client(lambda: java("java-transactions"), JAVA_FENCED, JAVA_TIMED_OUT, mode="consumer"),
    "java-version-1": Client(lambda: java("java-transactions"), JAVA_FENCED, JAVA_FENCED, transaction_version=1),
    "java-old": Client(old_java, JAVA_FENCED, JAVA_FENCED),
    "franz-go": Client(
        lambda: client_programs.go("franz-go", PROGRAM),
        ("INVALID_PRODUCER_EPOCH", "OPERATION_NOT_ATTEMPTED", "PRODUCER_FENCED", "other"),
        ("INVALID_PRODUCER_EPOCH", "OPERATION_NOT_ATTEMPTED", "ok", "ok"), sends_offsets=False, mode="consumer"),
    "sarama": Client(lambda: client_programs.go("sarama", PROGRAM), SARAMA_FENCED, SARAMA_FENCED,
                     keeps_offsets=True),
    "kafka-python": Client(
        lambda: client_programs.python("kafka-python", PROGRAM), PYTHON_FENCED, PYTHON_TIMED_OUT,
        fences_back=True),
    "aiokafka": Client(
        lambda: client_programs.python("aiokafka", PROGRAM), AIOKAFKA_FENCED, AIOKAFKA_FENCED, copiers=1),
    "kafkajs": Client(lambda: client_programs.node("kafkajs", PROGRAM), KAFKAJS_FENCED, KAFKAJS_FENCED, copiers=1),
    # Of the aborted transactions that a producer has in one answer its consumer leaves out only the last, and takes the
    # records of those before for committed; of Apache Kafka's answers too.
    "platformatic-kafka": Client(
        lambda: client_programs.node("platformatic-kafka", PROGRAM), PLATFORMATIC_FENCED, PLATFORMATIC_FENCED,
        reads_back=False),
}
