"""SASL: SaslHandshake and SaslAuthenticate in all versions and out of place, PLAIN, SCRAM, re-authentication."""

import functools
import struct
import time
import unittest

import codes
from base import HOST, ConformanceTest, eventually
from differences import differ
from sasl import (HASHES, PASSWORDS, REAUTH_MS, SaslConnection, Scram, address, plain, shared_broker,
                  upsertion)

MECHANISMS = ["PLAIN", *HASHES]
broker = functools.partial(shared_broker, "security_sasl")


class SaslTest(ConformanceTest):
    _users = 0

    def broker_address(self):
        return HOST, broker().port

    def connect(self, listener="CLIENTS"):
        connection = SaslConnection(address(broker(), listener))
        self.addCleanup(connection.close)
        return connection

    def new_user(self, *mechanisms, password="secret", name=None):
        """A SCRAM user who can log in."""
        SaslTest._users += 1
        name = name or f"user-{SaslTest._users}"
        for mechanism in mechanisms or HASHES:
            answer = self.client.call("AlterUserScramCredentials", 0, deletions=[],
                                      upsertions=[upsertion(name, mechanism, password)])
            self.assertEqual([(result.user, result.errorCode) for result in answer.results], [(name, codes.NONE)])
            self.assertTrue(eventually(lambda: self.knows(name, mechanism, password)))
        return name

    def knows(self, name, mechanism, password):
        """Kafka's broker hears of a new user a moment after its controller has answered."""
        with SaslConnection(address(broker())) as connection:
            connection.handshake(mechanism)
            return connection.authenticate(Scram(mechanism, name, password).first()).errorCode == codes.NONE

    def assert_usable(self, connection):
        self.assertEqual(len(connection.call("Metadata", 12, topics=[]).brokers), 1)

    def assert_closed_after(self, connection):
        """Of a request that has no place in an authentication."""
        if differ("other-requests-while-authenticating"):
            self.assertIsInstance(connection.outcome(), bytes)
        self.assertTrue(connection.is_closed())

    def assert_refused(self, connection, answer, message):
        self.assertEqual((answer.errorCode, answer.errorMessage, answer.authBytes),
                         (codes.SASL_AUTHENTICATION_FAILED, message, b""))
        self.assertTrue(connection.is_closed())


def invalid(mechanism, when="authentication"):
    return f"Authentication failed during {when} due to invalid credentials with SASL mechanism {mechanism}"


class Handshake(SaslTest):
    def test_a_plaintext_listener_answers_34_and_stays_usable(self):  # SEC-01
        for version in (0, 1):
            connection = self.new_connection()
            answer = connection.call("SaslHandshake", version, mechanism="PLAIN")
            self.assertEqual((answer.errorCode, answer.mechanisms), (codes.ILLEGAL_SASL_STATE, []))
            self.assert_usable(connection)
        for version in (0, 1, 2):
            answer = connection.call("SaslAuthenticate", version, authBytes=plain("alice"))
            self.assertEqual((answer.errorCode, answer.errorMessage, answer.authBytes), (
                codes.ILLEGAL_SASL_STATE, "SaslAuthenticate request received after successful authentication", b""))
        self.assert_usable(connection)

    def test_the_mechanisms_of_the_listener_are_listed(self):
        for version in (0, 1):
            answer = self.connect().handshake("PLAIN", version)
            self.assertEqual((answer.errorCode, sorted(answer.mechanisms)), (codes.NONE, MECHANISMS))

    def test_another_mechanism_is_refused_with_the_list_and_the_connection_closed(self):
        for version, mechanism in ((0, "GSSAPI"), (1, "plain"), (1, ""), (1, "SCRAM-SHA-1")):
            connection = self.connect()
            answer = connection.handshake(mechanism, version)
            self.assertEqual((answer.errorCode, sorted(answer.mechanisms)),
                             (codes.UNSUPPORTED_SASL_MECHANISM, MECHANISMS))
            self.assertTrue(connection.is_closed())

    def test_versions_may_be_asked_for_before_it_once(self):
        for version in range(6):
            connection = self.connect()
            self.assertEqual(connection.call("ApiVersions", version, **self.software(version)).errorCode, codes.NONE)
            self.assertEqual(connection.log_in("PLAIN", "alice", PASSWORDS["alice"]).errorCode, codes.NONE)
            self.assert_usable(connection)
        connection = self.connect()
        connection.call("ApiVersions", 0)
        connection.send("ApiVersions", 0)
        self.assertTrue(connection.is_closed())

    def test_versions_after_it_close_the_connection(self):
        connection = self.connect()
        connection.handshake("PLAIN")
        connection.send("ApiVersions", 0)
        self.assert_closed_after(connection)

    def software(self, version):
        return {"clientSoftwareName": "conformance", "clientSoftwareVersion": "1", "nodeId": -1,
                "clusterId": None} if version >= 3 else {}

    def test_a_version_of_versions_that_nobody_knows_may_be_followed_by_another(self):
        connection = self.connect()
        connection.send_bytes(struct.pack(">ihhihb", 11, 18, 99, 7, -1, 0))
        self.assertEqual(connection.receive_payload()[4:6], struct.pack(">h", codes.UNSUPPORTED_VERSION))
        self.assertEqual(connection.call("ApiVersions", 0).errorCode, codes.NONE)
        self.assertEqual(connection.log_in("PLAIN", "alice", PASSWORDS["alice"]).errorCode, codes.NONE)

    def test_versions_that_were_refused_may_be_asked_for_again(self):
        for unknown in (42, 99):
            connection = self.connect()
            for _ in range(3):
                connection.send_bytes(struct.pack(">ihhihb", 11, 18, unknown, 7, -1, 0))
                self.assertEqual(connection.receive_payload()[4:6], struct.pack(">h", codes.UNSUPPORTED_VERSION))
            refused = connection.call("ApiVersions", 3, clientSoftwareName="a b", clientSoftwareVersion="1")
            self.assertEqual(refused.errorCode, codes.INVALID_REQUEST)
            self.assertEqual(connection.call("ApiVersions", 3, **self.software(3)).errorCode, codes.NONE)
            self.assertEqual(connection.log_in("PLAIN", "alice", PASSWORDS["alice"]).errorCode, codes.NONE)
            self.assert_usable(connection)

    def test_anything_else_before_it_closes_the_connection(self):
        for api, version, fields in (("Metadata", 12, {"topics": None}), ("SaslAuthenticate", 2, {"authBytes": b"x"}),
                                     ("DescribeCluster", 1, {})):
            connection = self.connect()
            connection.send(api, version, **fields)
            self.assertTrue(connection.is_closed(), api)
        for garbage in (b"\x60\x48\x06\x09", b"GET / HTTP/1.1\r\n\r\n", plain("alice")):
            connection = self.connect()
            connection.send_bytes(struct.pack(">i", len(garbage)) + garbage)
            self.assertTrue(connection.is_closed(), garbage)

    def test_a_second_handshake_is_out_of_place(self):
        connection = self.connect()
        connection.handshake("PLAIN")
        answer = connection.handshake("PLAIN")
        self.assertEqual((answer.errorCode, answer.mechanisms), (codes.ILLEGAL_SASL_STATE, []))
        self.assertTrue(connection.is_closed())

    def test_after_authentication_it_is_answered_and_nothing_changes(self):
        connection = self.connect()
        connection.log_in("PLAIN", "alice", PASSWORDS["alice"])
        self.assertEqual(connection.handshake("PLAIN").errorCode, codes.ILLEGAL_SASL_STATE)
        self.assertEqual(connection.authenticate(plain("bob")).errorCode, codes.ILLEGAL_SASL_STATE)
        self.assert_usable(connection)

    def test_frames_before_authentication_are_small(self):
        connection = self.connect()
        connection.send_bytes(struct.pack(">i", 524289) + b"\0" * 1000)
        self.assertTrue(connection.is_closed())
        connection = self.connect()
        connection.handshake("PLAIN")
        connection.send_bytes(struct.pack(">i", 100 << 20))
        self.assertTrue(connection.is_closed())
        connection = self.connect()
        connection.log_in("PLAIN", "alice", PASSWORDS["alice"])
        self.assertEqual(connection.call("Metadata", 12, topics=[{"name": "x" * 600_000}][:0]).brokers[0].nodeId, 1)


class Plain(SaslTest):
    def test_the_right_password_lets_in_with_every_version(self):
        for version in (0, 1, 2):
            for user in PASSWORDS:
                connection = self.connect()
                answer = connection.log_in("PLAIN", user, PASSWORDS[user], version)
                self.assertEqual((answer.errorCode, answer.errorMessage, answer.authBytes), (codes.NONE, "", b""))
                self.assertEqual(answer.sessionLifetimeMs if version else 0, 0)
                self.assert_usable(connection)

    def test_raw_tokens_after_handshake_0(self):  # SEC-07
        connection = self.connect()
        self.assertEqual(connection.log_in_raw("PLAIN", "alice", PASSWORDS["alice"]), b"")
        self.assert_usable(connection)
        connection = self.connect()
        connection.handshake("PLAIN", 0)
        connection.send_bytes(struct.pack(">i", 5) + b"\0a\0bc")
        self.assertTrue(connection.is_closed())

    def test_what_is_wrong_is_said_as_kafka_says_it(self):
        for token, message in (
                (plain("alice", "wrong"), "Authentication failed: Invalid username or password"),
                (plain("nobody", "x"), "Authentication failed: Invalid username or password"),
                (plain("alice", ""), "Authentication failed: password not specified"),
                (plain("", "x"), "Authentication failed: username not specified"),
                (plain("alice", authzid="bob"),
                 "Authentication failed: Client requested an authorization id that is different from username"),
                (b"", "Invalid SASL/PLAIN response: expected 3 tokens, got 1"),
                (b"\0alice", "Invalid SASL/PLAIN response: expected 3 tokens, got 2"),
                (b"\0a\0b\0c\0d", "Invalid SASL/PLAIN response: expected 3 tokens, got 4")):
            for version in (0, 2):
                connection = self.connect()
                connection.handshake("PLAIN")
                self.assert_refused(connection, connection.authenticate(token, version), message)

    def test_a_failure_is_told_after_the_delay_and_within_a_second(self):  # SEC-03
        connection = self.connect()
        connection.handshake("PLAIN")
        start = time.monotonic()
        connection.authenticate(plain("alice", "wrong"))
        self.assertTrue(0.09 <= time.monotonic() - start < 1, time.monotonic() - start)

    def test_acting_for_oneself_is_no_change(self):
        connection = self.connect()
        connection.handshake("PLAIN")
        self.assertEqual(connection.authenticate(plain("alice", authzid="alice")).errorCode, codes.NONE)


class ScramUsers(SaslTest):
    def test_both_hashes_let_in_with_every_version_and_raw(self):
        user = self.new_user()
        for mechanism in HASHES:
            for version in (0, 1, 2):
                connection = self.connect()
                answer = connection.log_in(mechanism, user, "secret", version)
                self.assertEqual((answer.errorCode, answer.errorMessage), (codes.NONE, ""))
                self.assert_usable(connection)
            connection = self.connect()
            connection.log_in_raw(mechanism, user, "secret")
            self.assert_usable(connection)

    def test_names_with_commas_and_equals_signs(self):
        user = self.new_user("SCRAM-SHA-512", name="a,b=c ", password="p,=w")
        self.assertEqual(self.connect().log_in("SCRAM-SHA-512", user, "p,=w").errorCode, codes.NONE)

    def test_whoever_is_wrong_is_told_no_more_than_that(self):
        user = self.new_user("SCRAM-SHA-256")
        for mechanism, name, password in (("SCRAM-SHA-256", user, "wrong"), ("SCRAM-SHA-256", "nobody", "secret"),
                                          ("SCRAM-SHA-512", user, "secret"), ("SCRAM-SHA-256", user.upper(), "secret")):
            connection = self.connect()
            self.assert_refused(connection, connection.log_in(mechanism, name, password), invalid(mechanism))

    def test_malformed_messages_fail_within_a_second(self):  # SEC-03
        user = self.new_user("SCRAM-SHA-256").encode()
        for first in (b"n,,n=,r=abc", b"garbage", b"", b"\0\xff", b"y,,n=" + user + b",r=abc",
                      b"n,,n=" + user + b",r=a c", b"n,,n=" + user, b"n,,n=" + user + b",r=abc,x"):
            connection = self.connect()
            connection.handshake("SCRAM-SHA-256")
            start = time.monotonic()
            self.assert_refused(connection, connection.authenticate(first), invalid("SCRAM-SHA-256"))
            self.assertLess(time.monotonic() - start, 1)
        for change in (lambda text: b"", lambda text: text[:-1], lambda text: text.replace(b"r=", b"r=x"),
                       lambda text: text.replace(b"c=biws,", b"")):
            connection = self.connect()
            connection.handshake("SCRAM-SHA-256")
            scram = Scram("SCRAM-SHA-256", user.decode(), "secret")
            final = scram.final(connection.authenticate(scram.first()).authBytes)
            self.assert_refused(connection, connection.authenticate(change(final)), invalid("SCRAM-SHA-256"))

    def test_nobody_acts_for_another(self):
        user = self.new_user("SCRAM-SHA-256")
        connection = self.connect()
        connection.handshake("SCRAM-SHA-256")
        answer = connection.authenticate(f"n,a=admin,n={user},r=abc".encode())
        self.assert_refused(connection, answer, "Authentication failed: Client requested an authorization id that is "
                                                "different from username")

    def test_a_new_password_and_a_removal_count_at_once(self):
        user = self.new_user("SCRAM-SHA-256")
        self.new_user("SCRAM-SHA-256", name=user, password="new")
        self.assertTrue(eventually(
            lambda: self.connect().log_in("SCRAM-SHA-256", user, "secret").errorCode != codes.NONE))
        self.assertEqual(self.connect().log_in("SCRAM-SHA-256", user, "new").errorCode, codes.NONE)
        answer = self.client.call("AlterUserScramCredentials", 0, deletions=[{"name": user, "mechanism": 1}], upsertions=[])
        self.assertEqual(answer.results[0].errorCode, codes.NONE)
        self.assertTrue(eventually(
            lambda: self.connect().log_in("SCRAM-SHA-256", user, "new").errorCode != codes.NONE))


class Renewal(SaslTest):
    def session(self):
        connection = self.connect("SHORT")
        answer = connection.log_in("PLAIN", "alice", PASSWORDS["alice"])
        self.assertEqual((answer.errorCode, answer.sessionLifetimeMs), (codes.NONE, REAUTH_MS))
        return connection

    def test_a_session_that_is_not_renewed_ends(self):  # SEC-05
        connection, other = self.session(), self.session()
        self.assert_usable(connection)
        time.sleep(REAUTH_MS / 1000 + 0.2)  # it is the time that is tested
        connection.send("Metadata", 12, topics=[])
        self.assertTrue(connection.is_closed())
        # It is not too late for a new one.
        self.assertEqual(other.log_in("PLAIN", "alice", PASSWORDS["alice"]).errorCode, codes.NONE)
        self.assert_usable(other)

    def test_a_renewed_session_goes_on(self):  # SEC-05
        connection = self.session()
        for _ in range(3):
            time.sleep(REAUTH_MS / 1000 * 0.6)
            answer = connection.log_in("PLAIN", "alice", PASSWORDS["alice"])
            self.assertEqual((answer.errorCode, answer.sessionLifetimeMs), (codes.NONE, REAUTH_MS))
            self.assert_usable(connection)

    def test_a_version_without_a_lifetime_has_one_all_the_same(self):
        connection = self.connect("SHORT")
        self.assertEqual(connection.log_in("PLAIN", "alice", PASSWORDS["alice"], 0).errorCode, codes.NONE)
        time.sleep(REAUTH_MS / 1000 + 0.2)
        connection.send("Metadata", 12, topics=[])
        self.assertTrue(connection.is_closed())

    def test_renewing_at_once_again_is_out_of_place(self):
        connection = self.session()
        self.assertEqual(connection.log_in("PLAIN", "alice", PASSWORDS["alice"]).errorCode, codes.NONE)
        self.assertEqual(connection.handshake("PLAIN").errorCode, codes.ILLEGAL_SASL_STATE)
        self.assert_usable(connection)

    def test_the_principal_stays(self):
        connection = self.session()
        connection.handshake("PLAIN")
        self.assert_refused(connection, connection.authenticate(plain("bob")),
                            "Cannot change principals during re-authentication from User.alice: User.bob")

    def test_the_mechanism_stays(self):
        connection = self.session()
        self.assertEqual(connection.handshake("SCRAM-SHA-256").errorCode, codes.NONE)
        connection.send("SaslAuthenticate", 2, authBytes=b"n,,n=alice,r=abc")
        self.assertTrue(connection.is_closed())

    def test_a_wrong_password_ends_it(self):
        connection = self.session()
        connection.handshake("PLAIN")
        self.assert_refused(connection, connection.authenticate(plain("alice", "wrong")),
                            "Authentication failed: Invalid username or password")
        user = self.new_user("SCRAM-SHA-256")
        connection = self.connect("SHORT")
        self.assertEqual(connection.log_in("SCRAM-SHA-256", user, "secret").sessionLifetimeMs, REAUTH_MS)
        self.assert_refused(connection, connection.log_in("SCRAM-SHA-256", user, "wrong"),
                            invalid("SCRAM-SHA-256", "re-authentication"))

    def test_other_requests_have_to_wait_while_it_lasts(self):
        connection = self.session()
        connection.handshake("PLAIN")
        connection.send("Metadata", 12, topics=[])
        self.assert_closed_after(connection)


if __name__ == "__main__":
    unittest.main()
