"""AlterClientQuotas and DescribeClientQuotas (KIP-546): what is accepted, what is refused and how, what is found."""

import unittest

import apis
import codes
from base import ConformanceTest, eventually
from differences import differ
from quotas import alteration, altered, described, entity

EXACT, DEFAULT, SPECIFIED = 0, 1, 2
INVALID = codes.INVALID_REQUEST


class Alter(ConformanceTest):
    def alter_one(self, parts, *ops, **fields):
        """(code, message)"""
        got = altered(self.client, alteration(parts, *ops), **fields)
        self.assertEqual(len(got), 1)
        self.assertEqual(sorted(got[0][2], key=str),
                         sorted(((p["entityType"], p["entityName"]) for p in parts), key=str))
        return got[0][:2]

    def values(self, parts):
        match = [(p["entityType"], EXACT if p["entityName"] is not None else DEFAULT, p["entityName"]) for p in parts]
        found = described(self.client, *match, strict=True)
        self.assertLessEqual(len(found), 1)
        return next(iter(found.values()), {})

    def assert_values(self, parts, expected):
        """Apache Kafka's brokers learn of a change a little later than its controller."""
        eventually(lambda: self.values(parts) == expected, timeout_s=5)
        self.assertEqual(self.values(parts), expected)

    def test_values_of_every_kind_of_entity_are_set_changed_and_removed(self):
        user, client = self.new_name("u"), self.new_name("c")
        for version in apis.versions("AlterClientQuotas"):
            for parts in (entity(user=user), entity(client_id=client), entity(user=user, client_id=client),
                          entity(client_id=client, user=None), entity(user=user, client_id=None),
                          entity(user=None, client_id=None), entity(user=None), entity(client_id=None)):
                self.assertEqual(self.alter_one(parts, ("producer_byte_rate", 1e9), ("consumer_byte_rate", 2e9),
                                                ("request_percentage", 1234.5), ("controller_mutation_rate", 0.25e6),
                                                version=version), (codes.NONE, None))
                self.assert_values(parts, {"producer_byte_rate": 1e9, "consumer_byte_rate": 2e9,
                                                      "request_percentage": 1234.5, "controller_mutation_rate": 0.25e6})
                self.assertEqual(self.alter_one(parts, ("producer_byte_rate", 3e9), ("consumer_byte_rate", None),
                                                ("request_percentage", None), ("controller_mutation_rate", None),
                                                version=version), (codes.NONE, None))
                self.assert_values(parts, {"producer_byte_rate": 3e9})
                self.assertEqual(self.alter_one(parts, ("producer_byte_rate", None), version=version),
                                 (codes.NONE, None))
                self.assert_values(parts, {})

    def test_addresses(self):
        for name in ("192.0.2.9", "2001:db8::9", None):
            parts = entity(ip=name)
            self.assertEqual(self.alter_one(parts, ("connection_creation_rate", 100_000)), (codes.NONE, None))
            self.assert_values(parts, {"connection_creation_rate": 100_000})
            self.assertEqual(self.alter_one(parts, ("connection_creation_rate", None)), (codes.NONE, None))
            self.assert_values(parts, {})
        for name in ("no such", "999.1.1.1", "192.0.2.9 ", "0x7f.1", "fe80::1%nowhere"):
            self.assertEqual(self.alter_one(entity(ip=name), ("connection_creation_rate", 5)),
                             (INVALID, f"{name} is not a valid IP or resolvable host."))
        for name in ("localhost", "192.2"):
            code, message = self.alter_one(entity(ip=name), ("connection_creation_rate", 5))
            self.assertEqual(code, differ("quota-of-a-host-name"), message)
            self.alter_one(entity(ip=name), ("connection_creation_rate", None))

    def test_entities_that_cannot_be(self):
        combination = "Invalid quota entity combination, IP entity shouldnot be combined with User or ClientId"
        for version in apis.versions("AlterClientQuotas"):
            for parts, message in (
                    (entity(), "Invalid empty client quota entity"),
                    (entity(group="g"), "Unhandled client quota entity type: group"),
                    (entity(group=""), "Unhandled client quota entity type: group"),
                    (entity(user=""), "Empty user not supported"),
                    (entity(client_id=""), "Empty client-id not supported"),
                    (entity(ip=""), "Empty ip not supported"),
                    (entity(ip="192.0.2.1", user="u"), combination),
                    (entity(ip=None, client_id="c"), combination)):
                self.assertEqual(self.alter_one(parts, ("producer_byte_rate", 5), version=version),
                                 (INVALID, message))

    def test_values_that_cannot_be(self):
        rates = ("producer_byte_rate", "consumer_byte_rate")
        decimals = ("request_percentage", "controller_mutation_rate")
        user, address = entity(user=self.new_name()), entity(ip="192.0.2.77")
        for parts, keys in ((user, rates + decimals), (address, ("connection_creation_rate",))):
            for key in keys:
                for value in (0.0, -0.0, -1.0, -1e-9):
                    self.assertEqual(self.alter_one(parts, (key, value)),
                                     (INVALID, f"Quota {key} must be greater than 0"))
                for value in (float("inf"), float("nan"), float("-inf")):
                    self.assertEqual(self.alter_one(parts, (key, value)),
                                     (INVALID, f"Quota {key} must be a finite number"))
                fraction = (codes.NONE, None) if key in decimals else (INVALID, f"{key} cannot be a fractional value.")
                for value in (0.5, 1234.25, 1.00001):
                    self.assertEqual(self.alter_one(parts, (key, value)), fraction)
                for value in (1e-7, 1.0000001):
                    self.assertEqual(self.alter_one(parts, (key, value)), (codes.NONE, None))
                self.alter_one(parts, (key, None))
        for key in rates:
            self.assertEqual(self.alter_one(user, (key, 2.0**63)), (codes.NONE, None))
            self.assertEqual(self.alter_one(user, (key, 2.0**64)),
                             (INVALID, f"Proposed value for {key} is too large for a LONG."))
            self.alter_one(user, (key, None))
        self.assertEqual(self.alter_one(address, ("connection_creation_rate", 2.0**31)),
                         (INVALID, "Proposed value for connection_creation_rate is too large for an INT."))

    def test_keys_that_cannot_be(self):
        user, address = entity(user=self.new_name()), entity(ip="192.0.2.78")
        for parts, key in ((user, "nope"), (user, ""), (user, "connection_creation_rate"),
                           (address, "producer_byte_rate"), (user, "PRODUCER_BYTE_RATE")):
            for value in (5, -5, float("nan")):
                self.assertEqual(self.alter_one(parts, (key, value)), (INVALID, f"Invalid configuration key {key}"))
            self.assertEqual(self.alter_one(parts, (key, None)), (codes.NONE, None))

    def test_one_bad_value_leaves_the_whole_entity_as_it_was(self):
        bad, good = entity(user=self.new_name("bad")), entity(user=self.new_name("good"))
        got = altered(self.client, alteration(bad, ("producer_byte_rate", 5e9), ("consumer_byte_rate", -1)),
                      alteration(good, ("producer_byte_rate", 5e9)))
        self.assertEqual(sorted(one[0] for one in got), [codes.NONE, INVALID])
        self.assert_values(bad, {})
        self.assert_values(good, {"producer_byte_rate": 5e9})

    def test_an_entity_or_a_key_that_is_there_twice(self):
        name = self.new_name()
        parts = entity(client_id="c", user=name)
        message = f"Ignoring duplicate entity ClientQuotaEntity(entries={{client-id=c, user={name}}})"
        self.assertEqual(self.alter_one(parts, ("producer_byte_rate", 5e9), ("producer_byte_rate", 6e9)),
                         (INVALID, message))
        self.assert_values(parts, {})
        got = altered(self.client, alteration(parts, ("producer_byte_rate", 5e9)),
                      alteration(entity(user=name, client_id="c"), ("consumer_byte_rate", 5e9)))
        self.assertEqual(got, [(INVALID, message, [("client-id", "c"), ("user", name)])])
        self.assert_values(parts, {"producer_byte_rate": 5e9})
        default = entity(user=None, client_id=name)
        got = altered(self.client, *[alteration(default, ("producer_byte_rate", None))] * 2)
        self.assertEqual([one[1] for one in got],
                         [f"Ignoring duplicate entity ClientQuotaEntity(entries={{client-id={name}, user=null}})"])

    def test_of_a_type_that_is_there_twice_the_last_name_counts(self):
        names = [self.new_name(hint) for hint in "ab"]
        got = altered(self.client, alteration([*entity(user=names[0]), *entity(user=names[1])],
                                              ("producer_byte_rate", 5e9)))
        self.assertEqual(got, [(codes.NONE, None, [("user", names[1])])])
        self.assert_values(entity(user=names[0]), {})

    def test_nothing_to_do(self):
        self.assertEqual(altered(self.client), [])
        self.assertEqual(self.alter_one(entity(user=self.new_name())), (codes.NONE, None))

    def test_validation_alone_changes_nothing(self):
        parts = entity(user=self.new_name())
        for version in apis.versions("AlterClientQuotas"):
            self.assertEqual(self.alter_one(parts, ("producer_byte_rate", 5e9), version=version, validate_only=True),
                             (codes.NONE, None))
            self.assertEqual(self.alter_one(parts, ("producer_byte_rate", -5), version=version, validate_only=True),
                             (INVALID, "Quota producer_byte_rate must be greater than 0"))
        self.assert_values(parts, {})


class Describe(ConformanceTest):
    def setUp(self):
        super().setUp()
        self.user, self.other, self.name = (self.new_name(hint) for hint in ("u", "o", "c"))
        made = (entity(user=self.user), entity(user=self.user, client_id=self.name),
                entity(user=self.user, client_id=None), entity(client_id=self.name), entity(user=self.other))
        values = (1e9, 2e9, 3e9, 4e9, 5e9)
        altered(self.client, *(alteration(parts, ("producer_byte_rate", value)) for parts, value in zip(made, values)))
        eventually(lambda: len(self.found()) == len(made))
        self.addCleanup(lambda: altered(
            self.client, *(alteration(parts, ("producer_byte_rate", None)) for parts in made)))

    def found(self, *components, **fields):
        got = described(self.client, *components, **fields)
        return {parts: values["producer_byte_rate"] for parts, values in got.items()
                if any(name in (self.user, self.other, self.name) for _, name in parts)}

    def test_components_and_strictness(self):
        user, both = (("user", self.user),), (("client-id", self.name), ("user", self.user))
        default = (("client-id", None), ("user", self.user))
        other, alone = (("user", self.other),), (("client-id", self.name),)
        for version in apis.versions("DescribeClientQuotas"):
            def found(*components, strict=False):
                return self.found(*components, strict=strict, version=version)
            self.assertEqual(found(), {user: 1e9, both: 2e9, default: 3e9, alone: 4e9, other: 5e9})
            self.assertEqual(found(strict=True), {})
            self.assertEqual(found(("user", EXACT, self.user)), {user: 1e9, both: 2e9, default: 3e9})
            self.assertEqual(found(("user", EXACT, self.user), strict=True), {user: 1e9})
            self.assertEqual(found(("client-id", EXACT, self.name)), {both: 2e9, alone: 4e9})
            self.assertEqual(found(("client-id", EXACT, self.name), strict=True), {alone: 4e9})
            self.assertEqual(found(("user", SPECIFIED, None), strict=True), {user: 1e9, other: 5e9})
            self.assertEqual(found(("user", SPECIFIED, None), ("client-id", SPECIFIED, None)),
                             {both: 2e9, default: 3e9})
            self.assertEqual(found(("client-id", DEFAULT, None)), {default: 3e9})
            self.assertEqual(found(("user", EXACT, self.user), ("client-id", DEFAULT, None), strict=True),
                             {default: 3e9})
            self.assertEqual(found(("user", DEFAULT, None)), {})
            self.assertEqual(found(("ip", SPECIFIED, None)), {})

    def test_success_says_so(self):
        for version in apis.versions("DescribeClientQuotas"):
            got = self.client.call("DescribeClientQuotas", version, strict=True, components=[])
            self.assertEqual((got.errorCode, got.errorMessage, got.entries), (codes.NONE, "", []))

    def test_components_that_cannot_be(self):
        for version in apis.versions("DescribeClientQuotas"):
            for components, code, message in (
                    ([("user", EXACT, None)], INVALID,
                     "Request specified MATCH_TYPE_EXACT, but set match string to null."),
                    ([("user", DEFAULT, "x")], INVALID,
                     "Request specified MATCH_TYPE_DEFAULT, but also specified a match string."),
                    ([("client-id", SPECIFIED, "")], INVALID,
                     "Request specified MATCH_TYPE_SPECIFIED, but also specified a match string."),
                    ([("user", 3, None)], INVALID, "Unknown match type 3"),
                    ([("user", -1, None)], INVALID, "Unknown match type -1"),
                    ([("", EXACT, "x")], INVALID, "Invalid empty entity type."),
                    ([("", 7, "x")], INVALID, "Invalid empty entity type."),
                    ([("group", EXACT, "x")], codes.UNSUPPORTED_VERSION, "Unsupported entity type group"),
                    ([("group", 7, None)], codes.UNSUPPORTED_VERSION, "Unsupported entity type group"),
                    ([("user", EXACT, "x"), ("user", SPECIFIED, None)], INVALID,
                     "Entity type user cannot appear more than once in the filter."),
                    ([("ip", SPECIFIED, None), ("user", EXACT, "x")], INVALID,
                     "Invalid entity filter component combination. IP filter component should not be used with "
                     "user or clientId filter component.")):
                self.assertEqual(described(self.client, *components, version=version), (code, message))


if __name__ == "__main__":
    unittest.main()
