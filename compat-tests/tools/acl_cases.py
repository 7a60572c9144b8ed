"""Cases of tools_test.py: Apache Kafka's tool for access control entries."""

from sides import SideBySideTest


def sorted_lines(text):
    """The tool lists resources and entries in the order of hash tables."""
    return "\n".join(sorted(line.strip() for line in text.splitlines()))


class AccessControl(SideBySideTest):
    def said_by_both(self, *arguments, **options):
        return self.once("acls", *arguments, normal=sorted_lines, **options)

    def listed(self, *arguments):
        return self.same("acls", "--list", *arguments, normal=sorted_lines)

    def test_entries_from_making_to_removal(self):
        self.listed()
        alice = ("--allow-principal", "User:alice", "--operation", "Read", "--operation", "Describe", "--topic", "orders")
        self.said_by_both("--add", *alice)
        self.said_by_both("--add", *alice)
        self.said_by_both("--add", "--deny-principal", "User:bob", "--deny-host", "10.0.0.1", "--operation", "All",
                          "--topic", "orders-", "--resource-pattern-type", "prefixed")
        self.said_by_both("--add", "--allow-principal", "User:app", "--producer", "--topic", "orders",
                          "--transactional-id", "orders", "--idempotent")
        self.said_by_both("--add", "--allow-principal", "User:app", "--allow-host", "10.0.0.0/8", "--consumer",
                          "--topic", "*", "--group", "app")
        self.said_by_both("--add", "--allow-principal", "User:ops", "--operation", "AlterConfigs", "--cluster")
        self.assertIn("User:ops", self.listed())
        self.listed("--topic", "orders")
        self.listed("--topic", "orders-7", "--resource-pattern-type", "match")
        self.listed("--topic", "orders", "--resource-pattern-type", "any")
        self.listed("--group", "app")
        self.listed("--principal", "User:app")
        self.said_by_both("--remove", "--force", *alice)
        self.listed("--topic", "orders")
        self.said_by_both("--remove", "--force", "--topic", "orders-7", "--resource-pattern-type", "match")
        self.listed()
        self.said_by_both("--remove", "--force", "--cluster")
        self.said_by_both("--remove", "--force", "--group", "*")
        self.listed()

    def test_what_cannot_be_an_entry(self):
        for arguments in (["--topic", "t", "--operation", "Read"],
                          ["--topic", "t", "--allow-principal", "alice", "--operation", "Read"],
                          ["--topic", "t", "--allow-principal", "User:a", "--operation", "Sing"],
                          ["--cluster", "--allow-principal", "User:a", "--operation", "Read"],
                          ["--topic", "t", "--allow-principal", "User:a", "--allow-host", "10.0.0.0/99", "--operation", "Read"]):
            with self.subTest(arguments=arguments):
                self.said_by_both("--add", *arguments, exit_code=1)
