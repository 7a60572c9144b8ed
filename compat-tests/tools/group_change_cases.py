"""Cases of tools_test.py: Apache Kafka's tools for consumer groups, after a group or its topics have changed."""

import tempfile

import codes
from base import eventually
from group_cases import FIRST, SECOND, SESSION_MS, GroupCase, sorted_lines
from groups import ClassicMember, ConsumerMember, subscription

GIVEN_UP = -2  # the epoch with which a static member goes that will be back


class GroupsAfterChanges(GroupCase):
    def made(self, topic, partitions=1):
        self.on_each(lambda side: side.client.create_usable(topic, partitions))
        self.on_each(lambda side: side.client.append(topic, b"a", b"b", b"c"))

    def describe(self, group):
        for more in ([], ["--offsets", "--verbose"], ["--members"], ["--members", "--verbose"], ["--state"],
                     ["--state", "--verbose"]):
            with self.subTest(group=group, more=more):
                self.groups("--describe", "--group", group, *more)

    def reset(self, group, *arguments):
        return self.change_groups("--reset-offsets", "--group", group, *arguments)

    # Topics.

    def test_a_topic_is_deleted(self):
        self.made("tools-deleted")
        self.commit("after-deletion", "tools-deleted", p0=2)
        self.commit("after-deletion", p0=3)
        self.once("topics", "--delete", "--topic", "tools-deleted")
        self.describe("after-deletion")
        self.reset("after-deletion", "--all-topics", "--to-latest")
        self.change_groups("--delete-offsets", "--group", "after-deletion", "--topic", "tools-deleted")
        self.describe("after-deletion")

    def test_partitions_are_added(self):
        group, topic = "after-growth", "tools-growing"
        self.made(topic)
        self.commit(group, topic, p0=1)
        self.once("topics", "--alter", "--topic", topic, "--partitions", 3)
        self.describe(group)
        for form in (["--to-current"], ["--shift-by", 1], ["--to-offset", 2], ["--to-latest"]):
            for scope in (["--all-topics"], ["--topic", topic], ["--topic", f"{topic}:2"]):
                with self.subTest(form=form, scope=scope):
                    self.reset(group, *scope, *form)
        self.reset(group, "--topic", topic, "--to-latest", "--execute")
        self.describe(group)

    def test_records_are_deleted(self):
        """The committed offset is before the first one that is left."""
        group, topic = "after-purge", "tools-purged"
        self.made(topic)
        self.commit(group, topic, p0=1)
        with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
            file.write('{"version": 1, "partitions": [{"topic": "%s", "partition": 0, "offset": 2}]}' % topic)
            file.flush()
            self.once("delete-records", "--offset-json-file", file.name)
        self.describe(group)
        for form in (["--to-current"], ["--shift-by", -1], ["--to-offset", 0], ["--to-earliest"]):
            with self.subTest(form=form):
                self.reset(group, "--topic", topic, *form, "--execute")
                self.offsets_are(group)

    # Members.

    def test_all_members_have_left(self):
        for kind in (self.classic, self.consumer):
            for group in (f"left-{kind.__name__}", f"left-{kind.__name__}-with-offsets"):
                if group.endswith("offsets"):
                    self.commit(group, p0=3)
                kind(group, *(["member-a"] if kind == self.consumer else []))
                self.doCleanups()
                self.describe(group)
                self.groups("--list", "--state", "--type")
        self.change_groups("--delete", "--group", "left-consumer")
        self.change_groups("--delete", "--group", "left-classic-with-offsets")
        self.groups("--list", "--state", "--type")

    def test_a_static_member_is_away_for_a_while(self):
        group = "static-away"
        self.commit(group, p0=3)

        def join_and_go(side):
            member = ConsumerMember(side.client.connection.socket.getpeername(), group, "member-a", [FIRST],
                                    instance="the-instance", client_id="consumer-client")
            self.addCleanup(self.leave, member)  # for good, not at some later time
            self.assertEqual(member.join().errorCode, codes.NONE)
            self.assertEqual(member.leave(GIVEN_UP).errorCode, codes.NONE)

        self.on_each(join_and_go)
        self.describe(group)

    def test_a_subscription_by_regular_expression(self):
        group = "by-regex"

        def join(side):
            member = ConsumerMember(side.client.connection.socket.getpeername(), group, "member-a", [],
                                    regex="tools-(first|sec.*)", client_id="consumer-client")
            self.addCleanup(self.leave, member)
            self.assertEqual(member.join().errorCode, codes.NONE)

            def has_both():
                member.acknowledge()
                return len(member.assigned) == 2

            self.assertTrue(eventually(has_both))

        self.on_each(join)
        self.describe(group)

    def test_a_classic_member_among_those_of_the_new_protocol(self):
        group = "of-both-kinds"
        self.consumer(group, "member-a")

        def join(side):
            address = side.client.connection.socket.getpeername()
            member = ClassicMember(address, group, client_id="classic-client", session_ms=SESSION_MS,
                                   protocols=[("range", subscription(FIRST))])
            self.addCleanup(self.leave, member)
            self.assertEqual(member.join().errorCode, codes.NONE)
            self.assertEqual(member.sync().errorCode, codes.NONE)

        self.on_each(join)
        self.describe(group)
        self.groups("--list", "--state", "--type")

    def test_all_groups_are_reset(self):
        self.commit("all-reset-simple", p0=3)
        self.commit("all-reset-simple", SECOND, p0=1)
        self.commit("all-reset-classic", p0=4)
        self.classic("all-reset-classic")
        for more in (["--topic", FIRST, "--to-earliest"], ["--all-topics", "--to-latest"],
                     ["--topic", FIRST, "--to-offset", 2, "--execute"]):
            with self.subTest(more=more):
                self.change_groups("--reset-offsets", "--all-groups", *more)
        self.offsets_are("all-reset-simple")
        self.offsets_are("all-reset-classic")

    def test_other_kinds_of_groups(self):
        """Apache Kafka has tools for kinds of groups that there are none of."""
        self.commit("no-share", p0=1)
        for tool in ("share-groups", "streams-groups"):
            for arguments in (["--list"], ["--list", "--state"]):
                with self.subTest(tool=tool, arguments=arguments):
                    self.same(tool, *arguments, exit_code=None, normal=sorted_lines)
