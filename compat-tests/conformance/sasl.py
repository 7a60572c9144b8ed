"""Logging in at a SASL listener, message by message, and the broker for it."""

import atexit
import base64
import functools
import hashlib
import hmac
import os
import struct

from base import HOST, IS_KAFKA, SHARED_PROPERTIES, Broker, Client
from client import Connection

HASHES = {"SCRAM-SHA-256": "sha256", "SCRAM-SHA-512": "sha512"}
MECHANISM_IDS = {"SCRAM-SHA-256": 1, "SCRAM-SHA-512": 2}
PASSWORDS = {"alice": "alice-secret", "bob": "bob, \"secret\"=;"}
REAUTH_MS = 2000
LISTENERS = {"CLIENTS": "SASL_PLAINTEXT", "SHORT": "SASL_PLAINTEXT"}


def _quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def properties():
    users = " ".join(f"user_{name}={_quoted(password)}" for name, password in PASSWORDS.items())
    made = {
        **SHARED_PROPERTIES,
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256,SCRAM-SHA-512",
        "listener.name.short.connections.max.reauth.ms": str(REAUTH_MS),
        "delegation.token.secret.key": "a key that nobody guesses",
        "delegation.token.max.lifetime.ms": "100000000",
        "delegation.token.expiry.time.ms": "50000000",
    }
    for listener in ("clients", "short"):
        made[f"listener.name.{listener}.plain.sasl.jaas.config"] = (
            f"org.apache.kafka.common.security.plain.PlainLoginModule required {users};").replace("\\", "\\\\")
        for mechanism in HASHES:
            made[f"listener.name.{listener}.{mechanism.lower()}.sasl.jaas.config"] = (
                "org.apache.kafka.common.security.scram.ScramLoginModule required;")
    return made


def secured_broker(**fields):
    return Broker(properties=properties() | fields.pop("properties", {}), secured=LISTENERS, **fields)


@functools.cache
def shared_broker(family):
    """The one of all cases of a family, started where it is wanted first."""
    broker = secured_broker()
    atexit.register(broker.clean)
    return broker.start()


def address(broker, listener="CLIENTS"):
    return HOST, int(broker.address(listener).rpartition(":")[2])


def salted(mechanism, password, salt, iterations=4096):
    return hashlib.pbkdf2_hmac(HASHES[mechanism], password.encode(), salt, iterations)


def upsertion(user, mechanism="SCRAM-SHA-256", password="secret", iterations=4096, salt=b"salt of the user"):
    return {"name": user, "mechanism": MECHANISM_IDS[mechanism], "iterations": iterations, "salt": salt,
            "saltedPassword": salted(mechanism, password, salt, iterations)}


def plain(user, password=None, authzid=""):
    return f"{authzid}\0{user}\0{PASSWORDS.get(user) if password is None else password}".encode()


class Scram:
    """A client's side (RFC 5802): first(), then final(challenge), then verify(answer)."""

    def __init__(self, mechanism, user, password, token=False):
        self.hash, self.password = HASHES[mechanism], password.encode()
        name = user.replace("=", "=3D").replace(",", "=2C")
        self.bare = f"n={name},r={base64.b64encode(os.urandom(12)).decode()}" + (",tokenauth=true" if token else "")

    def first(self):
        return f"n,,{self.bare}".encode()

    def _hmac(self, key, text):
        return hmac.new(key, text, self.hash).digest()

    def final(self, challenge):
        text = challenge.decode()
        nonce, salt, iterations = (part[2:] for part in text.split(","))
        key = hashlib.pbkdf2_hmac(self.hash, self.password, base64.b64decode(salt), int(iterations))
        without_proof = f"c=biws,r={nonce}"
        signed = f"{self.bare},{text},{without_proof}".encode()
        client_key = self._hmac(key, b"Client Key")
        signature = self._hmac(hashlib.new(self.hash, client_key).digest(), signed)
        proof = bytes(a ^ b for a, b in zip(client_key, signature))
        self.expected = b"v=" + base64.b64encode(self._hmac(self._hmac(key, b"Server Key"), signed))
        return f"{without_proof},p={base64.b64encode(proof).decode()}".encode()


class SaslConnection(Connection):
    """Logs in step by step; `call` is for everything else, then as before."""

    def handshake(self, mechanism, version=1):
        return self.call("SaslHandshake", version, mechanism=mechanism)

    def authenticate(self, token, version=2):
        return self.call("SaslAuthenticate", version, authBytes=token)

    def raw(self, token):
        """A token without an envelope, after handshake version 0; returns the broker's."""
        self.send_bytes(struct.pack(">i", len(token)) + token)
        return self.receive_payload()

    def log_in(self, mechanism, user, password, version=2, token=False):
        """The last answer."""
        answer = self.handshake(mechanism)
        assert answer.errorCode == 0, answer
        if mechanism == "PLAIN":
            return self.authenticate(plain(user, password), version)
        scram = Scram(mechanism, user, password, token)
        answer = self.authenticate(scram.first(), version)
        if answer.errorCode:
            return answer
        answer = self.authenticate(scram.final(answer.authBytes), version)
        assert answer.errorCode or answer.authBytes == scram.expected, answer
        return answer

    def log_in_raw(self, mechanism, user, password):
        answer = self.handshake(mechanism, 0)
        assert answer.errorCode == 0, answer
        if mechanism == "PLAIN":
            return self.raw(plain(user, password))
        scram = Scram(mechanism, user, password)
        last = self.raw(scram.final(self.raw(scram.first())))
        assert last == scram.expected, last
        return last


def logged_in(where, user="alice", mechanism="PLAIN", password=None, token=False):
    """A client with its verbs, as `user`."""
    client = Client.__new__(Client)
    client.connection = SaslConnection(where)
    answer = client.connection.log_in(mechanism, user, PASSWORDS[user] if password is None else password, token=token)
    assert answer.errorCode == 0, answer
    return client


__all__ = ["HASHES", "IS_KAFKA", "LISTENERS", "PASSWORDS", "REAUTH_MS", "SaslConnection", "Scram", "address",
           "logged_in", "plain", "properties", "salted", "secured_broker", "shared_broker", "upsertion"]
