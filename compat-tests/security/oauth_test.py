#!/usr/bin/env python3
"""OAUTHBEARER with the keys at a URL: what is answered to tokens of all kinds, message by message; keys that change, an endpoint
that is down, and sessions that end with their token. `oauth_test.py [Tokens.test_NAME]`; clients_test.py has the clients."""

import pathlib
import re
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import python_environment  # noqa: E402

python_environment.enter("confluent-kafka", __file__)

import suite  # noqa: E402
from broker import Broker  # noqa: E402
from certificates import Authority  # noqa: E402
from confluent_kafka import Consumer, Producer  # noqa: E402
from json_web_tokens import Issuer, encoded, key_set  # noqa: E402
from key_server import KeyServer  # noqa: E402
from raw_sasl import NONE, SASL_AUTHENTICATION_FAILED, RawSasl  # noqa: E402

REFUSED = '{"status":"invalid_token"}'
JAAS = "org.apache.kafka.common.security.oauthbearer"
PATIENCE_S = 20
NO_ENDPOINT = "http://127.0.0.1:1/keys"


def message(token, name="", extensions=""):
    return f"n,{'a=' + name if name else ''},\x01auth=Bearer {token}\x01{extensions}\x01".encode()


def properties(listener, url, issuer, more=None, options=""):
    prefix = f"listener.name.{listener}.oauthbearer"
    settings = {
        "sasl.jaas.config": f"{JAAS}.OAuthBearerLoginModule required {options};",
        "sasl.server.callback.handler.class": f"{JAAS}.OAuthBearerValidatorCallbackHandler",
        "sasl.oauthbearer.jwks.endpoint.url": url,
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.ms": 10,
        "sasl.oauthbearer.jwks.endpoint.retry.backoff.max.ms": 50,
        "sasl.oauthbearer.expected.audience": f"others,{issuer.audience}",
        "sasl.oauthbearer.expected.issuer": issuer.issuer,
        **(more or {}),
    }
    return {f"{prefix}.{name}": value for name, value in settings.items()}


class Tokens(suite.BrokerTest):
    issuer = None
    server = None
    secured = None
    stranger = None
    directory = None

    def setUp(self):
        self.server.down = False
        self.server.keys = key_set(self.issuer)

    def log_in(self, token, listener="TOKENS", **parts):
        """The answers to the token and, if that was not accepted, to what the RFC has a client say then."""
        with RawSasl(self.broker.address(listener)) as connection:
            connection.handshake("OAUTHBEARER")
            first = connection.authenticate(message(token, **parts))
            if first.error == NONE and first.token:
                return first, connection.authenticate(b"\x01")
            return first, None

    def is_accepted(self, token, listener="TOKENS"):
        first, _ = self.log_in(token, listener)
        return first.error == NONE and not first.token

    def comes_in(self, token, listener="TOKENS"):
        """Whether it is accepted within the test's patience."""
        deadline = time.monotonic() + PATIENCE_S
        while not self.is_accepted(token, listener):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.02)
        return True

    def assert_refused(self, token, what=None):
        first, second = self.log_in(token)
        self.assertEqual((first.error, first.token.decode()), (NONE, REFUSED), what)
        self.assertEqual((second.error, second.message), (SASL_AUTHENTICATION_FAILED, REFUSED), what)

    def test_a_token_lets_in_for_as_long_as_it_lives(self):
        with RawSasl(self.broker.address("TOKENS")) as connection:
            self.assertEqual(connection.handshake("OAUTHBEARER"), ["OAUTHBEARER"])
            reply = connection.authenticate(message(self.issuer.token("alice", lives_s=600)))
            self.assertEqual((reply.error, reply.token), (NONE, b""))
            self.assertTrue(590_000 < reply.lifetime_ms <= 600_000, reply.lifetime_ms)
            self.assertEqual(connection.who(), "User:alice")

    def test_a_session_ends_with_its_token(self):
        with RawSasl(self.broker.address("TOKENS")) as connection:
            connection.handshake("OAUTHBEARER")
            reply = connection.authenticate(message(self.issuer.token("alice", lives_s=2)))
            self.assertTrue(0 < reply.lifetime_ms <= 2_000, reply.lifetime_ms)
            self.assertTrue(connection.is_served())
            deadline = time.monotonic() + PATIENCE_S
            while connection.is_served():
                self.assertLess(time.monotonic(), deadline)
                time.sleep(0.05)

    def test_tokens_that_are_not_accepted(self):
        now = int(time.time())
        stranger = Issuer(self.directory, "stranger")
        good = self.issuer.token("alice")
        header, claims, signature = good.split(".")
        none = encoded(b'{"alg":"none"}')
        cases = {
            "forged": stranger.token("alice", header={"kid": self.issuer.kid}),
            "expired": self.issuer.token("alice", lives_s=-60),
            "other audience": self.issuer.token("alice", aud="elsewhere"),
            "no audience": self.issuer.token("alice", aud=None),
            "other issuer": self.issuer.token("alice", iss="https://elsewhere.example"),
            "no exp": self.issuer.token("alice", exp=None),
            "expired before it was issued": self.issuer.token("alice", lives_s=-20),
            "no iat": self.issuer.token("alice", iat=None),
            "not yet": self.issuer.token("alice", nbf=now + 300),
            "no subject": self.issuer.token("alice", sub=None),
            "blank subject": self.issuer.token(" "),
            "none": f"{none}.{claims}.",
            "none with a signature": f"{none}.{claims}.{signature}",
            "HS256": self.issuer.token("alice", header={"alg": "HS256"}),
            "critical": self.issuer.token("alice", header={"crit": ["x"], "x": 1}),
            "changed claims": f"{header}.{claims[:-4]}AAAA.{signature}",
            "two parts": f"{header}.{claims}",
            "five parts": f"{good}.x.y",
            "words": "words",
        }
        for name, token in cases.items():
            with self.subTest(name):
                self.assert_refused(token, name)
        self.assertTrue(self.is_accepted(good))

    def test_tokens_at_the_edge_of_what_is_accepted(self):
        now = int(time.time())
        cases = {
            "expired within the skew": self.issuer.token("alice", lives_s=-20, iat=now - 60),
            "not yet, within the skew": self.issuer.token("alice", nbf=now + 20),
            "issued in the future": self.issuer.token("alice", iat=now + 300),
            "several audiences": self.issuer.token("alice", aud=["elsewhere", "kafka"]),
            "other headers": self.issuer.token("alice", header={"jku": "https://elsewhere.example", "typ": "at+jwt"}),
        }
        for name, token in cases.items():
            with self.subTest(name):
                self.assertTrue(self.is_accepted(token), name)

    def test_malformed_messages_fail_with_the_generic_word(self):
        token = self.issuer.token("alice")
        messages = [b"", b"\x01", b"y,,\x01auth=Bearer x\x01\x01", b"n,,\x01\x01", message("")[:-1], message(token)[:-1],
                    message(token) + b"\x01"]
        if self.broker.target != "kafka":  # which closes the connection without a word
            messages.append(message(token).replace(b"Bearer", b"Basic"))
        for bad in messages:
            with self.subTest(bad[:30]), RawSasl(self.broker.address("TOKENS")) as connection:
                connection.handshake("OAUTHBEARER")
                reply = connection.authenticate(bad)
                self.assertEqual(
                    (reply.error, reply.message),
                    (SASL_AUTHENTICATION_FAILED, "Authentication failed during authentication due to invalid credentials "
                                                 "with SASL mechanism OAUTHBEARER"))
                self.assertTrue(connection.is_closed())

    def test_a_client_may_ask_to_be_whom_the_token_names_and_nobody_else(self):
        token = self.issuer.token("alice")
        first, _ = self.log_in(token, name="alice", extensions="logicalCluster=lkc-1\x01")
        self.assertEqual((first.error, first.token), (NONE, b""))
        first, _ = self.log_in(token, name="root")
        self.assertEqual((first.error, first.message), (
            SASL_AUTHENTICATION_FAILED, "Authentication failed: Client requested an authorization id (root) that is "
                                        "different from the token's principal name (alice)"))

    def test_a_key_that_is_new_is_fetched_when_a_token_names_it(self):
        second = Issuer(self.directory, f"second-{time.monotonic_ns()}")
        self.assert_refused(second.token("alice"))
        self.server.keys = key_set(self.issuer, second)
        # Kafka does not ask again for a minute for a key that was missed once.
        third = Issuer(self.directory, f"third-{time.monotonic_ns()}")
        self.server.keys = key_set(self.issuer, second, third)
        self.assertTrue(self.comes_in(third.token("alice")))
        self.assertTrue(self.is_accepted(second.token("alice")))
        self.assertTrue(self.is_accepted(self.issuer.token("alice")))

    def test_keys_stay_while_the_endpoint_is_down(self):
        self.server.down = True
        asked = self.server.asked
        stranger = Issuer(self.directory, f"missing-{time.monotonic_ns()}")
        self.assert_refused(stranger.token("alice"))
        deadline = time.monotonic() + PATIENCE_S
        while self.server.asked == asked:
            self.assertLess(time.monotonic(), deadline)
            time.sleep(0.01)
        self.assertTrue(self.is_accepted(self.issuer.token("alice")))

    def test_keys_come_over_https_from_whom_the_settings_trust(self):
        self.assertTrue(self.is_accepted(self.issuer.token("alice"), "HTTPS"))

    def test_keys_over_https_of_whom_the_settings_do_not_trust_are_not_taken(self):
        if self.broker.target == "kafka":
            self.skipTest("Kafka does not start")
        # One is not of the authority of the settings; the other one is, but its listener trusts those of the machine only.
        for listener, server in (("STRANGER", self.stranger), ("MACHINE", self.secured)):
            with self.subTest(listener):
                self.assertTrue(self.is_told(rf"could not be had.*{server.url}.*certificate"))
                self.assert_refused_at(listener)
        self.assertEqual(self.stranger.asked, 0)

    def is_told(self, pattern):
        """Whether the broker comes to log such a line."""
        deadline = time.monotonic() + PATIENCE_S
        while not re.search(pattern, self.broker.log_path.read_text()):
            if time.monotonic() > deadline:
                return False
            time.sleep(0.05)
        return True

    def test_names_of_keys_that_are_made_up_do_not_flood_the_endpoint(self):
        if self.broker.target == "kafka":
            self.skipTest("Kafka asks the endpoint for each of them")
        asked, begin = self.server.asked, time.monotonic()
        for i in range(100):
            self.is_accepted(self.issuer.token("alice", header={"kid": f"made-up-{i}"}))
        # At most one each 50 ms, as the settings have it.
        self.assertLessEqual(self.server.asked - asked, (time.monotonic() - begin) / 0.05 + 2)

    def test_an_endpoint_that_cannot_be_reached_does_not_keep_the_broker_from_starting(self):
        if self.broker.target == "kafka":
            self.skipTest("Kafka does not start")
        self.assert_refused_at("UNREACHED")
        self.assertIn("keys of tokens could not be had", self.broker.log_path.read_text())

    def assert_refused_at(self, listener):
        first, second = self.log_in(self.issuer.token("alice"), listener)
        self.assertEqual((first.token.decode(), second.error), (REFUSED, SASL_AUTHENTICATION_FAILED))

    def test_librdkafka_goes_on_when_its_tokens_end(self):
        fetched = []

        def fetch_token(_):
            fetched.append(time.time())
            # It fetches the next at 80 % of this life, and authenticates anew at 90 % of the session's.
            ends = int(time.time()) + 4
            return self.issuer.token("alice", exp=ends), ends

        client = {"bootstrap.servers": self.broker.address("TOKENS"), "security.protocol": "SASL_PLAINTEXT",
                  "sasl.mechanisms": "OAUTHBEARER", "oauth_cb": fetch_token, "log_level": 0}
        producer = Producer(client | {"linger.ms": 0, "acks": "all"})
        failures, sent = [], 0
        begin = time.monotonic()
        while time.monotonic() - begin < 5:
            producer.produce("tokens", str(sent), partition=0, on_delivery=lambda error, _: error and failures.append(error))
            producer.flush(PATIENCE_S)
            sent += 1
            time.sleep(0.05)
        self.assertEqual(failures, [])
        self.assertGreater(len(fetched), 1)
        consumer = Consumer(client | {"group.id": "tokens", "auto.offset.reset": "earliest"})
        consumer.subscribe(["tokens"])
        seen, deadline = [], time.monotonic() + PATIENCE_S
        while len(seen) < sent and time.monotonic() < deadline:
            record = consumer.poll(0.1)
            if record is not None and record.error() is None:
                seen.append(record.value().decode())
        consumer.close()
        self.assertEqual(seen, [str(i) for i in range(sent)])


def main():
    with tempfile.TemporaryDirectory(prefix="barnabas-tokens-") as name:
        directory = pathlib.Path(name)
        authority = Authority(directory)
        issuer = Issuer(directory)
        (directory / "stranger").mkdir()
        elsewhere = Authority(directory / "stranger")
        with (KeyServer(key_set(issuer)) as server, KeyServer(key_set(issuer), authority.server()) as secured,
              KeyServer(key_set(issuer), elsewhere.server()) as stranger):
            # Kafka wants a name for itself, as soon as there is any option.
            trust = (f"ssl.truststore.type=PEM ssl.truststore.location=\"{authority.certificate}\" "
                     "unsecuredLoginStringClaim_sub=broker")
            settings = (properties("tokens", server.url, issuer)
                        | properties("https", secured.url, issuer, options=trust)
                        | {"sasl.enabled.mechanisms": "OAUTHBEARER", "delegation.token.secret.key": "secret",
                           "connection.failed.authentication.delay.ms": 1})
            listeners = {"TOKENS": "SASL_PLAINTEXT", "HTTPS": "SASL_PLAINTEXT"}
            broker = Broker(secured=listeners, properties=settings, jvm_arguments=[
                f"-Dorg.apache.kafka.sasl.oauthbearer.allowed.urls={server.url},{secured.url}"])
            if broker.target == "barnabas":
                broker = Broker(
                    secured=listeners | {name: "SASL_PLAINTEXT" for name in ("UNREACHED", "STRANGER", "MACHINE")},
                    properties=settings | properties("unreached", NO_ENDPOINT, issuer)
                    | properties("stranger", stranger.url, issuer, options=trust)
                    | properties("machine", secured.url, issuer))
            Tokens.issuer, Tokens.server, Tokens.directory = issuer, server, directory
            Tokens.secured, Tokens.stranger = secured, stranger
            suite.main(broker)


if __name__ == "__main__":
    main()
