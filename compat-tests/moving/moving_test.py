#!/usr/bin/env python3
"""A node's directories move from Apache Kafka to Barnabas, back, and in again: after clean stops, after SIGKILL, and under
clients that live through it.

    moving_test.py [--rounds N [--seed S]] [Moves.test_NAME …]

--rounds adds moves at random moments under living clients. Each test starts Apache Kafka several times, which is what takes time.
"""

import pathlib
import random
import subprocess
import sys
import time
import unittest

PROJECT = pathlib.Path(__file__).resolve().parents[2]
for room in ("compat-tests/harness", "compat-tests/conformance", "tools/peers/kafka"):
    sys.path.append(str(PROJECT / room))

import python_environment  # noqa: E402
import suite  # noqa: E402

python_environment.enter("confluent-kafka", __file__)

import cluster as peer  # noqa: E402
import history  # noqa: E402
import protocol_client as raw  # noqa: E402
import sasl_login  # noqa: E402
import view  # noqa: E402
from broker import HOST, BrokerError, barnabas_binary  # noqa: E402
from living_clients import LivingClients  # noqa: E402
from moving_case import MovingCase  # noqa: E402

# Everything that happens in the background happens soon.
QUICK = {
    "log.cleaner.backoff.ms": "200",
    "log.cleaner.dedupe.buffer.size": "4194304",
    "log.initial.task.delay.ms": "100",
    "log.retention.check.interval.ms": "300",
    "log.segment.delete.delay.ms": "500",
    "log.flush.start.offset.checkpoint.interval.ms": "500",
    "metadata.log.max.record.bytes.between.snapshots": "4000",
    "internal.metadata.log.segment.bytes": "8192",
}
AUTHORIZER = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}
OPTIONS = {"--rounds": 0, "--seed": 1}


class MovingTest(MovingCase):
    def start_kafka(self, node, **options):
        return self.start(node, "kafka", **options)

    def start_barnabas(self, node, **options):
        return self.start(node, "barnabas", **options)

    def stop_and_check(self, node):
        """Neither the broker nor `barnabas check` may find anything wrong."""
        self.stop(node)
        directories = sorted({*node.log_dirs, node.metadata_dir})
        done = subprocess.run([barnabas_binary(), "check", *directories], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)

    def assert_same(self, before, after, but=()):
        """Two views; topics named in `but` are left out."""
        self.assertEqual(before.topics, after.topics)
        for where, was in before.partitions.items():
            if where[0] not in but:
                policy = before.configs["topic", where[0]]["cleanup.policy"][0]
                self.assert_same_partition(where, was, after.partitions[where], policy)
        self.assertEqual(before.configs, after.configs)

    def assert_same_partition(self, where, was, now, policy):
        with self.subTest(partition=where):
            self.assertEqual((was.start, was.end, was.last_stable), (now.start, now.end, now.last_stable))
            if "compact" in policy:
                self.assert_compacted_at_most(was.committed(), now.committed())
                return
            self.assertEqual([offset for offset, _ in was.batches], [offset for offset, _ in now.batches])
            self.assertEqual(was.batches, now.batches)
            self.assertEqual(was.aborted, now.aborted)
            # Apache Kafka also finds the newest time in records that DeleteRecords has taken away.
            if min(was.newest_timestamp[1], now.newest_timestamp[1]) >= was.start:
                self.assertEqual(was.newest_timestamp, now.newest_timestamp)


    def assert_compacted_at_most(self, was, now):
        """Nothing came or changed, and of what went there is something newer."""
        self.assertLessEqual({str(record) for record in now}, {str(record) for record in was})
        self.assertEqual({record[2]: record for record in was}, {record[2]: record for record in now})


class Moves(MovingTest):
    """The whole history, with every move: K for Apache Kafka, B for Barnabas."""

    def test_everything_moves_in_and_out_and_in_again(self):
        node = self.node(log_dirs=2, own_metadata_dir=True, properties=QUICK)
        node.format("--standalone")
        self.protected = node.write_properties(
            "protected.properties", **AUTHORIZER, **sasl_login.settings(node))
        self.made = {}
        self.first_kafka(node)
        self.second_kafka(node)
        self.first_barnabas(node)
        self.third_kafka(node)
        self.barnabas_after_a_crash(node)
        self.kafka_after_a_crash(node)
        self.last_barnabas(node)

    def first_kafka(self, node):
        """Writes the history. Access control and SCRAM users need a broker that is protected."""
        client = self.start_kafka(node, properties_path=self.protected)
        history.protect(client)
        history.make_topics(client)
        history.write_records(client)
        history.write_keyed(client, "compacted", 6)
        history.write_keyed(client, "compacted", 1, first_round=6, tombstones=[b"key 1", b"key 3"])
        history.write_keyed(client, "compacted", 1, first_round=7)
        history.write_keyed(client, "both", 6)
        history.write_transactions(client, self.made)
        history.write_idempotent(client, self.made)
        history.write_with_a_client(node)
        history.trim(client)
        history.commit_groups(client)
        history.set_configs(client)
        raw.create_partitions(client, "grown", 3)
        history.await_compaction(node, ["compacted", "both", "compacted-transactions"])
        self.acls, self.scram_users, self.quotas = raw.acls(client), raw.scram_users(client), raw.quotas(client)
        node.stop()
        self.assertGreater(node.drop_superfluous_metadata(), 0, "the metadata log still has its first segment")

    def second_kafka(self, node):
        """Another epoch, and transactions that stay open."""
        client = self.start_kafka(node)
        for partition in range(2):
            client.append("plain", b"second epoch", partition=partition)
        history.open_transactions(client, self.made)
        self.epochs = self.ends_of_epochs(client)
        self.assert_history_is_what_it_claims(node, client)
        self.before = view.whole(client)
        self.kept_configs = view.kept_configs(client)
        self.groups, self.offsets = raw.groups(client), raw.committed_offsets(client, "readers")
        node.stop()

    @staticmethod
    def ends_of_epochs(client):
        """Of the epochs in which Apache Kafka alone has led."""
        return [view.epoch_end(client, "plain", 0, epoch) for epoch in range(3)]

    def assert_history_is_what_it_claims(self, node, client):
        compacted = view.partition(client, "compacted", 0)
        self.assertTrue(any(raw[22] & 0x40 for _, raw in compacted.batches), "no tombstone has its horizon yet")
        self.assertGreater(compacted.batches[0][0] + len(compacted.batches), 0)
        self.assertLess(sum(int.from_bytes(raw[57:61]) for _, raw in compacted.batches), compacted.end)
        self.assertTrue(view.partition(client, "transactions", 0).aborted)
        opened = view.partition(client, "open", 1)
        self.assertLess(opened.last_stable, opened.end)
        self.assertGreater(view.partition(client, "trimmed", 0).start, 0)
        self.assertTrue(list(node.partition_directory("transactions").glob("*.txnindex")))
        self.assertEqual(len(set(self.epochs)), 2, self.epochs)
        self.assertEqual(set(raw.open_transactions(client)), {"to-commit", "to-abort", "to-fence"})

    def first_barnabas(self, node):
        self.snapshots = set(node.metadata_log.glob("*.checkpoint"))
        client = self.start_barnabas(node, properties_path=self.protected)
        self.assert_same(self.before, view.whole(client))
        self.assertEqual(self.epochs, self.ends_of_epochs(client))
        self.assert_protected(node, client)
        history.check_with_a_client(self, node)
        self.assert_producers_go_on(client)
        self.work_on_barnabas(client)
        raw.await_true(lambda: set(node.metadata_log.glob("*.checkpoint")) - self.snapshots, "a metadata snapshot")
        self.before = view.whole(client)
        self.stop(node)

    def assert_protected(self, node, client):
        """As it was, and a further user with a right and a quota is there from now on."""
        self.assertEqual(self.acls, raw.acls(client))
        self.assertEqual(self.scram_users, raw.scram_users(client))
        self.assertEqual(self.quotas, raw.quotas(client))
        sasl_login.check(self, node)
        history.protect_more(client)
        sasl_login.check(self, node, history.MORE_PASSWORDS)
        self.acls, self.scram_users, self.quotas = raw.acls(client), raw.scram_users(client), raw.quotas(client)

    def assert_producers_go_on(self, client):
        for name in ("steady", "late"):
            producer = self.made[name]
            answer, offset = producer.repeat(client, "idempotent")
            self.assertEqual(answer, (0, offset), "the repeat of an acknowledged batch was appended again")
        steady = self.made["steady"]
        steady.send(client, "idempotent", b"goes on")
        steady.sequences["idempotent", 0] += 1
        with self.assertRaisesRegex(AssertionError, "'errorCode': 45"):
            steady.send(client, "idempotent", b"behind a gap")
        steady.sequences["idempotent", 0] -= 1
        newer = raw.Producer(client)
        self.assertNotIn(newer.id, [producer.id for producer in self.made.values()])

    def work_on_barnabas(self, client):
        client.create_usable("ours", 3, {"retention.ms": "-1", "max.message.bytes": "1234567"})
        for partition in range(3):
            client.append("ours", b"one", b"two", partition=partition)
        raw.create_partitions(client, "ours", 5)
        raw.create_partitions(client, "grown", 4)
        client.append("grown", b"in the new partition", partition=3)
        self.assertEqual(client.delete("nothing").errorCode, 0)
        self.assertEqual(client.delete("reborn").errorCode, 0)
        client.create_usable("reborn", 1, {"retention.ms": "-1"})
        client.append("reborn", b"of the third")
        for partition, offset in ((0, 60), (1, 101)):
            self.assertEqual(client.delete_records("plain", offset, partition).errorCode, 0)
        client.create_usable("expired", 1, {"retention.ms": "60000"})
        client.append("expired", b"of the past", timestamps=[history.EPOCH_MS])
        raw.await_true(lambda: client.start_offset("expired") == 1, "retention")
        for topic in ("plain", "codecs", "rolled", "appended", "emptied", "transactions"):
            client.append(topic, b"written by Barnabas")
        client.append("compacted", b"written by Barnabas", keys=[b"key 2"])
        held_back_at = view.partition(client, "open", 1).last_stable
        client.append("open", b"behind open transactions", partition=1)
        self.assertEqual(view.partition(client, "open", 1).last_stable, held_back_at)
        raw.alter_configs(client, raw.TOPIC, "plain", {"retention.bytes": "1987654321", "flush.ms": "5000"})
        raw.alter_configs(client, raw.TOPIC, "codecs", {"max.message.bytes": None})
        raw.alter_configs(client, raw.BROKER, "", {"message.max.bytes": "1600000"})
        raw.alter_configs(client, raw.BROKER, "1", {"log.segment.bytes": None, "log.cleaner.threads": "2"})
        raw.alter_configs(client, raw.CLIENT_METRICS, "watch", {"interval.ms": "7000"})
        raw.alter_configs(client, raw.GROUP_CONFIG, "readers", {"consumer.heartbeat.interval.ms": "6000"})
        self.kept_configs = view.kept_configs(client)

    def third_kafka(self, node):
        """Moved out: everything is there, also what Barnabas added for its users; then the open transactions end."""
        client = self.start_kafka(node, properties_path=self.protected)
        self.assert_same(self.before, view.whole(client))
        self.assert_kept(client)
        sasl_login.check(self, node, history.PASSWORDS | history.MORE_PASSWORDS)
        self.made["to-commit"].end(client, commit=True)
        self.made["to-abort"].end(client, commit=False)
        raw.Transactional(client, "to-fence")
        part = raw.eventually(lambda: (found := view.partition(client, "open", 1)).last_stable == found.end and found)
        self.assertTrue(part, "a transaction is still open")
        self.assertEqual({producer for producer, _ in part.aborted},
                         {self.made["to-abort"].first_id, self.made["to-fence"].first_id})
        for name in ("first", "second", "keyed"):
            topic = "compacted-transactions" if name == "keyed" else "transactions"
            self.made[name].send(client, topic, b"goes on", keys=[b"key 1"])
            self.made[name].end(client, commit=True)
        self.made["steady"].send(client, "idempotent", b"goes on with Kafka")
        raw.commit_offsets(client, "readers", "plain", {0: 99})
        self.offsets["plain", 0] = (99, "at 99")
        client.append("ours", b"three", partition=4)
        self.made["cut off"] = raw.Transactional(client, "cut off")
        self.made["cut off"].send(client, "open", b"when Kafka was killed", partition=0)
        self.kill_under_load(node, client, in_flight=5)

    def assert_kept(self, client):
        self.assertEqual(self.acls, raw.acls(client))
        self.assertEqual(self.scram_users, raw.scram_users(client))
        self.assertEqual(self.quotas, raw.quotas(client))
        self.assertEqual(self.groups, raw.groups(client))
        self.assertEqual(self.offsets, raw.committed_offsets(client, "readers"))
        self.assertEqual(self.kept_configs, view.kept_configs(client))

    def kill_under_load(self, node, client, in_flight):
        """SIGKILL while a client writes; what it knows of and what the broker shows is what must be there afterwards."""
        topic = f"load-{node.runs}"
        client.create_usable(topic, 2, history.NEVER_EXPIRE)
        client.create_usable(f"{topic}-deleted", 2, history.NEVER_EXPIRE)
        client.append(f"{topic}-deleted", b"deleted at the last moment", partition=1)
        self.assertEqual(client.delete(f"{topic}-deleted").errorCode, 0)
        raw.await_true(lambda: f"{topic}-deleted" not in view.topics(client), "deletion")
        self.before = view.whole(client)
        self.living = LivingClients(node.bootstrap, topic, 2, in_flight)
        self.addCleanup(self.living.abandon)
        self.living.await_progress()
        node.kill()

    def assert_survived(self, client):
        """The living client's own topic is checked by that client."""
        self.living.await_progress()
        self.living.finish()
        topic = self.living.topic
        self.assert_same(self.before, view.whole(client), but=(topic, "__consumer_offsets", "__transaction_state"))

    def barnabas_after_a_crash(self, node):
        client = self.start_barnabas(node)
        self.assert_survived(client)
        answer, offset = self.made["steady"].repeat(client, "idempotent")
        self.assertEqual(answer, (0, offset))
        self.made["steady"].send(client, "idempotent", b"goes on after a crash")
        cut_off = view.partition(client, "open", 0)
        self.assertEqual((cut_off.last_stable, cut_off.end), (0, 1), "the transaction does not hold readers back")
        client.create_usable("made-before-a-crash", 2, history.NEVER_EXPIRE)
        client.append("made-before-a-crash", b"one", partition=1)
        self.kill_under_load(node, client, in_flight=1)

    def kafka_after_a_crash(self, node):
        client = self.start_kafka(node, properties_path=self.protected)
        self.assert_survived(client)
        self.assert_kept(client)
        answer, offset = self.made["steady"].repeat(client, "idempotent")
        self.assertEqual(answer, (0, offset))
        self.made["steady"].send(client, "idempotent", b"goes on after two crashes")
        self.made["cut off"].end(client, commit=True)
        raw.await_true(lambda: view.partition(client, "open", 0).last_stable == 2, "the end of the transaction")
        self.before = view.whole(client)
        self.stop(node)

    def last_barnabas(self, node):
        client = self.start_barnabas(node)
        self.assert_same(self.before, view.whole(client))
        self.assert_producers_go_on(client)
        self.stop(node)


class Directories(MovingTest):
    def test_a_static_quorum_of_an_older_release_in_one_directory(self):
        node = self.node(static_quorum=True, properties=QUICK)
        node.format("--release-version", "3.9")
        client = self.start_kafka(node)
        client.create_usable("kept", 2, history.NEVER_EXPIRE)
        client.append("kept", b"one")
        before = view.whole(client)
        self.stop_and_check(node)
        client = self.start_barnabas(node)
        self.assert_same(before, view.whole(client))
        client.append("kept", b"two")
        client.create_usable("ours", 2, history.NEVER_EXPIRE)
        before = view.whole(client)
        self.stop_and_check(node)
        client = self.start_kafka(node)
        self.assert_same(before, view.whole(client))
        self.stop_and_check(node)
        self.assert_same(before, view.whole(self.start_barnabas(node)))
        self.stop_and_check(node)

    def test_directories_that_barnabas_made(self):
        node = self.node(log_dirs=2, own_metadata_dir=True, properties=QUICK)
        made = {}
        # A lone broker needs no controller's listener; Apache Kafka does, and finds none in the voter's record.
        alone = node.write_properties("alone.properties", listeners=node.properties["advertised.listeners"])
        client = self.start_barnabas(node, properties_path=alone)
        client.create_usable("plain", 3, history.NEVER_EXPIRE)
        client.create_usable("compacted", 1, history.NEVER_EXPIRE | {"cleanup.policy": "compact"})
        client.create_usable("idempotent", 1, history.NEVER_EXPIRE)
        for partition in range(3):
            client.append("plain", b"one", b"two", partition=partition)
        client.append("compacted", b"one", keys=[b"key"])
        client.delete_records("plain", 1, 1)
        history.write_idempotent(client, made)
        before = view.whole(client)
        self.stop_and_check(node)
        client = self.start_kafka(node)
        self.assert_same(before, view.whole(client))
        for producer in made.values():
            answer, offset = producer.repeat(client, "idempotent")
            self.assertEqual(answer, (0, offset))
            producer.send(client, "idempotent", b"goes on")
        newer = raw.Producer(client)
        self.assertNotIn(newer.id, [producer.id for producer in made.values()])
        transactional = raw.Transactional(client, "new")
        transactional.send(client, "plain", b"three")
        transactional.end(client, commit=True)
        raw.commit_offsets(client, "readers", "plain", {0: 1})
        before = view.whole(client)
        self.stop_and_check(node)
        self.assert_same(before, view.whole(self.start_barnabas(node)))
        self.stop_and_check(node)


class Refusals(MovingTest):
    """What Barnabas does not start on or with; no file that was there changes."""

    def refusal(self, node, *arguments, **settings):
        before = node.files()
        with self.assertRaises(BrokerError):
            node.start("barnabas", arguments, node.write_properties(**settings))
        self.assertEqual(before, {path: content for path, content in node.files().items() if path in before})
        return node.log().splitlines()[-1]

    def test_settings_that_protect_what_barnabas_could_not(self):
        node = self.node()
        guard = {"authorizer.class.name": "org.example.Guard"}
        for settings, named in (
                (guard, "authorizer.class.name"),
                ({"process.roles": "broker"}, "process.roles=broker"),
                ({"process.roles": "controller"}, "process.roles=controller"),
                ({"controller.quorum.voters": "1@a:1,2@b:2"}, "controller.quorum.voters"),
                ({"remote.log.storage.system.enable": "true"}, "remote.log.storage.system.enable")):
            with self.subTest(named):
                self.assertIn(named, self.refusal(node, **settings))
        node.start("barnabas", ["--override", "authorizer.class.name="], node.write_properties(**guard))
        node.stop()
        node.start("barnabas", [], node.write_properties(**AUTHORIZER))
        node.stop()

    def test_directories_that_wait_for_the_controllers_of_others(self):
        node = self.node()
        node.format("--no-initial-controllers")
        self.assertIn("join the controllers of others", self.refusal(node))

    def test_directories_of_a_quorum_of_two(self):
        node = self.node()
        voters = ",".join(f"{i}@{HOST}:{node.controller_port}:{peer.kafka_uuid()}" for i in (1, 2))
        node.format("--initial-controllers", voters)
        self.assertIn("has the voters 1, 2", self.refusal(node))


class LivingThrough(MovingTest):
    def test_clients_live_through_every_kind_of_move(self):
        node = self.node(log_dirs=2, properties=QUICK)
        node.format("--standalone")
        self.start_kafka(node).create_usable("living", 2, history.NEVER_EXPIRE)
        living = LivingClients(node.bootstrap, "living", 2, in_flight=1)
        self.addCleanup(living.abandon)
        moves = [("kafka", node.stop), ("barnabas", node.stop), ("kafka", node.kill), ("barnabas", node.kill)]
        for number, (target, end) in enumerate(moves):
            with self.subTest(number=number, target=target, end=end.__name__):
                if number:
                    node.start(target)
                living.await_progress()
                end()
                self.assert_no_complaint(node)
        for number in range(OPTIONS["--rounds"]):
            self.move_at_random(node, living, random.Random(OPTIONS["--seed"] + number))
        node.start("kafka")
        living.await_progress()
        living.finish()
        self.stop(node)


    def move_at_random(self, node, living, rng):
        """Either broker, ended in either way at any moment, that of its start included."""
        target, end = rng.choice(("kafka", "barnabas", "barnabas")), rng.choice((node.stop, node.kill, node.kill))
        while_starting = end == node.kill and rng.random() < 0.4
        with self.subTest(target=target, end=end.__name__, while_starting=while_starting):
            if while_starting:
                node.launch(target)
                time.sleep(rng.uniform(0, {"kafka": 5, "barnabas": 0.1}[target]))
            else:
                node.start(target)
                living.await_progress(rng.randrange(1, 500))
            end()


def take_options():
    for name in OPTIONS.keys() & set(sys.argv):
        at = sys.argv.index(name)
        OPTIONS[name] = int(sys.argv[at + 1])
        del sys.argv[at:at + 2]


if __name__ == "__main__":
    suite.require_kafka()
    take_options()
    unittest.main(verbosity=2)
