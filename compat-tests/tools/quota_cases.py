"""Cases of tools_test.py: kafka-configs on quotas of users, clients and addresses."""

from sides import SideBySideTest


def sorted_parts(text):
    """Values come in the order of a hash table."""
    return "\n".join(sorted(", ".join(sorted(line.split(", "))) for line in text.splitlines()))


class Quotas(SideBySideTest):
    ENTITIES = {
        "user": ["--entity-type", "users", "--entity-name", "alice"],
        "default user": ["--entity-type", "users", "--entity-default"],
        "client": ["--entity-type", "clients", "--entity-name", "app"],
        "default client": ["--entity-type", "clients", "--entity-default"],
        "both": ["--entity-type", "users", "--entity-name", "alice", "--entity-type", "clients", "--entity-name", "app"],
        "user's default client": ["--entity-type", "users", "--entity-name", "alice",
                                  "--entity-type", "clients", "--entity-default"],
        "address": ["--entity-type", "ips", "--entity-name", "192.0.2.7"],
        "default address": ["--entity-type", "ips", "--entity-default"],
    }

    def configs(self, *arguments, **options):
        self.same("configs", "--describe", *arguments, **{"normal": sorted_parts, **options})

    def test_quotas_are_set_described_and_deleted(self):
        for number, (kind, entity) in enumerate(self.ENTITIES.items()):
            values = ("connection_creation_rate=10000" if "address" in kind else
                      f"producer_byte_rate=9{number}00000000,consumer_byte_rate=2000000000,request_percentage=5000.5")
            self.once("configs", "--alter", *entity, "--add-config", values)
        for entity in self.ENTITIES.values():
            self.configs(*entity)
        for kind in ("users", "clients", "ips"):
            self.configs("--entity-type", kind)
        self.configs("--entity-type", "users", "--entity-type", "clients")
        self.once("configs", "--alter", *self.ENTITIES["user"], "--delete-config", "producer_byte_rate")
        self.configs(*self.ENTITIES["user"])
        for kind, entity in self.ENTITIES.items():
            names = ("connection_creation_rate" if "address" in kind else
                     "consumer_byte_rate,request_percentage" + ("" if kind == "user" else ",producer_byte_rate"))
            self.once("configs", "--alter", *entity, "--delete-config", names)
        for kind in ("users", "clients", "ips"):
            self.configs("--entity-type", kind)

    def test_what_is_refused(self):
        for kind, bad in (("user", "producer_byte_rate=-1"), ("user", "producer_byte_rate=0.5"),
                          ("client", "request_percentage=0"), ("address", "connection_creation_rate=0")):
            self.once("configs", "--alter", *self.ENTITIES[kind], "--add-config", bad, exit_code=1)
