#!/usr/bin/env python3
"""What is served over HTTP: metrics whose counts are true, under the names that dashboards read; health; and what
befalls those who ask for something else."""

import contextlib
import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import unittest
import urllib.error
import urllib.request

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS / "harness"), str(TESTS / "conformance")]

from base import Client, eventually, fetched  # noqa: E402
from broker import HOST, Broker, BrokerError, barnabas_binary, free_ports  # noqa: E402
from client import Connection  # noqa: E402
from exposition import parse  # noqa: E402
from records import batch  # noqa: E402

PATIENCE_S = 60  # on a busy machine

# What Strimzi's Grafana boards and alert rules read of a JMX exporter, what kafka_exporter's board reads of it, and what
# every process is expected to tell.
DASHBOARD_NAMES = """
kafka_server_brokertopicmetrics_bytesin_total kafka_server_brokertopicmetrics_bytesout_total
kafka_server_brokertopicmetrics_messagesin_total kafka_server_brokertopicmetrics_totalproducerequests_total
kafka_server_brokertopicmetrics_totalfetchrequests_total kafka_server_brokertopicmetrics_failedproducerequests_total
kafka_server_brokertopicmetrics_failedfetchrequests_total
kafka_server_replicamanager_partitioncount kafka_server_replicamanager_leadercount
kafka_server_replicamanager_underreplicatedpartitions kafka_server_replicamanager_underminisrpartitioncount
kafka_cluster_partition_underminisr kafka_cluster_partition_atminisr
kafka_controller_kafkacontroller_activecontrollercount kafka_controller_kafkacontroller_offlinepartitionscount
kafka_controller_controllerstats_uncleanleaderelections_total kafka_log_log_size
kafka_log_logmanager_offlinelogdirectorycount kafka_network_socketserver_networkprocessoravgidle_percent
kafka_server_kafkarequesthandlerpool_requesthandleravgidle_percent
kafka_server_socket_server_metrics_connection_count
kafka_server_kafkaserver_linux_disk_read_bytes kafka_server_kafkaserver_linux_disk_write_bytes
kafka_server_raftmetrics_current_state kafka_server_raftmetrics_current_leader kafka_server_raftmetrics_current_vote
kafka_server_raftmetrics_current_epoch kafka_server_raftmetrics_high_watermark
kafka_server_raftmetrics_log_end_offset kafka_server_raftmetrics_commit_latency_avg
kafka_server_raftmetrics_append_records_rate kafka_server_raftmetrics_fetch_records_rate
kafka_network_requestmetrics_totaltimems
kafka_brokers kafka_broker_info kafka_topic_partitions kafka_topic_partition_current_offset
kafka_topic_partition_oldest_offset kafka_topic_partition_leader kafka_topic_partition_leader_is_preferred
kafka_topic_partition_replicas kafka_topic_partition_in_sync_replica kafka_topic_partition_under_replicated_partition
kafka_consumergroup_current_offset kafka_consumergroup_current_offset_sum kafka_consumergroup_lag
kafka_consumergroup_lag_sum kafka_consumergroup_members
process_open_fds process_max_fds process_resident_memory_bytes process_virtual_memory_bytes process_cpu_seconds_total
process_start_time_seconds
""".split()

# What promtool says of names that are given: those that end like parts of a histogram and are none.
GIVEN_NAMES = re.compile(
    r"(kafka_server_socket_server_metrics_connection_count|kafka_consumergroup_(current_offset|lag)_sum) "
    r"non-histogram and non-summary metrics should not have \"_(count|sum)\" suffix$")


def promtool():
    """Where `./dev test` puts it, or the system's."""
    for path in (TESTS.parent / "build" / "promtool" / "usr" / "bin" / "promtool", pathlib.Path("/usr/bin/promtool")):
        if path.exists():
            return path
    return None


class MetricsTest(unittest.TestCase):
    maxDiff = 4000

    def start(self, **properties):
        """A broker with an HTTP port that the system chose."""
        broker = Broker(target="barnabas", properties={"http.listeners": f"{HOST}:0", **SMALL, **properties})
        self.addCleanup(broker.clean)
        return broker.start()

    @staticmethod
    def url(broker, path):
        found = re.findall(r"metrics and health at http://(\S+)/metrics", broker.log_path.read_text())
        return f"http://{found[-1]}{path}"

    def client(self, broker):
        client = Client((HOST, broker.port))
        self.addCleanup(client.close)
        return client

    def ask(self, broker, path):
        """(status, body)"""
        try:
            with urllib.request.urlopen(self.url(broker, path), timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def page(self, broker):
        status, body = self.ask(broker, "/metrics")
        self.assertEqual(status, 200)
        return body

    def scrape(self, broker):
        """All samples, once no group is missing among them, as they are while they are loaded."""
        def whole():
            samples = parse(self.page(broker))
            return samples["barnabas_metrics_groups_unknown_shards",] == 0 and samples

        samples = eventually(whole, PATIENCE_S)
        self.assertTrue(samples, "some groups are not told")
        return samples

    def commit(self, client, group, topic, offsets):
        def done():
            answer = client.call("OffsetCommit", 7, groupId=group, generationIdOrMemberEpoch=-1, memberId="",
                                 groupInstanceId=None, topics=[{"name": topic, "partitions": [
                                     {"partitionIndex": index, "committedOffset": offset, "committedLeaderEpoch": -1,
                                      "committedMetadata": ""} for index, offset in offsets.items()]}])
            return all(one.errorCode == 0 for one in answer.topics[0].partitions)

        client.call("FindCoordinator", 2, key=group, keyType=0)
        self.assertTrue(eventually(done, PATIENCE_S))


SMALL = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "1",
         "group.initial.rebalance.delay.ms": "0"}


class Counts(MetricsTest):
    def test_what_was_produced_and_fetched_is_counted_by_topic_and_together(self):
        broker = self.start()
        client = self.client(broker)
        orders, other = "orders", "other"
        for topic in (orders, other):
            client.create_usable(topic, 2)
        total_before = self.scrape(broker)
        sent = [batch(*[b"x" * 100] * 7) for _ in range(5)]
        for number, records in enumerate(sent):
            self.assertEqual(client.produce(orders, records, partition=number % 2).errorCode, 0)
        self.assertEqual(client.produce(other, batch(b"1", b"2"), acks=1).errorCode, 0)
        read = client.fetch_all([fetched(orders, 0, 0), fetched(orders, 0, 1)])
        read_bytes = sum(len(one.records) for topic in read.responses for one in topic.partitions)
        # Answered with errors: a partition that is not there, and damaged records.
        self.assertNotEqual(client.produce(orders, sent[0], partition=9).errorCode, 0)
        damaged = bytearray(sent[0])
        damaged[-1] ^= 1
        self.assertNotEqual(client.produce(orders, bytes(damaged)).errorCode, 0)
        self.assertNotEqual(client.fetch("nowhere").errorCode, 0)
        self.assertNotEqual(client.fetch(orders, 1000).errorCode, 0)

        metrics = self.scrape(broker)
        prefix = "kafka_server_brokertopicmetrics_"

        def of(topic, name):
            return metrics[f"{prefix}{name}_total", ("topic", topic)]

        def grown(name):
            return metrics[f"{prefix}{name}_total",] - total_before[f"{prefix}{name}_total",]

        self.assertEqual(of(orders, "messagesin"), 35)
        self.assertEqual(of(other, "messagesin"), 2)
        self.assertEqual(of(orders, "bytesin"), sum(map(len, sent)))
        self.assertEqual(of(orders, "bytesout"), read_bytes)
        self.assertEqual(read_bytes, sum(map(len, sent)))
        self.assertEqual(of(other, "bytesout"), 0)
        self.assertEqual(of(orders, "totalproducerequests"), 6)
        self.assertEqual(of(orders, "failedproducerequests"), 1)
        self.assertEqual(of(orders, "totalfetchrequests"), 3)
        self.assertEqual(of(orders, "failedfetchrequests"), 1)
        self.assertEqual(grown("messagesin"), 37)
        self.assertEqual(grown("bytesout"), read_bytes)
        self.assertEqual(grown("totalproducerequests"), 8)
        self.assertEqual(grown("failedproducerequests"), 2)
        self.assertEqual(grown("failedfetchrequests"), 2)
        self.assertEqual(grown("totalfetchrequests"), 4)

        # Nothing that was counted is lost with its topic.
        client.delete(orders)
        after = eventually(lambda: (now := self.scrape(broker)) and
                           (f"{prefix}messagesin_total", ("topic", orders)) not in now and now, PATIENCE_S)
        self.assertTrue(after)
        self.assertEqual(after[f"{prefix}messagesin_total",], metrics[f"{prefix}messagesin_total",])

    def test_repeats_of_an_idempotent_producer_are_not_counted_twice(self):
        broker = self.start()
        client = self.client(broker)
        client.create_usable("t")
        records = batch(b"1", b"2", producer_id=client.new_producer_id(), producer_epoch=0, sequence=0)
        for _ in range(3):
            self.assertEqual(client.produce("t", records).errorCode, 0)
        self.assertEqual(self.scrape(broker)["kafka_server_brokertopicmetrics_messagesin_total", ("topic", "t")], 2)

    def test_requests_are_counted_by_api_and_their_stages_make_up_the_whole(self):
        broker = self.start()
        client = self.client(broker)
        client.create_usable("t")
        before = self.scrape(broker)
        for _ in range(20):
            client.append("t", b"x")
        for _ in range(10):
            client.fetch("t")
        client.produce("t", batch(b"no answer"), acks=1)
        begin = time.monotonic()
        client.fetch_all([fetched("t", client.end_offset("t"))], max_wait_ms=300, min_bytes=1)
        waited = time.monotonic() - begin
        metrics = self.scrape(broker)

        def grown(name, *labels):
            key = (name, *labels)
            return metrics[key] - before.get(key, 0)

        for api, count in (("Produce", 21), ("Fetch", 11)):
            label = ("request", api)
            self.assertEqual(grown("barnabas_request_seconds_count", label), count)
            self.assertEqual(grown("barnabas_request_seconds_bucket", label, ("le", "+Inf")), count)
            self.assertEqual(grown("kafka_network_requestmetrics_totaltimems_count", label), count)
            stages = {stage: grown("barnabas_request_stage_seconds_sum", label, ("stage", stage))
                      for stage in ("queue", "local", "remote", "response_queue", "send")}
            whole = grown("barnabas_request_seconds_sum", label)
            self.assertAlmostEqual(sum(stages.values()), whole, delta=1e-6)
            self.assertGreater(whole, 0)
        # The long poll waited, which is no work of the broker.
        self.assertGreater(grown("barnabas_request_stage_seconds_sum", ("request", "Fetch"), ("stage", "remote")), 0.29)
        self.assertLess(grown("barnabas_request_seconds_sum", ("request", "Fetch")), waited + PATIENCE_S)
        self.assertGreater(
            metrics["kafka_network_requestmetrics_totaltimems", ("request", "Fetch"), ("quantile", "0.999")], 100)


class Groups(MetricsTest):
    def test_lag_is_what_a_group_has_yet_to_read(self):
        broker = self.start()
        client = self.client(broker)
        client.create_usable("orders", 3)
        for partition, count in enumerate((10, 20, 0)):
            for _ in range(count):
                client.append("orders", b"x", partition=partition)
        self.commit(client, "readers", "orders", {0: 4, 1: 20, 2: 0})
        metrics = self.scrape(broker)
        in_topic = (("consumergroup", "readers"), ("topic", "orders"))

        def of(name, partition):
            return metrics[name, *in_topic, ("partition", str(partition))]

        self.assertEqual([of("kafka_consumergroup_current_offset", p) for p in range(3)], [4, 20, 0])
        self.assertEqual([of("kafka_consumergroup_lag", p) for p in range(3)], [6, 0, 0])
        self.assertEqual(metrics["kafka_consumergroup_lag_sum", *in_topic], 6)
        self.assertEqual(metrics["kafka_consumergroup_current_offset_sum", *in_topic], 24)
        self.assertEqual(metrics["kafka_consumergroup_members", ("consumergroup", "readers")], 0)
        self.assertEqual(metrics["kafka_topic_partition_current_offset", ("topic", "orders"), ("partition", "1")], 20)

    def test_lag_is_never_negative(self):
        """A group may have committed more than there is: by mistake, or because its topic was made anew."""
        broker = self.start()
        client = self.client(broker)
        client.create_usable("orders", 1)
        client.append("orders", b"x")
        self.commit(client, "ahead", "orders", {0: 1000})
        name, labels = "kafka_consumergroup_lag", (("consumergroup", "ahead"), ("topic", "orders"), ("partition", "0"))
        self.assertEqual(self.scrape(broker)[name, *labels], 0)
        client.delete("orders")
        self.assertTrue(eventually(lambda: client.metadata("orders").topics[0].errorCode != 0, PATIENCE_S))
        self.assertNotIn((name, *labels), self.scrape(broker))
        client.create_usable("orders", 1)
        metrics = self.scrape(broker)
        self.assertFalse([key for key, value in metrics.items() if key[0].startswith(name) and value < 0])
        self.assertNotIn((name, *labels), metrics)

    def test_lag_stays_true_while_members_commit(self):
        broker = self.start()
        client = self.client(broker)
        client.create_usable("orders", 1)
        stop = threading.Event()
        asked_for, committed = 0, 0

        def produce_and_commit():
            nonlocal asked_for, committed
            busy = Client((HOST, broker.port))
            while not stop.is_set():
                asked_for += 1
                end = busy.append("orders", b"x") + 1
                self.commit(busy, "g", "orders", {0: end})
                committed = end
            busy.close()

        thread = threading.Thread(target=produce_and_commit)
        thread.start()
        try:
            for _ in range(20):
                # The lag is of some moment between these two; the end may be of a later one than the commit.
                least = committed
                metrics = self.scrape(broker)
                most = asked_for - least
                lags = [value for key, value in metrics.items() if key[0] == "kafka_consumergroup_lag"]
                self.assertTrue(all(0 <= lag <= most for lag in lags), (lags, most))
        finally:
            stop.set()
            thread.join()


class Names(MetricsTest):
    def well_used_broker(self):
        broker = self.start()
        client = self.client(broker)
        client.create_usable("orders", 2)
        client.append("orders", b"x")
        client.fetch("orders")
        self.commit(client, "readers", "orders", {0: 0})
        return broker

    def test_all_that_dashboards_read_are_there(self):
        told = {key[0] for key in self.scrape(self.well_used_broker())}
        missing = [name for name in DASHBOARD_NAMES if name not in told]
        self.assertEqual(missing, [])

    def test_promtool_has_nothing_to_say_but_of_names_that_are_given(self):
        tool = promtool()
        if tool is None:
            if os.environ.get("BARNABAS_TEST_NO_SKIP"):
                self.fail("no promtool here (./dev test gets it out of Debian's package prometheus)")
            self.skipTest("no promtool here (./dev test gets it out of Debian's package prometheus)")
        page = self.page(self.well_used_broker())
        done = subprocess.run([tool, "check", "metrics"], input=page, capture_output=True, text=True)
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        self.assertEqual([line for line in said if not GIVEN_NAMES.match(line)], [])
        self.assertIn(done.returncode, (0, 3), said)

    def test_names_and_types_are_those_of_the_page_of_the_documentation(self):
        page = self.page(self.well_used_broker())
        documented = set(re.findall(r"^\| `(\w+)` \| (\w+) \|", (TESTS.parent / "docs" / "metrics.md").read_text(), re.M))
        told = set(re.findall(r"^# TYPE (\w+) (\w+)$", page, re.M))
        self.assertTrue(told)
        self.assertEqual(told - documented, set())

    def test_many_partitions_are_told_within_bounds(self):
        broker = self.start(**{"metrics.partitions.max": "5000"})
        client = self.client(broker)
        client.create_usable("many", 1000)
        before = self.scrape(broker)
        page = self.page(broker)
        # Processor time, since others may keep this machine busy.
        metrics = self.scrape(broker)
        seconds = metrics["process_cpu_seconds_total",] - before["process_cpu_seconds_total",]
        self.assertEqual(sum(key[0] == "kafka_log_log_size" and ("topic", "many") in key for key in metrics), 1000)
        self.assertEqual(metrics["barnabas_metrics_partitions_left_out",], 0)
        self.assertLess(len(page), 2_000_000)
        self.assertLess(seconds, 2)

    def test_partitions_beyond_the_bound_are_counted_and_not_told(self):
        broker = self.start(**{"metrics.partitions.max": "3"})
        client = self.client(broker)
        client.create_usable("five", 5)
        client.append("five", b"x", partition=4)
        self.commit(client, "g", "five", {index: 0 for index in range(5)})
        metrics = self.scrape(broker)
        # By name: those of __consumer_offsets first.
        self.assertEqual(sum(key[0] == "kafka_log_log_size" for key in metrics), 3)
        self.assertEqual(metrics["barnabas_metrics_partitions_left_out",], 5)
        self.assertEqual(metrics["kafka_topic_partitions", ("topic", "five")], 5)
        self.assertEqual(metrics["kafka_server_brokertopicmetrics_messagesin_total", ("topic", "five")], 1)
        self.assertEqual(sum(key[0] == "kafka_consumergroup_lag" for key in metrics), 3)
        self.assertEqual(metrics["barnabas_metrics_group_partitions_left_out",], 2)
        self.assertEqual(metrics["kafka_consumergroup_lag_sum", ("consumergroup", "g"), ("topic", "five")], 1)

    def test_labels_of_groups_that_clients_name_as_they_like_are_escaped(self):
        broker = self.start()
        client = self.client(broker)
        client.create_usable("orders")
        group = 'a"b\\c\nkafka_brokers 99 é'
        self.commit(client, group, "orders", {0: 0})
        metrics = self.scrape(broker)
        self.assertEqual(metrics["kafka_consumergroup_members", ("consumergroup", group)], 0)
        self.assertEqual(metrics["kafka_brokers",], 1)

    def test_a_name_that_is_no_text_does_not_make_the_page_unreadable(self):
        broker = self.start()
        client = self.client(broker)
        client.create_usable("orders")
        self.commit(client, "NAME", "orders", {0: 0})
        with Connection((HOST, broker.port)) as connection:
            for name in (b"N\xff\xfeE", b"N\xed\xa0E"):
                frame = connection.frame(
                    "OffsetCommit", 7, groupId="NAME", generationIdOrMemberEpoch=-1, memberId="", groupInstanceId=None,
                    topics=[{"name": "orders", "partitions": [{"partitionIndex": 0, "committedOffset": 0,
                             "committedLeaderEpoch": -1, "committedMetadata": ""}]}])
                connection.send_bytes(frame.replace(b"NAME", name))
                connection.receive()
        self.assertTrue(self.scrape(broker))  # decoded as UTF-8

    def test_state_of_broker_and_controller(self):
        broker = self.well_used_broker()
        others = [self.client(broker) for _ in range(3)]
        metrics = self.scrape(broker)
        self.assertEqual(metrics["kafka_brokers",], 1)
        self.assertEqual(metrics["kafka_broker_info", ("id", "1"), ("address", broker.bootstrap)], 1)
        self.assertEqual(metrics["kafka_controller_kafkacontroller_activecontrollercount",], 1)
        self.assertEqual(metrics["kafka_server_raftmetrics_current_state", ("current_state", "leader")], 1)
        self.assertEqual(metrics["kafka_server_replicamanager_partitioncount",], 2 + 3)
        self.assertEqual(metrics["kafka_server_replicamanager_leadercount",], 2 + 3)
        self.assertEqual(metrics["kafka_controller_kafkacontroller_offlinepartitionscount",], 0)
        self.assertEqual(metrics["kafka_topic_partition_leader", ("topic", "orders"), ("partition", "0")], 1)
        self.assertEqual(metrics["kafka_server_socket_server_metrics_connection_count", ("listener", "PLAINTEXT")],
                         1 + len(others))
        idle = metrics["kafka_network_socketserver_networkprocessoravgidle_percent",]
        self.assertTrue(0 <= idle <= 1, idle)


class Health(MetricsTest):
    def healthcheck(self, *arguments, **environment):
        return subprocess.run([barnabas_binary(), "healthcheck", *arguments], capture_output=True, text=True,
                              env=environment, timeout=PATIENCE_S)

    def test_a_broker_that_serves_is_alive_and_ready(self):
        broker = self.start()
        for path, says in (("/livez", "alive\n"), ("/readyz", "ready\n"), ("/v1/status/ready", "ready\n")):
            self.assertEqual(self.ask(broker, path), (200, says))
        self.assertEqual(self.ask(broker, "/elsewhere")[0], 404)

    def test_a_broker_that_stops_is_alive_and_not_ready(self):
        broker = self.start(**{"connections.max.idle.ms": "600000"})
        client = self.client(broker)
        client.create_usable("t")
        for _ in range(20):
            client.append("t", b"x" * 900_000)
        # What holds a stop up: an answer that its peer does not read.
        with Connection((HOST, broker.port), receive_buffer=4096) as deaf:
            deaf.send("Fetch", 4, replicaId=-1, maxWaitMs=0, minBytes=1, maxBytes=1 << 26, topics=[
                {"topic": "t", "partitions": [{"partition": 0, "fetchOffset": 0, "partitionMaxBytes": 1 << 26}]}])
            self.assertEqual(len(deaf.socket.recv(1)), 1)
            url = self.url(broker, "")
            broker.signal(signal.SIGTERM)
            ready = eventually(lambda: (got := self.ask_or_none(f"{url}/readyz")) and got[0] == 503 and got, PATIENCE_S)
            self.assertEqual(ready, (503, "stopping\n"))
            self.assertEqual(self.ask_or_none(f"{url}/livez"), (200, "alive, stopping\n"))
        broker.wait(PATIENCE_S)
        self.assertIsNone(self.ask_or_none(f"{url}/livez"))

    @staticmethod
    def ask_or_none(url):
        try:
            with urllib.request.urlopen(url, timeout=PATIENCE_S) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()
        except OSError:
            return None

    def test_the_command_says_in_one_line_and_its_exit_code_whether_a_broker_is_ready(self):
        broker = self.start()
        address = self.url(broker, "").removeprefix("http://")
        for arguments in (["--address", address], ["--url", f"http://{address}/readyz"], ["--address", address, "--live"]):
            done = self.healthcheck(*arguments)
            self.assertEqual(done.returncode, 0, done)
            self.assertRegex(done.stdout, r"^healthy: .*\n$")
        # As in a container, where the environment says where it listens.
        self.assertEqual(self.healthcheck(KAFKA_HTTP_LISTENERS=f"*:{address.split(':')[1]}").returncode, 0)
        done = self.healthcheck("--url", f"http://{address}/elsewhere")
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stderr, r"^unhealthy: .* says 404 .*\n$")
        broker.stop()
        done = self.healthcheck("--address", address)
        self.assertEqual(done.returncode, 1, done)
        self.assertRegex(done.stderr, r"^unhealthy: .*Connection refused\n$")

    def test_a_stop_does_not_wait_for_those_who_ask(self):
        broker = self.start()
        host, port = self.url(broker, "").removeprefix("http://").split(":")
        with socket.create_connection((host, int(port))) as half, socket.create_connection((host, int(port))):
            half.sendall(b"GET /metrics HT")
            self.assertEqual(broker.stop(), 0)
            with contextlib.suppress(ConnectionResetError):
                self.assertEqual(half.recv(100), b"")


class Logs(MetricsTest):
    def test_each_line_is_an_object_when_json_is_asked_for(self):
        broker = self.start(**{"logger.format": "json"})
        with socket.create_connection((HOST, broker.port)) as stranger:
            stranger.sendall(b"GET / HTTP/1.1\r\n\r\n")
            self.assertEqual(stranger.recv(100), b"")
        broker.stop()
        lines = [json.loads(line) for line in broker.log_path.read_text().splitlines()]
        for line in lines:
            self.assertEqual(list(line)[:4], ["time", "level", "logger", "message"])
            self.assertRegex(line["time"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$")
        # What scripts wait for.
        self.assertIn("[KafkaRaftServer] Kafka Server started", [line["message"] for line in lines])
        closed = [line for line in lines if line["message"] == "connection closed"]
        self.assertEqual(len(closed), 1, lines)
        self.assertEqual((closed[0]["level"], closed[0]["listener"]), ("WARN", "PLAINTEXT"))
        self.assertIn("(an HTTP client?)", closed[0]["reason"])

    def test_a_format_that_there_is_not_is_refused(self):
        broker = Broker(target="barnabas", properties={"logger.format": "xml"})
        self.addCleanup(broker.clean)
        with self.assertRaises(BrokerError):
            broker.start()
        self.assertRegex(broker.log_tail(1), "logger.format.*text, json")


class Addresses(MetricsTest):
    def test_a_start_is_refused_when_the_address_that_was_set_is_taken(self):
        with socket.socket() as other:
            other.bind((HOST, 0))
            other.listen()
            taken = f"{HOST}:{other.getsockname()[1]}"
            broker = Broker(target="barnabas", properties={"http.listeners": taken})
            self.addCleanup(broker.clean)
            with self.assertRaises(BrokerError):
                broker.start()
            self.assertEqual(broker.exit_code, 1)
            self.assertRegex(broker.log_tail(1), rf"^barnabas: .*http\.listeners.*{taken}.*Address already in use")

    def test_a_bad_address_is_refused_with_what_is_expected(self):
        broker = Broker(target="barnabas", properties={"http.listeners": "9644"})
        self.addCleanup(broker.clean)
        with self.assertRaises(BrokerError):
            broker.start()
        self.assertIn("expected host:port", broker.log_tail(1))

    def test_several_addresses_are_listened_on_and_none_when_it_is_empty(self):
        first, second = free_ports(2)
        broker = self.start(**{"http.listeners": f"{HOST}:{first},localhost:{second}"})
        for port in (first, second):
            with urllib.request.urlopen(f"http://{HOST}:{port}/livez", timeout=PATIENCE_S) as answer:
                self.assertEqual(answer.status, 200)
        quiet = self.start(**{"http.listeners": ""})
        self.assertNotIn("metrics and health", quiet.log_path.read_text())

    def test_what_is_no_question_is_refused_and_hinders_nobody(self):
        broker = self.start()
        host, port = self.url(broker, "").removeprefix("http://").split(":")

        def say(sent):
            with socket.create_connection((host, int(port)), timeout=PATIENCE_S) as connection:
                connection.sendall(sent)
                return connection.makefile("rb").readline().decode()

        self.assertRegex(say(b"POST /metrics HTTP/1.1\r\n\r\n"), "405")
        self.assertRegex(say(b"\0\0\0\x10nonsense\r\n\r\n"), "400")
        self.assertRegex(say(b"GET / HTTP/1.1\r\nA: " + b"x" * 20_000 + b"\r\n\r\n"), "431")
        self.assertEqual(self.ask(broker, "/readyz")[0], 200)


if __name__ == "__main__":
    unittest.main(verbosity=2)
