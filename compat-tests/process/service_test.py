#!/usr/bin/env python3
"""The broker as a service: what it tells the manager that started it, and what it takes over when it is told to read its
settings again."""

import pathlib
import signal
import socket
import subprocess
import sys
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "harness"))

import suite  # noqa: E402
from broker import HOST, Broker, chosen_target  # noqa: E402

TIMEOUT_S = 60


class ServiceTest(unittest.TestCase):
    def broker(self, **options):
        broker = Broker(**options)
        self.addCleanup(broker.clean)
        return broker

    def await_log(self, broker, text, times=1):
        deadline = time.monotonic() + TIMEOUT_S
        while broker.log_path.read_text().count(text) < times:
            self.assertLess(time.monotonic(), deadline, f"no {text!r} in:\n{broker.log_tail()}")
            time.sleep(0.02)


class Manager(ServiceTest):
    """As systemd listens to it, sd_notify(3)."""

    def setUp(self):
        self.told = self.broker()
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(self.socket.close)
        self.socket.settimeout(TIMEOUT_S)
        self.socket.bind(str(self.told.home / "notify"))
        self.told.environment |= {"NOTIFY_SOCKET": str(self.told.home / "notify")}

    def received(self):
        return dict(line.split("=", 1) for line in self.socket.recv(4096).decode().splitlines())

    def test_ready_when_clients_are_answered_reloading_and_stopping(self):
        self.told.start(wait=False)
        ready = self.received()
        self.assertEqual(ready["READY"], "1")
        self.assertIn(f"PLAINTEXT://{HOST}:{self.told.port}", ready["STATUS"])
        self.assertTrue(self.told.offered_apis())
        before = time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000
        self.told.signal(signal.SIGHUP)
        reloading = self.received()
        self.assertEqual(reloading["RELOADING"], "1")
        self.assertGreaterEqual(int(reloading["MONOTONIC_USEC"]), before)
        self.assertEqual(self.received()["READY"], "1")
        self.told.signal(signal.SIGTERM)
        self.assertEqual(self.received()["STOPPING"], "1")
        self.assertEqual(self.told.wait(), 0)

    def test_a_watchdog_hears_of_it_again_and_again(self):
        self.told.environment["WATCHDOG_USEC"] = "200000"
        self.told.start()
        self.assertEqual(self.received()["READY"], "1")
        for _ in range(5):
            self.assertEqual(self.received(), {"WATCHDOG": "1"})

    def test_nobody_is_watched_whom_the_watchdog_does_not_mean(self):
        self.told.environment |= {"WATCHDOG_USEC": "200000", "WATCHDOG_PID": "1"}
        self.told.start()
        self.assertEqual(self.received()["READY"], "1")
        self.assertEqual(self.told.stop(), 0)
        self.assertEqual(self.received()["STOPPING"], "1")


class Reload(ServiceTest):
    def produce(self, broker, size):
        """Whether the broker takes a record of this size."""
        command = ["kcat", "-b", broker.bootstrap, "-P", "-t", "t", "-X", "acks=all", "-X", "retries=0"]
        return subprocess.run(command, input=b"x" * size + b"\n", capture_output=True, timeout=TIMEOUT_S).returncode == 0

    def test_takes_over_what_can_change_and_tells_what_cannot(self):
        broker = self.broker().start()
        self.assertTrue(self.produce(broker, 5000))
        broker.properties |= {"message.max.bytes": "1000", "num.network.threads": "2"}
        broker.reload()
        self.await_log(broker, "settings were read again changed=1 after_restart=1")
        self.assertIn("changed setting=message.max.bytes", broker.log_tail())
        self.assertIn("from the next start on setting=num.network.threads", broker.log_tail())
        self.assertFalse(self.produce(broker, 5000))
        self.assertTrue(self.produce(broker, 500))
        del broker.properties["message.max.bytes"]
        broker.reload()
        self.await_log(broker, "settings were read again changed=1", times=2)
        self.assertTrue(self.produce(broker, 5000))

    def test_of_a_file_with_a_mistake_changes_nothing(self):
        broker = self.broker().start()
        broker.properties |= {"message.max.bytes": "1000", "num.partitions": "many"}
        broker.reload()
        self.await_log(broker, "settings cannot be read again, those before stay in force")
        self.assertIn("num.partitions", broker.log_tail())
        self.assertTrue(self.produce(broker, 5000))
        self.assertEqual(broker.stop(), 0)

    def test_signals_that_come_together_are_all_heard(self):
        broker = self.broker().start()
        for _ in range(20):
            broker.signal(signal.SIGHUP)
        self.await_log(broker, "settings were read again changed=0")
        broker.signal(signal.SIGHUP)
        self.assertEqual(broker.stop(), 0)


if __name__ == "__main__":
    if chosen_target() != "barnabas":
        suite.skip("about Barnabas's own manners")
    suite.require_tools("kcat")
    unittest.main(verbosity=2)
