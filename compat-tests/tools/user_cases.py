"""Cases of tools_test.py: Apache Kafka's tools for those who may log in, kafka-configs (SCRAM users) and
kafka-delegation-tokens."""

import re
import tempfile

from base import eventually
from sides import TARGETS, SideBySideTest

LISTENER = "SECURED"
PROPERTIES = {
    "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-256",
    "listener.name.secured.plain.sasl.jaas.config":
        'org.apache.kafka.common.security.plain.PlainLoginModule required user_alice="alice-secret" user_bob="b";',
    "listener.name.secured.scram-sha-256.sasl.jaas.config":
        "org.apache.kafka.common.security.scram.ScramLoginModule required;",
    "delegation.token.secret.key": "a key that nobody guesses",
}


class ScramUsers(SideBySideTest):
    def alter(self, user, *options, **fields):
        return self.once("configs", "--alter", "--entity-type", "users", "--entity-name", user, *options, **fields)

    def describe(self, *options):
        return self.same("configs", "--describe", "--entity-type", "users", *options, normal=self.in_order)

    @staticmethod
    def in_order(text):
        """Users, and the mechanisms of each, come in the order of Java's hash tables, which is another one in each JVM."""
        told = (line.partition(" are ") for line in text.splitlines())
        return "\n".join(sorted(who + are + ", ".join(sorted(what.split(", "))) for who, are, what in told))

    def test_from_creation_to_deletion(self):
        self.alter("tool-alice", "--add-config", "SCRAM-SHA-256=[password=alice-secret]")
        self.alter("tool-alice", "--add-config", "SCRAM-SHA-512=[iterations=8192,password=alice-secret]")
        self.alter("tool-bob", "--add-config", "SCRAM-SHA-256=[iterations=4096,password=b]")
        self.describe()
        self.describe("--entity-name", "tool-alice")
        self.describe("--entity-name", "nobody")
        self.alter("tool-alice", "--delete-config", "SCRAM-SHA-256")
        self.describe("--entity-name", "tool-alice")
        self.alter("tool-alice", "--delete-config", "SCRAM-SHA-512")
        self.describe()

    def test_what_is_refused(self):
        self.alter("few", "--add-config", "SCRAM-SHA-256=[iterations=100,password=x]", exit_code=1)
        self.alter("many", "--add-config", "SCRAM-SHA-512=[iterations=100000,password=x]", exit_code=1)
        self.alter("nobody", "--delete-config", "SCRAM-SHA-512", exit_code=1)
        self.alter("both", "--add-config", "SCRAM-SHA-256=[password=x],SCRAM-SHA-512=[password=x]", exit_code=None)
        self.describe("--entity-name", "both")


class DelegationTokens(SideBySideTest):
    @staticmethod
    def normal(text):
        text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d", "MOMENT", text)
        text = re.sub(r"\w{3} \w{3} \d\d \d\d:\d\d:\d\d \w+ \d{4}", "MOMENT", text)
        lines = [" ".join(line.split()) for line in text.splitlines()]
        return "\n".join(sorted(lines))

    def login(self, user, password):
        """A file for --command-config."""
        file = tempfile.NamedTemporaryFile("w", suffix=".properties")
        self.addCleanup(file.close)
        file.write("security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\nsasl.jaas.config=org.apache.kafka.common."
                   f'security.plain.PlainLoginModule required username="{user}" password="{password}";\n')
        file.flush()
        return file.name

    def tokens(self, *arguments, user=("alice", "alice-secret"), **fields):
        return self.once("delegation-tokens", "--bootstrap-server", lambda side: side.broker.address(LISTENER),
                         "--command-config", self.login(*user), *arguments, bootstrap=False, normal=self.normal, **fields)

    def secrets(self):
        """Of the one token there is, for --hmac."""
        login, found = self.login("alice", "alice-secret"), {}

        def secret(target):
            code, out, err = self.ask(target, "delegation-tokens", "--bootstrap-server",
                                      lambda side: side.broker.address(LISTENER), "--command-config", login,
                                      "--describe", "--owner-principal", "User:alice", bootstrap=False, raw=True)
            self.assertEqual(code, 0, err)
            return re.search(r"[A-Za-z0-9+/]{86}==", out)

        for target in TARGETS:
            # Apache Kafka's broker hears of it a moment after its controller has answered.
            found[target] = eventually(lambda target=target: secret(target))[0]
        return lambda side: found[side.target]

    def test_from_creation_to_the_end(self):
        self.tokens("--create", "--max-life-time-period", -1, "--renewer-principal", "User:bob")
        hmac = self.secrets()
        self.tokens("--describe")
        self.tokens("--describe", "--owner-principal", "User:alice")
        self.tokens("--describe", "--owner-principal", "User:nobody")
        self.tokens("--renew", "--renew-time-period", -1, "--hmac", hmac, user=("bob", "b"))
        self.tokens("--expire", "--expiry-time-period", -1, "--hmac", hmac)
        self.tokens("--renew", "--renew-time-period", -1, "--hmac", hmac, exit_code=1)

    def test_a_plaintext_listener_gives_none(self):
        file = tempfile.NamedTemporaryFile("w", suffix=".properties")
        self.addCleanup(file.close)
        self.once("delegation-tokens", "--command-config", file.name, "--create", "--max-life-time-period", -1,
                  exit_code=1, normal=self.normal)
