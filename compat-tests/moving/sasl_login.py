"""Users of SCRAM at a SASL listener: whether the passwords of before the move still work."""

import time

from broker import HOST
from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import AdminClient

import history

TIMEOUT_S = 10


def settings(node):
    """A SASL listener beside the plaintext one."""
    listeners = f"{node.properties['listeners']},SASL_PLAINTEXT://{HOST}:{node.sasl_port}"
    advertised = f"{node.properties['advertised.listeners']},SASL_PLAINTEXT://{HOST}:{node.sasl_port}"
    return {
        "listeners": listeners,
        "advertised.listeners": advertised,
        "sasl.enabled.mechanisms": "SCRAM-SHA-256",
        "listener.name.sasl_plaintext.scram-sha-256.sasl.jaas.config":
            "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    }


def can_log_in(node, user, password):
    refusals = []

    def told(error):
        if error.code() in (KafkaError._AUTHENTICATION, KafkaError.SASL_AUTHENTICATION_FAILED):
            refusals.append(error)

    admin = AdminClient({
        "bootstrap.servers": f"{HOST}:{node.sasl_port}", "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "SCRAM-SHA-256", "sasl.username": user, "sasl.password": password, "log_level": 0,
        "error_cb": told})
    deadline = time.monotonic() + TIMEOUT_S
    while not refusals and time.monotonic() < deadline:
        admin.poll(0)
        try:
            admin.list_topics(timeout=0.5)
            return True
        except KafkaException:
            continue  # it goes on trying
    return False


def check(case, node, passwords=history.PASSWORDS):
    for user, password in passwords.items():
        case.assertTrue(can_log_in(node, user, password), user)
        case.assertFalse(can_log_in(node, user, password + "!"), user)
