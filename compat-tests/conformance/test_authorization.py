"""What one who may nothing, or little, is answered by every API in every version: as Apache Kafka answers.

`authorization.json` and `authorization_rights.json` hold Kafka's answers; BARNABAS_TEST_TARGET=kafka BARNABAS_UPDATE_ANSWERS=1 ./run.py authorization
writes them anew.
"""

import atexit
import base64
import json
import os
import pathlib
import unittest

import apis
import codes
import sasl
from authorization import (ALL, ALTER, ALTER_CONFIGS, CLUSTER, CLUSTER_ACTION, CREATE, CREATE_TOKENS, DELEGATION_TOKEN, DELETE,
                           DENY, DESCRIBE, DESCRIBE_CONFIGS, DESCRIBE_TOKENS, EVERY_API, GROUP, IDEMPOTENT_WRITE, KNOWN,
                           LITERAL, PREFIXED, PROPERTIES, READ, STRANGER, THE_CLUSTER, TOPIC, TRANSACTIONAL_ID, USER, WRITE,
                           Guarded, entry, entry_filter, filled, transactional_records)
from base import HOST, IS_KAFKA, Client, ConformanceTest, eventually, fetched, shared_address
from client import Connection
from differences import differ

ANSWERS = pathlib.Path(__file__).with_name("authorization.json")
RIGHTS_ANSWERS = ANSWERS.with_name("authorization_rights.json")
UPDATES = os.environ.get("BARNABAS_UPDATE_ANSWERS") == "1"

_guarded = None


def guarded():
    global _guarded
    if _guarded is None:
        _guarded = Guarded()
        atexit.register(_guarded.close)
    return _guarded


def walk():
    """(name, API, version, fields) of everything that is asked."""
    for api in EVERY_API:
        for version in apis.versions(api):
            yield f"{api} v{version}", api, version, filled(api, version)
            if api in ("Metadata", "DescribeTopicPartitions", "OffsetFetch", "DescribeLogDirs", "ListConfigResources"):
                yield f"{api} v{version} everything", api, version, filled(api, version, everything=True)
            if api == "Produce":
                yield f"{api} v{version} in a transaction", api, version, filled(api, version, records=transactional_records())
            if api == "FindCoordinator":
                yield f"{api} v{version} of transactions", api, version, {**filled(api, version), "keyType": 1}


def written(answers):
    """Many answers are the same in several versions: each stands there once."""
    unlike = sorted({json.dumps(answer, sort_keys=True) for answer in answers.values()})
    places = {text: place for place, text in enumerate(unlike)}
    of = {name: places[json.dumps(answer, sort_keys=True)] for name, answer in answers.items()}
    return "\n".join(['{"answers": [', ",\n".join(unlike), '], "of":', json.dumps(of), "}"]) + "\n"


def expected_answers(path, differences):
    kept = json.loads(path.read_text())
    return {name: kept["answers"][place] for name, place in kept["of"].items()} | differ(differences)


RIGHTS = [(TOPIC, operation) for operation in (ALL, READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)] + \
    [(GROUP, operation) for operation in (ALL, READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS)] + \
    [(CLUSTER, operation) for operation in (CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS,
                                            IDEMPOTENT_WRITE)] + \
    [(TRANSACTIONAL_ID, operation) for operation in (ALL, WRITE, DESCRIBE)]
# What would change more than is put right again, or is answered by chance.
NOT_WITH_RIGHTS = {"UnregisterBroker", "UpdateFeatures", "WriteTxnMarkers", "CreateAcls", "ApiVersions", "InitProducerId"}
TOLD = ("ErrorCode", "errorCode", "AuthorizedOperations", "authorizedOperations", "name", "topic", "topicName", "topicId",
        "groupId", "key", "transactionalId", "resourceName", "partitionIndex", "partition", "index", "resourceType")


def errors_of(answer):
    """Which errors there are, of what; the rest of an answer is for other families."""
    if isinstance(answer, list):
        return sorted((errors_of(one) for one in answer), key=repr)
    if not isinstance(answer, dict):
        return answer
    return {key: errors_of(value) for key, value in answer.items()
            if isinstance(value, (dict, list)) and key not in ("configs", "brokers", "members", "activeProducers", "nodeEndpoints")
            or key.endswith(TOLD)}


class Walk(ConformanceTest):
    def setUp(self):
        self.guarded = guarded()

    def broker_address(self):
        return self.guarded.address

    def test_one_without_rights_is_answered_as_by_kafka_in_every_api_and_version(self):
        answers = {}
        for name, api, version, fields in walk():
            answer = self.guarded.ask(api, version, fields)
            # Which APIs there are is another family's.
            answers[name] = json.loads(json.dumps(answer["errorCode"] if api == "ApiVersions" else answer))
        if UPDATES and IS_KAFKA:
            ANSWERS.write_text(written(answers))
        expected = expected_answers(ANSWERS, "authorization")
        self.assertEqual(sorted(answers), sorted(expected))
        for name, answer in answers.items():
            with self.subTest(name):
                self.assertEqual(answer, expected[name])

    def test_one_with_a_single_right_is_answered_as_by_kafka_in_every_api(self):
        answers = {}
        for kind, operation in RIGHTS:
            self.guarded.allow(entry(kind, THE_CLUSTER if kind == CLUSTER else KNOWN, operation))
            for name, api, version, fields in walk():
                if version == apis.newest(api) and api not in NOT_WITH_RIGHTS:
                    answer = errors_of(self.guarded.ask(api, version, fields))
                    answers[f"{kind}/{operation} {name}"] = json.loads(json.dumps(answer))
            self.guarded.forget()
            self.guarded.restore()
        if UPDATES and IS_KAFKA:
            RIGHTS_ANSWERS.write_text(written(answers))
        expected = expected_answers(RIGHTS_ANSWERS, "authorization-rights")
        self.assertEqual(sorted(answers), sorted(expected))
        for name, answer in answers.items():
            with self.subTest(name):
                self.assertEqual(answer, expected[name])


class Entries(ConformanceTest):
    """Access control entries as clients make, find and remove them."""

    def setUp(self):
        self.guarded = guarded()
        self.addCleanup(self.guarded.forget)

    def create(self, *entries, version=3):
        return [(result.errorCode, result.errorMessage) for result in
                self.guarded.admin.call("CreateAcls", version, creations=list(entries)).results]

    def may_read(self, topic):
        answer = self.guarded.ask("ListOffsets", 5, {"replicaId": -1, "topics": [
            {"name": topic, "partitions": [{"partitionIndex": 0, "timestamp": -1}]}]})
        return answer["topics"][0]["partitions"][0]["errorCode"] != 29

    def test_what_no_entry_may_say_is_refused_beside_what_is_made(self):
        for version in apis.versions("CreateAcls"):
            good = entry(TOPIC, "t", READ)
            self.assertEqual(self.create(good, {**good, "resourceName": ""}, {**good, "principal": "alice"},
                                         {**good, "host": ""}, {**good, "host": "10.0.0.0/40"},
                                         {**good, "resourceType": CLUSTER}, {**good, "operation": 99}, version=version), [
                (0, ""), (42, "Invalid empty resource name"),
                (42, "Could not parse principal from `alice` (no colon is present separating the principal type from the "
                     "principal name)"),
                (42, "Host pattern cannot be null or empty"),
                (42, "Invalid CIDR notation '10.0.0.0/40': Value [40] not in range [0,32]"),
                (42, "The only valid name for the CLUSTER resource is kafka-cluster"), (42, "Invalid operation UNKNOWN")])

    def test_kinds_that_only_filters_have_are_refused(self):
        for field in ("resourceType", "resourcePatternType", "operation", "permissionType"):
            self.assertIn(self.create({**entry(TOPIC, "t", READ), field: 1})[0][0], differ("acl-of-any-kind"))

    def test_a_prefix_is_a_star_only_where_it_is_literal(self):
        self.guarded.allow(entry(TOPIC, "*", READ, pattern=PREFIXED))
        self.assertFalse(self.may_read(KNOWN))
        self.guarded.allow(entry(TOPIC, "*", READ, pattern=LITERAL))
        self.assertTrue(self.may_read(KNOWN))
        self.guarded.allow(entry(TOPIC, KNOWN[:2], DESCRIBE, DENY, PREFIXED))
        self.assertFalse(self.may_read(KNOWN))

    def test_there_are_no_entries_but_those_that_were_made(self):
        before = self.guarded.entries()
        self.guarded.allow(entry(GROUP, "g", READ), entry(GROUP, "g", READ), entry(GROUP, "g", READ, pattern=PREFIXED))
        self.assertEqual(len(self.guarded.entries() - before), 2)
        found = self.guarded.admin.call("DescribeAcls", 3, **entry_filter(resourceTypeFilter=GROUP, resourceNameFilter="g",
                                                                         patternTypeFilter=2, hostFilter=STRANGER))
        self.assertEqual(sorted((one.patternType, len(one.acls)) for one in found.resources), [(LITERAL, 1), (PREFIXED, 1)])
        gone = self.guarded.admin.call("DeleteAcls", 3, filters=[entry_filter(hostFilter=STRANGER),
                                                                 entry_filter(operation=99), entry_filter(hostFilter=STRANGER)])
        self.assertEqual([(one.errorCode, one.errorMessage, len(one.matchingAcls)) for one in gone.filterResults],
                         [(0, None, 2), (42, "Unknown entryFilter.", 0), (0, None, 2)])
        self.assertTrue(eventually(lambda: self.guarded.entries() == before))

    def test_without_an_authorizer_there_is_nothing_to_tell(self):
        client = Client(shared_address())
        self.addCleanup(client.close)
        found = client.call("DescribeAcls", 3, **entry_filter())
        self.assertEqual((found.errorCode, found.errorMessage), (54, "No Authorizer is configured on the broker"))
        (made,) = client.call("CreateAcls", 3, creations=[entry(TOPIC, "t", READ)]).results
        self.assertEqual((made.errorCode, made.errorMessage), (54, "No Authorizer is configured."))
        (gone,) = client.call("DeleteAcls", 3, filters=[entry_filter()]).filterResults
        self.assertEqual((gone.errorCode, gone.errorMessage), (54, "No Authorizer is configured."))


class Users(ConformanceTest):
    """What rights are good for, beyond single answers."""

    def setUp(self):
        self.guarded = guarded()
        self.addCleanup(self.guarded.forget)

    def connection(self):
        made = Connection(self.guarded.address, source=STRANGER)
        self.addCleanup(made.close)
        return made

    def init(self, transactional_id=None):
        fields = {"transactionalId": transactional_id, "transactionTimeoutMs": 60000, "producerId": -1, "producerEpoch": -1}
        return self.connection().call("InitProducerId", 4, **fields).errorCode

    def test_who_may_write_to_some_topic_may_be_an_idempotent_producer(self):
        self.assertEqual(self.init(), codes.CLUSTER_AUTHORIZATION_FAILED)
        self.guarded.allow(entry(CLUSTER, THE_CLUSTER, IDEMPOTENT_WRITE))
        self.assertEqual(self.init(), 0)
        self.guarded.forget()
        for topic, pattern, denied in (("any", LITERAL, 0), ("any", PREFIXED, 0)):
            self.guarded.allow(entry(TOPIC, topic, WRITE, pattern=pattern))
            self.assertEqual(self.init(), denied)
            self.guarded.allow(entry(TOPIC, "an", WRITE, DENY, PREFIXED))
            self.assertEqual(self.init(), codes.CLUSTER_AUTHORIZATION_FAILED)
            self.guarded.forget()

    def test_a_transactional_id_is_for_who_may_write_with_it(self):
        self.assertEqual(self.init("mine"), codes.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)
        self.guarded.allow(entry(TRANSACTIONAL_ID, "mi", WRITE, pattern=PREFIXED))
        self.assertTrue(eventually(lambda: self.init("mine") == 0))

    def test_the_state_of_share_groups_is_for_brokers_to_find(self):
        key = f"group:{base64.urlsafe_b64encode(self.guarded.ids[KNOWN]).decode().rstrip('=')}:0"

        def told(version, key):
            named = {"coordinatorKeys": [key]} if version >= 4 else {"key": key}
            answer = self.guarded.ask("FindCoordinator", version, {"keyType": 2, **named})
            (answer,) = answer.get("coordinators", [answer])
            return answer["errorCode"], answer["errorMessage"]

        for version in range(1, 6):
            self.assertEqual(told(version, key)[0], codes.INVALID_REQUEST)
        self.assertEqual(told(6, key), (codes.CLUSTER_AUTHORIZATION_FAILED, "Cluster authorization failed."))
        self.guarded.allow(entry(CLUSTER, THE_CLUSTER, CLUSTER_ACTION))
        self.assertEqual(told(6, "group"), (codes.INVALID_REQUEST, ""))
        self.assertTrue(eventually(lambda: told(6, key)[0] == differ("share-coordinator"), 30), told(6, key))

    def test_a_session_loses_a_topic_with_the_right_to_it(self):
        self.guarded.allow(entry(TOPIC, KNOWN, READ))
        client = self.connection()

        def fetch(session, epoch, topics):
            return client.call("Fetch", 12, replicaId=-1, maxWaitMs=0, minBytes=1, maxBytes=1 << 20, sessionId=session,
                               sessionEpoch=epoch, topics=topics)

        opened = fetch(0, 0, [fetched(KNOWN)])
        self.assertEqual(opened.responses[0].partitions[0].errorCode, 0)
        self.assertNotEqual(opened.responses[0].partitions[0].records, b"")
        self.guarded.forget()
        (answer,) = fetch(opened.sessionId, 1, []).responses
        self.assertEqual((answer.topic, answer.partitions[0].errorCode, answer.partitions[0].records),
                         (KNOWN, codes.TOPIC_AUTHORIZATION_FAILED, b""))

    def test_a_regular_expression_matches_only_topics_that_the_member_may_know_of(self):
        self.guarded.allow(entry(GROUP, "by-pattern", READ), entry(TOPIC, KNOWN, DESCRIBE))
        client = self.connection()
        fields = {"groupId": "by-pattern", "memberId": "member-one", "rebalanceTimeoutMs": 60000, "topicPartitions": [],
                  "subscribedTopicNames": None, "subscribedTopicRegex": "known|other"}
        state = {"epoch": 0, "topics": set()}

        def heartbeat():
            more = fields if state["epoch"] == 0 else {"groupId": "by-pattern", "memberId": "member-one"}
            got = client.call("ConsumerGroupHeartbeat", 1, memberEpoch=state["epoch"],
                              **{"rebalanceTimeoutMs": -1, "topicPartitions": None, "subscribedTopicNames": None,
                                 "subscribedTopicRegex": None, **more})
            self.assertEqual(got.errorCode, 0, got.errorMessage)
            state["epoch"] = got.memberEpoch
            if got.assignment:
                state["topics"] |= {one.topicId for one in got.assignment.topicPartitions}
            return state["topics"]

        self.assertEqual(eventually(heartbeat, 30, 0.2), {self.guarded.ids[KNOWN]})
        client.call("ConsumerGroupHeartbeat", 1, groupId="by-pattern", memberId="member-one", memberEpoch=-1,
                    rebalanceTimeoutMs=-1, topicPartitions=None, subscribedTopicNames=None, subscribedTopicRegex=None)
        self.guarded.admin.call("DeleteGroups", 2, groupsNames=["by-pattern"])


class Tokens(ConformanceTest):
    """Delegation tokens of others: alice is a super user, bob may nothing."""

    @classmethod
    def setUpClass(cls):
        cls.broker = sasl.secured_broker(properties={
            "authorizer.class.name": PROPERTIES["authorizer.class.name"], "super.users": "User:ANONYMOUS;User:alice"})
        cls.addClassCleanup(cls.broker.clean)
        cls.broker.start()

    def broker_address(self):
        return HOST, self.broker.port

    def logged_in(self, user):
        client = sasl.logged_in(sasl.address(self.broker), user)
        self.addCleanup(client.close)
        return client

    def make(self, client, owner=None):
        return client.call("CreateDelegationToken", 3, renewers=[], maxLifetimeMs=-1, ownerPrincipalName=owner,
                           ownerPrincipalType="User" if owner else None)

    def seen_by(self, client):
        return {token.tokenId for token in client.call("DescribeDelegationToken", 3, owners=None).tokens}

    def allow(self, kind, name, operation):
        made = entry(kind, name, operation, host="*", principal="User:bob")
        self.assertEqual(self.client.call("CreateAcls", 3, creations=[made]).results[0].errorCode, 0)

    def test_tokens_of_others_are_made_and_shown_to_those_with_the_right(self):
        alice, bob = self.logged_in("alice"), self.logged_in("bob")
        hers, carols, his = self.make(alice).tokenId, self.make(alice, "carol").tokenId, self.make(bob).tokenId
        self.assertEqual(self.make(bob, "carol").errorCode, codes.DELEGATION_TOKEN_AUTHORIZATION_FAILED)
        self.assertTrue(eventually(lambda: self.seen_by(alice) == {hers, carols, his}))
        self.assertEqual(self.seen_by(bob), {his})
        self.allow(DELEGATION_TOKEN, hers, DESCRIBE)
        self.assertTrue(eventually(lambda: self.seen_by(bob) == {his, hers}), self.seen_by(bob))
        self.allow(USER, "User:carol", DESCRIBE_TOKENS)
        self.assertTrue(eventually(lambda: self.seen_by(bob) == {his, hers, carols}), self.seen_by(bob))
        self.allow(USER, "User:carol", CREATE_TOKENS)
        self.assertTrue(eventually(lambda: self.make(bob, "carol").errorCode == 0))

    def test_who_asked_for_a_token_sees_it_but_does_not_renew_it(self):
        bob = self.logged_in("bob")
        self.allow(USER, "User:dave", CREATE_TOKENS)
        made = eventually(lambda: (lambda token: token if token.errorCode == 0 else None)(self.make(bob, "dave")))
        self.assertTrue(made)
        self.assertTrue(eventually(lambda: made.tokenId in self.seen_by(bob)), "of all")
        for owner in ("dave", "bob"):
            named = bob.call("DescribeDelegationToken", 3, owners=[{"principalType": "User", "principalName": owner}])
            self.assertIn(made.tokenId, {token.tokenId for token in named.tokens}, owner)
        for api, fields in (("RenewDelegationToken", {"renewPeriodMs": -1}),
                            ("ExpireDelegationToken", {"expiryTimePeriodMs": 10_000})):
            self.assertEqual(bob.call(api, 2, hmac=made.hmac, **fields).errorCode, codes.DELEGATION_TOKEN_OWNER_MISMATCH)

    def test_users_are_for_who_may_alter_and_describe_the_cluster(self):
        bob = self.logged_in("bob")
        altered = bob.call("AlterUserScramCredentials", 0, deletions=[], upsertions=[sasl.upsertion("eve")])
        self.assertEqual([(one.user, one.errorCode) for one in altered.results], [("eve", codes.CLUSTER_AUTHORIZATION_FAILED)])
        self.assertEqual(bob.call("DescribeUserScramCredentials", 0, users=[{"name": "eve"}]).errorCode,
                         codes.CLUSTER_AUTHORIZATION_FAILED)


if __name__ == "__main__":
    unittest.main()
