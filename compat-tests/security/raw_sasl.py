"""A connection to a SASL listener on which the test says each frame itself."""

import socket
import struct

from broker import call

SASL_HANDSHAKE, API_VERSIONS, SASL_AUTHENTICATE = 17, 18, 36
METADATA, CREATE_DELEGATION_TOKEN = 3, 38
TIMEOUT_S = 20

NONE = 0
SASL_AUTHENTICATION_FAILED = 58


def text(value):
    data = value.encode()
    return struct.pack(">h", len(data)) + data


class Reply:
    """What SaslAuthenticate v1 answers."""

    def __init__(self, body):
        (self.error,) = struct.unpack_from(">h", body)
        (length,) = struct.unpack_from(">h", body, 2)
        at = 4 + max(length, 0)
        self.message = body[4:at].decode() if length >= 0 else None
        (size,) = struct.unpack_from(">i", body, at)
        self.token = body[at + 4:at + 4 + size]
        (self.lifetime_ms,) = struct.unpack_from(">q", body, at + 4 + size)


class RawSasl:
    def __init__(self, address):
        host, port = address.rsplit(":", 1)
        self._connection = socket.create_connection((host, int(port)), timeout=TIMEOUT_S)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self._connection.close()

    def handshake(self, mechanism):
        """The names of the mechanisms; the one asked for must be among them."""
        body = call(self._connection, SASL_HANDSHAKE, 1, text(mechanism))
        error, count = struct.unpack_from(">hi", body)
        assert error == NONE, f"SaslHandshake {mechanism}: error {error}"
        names, at = [], 6
        for _ in range(count):
            (size,) = struct.unpack_from(">h", body, at)
            names.append(body[at + 2:at + 2 + size].decode())
            at += 2 + size
        return names

    def authenticate(self, token):
        return Reply(call(self._connection, SASL_AUTHENTICATE, 1, struct.pack(">i", len(token)) + token))

    def is_served(self):
        """Whether an ordinary request is answered; false when the connection is closed instead."""
        try:
            call(self._connection, METADATA, 4, struct.pack(">i?", 0, False))
            return True
        except OSError:
            return False

    def who(self):
        """The principal of this connection: the broker tells it with a delegation token of its own."""
        no_renewers, default_lifetime = struct.pack(">i", 0), struct.pack(">q", -1)
        body = call(self._connection, CREATE_DELEGATION_TOKEN, 1, no_renewers + default_lifetime)
        (error, size) = struct.unpack_from(">hh", body)
        assert error == NONE, f"CreateDelegationToken: error {error}"
        (length,) = struct.unpack_from(">h", body, 4 + size)
        return f"{body[4:4 + size].decode()}:{body[6 + size:6 + size + length].decode()}"

    def is_closed(self):
        """Waits for the other side to close."""
        try:
            return self._connection.recv(1) == b""
        except ConnectionError:
            return True
