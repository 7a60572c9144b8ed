#!/usr/bin/env python3
"""Peers that mean harm, while a client goes on with its work: what it feels of them is measured, and what they cost.

Each attack runs in processes of its own for some seconds. Meanwhile one client produces and fetches a small record, one
after the other. Its latency may grow, since attackers, client and broker share the machine's cores, but stays within
bounds that a broker which lets itself be held up breaks by far. The broker's memory stays within bounds, too, and comes
back.
"""

import contextlib
import multiprocessing
import pathlib
import random
import resource
import selectors
import socket
import ssl
import struct
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "harness"), str(HERE.parent / "conformance")]

import certificates  # noqa: E402
import suite  # noqa: E402
from base import Client, eventually  # noqa: E402
from broker import HOST, Broker  # noqa: E402
from quotas import entity, set_quotas  # noqa: E402
from records import batch  # noqa: E402

IDLE_CONNECTIONS = 5000
ATTACK_S = 2.5
MIB = 1 << 20
# What a broker that serves one request in turn for everybody, or reads what is claimed, is far beyond.
MEDIAN_MAX_S, SLOWEST_PERCENT_MAX_S = 0.06, 0.4
GROWTH_MAX, LEFT_MAX = 192 * MIB, 96 * MIB


def connected(port, source="127.0.0.1"):
    peer = socket.socket()
    peer.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))  # no TIME_WAIT: ports must not run out
    peer.settimeout(5)
    peer.bind((source, 0))
    peer.connect((HOST, port))
    return peer


def raise_limit():
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    return most


# Attacks: called in a process of their own with the port; they say that they have begun and go on until it ends.

def idle_connections(port, begun, count=IDLE_CONNECTIONS):
    raise_limit()
    peers = [connected(port) for _ in range(count)]
    begun.set()
    time.sleep(3600)
    return peers


def trusting_anybody():
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def idle_encrypted_connections(port, begun, count=1000):
    raise_limit()
    context = trusting_anybody()
    peers = [context.wrap_socket(connected(port)) for _ in range(count)]
    begun.set()
    time.sleep(3600)
    return peers


def flood_of_handshakes(port, begun):
    """Whole ones, each with a signature of the broker's: no session is taken up again."""
    begun.set()
    while True:
        with contextlib.suppress(OSError):
            trusting_anybody().wrap_socket(connected(port)).close()


def dribble(port, begun, count, opening, rest):
    """One byte a second on each of so many connections."""
    raise_limit()
    peers = [connected(port) for _ in range(count)]
    for peer in peers:
        peer.sendall(opening)
    begun.set()
    at = 0
    while True:
        for peer in peers:
            with contextlib.suppress(OSError):
                peer.send(rest[at % len(rest):at % len(rest) + 1])
        at += 1
        time.sleep(1)


def slow_frames(port, begun):
    dribble(port, begun, 500, struct.pack(">i", 100 * MIB) + struct.pack(">hhi", 0, 9, 1), b"\0")


def slow_handshakes(port, begun):
    dribble(port, begun, 500, b"\x16\x03\x01\x02\x00\x01\x00", b"\0")


def flood_of_connections(port, begun, source="127.0.0.1"):
    begun.set()
    while True:
        with contextlib.suppress(OSError):
            for peer in [connected(port, source) for _ in range(50)]:
                peer.close()


def until_closed(peers):
    """Whoever does not close them within a second has them closed."""
    with selectors.DefaultSelector() as open_ones:
        for peer in peers:
            open_ones.register(peer, selectors.EVENT_READ)
        deadline = time.monotonic() + 1
        while open_ones.get_map() and time.monotonic() < deadline:
            for key, _ in open_ones.select(0.1):
                with contextlib.suppress(OSError):
                    if key.fileobj.recv(65536):
                        continue
                open_ones.unregister(key.fileobj)
    for peer in peers:
        peer.close()


def flood_of_frames(port, begun, make):
    begun.set()
    seed = random.Random(7)
    while True:
        peers = []
        with contextlib.suppress(OSError):
            for _ in range(50):
                peers.append(connected(port))
                peers[-1].sendall(make(seed))
        until_closed(peers)


def framed(content):
    return struct.pack(">i", len(content)) + content


def malformed(seed):
    """A good header with nonsense behind it, an API that nobody knows, or just bytes."""
    kind = seed.randrange(4)
    if kind == 0:
        return framed(struct.pack(">hhihB", seed.randrange(80), seed.randrange(15), 1, -1, 0) + seed.randbytes(200))
    if kind == 1:
        return framed(struct.pack(">hhi", seed.randrange(200, 30000), 0, 1) + seed.randbytes(20))
    if kind == 2:  # Metadata v1 of 2^31 - 1 topics
        return framed(struct.pack(">hhihi", 3, 1, 1, -1, 2**31 - 1))
    return seed.randbytes(300)


def malformed_frames(port, begun):
    flood_of_frames(port, begun, malformed)


def claimed_sizes(port, begun):
    """A request of 100 MiB of which next to nothing comes, on as many connections as there are descriptors for."""
    raise_limit()
    opening = struct.pack(">i", 100 * MIB) + bytes(1000)
    peers = [connected(port) for _ in range(1000)]
    for peer in peers:
        peer.sendall(opening)
    begun.set()
    time.sleep(3600)


def unread_answers(port, begun):
    """Asks for everything again and again and reads nothing."""
    raise_limit()
    request = framed(struct.pack(">hhihi", 3, 1, 1, -1, -1)) * 30
    peers = [connected(port) for _ in range(300)]
    begun.set()
    while True:
        for peer in peers:
            peer.setblocking(False)
            with contextlib.suppress(OSError):
                peer.send(request)
        time.sleep(0.05)


def flood_from_elsewhere(port, begun):
    flood_of_connections(port, begun, "127.0.0.66")


class Worker:
    """The client that goes on with its work."""

    def __init__(self, address, topic):
        self.client = Client(address)
        self.topic = topic
        self.record = batch(bytes(500))
        self.offset = self.client.end_offset(topic)

    def step(self):
        began = time.monotonic()
        done = self.client.produce(self.topic, self.record, acks=1)
        assert done.errorCode == 0, done
        got = self.client.fetch(self.topic, done.baseOffset, max_wait_ms=1000)
        assert got.errorCode == 0 and got.records, got
        return time.monotonic() - began

    def latencies(self, seconds):
        """Median, and what one of a hundred exceeds."""
        took = []
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            took.append(self.step())
            time.sleep(0.002)
        took.sort()
        return took[len(took) // 2], took[len(took) * 99 // 100]


class AttackTest(suite.BrokerTest):
    @classmethod
    def setUpClass(cls):
        if raise_limit() < 2 * IDLE_CONNECTIONS + 1000:
            suite.skip("too few file descriptors are allowed here")
        cls.address = (HOST, cls.broker.port)
        cls.secure_port = int(cls.broker.address("SECURE").rpartition(":")[2])
        with contextlib.closing(Client(cls.address)) as client:
            client.create_usable("work")
        cls.worker = Worker(cls.address, "work")
        cls.worker.latencies(1)  # warm

    def attack(self, attack, *arguments, port=None, processes=1, lasts=ATTACK_S):
        """Latencies without and with the attack; memory before and with it."""
        calm = self.worker.latencies(1)
        before = self.broker.rss()
        begun = [multiprocessing.Event() for _ in range(processes)]
        running = [multiprocessing.Process(target=attack, args=(port or self.broker.port, event, *arguments), daemon=True)
                   for event in begun]
        for process in running:
            process.start()
        try:
            for event in begun:
                self.assertTrue(event.wait(60))
            median, slow = self.worker.latencies(lasts)
            with_it = self.broker.rss()
            self.assertTrue(all(process.is_alive() for process in running), "the attack itself broke off")
            # Who comes new is let in as well.
            began = time.monotonic()
            with contextlib.closing(Client(self.address)) as another:
                self.assertEqual(another.call("ApiVersions", 0).errorCode, 0)
            self.assertLess(time.monotonic() - began, 3)
        finally:
            for process in running:
                process.kill()
            for process in running:
                process.join()
        print(f"  {self.id().rpartition('.')[2]}: p50 {calm[0] * 1e3:.2f} -> {median * 1e3:.2f} ms, "
              f"p99 {calm[1] * 1e3:.2f} -> {slow * 1e3:.2f} ms, memory {before / MIB:.0f} -> {with_it / MIB:.0f} MiB",
              flush=True)
        self.assertLess(median, calm[0] + MEDIAN_MAX_S)
        self.assertLess(slow, calm[1] + SLOWEST_PERCENT_MAX_S)
        self.assertLess(with_it - before, GROWTH_MAX)
        self.assertTrue(eventually(lambda: self.broker.rss() - before < LEFT_MAX, 15),
                        f"{self.broker.rss() / MIB:.0f} MiB are left")
        return before, with_it

    def test_idle_connections(self):
        before, with_it = self.attack(idle_connections)
        self.assertLess((with_it - before) / IDLE_CONNECTIONS, 16_000)

    def test_idle_encrypted_connections(self):
        before, with_it = self.attack(idle_encrypted_connections, port=self.secure_port)
        self.assertLess((with_it - before) / 1000, 128_000)

    def test_slow_handshakes(self):
        self.attack(slow_handshakes, port=self.secure_port)

    def test_flood_of_handshakes(self):
        self.attack(flood_of_handshakes, port=self.secure_port, processes=2)

    def test_malformed_handshakes(self):
        self.attack(malformed_frames, port=self.secure_port)

    def test_slow_frames(self):
        self.attack(slow_frames)

    def test_flood_of_connections(self):
        self.attack(flood_of_connections, processes=2)

    def test_malformed_frames(self):
        self.attack(malformed_frames, processes=2)

    def test_claimed_sizes(self):
        before, with_it = self.attack(claimed_sizes)
        self.assertLess(with_it - before, 64 * MIB)

    def test_answers_that_nobody_reads(self):
        self.attack(unread_answers)

    def test_flood_from_an_address_with_a_quota(self):
        client = Client(self.address)
        self.addCleanup(client.close)
        set_quotas(client, entity(ip="127.0.0.66"), connection_creation_rate=10)
        self.attack(flood_from_elsewhere, processes=2)


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as directory:
        identity = certificates.Authority(pathlib.Path(directory)).server()
        suite.main(Broker(secured={"SECURE": "SSL"}, properties={
            "quota.window.num": "3", "listener.name.secure.ssl.keystore.type": "PEM",
            "listener.name.secure.ssl.keystore.location": str(identity.pem)}))
