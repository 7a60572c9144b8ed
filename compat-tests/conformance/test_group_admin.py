"""What is asked about groups: FindCoordinator, DescribeGroups, ListGroups and DeleteGroups."""

import unittest

import apis
import codes
from base import eventually
from groups import ALL_OPERATIONS, GroupTest, NOT_ASKED, OwnBrokerTest

GROUP, TRANSACTION, SHARE = 0, 1, 2
FIRST_OF_MANY = 4  # the first version of FindCoordinator that takes several keys
WORDS = "words"  # each broker has its own


class FindCoordinator(GroupTest):
    def find(self, version, *keys, kind=GROUP):
        """(key, error, message, node, host, port) of each; messages that name nothing of the request go as WORDS."""
        def told(message):
            return message if message in (None, "", "NONE") else WORDS

        if version >= FIRST_OF_MANY:
            got = self.client.call("FindCoordinator", version, keyType=kind, coordinatorKeys=list(keys))
            self.assertEqual(got.throttleTimeMs, 0)
            return [(one.key, one.errorCode, told(one.errorMessage), one.nodeId, one.host, one.port)
                    for one in got.coordinators]
        (key,) = keys
        fields = {"keyType": kind} if version else {}
        got = self.client.call("FindCoordinator", version, key=key, **fields)
        return [(key, got.errorCode, told(got.get("errorMessage")), got.nodeId, got.host, got.port)]

    def test_this_broker_in_every_version(self):
        host, port = self.address
        for version in apis.versions("FindCoordinator"):
            for key in ("g", "", "ü b", "x" * 1000, "a:b:c"):
                message = "" if version >= FIRST_OF_MANY else "NONE" if version else None
                self.assertEqual(self.find(version, key), [(key, 0, message, 1, host, port)])

    def test_many_keys_each_for_itself(self):
        host, port = self.address
        keys = [f"g{index}" for index in range(500)] + ["g1", "", "g1"]
        for version in range(FIRST_OF_MANY, apis.newest("FindCoordinator") + 1):
            self.assertEqual(self.find(version, *keys), [(key, 0, "", 1, host, port) for key in keys])
            self.assertEqual(self.find(version), [])
            self.assertEqual(self.find(version, kind=99), [])

    def test_unknown_kinds(self):
        for version in range(1, apis.newest("FindCoordinator") + 1):
            for kind in (3, -1, 127, -128):
                self.assertEqual(self.find(version, "g", kind=kind), [("g", codes.INVALID_REQUEST, WORDS, -1, "", -1)])

    def test_share_coordinators_before_their_version(self):
        key = "g:AAAAAAAAAAAAAAAAAAAAAA:0"
        for version in range(1, 6):
            message = "" if version >= FIRST_OF_MANY else WORDS
            self.assertEqual(self.find(version, key, kind=SHARE), [(key, codes.INVALID_REQUEST, message, -1, "", -1)])

    def test_bad_keys_of_share_coordinators(self):
        keys = ["", "g", "g:x:0", "g:AAAAAAAAAAAAAAAAAAAAAA:x", ":AAAAAAAAAAAAAAAAAAAAAA:0", "a:b:c:d"]
        self.assertEqual(self.find(6, *keys, kind=SHARE), [(key, codes.INVALID_REQUEST, "", -1, "", -1) for key in keys])


class Listeners(OwnBrokerTest):
    """The coordinator's address is that of the listener that was asked."""

    listeners = 2

    def test_each_listener_its_own(self):
        for port in self.broker.ports:
            self.address = (self.address[0], port)
            client = self.new_client()
            for version in apis.versions("FindCoordinator"):
                fields = {"coordinatorKeys": ["g"]} if version >= FIRST_OF_MANY else {"key": "g"}
                got = client.call("FindCoordinator", version, **fields)
                one = got.coordinators[0] if version >= FIRST_OF_MANY else got
                self.assertEqual((one.errorCode, one.port), (0, port))


class DescribeGroups(GroupTest):
    def test_in_every_version(self):
        (member,) = self.settle(self.new_group(), 1, instance="i", client_id="c")
        for version in apis.versions("DescribeGroups"):
            got = self.describe(member.group, version)
            self.assertEqual((got.errorCode, got.get("errorMessage"), got.groupState, got.protocolType, got.protocolData),
                             (0, None, "Stable", "consumer", "range"))
            (one,) = got.members
            self.assertEqual((one.memberId, one.clientId, one.clientHost, one.memberMetadata, one.memberAssignment),
                             (member.id, "c", "/127.0.0.1", b"of range", b"to 0"))
            self.assertEqual(one.get("groupInstanceId"), "i" if version >= 4 else None)
            self.assertEqual(got.get("authorizedOperations", NOT_ASKED), NOT_ASKED)

    def test_what_is_not_there(self):
        consumer = self.consumer(self.new_group(), "a", [])
        consumer.join()
        unknown = self.new_group()
        for version in apis.versions("DescribeGroups"):
            for name, message in ((unknown, f"Group {unknown} not found."), ("", "Group  not found."),
                                  (consumer.group, f"Group {consumer.group} is not a classic group.")):
                for asked in (False, True) if version >= 3 else (False,):
                    got = self.describe(name, version, includeAuthorizedOperations=asked)
                    self.assertEqual((got.groupState, got.protocolType, got.protocolData, got.members), ("Dead", "", "", []))
                    self.assertEqual(got.errorCode, codes.GROUP_ID_NOT_FOUND if version >= 6 else 0)
                    self.assertEqual(got.get("errorMessage"), message if version >= 6 else None)
                    told = asked and version < 6
                    self.assertEqual(got.get("authorizedOperations", NOT_ASKED), ALL_OPERATIONS if told else NOT_ASKED)

    def test_authorized_operations(self):
        (member,) = self.settle(self.new_group(), 1)
        for version in range(3, apis.newest("DescribeGroups") + 1):
            for asked, wanted in ((True, ALL_OPERATIONS), (False, NOT_ASKED)):
                got = self.describe(member.group, version, includeAuthorizedOperations=asked)
                self.assertEqual(got.authorizedOperations, wanted)

    def test_several(self):
        (member,) = self.settle(self.new_group(), 1)
        for version in apis.versions("DescribeGroups"):
            asked = [member.group, "no-such-group", member.group]
            got = self.client.call("DescribeGroups", version, groups=asked).groups
            self.assertEqual([(one.groupId, one.groupState) for one in got],
                             [(member.group, "Stable"), ("no-such-group", "Dead"), (member.group, "Stable")])
            self.assertEqual(self.client.call("DescribeGroups", version, groups=[]).groups, [])


class ListGroups(GroupTest):
    """One group in each of several states."""

    def setUp(self):
        super().setUp()
        (stable,) = self.settle(self.new_group(), 1)
        self.stable = stable.group
        (gone,) = self.settle(self.new_group(), 1)
        gone.leave()
        self.empty = gone.group
        awaited = self.member(self.new_group(), protocol_type="connect")
        awaited.join()
        self.completing = awaited.group
        leader, _ = self.settle(self.new_group(), 2)
        leader.send_join()
        self.await_state(leader.group, "PreparingRebalance")
        self.preparing = leader.group
        pending = self.member(self.new_group())
        pending.ask_join()
        self.pending = pending.group
        consumer = self.consumer(self.new_group(), "a", [])
        consumer.join()
        self.consuming = consumer.group
        left = self.consumer(self.new_group(), "a", [])
        left.join()
        left.leave()
        self.left = left.group
        self.states = {
            self.stable: ("Stable", "classic"), self.empty: ("Empty", "classic"), self.pending: ("Empty", "classic"),
            self.completing: ("CompletingRebalance", "classic"), self.preparing: ("PreparingRebalance", "classic"),
            self.left: ("Empty", "consumer"), self.consuming: ("Stable", "consumer")}

    def test_all_in_every_version(self):
        # A member without topics is where it should be.
        self.states[self.consuming] = (self.listed()[self.consuming][0], "consumer")
        for version in apis.versions("ListGroups"):
            self.assertEqual(self.listed(version), {
                group: (state if version >= 4 else None, kind if version >= 5 else None)
                for group, (state, kind) in self.states.items()})
            got = self.client.call("ListGroups", version)
            types = {one.groupId: one.protocolType for one in got.groups}
            self.assertEqual([types[group] for group in (self.stable, self.completing, self.pending, self.consuming)],
                             ["consumer", "connect", "", "consumer"])
            self.assertEqual(got.get("throttleTimeMs", 0), 0)

    def of_states(self, *states):
        return {group for group, (state, _) in self.states.items() if state in states}

    def test_by_state(self):
        for version in (4, 5):
            for asked, wanted in (
                    (["Stable"], ("Stable",)), (["stable"], ("Stable",)), (["STABLE"], ("Stable",)),
                    ([" Stable "], ("Stable",)), (["Empty"], ("Empty",)), (["nope"], ()), ([""], ()), (["Dead"], ()),
                    (["NotReady"], ()), (["Empty", "completingrebalance", "nope"], ("Empty", "CompletingRebalance")),
                    (["PreparingRebalance"], ("PreparingRebalance",)), (["Stable", "Stable"], ("Stable",))):
                with self.subTest(version=version, asked=asked):
                    got = self.listed(version, statesFilter=asked)
                    self.assertEqual(got.keys() - {self.consuming}, self.of_states(*wanted) - {self.consuming})

    def test_by_type(self):
        classic = {group for group, (_, kind) in self.states.items() if kind == "classic"}
        consumer = self.states.keys() - classic
        for asked, wanted in (
                (["classic"], classic), (["Classic"], classic), (["CLASSIC"], classic), (["consumer"], consumer),
                (["Consumer", "classic"], classic | consumer), (["share"], set()), (["streams"], set()),
                (["nope"], set()), ([""], set()), (["consumer", "nope"], consumer), ([], classic | consumer)):
            with self.subTest(asked=asked):
                self.assertEqual(self.listed(typesFilter=asked).keys(), wanted)

    def test_by_both(self):
        for states, types, wanted in ((["Empty"], ["consumer"], {self.left}), (["Stable"], ["classic"], {self.stable}),
                                      (["Empty"], ["classic"], {self.empty, self.pending}), (["Empty"], ["nope"], set())):
            self.assertEqual(self.listed(statesFilter=states, typesFilter=types).keys(), wanted)


class DeleteGroups(GroupTest):
    def delete(self, *groups, version=3):
        got = self.client.call("DeleteGroups", version, groupsNames=list(groups))
        self.assertEqual({one.get("errorMessage") for one in got.results} - {None}, set())
        found = {one.groupId: one.errorCode for one in got.results}
        self.assertEqual(len(found), len(got.results), "each group is answered once")
        return found

    def test_in_every_version(self):
        for version in apis.versions("DeleteGroups"):
            members = [self.settle(self.new_group(), 1)[0] for _ in range(2)]
            empty = members[1]
            empty.leave()
            unknown = self.new_group()
            self.assertEqual(self.delete(members[0].group, empty.group, unknown, "", version=version), {
                members[0].group: codes.NON_EMPTY_GROUP, empty.group: 0, unknown: codes.GROUP_ID_NOT_FOUND,
                "": codes.GROUP_ID_NOT_FOUND})
            self.assertEqual(self.delete(empty.group, version=version), {empty.group: codes.GROUP_ID_NOT_FOUND})
            self.assertEqual(self.describe(empty.group).errorCode, codes.GROUP_ID_NOT_FOUND)
            self.assertNotIn(empty.group, self.listed())
            self.assertEqual(members[0].heartbeat(), 0)
            self.assertEqual(self.delete(version=version), {})

    def test_named_twice(self):
        (member,) = self.settle(self.new_group(), 1)
        self.assertEqual(self.delete(member.group, member.group), {member.group: codes.NON_EMPTY_GROUP})
        unknown = self.new_group()
        self.assertEqual(self.delete(unknown, unknown), {unknown: codes.GROUP_ID_NOT_FOUND})

    def test_of_every_state(self):
        awaited = self.member(self.new_group())
        awaited.join()
        leader, _ = self.settle(self.new_group(), 2)
        leader.send_join()
        self.await_state(leader.group, "PreparingRebalance")
        pending = self.member(self.new_group())
        pending.ask_join()
        consumer = self.consumer(self.new_group(), "a", [])
        consumer.join()
        left = self.consumer(self.new_group(), "a", [])
        left.join()
        left.leave()
        self.assertEqual(self.delete(awaited.group, leader.group, pending.group, consumer.group, left.group), {
            awaited.group: codes.NON_EMPTY_GROUP, leader.group: codes.NON_EMPTY_GROUP, pending.group: 0,
            consumer.group: codes.NON_EMPTY_GROUP, left.group: 0})
        self.assertEqual(pending.ask_join().errorCode, codes.UNKNOWN_MEMBER_ID)
        self.assertEqual(self.describe_consumer(left.group).errorCode, codes.GROUP_ID_NOT_FOUND)

    def test_a_deleted_group_begins_anew(self):
        (member,) = self.settle(self.new_group(), 1)
        member.leave()
        self.assertEqual(self.delete(member.group), {member.group: 0})
        self.assertEqual(self.member(member.group).join().generationId, 1)
        consumer = self.consumer(self.new_group(), "a", [self.new_topic()])
        self.assertTrue(eventually(lambda: consumer.join().memberEpoch >= 2))
        consumer.leave()
        self.assertEqual(self.delete(consumer.group), {consumer.group: 0})
        self.assertIn(self.consumer(consumer.group, "a", ["unknown"]).join().memberEpoch, (1, 2))


if __name__ == "__main__":
    unittest.main()
