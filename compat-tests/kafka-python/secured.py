"""Ways into a secured broker with kafka-python; security/ways.py tells what is asked and what is said."""

import json
import logging
import pathlib
import sys
import time

from kafka import KafkaConsumer, KafkaProducer, TopicPartition
from kafka.errors import KafkaConnectionError, KafkaError, SaslAuthenticationFailedError, TopicAuthorizationFailedError
from kafka.net.sasl.oauth import AbstractTokenProvider

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "security"))

import way_program  # noqa: E402

REFUSED = (KafkaConnectionError, SaslAuthenticationFailedError)
BOOTSTRAP_MS = 5000


class Token(AbstractTokenProvider):
    def __init__(self, token):
        super().__init__()
        self._token = token

    def token(self):
        return self._token


def settings(way):
    chosen = {"bootstrap_servers": way["bootstrap"], "security_protocol": way["protocol"]}
    for field, name in (("ca", "ssl_cafile"), ("certificate", "ssl_certfile"), ("key", "ssl_keyfile"),
                        ("mechanism", "sasl_mechanism"), ("username", "sasl_plain_username"),
                        ("password", "sasl_plain_password")):
        if field in way:
            chosen[name] = way[field]
    if "token" in way:
        chosen["sasl_oauth_token_provider"] = Token(way["token"])
    return chosen


def produce_and_consume(way):
    try:
        consumer = KafkaConsumer(**settings(way), bootstrap_timeout_ms=BOOTSTRAP_MS, enable_auto_commit=False)
    except KafkaError as error:
        raise way_program.Refused(repr(error)) from error
    producer = KafkaProducer(**settings(way))
    for value in way["values"]:
        producer.send(way["topic"], value.encode(), partition=0).get(way_program.TIMEOUT_S)
    producer.close()
    where = TopicPartition(way["topic"], 0)
    consumer.assign([where])
    consumer.seek_to_beginning(where)
    values, deadline = [], way_program.deadline()
    while len(values) < len(way["values"]) and time.monotonic() < deadline:
        for messages in consumer.poll(100).values():
            values += [message.value.decode() for message in messages]
    consumer.close()
    return values


def go(way):
    try:
        return produce_and_consume(way)
    except TopicAuthorizationFailedError as error:
        raise way_program.Denied(repr(error)) from error
    except REFUSED as error:
        raise way_program.Refused(repr(error)) from error


logging.disable()
way_program.main(json.load(open(sys.argv[1])), go)
