"""A connection that speaks raw frames: requests by name and version, in any order the test wants."""

import collections
import select
import socket
import struct
import time

import wire

TIMEOUT_S = 30


class ConnectionClosed(Exception):
    """The broker ended the connection."""


class Connection:
    """Context manager over one TCP connection; answers are matched with requests in order."""

    def __init__(self, address, timeout=TIMEOUT_S, client_id="conformance", receive_buffer=None, source=None):
        self.socket = socket.socket(socket.AF_INET)
        if source:
            self.socket.bind((source, 0))
        if receive_buffer:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive_buffer)
        self.socket.settimeout(timeout)
        self.socket.connect(address)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.client_id = client_id
        self.correlation_id = 0
        self.expected = collections.deque()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.socket.close()

    # Whole requests.

    def frame(self, api, version, **fields):
        """Makes the frame and remembers that its answer is the next one to come."""
        self.correlation_id += 1
        self.expected.append((api, version, self.correlation_id))
        return wire.request_frame(api, version, fields, self.correlation_id, self.client_id)

    def send(self, api, version, **fields):
        self.send_bytes(self.frame(api, version, **fields))

    def receive(self):
        """The next answer, decoded strictly as what was asked for first."""
        api, version, correlation_id = self.expected.popleft()
        return wire.read_response(api, version, self.receive_payload(), correlation_id)

    def call(self, api, version, **fields):
        self.send(api, version, **fields)
        return self.receive()

    def send_without_answer(self, api, version, **fields):
        """For acks=0: no answer may come."""
        self.send(api, version, **fields)
        self.expected.pop()

    # Bytes.

    def send_bytes(self, data):
        self.socket.sendall(data)

    def receive_payload(self):
        (size,) = struct.unpack(">i", self._receive_exactly(4))
        if size < 0:
            raise wire.WireError(f"a frame of {size} bytes")
        return self._receive_exactly(size)

    def _receive_exactly(self, count):
        parts = []
        while count:
            try:
                part = self.socket.recv(min(count, 1 << 20))
            except (ConnectionResetError, BrokenPipeError) as error:
                raise ConnectionClosed(str(error)) from error
            if not part:
                raise ConnectionClosed("end of file")
            parts.append(part)
            count -= len(part)
        return b"".join(parts)

    def has_input(self, within_s):
        return bool(select.select([self.socket], [], [], within_s)[0])

    def outcome(self, within_s=3.0):
        """What the broker makes of the bytes sent: the payload of a response, or "closed", or "silent"."""
        self.socket.settimeout(within_s)
        try:
            return self.receive_payload()
        except ConnectionClosed:
            return "closed"
        except TimeoutError:
            return "silent"

    def is_closed(self, within_s=5.0):
        """Whether the broker ends the connection in time without sending anything more."""
        deadline = time.monotonic() + within_s
        self.socket.settimeout(within_s)
        try:
            data = self.socket.recv(65536)
        except ConnectionError:
            return True
        except TimeoutError:
            return False
        return not data and time.monotonic() < deadline
