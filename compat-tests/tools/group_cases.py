"""Cases of tools_test.py: Apache Kafka's tools for consumer groups, on groups in every state."""

import re
import tempfile

import codes
from base import eventually
from groups import ClassicMember, ConsumerMember, assignment, subscription
from sides import SideBySideTest

TIME = 1_700_000_000_000
SECOND_S = "2023-11-14T22:13:21.000"  # TIME + 1 s
SESSION_MS = 300_000
FIRST, SECOND = "tools-first", "tools-second"  # topics
PARTITIONS = {FIRST: 2, SECOND: 1}


def sorted_lines(text):
    """Apache Kafka lists groups, and the tool members and partitions, in the order of a hash table."""
    return "\n".join(sorted(text.splitlines()))


def without_uuids(text):
    """The coordinator gives members of the classic protocol random ids."""
    return re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "UUID", text)


def normal(text):
    in_order = re.sub(r"'[^']*'(, '[^']*')+", lambda names: ", ".join(sorted(names[0].split(", "))), text)
    return sorted_lines(without_uuids(in_order))


class GroupCase(SideBySideTest):
    """Topics with records of known times, three a second, and ways to bring groups into a state on both sides."""

    filled = False

    @classmethod
    def setUpClass(cls):
        if not GroupCase.filled:
            for side in cls.sides.values():
                cls.fill(side.client)
            GroupCase.filled = True

    @staticmethod
    def fill(client):
        def coordinator_is_there():
            found = client.call("FindCoordinator", 4, keyType=0, coordinatorKeys=["x"]).coordinators[0]
            return found.errorCode == codes.NONE and client.call(
                "OffsetFetch", 8, groups=[{"groupId": "x", "topics": None}], requireStable=False,
            ).groups[0].errorCode == codes.NONE

        for topic, partitions in PARTITIONS.items():
            client.create_usable(topic, partitions)
            for partition in range(partitions):
                for number in range(3 + partition):
                    client.append(topic, b"a", b"b", b"c", partition=partition, timestamps=[TIME + 1000 * number] * 3)
        assert eventually(coordinator_is_there, 30), "no coordinator"

    def on_each(self, change):
        for side in self.sides.values():
            change(side)

    def commit(self, group, topic=FIRST, **offsets):
        """Offsets by partition, p0=5, of nobody in particular."""
        partitions = [{"partitionIndex": int(name[1:]), "committedOffset": offset, "committedLeaderEpoch": 0,
                       "committedMetadata": ""} for name, offset in offsets.items()]

        def change(side):
            done = side.client.call("OffsetCommit", 8, groupId=group, generationIdOrMemberEpoch=-1, memberId="",
                                    topics=[{"name": topic, "partitions": partitions}])
            self.assertEqual([p.errorCode for p in done.topics[0].partitions], [codes.NONE] * len(partitions))

        self.on_each(change)

    def classic(self, group, topics=(FIRST,), client_id="classic-client", **fields):
        """A member that has all partitions of the topics."""
        owned = {topic: range(PARTITIONS[topic]) for topic in topics}
        assigned = assignment(owned) if fields.get("protocol_type", "consumer") == "consumer" else b"anything"

        def change(side):
            member = ClassicMember(side.client.connection.socket.getpeername(), group, client_id=client_id,
                                   session_ms=SESSION_MS, protocols=[("range", subscription(*topics))], **fields)
            self.addCleanup(self.leave, member)
            self.assertEqual(member.join().errorCode, codes.NONE)
            self.assertEqual(member.sync({member.id: assigned}).errorCode, codes.NONE)

        self.on_each(change)

    def consumer(self, group, *member_ids, topics=(FIRST,), wanted=None, **fields):
        """Members of the new protocol that share the partitions of the topics among them, or so many."""
        def change(side):
            members = [ConsumerMember(side.client.connection.socket.getpeername(), group, member_id, list(topics),
                                      client_id="consumer-client", **fields) for member_id in member_ids]
            for member in members:
                self.addCleanup(self.leave, member)
                self.assertEqual(member.join().errorCode, codes.NONE)
            shared = sum(PARTITIONS[topic] for topic in topics) if wanted is None else wanted

            def all_is_shared():
                for member in members:
                    member.acknowledge()
                return (len({member.epoch for member in members}) == 1
                        and sum(len(p) for member in members for p in member.assigned.values()) == shared)

            self.assertTrue(eventually(all_is_shared))

        self.on_each(change)

    @staticmethod
    def leave(member):
        member.leave()
        member.close()

    def groups(self, *arguments, normal=normal, **options):
        return self.same("consumer-groups", *arguments, exit_code=None, normal=normal, **options)

    def change_groups(self, *arguments, normal=normal, **options):
        return self.once("consumer-groups", *arguments, exit_code=None, normal=normal, **options)

    def offsets_are(self, group):
        """The same on both sides."""
        return self.groups("--describe", "--group", group)


class GroupsListedAndDescribed(GroupCase):
    def test_lists(self):
        self.commit("list-simple", p0=1)
        self.classic("list-classic")
        self.classic("list-connect", protocol_type="connect")
        self.consumer("list-consumer", "list-member")
        for more in ([], ["--state"], ["--state", "stable,empty"], ["--state", "Dead"], ["--state", "nope"], ["--type"],
                     ["--type", "classic"], ["--type", "consumer"], ["--type", "nope"], ["--type", "--state"],
                     ["--type", "consumer", "--state", "Stable"], ["--timeout", 20000]):
            with self.subTest(more=more):
                self.groups("--list", *more)
        for more in ([], ["--consumer"], ["--share"], ["--streams"], ["--group-type", "classic"],
                     ["--group-type", "consumer"], ["--group-type", "share"], ["--group-type", "nope"],
                     ["--protocol", "consumer"], ["--protocol", "connect"], ["--protocol", "nope"],
                     ["--group-type", "classic", "--protocol", "consumer"]):
            with self.subTest(more=more):
                self.same("groups", "--list", *more, exit_code=None, normal=normal)

    def describe(self, group):
        for more in ([], ["--offsets"], ["--offsets", "--verbose"], ["--verbose"], ["--members"],
                     ["--members", "--verbose"], ["--state"], ["--state", "--verbose"]):
            with self.subTest(group=group, more=more):
                self.groups("--describe", "--group", group, *more)

    def test_a_group_without_members(self):
        self.commit("described-simple", p0=3, p1=12)
        self.commit("described-simple", SECOND, p0=9)
        self.describe("described-simple")

    def test_a_group_that_is_not_there(self):
        self.describe("described-nowhere")

    def test_a_classic_group(self):
        self.commit("described-classic", p0=3)
        self.classic("described-classic")
        self.describe("described-classic")

    def test_a_classic_group_with_a_static_member(self):
        self.classic("described-static", topics=(FIRST, SECOND), instance="the-instance")
        self.describe("described-static")

    def test_a_classic_group_of_another_kind(self):
        self.classic("described-connect", protocol_type="connect")
        self.describe("described-connect")

    def test_a_consumer_group(self):
        self.commit("described-consumer", p1=5)
        self.consumer("described-consumer", "member-a")
        self.describe("described-consumer")

    def test_a_consumer_group_with_several_members(self):
        # Of one topic: in which order the assignor takes several depends on their random ids.
        self.consumer("described-several", "member-a", "member-b", rack="r1")
        self.describe("described-several")

    def test_a_consumer_group_with_a_range_assignor_and_a_static_member(self):
        self.consumer("described-range", "member-a", assignor="range", instance="the-instance")
        self.describe("described-range")

    def test_a_classic_group_before_its_leader_has_shared_out(self):
        def join(side):
            member = ClassicMember(side.client.connection.socket.getpeername(), "described-completing",
                                   client_id="classic-client", session_ms=SESSION_MS,
                                   protocols=[("range", subscription(FIRST))])
            self.addCleanup(self.leave, member)
            self.assertEqual(member.join().errorCode, codes.NONE)

        self.on_each(join)
        self.describe("described-completing")

    def test_a_consumer_group_whose_member_has_not_yet_given_back(self):
        self.consumer("described-reconciling", "member-a")
        self.consumer("described-reconciling", "member-b", wanted=0)
        self.describe("described-reconciling")

    def test_several_groups(self):
        self.commit("both-simple", p0=1)
        self.consumer("both-consumer", "member-a")
        both = ["--group", "both-simple", "--group", "both-consumer"]
        for more in ([], ["--members"], ["--state"]):
            with self.subTest(more=more):
                self.groups("--describe", *both, *more)
                self.groups("--describe", "--all-groups", *more)

    def test_what_makes_no_sense(self):
        for arguments in (["--describe"], ["--describe", "--group", "x", "--members", "--state"],
                          ["--list", "--group", "x"], ["--describe", "--group", ""], [], ["--list", "--describe"], ["--validate-regex", "a.*"],
                          ["--validate-regex", "a("]):
            with self.subTest(arguments=arguments):
                self.groups(*arguments, bootstrap="--validate-regex" not in arguments)


class GroupOffsetsReset(GroupCase):
    def reset(self, group, *arguments):
        return self.change_groups("--reset-offsets", "--group", group, *arguments)

    def test_every_form(self):
        group = "reset-forms"
        self.commit(group, p0=3, p1=6)
        for form in (["--to-earliest"], ["--to-latest"], ["--to-current"], ["--to-offset", 4], ["--to-offset", 100],
                     ["--to-offset", -4], ["--shift-by", 2], ["--shift-by", -2], ["--shift-by", 1000],
                     ["--shift-by", -1000], ["--to-datetime", SECOND_S], ["--to-datetime", f"{SECOND_S}Z"],
                     ["--to-datetime", f"{SECOND_S}+01:00"], ["--to-datetime", "2100-01-01T00:00:00.000"],
                     ["--to-datetime", "yesterday"], ["--by-duration", "P10000D"], ["--by-duration", "PT1S"],
                     ["--by-duration", "long"]):
            with self.subTest(form=form):
                self.reset(group, "--topic", FIRST, *form, "--dry-run")
                self.reset(group, "--topic", FIRST, *form, "--execute")
                self.offsets_are(group)

    def test_every_scope(self):
        group = "reset-scopes"
        self.commit(group, p0=3, p1=6)
        self.commit(group, SECOND, p0=2)
        for scope in (["--topic", f"{FIRST}:0"], ["--topic", f"{FIRST}:0,1"], ["--topic", f"{FIRST}:7"],
                      ["--topic", FIRST, "--topic", SECOND], ["--all-topics"], ["--topic", f"{FIRST}:x"], []):
            with self.subTest(scope=scope):
                self.reset(group, *scope, "--to-earliest")
                self.reset(group, *scope, "--to-offset", 2, "--execute")
                self.offsets_are(group)

    def test_a_topic_that_is_not_there(self):
        self.commit("reset-missing", p0=1)
        self.reset("reset-missing", "--topic", "tools-nowhere", "--to-earliest", "--execute")

    def test_to_a_file_and_from_it(self):
        group = "reset-file"
        self.commit(group, p0=3, p1=6)
        exported = self.change_groups("--reset-offsets", "--group", group, "--all-topics", "--to-current", "--export",
                                      normal=sorted_lines)
        self.assertIn(f"{FIRST},1,6", exported)
        self.reset(group, "--all-topics", "--to-latest", "--execute")
        for lines in (exported.strip(), f'"{FIRST}",0,1', f"{group},{FIRST},0,2", f"{FIRST},0,-5", "nonsense"):
            with tempfile.NamedTemporaryFile("w", suffix=".csv") as file, self.subTest(lines=lines):
                file.write(lines + "\n")
                file.flush()
                self.reset(group, "--from-file", file.name)
                self.reset(group, "--from-file", file.name, "--execute")
                self.offsets_are(group)

    def test_several_groups(self):
        for group in ("reset-both-a", "reset-both-b"):
            self.commit(group, p0=3)
        both = ["--reset-offsets", "--group", "reset-both-a", "--group", "reset-both-b"]
        self.change_groups(*both, "--topic", FIRST, "--to-latest", "--execute")
        exported = self.change_groups(*both, "--all-topics", "--shift-by", -1, "--export", normal=sorted_lines)
        with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
            file.write(exported.strip() + "\n")
            file.flush()
            self.change_groups(*both, "--from-file", file.name, "--execute")
        for group in ("reset-both-a", "reset-both-b"):
            self.offsets_are(group)

    def test_a_group_that_is_not_there_is_made(self):
        self.reset("reset-new", "--topic", FIRST, "--to-earliest", "--execute")
        self.offsets_are("reset-new")

    def test_a_group_with_members_is_left_alone(self):
        for group in ("reset-classic", "reset-consumer"):
            self.commit(group, p0=3)
        self.classic("reset-classic")
        self.consumer("reset-consumer", "member-a")
        for group in ("reset-classic", "reset-consumer"):
            with self.subTest(group=group):
                self.reset(group, "--topic", FIRST, "--to-earliest")
                self.reset(group, "--topic", FIRST, "--to-earliest", "--execute")
                self.offsets_are(group)


class GroupsDeleted(GroupCase):
    def delete_offsets(self, group, *topics):
        named = [argument for topic in topics for argument in ("--topic", topic)]
        return self.change_groups("--delete-offsets", "--group", group, *named)

    def test_offsets(self):
        group = "delete-offsets"
        self.commit(group, p0=3, p1=6)
        self.commit(group, SECOND, p0=2)
        for topics in ([f"{FIRST}:1"], [f"{FIRST}:7"], ["tools-nowhere"], [SECOND, f"{FIRST}:0"], [FIRST], []):
            with self.subTest(topics=topics):
                self.delete_offsets(group, *topics)
                self.offsets_are(group)
        self.delete_offsets("delete-nowhere", FIRST)

    def test_offsets_of_what_is_subscribed_to(self):
        for group in ("subscribed-classic", "subscribed-consumer"):
            self.commit(group, p0=3)
            self.commit(group, SECOND, p0=2)
        self.classic("subscribed-classic")
        self.consumer("subscribed-consumer", "member-a")
        for group in ("subscribed-classic", "subscribed-consumer"):
            with self.subTest(group=group):
                self.delete_offsets(group, FIRST)
                self.delete_offsets(group, SECOND)
                self.offsets_are(group)

    def test_groups(self):
        self.commit("delete-simple", p0=3)
        self.commit("delete-too", p0=3)
        self.classic("delete-classic")
        self.consumer("delete-consumer", "member-a")
        for groups in (["delete-classic"], ["delete-consumer"], ["delete-nowhere"], ["delete-simple", "delete-nowhere"],
                       ["delete-too", "delete-classic"], ["delete-too"], ["delete-simple"]):
            named = [argument for group in groups for argument in ("--group", group)]
            with self.subTest(groups=groups):
                self.change_groups("--delete", *named)
                self.groups("--list")

    def test_all_groups(self):
        self.commit("all-simple", p0=3)
        self.classic("all-classic")
        self.change_groups("--delete", "--all-groups")
        self.groups("--list")
