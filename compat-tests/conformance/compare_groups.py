#!/usr/bin/env python3
"""Lets the same random members do the same in groups of Apache Kafka and of Barnabas, and prints where answers differ.

    compare_groups.py [--seed N] [--sequences N] [--length N] [--only classic|consumer|both]
                      [--trace] [--assignments] [--range] [--restarts]

A tool for those who write coordinators; nothing fails by itself. A sequence is one group with a few members that join,
assign, commit, leave and ask, rightly and wrongly; it ends with its first difference, since all that follows would
differ, too. Member ids are those of each broker and go by symbols here. Who gets which partition, and who leads after a
leader, is Kafka's chance: counts are compared, and a sequence ends where chance decides.
"""

import argparse
import atexit
import collections
import pathlib
import random
import re
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import apis  # noqa: E402
import codes  # noqa: E402
from base import SHARED_PROPERTIES, Broker, Client, HOST  # noqa: E402
from client import Connection, ConnectionClosed  # noqa: E402
from groups import read_assignment, subscription  # noqa: E402
from wire import WireError  # noqa: E402

TOPICS = ("t1", "t2")
PARTITIONS = 6
LONG_MS = 1_800_000
# A restart of the other broker may last; members must still be there then.
PATIENT = {"broker.heartbeat.interval.ms": "1000", "broker.session.timeout.ms": "18000",
           "group.consumer.max.session.timeout.ms": str(LONG_MS), "group.consumer.session.timeout.ms": str(LONG_MS)}
QUIET_S, LATE_S = 0.12, 2.0
ID = re.compile(r"[-\w]*[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?<![-\w])[-\w]{22}(?![-\w])")


class Ref:
    """A member id by its symbol, resolved for each side."""

    def __init__(self, symbol):
        self.symbol = symbol

    def __repr__(self):
        return f"<{self.symbol}>"


class Owned:
    """What an actor was assigned on each side, less the first `without` partitions."""

    def __init__(self, actor, without=0):
        self.actor, self.without = actor, without

    def __repr__(self):
        return f"owned(a{self.actor}, -{self.without})"


class Side:
    def __init__(self, target, properties, exact):
        self.target, self.exact = target, exact  # exact: which partitions, not how many
        self.broker = Broker(target, properties=SHARED_PROPERTIES | PATIENT | properties)
        atexit.register(self.broker.clean)
        self.broker.start()
        self.address = (HOST, self.broker.port)
        client = Client(self.address)
        self.topic_ids = {name: client.create_usable(name, PARTITIONS) for name in TOPICS}
        client.close()
        self.begin()

    def begin(self):
        self.hang_up()
        self.ids, self.symbols = {}, {}      # real id by symbol, symbol by real id
        self.assigned = collections.defaultdict(dict)

    def hang_up(self):
        for connection in (*getattr(self, "pending", {}).values(), *getattr(self, "idle", [])):
            connection.close()
        self.pending, self.idle = {}, []     # connections that wait for an answer by number of the request

    def restart(self):
        self.hang_up()
        self.broker.restart()

    def send(self, number, api, version, fields):
        connection = self.idle.pop() if self.idle else Connection(self.address, timeout=20)
        connection.send(api, version, **self.concrete(fields))
        self.pending[number] = connection

    def concrete(self, value):
        if isinstance(value, Ref):
            return self.ids.get(value.symbol, value.symbol)
        if isinstance(value, Owned):
            owned = [(topic, index) for topic, indexes in sorted(self.assigned[value.actor].items()) for index in indexes]
            by_topic = collections.defaultdict(list)
            for topic, index in owned[value.without:]:
                by_topic[topic].append(index)
            return [{"topicId": topic, "partitions": indexes} for topic, indexes in by_topic.items()]
        if isinstance(value, str) and value.startswith("id-of:"):
            return self.topic_ids.get(value[6:], b"\x5a" * 16)
        if isinstance(value, dict):
            return {key: self.concrete(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self.concrete(inner) for inner in value]
        return value

    def take(self, number):
        """The answer to a request, or None while it waits."""
        connection = self.pending[number]
        if not connection.has_input(0):
            return None
        try:
            answer = connection.receive()
            self.idle.append(connection)
        except ConnectionClosed:
            answer = "closed"
            connection.close()
        except WireError as error:
            answer = f"not readable: {error}"
            connection.close()
        del self.pending[number]
        return answer

    def order(self):
        """Of the members by their ids: assignors go by it, and what the broker makes up is chance."""
        made_up = [(real, symbol) for symbol, real in self.ids.items()]
        return [symbol for _, symbol in sorted([*made_up, *((f"c{index}", f"c{index}") for index in range(4))])]

    def learn(self, real, symbol):
        self.ids[symbol], self.symbols[real] = real, symbol

    def neutral(self, value, name=""):
        if isinstance(value, dict):
            return {key: self.neutral(inner, key) for key, inner in value.items() if key != "throttleTimeMs"}
        if isinstance(value, list):
            if name == "topicPartitions":
                return self.shares({self.topic_of(one["topicId"]): one["partitions"] for one in value})
            return sorted((self.neutral(inner, name) for inner in value), key=repr)
        if name in ("assignment", "memberAssignment") and isinstance(value, bytes) and value[:1] == b"\0":
            try:
                version, owned = read_assignment(value)
                return f"v{version} {self.shares(owned)}"
            except (AssertionError, ValueError, IndexError, UnicodeDecodeError):
                return value
        if name == "topicId":
            return self.topic_of(value)
        if name == "port":
            return name
        if name == "heartbeatIntervalMs":  # Barnabas: sooner where there may soon be something for the member
            return min(value, 1)
        if isinstance(value, str):
            for real in sorted(self.symbols, key=len, reverse=True):
                value = value.replace(real, f"<{self.symbols[real]}>")
            return ID.sub("<?>", value)  # of a member that does not know its id yet
        return value

    def shares(self, owned):
        return repr(sorted((topic, sorted(indexes) if self.exact else len(indexes))
                           for topic, indexes in owned.items() if indexes))

    def topic_of(self, topic_id):
        return next((name for name, known in self.topic_ids.items() if known == topic_id), topic_id.hex())


class Actor:
    """What a member knows of itself, after Kafka's answers."""

    def __init__(self, index, chance):
        self.index = index
        self.symbol = None
        self.generation = -1
        self.protocol, self.epoch = None, 0
        self.instance = chance.choice((None, None, None, "i1", "i2"))
        self.consumer_id = f"c{index}"
        self.consumer = False
        self.led = []


class Sequence:
    def __init__(self, chance, sides, group, kind, assignments):
        self.assignments = assignments
        self.chance, self.sides, self.group, self.kind = chance, sides, group, kind
        self.actors = [Actor(index, chance) for index in range(4)]
        self.number, self.trace, self.waiting = 0, [], {}   # waiting: number → (actor, api, version)
        self.fresh = 0
        for side in sides.values():
            side.begin()

    # Requests.

    def pick(self, *pairs):
        values, weights = zip(*pairs)
        return self.chance.choices(values, weights)[0]

    def member_id(self, actor):
        own = Ref(actor.symbol) if actor.symbol else ""
        others = [each for each in self.actors if each.symbol]
        other = Ref(self.chance.choice(others).symbol) if others else "stranger"
        return self.pick((own, 85), ("", 5), ("stranger", 4), (other, 4), (actor.consumer_id, 2))

    def of_any(self, actor):
        """A member id, but none for the broker to make up where its order decides who gets what."""
        return self.member_id(actor) or ("" if not self.sides["kafka"].exact else actor.consumer_id)

    def instance(self, actor):
        return self.pick((actor.instance, 88), (None, 6), ("i1", 2), ("i2", 2), ("i9", 2))

    def generation(self, actor):
        return self.pick((actor.generation, 85), (actor.generation - 1, 4), (actor.generation + 1, 4), (-1, 4), (0, 3))

    def join(self, actor):
        version = self.chance.choice(apis.versions("JoinGroup"))
        real = self.kind != "classic" or self.chance.random() < 0.3
        wanted = self.chance.choice((("t1",), ("t1",), ("t1", "t2"), ()))
        metadata = subscription(*wanted, version=self.chance.choice((0, 1, 1, 3))) if real else self.chance.choice((b"m", b"m2"))
        names = self.pick((["range"], 60), (["range", "rr"], 20), (["rr", "range"], 10), (["rr"], 5), ([], 2), (["x"], 3))
        kind = self.pick(("consumer", 94), ("connect", 4), ("", 2))
        fields = {"groupId": self.pick((self.group, 98), ("", 2)), "memberId": self.member_id(actor), "protocolType": kind,
                  "sessionTimeoutMs": self.pick((LONG_MS, 96), (1, 2), (LONG_MS + 1, 2)), "rebalanceTimeoutMs": LONG_MS,
                  "protocols": [{"name": name, "metadata": metadata} for name in names]}
        if version >= 5:
            fields["groupInstanceId"] = self.instance(actor)
        return "JoinGroup", version, fields

    def sync(self, actor):
        version = self.chance.choice(apis.versions("SyncGroup"))
        targets = [Ref(each.symbol) for each in self.actors if each.symbol]
        assignments = [{"memberId": target, "assignment": self.chance.choice((b"x", b"y", b""))}
                       for target in targets if self.chance.random() < 0.8]
        fields = {"groupId": self.pick((self.group, 98), ("", 2)), "generationId": self.generation(actor),
                  "memberId": self.member_id(actor), "assignments": assignments}
        if version >= 3:
            fields["groupInstanceId"] = self.instance(actor)
        if version >= 5:
            fields |= {"protocolType": self.pick(("consumer", 92), (None, 4), ("connect", 4)),
                       "protocolName": self.pick((actor.protocol or "range", 92), (None, 4), ("x", 4))}
        return "SyncGroup", version, fields

    def heartbeat(self, actor):
        version = self.chance.choice(apis.versions("Heartbeat"))
        fields = {"groupId": self.pick((self.group, 97), ("", 1), (self.group + "b", 2)), "generationId": self.generation(actor),
                  "memberId": self.member_id(actor)}
        if version >= 3:
            fields["groupInstanceId"] = self.instance(actor)
        return "Heartbeat", version, fields

    def leave(self, actor):
        version = self.chance.choice(apis.versions("LeaveGroup"))
        if version < 3:
            return "LeaveGroup", version, {"groupId": self.group, "memberId": self.member_id(actor)}
        chosen = [actor, *self.chance.sample(self.actors, self.pick((0, 80), (1, 20)))]
        return "LeaveGroup", version, {"groupId": self.pick((self.group, 98), ("", 2)), "members": [
            {"memberId": self.pick((self.member_id(each), 85), ("", 15)), "groupInstanceId": self.instance(each)}
            for each in chosen]}

    def beat(self, actor):
        version = self.chance.choice(apis.versions("ConsumerGroupHeartbeat"))
        joins = actor.epoch <= 0 and self.chance.random() < 0.9
        epoch = 0 if joins else self.pick((actor.epoch, 75), (0, 8), (actor.epoch - 1, 5), (actor.epoch + 1, 3), (-1, 5), (-2, 4))
        fields = {"groupId": self.pick((self.group, 98), (self.group + "b", 1), ("", 1)), "memberId": self.pick(
            (actor.consumer_id, 94), (f"c{self.chance.randrange(4)}", 3), ("stranger", 2), (self.of_any(actor), 1)),
                  "memberEpoch": epoch, "instanceId": self.instance(actor)}
        if self.chance.random() < (0.95 if epoch == 0 else 0.2):
            fields["rebalanceTimeoutMs"] = LONG_MS
        if self.chance.random() < (0.95 if epoch == 0 else 0.2):
            fields["subscribedTopicNames"] = list(self.pick((("t1",), 60), (("t1", "t2"), 20), ((), 8), (("nope",), 6), (("t2", "nope"), 6)))
        if self.chance.random() < 0.1:
            fields["serverAssignor"] = self.pick(("range", 90), ("nope", 10))  # a tie would be chance
        if self.chance.random() < 0.1:
            fields["rackId"] = self.pick(("r1", 90), ("", 10))
        if epoch == 0:
            fields["topicPartitions"] = self.pick(([], 95), (None, 3), (Owned(actor.index), 2))
        else:
            fields["topicPartitions"] = self.pick((None, 35), (Owned(actor.index), 50), (Owned(actor.index, 1), 5), ([], 10))
        if version == 1 and self.chance.random() < 0.03:
            fields["subscribedTopicRegex"] = self.chance.choice(("(", "[a", ""))
        return "ConsumerGroupHeartbeat", version, fields

    def describe(self, _actor):
        if self.chance.random() < 0.5:
            version = self.chance.choice(apis.versions("DescribeGroups"))
            return "DescribeGroups", version, {"groups": [self.group], "includeAuthorizedOperations": version >= 3 and self.chance.random() < 0.2}
        version = self.chance.choice(apis.versions("ConsumerGroupDescribe"))
        return "ConsumerGroupDescribe", version, {"groupIds": [self.group], "includeAuthorizedOperations": self.chance.random() < 0.2}

    def delete(self, _actor):
        return "DeleteGroups", self.chance.choice(apis.versions("DeleteGroups")), {"groupsNames": [self.group]}

    def topics(self, by_id, indexes):
        names = self.chance.sample(("t1", "t2", "nope"), self.pick((1, 70), (2, 20), (0, 5), (3, 5)))
        return [{**({"topicId": f"id-of:{name}"} if by_id else {"name": name}), "partition": [
            self.chance.choice((0, 1, 2, 7)) for _ in range(indexes)]} for name in names]

    def commit(self, actor):
        version = self.chance.choice(apis.versions("OffsetCommit"))
        member, number = (actor.consumer_id, actor.epoch) if actor.consumer else (self.member_id(actor), self.generation(actor))
        member, number = self.pick(((member, number), 80), (("", -1), 15), ((member, -1), 3), (("", number), 2))
        # A commit by no member whose partitions all fail leaves a group in Kafka that is nowhere written.
        long = 2 if number >= 0 else 0
        topics = []
        for one in self.topics(version >= 10, 1):
            partitions = [{"partitionIndex": index, "committedOffset": self.chance.choice((0, 5, 7, -1, 2**62)),
                           "committedLeaderEpoch": self.chance.choice((-1, 0, 3)),
                           "committedMetadata": self.pick((None, 30), ("", 30), ("m", 38), ("x" * 4097, long))}
                          for index in one.pop("partition")]
            topics.append({**one, "partitions": partitions})
        fields = {"groupId": self.pick((self.group, 97), ("", 3)), "generationIdOrMemberEpoch": number, "memberId": member,
                  "topics": topics}
        if version >= 7:
            fields["groupInstanceId"] = self.instance(actor)
        return "OffsetCommit", version, fields

    def fetch(self, actor):
        version = self.chance.choice(apis.versions("OffsetFetch"))
        topics = [{**one, "partitionIndexes": one.pop("partition")} for one in self.topics(version >= 10, 2)]
        for one in topics:
            one.pop("partition", None)
        if self.chance.random() < 0.3 and version >= 2:
            topics = None
        fields = {"requireStable": version >= 7 and self.chance.random() < 0.2}
        if version < 8:
            return "OffsetFetch", version, fields | {"groupId": self.group, "topics": topics}
        asked = {"groupId": self.group, "topics": topics}
        if version >= 9:
            member, epoch = (actor.consumer_id, actor.epoch) if actor.consumer else (self.member_id(actor), self.generation(actor))
            asked["memberId"], asked["memberEpoch"] = self.pick(((None, -1), 50), ((member, epoch), 40), ((member, epoch + 1), 5), ((member, -1), 5))
        return "OffsetFetch", version, fields | {"groups": [asked]}

    def delete_offsets(self, _actor):
        topics = [{"name": one["name"], "partitions": [{"partitionIndex": index} for index in sorted(set(one["partition"]))]}
                  for one in self.topics(False, 2)]
        return "OffsetDelete", 0, {"groupId": self.group, "topics": topics}

    def print_state(self):
        for target, side in self.sides.items():
            connection = Connection(side.address)
            for api, version, fields in (("ConsumerGroupDescribe", 1, {"groupIds": [self.group]}),
                                         ("DescribeGroups", 6, {"groups": [self.group]})):
                got = connection.call(api, version, **fields).groups[0]
                if got.errorCode == 0:
                    print(f"  {target:8} {side.neutral(got)}", flush=True)
            connection.close()

    def restart(self):
        """Both brokers stop and start; what waited is given up."""
        self.trace.append("--- restart")
        self.waiting.clear()
        for side in self.sides.values():
            side.restart()
        warm_up(self.sides)

    def step(self):
        """One random request, compared; None, or the difference."""
        actor = self.chance.choice(self.actors)
        classic = ((self.join, 34), (self.sync, 28), (self.heartbeat, 12), (self.leave, 6))
        consumer = ((self.beat, 80),)
        common = ((self.describe, 8), (self.delete, 2), (self.commit, 8), (self.fetch, 8), (self.delete_offsets, 3))
        if self.kind == "both":
            consumer = tuple((one, weight // 2) for one, weight in consumer)
        make = self.pick(*common, *(classic if self.kind != "consumer" else ()), *(consumer if self.kind != "classic" else ()))
        api, version, fields = make(actor)
        self.number += 1
        self.trace.append(f"#{self.number} a{actor.index} {api} v{version} {fields}")
        self.waiting[self.number] = (actor, api, version, fields)
        for side in self.sides.values():
            side.send(self.number, api, version, fields)
        return self.settle()

    # Answers.

    def settle(self):
        got = {target: {} for target in self.sides}
        quiet_from, began = time.monotonic(), time.monotonic()
        while True:
            for target, side in self.sides.items():
                for number in list(side.pending):
                    answer = side.take(number)
                    if answer is not None:
                        got[target][number] = answer
                        quiet_from = time.monotonic()
            kafka, barnabas = (set(got[target]) for target in ("kafka", "barnabas"))
            now = time.monotonic()
            if kafka == barnabas and (self.number in kafka and len(self.waiting) == len(kafka) or now > quiet_from + QUIET_S):
                break
            if now > began + LATE_S:
                break
            time.sleep(0.001)
        return self.compare(got)

    def compare(self, got):
        for number in sorted({*got["kafka"], *got["barnabas"]}):
            actor, api, version, fields = self.waiting.pop(number)
            answers = {target: got[target].get(number, "waits") for target in self.sides}
            if "waits" in answers.values() or "closed" in answers.values():
                if answers["kafka"] == answers["barnabas"] or self.is_left_waiting(api, answers):
                    continue
                if answers["barnabas"] == "waits" and answers["kafka"].errorCode == codes.REBALANCE_IN_PROGRESS:
                    return "chance"  # Kafka wakes those who wait also when a group cannot be taken over after all
                return api, version, "answer", answers["kafka"], answers["barnabas"]
            self.follow(actor, api, answers, fields)
        return self.first_difference(got)

    def follow(self, actor, api, answers, fields):
        kafka, barnabas = answers["kafka"], answers["barnabas"]
        if api == "JoinGroup" and kafka.errorCode in (0, 27, 79) and barnabas.errorCode == kafka.errorCode and kafka.memberId:
            if kafka.memberId not in self.sides["kafka"].symbols or barnabas.memberId not in self.sides["barnabas"].symbols:
                self.fresh += 1
                for target, side in self.sides.items():
                    side.learn(answers[target].memberId, f"M{self.fresh}")
            if kafka.errorCode != 27:
                actor.symbol = self.sides["kafka"].symbols[kafka.memberId]
            if kafka.errorCode == 0:
                actor.generation, actor.protocol, actor.consumer = kafka.generationId, kafka.protocolName, False
        if api == "ConsumerGroupHeartbeat" and kafka.errorCode == 0 and fields["memberId"] == actor.consumer_id:
            actor.epoch, actor.consumer = kafka.memberEpoch, True
            for target, side in self.sides.items():
                given = answers[target].assignment
                if given is not None:
                    side.assigned[actor.index] = {one.topicId: sorted(one.partitions) for one in given.topicPartitions}

    def first_difference(self, got):
        for number in sorted(set(got["kafka"]) & set(got["barnabas"])):
            kafka, barnabas = (self.sides[target].neutral(got[target][number]) for target in ("kafka", "barnabas"))
            self.trace.append(f"   → #{number} {kafka}")
            if kafka != barnabas:
                api, version = next(line.split()[2:4] for line in self.trace if line.startswith(f"#{number} "))
                path, *values = differing(kafka, barnabas)
                if self.sides["kafka"].exact and len({tuple(side.order()) for side in self.sides.values()}) > 1:
                    return "chance"
                return "chance" if self.is_chance(api, path, kafka, barnabas) else (api, version, path, *values)
        return None


    def is_left_waiting(self, api, answers):
        """Kafka forgets a join or sync that another one of the same member replaces, or whose member leaves."""
        ours = answers["barnabas"]
        return answers["kafka"] == "waits" and api in ("JoinGroup", "SyncGroup") and ours != "closed" and \
            ours.errorCode in (codes.UNKNOWN_MEMBER_ID, codes.REBALANCE_IN_PROGRESS)

    def is_chance(self, api, path, kafka, barnabas):
        """Who leads after a leader, whose vote decides a tie, who gets one more or less."""
        if path.rpartition(".")[2] in ("topicPartitions", "assignment", "memberAssignment"):
            return not self.assignments
        # differences.py: pending-id-with-instance, static-member-joins-again
        if api == "JoinGroup" and kafka["errorCode"] == -1 or api == "ConsumerGroupHeartbeat" and kafka["errorCode"] == 111:
            return True
        return path in ("leader", "protocolName", "members") and kafka["errorCode"] == barnabas["errorCode"] == 0


def differing(kafka, barnabas):
    """(path, kafka, barnabas) of the first difference."""
    if isinstance(kafka, dict) and isinstance(barnabas, dict):
        for key in kafka:
            if kafka[key] != barnabas.get(key, "absent"):
                path, *values = differing(kafka[key], barnabas.get(key, "absent"))
                return f"{key}.{path}" if path else key, *values
    if isinstance(kafka, list) and isinstance(barnabas, list) and len(kafka) == len(barnabas):
        for one, other in zip(kafka, barnabas):
            if one != other:
                return differing(one, other)
    return "", kafka, barnabas


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument("--sequences", type=int, default=100)
    parser.add_argument("--length", type=int, default=40)
    parser.add_argument("--only", choices=("classic", "consumer", "both"))
    parser.add_argument("--trace", action="store_true", help="the whole sequence before each difference")
    parser.add_argument("--restarts", action="store_true", help="stop and start both brokers once in each sequence")
    parser.add_argument("--assignments", action="store_true", help="numbers of partitions count, too")
    parser.add_argument("--range", action="store_true", help="only the range assignor, which leaves nothing to chance")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    properties = {"group.consumer.assignors": "range"} if options.range else {}
    sides = {target: Side(target, properties, options.range) for target in ("kafka", "barnabas")}
    warm_up(sides)
    seen, requests, by_chance = collections.Counter(), 0, 0
    for count in range(options.sequences):
        chance = random.Random(options.seed + count)
        kind = options.only or chance.choice(("classic", "consumer", "both"))
        sequence = Sequence(chance, sides, f"g{options.seed + count}", kind, options.assignments or options.range)
        restart_at = chance.randrange(options.length) if options.restarts else None
        for step in range(options.length):
            if step == restart_at:
                sequence.restart()
            found = sequence.step()
            requests += 1
            if found == "chance":
                by_chance += 1
            if found:
                break
        if found and found != "chance":
            api, version, path, kafka, barnabas = found
            key = (kind, api, path, str(kafka)[:30], str(barnabas)[:30])
            seen[key] += 1
            if seen[key] == 1:
                print(f"\n--- {kind}, seed {options.seed + count}: {api} {version} {path}\n  kafka    {kafka}\n"
                      f"  barnabas {barnabas}")
                print("\n".join("  " + line for line in (sequence.trace if options.trace else sequence.trace[-14:])))
                sequence.print_state()
    print(f"\n{len(seen)} kinds of difference ({sum(seen.values())} sequences, {by_chance} ended by chance) in {requests} requests")
    for key, times in seen.most_common():
        print(times, *key)


def warm_up(sides):
    """Until both coordinators answer, and know the topics."""
    for side in sides.values():
        client, deadline = Client(side.address), time.monotonic() + 30
        while time.monotonic() < deadline:
            client.call("FindCoordinator", 4, coordinatorKeys=["x"])
            got = client.call("ConsumerGroupHeartbeat", 1, groupId="warm", memberId="w", memberEpoch=0, rebalanceTimeoutMs=1000,
                              subscribedTopicNames=list(TOPICS), topicPartitions=[])
            if got.errorCode == 0 and len(got.assignment.topicPartitions) == len(TOPICS):
                break
            time.sleep(0.2)
        client.close()


if __name__ == "__main__":
    main()
