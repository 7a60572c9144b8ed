"""Who may log in: SCRAM users (APIs 50 and 51) and delegation tokens (38 to 41)."""

import base64
import functools
import time
import unittest

import codes
from base import HOST, ConformanceTest, eventually, fetched
from differences import differ
from sasl import SaslConnection, address, logged_in, secured_broker, shared_broker, upsertion

broker = functools.partial(shared_broker, "security_users")


class UsersTest(ConformanceTest):
    def broker_address(self):
        return HOST, broker().port

    def logged_in(self, user="alice", **fields):
        client = logged_in(address(broker()), user, **fields)
        self.addCleanup(client.close)
        return client


class ScramCredentials(UsersTest):
    def alter(self, deletions=(), upsertions=()):
        answer = self.client.call("AlterUserScramCredentials", 0, deletions=list(deletions), upsertions=list(upsertions))
        return {result.user: (result.errorCode, result.errorMessage) for result in answer.results}

    def describe(self, *users):
        answer = self.client.call("DescribeUserScramCredentials", 0,
                                  users=None if users == (None,) else [{"name": user} for user in users])
        self.assertEqual((answer.errorCode, answer.errorMessage), (codes.NONE, ""))
        return {result.user: (result.errorCode, result.errorMessage,
                              sorted((info.mechanism, info.iterations) for info in result.credentialInfos))
                for result in answer.results}

    def become(self, user, *infos):
        self.assertTrue(eventually(lambda: self.describe(user)[user][2] == sorted(infos)), self.describe(user))

    def test_a_user_has_each_hash_for_itself(self):
        self.assertEqual(self.alter(upsertions=[upsertion("u1")]), {"u1": (codes.NONE, None)})
        self.become("u1", (1, 4096))
        self.assertEqual(self.alter(upsertions=[upsertion("u1", "SCRAM-SHA-512", iterations=16384)]),
                         {"u1": (codes.NONE, None)})
        self.become("u1", (1, 4096), (2, 16384))
        self.assertEqual(self.alter(upsertions=[upsertion("u1", iterations=5000)]), {"u1": (codes.NONE, None)})
        self.become("u1", (1, 5000), (2, 16384))
        self.assertEqual(self.alter([{"name": "u1", "mechanism": 1}]), {"u1": (codes.NONE, None)})
        self.become("u1", (2, 16384))
        self.alter([{"name": "u1", "mechanism": 2}])
        self.assertTrue(eventually(lambda: self.describe("u1")["u1"][0] == codes.RESOURCE_NOT_FOUND))

    def test_each_user_is_answered_for_itself(self):
        self.alter(upsertions=[upsertion("there")])
        got = self.alter(
            [{"name": "there", "mechanism": 1}, {"name": "gone", "mechanism": 1}, {"name": "", "mechanism": 1},
             {"name": "odd", "mechanism": 3}, {"name": "twice", "mechanism": 1}, {"name": "both", "mechanism": 1}],
            [upsertion("fine"), upsertion("both"), upsertion("dup"), upsertion("dup"), upsertion("hashes"),
             upsertion("hashes", "SCRAM-SHA-512"), {**upsertion("few"), "iterations": 4095},
             {**upsertion("many"), "iterations": 16385}, {**upsertion("unknown"), "mechanism": 0},
             {**upsertion("none"), "iterations": -1}])
        twice = (codes.DUPLICATE_RESOURCE, "A user credential cannot be altered twice in the same request")
        missing = (codes.RESOURCE_NOT_FOUND, "Attempt to delete a user credential that does not exist")
        mechanism = (codes.UNSUPPORTED_SASL_MECHANISM, "Unknown SCRAM mechanism")
        self.assertEqual(got, {
            "there": (codes.NONE, None), "gone": missing, "odd": mechanism, "twice": missing, "both": missing,
            "": (codes.UNACCEPTABLE_CREDENTIAL, "Username must not be empty"), "fine": (codes.NONE, None),
            "dup": twice, "hashes": twice, "unknown": mechanism,
            "few": (codes.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
            "none": (codes.UNACCEPTABLE_CREDENTIAL, "Too few iterations"),
            "many": (codes.UNACCEPTABLE_CREDENTIAL, "Too many iterations")})

    def test_an_empty_salted_password_is_none(self):
        code, _ = self.alter(upsertions=[{**upsertion("unsalted"), "saltedPassword": b""}])["unsalted"]
        self.assertEqual(code, differ("empty-salted-password"))

    def test_an_empty_request_changes_nothing(self):
        self.assertEqual(self.alter(), {})

    def test_all_are_described_when_none_is_named(self):
        self.alter(upsertions=[upsertion("listed"), upsertion("listed too", "SCRAM-SHA-512")])
        self.become("listed too", (2, 4096))
        for users in ((), (None,)):
            got = self.describe(*users)
            self.assertEqual(got["listed"], (codes.NONE, "", [(1, 4096)]))
            self.assertEqual(got["listed too"], (codes.NONE, "", [(2, 4096)]))

    def test_unknown_users_and_doubles_are_errors_of_their_own(self):
        self.alter(upsertions=[upsertion("known")])
        self.become("known", (1, 4096))
        self.assertEqual(self.describe("known", "nobody", "again", "again", ""), {
            "known": (codes.NONE, "", [(1, 4096)]),
            "nobody": (codes.RESOURCE_NOT_FOUND,
                       "Attempt to describe a user credential that does not exist: nobody", []),
            "": (codes.RESOURCE_NOT_FOUND, "Attempt to describe a user credential that does not exist: ", []),
            "again": (codes.DUPLICATE_RESOURCE,
                      "Cannot describe SCRAM credentials for the same user twice in a single request: again", [])})


class DelegationTokens(UsersTest):
    def create(self, client, version=3, renewers=(), max_lifetime_ms=-1, owner=None):
        fields = {"renewers": [{"principalType": "User", "principalName": name} for name in renewers],
                  "maxLifetimeMs": max_lifetime_ms}
        if version >= 3:
            fields |= {"ownerPrincipalType": "User" if owner else None, "ownerPrincipalName": owner}
        answer = client.call("CreateDelegationToken", version, **fields)
        if answer.errorCode == codes.NONE:
            self.await_token(answer.tokenId)
        return answer

    def await_token(self, token_id, there=True):
        """Kafka's broker hears of it a moment after its controller has answered."""
        client = self.logged_in()
        self.assertTrue(eventually(lambda: there == any(
            token.tokenId == token_id for token in client.call("DescribeDelegationToken", 3, owners=None).tokens)))

    def password(self, token):
        return base64.b64encode(token.hmac).decode()

    def log_in_with(self, token, mechanism="SCRAM-SHA-256"):
        connection = SaslConnection(address(broker()))
        self.addCleanup(connection.close)
        return connection, connection.log_in(mechanism, token.tokenId, self.password(token), token=True)

    def test_a_token_lets_in_as_its_owner_until_it_expires(self):
        alice = self.logged_in()
        for version in (1, 2, 3):
            before = int(time.time() * 1000)
            token = self.create(alice, version, ["bob"], 3_000_000)
            self.assertEqual((token.errorCode, token.principalType, token.principalName), (codes.NONE, "User", "alice"))
            self.assertTrue(before - 5000 <= token.issueTimestampMs <= before + 5000)
            self.assertEqual(token.maxTimestampMs - token.issueTimestampMs, 3_000_000)
            self.assertEqual(token.expiryTimestampMs, token.maxTimestampMs)
            self.assertEqual((len(token.hmac), len(token.tokenId)), (64, 22))
            if version >= 3:
                self.assertEqual((token.tokenRequesterPrincipalType, token.tokenRequesterPrincipalName), ("User", "alice"))
            for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512"):
                connection, answer = self.log_in_with(token, mechanism)
                self.assertEqual(answer.errorCode, codes.NONE)
                self.assertTrue(2_900_000 < answer.sessionLifetimeMs <= 3_000_000, answer.sessionLifetimeMs)
                # Who came by a token gets no more of them.
                refused = connection.call("CreateDelegationToken", 3, renewers=[], maxLifetimeMs=-1,
                                          ownerPrincipalType=None, ownerPrincipalName=None)
                self.assertEqual(refused.errorCode, codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED)
                self.assertEqual(refused.principalName, "alice")

    def test_lives_are_bounded_by_the_settings(self):
        token = self.create(self.logged_in(), max_lifetime_ms=2**62)
        self.assertEqual(token.maxTimestampMs - token.issueTimestampMs, 100_000_000)
        self.assertEqual(token.expiryTimestampMs - token.issueTimestampMs, 50_000_000)

    def test_a_wrong_secret_and_an_unknown_token_are_refused(self):
        token = self.create(self.logged_in())
        for name, password in ((token.tokenId, "wrong"), ("unknown", self.password(token))):
            connection = SaslConnection(address(broker()))
            self.addCleanup(connection.close)
            self.assertEqual(connection.log_in("SCRAM-SHA-256", name, password, token=True).errorCode,
                             codes.SASL_AUTHENTICATION_FAILED)
        connection = SaslConnection(address(broker()))
        self.addCleanup(connection.close)
        self.assertEqual(connection.log_in("SCRAM-SHA-256", token.tokenId, self.password(token)).errorCode,
                         codes.SASL_AUTHENTICATION_FAILED)

    def test_tokens_of_others_can_be_made_and_say_for_whom(self):
        token = self.create(self.logged_in(), owner="carol")
        self.assertEqual((token.principalName, token.tokenRequesterPrincipalName), ("carol", "alice"))
        self.assertEqual(self.log_in_with(token)[1].errorCode, codes.NONE)

    def test_a_listener_without_authentication_gets_none(self):
        answer = self.client.call("CreateDelegationToken", 3, renewers=[], maxLifetimeMs=-1, ownerPrincipalType=None,
                                  ownerPrincipalName=None)
        self.assertEqual((answer.errorCode, answer.issueTimestampMs, answer.expiryTimestampMs, answer.maxTimestampMs,
                          answer.tokenId, answer.hmac, answer.principalName),
                         (codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1, -1, -1, "", b"", "ANONYMOUS"))
        for api, fields in (("RenewDelegationToken", {"hmac": b"x", "renewPeriodMs": 1}),
                            ("ExpireDelegationToken", {"hmac": b"x", "expiryTimePeriodMs": 1})):
            answer = self.client.call(api, 2, **fields)
            self.assertEqual((answer.errorCode, answer.expiryTimestampMs), (codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, -1))
        answer = self.client.call("DescribeDelegationToken", 3, owners=None)
        self.assertEqual((answer.errorCode, answer.tokens), (codes.DELEGATION_TOKEN_REQUEST_NOT_ALLOWED, []))

    def test_renewers_are_users(self):
        answer = self.logged_in().call("CreateDelegationToken", 3, maxLifetimeMs=-1, ownerPrincipalType=None,
                                       ownerPrincipalName=None,
                                       renewers=[{"principalType": "Group", "principalName": "x"}])
        self.assertEqual((answer.errorCode, answer.tokenId), (codes.INVALID_PRINCIPAL_TYPE, ""))

    def test_owner_and_renewers_renew_and_nobody_else(self):
        alice = self.logged_in()
        token = self.create(alice, renewers=["bob"], max_lifetime_ms=90_000_000)
        for version in (1, 2):
            now = int(time.time() * 1000)
            answer = self.logged_in("bob").call("RenewDelegationToken", version, hmac=token.hmac, renewPeriodMs=60_000_000)
            self.assertEqual(answer.errorCode, codes.NONE)
            self.assertTrue(-5000 < answer.expiryTimestampMs - now - 50_000_000 < 5000)  # the setting bounds it
        answer = alice.call("RenewDelegationToken", 2, hmac=token.hmac, renewPeriodMs=-1)
        self.assertEqual(answer.errorCode, codes.NONE)
        self.client.call("AlterUserScramCredentials", 0, deletions=[], upsertions=[upsertion("mallory")])
        mallory = eventually(lambda: self.try_to_log_in("mallory"))
        for api, fields in (("RenewDelegationToken", {"renewPeriodMs": 1}),
                            ("ExpireDelegationToken", {"expiryTimePeriodMs": -1})):
            answer = mallory.call(api, 2, hmac=token.hmac, **fields)
            self.assertEqual((answer.errorCode, answer.expiryTimestampMs), (codes.DELEGATION_TOKEN_OWNER_MISMATCH, 0))
            answer = alice.call(api, 2, hmac=b"unknown", **fields)
            self.assertEqual((answer.errorCode, answer.expiryTimestampMs), (codes.DELEGATION_TOKEN_NOT_FOUND, 0))

    def try_to_log_in(self, user):
        try:
            return self.logged_in(user, mechanism="SCRAM-SHA-256", password="secret")
        except AssertionError:
            return None

    def test_a_token_expires_when_it_is_told_to(self):
        alice = self.logged_in()
        token = self.create(alice)
        now = int(time.time() * 1000)
        answer = alice.call("ExpireDelegationToken", 2, hmac=token.hmac, expiryTimePeriodMs=1_000_000)
        self.assertEqual(answer.errorCode, codes.NONE)
        self.assertTrue(-5000 < answer.expiryTimestampMs - now - 1_000_000 < 5000)
        answer = alice.call("ExpireDelegationToken", 1, hmac=token.hmac, expiryTimePeriodMs=-1)
        self.assertEqual(answer.errorCode, codes.NONE)
        self.await_token(token.tokenId, there=False)
        self.assertEqual(self.log_in_with(token)[1].errorCode, codes.SASL_AUTHENTICATION_FAILED)
        self.assertEqual(alice.call("RenewDelegationToken", 2, hmac=token.hmac, renewPeriodMs=1).errorCode,
                         codes.DELEGATION_TOKEN_NOT_FOUND)

    def test_an_expired_token_is_of_no_use(self):
        alice = self.logged_in()
        token = self.create(alice, max_lifetime_ms=1)
        time.sleep(0.05)
        for api, fields in (("RenewDelegationToken", {"renewPeriodMs": 1}),
                            ("ExpireDelegationToken", {"expiryTimePeriodMs": 1})):
            answer = alice.call(api, 2, hmac=token.hmac, **fields)
            self.assertEqual((answer.errorCode, answer.expiryTimestampMs), (codes.DELEGATION_TOKEN_EXPIRED, 0))

    def test_tokens_are_described_to_those_who_ask_for_them(self):
        alice = self.logged_in()
        token = self.create(alice, renewers=["bob", "dave"], owner="erin")
        for version in (1, 2, 3):
            for owners in (None, [{"principalType": "User", "principalName": "erin"}],
                           [{"principalType": "User", "principalName": "dave"}]):
                answer = self.logged_in("bob").call("DescribeDelegationToken", version, owners=owners)
                [found] = [each for each in answer.tokens if each.tokenId == token.tokenId]
                self.assertEqual((found.principalType, found.principalName, found.issueTimestamp, found.expiryTimestamp,
                                  found.maxTimestamp, found.hmac,
                                  sorted((each.principalType, each.principalName) for each in found.renewers)),
                                 ("User", "erin", token.issueTimestampMs, token.expiryTimestampMs, token.maxTimestampMs,
                                  token.hmac, [("User", "bob"), ("User", "dave")]))
                if version >= 3:
                    self.assertEqual(found.tokenRequesterPrincipalName, "alice")
        for owners in ([], [{"principalType": "User", "principalName": "nobody"}]):
            answer = alice.call("DescribeDelegationToken", 3, owners=owners)
            self.assertEqual((answer.errorCode, answer.tokens), (codes.NONE, []))


class WithoutSecretKey(unittest.TestCase):
    def test_tokens_are_turned_off(self):
        with secured_broker(properties={"delegation.token.secret.key": ""}) as plain_broker:
            client = logged_in(address(plain_broker))
            self.addCleanup(client.close)
            answer = client.call("CreateDelegationToken", 3, renewers=[], maxLifetimeMs=-1, ownerPrincipalType=None,
                                 ownerPrincipalName=None)
            self.assertEqual((answer.errorCode, answer.tokenId, answer.principalName),
                             (codes.DELEGATION_TOKEN_AUTH_DISABLED, "", "alice"))
            for api, fields in (("RenewDelegationToken", {"hmac": b"x", "renewPeriodMs": 1}),
                                ("ExpireDelegationToken", {"hmac": b"x", "expiryTimePeriodMs": 1})):
                self.assertEqual(client.call(api, 2, **fields).errorCode, codes.DELEGATION_TOKEN_AUTH_DISABLED)
            answer = client.call("DescribeDelegationToken", 3, owners=None)
            self.assertEqual((answer.errorCode, answer.tokens), (codes.DELEGATION_TOKEN_AUTH_DISABLED, []))


class FetchSessions(UsersTest):
    def test_a_session_is_there_for_who_made_it_only(self):
        topic = self.new_topic()
        alice, bob = self.logged_in("alice"), self.logged_in("bob")

        def fetch(client, session, epoch, topics=()):
            return client.fetch_all(list(topics), sessionId=session, sessionEpoch=epoch)

        session = fetch(alice, 0, 0, [fetched(topic)]).sessionId
        self.assertGreater(session, 0)
        self.assertEqual((fetch(bob, session, 1).errorCode, fetch(alice, session, 1).errorCode),
                         differ("fetch-session-of-another"))
        # Nor does anybody else end it.
        session = fetch(alice, 0, 0, [fetched(topic)]).sessionId
        fetch(bob, session, -1, [fetched(topic)])
        self.assertEqual(fetch(alice, session, 1).errorCode, differ("fetch-session-ended-by-another"))


if __name__ == "__main__":
    unittest.main()
