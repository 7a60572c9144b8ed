#!/usr/bin/env python3
"""TLS listeners: stores of every kind, certificates of clients, and reloading while clients are connected."""

import os
import pathlib
import re
import shutil
import socket
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "harness"))

import broker as harness  # noqa: E402
import suite  # noqa: E402
from broker import HOST, Broker, BrokerError, chosen_target  # noqa: E402
from certificates import Authority  # noqa: E402

TIMEOUT_S = 30
RELOAD_TIMEOUT_S = 20
ALTER_CONFIGS, DESCRIBE_CONFIGS, API_VERSIONS = 44, 32, 18
BROKER_RESOURCE = 4
SET, DELETE = 0, 1
STORE = "listener.name.ssl.ssl.keystore.location"

only_barnabas = unittest.skipIf(chosen_target() != "barnabas", "about Barnabas's own words")
# Kafka 4.4 does not look at files by itself.
only_where_files_are_watched = unittest.skipIf(chosen_target() != "barnabas", "Kafka reads files anew only when told")


def setUpModule():
    suite.require_tools("openssl", "kcat")
    global home, authority, stranger, server, alice
    home = pathlib.Path(tempfile.mkdtemp(prefix="barnabas-tls-"))
    authority = Authority(home)
    stranger = Authority(home, "stranger")
    server = authority.server()
    alice = authority.client("alice", "CN=alice,OU=people,O=example")


def tearDownModule():
    shutil.rmtree(home, ignore_errors=True)


def pem_store(identity):
    return {"ssl.keystore.type": "PEM", "ssl.keystore.location": identity.pem}


def trust(client_auth):
    return {"ssl.truststore.type": "PEM", "ssl.truststore.location": authority.certificate,
            "ssl.client.auth": client_auth}


def in_one_line(path):
    return path.read_text().replace("\n", "\\n")


def text(value):
    encoded = value.encode()
    return struct.pack(">h", len(encoded)) + encoded


class TlsTest(unittest.TestCase):
    def start(self, properties):
        broker = Broker(properties={name: str(value) for name, value in properties.items()}, secured={"SSL": "SSL"})
        self.addCleanup(broker.clean)
        return broker.start()

    def refused(self, properties):
        """What a broker says that does not start."""
        broker = Broker(properties={name: str(value) for name, value in properties.items()}, secured={"SSL": "SSL"})
        self.addCleanup(broker.clean)
        with self.assertRaises(BrokerError):
            broker.start()
        self.assertEqual(broker.exit_code, 1, broker.log_tail())
        return broker.log_tail()

    def connect(self, broker, identity=None, context=None, session=None):
        context = context or self.context(identity)
        host, port = broker.address("SSL").split(":")
        plain = socket.create_connection((HOST, int(port)), timeout=TIMEOUT_S)
        try:
            connection = context.wrap_socket(plain, server_hostname=host, session=session)
        except BaseException:
            plain.close()
            raise
        self.addCleanup(connection.close)
        return connection

    @staticmethod
    def context(identity=None, version=None):
        context = ssl.create_default_context(cafile=authority.certificate)
        if version:
            context.minimum_version = context.maximum_version = version
        if identity:
            context.load_cert_chain(identity.chain, identity.key)
        return context

    def ask(self, connection):
        """One request and a whole answer."""
        body = harness.call(connection, API_VERSIONS, 0, b"")
        self.assertEqual(body[:2], b"\0\0")

    def assert_not_let_in(self, broker, identity=None):
        with self.assertRaises((ssl.SSLError, OSError)):
            self.ask(self.connect(broker, identity))  # with TLS 1.3 the refusal comes after the handshake

    def serial(self, broker):
        """Of the certificate that a new connection is shown."""
        return self.connect(broker).getpeercert()["serialNumber"]

    def alter(self, broker, name, value, operation=SET):
        """As kafka-configs does for broker 1; returns the error code and its words."""
        config = text(name) + struct.pack(">b", operation) + (b"\xff\xff" if value is None else text(str(value)))
        resource = struct.pack(">b", BROKER_RESOURCE) + text("1") + struct.pack(">i", 1) + config
        with socket.create_connection((HOST, broker.port), timeout=TIMEOUT_S) as connection:
            body = harness.call(connection, ALTER_CONFIGS, 0, struct.pack(">i", 1) + resource + b"\0")
        error, length = struct.unpack_from(">hh", body, 8)
        return error, body[12:12 + max(length, 0)].decode()

    def described(self, broker, name):
        """(found, value) of a setting of broker 1."""
        resource = struct.pack(">b", BROKER_RESOURCE) + text("1") + struct.pack(">i", 1) + text(name)
        with socket.create_connection((HOST, broker.port), timeout=TIMEOUT_S) as connection:
            body = harness.call(connection, DESCRIBE_CONFIGS, 1, struct.pack(">i", 1) + resource + b"\1")
        at = body.find(text(name))
        if at < 0:
            return False, None
        at += 2 + len(name)
        (length,) = struct.unpack_from(">h", body, at)
        return True, None if length < 0 else body[at + 2:at + 2 + length].decode()

    def eventually(self, condition, what):
        deadline = time.monotonic() + RELOAD_TIMEOUT_S
        while not condition():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.1)


class Stores(TlsTest):
    def test_clients_work_over_every_kind_of_store(self):
        encrypted = server.encrypted_key("key secret")
        stores = [
            pem_store(server),
            {"ssl.keystore.type": "PKCS12", "ssl.keystore.location": server.pkcs12("secret"),
             "ssl.keystore.password": "secret"},
            {"ssl.keystore.type": "PEM", "ssl.keystore.key": in_one_line(encrypted),
             "ssl.keystore.certificate.chain": in_one_line(server.chain), "ssl.key.password": "key secret"},
        ]
        if chosen_target() == "kafka":
            stores.pop()  # Java 17 does not decrypt keys as OpenSSL encrypts them by default (PBES2)
        for store in stores:
            with self.subTest(store["ssl.keystore.type"]):
                broker = self.start(store)
                self.ask(self.connect(broker))
                lines = [f"line {i}\n" for i in range(2000)]
                secured = ["-b", broker.address("SSL"), "-X", "security.protocol=ssl", "-X",
                           f"ssl.ca.location={authority.certificate}", "-X", "broker.address.family=v4", "-t", "t"]
                subprocess.run(["kcat", *secured, "-P", "-p", "0"], input="".join(lines).encode(), check=True,
                               timeout=TIMEOUT_S)
                read = subprocess.run(["kcat", *secured, "-C", "-q", "-e", "-p", "0"], stdout=subprocess.PIPE,
                                      check=True, timeout=TIMEOUT_S).stdout
                self.assertEqual(read.decode().splitlines(keepends=True), lines)
                broker.clean()

    def test_both_versions_and_only_those_that_are_enabled(self):
        broker = self.start(pem_store(server))
        for version in (ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3):
            self.ask(self.connect(broker, context=self.context(version=version)))
        broker.clean()
        broker = self.start(pem_store(server) | {"listener.name.ssl.ssl.enabled.protocols": "TLSv1.3"})
        self.ask(self.connect(broker, context=self.context(version=ssl.TLSVersion.TLSv1_3)))
        with self.assertRaises((ssl.SSLError, OSError)):
            self.connect(broker, context=self.context(version=ssl.TLSVersion.TLSv1_2))

    @unittest.skipIf(chosen_target() == "kafka", "Kafka makes a new session for each connection")
    def test_sessions_are_resumed(self):
        broker = self.start(pem_store(server))
        context = self.context(version=ssl.TLSVersion.TLSv1_2)
        first = self.connect(broker, context=context)
        self.ask(first)
        second = self.connect(broker, context=context, session=first.session)
        self.ask(second)
        self.assertTrue(second.session_reused)

    @only_barnabas
    def test_a_start_is_refused_with_one_line_that_says_what_to_do(self):
        store = server.pkcs12("secret", "other")
        said = self.refused({"ssl.keystore.type": "PKCS12", "ssl.keystore.location": store,
                             "ssl.keystore.password": "guess0815"})
        self.assertIn(f"listener SSL: ssl.keystore.location: {store}: the password is wrong", said)
        self.assertNotIn("guess0815", said)
        java = home / "java.jks"
        java.write_bytes(b"\xfe\xed\xfe\xed\0\0\0\2" + bytes(64))
        said = self.refused({"ssl.keystore.location": java, "ssl.keystore.password": "secret"})
        self.assertIn(f"keytool -importkeystore -srckeystore {java} -srcstoretype JKS", said)
        self.assertIn("listener SSL: ssl.keystore.location: not set", self.refused({}))
        self.assertIn("ssl.principal.mapping.rules", self.refused(
            pem_store(server) | {"ssl.principal.mapping.rules": "RULE:("}))

    @only_barnabas
    def test_plaintext_on_the_tls_port_gets_a_line(self):
        broker = self.start(pem_store(server))
        _, port = broker.address("SSL").split(":")
        with socket.create_connection((HOST, int(port)), timeout=TIMEOUT_S) as connection:
            connection.sendall(struct.pack(">ihhih", 10, API_VERSIONS, 0, 1, 0))
            connection.settimeout(TIMEOUT_S)
            while connection.recv(4096):
                pass
        self.eventually(lambda: "plaintext on a TLS listener" in broker.log_tail(), "the line")


class Clients(TlsTest):
    def test_required_lets_in_only_those_with_a_certificate(self):
        broker = self.start(pem_store(server) | trust("required"))
        self.ask(self.connect(broker, alice))
        self.assert_not_let_in(broker)
        self.assert_not_let_in(broker, stranger.client("foreign", "CN=alice,OU=people,O=example"))
        self.assert_not_let_in(broker, authority.client("late", "CN=alice,OU=people,O=example", days=-1))

    def test_requested_lets_in_those_without_and_refuses_bad_ones(self):
        broker = self.start(pem_store(server) | trust("requested"))
        self.ask(self.connect(broker, alice))
        self.ask(self.connect(broker))
        self.assert_not_let_in(broker, stranger.client("foreign2", "CN=alice"))

    def test_a_certificate_without_a_name_by_the_rules_is_not_let_in(self):
        rules = "RULE:^CN=(.*?),OU=people,.*$/$1/U"
        broker = self.start(pem_store(server) | trust("required") | {"ssl.principal.mapping.rules": rules})
        self.ask(self.connect(broker, alice))
        self.assert_not_let_in(broker, authority.client("robot", "CN=robot,OU=machines,O=example"))


class Reload(TlsTest):
    def setUp(self):
        self.file = home / "current.pem"
        shutil.copy(server.pem, self.file)
        self.renewed = authority.server("renewed")
        self.broker = self.start({"ssl.keystore.type": "PEM", STORE: self.file})

    def put(self, path):
        fresh = home / "fresh.pem"
        shutil.copy(path, fresh)
        os.replace(fresh, self.file)

    @only_where_files_are_watched
    def test_a_file_that_changes_is_read_and_connections_stay(self):
        before = self.connect(self.broker)
        old = before.getpeercert()["serialNumber"]
        self.put(self.renewed.pem)
        self.eventually(lambda: self.serial(self.broker) != old, "the new certificate")
        self.ask(before)

    @only_where_files_are_watched
    def test_a_file_that_is_no_good_changes_nothing_and_a_later_one_is_taken(self):
        old = self.serial(self.broker)
        self.file.write_text("nonsense")
        self.eventually(lambda: "cannot be used, the one before stays in force" in self.broker.log_tail(), "the line")
        self.assertEqual(self.serial(self.broker), old)
        self.put(authority.server("renamed", hosts=["localhost"], subject="CN=renamed").pem)
        self.eventually(lambda: "DistinguishedName does not match" in self.broker.log_tail(), "the line")
        self.assertEqual(self.serial(self.broker), old)
        self.put(self.renewed.pem)
        self.eventually(lambda: self.serial(self.broker) != old, "the new certificate")

    def test_altering_the_location_takes_effect_and_connections_stay(self):
        before = self.connect(self.broker)
        old = before.getpeercert()["serialNumber"]
        self.assertEqual(self.alter(self.broker, STORE, self.renewed.pem), (0, ""))
        self.eventually(lambda: self.serial(self.broker) != old, "the new certificate")
        self.ask(before)
        self.broker.restart()
        self.assertNotEqual(self.serial(self.broker), old, "it is kept over a restart")

    def test_setting_the_same_location_reads_the_file_again(self):
        old = self.serial(self.broker)
        self.assertEqual(self.alter(self.broker, STORE, self.file), (0, ""))
        self.put(self.renewed.pem)
        self.assertEqual(self.alter(self.broker, STORE, self.file), (0, ""))
        self.eventually(lambda: self.serial(self.broker) != old, "the new certificate")

    def test_a_store_that_cannot_be_used_is_an_error_and_changes_nothing(self):
        old = self.serial(self.broker)
        bad = home / "bad.pem"
        bad.write_text(server.key.read_text() + self.renewed.chain.read_text())
        other_name = authority.server("other", subject="CN=other")
        fewer_names = authority.server("fewer", hosts=["localhost"], subject=f"CN={'localhost'}")
        for path in (home / "missing.pem", home / "ca.key", other_name.pem, fewer_names.pem):
            error, message = self.alter(self.broker, STORE, path)
            self.assertNotEqual(error, 0, path)
            self.assertTrue(message)
        if chosen_target() == "barnabas":  # Kafka takes a key that does not belong to the certificate
            error, message = self.alter(self.broker, STORE, bad)
            self.assertIn("the private key is not that of the certificate", message)
        self.assertEqual(self.serial(self.broker), old)

    def test_what_is_no_store_does_not_change_while_the_listener_is_open(self):
        error, message = self.alter(self.broker, "listener.name.ssl.ssl.client.auth", "required")
        if chosen_target() == "kafka":  # which takes it, and lets clients in without a certificate until its next start
            self.assertEqual(error, 0)
            self.ask(self.connect(self.broker))
        else:
            self.assertNotEqual(error, 0)
            self.assertIn("existing listener ListenerName(SSL)", message)
        self.assertNotEqual(self.alter(self.broker, "ssl.keystore.location", self.file)[0], 0)

    @unittest.skipIf(chosen_target() == "kafka", "Kafka takes no password for a key that needs none")
    def test_secrets_are_not_shown(self):
        name = "listener.name.ssl.ssl.key.password"
        self.assertEqual(self.alter(self.broker, name, "hidden0815"), (0, ""))
        found, value = self.described(self.broker, name)
        self.assertTrue(found)
        self.assertIsNone(value)
        self.assertNotIn("hidden0815", self.broker.log_path.read_text(errors="replace"))


if __name__ == "__main__":
    unittest.main(verbosity=2)
