"""Users of SCRAM at a SASL listener of Apache Kafka's: whether the passwords of before the move still work."""

from broker import HOST
from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

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
    errors = []
    admin = AdminClient({
        "bootstrap.servers": f"{HOST}:{node.sasl_port}", "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanisms": "SCRAM-SHA-256", "sasl.username": user, "sasl.password": password, "log_level": 0,
        "error_cb": errors.append})
    try:
        admin.list_topics(timeout=TIMEOUT_S if not errors else 0)
        return True
    except KafkaException:
        return False


def check(case, node):
    case.assertTrue(can_log_in(node, "alice", "wonderland"))
    case.assertTrue(can_log_in(node, "bob", "builder"))
