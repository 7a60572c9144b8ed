"""Connections: order, splitting, slowness, idleness, limits and the end of the broker."""

import os
import random
import socket
import struct
import threading
import time
import unittest

import codes
import wire
from base import HOST, IS_KAFKA, Broker, Client, ConformanceTest, eventually, fetched
from client import Connection, ConnectionClosed
from differences import differ
from records import batch

MEGABYTE = 1 << 20


class Order(ConformanceTest):
    def test_a_waiting_fetch_is_answered_before_what_was_sent_behind_it(self):
        topic, connection = self.new_topic(), self.client.connection
        start = time.monotonic()
        connection.send_bytes(
            connection.frame("Fetch", 12, maxWaitMs=700, minBytes=1, sessionEpoch=-1, topics=[fetched(topic)])
            + connection.frame("ApiVersions", 0)
            + connection.frame("Metadata", 12, topics=[])
            + connection.frame("Fetch", 12, maxWaitMs=300, minBytes=1, sessionEpoch=-1, topics=[fetched(topic)]))
        self.assertEqual(connection.receive().responses[0].topic, topic)
        self.assertGreaterEqual(time.monotonic() - start, 0.65)
        self.assertEqual(connection.receive().errorCode, 0)
        self.assertEqual(len(connection.receive().brokers), 1)
        connection.receive()
        self.assertGreaterEqual(time.monotonic() - start, 0.95)

    def test_hundreds_of_requests_in_one_write_are_answered_in_order(self):
        topic, connection, chance = self.new_topic(), self.client.connection, random.Random(1)
        frames = []
        for number in range(400):
            api, version, fields = chance.choice((
                ("ApiVersions", 0, {}), ("Metadata", number % 14, {"topics": [{"name": topic}]}),
                ("ListOffsets", 5, {"replicaId": -1, "topics": [
                    {"name": topic, "partitions": [{"partitionIndex": 0, "timestamp": -1}]}]}),
                ("Produce", 3 + number % 10, {"acks": -1, "timeoutMs": 1000, "topicData": [
                    {"name": topic, "partitionData": [{"index": 0, "records": batch(b"x")}]}]}),
                ("Fetch", 12, {"maxWaitMs": 5, "minBytes": 1, "sessionEpoch": -1, "topics": [fetched(topic)]}),
                ("DescribeCluster", 1, {})))
            frames.append(connection.frame(api, version, **fields))
        connection.send_bytes(b"".join(frames))
        for _ in frames:
            connection.receive()  # decodes as what was asked, with its correlation id
        self.assertFalse(connection.has_input(0.05))

    def test_produce_requests_of_one_connection_are_stored_in_their_order(self):
        topic, connection = self.new_topic(), self.client.connection
        connection.send_bytes(b"".join(connection.frame("Produce", 9, acks=acks, timeoutMs=1000, topicData=[
            {"name": topic, "partitionData": [{"index": 0, "records": batch(b"%d" % number)}]}])
            for number, acks in enumerate([1, -1] * 50)))
        bases = [connection.receive().responses[0].partitionResponses[0].baseOffset for _ in range(100)]
        self.assertEqual(bases, list(range(100)))

    def test_answers_that_nobody_reads_hold_back_the_requests_and_come_in_order_later(self):
        topic, connection = self.new_topic(), self.client.connection
        content = batch(bytes(100_000))
        self.client.produce(topic, content)
        frames = [connection.frame("Fetch", 12, maxWaitMs=0, minBytes=0, sessionEpoch=-1, topics=[fetched(topic)])
                  for _ in range(300)]
        sender = threading.Thread(target=lambda: connection.send_bytes(b"".join(frames)))
        sender.start()
        time.sleep(0.3)
        for _ in frames:
            self.assertEqual(len(connection.receive().responses[0].partitions[0].records), len(content))
        sender.join()


class Splitting(ConformanceTest):
    def test_requests_sent_byte_by_byte(self):
        connection = self.client.connection
        data = connection.frame("ApiVersions", 3, clientSoftwareName="a", clientSoftwareVersion="1") + connection.frame(
            "Metadata", 9, topics=[])
        for at in range(len(data)):
            connection.send_bytes(data[at:at + 1])
            time.sleep(0.001)
        self.assertEqual(connection.receive().errorCode, 0)
        self.assertEqual(len(connection.receive().brokers), 1)

    def test_every_way_to_cut_two_requests(self):
        connection = self.client.connection
        for cut in range(1, 80):
            data = connection.frame("Metadata", 12, topics=[]) + connection.frame("ApiVersions", 0)
            connection.send_bytes(data[:cut])
            if cut % 8 == 0:
                time.sleep(0.005)
            connection.send_bytes(data[cut:])
            self.assertEqual(len(connection.receive().brokers), 1)
            self.assertEqual(connection.receive().errorCode, 0)

    def test_a_large_request_in_many_pieces(self):
        topic, connection = self.new_topic(), self.client.connection
        frame = connection.frame("Produce", 9, acks=-1, timeoutMs=10000, topicData=[
            {"name": topic, "partitionData": [{"index": 0, "records": batch(bytes(900_000))}]}])
        for at in range(0, len(frame), 10_007):
            connection.send_bytes(frame[at:at + 10_007])
        self.assertEqual(connection.receive().responses[0].partitionResponses[0].errorCode, 0)

    def test_a_client_that_says_no_more_still_gets_its_answers(self):
        """Half-closed: the broker may answer what came before, or close; it must not hang on to it."""
        connection = self.client.connection
        connection.send_bytes(connection.frame("ApiVersions", 0))
        connection.socket.shutdown(socket.SHUT_WR)
        try:
            self.assertEqual(connection.receive().errorCode, 0)
        except ConnectionClosed:
            return
        self.assertTrue(connection.is_closed())


class Peers(ConformanceTest):
    def test_stalled_and_half_sent_requests_do_not_disturb_others(self):
        for data in (b"", b"\0", b"\0\0\0\x20", b"\0\0\0\x20\0\x12\0\0", b"\0\0\0\x09" + bytes(5)):
            for _ in range(10):
                self.new_connection().send_bytes(data)
        for _ in range(20):
            self.assert_still_served()

    def test_connections_that_come_and_go(self):
        for number in range(300):
            connection = Connection(self.address)
            if number % 3 == 1:
                connection.send_bytes(connection.frame("ApiVersions", 0))
            elif number % 3 == 2:  # reset instead of an orderly end
                connection.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            connection.close()
        self.assert_still_served()

    def test_a_closed_connection_leaves_its_neighbours_alone(self):
        topic = self.new_topic()
        waiting = self.new_connection()
        waiting.send("Fetch", 12, maxWaitMs=20_000, minBytes=1, sessionEpoch=-1, topics=[fetched(topic)])
        for garbage in (b"GET / HTTP/1.1\r\n\r\n", b"\xff" * 40, bytes(40), wire.sized(b"\x27\x0f" + bytes(20))):
            bad = self.new_connection()
            bad.send_bytes(garbage)
            self.assertTrue(bad.is_closed())
        self.assertFalse(waiting.has_input(0.05))
        self.client.append(topic, b"a")
        self.assertTrue(waiting.receive().responses[0].partitions[0].records)

    def test_slow_readers_do_not_stop_others_nor_fill_the_memory(self):
        topic = self.new_topic()
        content = batch(bytes(MEGABYTE - 1000))
        for _ in range(10):
            self.client.produce(topic, content)
        before = 0 if IS_KAFKA else self.resident_bytes()
        slow = [self.new_connection(receive_buffer=4096) for _ in range(60)]
        for connection in slow:
            connection.send_bytes(b"".join(connection.frame(
                "Fetch", 12, maxWaitMs=0, minBytes=1, sessionEpoch=-1, topics=[fetched(topic)]) for _ in range(5)))
        deadline = time.monotonic() + 3
        while time.monotonic() < deadline:
            for connection in slow[::7]:
                connection.socket.recv(1000)
            start = time.monotonic()
            self.assert_still_served()
            self.assertLess(time.monotonic() - start, 2.0)
            if not IS_KAFKA:  # one answer of at most 10 MB each would be 600 MB
                self.assert_grew_less(before, 700 * MEGABYTE)

    def test_memory_is_flat_under_requests_without_end(self):
        topic, content = self.new_topic(), batch(bytes(1000))
        for number in range(600):
            if number == 200:
                before = 0 if IS_KAFKA else self.resident_bytes()
            self.client.produce(topic, content)
            self.client.fetch(topic, number)
            self.client.metadata(topic, "unknown", "not a name")
            if number % 4 == 0:
                bad = Connection(self.address)
                bad.send_bytes(b"\0\0\0\x10" + bytes([number % 256]) * 16)
                bad.close()
        if not IS_KAFKA:
            self.assert_grew_less(before, 16 * MEGABYTE)

    def test_removed_versions_and_foreign_apis_close_the_connection(self):
        for key, version in ((0, 0), (0, 1), (0, 2), (0, 14), (1, 3), (1, 19), (3, 14), (19, 1), (22, 6), (53, 0), (62, 0),
                             (95, 0), (1000, 0), (-1, 0), (3, -1)):
            with self.subTest(key=key, version=version):
                connection = self.new_connection()
                connection.send_bytes(wire.sized(wire.header_of(key, version, 1, "c") + bytes(60)))
                self.assertTrue(connection.is_closed())
        self.assert_still_served()


@unittest.skipIf(os.environ.get("BARNABAS_BOOTSTRAP"), "needs brokers of its own")
class OwnBroker(unittest.TestCase):
    def connect(self, broker):
        connection = Connection((HOST, broker.port))
        self.addCleanup(connection.close)
        return connection

    def test_idle_connections_are_closed_but_not_while_a_request_is_served(self):
        with Broker(properties={"connections.max.idle.ms": "2000"}) as broker:
            client = Client((HOST, broker.port))
            client.create_usable("t")
            idle, polling, half = (self.connect(broker) for _ in range(3))
            half.send_bytes(b"\0\0\0\x20\0\x12")
            polling.send("Fetch", 12, maxWaitMs=5000, minBytes=1, sessionEpoch=-1, topics=[fetched("t")])
            start = time.monotonic()
            self.assertTrue(idle.is_closed(8))
            self.assertTrue(1.5 <= time.monotonic() - start <= 4.5, time.monotonic() - start)
            self.assertTrue(half.is_closed(8))
            if differ("idle-limit-spares-waiting-requests"):
                self.assertEqual(polling.receive().responses[0].partitions[0].errorCode, 0)
                self.assertGreaterEqual(time.monotonic() - start, 4.5)
            client.close()

    def test_connections_beyond_the_limit_per_address_are_closed(self):
        with Broker(properties={"max.connections.per.ip": "4"}) as broker:
            def serves(connection):
                try:
                    return connection.call("ApiVersions", 0).errorCode == codes.NONE
                except (ConnectionClosed, OSError):
                    return False

            first = []

            def filled():  # the harness's own probes may still be counted
                connection = self.connect(broker)
                if serves(connection):
                    first.append(connection)
                return len(first) == 4

            self.assertTrue(eventually(filled, 15))
            for _ in range(5):
                self.assertFalse(serves(self.connect(broker)))
            self.assertTrue(all(serves(connection) for connection in first))
            first.pop().close()
            self.assertTrue(eventually(lambda: serves(self.connect(broker)), 10))

    def test_an_orderly_end_answers_or_refuses_what_waits_and_keeps_what_was_acknowledged(self):
        with Broker() as broker:
            client = Client((HOST, broker.port))
            client.create_usable("t")
            client.append("t", b"a")
            waiting = self.connect(broker)
            waiting.send("Fetch", 12, maxWaitMs=60_000, minBytes=1, sessionEpoch=-1, topics=[fetched("t", 1)])
            acknowledged, ended = [1], threading.Event()

            def produce():
                own = Client((HOST, broker.port))
                try:
                    while True:
                        if own.produce("t", batch(b"x")).errorCode != codes.NONE:
                            return
                        acknowledged[0] += 1
                except (ConnectionClosed, OSError):
                    return
                finally:
                    ended.set()

            thread = threading.Thread(target=produce)
            thread.start()
            time.sleep(0.3)
            start = time.monotonic()
            self.assertIn(broker.stop(), (0, 143) if IS_KAFKA else (0,))
            self.assertLess(time.monotonic() - start, 30)
            self.assertTrue(ended.wait(10))
            thread.join()
            self.assertIsInstance(waiting.outcome(5), (bytes, str))
            client.close()
            broker.restart()
            client = Client((HOST, broker.port))
            client.await_usable("t")
            self.assertGreaterEqual(client.end_offset("t"), acknowledged[0])
            client.close()


if __name__ == "__main__":
    unittest.main()
