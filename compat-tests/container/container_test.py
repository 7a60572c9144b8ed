#!/usr/bin/env python3
"""The container image: what is in it, who runs it, and how the start scripts of others start it. No engine is needed: the
root file system is made with mmdebstrap and run in namespaces."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "harness"))
sys.path.insert(0, str(HERE))

import root_file_system  # noqa: E402
import suite  # noqa: E402
from container import Container  # noqa: E402

SIZE_MAX = 160 << 20
READY = "Transitioning from RECOVERY to RUNNING"
STARTED = "Kafka Server started"
CLUSTER_ID = "4L6g3nShT-eMCtK--X86sw"


class ContainerTest(unittest.TestCase):
    root = None

    def container(self, *arguments, **options):
        container = Container(self.root, *arguments, **options)
        container.start()
        self.addCleanup(container.__exit__)
        return container

    def assert_serves(self, container, address="localhost:9092", arguments=()):
        """A record can be written and read at this address, which is the one that clients are told."""
        self.assertIn(f"at {address}", container.run("kcat", "-b", address, *arguments, "-L"))
        container.run("kcat", "-b", address, *arguments, "-P", "-t", "greetings", "-X", "acks=all", stdin="hello\n")
        read = container.run("kcat", "-b", address, *arguments, "-C", "-q", "-e", "-t", "greetings")
        self.assertEqual(read, "hello\n")


class Contents(ContainerTest):
    def inside(self, *command, user="1000:0"):
        done = subprocess.run(["chroot", f"--userspec={user}", self.root, *command], capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, f"{command}: {done.stderr}")
        return done.stdout

    def test_small(self):
        size = int(subprocess.run(["du", "-sbx", self.root], capture_output=True, text=True, check=True).stdout.split()[0])
        self.assertLess(size, SIZE_MAX)

    def test_what_start_scripts_use_is_there(self):
        for tool in ("bash", "sh", "sleep", "sed", "hostname", "barnabas", "kafka-storage"):
            self.assertTrue(self.inside("sh", "-c", f"command -v {tool}").strip(), tool)
        for maker in ("kafka", "confluent"):
            for script in ("run", "configure", "launch", "bash-config"):
                path = self.root / "etc" / maker / "docker" / script
                self.assertEqual(os.access(path, os.X_OK), script != "bash-config", path)

    def test_binary_has_its_libraries(self):
        self.assertNotIn("not found", self.inside("ldd", "/usr/bin/barnabas"))
        self.assertRegex(self.inside("barnabas", "--version"), r"^barnabas \d")

    def test_user_is_not_root_and_group_0_may_write_where_the_broker_does(self):
        user = root_file_system.instructions()["USER"]
        self.assertEqual(user, "1000:0")
        self.assertEqual(self.inside("id", "-un", user=user).strip(), "appuser")
        for directory in [*root_file_system.instructions()["VOLUME"], "/etc/confluent/docker", "/etc/kafka"]:
            for user in ("1000:0", "123456:0"):
                self.inside("sh", "-c", f"touch {directory}/probe && rm {directory}/probe", user=user)


class Start(ContainerTest):
    def test_with_nothing_said_and_stop(self):
        container = self.container()
        container.await_log(STARTED)
        self.assertEqual(container.log.count(READY), 1)
        self.assert_serves(container)
        self.assertTrue((container.path("/var/lib/kafka/data/greetings-0")).is_dir())
        container.inside("barnabas", "healthcheck")
        self.assertEqual(container.stop(), 0)

    def test_as_any_user_of_group_0_with_what_the_volume_has(self):
        with tempfile.TemporaryDirectory() as volume:
            os.chown(volume, 0, 0)
            os.chmod(volume, 0o770)
            for _ in range(2):
                container = self.container(user="123456:0", mounts={"/var/lib/kafka/data": volume},
                                           environment={"CLUSTER_ID": CLUSTER_ID})
                container.await_log(STARTED)
                self.assertIn(f"cluster={CLUSTER_ID}", container.log)
                self.assertEqual(container.stop(), 0)

    def test_environment_wins_over_a_mounted_file_and_that_over_the_images_own(self):
        with tempfile.TemporaryDirectory() as config:
            os.chmod(config, 0o755)
            pathlib.Path(config, "server.properties").write_text(
                "process.roles=broker,controller\nnode.id=7\nnum.partitions=3\nlisteners=PLAINTEXT://localhost:9099\n"
                "log.dirs=/var/lib/kafka/data\ndefault.replication.factor=1\n")
            container = self.container(mounts={"/mnt/shared/config": config}, environment={"KAFKA_CFG_NUM_PARTITIONS": "5"})
            container.await_log(STARTED)
            self.assertIn("[KafkaServer id=7] started", container.log)
            self.assert_serves(container, "localhost:9099")
            listed = container.run("kcat", "-b", "localhost:9099", "-L", "-t", "greetings")
            self.assertEqual(listed.count("    partition "), 5)

    def test_variables_of_others_do_not_hinder(self):
        container = self.container(environment={
            "KAFKA_HEAP_OPTS": "-Xmx512m", "KAFKA_JMX_PORT": "9101", "KAFKA_ENABLE_KRAFT": "yes", "KAFKA_NUM_PARTITONS": "3",
            "ALLOW_PLAINTEXT_LISTENER": "yes", "KAFKA_LOG4J_ROOT_LOGLEVEL": "LOUD", "KAFKA_PORT": "tcp://10.0.0.1:9092"})
        container.await_log(STARTED)
        self.assertIn("KAFKA_NUM_PARTITONS: unknown setting num.partitons", container.log)
        self.assertIn("did you mean num.partitions?", container.log)
        self.assertIn("ignored: KAFKA_LOG4J_ROOT_LOGLEVEL", container.log)

    def test_log_level(self):
        container = self.container(environment={"KAFKA_LOG4J_ROOT_LOGLEVEL": "error"})
        container.await_true(lambda: container.run("kcat", "-b", "localhost:9092", "-L", "-m", "1", check=False), "answer")
        self.assertEqual(container.log, "")

    def test_what_is_wrong_is_one_line_and_exit_code_1(self):
        for environment, parts in (({"KAFKA_NUM_PARTITIONS": "many"}, ("KAFKA_NUM_PARTITIONS", "many")),
                                   ({"CLUSTER_ID": "not an id"}, ("CLUSTER_ID", "not an id")),
                                   ({"KAFKA_SSL_KEYSTORE_CREDENTIALS": "gone"}, ("/etc/kafka/secrets/gone",))):
            container = self.container(environment=environment)
            self.assertEqual(container.wait(), 1)
            lines = container.log.splitlines()
            self.assertEqual(len(lines), 1, lines)
            for part in parts:
                self.assertIn(part, lines[0])


class Secrets(ContainerTest):
    def test_commands_of_the_readme_and_settings_of_the_compose_file_make_a_tls_broker(self):
        readme = (root_file_system.DOCKER / "README.md").read_text()
        commands = next(block for block in re.findall(r"```\n(.*?)```", readme, re.DOTALL) if "pkcs12" in block)
        making = commands[:commands.index("docker compose")]
        with tempfile.TemporaryDirectory() as home:
            pathlib.Path(home, "docker").mkdir()
            subprocess.run(["sh", "-e", "-c", making], cwd=home, check=True, capture_output=True)
            secrets = pathlib.Path(home, "docker", "secrets")
            for path in (secrets, *secrets.iterdir()):
                os.chown(path, 1000, 0)
            container = self.container(environment=compose()["broker-tls"]["environment"],
                                       mounts={"/etc/kafka/secrets": secrets})
            container.await_log(STARTED)
            self.assert_serves(container, "localhost:9093", ("-X", "security.protocol=ssl", "-X",
                                                             f"ssl.ca.location={secrets}/certificate.pem"))
            (secrets / "keystore-password").write_text("wrong\n")
            container = self.container(environment=compose()["broker-tls"]["environment"],
                                       mounts={"/etc/kafka/secrets": secrets})
            self.assertEqual(container.wait(), 1)
            self.assertIn("/etc/kafka/secrets/keystore.p12", container.log.splitlines()[-1])


def compose():
    """The services of docker/compose.yaml."""
    import yaml  # noqa: PLC0415  Debian's, which CI has

    return yaml.safe_load((root_file_system.DOCKER / "compose.yaml").read_text())["services"]


class Compose(ContainerTest):
    def test_broker_is_there_for_the_machine_and_for_the_console(self):
        service = compose()["broker"]
        container = self.container(environment=service["environment"], hosts=["broker"])
        container.await_log(STARTED)
        self.assert_serves(container)
        console = compose()["console"]["environment"]["KAFKA_BROKERS"]
        told = container.run("kcat", "-b", f"localhost:{console.partition(':')[2]}", "-L")
        self.assertIn(f"at {console}", told)


class Testcontainers(ContainerTest):
    """Environment, command and start script as the modules set them (docs of each, read in 2026)."""

    JAVA = {
        "CLUSTER_ID": CLUSTER_ID,
        "KAFKA_LISTENERS": "PLAINTEXT://:9092,BROKER://:9093,CONTROLLER://:9094",
        "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
        "KAFKA_PROCESS_ROLES": "broker,controller",
        "KAFKA_CONTROLLER_LISTENER_NAMES": "CONTROLLER",
        "KAFKA_NODE_ID": "1",
        "KAFKA_CONTROLLER_QUORUM_VOTERS": "1@localhost:9094",
        "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
        "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
        "KAFKA_TRANSACTION_STATE_LOG_REPLICATION_FACTOR": "1",
        "KAFKA_TRANSACTION_STATE_LOG_MIN_ISR": "1",
        "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "9223372036854775807",
        "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0",
    }

    def java(self, run, environment=None, listeners=""):
        script = "/tmp/testcontainers_start.sh"
        command = ["sh", "-c", f"while [ ! -f {script} ]; do sleep 0.1; done; {script}"]
        container = self.container(command, environment=self.JAVA | (environment or {}), hosts=["kafka"])
        container.copy_in(script, "#!/bin/bash\nexport KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9092,"
                          f"BROKER://c0ffee123456:9093{listeners}\n{run} \n", 0o777)
        container.await_log(READY)
        self.assertIn(f"cluster={CLUSTER_ID}", container.log)
        self.assertIn("before the disk has the records, as set by KAFKA_LOG_FLUSH_INTERVAL_MESSAGES", container.log)
        return container

    def test_java_kafka_container(self):
        self.assert_serves(self.java("/etc/kafka/docker/run"))

    def test_java_confluent_kafka_container(self):
        self.assert_serves(self.java("/etc/confluent/docker/run"))

    def test_java_kafka_container_with_a_listener_of_its_own(self):
        container = self.java("/etc/kafka/docker/run", {
            # In the order of a Java set.
            "KAFKA_LISTENERS": "CONTROLLER://:9094,TC-0://kafka:19092,BROKER://:9093,PLAINTEXT://:9092",
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP":
                "TC-0:PLAINTEXT,BROKER:PLAINTEXT,CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT"}, ",TC-0://kafka:19092")
        self.assert_serves(container)
        self.assertIn("at kafka:19092", container.run("kcat", "-b", "127.0.0.1:19092", "-L"))

    def test_go_module(self):
        script = "/usr/sbin/testcontainers_start.sh"
        command = ["sh", "-c", f"while [ ! -f {script} ]; do sleep 0.1; done; bash {script}"]
        environment = {name: value for name, value in self.JAVA.items() if name != "CLUSTER_ID"} | {
            "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092,CONTROLLER://0.0.0.0:9094",
            "KAFKA_REST_BOOTSTRAP_SERVERS": "PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092,CONTROLLER://0.0.0.0:9094",
            "KAFKA_BROKER_ID": "1"}
        container = self.container(command, environment=environment)
        container.copy_in(script, """#!/bin/bash
source /etc/confluent/docker/bash-config
export KAFKA_ADVERTISED_LISTENERS="PLAINTEXT://localhost:9093,BROKER://c0ffee123456:9092${EXTRA_ADVERTISED_LISTENERS:+,${EXTRA_ADVERTISED_LISTENERS}}"
echo Starting Kafka KRaft mode
sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure
echo 'kafka-storage format --ignore-formatted -t "$(kafka-storage random-uuid)" -c /etc/kafka/kafka.properties' >> /etc/confluent/docker/configure
echo '' > /etc/confluent/docker/ensure
/etc/confluent/docker/configure
/etc/confluent/docker/launch""", 0o755)
        container.await_log(READY)
        self.assertIn("Formatted metadata directory /var/lib/kafka/data", container.log)
        self.assert_serves(container, "localhost:9093")

    def python(self, boot, **environment):
        script = "/tc-start.sh"
        command = ["sh", "-c", f"while [ ! -f {script} ]; do sleep 0.1; done; sh {script}"]
        container = self.container(command, environment={
            "KAFKA_LISTENERS": "PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092",
            "KAFKA_LISTENER_SECURITY_PROTOCOL_MAP": "BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT",
            "KAFKA_INTER_BROKER_LISTENER_NAME": "BROKER",
            "KAFKA_BROKER_ID": "1",
            "KAFKA_OFFSETS_TOPIC_REPLICATION_FACTOR": "1",
            "KAFKA_OFFSETS_TOPIC_NUM_PARTITIONS": "1",
            "KAFKA_LOG_FLUSH_INTERVAL_MESSAGES": "10000000",
            "KAFKA_GROUP_INITIAL_REBALANCE_DELAY_MS": "0"} | environment)
        container.copy_in(script, f"""#!/bin/bash
{boot}
export KAFKA_ADVERTISED_LISTENERS=PLAINTEXT://localhost:9093,BROKER://$(hostname -i):9092
. /etc/confluent/docker/bash-config
/etc/confluent/docker/configure
/etc/confluent/docker/launch""", 0o644)
        return container

    def test_python_module(self):
        # Ordinary base64, as that module makes it.
        cluster_id = "0/Dr+lWCQwKzcvx7aRtSBw=="
        container = self.python(
            "sed -i '/KAFKA_ZOOKEEPER_CONNECT/d' /etc/confluent/docker/configure\n"
            f"echo 'kafka-storage format --ignore-formatted -t {cluster_id} -c /etc/kafka/kafka.properties' "
            ">> /etc/confluent/docker/configure",
            CLUSTER_ID=cluster_id, KAFKA_NODE_ID="1",
            KAFKA_LISTENER_SECURITY_PROTOCOL_MAP="BROKER:PLAINTEXT,PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            KAFKA_LISTENERS="PLAINTEXT://0.0.0.0:9093,BROKER://0.0.0.0:9092,CONTROLLER://0.0.0.0:9094",
            KAFKA_PROCESS_ROLES="broker,controller", KAFKA_CONTROLLER_QUORUM_VOTERS="1@localhost:9094",
            KAFKA_CONTROLLER_LISTENER_NAMES="CONTROLLER")
        container.await_log(STARTED)
        self.assertIn(f"cluster={cluster_id}", container.log)
        self.assert_serves(container, "localhost:9093")

    def test_python_module_that_wants_zookeeper(self):
        container = self.python("zookeeper-server-start zookeeper.properties &\nexport KAFKA_ZOOKEEPER_CONNECT='localhost:2181'")
        container.await_log("[KafkaServer id=1] started")
        self.assert_serves(container, "localhost:9093")


if __name__ == "__main__":
    root_file_system.require()
    ContainerTest.root = root_file_system.image()
    unittest.main(verbosity=2)
