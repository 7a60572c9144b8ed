#!/usr/bin/env python3
"""GSSAPI with a KDC that the test starts: each message of a login, whom the rules make of a principal, what must be refused, and
Debian's librdkafka (kcat) and Kafka's console producer as clients. `gssapi_test.py [Kerberos.test_NAME]`."""

import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.append(str(HERE.parent / "harness"))

import suite  # noqa: E402
from broker import Broker  # noqa: E402
from gss_initiator import INTEGRITY, MUTUAL, REPLAY, SEQUENCE, Initiator  # noqa: E402
from kdc import REALM, Kdc  # noqa: E402
from raw_sasl import NONE, SASL_AUTHENTICATION_FAILED, RawSasl  # noqa: E402

SERVICE = "kafka/localhost"
LISTENER = "KERBEROS"
ALL = MUTUAL | REPLAY | SEQUENCE | INTEGRITY
NO_LAYER = b"\x01\0\0\0"
OFFER = b"\x01\x01\0\0"
GENERIC = "Authentication failed during authentication due to invalid credentials with SASL mechanism GSSAPI"
TIMEOUT_S = 60


class Kerberos(suite.BrokerTest):
    kdc = None

    def setUp(self):
        self.be("alice")

    def be(self, name):
        """Use this user's ticket from now on, in this process and in those that it starts."""
        os.environ["KRB5CCNAME"] = f"FILE:{self.kdc.home}/{name.replace('/', '-')}.cache"

    def connect(self):
        return RawSasl(self.broker.address(LISTENER))

    def offered(self, connection, initiator):
        """Goes as far as the offer of layers, which it returns."""
        connection.handshake("GSSAPI")
        reply = connection.authenticate(initiator.step())
        if not initiator.established:
            self.assertEqual(reply.error, NONE, reply.message)
            self.assertEqual(initiator.step(reply.token), b"")
            reply = connection.authenticate(b"")
        self.assertEqual(reply.error, NONE, reply.message)
        return initiator.unwrap(reply.token)

    def assert_refused(self, connection, token):
        """Told so in the generic words, and closed."""
        reply = connection.authenticate(token)
        self.assertEqual((reply.error, reply.message), (SASL_AUTHENTICATION_FAILED, GENERIC))
        self.assertTrue(connection.is_closed())

    def test_a_ticket_lets_in(self):
        for flags in (ALL, REPLAY | SEQUENCE | INTEGRITY):
            with self.subTest(mutual=bool(flags & MUTUAL)), self.connect() as connection:
                initiator = Initiator(SERVICE, flags)
                self.assertEqual(self.offered(connection, initiator), OFFER)
                reply = connection.authenticate(initiator.wrap(NO_LAYER))
                self.assertEqual((reply.error, reply.token, reply.lifetime_ms), (NONE, b"", 0))
                self.assertTrue(connection.is_served())

    def test_a_name_asked_for_changes_nothing(self):
        for name in (b"alice", f"alice@{REALM}".encode(), b"boss"):
            with self.subTest(name), self.connect() as connection:
                initiator = Initiator(SERVICE)
                self.offered(connection, initiator)
                self.assertEqual(connection.authenticate(initiator.wrap(NO_LAYER + name)).error, NONE)
                self.assertEqual(connection.who(), "User:alice")

    def test_rules_say_who_it_is(self):
        for user, local in (("alice", "User:alice"), ("carol/admin", "User:boss")):
            self.be(user)
            with self.subTest(user), self.connect() as connection:
                initiator = Initiator(SERVICE)
                self.offered(connection, initiator)
                self.assertEqual(connection.authenticate(initiator.wrap(NO_LAYER)).error, NONE)
                self.assertEqual(connection.who(), local)

    def test_who_has_no_local_name_does_not_get_in(self):
        self.be("dave/nobody")
        with self.connect() as connection:
            initiator = Initiator(SERVICE)
            self.offered(connection, initiator)
            if self.broker.target == "kafka":  # which says that all went well, and then closes
                connection.authenticate(initiator.wrap(NO_LAYER))
                self.assertFalse(connection.is_served())
            else:
                self.assert_refused(connection, initiator.wrap(NO_LAYER))

    def test_layers_that_were_not_offered(self):
        for choice in (b"\x02\0\0\0", b"\x04\0\xff\xff", b"\0\0\0\0"):
            with self.subTest(choice), self.connect() as connection:
                initiator = Initiator(SERVICE)
                self.offered(connection, initiator)
                self.assert_refused(connection, initiator.wrap(choice))

    def test_a_choice_that_is_not_sealed_by_the_context(self):
        with self.connect() as connection:
            initiator = Initiator(SERVICE)
            self.offered(connection, initiator)
            self.assert_refused(connection, NO_LAYER)
        with self.connect() as connection:
            initiator = Initiator(SERVICE)
            self.offered(connection, initiator)
            sealed = bytearray(initiator.wrap(NO_LAYER))
            sealed[-1] ^= 1
            self.assert_refused(connection, bytes(sealed))

    def test_tokens_that_are_none(self):
        token = Initiator(SERVICE).step()
        for name, bad in (("words", b"words"), ("cut", token[:-20]), ("changed", token[:-1] + bytes([token[-1] ^ 1])),
                          ("header", token[:15]), ("zeros", bytes(1000))):
            with self.subTest(name), self.connect() as connection:
                connection.handshake("GSSAPI")
                self.assert_refused(connection, bad)

    def test_a_ticket_for_another_service(self):
        with self.connect() as connection:
            connection.handshake("GSSAPI")
            self.assert_refused(connection, Initiator("kafka/elsewhere").step())

    def test_a_token_lets_in_once(self):
        token = Initiator(SERVICE, REPLAY | INTEGRITY).step()
        with self.connect() as first, self.connect() as second:
            first.handshake("GSSAPI")
            self.assertEqual(first.authenticate(token).error, NONE)
            second.handshake("GSSAPI")
            self.assert_refused(second, token)

    def kcat(self, *arguments, text=""):
        settings = {"security.protocol": "SASL_PLAINTEXT", "sasl.mechanisms": "GSSAPI",
                    "sasl.kerberos.service.name": "kafka", "sasl.kerberos.min.time.before.relogin": "0"}
        options = [part for name, value in settings.items() for part in ("-X", f"{name}={value}")]
        return subprocess.run(["kcat", "-b", self.broker.address(LISTENER), *options, *arguments], input=text,
                              capture_output=True, text=True, timeout=TIMEOUT_S)

    def test_librdkafka_and_java_are_clients(self):
        self.be("carol/admin")
        produced = self.kcat("-P", "-t", "kerberos", "-X", "acks=all", text="from librdkafka\n")
        self.assertEqual(produced.returncode, 0, produced.stderr)
        client = self.kdc.home / "client.properties"
        client.write_text(
            "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=GSSAPI\nsasl.kerberos.service.name=kafka\n"
            "sasl.jaas.config=com.sun.security.auth.module.Krb5LoginModule required useTicketCache=true "
            f"ticketCache=\"{os.environ['KRB5CCNAME'].removeprefix('FILE:')}\" doNotPrompt=true;\n")
        os.environ["JAVA_TOOL_OPTIONS"] = f"-Djava.security.krb5.conf={self.kdc.settings}"
        try:
            produced = suite.kafka_tool(
                "console-producer", "--bootstrap-server", self.broker.address(LISTENER), "--topic", "kerberos",
                "--command-config", client, stdin="from Java\n", timeout=TIMEOUT_S)
        finally:
            del os.environ["JAVA_TOOL_OPTIONS"]
        self.assertEqual(produced.returncode, 0, produced.stdout + produced.stderr)
        read = self.kcat("-C", "-t", "kerberos", "-o", "beginning", "-e", "-q")
        self.assertEqual(sorted(read.stdout.splitlines()), ["from Java", "from librdkafka"], read.stderr)

    def test_librdkafka_without_a_ticket_is_refused(self):
        self.be("nobody-at-all")
        produced = self.kcat("-L", "-m", "3")
        self.assertNotEqual(produced.returncode, 0)


def main():
    suite.require_tools("kcat")
    suite.require_kafka()
    with Kdc() as kdc:
        table = kdc.key_table(SERVICE)
        kdc.key_table("kafka/elsewhere")
        for name in ("alice", "carol/admin", "dave/nobody"):
            kdc.add(name, "secret")
            kdc.log_in(name, "secret", kdc.home / f"{name.replace('/', '-')}.cache")
        os.environ.update(kdc.environment)
        prefix = f"listener.name.{LISTENER.lower()}"
        Kerberos.kdc = kdc
        suite.main(Broker(
            secured={LISTENER: "SASL_PLAINTEXT"}, jvm_arguments=[f"-Djava.security.krb5.conf={kdc.settings}"],
            properties={
                "delegation.token.secret.key": "secret",
                "connection.failed.authentication.delay.ms": "1",
                f"{prefix}.sasl.enabled.mechanisms": "GSSAPI",
                "sasl.kerberos.service.name": "kafka",
                f"{prefix}.sasl.kerberos.principal.to.local.rules": "RULE:[2:$1-$2](.*-admin)s/.*/boss/,RULE:[1:$1]",
                f"{prefix}.gssapi.sasl.jaas.config":
                    "com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true storeKey=true "
                    f"keyTab=\"{table}\" principal=\"{SERVICE}@{REALM}\";",
            }))


if __name__ == "__main__":
    main()
