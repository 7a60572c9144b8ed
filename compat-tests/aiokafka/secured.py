"""Ways into a secured broker with aiokafka; security/ways.py tells what is asked and what is said."""

import asyncio
import json
import logging
import pathlib
import sys

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.abc import AbstractTokenProvider
from aiokafka.errors import AuthenticationFailedError, KafkaConnectionError, TopicAuthorizationFailedError
from aiokafka.helpers import create_ssl_context

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "security"))

import way_program  # noqa: E402


class Token(AbstractTokenProvider):
    def __init__(self, token):
        self._token = token

    async def token(self):
        return self._token


def settings(way):
    chosen = {"bootstrap_servers": way["bootstrap"], "security_protocol": way["protocol"]}
    if way["protocol"].endswith("SSL"):
        chosen["ssl_context"] = create_ssl_context(
            cafile=way["ca"], certfile=way.get("certificate"), keyfile=way.get("key"))
    if "mechanism" in way:
        chosen["sasl_mechanism"] = way["mechanism"]
    if "username" in way:
        chosen |= {"sasl_plain_username": way["username"], "sasl_plain_password": way["password"]}
    if "token" in way:
        chosen["sasl_oauth_token_provider"] = Token(way["token"])
    return chosen


async def produce_and_consume(way):
    producer = AIOKafkaProducer(**settings(way), request_timeout_ms=way_program.TIMEOUT_S * 1000)
    try:
        await producer.start()
        for value in way["values"]:
            await producer.send_and_wait(way["topic"], value.encode(), partition=0)
    finally:
        await producer.stop()
    consumer = AIOKafkaConsumer(**settings(way), auto_offset_reset="earliest")
    try:
        await consumer.start()
        partition = TopicPartition(way["topic"], 0)
        consumer.assign([partition])
        values = []
        while len(values) < len(way["values"]):
            values.append((await consumer.getone(partition)).value.decode())
        return values
    finally:
        await consumer.stop()


def go(way):
    try:
        return asyncio.run(asyncio.wait_for(produce_and_consume(way), way_program.TIMEOUT_S))
    # It tells a refused certificate, or a refused password, only as a broker that it could not reach.
    except (AuthenticationFailedError, KafkaConnectionError) as refused:
        raise way_program.Refused(repr(refused)) from None
    except TopicAuthorizationFailedError as denied:
        raise way_program.Denied(repr(denied)) from None


logging.disable(logging.CRITICAL)
way_program.main(json.load(open(sys.argv[1])), go)
