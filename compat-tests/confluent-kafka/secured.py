"""Ways into a secured broker with librdkafka; security/ways.py tells what is asked and what is said."""

import json
import pathlib
import sys
import time

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, Producer, TopicPartition

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "security"))

import way_program  # noqa: E402

# In TLS 1.3 a client learns that its certificate is refused by the end of its connection.
REFUSED = {KafkaError._AUTHENTICATION, KafkaError._SSL, KafkaError.SASL_AUTHENTICATION_FAILED,
           KafkaError._ALL_BROKERS_DOWN}


def settings(way):
    chosen = {"bootstrap.servers": way["bootstrap"], "security.protocol": way["protocol"].lower()}
    if "ca" in way:
        chosen["ssl.ca.location"] = way["ca"]
    if "certificate" in way:
        chosen |= {"ssl.certificate.location": way["certificate"], "ssl.key.location": way["key"]}
    if "mechanism" in way:
        chosen["sasl.mechanism"] = way["mechanism"]
    if "username" in way:
        chosen |= {"sasl.username": way["username"], "sasl.password": way["password"]}
    if "token" in way:
        chosen["oauth_cb"] = lambda _config: (way["token"], time.time() + 600)
    return chosen


class Attempt:
    """librdkafka tries for ever and tells of errors by a callback; the first that means a refusal ends it."""

    def __init__(self, way):
        self.way = way
        self.refusal = None
        self.settings = settings(way) | {"error_cb": self.error, "logger": self, "log_level": 0}

    def error(self, error):
        if error.code() in REFUSED:
            self.refusal = error.str()

    def log(self, *_arguments):
        pass

    def check(self):
        if self.refusal:
            raise way_program.Refused(self.refusal)

    def produce(self):
        # One that need not know the topic before it sends.
        producer = Producer(self.settings | {"linger.ms": 0})
        failures = []

        def delivered(error, _message):
            if error:
                failures.append(error)

        for value in self.way["values"]:
            producer.produce(self.way["topic"], value.encode(), partition=0, on_delivery=delivered)
        deadline = way_program.deadline()
        while len(producer) > 0 and time.monotonic() < deadline:
            producer.flush(0.1)
            self.check()
        if failures:
            raise self.meaning(failures[0])
        if len(producer) > 0:
            raise TimeoutError("not delivered")

    def consume(self):
        consumer = Consumer(self.settings | {"group.id": "secured-" + self.way["name"]})
        consumer.assign([TopicPartition(self.way["topic"], 0, OFFSET_BEGINNING)])
        values, deadline = [], way_program.deadline()
        while len(values) < len(self.way["values"]) and time.monotonic() < deadline:
            message = consumer.poll(0.1)
            self.check()
            if message is not None and message.error():
                raise self.meaning(message.error())
            if message is not None:
                values.append(message.value().decode())
        consumer.close()
        return values

    @staticmethod
    def meaning(error):
        if error.code() == KafkaError.TOPIC_AUTHORIZATION_FAILED:
            return way_program.Denied(error.str())
        return KafkaException(error)


def go(way):
    attempt = Attempt(way)
    attempt.produce()
    return attempt.consume()


way_program.main(json.load(open(sys.argv[1])), go)
